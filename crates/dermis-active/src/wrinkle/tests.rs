use dermis_mesh::samples;

use super::*;

/// A square sheet of `cells` cells a side, each of size 1, in the plane z = 0.
fn sheet(cells: u32) -> TriMesh {
    let row = cells + 1;
    let points = (0..row * row).map(|k| Vec3::new((k % row) as f32, (k / row) as f32, 0.0)).collect();
    let corners = (0..cells * cells).map(|k| k % cells + row * (k / cells));
    let triangles = corners.flat_map(|a| [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]).collect();
    TriMesh::new(points, triangles).unwrap()
}

fn squeezed(mesh: &TriMesh, by: f32) -> Vec<Vec3> {
    mesh.points().iter().map(|point| Vec3::new(point.x * (1.0 - by), point.y, point.z)).collect()
}

/// The sheet after `frames` frames of being squeezed, everything refined twice.
fn settled(mesh: &TriMesh, by: f32) -> (WrinkleLayer, Refined, WrinkledFrame, Curves) {
    let layer = WrinkleLayer::new(mesh, RestShape::Pose, &WrinkleOptions::default()).unwrap();
    let refined = layer.refine(mesh, &vec![true; mesh.triangle_count()], 2).unwrap();
    let samples = layer.samples(refined.spots.clone());
    let curves = layer.tracker().advance(&squeezed(mesh, by));
    let frame = layer.apply(&squeezed(mesh, by), &curves, &samples);
    (layer, refined, frame, curves)
}

#[test]
fn a_squeezed_sheet_gets_its_area_back() {
    let mesh = sheet(30);
    for by in [0.02, 0.05, 0.1, 0.2, 0.3] {
        let (layer, refined, frame, curves) = settled(&mesh, by);
        let before = layer.area_lost(&squeezed(&mesh, by), mesh.triangles());
        let area = total_area(&frame.positions, refined.mesh.triangles());
        let after = 1.0 - area / layer.rest_area();
        let highest = frame.heights.iter().copied().fold(0.0, f32::max) / layer.min_radius();
        println!("{by}: {before:.4} → {after:.4}, {} curves, highest {highest:.2}", curves.lines.len());
        let offsets: Vec<f32> = curves.lines.iter().map(|l| l[l.len() / 2].offset).collect();
        println!("{offsets:.2?}");
    }
}
