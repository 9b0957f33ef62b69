//! Tetrahedral mesher: invariants on difficult shapes, and rejected input.

mod shapes;

use std::collections::HashSet;

use dermis_math::progress::NoProgress;
use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{is_closed, non_manifold_edges};
use dermis_mesh::{TetMesh, TriMesh};
use dermis_tet::tetrahedra::{TetBody, TetError, TetOptions, tetrahedralize};
use glam::Vec3;
use shapes::{cube, figure, figure_bones, plate, torus};

fn fill(skin: &TriMesh, bones: &[(Vec3, Vec3)]) -> TetBody {
    tetrahedralize(skin, bones, &TetOptions::default(), &NoProgress).unwrap()
}

/// Asserts the invariants: skin points are the first nodes, skin faces are the boundary, and the volume is filled.
fn assert_fills(body: &TetBody, skin: &TriMesh) {
    let mesh = &body.mesh;
    assert_eq!(&mesh.nodes()[..skin.point_count()], skin.points());
    assert!(mesh.volumes().iter().all(|&volume| volume > 0.0), "a tetrahedron is flat or inverted");
    let boundary: HashSet<[u32; 3]> = mesh.boundary().into_iter().map(rotated).collect();
    let expected: HashSet<[u32; 3]> = skin.triangles().iter().copied().map(rotated).collect();
    assert_eq!(
        boundary,
        expected,
        "{} of {} faces are missing",
        expected.difference(&boundary).count(),
        expected.len()
    );
    assert!(body.recovered_fraction() == 1.0 && body.extra_boundary_nodes == 0);
    assert!(body.volume_error.abs() < 1e-6, "{}", body.volume_error);
    assert_used(mesh);
}

/// The same face, starting with its lowest corner.
fn rotated([a, b, c]: [u32; 3]) -> [u32; 3] {
    [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap()
}

fn assert_used(mesh: &TetMesh) {
    let used: HashSet<u32> = mesh.tetrahedra().iter().flatten().copied().collect();
    assert_eq!(used.len(), mesh.nodes().len(), "a node has no tetrahedron");
}

#[test]
fn fills_cubes_with_many_degeneracies() {
    for n in [1, 2, 5, 9] {
        let skin = cube(n);
        assert_fills(&fill(&skin, &[]), &skin);
    }
}

#[test]
fn fills_a_torus_and_thin_plates() {
    for skin in
        [torus(40, 20, 1.0, 0.4), plate(24, 1, Vec3::new(1.0, 1.0, 0.02)), plate(3, 1, Vec3::new(1.0, 2.0, 1e-3))]
    {
        assert_fills(&fill(&skin, &[]), &skin);
    }
}

#[test]
fn figure_has_nodes_along_its_bones_and_no_slivers() {
    let skin = figure(0.04);
    let body = fill(&skin, &figure_bones());
    assert_fills(&body, &skin);
    for (nodes, (head, tail)) in body.bone_nodes.iter().zip(figure_bones()) {
        let positions: Vec<Vec3> = nodes.iter().map(|&node| body.mesh.nodes()[node as usize]).collect();
        assert!(positions.first().unwrap().distance(head) < 0.02 && positions.last().unwrap().distance(tail) < 0.02);
        let gaps: Vec<f32> = positions.windows(2).map(|pair| pair[0].distance(pair[1])).collect();
        let mean = gaps.iter().sum::<f32>() / gaps.len() as f32;
        assert!(gaps.iter().all(|gap| (0.6..1.5).contains(&(gap / mean))), "{gaps:?}");
    }
    // Marching tetrahedra produce triangles with angles of a few degrees, which limit the dihedral angles.
    println!("smallest dihedral angle {}", body.quality.smallest_dihedral_degrees);
    assert!(body.quality.smallest_dihedral_degrees > 2.0);
}

#[test]
fn result_does_not_depend_on_the_number_of_threads() {
    let skin = figure(0.05);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fill(&skin, &figure_bones()))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn flips_faces_that_are_oriented_inwards() {
    let skin = cube(3);
    let flipped = skin.triangles().iter().map(|&[a, b, c]| [a, c, b]).collect();
    let body = fill(&TriMesh::new(skin.points().to_vec(), flipped).unwrap(), &[]);
    assert_eq!(body.notes.len(), 1);
    assert_eq!(body.recovered_fraction(), 1.0);
}

#[test]
fn boundary_is_a_closed_manifold() {
    let body = fill(&torus(24, 12, 1.0, 0.3), &[]);
    let edges = Edges::new(body.mesh.nodes().len(), &body.mesh.boundary());
    assert!(is_closed(&edges) && non_manifold_edges(&edges).is_empty());
}

fn rejected(skin: &TriMesh) -> TetError {
    tetrahedralize(skin, &[], &TetOptions::default(), &NoProgress).unwrap_err()
}

/// Two cubes, the second shifted by `by`.
fn two_cubes(by: Vec3) -> TriMesh {
    let skin = cube(2);
    let count = skin.point_count() as u32;
    let points = skin.points().iter().copied().chain(skin.points().iter().map(|&p| p + by)).collect();
    let more = skin.triangles().iter().map(|t| t.map(|p| p + count));
    TriMesh::new(points, skin.triangles().iter().copied().chain(more).collect()).unwrap()
}

#[test]
fn reports_the_location_of_self_intersections() {
    let TetError::SelfIntersecting { count, pairs } = rejected(&two_cubes(Vec3::new(0.9, 0.05, 0.03))) else {
        panic!("not found")
    };
    assert!(count >= pairs.len() && !pairs.is_empty());
    for pair in &pairs {
        assert!((0.85..1.05).contains(&pair.position.x), "{pair:?}");
    }
    assert!(rejected(&two_cubes(Vec3::new(0.9, 0.05, 0.03))).to_string().contains("triangles"));
}

#[test]
fn separates_a_self_intersecting_skin_if_points_can_move() {
    let skin = two_cubes(Vec3::new(0.99, 0.05, 0.03));
    let options = TetOptions { separate: 0.1, ..TetOptions::default() };
    let body = tetrahedralize(&skin, &[], &options, &NoProgress).unwrap();
    assert_eq!(body.recovered_fraction(), 1.0);
    assert!(body.notes[0].message.contains("points were moved"));
    let farthest = skin.points().iter().zip(body.mesh.nodes()).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(farthest > 0.0 && farthest <= 0.1001);
}

#[test]
fn rejects_open_skins_coincident_points_and_flat_triangles() {
    let skin = cube(2);
    let open = TriMesh::new(skin.points().to_vec(), skin.triangles()[1..].to_vec()).unwrap();
    assert!(matches!(rejected(&open), TetError::Open { count: 3, .. }));
    let mut points = skin.points().to_vec();
    points[1] = points[0];
    let message = rejected(&TriMesh::new(points, skin.triangles().to_vec()).unwrap()).to_string();
    assert!(message.contains("no area") || message.contains("both at"), "{message}");
    assert!(matches!(rejected(&two_cubes(Vec3::X)), TetError::CoincidentPoints { .. }));
    assert!(matches!(rejected(&TriMesh::default()), TetError::NoTriangles));
    let mut flipped = skin.triangles().to_vec();
    flipped[0].swap(0, 1);
    let flipped = TriMesh::new(skin.points().to_vec(), flipped).unwrap();
    assert!(matches!(rejected(&flipped), TetError::Inconsistent { count: 3, .. }));
}

#[test]
fn rejects_invalid_lengths_and_non_finite_bones() {
    let fails = |bones: &[(Vec3, Vec3)], options: TetOptions| {
        tetrahedralize(&cube(2), bones, &options, &NoProgress).unwrap_err()
    };
    let bad = TetOptions { spacing: Some(-1.0), ..TetOptions::default() };
    assert!(matches!(fails(&[], bad), TetError::InvalidOption { .. }));
    assert!(matches!(fails(&[(Vec3::NAN, Vec3::ZERO)], TetOptions::default()), TetError::BoneNotFinite { bone: 0 }));
}

/// A skin and another one transformed by `map`, with flipped triangles if `flipped`.
fn joined(skin: &TriMesh, other: &TriMesh, map: impl Fn(Vec3) -> Vec3, flipped: bool) -> TriMesh {
    let count = skin.point_count() as u32;
    let points = skin.points().iter().copied().chain(other.points().iter().map(|&p| map(p))).collect();
    let more = other
        .triangles()
        .iter()
        .map(|t| t.map(|p| p + count))
        .map(|[a, b, c]| if flipped { [a, c, b] } else { [a, b, c] });
    TriMesh::new(points, skin.triangles().iter().copied().chain(more).collect()).unwrap()
}

fn filled_volume(body: &TetBody) -> f64 {
    body.mesh.volumes().iter().sum()
}

#[test]
fn nested_shells_become_one_body() {
    let outer = cube(4);
    let body = fill(&joined(&outer, &cube(2), |p| p * 0.3 + 0.35, false), &[]);
    assert!((filled_volume(&body) - 1.0).abs() < 1e-9 && body.volume_error.abs() < 1e-9);
    assert_eq!(body.mesh.boundary().len(), outer.triangle_count());
    assert_eq!((body.recovered_fraction(), body.notes.len()), (1.0, 1));
    assert_used(&body.mesh);
}

#[test]
fn inward_shell_is_a_cavity_inside_and_is_flipped_outside() {
    let hollow = joined(&cube(4), &cube(2), |p| p * 0.3 + 0.35, true);
    let body = fill(&hollow, &[]);
    assert_fills(&body, &hollow);
    assert!((filled_volume(&body) - (1.0 - 0.027)).abs() < 1e-6);
    let beside = fill(&joined(&cube(4), &cube(2), |p| p * 0.3 + 2.0, true), &[]);
    assert!((filled_volume(&beside) - 1.027).abs() < 1e-6, "{}", filled_volume(&beside));
    assert_eq!(beside.notes.len(), 1);
}

#[test]
fn fills_shells_of_very_different_sizes() {
    let skin = joined(&torus(24, 12, 1.0, 0.4), &cube(2), |p| p * 1e-4 + Vec3::new(1.5, 0.0, 0.0), false);
    assert_fills(&fill(&skin, &[]), &skin);
}

#[test]
fn points_without_triangles_are_ignored_and_reported() {
    let skin = cube(3);
    // On a face, on an edge, inside, far outside, and coincident with another point.
    let more = [Vec3::new(0.4, 0.4, 0.0), Vec3::new(0.1, 0.0, 0.0), Vec3::splat(0.4), Vec3::splat(1e6), Vec3::ZERO];
    let points = skin.points().iter().copied().chain(more).collect();
    let body = fill(&TriMesh::new(points, skin.triangles().to_vec()).unwrap(), &[]);
    assert_eq!((body.recovered_fraction(), body.notes.len()), (1.0, 1));
    assert!((filled_volume(&body) - 1.0).abs() < 1e-9);
}

#[test]
fn fills_skins_with_needle_triangles() {
    for skin in [
        plate(1, 60, Vec3::ONE),
        torus(5, 90, 1.0, 0.3),
        torus(90, 4, 1.0, 0.3),
        plate(2, 2, Vec3::new(1e-4, 1.0, 30.0)),
    ] {
        assert_fills(&fill(&skin, &[]), &skin);
    }
}
