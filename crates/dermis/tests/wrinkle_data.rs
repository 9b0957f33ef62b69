//! Wrinkles of simplified simulations compared with the fine simulations: distance, normals, dihedral angles, flashes
//! and intersections.

mod common;

use std::sync::Arc;

use common::shared_data;
use dermis::active::intersections::intersecting_pairs;
use dermis::active::wrinkle::{
    ClothOptions, LearnOptions, RestShape, WrinkleMeasures, WrinkledCloth, coarse_cloth, wrinkle,
};
use dermis::io::ReadOptions;
use dermis::math::progress::NoProgress;
use dermis::mesh::adjacency::Edges;
use dermis::mesh::geometry::point_normals;
use dermis::mesh::glam::{DVec3, Vec3};
use dermis::mesh::surface_tree::{SurfaceTree, closest_point};
use dermis::mesh::{MeshSequence, TriMesh};

/// Triangles of the simplified shirts.
const COARSE: usize = 1500;

/// A triangle with barycentric coordinates for each point of the fine cloth.
type Locations = Vec<([u32; 3], [f32; 3])>;

/// Locations of the points of `fine` on the rest shape of `mesh`.
fn locations(mesh: &TriMesh, fine: &TriMesh) -> Locations {
    let points: Vec<DVec3> = mesh.points().iter().map(|point| point.as_dvec3()).collect();
    let tree = SurfaceTree::new(&points, mesh.triangles());
    let size = f64::from(mesh.diagonal());
    let of_point = |point: &Vec3| {
        let p = point.as_dvec3();
        let (mut reach, mut found) = (1e-3 * size, Vec::new());
        while found.is_empty() {
            tree.in_box(p - reach, p + reach, &mut found);
            reach *= 2.0;
        }
        tree.in_box(p - 2.0 * reach, p + 2.0 * reach, &mut found);
        let at = |triangle: u32| mesh.triangles()[triangle as usize].map(|corner| points[corner as usize]);
        let apart = |triangle: &u32| closest_point(at(*triangle), p).distance(p);
        let best = found.iter().copied().min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap();
        let [a, b, c] = at(best);
        let q = closest_point([a, b, c], p);
        let normal = (b - a).cross(c - a);
        let weight = |u: DVec3, v: DVec3| ((u - q).cross(v - q).dot(normal) / normal.length_squared()) as f32;
        (mesh.triangles()[best as usize], [weight(b, c), weight(c, a), weight(a, b)])
    };
    fine.points().iter().map(of_point).collect()
}

fn transferred(locations: &Locations, positions: &[Vec3]) -> Vec<Vec3> {
    let blend =
        |(corners, weights): &([u32; 3], [f32; 3])| (0..3).map(|k| positions[corners[k] as usize] * weights[k]).sum();
    locations.iter().map(blend).collect()
}

/// RMS distance in millimetres, mean angle of normals and mean dihedral angle in degrees, over some frames.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    distance: f64,
    normals: f64,
    dihedral: f64,
}

fn shape(locations: &Locations, cloth: &MeshSequence, fine: &MeshSequence) -> Shape {
    let triangles = fine.mesh().triangles();
    let edges = Edges::new(fine.point_count(), triangles);
    let pairs: Vec<[u32; 2]> = edges
        .iter()
        .filter_map(|(_, uses)| if let [a, b] = uses { Some([a.triangle, b.triangle]) } else { None })
        .collect();
    let mut sum = Shape::default();
    let frames: Vec<usize> = (0..fine.frame_count()).step_by(5).collect();
    for &frame in &frames {
        let (truth, found) = (fine.frame(frame).unwrap(), transferred(locations, &cloth.frame(frame).unwrap()));
        let squares: f64 = found.iter().zip(&*truth).map(|(a, b)| f64::from(a.distance_squared(*b))).sum();
        sum.distance += 1e3 * (squares / found.len() as f64).sqrt();
        let angle = |a: Vec3, b: Vec3| f64::from(a.dot(b).clamp(-1.0, 1.0).acos().to_degrees());
        let normals = point_normals(&found, triangles).into_iter().zip(point_normals(&truth, triangles));
        sum.normals += normals.map(|(a, b)| angle(a, b)).sum::<f64>() / found.len() as f64;
        let face = |triangle: u32| {
            let [a, b, c] = triangles[triangle as usize].map(|point| found[point as usize]);
            (b - a).cross(c - a).normalize_or_zero()
        };
        sum.dihedral += pairs.iter().map(|[a, b]| angle(face(*a), face(*b))).sum::<f64>() / pairs.len() as f64;
    }
    let count = frames.len() as f64;
    Shape { distance: sum.distance / count, normals: sum.normals / count, dihedral: sum.dihedral / count }
}

fn own_locations(mesh: &TriMesh) -> Locations {
    let mut found = vec![([0; 3], [0.0; 3]); mesh.point_count()];
    for triangle in mesh.triangles() {
        for corner in 0..3 {
            let mut weights = [0.0; 3];
            weights[corner] = 1.0;
            found[triangle[corner] as usize] = (*triangle, weights);
        }
    }
    found
}

#[test]
fn wrinkles_bring_simplified_shirts_closer_to_the_fine_ones() {
    for name in ["vto_tshirt_shape00_128_02.npz", "vto_tshirt_shape00_108_12.npz"] {
        let Some(path) = shared_data(&format!("sequences/{name}")) else { continue };
        let scene = dermis::io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
        let fine = scene.objects[0].sequence.clone().unwrap();
        let options = ClothOptions { coarsen: Some(COARSE), ..ClothOptions::default() };
        let cloth: WrinkledCloth = wrinkle(&fine, RestShape::Pose, &options, &NoProgress).unwrap();
        let truth = shape(&own_locations(fine.mesh()), &fine, &fine);
        let coarse = shape(&locations(cloth.coarse().mesh(), fine.mesh()), cloth.coarse(), &fine);
        let found = shape(&locations(cloth.sequence.mesh(), fine.mesh()), &cloth.sequence, &fine);
        let measures = &cloth.measures;
        println!("{name}: fine {truth:?}\n  coarse {coarse:?}\n  wrinkled {found:?}");
        println!(
            "  flash {:.2} mm, intersections {} -> {}, popping {:.3}",
            1e3 * measures.flash,
            measures.intersections_before,
            measures.intersections_after,
            measures.popping
        );
        assert!(found.distance <= coarse.distance && found.normals < coarse.normals);
        assert!((found.dihedral / truth.dihedral - 1.0).abs() <= 0.15, "{found:?} {truth:?}");
        assert!(measures.flash <= 0.003, "{}", measures.flash);
        // An intersection of two coarse triangles is one of several refined pairs, so the reference is the refined
        // coarse cloth.
        let on_coarse = locations(cloth.coarse().mesh(), cloth.sequence.mesh());
        for frame in (0..fine.frame_count()).step_by(7) {
            let flat = transferred(&on_coarse, &cloth.coarse().frame(frame).unwrap());
            let count = |points: &[Vec3]| intersecting_pairs(points, cloth.sequence.mesh().triangles()).len();
            let (before, after) = (count(&flat), count(&cloth.sequence.frame(frame).unwrap()));
            println!("  frame {frame}: {before} -> {after} intersecting pairs");
        }
    }
}

#[test]
fn folds_learned_from_one_shirt_bring_another_motion_closer_to_the_fine_cloth() {
    let names = ["vto_tshirt_shape00_128_02.npz", "vto_tshirt_shape00_108_12.npz"];
    let read = |name: &str| {
        let path = shared_data(&format!("sequences/{name}"))?;
        let scene = dermis::io::read(path.to_str()?, &ReadOptions::default()).unwrap();
        let fine = scene.objects[0].sequence.clone()?;
        Some((coarse_cloth(&fine, COARSE).unwrap(), fine))
    };
    let [Some(first), Some(second)] = names.map(read) else { return };
    for ((coarse, fine), (new, truth)) in [(&first, &second), (&second, &first)] {
        let training = dermis::train_wrinkles(coarse, fine, &LearnOptions::default()).unwrap();
        println!(
            "training: {:.2} mm, relaxed {:.2}, learned {:.2}, smoothness {}, anchoring {}, {:?}",
            1e3 * training.coarse_distance,
            1e3 * training.relaxed_distance,
            1e3 * training.distance,
            training.folds.parts().smoothness,
            training.folds.parts().anchoring,
            training.curve
        );
        let cloth = dermis::wrinkle_learned(new, &Arc::new(training.folds)).unwrap();
        let before = shape(&locations(new.mesh(), truth.mesh()), new, truth);
        let after = shape(&own_locations(truth.mesh()), &cloth.sequence, truth);
        let fine = shape(&own_locations(truth.mesh()), truth, truth);
        let WrinkleMeasures { flash, intersections_before, intersections_after, seconds_per_frame, .. } =
            cloth.measures;
        println!(
            "new motion: {before:?}\n  learned {after:?}\n  fine {fine:?}, ratio {:.3}",
            after.distance / before.distance
        );
        println!(
            "  flash {flash:.5}, intersections {intersections_before} -> {intersections_after}, {seconds_per_frame:.3} s"
        );
        assert!(after.distance <= 0.75 * before.distance && after.normals < before.normals);
    }
}
