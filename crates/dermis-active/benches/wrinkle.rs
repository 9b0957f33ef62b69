//! What wrinkling costs: a sheet of 5,000 triangles refined to 80,000, curves and projection.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::time::Instant;

use dermis_active::wrinkle::{RestShape, TakenUp, WrinkleLayer, WrinkleOptions};
use dermis_mesh::TriMesh;
use dermis_mesh::glam::Vec3;

const CELLS: u32 = 50;
const FRAMES: usize = 20;

fn main() {
    let row = CELLS + 1;
    let points: Vec<Vec3> = (0..row * row).map(|k| Vec3::new((k % row) as f32, (k / row) as f32, 0.0)).collect();
    let corners = (0..CELLS * CELLS).map(|k| k % CELLS + row * (k / CELLS));
    let triangles = corners.flat_map(|a| [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]).collect();
    let mesh = TriMesh::new(points, triangles).expect("a sheet");
    let layer = WrinkleLayer::new(&mesh, RestShape::Pose, &WrinkleOptions::default()).expect("a sheet has area");
    let refined = layer.refine(&mesh, &vec![true; mesh.triangle_count()], 2).expect("a finer sheet");
    let samples = layer.samples(refined.spots.clone());
    let (mut tracker, mut taken_up) = (layer.tracker(), TakenUp::default());
    let (mut curves_time, mut apply_time) = (f64::INFINITY, f64::INFINITY);
    for frame in 0..FRAMES {
        let by = 0.05 + 0.05 * frame as f32 / FRAMES as f32;
        let squeeze = |point: &Vec3| Vec3::new(point.x * (1.0 - by), point.y, (0.2 * point.y).sin());
        let positions: Vec<Vec3> = mesh.points().iter().map(squeeze).collect();
        let start = Instant::now();
        let mut curves = layer.advance(&mut tracker, &positions);
        curves_time = curves_time.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let wrinkled = layer.fit(&mut taken_up, &positions, &mut curves, &samples, refined.mesh.triangles());
        apply_time = apply_time.min(start.elapsed().as_secs_f64());
        assert_eq!(wrinkled.heights.len(), refined.mesh.point_count(), "a height per point");
    }
    println!(
        "{} → {} triangles: curves {:.1} ms, projection {:.1} ms, together {:.1} ms per frame",
        mesh.triangle_count(),
        refined.mesh.triangle_count(),
        1e3 * curves_time,
        1e3 * apply_time,
        1e3 * (curves_time + apply_time)
    );
}
