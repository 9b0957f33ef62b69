//! Faces and edges that obstruct a missing edge or face of the skin, by exact predicates.

use super::super::complex::{Complex, NONE};

/// Maximum number of crossings that are followed.
const MAX_CROSSINGS: usize = 400;

/// Crossing of a missing edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Crossing {
    /// Crossing of a face of a tetrahedron.
    Face { tet: u32, slot: usize },
    /// Exact crossing of an edge.
    Edge([u32; 2]),
}

/// A missing edge or face of the skin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Missing {
    Edge([u32; 2]),
    Face([u32; 3]),
}

impl Missing {
    pub(super) fn is_recovered(self, complex: &mut Complex) -> bool {
        match self {
            Self::Edge([a, c]) => complex.tet_at_edge(a, c).is_some(),
            Self::Face(face) => has_face(complex, face),
        }
    }

    /// 1 if a face obstructs the missing edge, otherwise 0.
    pub(super) fn obstructed_by_face(self, complex: &Complex, face: [u32; 3]) -> f64 {
        f64::from(u8::from(matches!(self, Self::Edge([a, c]) if pierces(complex, a, c, face))))
    }

    /// 1 if an edge obstructs the missing face, otherwise 0.
    pub(super) fn obstructed_by_edge(self, complex: &Complex, p: u32, q: u32) -> f64 {
        f64::from(u8::from(matches!(self, Self::Face(face) if pierces(complex, p, q, face))))
    }

    pub(super) fn corner(self) -> u32 {
        match self {
            Self::Edge([a, _]) | Self::Face([a, ..]) => a,
        }
    }
}

/// Returns true if a tetrahedron has this face.
pub(super) fn has_face(complex: &mut Complex, [a, b, c]: [u32; 3]) -> bool {
    complex.star(a).into_iter().any(|tet| {
        let corners = complex.tet(tet);
        corners.contains(&b) && corners.contains(&c)
    })
}

/// Crossings of the segment from `a` to `c`, in order, up to the first edge or point that it meets exactly.
///
/// `side(x, y)` is positive if `y` is counter-clockwise from `x` around the axis from `a` to `c`. The axis crosses a
/// triangle if all three sides are positive.
pub(super) fn crossings(complex: &mut Complex, a: u32, c: u32) -> Vec<Crossing> {
    let mut found = Vec::new();
    let Some((mut tet, mut slot, mut face)) = first_face(complex, a, c, &mut found) else {
        return found;
    };
    while found.len() < MAX_CROSSINGS {
        found.push(Crossing::Face { tet, slot });
        let next = complex.neighbour(tet, slot);
        if next == NONE {
            break;
        }
        let apex = complex.tet(next)[complex.slot_of(next, tet)];
        if apex == c {
            break;
        }
        let side = |x: u32, y: u32| -complex.orient([a, x, y, c]);
        let exit = (0..3)
            .map(|k| [face[k], face[(k + 1) % 3], apex])
            .find(|&[x, y, o]| side(y, o) >= 0.0 && side(o, x) >= 0.0);
        let Some([x, y, o]) = exit else { break };
        let (on_y, on_x) = (side(y, o) == 0.0, side(o, x) == 0.0);
        if on_x || on_y {
            if on_x != on_y {
                found.push(Crossing::Edge(if on_y { [y, o] } else { [o, x] }));
            }
            break;
        }
        let opposite = complex.tet(next).iter().position(|corner| ![x, y, o].contains(corner)).unwrap_or(0);
        (tet, slot, face) = (next, opposite, [x, y, o]);
    }
    found
}

/// Face through which the segment leaves the star of `a`. If it leaves through an edge, that edge is added to `found`.
fn first_face(complex: &mut Complex, a: u32, c: u32, found: &mut Vec<Crossing>) -> Option<(u32, usize, [u32; 3])> {
    for tet in complex.star(a) {
        let slot = complex.corner_of(tet, a)?;
        let [p, q, r] = complex.face(tet, slot);
        let side = |x: u32, y: u32| -complex.orient([a, x, y, c]);
        let sides = [side(p, q), side(q, r), side(r, p)];
        if sides.iter().any(|&side| side < 0.0) || complex.orient([p, q, r, c]) >= 0.0 {
            continue;
        }
        match sides.map(|side| side == 0.0) {
            [false, false, false] => return Some((tet, slot, [p, q, r])),
            [true, false, false] => found.push(Crossing::Edge([p, q])),
            [false, true, false] => found.push(Crossing::Edge([q, r])),
            [false, false, true] => found.push(Crossing::Edge([r, p])),
            _ => {}
        }
        if !found.is_empty() {
            return None;
        }
    }
    None
}

/// Returns true if the segment from `a` to `c` intersects a triangle that has neither of them as a corner.
pub(super) fn pierces(complex: &Complex, a: u32, c: u32, [x, y, z]: [u32; 3]) -> bool {
    if [x, y, z].iter().any(|&corner| corner == a || corner == c) {
        return false;
    }
    let (from, to) = (complex.orient([x, y, z, a]), complex.orient([x, y, z, c]));
    if from * to >= 0.0 && !(from > 0.0 && to < 0.0 || from < 0.0 && to > 0.0) {
        return false;
    }
    let signs = [[x, y], [y, z], [z, x]].map(|[u, v]| complex.orient([a, u, v, c]));
    signs.iter().all(|&sign| sign >= 0.0) || signs.iter().all(|&sign| sign <= 0.0)
}

/// Edges that pierce a missing face whose edges are present, found by a traversal that starts at these edges.
pub(super) fn piercing_edges(complex: &mut Complex, face: [u32; 3]) -> Vec<[u32; 2]> {
    let mut found: Vec<[u32; 2]> = Vec::new();
    for k in 0..3 {
        let (a, b) = (face[k], face[(k + 1) % 3]);
        if let Some(tet) = complex.tet_at_edge(a, b) {
            for tet in complex.ring(a, b, tet).tets {
                add_piercing(complex, tet, face, &mut found);
            }
        }
    }
    let mut next = 0;
    while let Some(&[p, q]) = found.get(next) {
        next += 1;
        if let Some(tet) = complex.tet_at_edge(p, q) {
            for tet in complex.ring(p, q, tet).tets {
                add_piercing(complex, tet, face, &mut found);
            }
        }
        if found.len() > MAX_CROSSINGS {
            break;
        }
    }
    found
}

fn add_piercing(complex: &Complex, tet: u32, face: [u32; 3], found: &mut Vec<[u32; 2]>) {
    let corners = complex.tet(tet);
    for i in 0..4 {
        for j in i + 1..4 {
            let edge = [corners[i].min(corners[j]), corners[i].max(corners[j])];
            if !found.contains(&edge) && pierces(complex, edge[0], edge[1], face) {
                found.push(edge);
            }
        }
    }
}
