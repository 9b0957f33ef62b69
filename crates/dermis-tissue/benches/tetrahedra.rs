//! Seconds, counts and quality of [`tetrahedralize`] on generated shapes and on files given as arguments.
//!
//! Files are OBJ: `cargo bench -p dermis-tissue --bench tetrahedra -- body.obj`.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::TriMesh;
use dermis_mesh::glam::Vec3;
use dermis_tissue::tetrahedra::{TetOptions, tetrahedralize};

/// Notes when each stage begins.
struct Watch(Mutex<Vec<(String, Instant)>>);

impl Progress for Watch {
    fn report(&self, stage: &str, _done: usize, _total: usize) -> ControlFlow<()> {
        self.0.lock().unwrap().push((stage.to_owned(), Instant::now()));
        ControlFlow::Continue(())
    }
}

fn main() {
    for name in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        match std::fs::read_to_string(&name) {
            Ok(text) => run(&name, &parse_obj(&text)),
            Err(error) => println!("{name}: {error}"),
        }
    }
}

/// The points and triangles of an OBJ file; polygons become fans.
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

fn run(name: &str, skin: &TriMesh) {
    let watch = Watch(Mutex::default());
    // Real bodies often touch themselves.
    let options = TetOptions { separate: 0.01 * f64::from(skin.diagonal()), ..TetOptions::default() };
    let start = Instant::now();
    let body = match tetrahedralize(skin, &[], &options, &watch) {
        Ok(body) => body,
        Err(error) => return println!("{name}: {error}"),
    };
    let seconds = start.elapsed().as_secs_f64();
    let quality = &body.quality;
    println!("{name}: {} points, {} triangles", skin.point_count(), skin.triangle_count());
    println!("  {} nodes, {} tetrahedra, {seconds:.2} s", body.mesh.nodes().len(), body.mesh.tetrahedra().len());
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
    let mut stages = watch.0.into_inner().unwrap();
    stages.push((String::new(), Instant::now()));
    for pair in stages.windows(2) {
        println!("    {:<22}{:7.0} ms", pair[0].0, 1e3 * (pair[1].1 - pair[0].1).as_secs_f64());
    }
}
