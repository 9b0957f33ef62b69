//! Problems of a mesh.

use glam::Vec3;
use rayon::prelude::*;

use super::{Problem, ProblemKind, Tally, counted, plural};
use crate::adjacency::{Edges, is_collapsed};
use crate::boundary::{boundary_edges, boundary_loops, inconsistent_edges, non_manifold_edges};
use crate::geometry::is_degenerate;
use crate::shells::{ISOLATED, Shells, shells};
use crate::tri_mesh::TriMesh;
use crate::volume::shell_volumes;

/// Finds problems of the points and triangles of a mesh.
pub fn of_mesh(mesh: &TriMesh) -> Vec<Problem> {
    let edges = Edges::new(mesh.point_count(), mesh.triangles());
    let shells = shells(mesh.point_count(), mesh.triangles());
    let found = [
        degenerate_triangles(mesh),
        duplicate_triangles(mesh),
        isolated_points(mesh, &shells),
        coincident_points(mesh.points()),
        edge_problem(
            ProblemKind::NonManifoldEdges,
            "is shared by more than two triangles",
            "are shared by more than two triangles",
            "the surface branches there: remove inner walls and duplicate faces",
            &edges,
            &non_manifold_edges(&edges),
        ),
        edge_problem(
            ProblemKind::InconsistentOrientation,
            "connects faces of opposite orientation",
            "connect faces of opposite orientation",
            "make the face orientation consistent in the modelling tool",
            &edges,
            &inconsistent_edges(&edges),
        ),
        inside_out_shells(mesh, &edges, &shells),
        open_boundary(&edges),
    ];
    found.into_iter().flatten().collect()
}

fn degenerate_triangles(mesh: &TriMesh) -> Option<Problem> {
    let points = mesh.points();
    let flat =
        |triangle: &[u32; 3]| is_collapsed(*triangle) || is_degenerate(triangle.map(|point| points[point as usize]));
    let tally = Tally::of((0..mesh.triangle_count()).filter(|&triangle| flat(&mesh.triangles()[triangle])));
    let hint = "they are kept, but have no normal and are ignored in fitting; remove them if they are unintended";
    tally.problem(ProblemKind::DegenerateTriangles, hint, |count, first| {
        format!("{}; the first is triangle {first}", counted(count, "triangle", "has no area", "have no area"))
    })
}

fn duplicate_triangles(mesh: &TriMesh) -> Option<Problem> {
    let mut keys: Vec<([u32; 3], u32)> = mesh.triangles().iter().copied().zip(0..).collect();
    keys.par_iter_mut().for_each(|(key, _)| key.sort_unstable());
    keys.par_sort_unstable();
    let repeats = keys.chunk_by(|a, b| a.0 == b.0).flat_map(|same| same[1..].iter().map(|&(_, index)| index as usize));
    let mut repeats: Vec<usize> = repeats.collect();
    repeats.sort_unstable();
    let hint = "remove duplicate faces; use a double-sided material for sheets visible from both sides";
    Tally::of(repeats).problem(ProblemKind::DuplicateTriangles, hint, |count, first| {
        let what = counted(count, "triangle", "repeats", "repeat");
        format!("{what} an earlier one; the first is triangle {first}")
    })
}

fn isolated_points(mesh: &TriMesh, shells: &Shells) -> Option<Problem> {
    if mesh.triangle_count() == 0 {
        // Points without any triangles are a point cache.
        return None;
    }
    let isolated = shells.of_points.iter().enumerate().filter(|(_, shell)| **shell == ISOLATED);
    let hint = "they are kept so that indices stay the same; delete loose points in the modelling tool";
    Tally::of(isolated.map(|(point, _)| point)).problem(ProblemKind::IsolatedPoints, hint, |count, first| {
        format!("{} not used by any triangle; the first is point {first}", counted(count, "point", "is", "are"))
    })
}

fn coincident_points(points: &[Vec3]) -> Option<Problem> {
    let bits = |point: Vec3| point.to_array().map(|number| (number + 0.0).to_bits());
    let mut keys: Vec<([u32; 3], u32)> = points.iter().map(|&point| bits(point)).zip(0..).collect();
    keys.par_sort_unstable();
    let repeats = keys.chunk_by(|a, b| a.0 == b.0).flat_map(|same| same[1..].iter().map(|&(_, index)| index as usize));
    let mut repeats: Vec<usize> = repeats.collect();
    repeats.sort_unstable();
    let hint = "if these are seams, the surface can open along them: merge points by distance before export";
    Tally::of(repeats).problem(ProblemKind::CoincidentPoints, hint, |count, first| {
        let what = counted(count, "point", "coincides", "coincide");
        format!("{what} with an earlier one; the first is point {first}")
    })
}

fn edge_problem(
    kind: ProblemKind,
    one: &str,
    many: &str,
    hint: &'static str,
    edges: &Edges,
    found: &[usize],
) -> Option<Problem> {
    Tally::of(found.iter().copied()).problem(kind, hint, |count, first| {
        let [low, high] = edges.ends()[first];
        format!("{}; the first connects points {low} and {high}", counted(count, "edge", one, many))
    })
}

fn inside_out_shells(mesh: &TriMesh, edges: &Edges, shells: &Shells) -> Option<Problem> {
    let mut closed = vec![true; shells.count];
    for ([low, _], uses) in edges.iter() {
        let forward = uses.iter().filter(|used| used.forward).count();
        if 2 * forward != uses.len() {
            closed[shells.of_points[low as usize] as usize] = false;
        }
    }
    let volumes = shell_volumes(mesh.points(), mesh.triangles(), shells);
    let tally = Tally::of((0..shells.count).filter(|&shell| closed[shell] && volumes[shell] < 0.0));
    let hint = "flip the faces, unless the shell is the wall of a cavity inside another";
    tally.problem(ProblemKind::InsideOutShells, hint, |count, first| {
        let what = counted(count, "closed shell", "is", "are");
        let volume = volumes[first];
        format!("{what} inside out; the first is shell {first} of {}, with volume {volume:.4}", shells.count)
    })
}

fn open_boundary(edges: &Edges) -> Option<Problem> {
    let boundary = boundary_edges(edges);
    let &[from, to] = boundary.first()?;
    let what = plural(boundary.len(), "boundary edge");
    let loops = plural(boundary_loops(edges).len(), "loop");
    Some(Problem {
        kind: ProblemKind::OpenBoundary,
        count: boundary.len(),
        message: format!("{what} in {loops}; the first connects points {from} and {to}"),
        hint: "expected for cloth and other open sheets; volumes are defined for closed surfaces only",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_shapes::{beside, cube, grid};

    fn kinds((points, triangles): (Vec<Vec3>, Vec<[u32; 3]>)) -> Vec<(ProblemKind, usize)> {
        let problems = of_mesh(&TriMesh::new(points, triangles).unwrap());
        problems.iter().map(|problem| (problem.kind, problem.count)).collect()
    }

    #[test]
    fn a_clean_closed_mesh_has_no_problems() {
        assert_eq!(kinds(cube()), []);
        assert_eq!(kinds((vec![], vec![])), []);
    }

    #[test]
    fn points_without_triangles_are_not_isolated() {
        assert_eq!(kinds((vec![Vec3::X, Vec3::Y], vec![])), []);
    }

    #[test]
    fn an_open_sheet_is_harmless() {
        let (points, triangles) = grid(2);
        let problems = of_mesh(&TriMesh::new(points, triangles).unwrap());
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].message, "8 boundary edges in 1 loop; the first connects points 0 and 1");
        assert!(problems[0].kind.is_harmless());
    }

    #[test]
    fn reports_the_first_triangle_without_area() {
        let (points, mut triangles) = cube();
        triangles.insert(5, [0, 0, 1]);
        triangles.push([3, 3, 3]);
        let problems = of_mesh(&TriMesh::new(points, triangles).unwrap());
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].message, "2 triangles have no area; the first is triangle 5");
    }

    #[test]
    fn finds_duplicate_faces_of_either_orientation() {
        let (points, mut triangles) = cube();
        let [a, b, c] = triangles[4];
        triangles.extend([[b, c, a], [b, a, c]]);
        let found = kinds((points, triangles));
        assert!(found.contains(&(ProblemKind::DuplicateTriangles, 2)), "{found:?}");
        assert!(found.contains(&(ProblemKind::NonManifoldEdges, 3)), "{found:?}");
    }

    #[test]
    fn finds_a_shell_that_is_inside_out() {
        let (points, mut triangles) = beside(cube(), cube());
        for triangle in &mut triangles[12..] {
            triangle.swap(0, 1);
        }
        let problems = of_mesh(&TriMesh::new(points, triangles).unwrap());
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "8 points coincide with an earlier one; the first is point 8",
                "1 closed shell is inside out; the first is shell 1 of 2, with volume -1.0000",
            ]
        );
    }

    #[test]
    fn a_flipped_face_is_inconsistent_but_not_inside_out() {
        let (points, mut triangles) = cube();
        triangles[0].swap(0, 1);
        assert_eq!(kinds((points, triangles)), [(ProblemKind::InconsistentOrientation, 3)]);
    }

    #[test]
    fn negative_zero_coincides_with_zero() {
        let found = kinds((vec![Vec3::ZERO, -Vec3::ZERO], vec![]));
        assert_eq!(found, [(ProblemKind::CoincidentPoints, 1)]);
    }
}
