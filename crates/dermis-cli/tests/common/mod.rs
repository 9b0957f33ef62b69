//! Runs the binary and generates inputs for it.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dermis::io::WriteOptions;
use dermis::prelude::*;
use tempfile::TempDir;

/// Result of a run of the binary.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The JSON object on stdout.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }
}

/// A folder with inputs, in which the binary runs.
pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dermis"));
        command.args(arguments).current_dir(self.folder.path()).env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Outcome { code: status.code().unwrap(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Runs and expects success.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome
    }

    /// Runs, expects an error, and returns stderr.
    pub(crate) fn fail(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome.stderr
    }

    pub(crate) fn write(&self, name: &str, scene: &Scene) {
        dermis::io::write(&self.path(name), scene, &WriteOptions::default(), &NoProgress).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Scene {
        dermis::io::read(self.path(name).to_str().unwrap(), &ReadOptions::default()).unwrap()
    }

    /// The names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// A closed box with corners at 0 and 1.
pub(crate) fn box_mesh() -> TriMesh {
    let points = (0..8u8).map(|at| Vec3::new(f32::from(at & 1), f32::from(at >> 1 & 1), f32::from(at >> 2)));
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriMesh::new(points.collect(), triangles).unwrap()
}

/// A box whose frame k has moved k along x, at `frame_rate_hz`.
pub(crate) fn moving_box(frames: usize, frame_rate_hz: f64) -> Scene {
    let mesh = Arc::new(box_mesh());
    let at = |frame: usize| mesh.points().iter().map(move |&point| point + Vec3::X * frame as f32);
    let positions = (0..frames).flat_map(at).collect();
    let sequence = MeshSequence::new(Arc::clone(&mesh), positions, frame_rate_hz).unwrap();
    Scene { objects: vec![Object::of_sequence("box", sequence)], ..Scene::default() }
}

/// The x coordinate of the first point in each frame of the motion of the first object.
pub(crate) fn first_xs(scene: &Scene) -> Vec<f32> {
    let motion = scene.objects[0].base_motion().unwrap().unwrap();
    (0..motion.frame_count()).map(|frame| motion.frame(frame).unwrap()[0].x).collect()
}

/// The folder of real data in `DERMIS_DATA`; prints a message and returns `None` if it is missing.
pub(crate) fn shared_data() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("DERMIS_DATA").map_or_else(beside, Into::into);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no folder of real data");
    None
}
