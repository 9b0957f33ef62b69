//! Time, counts and quality of [`tetrahedralize`] for `sample:body` with its bones, or for OBJ files given as arguments:
//! `cargo bench -p dermis-tet --bench tetrahedra -- body.obj`.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::TriMesh;
use dermis_mesh::glam::Vec3;
use dermis_tet::tetrahedra::{TetBody, TetOptions, tetrahedralize};

/// Records the start time of each stage.
struct Watch(Mutex<Vec<(String, Instant)>>);

impl Progress for Watch {
    fn report(&self, stage: &str, _done: usize, _total: usize) -> ControlFlow<()> {
        self.0.lock().unwrap().push((stage.to_owned(), Instant::now()));
        ControlFlow::Continue(())
    }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if names.is_empty() {
        let (model, _) = dermis_samples::body_model();
        let joints = model.rest_joints();
        let with_parent = model.joints().iter().enumerate().filter_map(|(joint, own)| Some((own.parent?, joint)));
        let bones: Vec<_> = with_parent.map(|(from, to)| (joints[from].as_vec3(), joints[to].as_vec3())).collect();
        println!("targets for sample:body: 10,000 nodes, 38,000 tetrahedra, all faces, volume error 1e-3, 2 s");
        run("sample:body", model.mesh(), &bones, 0.0);
    }
    for name in names {
        match std::fs::read_to_string(&name) {
            // Scanned bodies often touch themselves.
            Ok(text) => run(&name, &parse_obj(&text), &[], 0.02),
            Err(error) => println!("{name}: {error}"),
        }
    }
}

/// Points and triangles of an OBJ file; polygons are triangulated as fans.
fn parse_obj(text: &str) -> TriMesh {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let p: Vec<f32> = words.filter_map(|word| word.parse().ok()).collect();
                points.push(Vec3::new(p[0], p[1], p[2]));
            }
            Some("f") => {
                let corners: Vec<u32> =
                    words.filter_map(|word| word.split('/').next()?.parse::<u32>().ok()).map(|k| k - 1).collect();
                triangles.extend((2..corners.len()).map(|k| [corners[0], corners[k - 1], corners[k]]));
            }
            _ => {}
        }
    }
    TriMesh::new(points, triangles).expect("a valid file")
}

/// Fills a skin. Points can move by `separate` times its diagonal to resolve self-intersections.
fn run(name: &str, skin: &TriMesh, bones: &[(Vec3, Vec3)], separate: f64) {
    let watch = Watch(Mutex::default());
    let options = TetOptions { separate: separate * f64::from(skin.diagonal()), ..TetOptions::default() };
    let start = Instant::now();
    let body = match tetrahedralize(skin, bones, &options, &watch) {
        Ok(body) => body,
        Err(error) => return println!("{name}: {error}"),
    };
    let seconds = start.elapsed().as_secs_f64();
    println!("{name}: {} points, {} triangles", skin.point_count(), skin.triangle_count());
    println!("  {} nodes, {} tetrahedra, {seconds:.2} s", body.mesh.nodes().len(), body.mesh.tetrahedra().len());
    print_body(&body);
    let mut stages = watch.0.into_inner().unwrap();
    stages.push((String::new(), Instant::now()));
    for pair in stages.windows(2) {
        println!("    {:<22}{:7.0} ms", pair[0].0, 1e3 * (pair[1].1 - pair[0].1).as_secs_f64());
    }
}

fn print_body(body: &TetBody) {
    let quality = &body.quality;
    println!(
        "  skin faces recovered {:.4} % ({} missing), {} extra boundary nodes, volume error {:.1e}",
        100.0 * body.recovered_fraction(),
        body.skin_faces - body.recovered_faces,
        body.extra_boundary_nodes,
        body.volume_error
    );
    println!("  {:?}", body.recovery);
    println!(
        "  dihedral angles {:.2}°…{:.2}°, mean smallest {:.1}°, slivers {}, conditioning {:.2} (worst {:.1})",
        quality.smallest_dihedral_degrees,
        quality.largest_dihedral_degrees,
        quality.mean_smallest_dihedral_degrees,
        quality.slivers,
        quality.mean_conditioning,
        quality.worst_conditioning
    );
    println!("  smallest angles per 10°: {:?}", &quality.histogram[..8]);
    for note in &body.notes {
        println!("  note: {}", note.message);
    }
    let gaps: Vec<f32> = body
        .bone_nodes
        .iter()
        .flat_map(|own| own.windows(2))
        .map(|pair| {
            let [a, b] = [pair[0], pair[1]].map(|node| body.mesh.nodes()[node as usize]);
            a.distance(b)
        })
        .collect();
    if let (Some(min), Some(max)) = (gaps.iter().copied().reduce(f32::min), gaps.iter().copied().reduce(f32::max)) {
        println!("  nodes of the bones are {min:.4} to {max:.4} apart, the lattice spacing is {:.4}", body.spacing);
    }
}
