//! Division of bodies into posed and simulated nodes.

#[path = "../../dermis-tet/tests/lattices/mod.rs"]
mod lattices;

use dermis_body::{Bone, bones_between_joints};
use dermis_mesh::{SkinWeights, TetMesh};
use dermis_tet::bone_nodes::{BoneNodesOptions, bone_nodes};
use dermis_tissue::layers::{
    DistanceField, FleshOptions, Layers, LayersError, NodeRole, THRESHOLD, end_effector_vertices, flesh_thickness,
};
use glam::{Vec3, Vec3Swizzles};
use lattices::{ball, figure, figure_bones, figure_weights, made_bad, real_mesh, rod, skin};

/// Two bones along most of the axis of the rod.
const ROD_BONES: [Bone; 2] = [
    Bone { joint: 0, start: Vec3::new(-2.6, 0.0, 0.0), end: Vec3::ZERO },
    Bone { joint: 1, start: Vec3::ZERO, end: Vec3::new(2.6, 0.0, 0.0) },
];

fn field(mesh: &TetMesh, bones: &[Bone]) -> DistanceField {
    let nodes = skin(mesh);
    let inner = bone_nodes(mesh, &nodes, bones, &BoneNodesOptions::default());
    DistanceField::new(mesh, &nodes, &inner.nodes).unwrap()
}

fn uniform(mesh: &TetMesh, bones: &[Bone], depth: f64) -> Layers {
    Layers::new(mesh, &field(mesh, bones), &vec![depth; skin(mesh).len()]).unwrap()
}

fn body_bones() -> Vec<Bone> {
    (0..).zip(figure_bones()).map(|(joint, ([start, end], _))| Bone { joint, start, end }).collect()
}

/// Triangles of the skin, indexed by skin vertex.
fn skin_triangles(mesh: &TetMesh, nodes: &[u32]) -> Vec<[u32; 3]> {
    let vertex_of = |node: u32| nodes.binary_search(&node).unwrap() as u32;
    mesh.boundary().into_iter().map(|triangle| triangle.map(vertex_of)).collect()
}

fn assert_consistent(mesh: &TetMesh, layers: &Layers) {
    let role = |node: u32| layers.roles[node as usize];
    let mut drives = vec![false; layers.roles.len()];
    for (index, tetrahedron) in (0..).zip(mesh.tetrahedra()) {
        let simulated = tetrahedron.iter().any(|&node| role(node) == NodeRole::Free);
        assert_eq!(layers.elements.binary_search(&index).is_ok(), simulated);
        tetrahedron.iter().filter(|_| simulated).for_each(|&node| drives[node as usize] = true);
    }
    for (node, &drives) in (0..).zip(&drives) {
        assert_eq!(role(node) == NodeRole::Posed, !drives, "node {node}");
        assert!(role(node) != NodeRole::Free || layers.field[node as usize] > THRESHOLD);
    }
}

#[test]
fn field_increases_from_bone_to_skin_within_its_range() {
    for mesh in [rod(3.0, 0.2), made_bad(&rod(3.0, 0.2), 0.02)] {
        let straight = rod(3.0, 0.2);
        let nodes = skin(&mesh);
        let bones: Vec<u32> =
            (0..).zip(straight.nodes()).filter(|(_, at)| at.yz().length() < 0.3).map(|(node, _)| node).collect();
        let found = DistanceField::new(&mesh, &nodes, &bones).unwrap().solve(&vec![2.0; nodes.len()]).unwrap();
        assert!(found.iter().all(|value| (-1e-12..=2.0 + 1e-12).contains(value)));
        let mean = |from: f32, to: f32| {
            let shell = straight
                .nodes()
                .iter()
                .zip(&found)
                .filter(|(at, _)| (from..to).contains(&at.yz().length()) && at.x.abs() < 2.0);
            let values: Vec<f64> = shell.map(|(_, value)| *value).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let shells = [mean(0.0, 0.25), mean(0.35, 0.5), mean(0.5, 0.75), mean(0.75, 0.95)];
        assert!(shells.is_sorted_by(|a, b| a < b), "{shells:?}");
    }
}

#[test]
fn field_between_coaxial_cylinders_is_logarithmic() {
    // Eq. 14 between radii a and b: d = D ln(r/a) / ln(b/a). Exact values are prescribed at all nodes beyond a radius
    // of 0.8.
    let mesh = rod(3.0, 0.1);
    let exact = |at: Vec3| (f64::from(at.yz().length()) / 0.3).ln().max(0.0);
    let is_skin = |at: Vec3| at.yz().length() > 0.8 || at.x.abs() > 2.95;
    let nodes: Vec<u32> = (0..).zip(mesh.nodes()).filter(|(_, at)| is_skin(**at)).map(|(node, _)| node).collect();
    let bones: Vec<u32> =
        (0..).zip(mesh.nodes()).filter(|(_, at)| at.yz().length() <= 0.3).map(|(node, _)| node).collect();
    let given: Vec<f64> = nodes.iter().map(|&node| exact(mesh.nodes()[node as usize])).collect();
    let found = DistanceField::new(&mesh, &nodes, &bones).unwrap().solve(&given).unwrap();
    for (at, value) in mesh.nodes().iter().zip(&found) {
        // The lattice spacing is a third of the inner radius, and the bone surface is a staircase of that size.
        assert!((value - exact(*at)).abs() < 0.12, "{at}: {value} instead of {}", exact(*at));
    }
}

#[test]
fn roles_match_elements_and_deeper_layers_contain_shallower_ones() {
    let mesh = rod(3.0, 0.2);
    let mut before: Option<Layers> = None;
    for depth in [1.05, 1.5, 3.0] {
        let layers = uniform(&mesh, &ROD_BONES, depth);
        assert_consistent(&mesh, &layers);
        let counts = [NodeRole::Free, NodeRole::Driven, NodeRole::Posed].map(|role| layers.count(role));
        assert_eq!(counts.iter().sum::<usize>(), mesh.nodes().len());
        if let Some(shallower) = before {
            assert!(shallower.elements.iter().all(|element| layers.elements.binary_search(element).is_ok()));
            assert!(shallower.elements.len() < layers.elements.len());
        }
        before = Some(layers);
    }
}

#[test]
fn depth_at_the_threshold_simulates_nothing() {
    let mesh = ball(0.2);
    let bones = [Bone { joint: 0, start: Vec3::ZERO, end: Vec3::ZERO }];
    let layers = uniform(&mesh, &bones, THRESHOLD);
    assert_eq!((layers.elements.len(), layers.count(NodeRole::Posed)), (0, mesh.nodes().len()));
    assert_eq!(layers.element_fraction(), 0.0);
}

#[test]
fn symmetric_bodies_have_symmetric_layers() {
    let mesh = rod(3.0, 0.2);
    let nodes = skin(&mesh);
    let given: Vec<f64> =
        nodes.iter().map(|&node| 1.1 + f64::from(mesh.nodes()[node as usize].x.abs()) / 3.0).collect();
    let layers = Layers::new(&mesh, &field(&mesh, &ROD_BONES), &given).unwrap();
    for (node, at) in mesh.nodes().iter().enumerate() {
        let mirrored = mesh.nodes().iter().position(|other| other.x == -at.x && other.yz() == at.yz()).unwrap();
        assert!((layers.field[node] - layers.field[mirrored]).abs() < 1e-9);
        assert_eq!(layers.roles[node], layers.roles[mirrored], "{at}");
    }
}

#[test]
fn simulated_mesh_has_free_nodes_before_driven_nodes() {
    let mesh = rod(3.0, 0.2);
    let layers = uniform(&mesh, &ROD_BONES, 1.3);
    let part = layers.simulated(&mesh);
    assert_eq!(part.mesh.tetrahedra().len(), layers.elements.len());
    assert_eq!(part.free_count, layers.count(NodeRole::Free));
    for (index, (&node, at)) in part.nodes.iter().zip(part.mesh.nodes()).enumerate() {
        let expected = if index < part.free_count { NodeRole::Free } else { NodeRole::Driven };
        assert_eq!(layers.roles[node as usize], expected);
        assert_eq!(mesh.nodes()[node as usize], *at);
    }
    let removed = layers.removed_nodes(&skin(&mesh));
    assert_eq!(removed.len() + part.nodes.len(), mesh.nodes().len());
}

#[test]
fn flesh_without_a_bone_is_posed_and_reported() {
    // Two balls with a bone in one of them.
    let one = ball(0.25);
    let count = one.nodes().len() as u32;
    let nodes = one.nodes().iter().copied().chain(one.nodes().iter().map(|at| *at + 3.0 * Vec3::X)).collect();
    let shifted = one.tetrahedra().iter().map(|tetrahedron| tetrahedron.map(|node| node + count));
    let mesh = TetMesh::new(nodes, one.tetrahedra().iter().copied().chain(shifted).collect()).unwrap();
    let bones = [Bone { joint: 0, start: Vec3::ZERO, end: Vec3::ZERO }];
    let layers = uniform(&mesh, &bones, 1.5);
    assert_consistent(&mesh, &layers);
    assert_eq!(layers.unanchored_nodes, count as usize);
    assert!(layers.roles[..count as usize].contains(&NodeRole::Free));
    assert!(layers.notes()[0].message.contains("not connected to a bone"));
}

#[test]
fn flesh_thickness_reaches_the_requested_fraction_and_excludes_end_effectors() {
    let mesh = figure(0.03);
    let nodes = skin(&mesh);
    let bones = body_bones();
    let dense: Vec<f32> = figure_weights(&mesh, &nodes).into_iter().map(|weight| weight as f32).collect();
    let hands_feet_head: Vec<bool> =
        (0..bones.len()).map(|joint| [5, 9, 10, 14, 18, 19, 23].contains(&joint)).collect();
    let pinned = end_effector_vertices(&SkinWeights::from_dense(&dense, bones.len()), &hands_feet_head);
    let field = field(&mesh, &bones);
    let triangles = skin_triangles(&mesh, &nodes);
    for fraction in [0.25, 0.35, 0.46] {
        let options = FleshOptions { element_fraction: fraction, ..FleshOptions::default() };
        let found = flesh_thickness(&mesh, &triangles, &field, &bones, &pinned, &options).unwrap();
        println!(
            "requested {fraction}, found {:.3} of {} elements; flesh above a thickness of {:.3} is simulated",
            found.layers.element_fraction(),
            found.layers.all_elements,
            found.from_thickness
        );
        assert_consistent(&mesh, &found.layers);
        assert!((found.layers.element_fraction() - fraction).abs() < 0.03);
        for ((&node, &pinned), value) in nodes.iter().zip(&pinned).zip(&found.relative_depths) {
            assert!((THRESHOLD..=THRESHOLD + 1.0).contains(value));
            assert!(!pinned || follows_pose(&found.layers, node), "end effector vertex {node} is simulated");
        }
    }
}

fn follows_pose(layers: &Layers, node: u32) -> bool {
    layers.roles[node as usize] != NodeRole::Free
}

#[test]
fn bone_nodes_lie_within_the_radius_of_their_bone() {
    let mesh = rod(3.0, 0.2);
    let found =
        bone_nodes(&mesh, &skin(&mesh), &ROD_BONES, &BoneNodesOptions { radius: Some(0.5), ..Default::default() });
    assert!(found.empty_bones.is_empty() && found.radii == [0.5, 0.5]);
    for (&node, &joint) in found.nodes.iter().zip(&found.joints) {
        let at = mesh.nodes()[node as usize];
        assert!(at.yz().length() < 0.51 && (at.x.abs() < 1e-3 || (joint == 1) == (at.x > 0.0)), "{at} of {joint}");
    }
}

#[test]
fn thin_bone_gets_the_nearest_node_and_bone_outside_gets_none() {
    let mesh = ball(0.3);
    let inside = Bone { joint: 4, start: Vec3::new(0.05, 0.07, 0.06), end: Vec3::new(0.06, 0.07, 0.06) };
    let outside = Bone { joint: 5, start: Vec3::splat(5.0), end: Vec3::splat(5.1) };
    let options = BoneNodesOptions { radius: Some(1e-4), ..Default::default() };
    let found = bone_nodes(&mesh, &skin(&mesh), &[inside, outside], &options);
    assert_eq!((found.joints, found.empty_bones), (vec![4], vec![1]));
    assert_eq!(mesh.nodes()[found.nodes[0] as usize], Vec3::ZERO);
}

#[test]
fn bones_connect_parents_to_children_and_leaf_bones_are_points() {
    let positions = [Vec3::ZERO, Vec3::X, Vec3::Y];
    let bones = bones_between_joints(&positions, &[None, Some(0), Some(1)]);
    let joints: Vec<u32> = bones.iter().map(|bone| bone.joint).collect();
    assert_eq!(joints, [0, 1, 2]);
    assert_eq!((bones[1].start, bones[1].end, bones[2].start), (Vec3::X, Vec3::Y, Vec3::Y));
}

#[test]
fn rejects_missing_negative_and_non_finite_depths() {
    let mesh = ball(0.5);
    let field = DistanceField::new(&mesh, &skin(&mesh), &[]).unwrap();
    let count = field.skin().len();
    assert_eq!(field.solve(&[1.0]).unwrap_err(), LayersError::Count { found: 1, expected: count });
    let mut values = vec![1.5; count];
    values[2] = -1.0;
    assert_eq!(field.solve(&values).unwrap_err(), LayersError::RelativeDepth { node: 2, value: -1.0 });
    values[2] = f64::NAN;
    assert!(matches!(field.solve(&values).unwrap_err(), LayersError::RelativeDepth { node: 2, .. }));
}

#[test]
fn real_meshes_get_consistent_layers() {
    for name in ["spot.mesh", "spot_high.mesh"] {
        let Some(mesh) = real_mesh(name) else { continue };
        let (low, high) =
            mesh.nodes().iter().fold((Vec3::MAX, Vec3::MIN), |(low, high), at| (low.min(*at), high.max(*at)));
        let centre = 0.5 * (low + high);
        let bone = Bone {
            joint: 0,
            start: centre - 0.25 * Vec3::Z * (high - low),
            end: centre + 0.25 * Vec3::Z * (high - low),
        };
        let layers = uniform(&mesh, &[bone], 1.2);
        println!("{name}: {:.2} of {} elements at d = 1.2", layers.element_fraction(), layers.all_elements);
        assert_consistent(&mesh, &layers);
        assert!(layers.field.iter().all(|value| (-1e-12..=1.2 + 1e-12).contains(value)));
    }
}
