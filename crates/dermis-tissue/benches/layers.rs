//! Preparation time of the inside of a body: extension of blend shapes, bounded biharmonic weights, layers. Two figures
//! of 24 bones: one with about 10,000 nodes, one with about 2,700 unknowns, the number for a skin of 6,900 vertices.
//!
//! `cargo bench -p dermis-tissue --bench layers`

#[path = "../../dermis-tet/tests/lattices/mod.rs"]
mod lattices;

use std::time::Instant;

use dermis_body::Bone;
use dermis_math::progress::NoProgress;
use dermis_mesh::{SkinWeights, TetMesh};
use dermis_tet::bone_nodes::{BoneNodesOptions, bone_nodes};
use dermis_tet::harmonic::{BoundedWeightsOptions, EdgeWeights, Harmonic, bounded_biharmonic, prune};
use dermis_tissue::layers::{DistanceField, FleshOptions, Layers, NodeRole, end_effector_vertices, flesh_thickness};
use lattices::{figure, figure_bones, figure_weights, made_bad, skin};

/// 23 joints × 9 entries of their rotations × 3 coordinates.
const POSE_COLUMNS: usize = 207 * 3;
/// Indices of hands, feet and head in [`figure_bones`].
const END_EFFECTORS: [usize; 7] = [5, 9, 10, 14, 18, 19, 23];

fn main() {
    for (label, spacing) in [("about 2,700 unknowns", 0.0265), ("about 10,000 nodes", 0.0222)] {
        let mesh = figure(spacing);
        let nodes = skin(&mesh);
        println!(
            "{label}: {} nodes, {} tetrahedra, {} unknowns",
            mesh.nodes().len(),
            mesh.tetrahedra().len(),
            mesh.nodes().len() - nodes.len()
        );
        extension(&mesh, &nodes);
        extension(&made_bad(&mesh, 0.15 * spacing), &nodes);
        weights(&mesh, &nodes);
        layers(&mesh, &nodes);
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

fn extension(mesh: &TetMesh, nodes: &[u32]) {
    let given: Vec<f64> = (0..nodes.len() * POSE_COLUMNS).map(|k| (k as f64 * 0.37).sin()).collect();
    for weights in [EdgeWeights::Cotangent, EdgeWeights::NonNegative] {
        let (harmonic, prepare) = timed(|| Harmonic::with_weights(mesh, nodes, weights).expect("the figure is closed"));
        let (_, solve) = timed(|| harmonic.extend(&given, POSE_COLUMNS));
        println!(
            "  {weights:?}, {} nodes repaired: prepare {prepare:.3} s, {POSE_COLUMNS} columns {solve:.3} s",
            harmonic.repaired_nodes()
        );
    }
}

fn weights(mesh: &TetMesh, nodes: &[u32]) {
    let joints = figure_bones().len();
    let given = figure_weights(mesh, nodes);
    let solve = |options: &BoundedWeightsOptions| {
        timed(|| {
            bounded_biharmonic(mesh, nodes, &given, joints, options, &NoProgress).expect("the rows are partitions")
        })
    };
    let (quick, seconds) = solve(&BoundedWeightsOptions::default());
    let (tight, tight_seconds) =
        solve(&BoundedWeightsOptions { tolerance: 1e-8, max_steps: 5000, ..BoundedWeightsOptions::default() });
    let difference = quick.dense.iter().zip(&tight.dense).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!(
        "  bounded biharmonic weights of {joints} joints: {seconds:.2} s (target 2), {} steps, {difference:.1e} from the \
         tight solve of {} steps, {tight_seconds:.1} s; energies {:.6} and {:.6}",
        quick.steps, tight.steps, quick.energy, tight.energy
    );
    let (pruned, seconds) = timed(|| prune(&quick.dense, joints, 4));
    println!("  pruned to {} joints per node: {seconds:.3} s", pruned.max_influences());
}

fn layers(mesh: &TetMesh, nodes: &[u32]) {
    let bones: Vec<Bone> =
        (0..).zip(figure_bones()).map(|(joint, ([start, end], _))| Bone { joint, start, end }).collect();
    let (field, prepare) = timed(|| {
        let inner = bone_nodes(mesh, nodes, &bones, &BoneNodesOptions::default());
        DistanceField::new(mesh, nodes, &inner.nodes).expect("the figure is connected")
    });
    println!("  bones and the field's factor: {prepare:.3} s");
    for depth in [1.05, 1.1, 1.2, 1.5, 2.0] {
        let (layers, seconds) = timed(|| Layers::new(mesh, &field, &vec![depth; nodes.len()]).expect("finite values"));
        println!("  uniform d = {depth}: {}, {seconds:.3} s", fractions(&layers));
    }
    let dense: Vec<f32> = figure_weights(mesh, nodes).into_iter().map(|weight| weight as f32).collect();
    let chosen: Vec<bool> = (0..bones.len()).map(|joint| END_EFFECTORS.contains(&joint)).collect();
    let pinned = end_effector_vertices(&SkinWeights::from_dense(&dense, bones.len()), &chosen);
    let vertex_of = |node: u32| nodes.binary_search(&node).expect("the boundary is the skin") as u32;
    let triangles: Vec<[u32; 3]> = mesh.boundary().into_iter().map(|triangle| triangle.map(vertex_of)).collect();
    let (found, seconds) = timed(|| {
        flesh_thickness(mesh, &triangles, &field, &bones, &pinned, &FleshOptions::default()).expect("finite values")
    });
    println!("  by flesh thickness, without end effectors: {}, {seconds:.3} s", fractions(&found.layers));
}

fn fractions(layers: &Layers) -> String {
    format!(
        "{:.1} % of elements, {:.1} % of nodes ({} free, {} driven)",
        100.0 * layers.element_fraction(),
        100.0 * layers.node_fraction(),
        layers.count(NodeRole::Free),
        layers.count(NodeRole::Driven)
    )
}
