//! Bounded biharmonic weights: bounds, sums, symmetry, and accuracy of the default tolerance.

mod lattices;

use std::ops::ControlFlow;

use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::TetMesh;
use dermis_tet::harmonic::{BoundedWeights, BoundedWeightsError, BoundedWeightsOptions, bounded_biharmonic, prune};
use glam::{Vec3, Vec3Swizzles};
use lattices::{ball, figure, figure_bones, figure_weights, made_bad, real_mesh, rod, skin};

const TIGHT: BoundedWeightsOptions = BoundedWeightsOptions { tolerance: 1e-9, max_steps: 20_000, penalty: 0.03 };

fn solve(mesh: &TetMesh, given: &[f64], joints: usize, options: &BoundedWeightsOptions) -> BoundedWeights {
    bounded_biharmonic(mesh, &skin(mesh), given, joints, options, &NoProgress).unwrap()
}

/// Weights of two joints: the first moves the left end of the rod, the second the right end.
fn rod_weights(mesh: &TetMesh, width: f32) -> Vec<f64> {
    let second = |node: &u32| f64::from((0.5 + mesh.nodes()[*node as usize].x / width).clamp(0.0, 1.0));
    skin(mesh).iter().flat_map(|node| [1.0 - second(node), second(node)]).collect()
}

fn assert_partition(weights: &BoundedWeights) {
    for (node, row) in weights.dense.chunks_exact(weights.joint_count).enumerate() {
        assert!(row.iter().all(|weight| (0.0..=1.0 + 1e-12).contains(weight)), "node {node}: {row:?}");
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "node {node}: {row:?}");
    }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn symmetric_joints_have_symmetric_weights() {
    let mesh = rod(3.0, 0.25);
    let found = solve(&mesh, &rod_weights(&mesh, 1.0), 2, &BoundedWeightsOptions::default());
    assert!(found.converged);
    assert_partition(&found);
    for (node, at) in mesh.nodes().iter().enumerate() {
        let mirrored = mesh.nodes().iter().position(|other| other.x == -at.x && other.yz() == at.yz()).unwrap();
        let difference = (found.dense[2 * node] - found.dense[2 * mirrored + 1]).abs();
        assert!(difference < 1e-6, "{at}: {difference}");
    }
}

#[test]
fn weights_inside_a_limb_match_the_surrounding_skin() {
    let mesh = rod(3.0, 0.25);
    let found = solve(&mesh, &rod_weights(&mesh, 2.0), 2, &BoundedWeightsOptions::default());
    for (at, row) in mesh.nodes().iter().zip(found.dense.chunks_exact(2)) {
        // The kinks of the skin weights are smoothed inside, over a fraction of the radius.
        assert!((row[1] - f64::from((0.5 + at.x / 2.0).clamp(0.0, 1.0))).abs() < 0.12, "{at}: {row:?}");
    }
}

#[test]
fn default_tolerance_matches_a_tight_solve() {
    let mesh = figure(0.045);
    let joints = figure_bones().len();
    let given = figure_weights(&mesh, &skin(&mesh));
    let quick = solve(&mesh, &given, joints, &BoundedWeightsOptions::default());
    let tight = solve(&mesh, &given, joints, &TIGHT);
    let difference = largest_difference(&quick.dense, &tight.dense);
    println!(
        "{} and {} steps, energies {} and {}, largest difference {difference:.1e}",
        quick.steps, tight.steps, quick.energy, tight.energy
    );
    assert_partition(&quick);
    assert!(quick.converged && tight.converged);
    // The tolerance of 1e-4 applies to the change per step; errors are several times larger.
    assert!(difference < 2e-3 && (quick.energy / tight.energy - 1.0).abs() < 1e-5);
}

#[test]
fn weights_vanish_away_from_a_narrow_band() {
    // The weight of one joint is a narrow band around the rod; without bounds it would undershoot next to the band.
    let mesh = rod(3.0, 0.25);
    let band = |node: &u32| if mesh.nodes()[*node as usize].x.abs() < 0.3 { 1.0 } else { 0.0 };
    let given: Vec<f64> = skin(&mesh).iter().flat_map(|node| [band(node), 1.0 - band(node)]).collect();
    let found = solve(&mesh, &given, 2, &TIGHT);
    assert_partition(&found);
    let zeros =
        mesh.nodes().iter().zip(found.dense.chunks_exact(2)).filter(|(at, row)| at.x.abs() > 2.0 && row[0] < 1e-6);
    assert!(zeros.count() > 20, "the weight of the band does not vanish");
}

#[test]
fn keeps_given_rows_and_a_single_joint_has_weight_one() {
    let mesh = made_bad(&ball(0.25), 0.03);
    let nodes = skin(&mesh);
    let alone = solve(&mesh, &vec![1.0; nodes.len()], 1, &BoundedWeightsOptions::default());
    assert!(alone.dense.iter().all(|&weight| weight == 1.0));
    let given: Vec<f64> = nodes.iter().flat_map(|node| if node % 3 == 0 { [1.0, 0.0] } else { [0.25, 0.75] }).collect();
    let found = solve(&mesh, &given, 2, &BoundedWeightsOptions::default());
    assert_partition(&found);
    for (&node, row) in nodes.iter().zip(given.chunks_exact(2)) {
        assert!(largest_difference(&found.dense[2 * node as usize..][..2], row) < 1e-12);
    }
}

#[test]
fn keeps_the_weights_of_bone_nodes() {
    let mesh = rod(3.0, 0.25);
    let mut fixed = skin(&mesh);
    let mut given = rod_weights(&mesh, 1.0);
    let on_axis = |at: &Vec3| at.yz().length() < 0.1 && at.x.abs() > 0.5 && at.x.abs() < 2.5;
    for (node, at) in (0..).zip(mesh.nodes()).filter(|(_, at)| on_axis(at)) {
        fixed.push(node);
        given.extend(if at.x < 0.0 { [1.0, 0.0] } else { [0.0, 1.0] });
    }
    let options = BoundedWeightsOptions::default();
    let found = bounded_biharmonic(&mesh, &fixed, &given, 2, &options, &NoProgress).unwrap();
    assert_partition(&found);
    assert!(fixed.iter().zip(given.chunks_exact(2)).all(|(&node, row)| found.dense[2 * node as usize] == row[0]));
}

#[test]
fn results_are_bitwise_equal_for_any_number_of_threads() {
    let mesh = rod(2.0, 0.25);
    let given = rod_weights(&mesh, 1.0);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&mesh, &given, 2, &BoundedWeightsOptions::default()))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn pruned_weights_have_few_joints_and_match_the_skin() {
    let mesh = figure(0.06);
    let joints = figure_bones().len();
    let nodes = skin(&mesh);
    let given = figure_weights(&mesh, &nodes);
    let found = solve(&mesh, &given, joints, &BoundedWeightsOptions::default());
    let pruned = prune(&found.dense, joints, 4);
    assert!(pruned.max_influences() <= 4);
    for row in pruned.rows() {
        assert!((row.map(|(_, weight)| weight).sum::<f32>() - 1.0).abs() < 1e-6);
    }
    let kept: Vec<f64> = pruned.gather(&nodes).to_dense(joints).into_iter().map(f64::from).collect();
    assert!(largest_difference(&kept, &given) < 1e-6);
}

#[test]
fn rejects_rows_that_are_not_a_partition_of_one() {
    let mesh = ball(0.5);
    let nodes = skin(&mesh);
    let try_rows = |given: &[f64], joints| {
        bounded_biharmonic(&mesh, &nodes, given, joints, &BoundedWeightsOptions::default(), &NoProgress).unwrap_err()
    };
    let mut given: Vec<f64> = nodes.iter().flat_map(|_| [0.5, 0.5]).collect();
    let count = BoundedWeightsError::Count { nodes: nodes.len(), joints: 3, found: given.len() };
    assert_eq!(try_rows(&given, 3), count);
    assert_eq!(try_rows(&[], 0), BoundedWeightsError::Count { nodes: nodes.len(), joints: 0, found: 0 });
    given[3] = 0.25;
    assert_eq!(try_rows(&given, 2), BoundedWeightsError::Row { node: nodes[1], sum: 0.75 });
    given[3] = f64::NAN;
    assert!(matches!(try_rows(&given, 2), BoundedWeightsError::Row { .. }));
}

#[test]
fn stops_when_the_observer_breaks() {
    struct Stop;
    impl Progress for Stop {
        fn report(&self, _: &str, _: usize, _: usize) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let mesh = rod(2.0, 0.5);
    let options = BoundedWeightsOptions::default();
    let result = bounded_biharmonic(&mesh, &skin(&mesh), &rod_weights(&mesh, 1.0), 2, &options, &Stop);
    assert_eq!(result.unwrap_err(), BoundedWeightsError::Stopped);
}

#[test]
fn weights_of_real_meshes_are_a_partition_of_one() {
    for name in ["spot.mesh", "spot_high.mesh"] {
        let Some(mesh) = real_mesh(name) else { continue };
        let given: Vec<f64> = skin(&mesh)
            .iter()
            .flat_map(|&node| {
                let at = mesh.nodes()[node as usize];
                let front = f64::from((0.5 + at.z).clamp(0.0, 1.0));
                if at.y > 0.2 { [0.0, 0.0, 1.0] } else { [front, 1.0 - front, 0.0] }
            })
            .collect();
        let found = solve(&mesh, &given, 3, &BoundedWeightsOptions::default());
        let tight = solve(&mesh, &given, 3, &TIGHT);
        println!(
            "{name}: {} steps, {:.1e} from the tight solve of {} steps",
            found.steps,
            largest_difference(&found.dense, &tight.dense),
            tight.steps
        );
        assert_partition(&found);
        assert!(largest_difference(&found.dense, &tight.dense) < 2e-3);
    }
}
