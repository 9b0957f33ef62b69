//! Cost of wrinkling a sheet of 5,000 triangles refined to 80,000: curves, projection and fit, for several sizes.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::time::Instant;

use dermis_active::wrinkle::{RecoveredArea, RestShape, WrinkleLayer, WrinkleOptions};
use dermis_mesh::TriMesh;
use dermis_mesh::glam::Vec3;

const FRAMES: u8 = 30;

fn main() {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        for (cells, levels) in [(50, 1), (50, 2), (50, 3), (100, 2)] {
            pool.install(|| measure(threads, cells, levels));
        }
    }
}

fn measure(threads: usize, cells: u32, levels: u32) {
    let mesh = sheet(cells);
    let layer = WrinkleLayer::new(&mesh, RestShape::Pose, &WrinkleOptions::default()).expect("a sheet has area");
    let refined = layer.refine(&mesh, &vec![true; mesh.triangle_count()], levels).expect("a finer sheet");
    let samples = layer.samples(refined.locations.clone());
    let (mut tracker, mut recovered) = (layer.tracker(), RecoveredArea::default());
    let (mut curves_time, mut fit_time, mut nodes) = (f64::INFINITY, f64::INFINITY, 0);
    for frame in 0..FRAMES {
        let by = 0.05 + 0.05 * f32::from(frame) / f32::from(FRAMES);
        let squeeze = |point: &Vec3| Vec3::new(point.x * (1.0 - by), point.y, (0.2 * point.y).sin());
        let positions: Vec<Vec3> = mesh.points().iter().map(squeeze).collect();
        let start = Instant::now();
        let mut curves = layer.advance(&mut tracker, &positions);
        curves_time = curves_time.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let wrinkled = layer.fit(&mut recovered, &positions, &mut curves, &samples, refined.mesh.triangles());
        fit_time = fit_time.min(start.elapsed().as_secs_f64());
        nodes = curves.lines.iter().map(Vec::len).sum();
        assert_eq!(wrinkled.heights.len(), refined.mesh.point_count(), "a height per point");
    }
    let count = refined.mesh.point_count() as f64;
    println!(
        "{threads} threads, {:5} → {:6} triangles, {nodes} nodes: curves {:.1} ms, projection and fit {:.1} ms \
         ({:.2} µs per sample), together {:.1} ms per frame",
        mesh.triangle_count(),
        refined.mesh.triangle_count(),
        1e3 * curves_time,
        1e3 * fit_time,
        1e6 * fit_time / count,
        1e3 * (curves_time + fit_time)
    );
}

/// A square sheet of `cells` cells a side.
fn sheet(cells: u32) -> TriMesh {
    let row = cells + 1;
    let points: Vec<Vec3> = (0..row * row).map(|k| Vec3::new((k % row) as f32, (k / row) as f32, 0.0)).collect();
    let corners = (0..cells * cells).map(|k| k % cells + row * (k / cells));
    let triangles = corners.flat_map(|a| [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]).collect();
    TriMesh::new(points, triangles).expect("a sheet")
}
