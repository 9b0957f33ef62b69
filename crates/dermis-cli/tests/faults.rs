//! Injected faults: inputs that change while they are read, decompress to gigabytes or contain invalid numbers, outputs
//! that exist or are pipes, and signals.

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Sandbox, box_mesh, moving_box};
use dermis::io::npz::arrays::ArrayWriter;
use dermis::io::output::Output;
use dermis::prelude::*;

/// A cloth of `side`² points with `frames` frames.
fn cloth(side: u32, frames: usize) -> Scene {
    let point = |at: u32| Vec3::new((at % side) as f32, (at / side) as f32, 0.123_456_7);
    let quad = |at: u32| [[at, at + 1, at + side], [at + 1, at + side + 1, at + side]];
    let corners = (0..side * (side - 1)).filter(|at| at % side + 1 < side);
    let mesh = TriMesh::new((0..side * side).map(point).collect(), corners.flat_map(quad).collect()).unwrap();
    let wave = |frame: usize, point: &Vec3| *point + Vec3::Z * (0.3 * point.x + 0.5 * frame as f32).sin();
    let positions = (0..frames).flat_map(|frame| mesh.points().iter().map(move |point| wave(frame, point))).collect();
    let sequence = MeshSequence::new(Arc::new(mesh), positions, 24.0).unwrap();
    Scene { objects: vec![Object::of_sequence("cloth", sequence)], ..Scene::default() }
}

fn signal(child: &std::process::Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn an_input_that_changes_while_it_is_read_gives_an_error_or_a_complete_result() {
    let sandbox = Sandbox::new();
    let scene = cloth(150, 60);
    sandbox.write("cloth.npz", &scene);
    let whole = std::fs::read(sandbox.path("cloth.npz")).unwrap();
    for delay_ms in [0, 20, 100, 400] {
        std::fs::write(sandbox.path("cloth.npz"), &whole).unwrap();
        let arguments = ["convert", "cloth.npz", "out.%03d.obj", "--force", "--threads", "1"];
        let child = sandbox.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        File::options().write(true).open(sandbox.path("cloth.npz")).unwrap().set_len(5000).unwrap();
        // A process that is ended by SIGBUS has no exit code.
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 2)), "{delay_ms} ms: {code:?}");
        if code == Some(0) {
            let motion = sandbox.read("out.%03d.obj").objects[0].base_motion().unwrap().unwrap();
            assert_eq!((motion.frame_count(), motion.point_count()), (60, 150 * 150));
        }
    }
}

#[test]
fn a_decompression_bomb_is_rejected_within_the_memory_limit() {
    let sandbox = Sandbox::new();
    // 600 MiB of zeros in one compressed array.
    let path = sandbox.path("bomb.npz");
    let mut zip = zip_of_zeros("rest.npy", 600 << 20);
    std::fs::write(&path, &mut zip).unwrap();
    assert!(zip.len() < 4 << 20, "{} bytes", zip.len());
    let printed = sandbox.fail(&["inspect", "bomb.npz", "--max-memory", "300M"]);
    assert!(printed.contains("would require") && printed.contains("--max-memory"), "{printed}");
    let printed = sandbox.fail(&["inspect", "bomb.npz", "--max-memory", "12"]);
    assert!(printed.contains("at least 1M"), "{printed}");
}

/// A zip archive of one deflated `.npy` file of `count` zero bytes, as f32 of shape (count / 12, 3).
fn zip_of_zeros(name: &str, count: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 3), }}", count / 12);
    let padded = format!("{header:<117}\n");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((padded.len() as u16).to_le_bytes());
    npy.extend(padded.as_bytes());
    let size = npy.len() + count / 12 * 12;
    let mut crc = Crc::default();
    let mut deflated = Vec::new();
    // A stored block with the header, then fixed Huffman blocks of zeros.
    crc.add(&npy);
    deflated.push(0);
    deflated.extend((npy.len() as u16).to_le_bytes());
    deflated.extend((!(npy.len() as u16)).to_le_bytes());
    deflated.extend(&npy);
    let zeros = count / 12 * 12;
    crc.add_zeros(zeros);
    let mut bits = Bits { out: deflated, hold: 0, count: 0 };
    bits.push(1, 1);
    bits.push(1, 2);
    // Literal 0 is 00110000, length 258 is 11000101, distance 1 is 00000; all from the most significant bit.
    bits.push_reversed(0b0011_0000, 8);
    let mut left = zeros - 1;
    while left >= 258 {
        bits.push_reversed(0b1100_0101, 8);
        bits.push_reversed(0, 5);
        left -= 258;
    }
    (0..left).for_each(|_| bits.push_reversed(0b0011_0000, 8));
    bits.push_reversed(0, 7);
    let deflated = bits.finish();
    let fields = |central: bool| {
        let mut head = if central { b"PK\x01\x02\x14\x00".to_vec() } else { b"PK\x03\x04".to_vec() };
        head.extend([20, 0, 0, 0, 8, 0, 0, 0, 0, 0]);
        head.extend(crc.value().to_le_bytes());
        head.extend((deflated.len() as u32).to_le_bytes());
        head.extend((size as u32).to_le_bytes());
        head.extend((name.len() as u16).to_le_bytes());
        head.extend([0, 0]);
        if central {
            head.extend([0; 14]);
        }
        head.extend(name.as_bytes());
        head
    };
    let mut zip = fields(false);
    zip.extend(&deflated);
    let (start, central) = (zip.len(), fields(true));
    zip.extend(&central);
    zip.extend(b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00");
    zip.extend((central.len() as u32).to_le_bytes());
    zip.extend((start as u32).to_le_bytes());
    zip.extend([0, 0]);
    zip
}

struct Bits {
    out: Vec<u8>,
    hold: u64,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u64, count: u32) {
        self.hold |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            self.out.push(self.hold as u8);
            self.hold >>= 8;
            self.count -= 8;
        }
    }

    fn push_reversed(&mut self, value: u64, count: u32) {
        self.push(value.reverse_bits() >> (64 - count), count);
    }

    fn finish(mut self) -> Vec<u8> {
        self.push(0, 7);
        self.out
    }
}

struct Crc {
    table: [u32; 256],
    state: u32,
}

impl Default for Crc {
    fn default() -> Self {
        let entry =
            |byte: usize| (0..8).fold(byte as u32, |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 });
        Self { table: std::array::from_fn(entry), state: !0 }
    }
}

impl Crc {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.state = self.table[((self.state ^ u32::from(*byte)) & 255) as usize] ^ (self.state >> 8);
        }
    }

    fn add_zeros(&mut self, count: usize) {
        for _ in 0..count {
            self.state = self.table[(self.state & 255) as usize] ^ (self.state >> 8);
        }
    }

    fn value(&self) -> u32 {
        !self.state
    }
}

#[test]
fn large_files_of_zeros_and_sparse_files_are_rejected_at_once() {
    let sandbox = Sandbox::new();
    for extension in ["usd", "fbx", "obj", "glb", "npz", "abc"] {
        let name = format!("zeros.{extension}");
        File::create(sandbox.path(&name)).unwrap().set_len(10 << 30).unwrap();
        let began = Instant::now();
        let printed = sandbox.fail(&["inspect", &name]);
        assert!(printed.contains("does not begin like"), "{extension}: {printed}");
        assert!(began.elapsed() < Duration::from_secs(20), "{extension}: {:?}", began.elapsed());
    }
    let mut text = File::create(sandbox.path("sparse.obj")).unwrap();
    text.write_all(&[b'#'; 100]).unwrap();
    text.set_len(10 << 30).unwrap();
    let printed = sandbox.fail(&["inspect", "sparse.obj"]);
    assert!(printed.contains("--max-memory"), "{printed}");
}

#[test]
fn a_joint_transform_of_1e160_is_rejected_on_reading() {
    let sandbox = Sandbox::new();
    let mut scene = dermis::samples::build("arm").unwrap();
    sandbox.write("arm.glb", &scene);
    let object = &mut scene.objects[0];
    let rig = object.rig.clone().unwrap();
    let clip = &object.clips[0];
    let mut transforms: Vec<DAffine3> =
        (0..clip.frame_count()).flat_map(|frame| clip.transforms(frame).to_vec()).collect();
    transforms[3].translation.x = 1e160;
    let weights = vec![0.0; clip.frame_count() * rig.shapes().len()];
    let error = Clip::new(&rig, "huge", 24.0, transforms, weights).unwrap_err();
    assert!(error.to_string().contains("larger than 1e60"), "{error}");
    // The same transform in a file, where no type has validated it.
    sandbox.succeed(&["convert", "arm.glb", "arm.npz"]);
    let mut output = Output::new(false);
    let mut writer = ArrayWriter::new(output.create(&sandbox.path("huge.npz")).unwrap());
    writer.floats("positions", &[3, 3], &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, f32::MAX]).unwrap();
    writer.indices("faces", &[1, 3], &[0, 1, 2]).unwrap();
    writer.finish().unwrap();
    output.commit().unwrap();
    let outcome = sandbox.run(&["skin", "huge.npz", "--bones", "1"]);
    assert!(outcome.code > 0, "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn maps_and_curves_of_an_older_and_longer_run_are_removed() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["convert", "sample:flag", "long.npz", "--frames", "0:6"]);
    sandbox.succeed(&["convert", "sample:flag", "short.npz", "--frames", "0:2"]);
    let run = |input: &str| {
        let arguments =
            ["wrinkle", input, "-o", "maps", "--map", "png", "--map-size", "16", "--curves", "curves", "--force"];
        sandbox.succeed(&arguments);
        ["maps", "curves"].map(|folder| std::fs::read_dir(sandbox.path(folder)).unwrap().count())
    };
    let long = run("long.npz");
    let short = run("short.npz");
    assert_eq!([long[0] - short[0], long[1] - short[1]], [4, 4], "{long:?} {short:?}");
}

#[cfg(unix)]
#[test]
fn outputs_to_a_pipe_have_the_summary_on_stderr() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(5, 24.0));
    let output = sandbox.command(&["convert", "box.npz", "-"]).output().unwrap();
    assert!(
        output.status.success() && output.stdout.starts_with(b"glTF"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("wrote -"));
    std::fs::write(sandbox.path("piped.glb"), &output.stdout).unwrap();
    assert_eq!(sandbox.read("piped.glb").objects[0].mesh.point_count(), box_mesh().point_count());
    let output = sandbox.command(&["volume", "sample:arm", "--output=-.npz", "--quiet"]).output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"PK"), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = sandbox.fail(&["volume", "sample:arm", "--output=-.gltf"]);
    assert!(printed.contains("several files"), "{printed}");
    let printed = sandbox.fail(&["convert", "box.npz", "/dev/null"]);
    assert!(printed.contains("extension"), "{printed}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_a_long_fit_and_the_exit_code_reports_it() {
    let sandbox = Sandbox::new();
    sandbox.write("cloth.npz", &cloth(60, 40));
    // With many bones, the seeding before the refinement runs for seconds without polling.
    let arguments = ["skin", "cloth.npz", "--bones", "900", "-o", "out.glb", "--threads", "2"];
    let mut child = sandbox.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, "-INT");
    let began = Instant::now();
    let code = child.wait().unwrap().code();
    // This takes half a second on an idle machine; the fit itself would take minutes.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!((code, sandbox.files()), (Some(2), vec!["cloth.npz".to_owned()]));
}

#[cfg(unix)]
#[test]
fn a_stopped_refinement_keeps_its_result_and_exits_with_1() {
    let sandbox = Sandbox::new();
    let arguments =
        ["skin", "sample:gallop", "--bones", "20", "-o", "out.glb", "--refine", "100000", "--tolerance", "0"];
    let mut child = sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    printed.find(|line| line.contains("refining")).expect("the refinement reports progress");
    std::thread::sleep(Duration::from_secs(3));
    signal(&child, "-TERM");
    let rest: Vec<String> = printed.collect();
    let mut summary = String::new();
    child.stdout.take().unwrap().read_to_string(&mut summary).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest:?} {summary}");
    assert!(rest.iter().any(|line| line.contains("not reached: the fit was stopped")), "{rest:?}");
    assert_eq!(sandbox.files(), ["out.glb"]);
}

#[test]
fn names_with_escape_sequences_are_escaped_in_terminal_and_report() {
    let sandbox = Sandbox::new();
    let mut scene = moving_box(4, 24.0);
    scene.objects[0].name = "\x1b]0;owned\x07<!--<script>alert(1)</script>".to_owned();
    sandbox.write("box.npz", &scene);
    let mut rigged = dermis::samples::build("arm").unwrap();
    let object = &mut rigged.objects[0];
    let rig = object.rig.clone().unwrap();
    let joints =
        rig.joints().iter().map(|joint| Joint { name: "<!--<script>\x1b[2J".to_owned(), ..joint.clone() }).collect();
    let weights = SkinWeights::clone(rig.weights());
    object.rig = Some(Arc::new(Rig::new(&object.mesh, joints, weights, rig.shapes().to_vec()).unwrap()));
    sandbox.write("arm.glb", &rigged);
    for arguments in [&["inspect", "box.npz"][..], &["inspect", "arm.glb"], &["convert", "box.npz", "out.glb"]] {
        let outcome = sandbox.succeed(arguments);
        assert!(!outcome.stdout.contains('\x1b') && !outcome.stderr.contains('\x1b'), "{}", outcome.stdout);
    }
    sandbox.succeed(&["convert", "arm.glb", "recorded.npz", "--rest-frame", "0"]);
    let outcome = sandbox.run(&["report", "arm.glb", "--sequence", "recorded.npz", "-o", "report.html"]);
    if outcome.code == 0 {
        let html = std::fs::read_to_string(sandbox.path("report.html")).unwrap();
        assert!(
            !html.contains("<!--<script>\u{1b}") && !html.contains("<script>alert(1)"),
            "a name is part of the page"
        );
    } else {
        assert!(outcome.stderr.contains("does not contain the page"), "{}", outcome.stderr);
    }
}

#[test]
fn wrinkles_do_not_depend_on_the_unit_of_length() {
    let sandbox = Sandbox::new();
    let measures = |scale: &str| {
        sandbox.succeed(&["convert", "sample:flag", "flag.npz", "--frames", "0:60", "--scale", scale, "--force"]);
        let json = sandbox.succeed(&["wrinkle", "flag.npz", "-o", "out.npz", "--force", "--format", "json"]).json();
        let mean = |key: &str| {
            let values: Vec<f64> = json[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let height = json["map_height"].as_f64().unwrap() / scale.parse::<f64>().unwrap();
        [height, mean("area_lost_before"), mean("area_lost_after")]
    };
    let expected = measures("1");
    for scale in ["1e-6", "1e6"] {
        for (found, expected) in measures(scale).into_iter().zip(expected) {
            // Rounding of the scaled input moves single curves.
            assert!((found / expected - 1.0).abs() < 0.03, "{scale}: {found} {expected}");
        }
    }
}
