//! Detection of self-intersections of a mesh.

use std::collections::HashMap;

use dermis_mesh::TriMesh;
use glam::{DVec3, IVec3};

/// The first two triangles that intersect, if any.
///
/// Triangles are compared if they share a cell of a grid. Triangles with a common edge cannot intersect; of triangles with
/// a common corner only the opposite sides are tested.
pub(crate) fn first_intersection(mesh: &TriMesh, cell: f64) -> Option<(usize, usize)> {
    let corners: Vec<[DVec3; 3]> =
        mesh.triangles().iter().map(|t| t.map(|point| mesh.points()[point as usize].as_dvec3())).collect();
    let mut cells: HashMap<IVec3, Vec<usize>> = HashMap::new();
    for (index, [a, b, c]) in corners.iter().enumerate() {
        let low = (a.min(*b).min(*c) / cell).floor().as_ivec3();
        let high = (a.max(*b).max(*c) / cell).floor().as_ivec3();
        for x in low.x..=high.x {
            for y in low.y..=high.y {
                for z in low.z..=high.z {
                    cells.entry(IVec3::new(x, y, z)).or_default().push(index);
                }
            }
        }
    }
    let pairs = |of: &Vec<usize>| {
        let meet = |&(a, b): &(usize, usize)| intersect(mesh, &corners, a, b) || intersect(mesh, &corners, b, a);
        of.iter().enumerate().flat_map(|(k, &a)| of[..k].iter().map(move |&b| (a, b))).find(meet)
    };
    cells.values().filter_map(pairs).min()
}

/// Returns true if a side of triangle `a` passes through triangle `b`.
fn intersect(mesh: &TriMesh, corners: &[[DVec3; 3]], a: usize, b: usize) -> bool {
    let (ours, theirs) = (mesh.triangles()[a], mesh.triangles()[b]);
    let shared = ours.map(|point| theirs.contains(&point));
    if shared.iter().filter(|shared| **shared).count() > 1 {
        return false;
    }
    (0..3).any(|side| {
        let next = (side + 1) % 3;
        !shared[side] && !shared[next] && passes_through([corners[a][side], corners[a][next]], corners[b])
    })
}

fn passes_through([from, to]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let volume = |a: DVec3, b: DVec3, c: DVec3, d: DVec3| (b - a).cross(c - a).dot(d - a);
    let (above, below) = (volume(a, b, c, from), volume(a, b, c, to));
    let sides = [volume(from, to, a, b), volume(from, to, b, c), volume(from, to, c, a)];
    above * below < 0.0 && (sides.iter().all(|side| *side > 0.0) || sides.iter().all(|side| *side < 0.0))
}
