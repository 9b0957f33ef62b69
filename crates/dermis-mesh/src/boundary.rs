//! Boundary and defects of a surface: boundary edges and loops, non-manifold and inconsistently oriented edges.
//!
//! An edge used by one triangle is on the boundary, one used by two is interior, and one used by more is non-manifold. An
//! edge is inconsistently oriented if its two triangles traverse it in the same direction, so that one of them is flipped.

use std::collections::{BTreeMap, HashMap};

use crate::adjacency::Edges;

/// Boundary edges, each in the direction of its triangle, sorted by their lower point.
pub fn boundary_edges(edges: &Edges) -> Vec<[u32; 2]> {
    let directed = edges.iter().filter_map(|([low, high], uses)| match uses {
        [only] => Some(if only.forward { [low, high] } else { [high, low] }),
        _ => None,
    });
    directed.collect()
}

/// Edges used by more than two triangles, as indices into [`Edges`].
pub fn non_manifold_edges(edges: &Edges) -> Vec<usize> {
    (0..edges.len()).filter(|&edge| edges.uses(edge).len() > 2).collect()
}

/// Edges whose two triangles have opposite orientations, as indices into [`Edges`].
pub fn inconsistent_edges(edges: &Edges) -> Vec<usize> {
    let disagrees = |edge: &usize| matches!(edges.uses(*edge), [a, b] if a.forward == b.forward);
    (0..edges.len()).filter(disagrees).collect()
}

/// Returns true if the surface encloses a volume: it has triangles, and every edge is traversed equally often in both
/// directions. Shells that touch along an edge are closed too.
pub fn is_closed(edges: &Edges) -> bool {
    let balanced = |edge: usize| {
        let uses = edges.uses(edge);
        2 * uses.iter().filter(|used| used.forward).count() == uses.len()
    };
    !edges.is_empty() && (0..edges.len()).all(balanced)
}

/// Boundary as lists of points: each list follows boundary edges and visits no point twice.
///
/// If the surface is manifold and oriented, each list is a closed loop in the direction of its triangles. Boundaries that
/// touch at a point are separated there. A boundary that ends at a non-manifold edge is an open path.
pub fn boundary_loops(edges: &Edges) -> Vec<Vec<u32>> {
    let boundary = boundary_edges(edges);
    let mut tracer = Tracer::new(&boundary);
    let mut loops = Vec::new();
    // Open paths are traced first, from their ends, so that none is split.
    let (ends, others): (Vec<u32>, Vec<u32>) =
        tracer.steps.keys().partition(|point| tracer.steps[point].len() % 2 == 1);
    for start in ends.into_iter().chain(others) {
        tracer.from(start, &mut loops);
    }
    loops
}

/// Boundary edges that have not been traced.
struct Tracer {
    /// Steps available from each point, preferred ones last.
    steps: BTreeMap<u32, Vec<Step>>,
    used: Vec<bool>,
}

#[derive(Clone, Copy)]
struct Step {
    to: u32,
    edge: usize,
    forward: bool,
}

impl Tracer {
    fn new(boundary: &[[u32; 2]]) -> Self {
        let mut steps: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        for (edge, &[from, to]) in boundary.iter().enumerate() {
            steps.entry(from).or_default().push(Step { to, edge, forward: true });
            steps.entry(to).or_default().push(Step { to: from, edge, forward: false });
        }
        for choices in steps.values_mut() {
            choices.sort_by_key(|step| (step.forward, std::cmp::Reverse(step.to)));
        }
        Self { steps, used: vec![false; boundary.len()] }
    }

    fn from(&mut self, start: u32, loops: &mut Vec<Vec<u32>>) {
        let mut path = vec![start];
        let mut indices = HashMap::from([(start, 0)]);
        let mut at = start;
        while let Some(step) = self.take(at) {
            at = step.to;
            if let Some(&index) = indices.get(&at) {
                loops.push(path[index..].to_vec());
                for point in path.drain(index + 1..) {
                    indices.remove(&point);
                }
            } else {
                indices.insert(at, path.len());
                path.push(at);
            }
        }
        if path.len() > 1 {
            loops.push(path);
        }
    }

    fn take(&mut self, point: u32) -> Option<Step> {
        let choices = self.steps.get_mut(&point)?;
        while let Some(step) = choices.pop() {
            if !self.used[step.edge] {
                self.used[step.edge] = true;
                return Some(step);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_shapes::{beside, cube, grid, sphere};

    fn edges_of((points, triangles): &(Vec<glam::Vec3>, Vec<[u32; 3]>)) -> Edges {
        Edges::new(points.len(), triangles)
    }

    #[test]
    fn closed_shapes_have_no_boundary() {
        for shape in [cube(), sphere(2), beside(cube(), sphere(1))] {
            let edges = edges_of(&shape);
            assert!(is_closed(&edges));
            assert!(boundary_edges(&edges).is_empty() && boundary_loops(&edges).is_empty());
            assert!(non_manifold_edges(&edges).is_empty() && inconsistent_edges(&edges).is_empty());
        }
    }

    #[test]
    fn an_empty_mesh_is_not_closed() {
        assert!(!is_closed(&Edges::new(0, &[])));
        assert!(!is_closed(&Edges::new(2, &[[0, 1, 1]])));
    }

    #[test]
    fn the_boundary_of_a_grid_is_one_loop_in_the_direction_of_its_triangles() {
        let edges = edges_of(&grid(2));
        assert!(!is_closed(&edges));
        assert_eq!(boundary_edges(&edges).len(), 8);
        assert_eq!(boundary_loops(&edges), [[0, 1, 2, 5, 8, 7, 6, 3]]);
    }

    #[test]
    fn a_hole_is_a_separate_loop() {
        let (points, mut triangles) = grid(5);
        triangles.drain(24..26);
        let loops = boundary_loops(&Edges::new(points.len(), &triangles));
        assert_eq!(loops.iter().map(Vec::len).collect::<Vec<_>>(), [20, 4]);
    }

    #[test]
    fn boundaries_that_touch_at_a_point_are_separated() {
        let edges = Edges::new(5, &[[0, 1, 2], [2, 3, 4]]);
        let mut loops = boundary_loops(&edges);
        loops.sort();
        assert_eq!(loops, [vec![0, 1, 2], vec![2, 3, 4]]);
    }

    #[test]
    fn a_third_triangle_makes_an_edge_non_manifold() {
        let edges = Edges::new(5, &[[0, 1, 2], [1, 0, 3], [0, 1, 4]]);
        assert_eq!(non_manifold_edges(&edges), [0]);
        assert_eq!(edges.ends()[0], [0, 1]);
        // Three boundaries of two edges meet at two points: two form a loop, one remains.
        assert_eq!(boundary_loops(&edges), [vec![0, 3, 1, 2], vec![0, 4, 1]]);
    }

    #[test]
    fn a_flipped_triangle_is_inconsistent_with_its_neighbours() {
        let (points, mut triangles) = cube();
        triangles[3].swap(0, 1);
        let edges = Edges::new(points.len(), &triangles);
        assert_eq!(inconsistent_edges(&edges).len(), 3);
        assert!(!is_closed(&edges));
        assert!(boundary_edges(&edges).is_empty());
    }

    #[test]
    fn shells_that_touch_along_an_edge_are_closed() {
        // Two tetrahedra over the edge 0–1.
        let faces = |[a, b, c, d]: [u32; 4]| [[a, c, b], [a, b, d], [b, c, d], [a, d, c]];
        let triangles = [faces([0, 1, 2, 3]), faces([0, 1, 4, 5])].concat();
        let edges = Edges::new(6, &triangles);
        assert!(is_closed(&edges));
        assert_eq!(non_manifold_edges(&edges).len(), 1);
    }

    proptest! {
        #[test]
        fn loops_trace_every_boundary_edge_once(
            triangles in proptest::collection::vec(proptest::array::uniform3(0..9_u32), 0..20)
        ) {
            let edges = Edges::new(9, &triangles);
            let mut boundary: Vec<[u32; 2]> = boundary_edges(&edges).into_iter().map(|[a, b]| [a.min(b), a.max(b)]).collect();
            boundary.sort_unstable();
            let mut steps = 0;
            for path in boundary_loops(&edges) {
                let pairs = path.windows(2).map(|pair| [pair[0], pair[1]]);
                for [a, b] in pairs {
                    prop_assert!(boundary.binary_search(&[a.min(b), a.max(b)]).is_ok());
                    steps += 1;
                }
                let (first, last) = (path[0], path[path.len() - 1]);
                steps += usize::from(path.len() > 2 && boundary.binary_search(&[first.min(last), first.max(last)]).is_ok());
            }
            prop_assert!(steps >= boundary.len());
        }
    }
}
