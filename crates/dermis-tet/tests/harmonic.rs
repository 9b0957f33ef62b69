//! Harmonic extension from the skin to the inside: exactness and bounds.

mod lattices;

use dermis_mesh::TetMesh;
use dermis_tet::harmonic::{EdgeWeights, Harmonic, HarmonicError, laplacian};
use glam::{DVec3, Vec3};
use lattices::{ball, made_bad, real_mesh, rod, skin};

const BOTH: [EdgeWeights; 2] = [EdgeWeights::NonNegative, EdgeWeights::Cotangent];

fn values_at(mesh: &TetMesh, nodes: &[u32], value: impl Fn(DVec3) -> f64) -> Vec<f64> {
    nodes.iter().map(|&node| value(mesh.nodes()[node as usize].as_dvec3())).collect()
}

fn all_nodes(mesh: &TetMesh) -> Vec<u32> {
    (0..mesh.nodes().len() as u32).collect()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
}

#[test]
fn reproduces_linear_functions_on_good_and_bad_meshes() {
    let linear = |at: DVec3| 0.3 + at.dot(DVec3::new(1.0, -2.0, 0.5));
    for (mesh, tolerance) in [(ball(0.2), 1e-12), (made_bad(&ball(0.2), 0.03), 1e-9)] {
        let fixed = skin(&mesh);
        for weights in BOTH {
            let harmonic = Harmonic::with_weights(&mesh, &fixed, weights).unwrap();
            let found = harmonic.extend_scalar(&values_at(&mesh, &fixed, linear));
            let error = largest_difference(&found, &values_at(&mesh, &all_nodes(&mesh), linear));
            assert!(error < tolerance, "{weights:?}: {error}");
        }
    }
}

#[test]
fn converges_with_second_order_to_a_harmonic_function() {
    let harmonic = |at: DVec3| (3.0 * at.x).exp() * (2.0 * at.y + 5.0_f64.sqrt() * at.z).sin();
    let error = |spacing: f32| {
        let mesh = ball(spacing);
        let fixed = skin(&mesh);
        let found = Harmonic::new(&mesh, &fixed).unwrap().extend_scalar(&values_at(&mesh, &fixed, harmonic));
        largest_difference(&found, &values_at(&mesh, &all_nodes(&mesh), harmonic))
    };
    let (coarse, fine) = (error(0.2), error(0.1));
    assert!(fine < 0.35 * coarse && fine < 0.05, "{coarse} then {fine}");
}

#[test]
fn values_stay_within_the_fixed_range_on_bad_meshes() {
    let mesh = made_bad(&ball(0.15), 0.05);
    let fixed = skin(&mesh);
    // Rough values that differ at almost every node.
    let given = values_at(&mesh, &fixed, |at| (91.0 * at.x + 57.0 * at.y + 33.0 * at.z).sin().signum());
    let overshoot = |weights| {
        let (low, high) = range(&Harmonic::with_weights(&mesh, &fixed, weights).unwrap().extend_scalar(&given));
        (high - 1.0).max(-1.0 - low)
    };
    assert!(overshoot(EdgeWeights::Cotangent) > 1e-3, "the mesh is not bad enough for this test");
    assert!(overshoot(EdgeWeights::NonNegative) < 1e-12);
    assert!(Harmonic::new(&mesh, &fixed).unwrap().repaired_nodes() > 0);
}

#[test]
fn good_meshes_need_no_repair() {
    let mesh = rod(2.0, 0.25);
    let fixed = skin(&mesh);
    let harmonic = Harmonic::new(&mesh, &fixed).unwrap();
    assert_eq!((harmonic.repaired_nodes(), harmonic.skipped_tetrahedra()), (0, 0));
}

#[test]
fn free_surfaces_satisfy_the_maximum_principle() {
    // Only the ends of the rod are fixed; its lateral surface is free, and the exact solution is linear.
    let mesh = made_bad(&rod(2.0, 0.25), 0.03);
    let fixed: Vec<u32> = (0..mesh.nodes().len() as u32).filter(|&node| rod_end(&mesh, node).is_some()).collect();
    let given: Vec<f64> = fixed.iter().filter_map(|&node| rod_end(&mesh, node)).collect();
    let (low, high) = range(&Harmonic::new(&mesh, &fixed).unwrap().extend_scalar(&given));
    assert!(low >= -1e-12 && high <= 1.0 + 1e-12, "{low} to {high}");
}

/// 0 at one end of the bent rod, 1 at the other.
fn rod_end(mesh: &TetMesh, node: u32) -> Option<f64> {
    let at = mesh.nodes()[node as usize];
    let along = at.x - 0.8 * at.y;
    (along.abs() > 1.8).then_some(if along > 0.0 { 1.0 } else { 0.0 })
}

#[test]
fn many_columns_match_single_columns() {
    let mesh = made_bad(&ball(0.25), 0.03);
    let fixed = skin(&mesh);
    let harmonic = Harmonic::new(&mesh, &fixed).unwrap();
    let columns = 101;
    let given: Vec<f64> = (0..fixed.len() * columns).map(|k| (k as f64 * 0.37).sin()).collect();
    let together = harmonic.extend(&given, columns);
    for column in [0, 15, 16, 63, 64, 100] {
        let alone: Vec<f64> = given.iter().skip(column).step_by(columns).copied().collect();
        let found: Vec<f64> = together.iter().skip(column).step_by(columns).copied().collect();
        assert!(largest_difference(&harmonic.extend_scalar(&alone), &found) < 1e-13, "column {column}");
    }
    assert!(harmonic.extend(&[], 0).is_empty());
}

#[test]
fn results_are_bitwise_equal_for_any_number_of_threads() {
    let mesh = made_bad(&ball(0.2), 0.03);
    let fixed = skin(&mesh);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let given: Vec<f64> = (0..fixed.len() * 40).map(|k| (k as f64 * 0.37).sin()).collect();
        pool.install(|| Harmonic::new(&mesh, &fixed).unwrap().extend(&given, 40))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn scaled_and_translated_skin_transforms_the_inside() {
    let mesh = ball(0.2);
    let fixed = skin(&mesh);
    let shift = Vec3::new(1.0, -2.0, 0.25);
    let moved: Vec<Vec3> = fixed.iter().map(|&node| 2.0 * mesh.nodes()[node as usize] + shift).collect();
    let found = Harmonic::new(&mesh, &fixed).unwrap().extend_vectors(&moved);
    assert!(found.iter().zip(mesh.nodes()).all(|(found, at)| found.distance(2.0 * *at + shift) < 1e-5));
}

#[test]
fn energy_of_positions_is_three_volumes_and_masses_sum_to_the_volume() {
    let mesh = made_bad(&ball(0.25), 0.02);
    let operator = laplacian(&mesh);
    let volume: f64 = mesh.volumes().iter().map(|volume| volume.abs()).sum();
    let x: Vec<DVec3> = mesh.nodes().iter().map(|at| at.as_dvec3()).collect();
    let energy: f64 = operator.stiffness.multiply(&x).iter().zip(&x).map(|(y, x)| x.dot(*y)).sum();
    assert!((energy / volume - 3.0).abs() < 1e-9 && (operator.mass.iter().sum::<f64>() / volume - 1.0).abs() < 1e-12);
    assert_eq!(operator.stiffness.transpose(), operator.stiffness);
}

#[test]
fn skips_and_counts_flat_tetrahedra() {
    let nodes = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::new(1.0, 1.0, 0.0)];
    let mesh = TetMesh::new(nodes, vec![[0, 1, 2, 3], [0, 1, 2, 4], [1, 2, 3, 4]]).unwrap();
    let harmonic = Harmonic::new(&mesh, &[0, 1, 2, 4]).unwrap();
    assert_eq!(harmonic.skipped_tetrahedra(), 1);
    assert!(harmonic.extend_scalar(&[1.0; 4]).iter().all(|value| (value - 1.0).abs() < 1e-12));
}

#[test]
fn rejects_invalid_fixed_nodes_and_unreached_nodes() {
    let mesh = ball(0.5);
    let count = mesh.nodes().len();
    let missing = HarmonicError::NoSuchNode { node: count as u32, count };
    assert_eq!(Harmonic::new(&mesh, &[count as u32]).unwrap_err(), missing);
    assert_eq!(Harmonic::new(&mesh, &[3, 1, 3]).unwrap_err(), HarmonicError::FixedTwice(3));
    assert_eq!(Harmonic::new(&mesh, &[]).unwrap_err(), HarmonicError::Unreached { first: 0, count });
    let mut nodes = mesh.nodes().to_vec();
    nodes.push(Vec3::splat(9.0));
    let disconnected = TetMesh::new(nodes, mesh.tetrahedra().to_vec()).unwrap();
    let error = Harmonic::new(&disconnected, &[0]).unwrap_err();
    assert_eq!(error, HarmonicError::Unreached { first: count as u32, count: 1 });
    assert!(error.to_string().contains("not connected"));
}

#[test]
fn returns_given_values_if_all_nodes_are_fixed() {
    let mesh = ball(0.5);
    let fixed = all_nodes(&mesh);
    let given = values_at(&mesh, &fixed, |at| at.x);
    assert_eq!(Harmonic::new(&mesh, &fixed).unwrap().extend_scalar(&given), given);
}

#[test]
fn real_meshes_reproduce_linear_functions_within_bounds() {
    for name in ["spot.mesh", "spot_high.mesh"] {
        let Some(mesh) = real_mesh(name) else { continue };
        let fixed = skin(&mesh);
        let harmonic = Harmonic::new(&mesh, &fixed).unwrap();
        let linear = |at: DVec3| at.dot(DVec3::new(1.0, -2.0, 0.5));
        let found = harmonic.extend_scalar(&values_at(&mesh, &fixed, linear));
        let error = largest_difference(&found, &values_at(&mesh, &all_nodes(&mesh), linear));
        let rough = values_at(&mesh, &fixed, |at| (91.0 * at.x + 57.0 * at.y).sin().signum());
        let (low, high) = range(&harmonic.extend_scalar(&rough));
        println!(
            "{name}: {} of {} nodes repaired, linear to {error:.1e}",
            harmonic.repaired_nodes(),
            mesh.nodes().len()
        );
        assert!(error < 1e-7 && low >= -1.0 - 1e-12 && high <= 1.0 + 1e-12);
    }
}
