//! Tetrahedral complex with adjacency, and its single modification: a set of tetrahedra is replaced by others that fill
//! the same cavity.
//!
//! The tetrahedron `[a, b, c, d]` is positive: seen from `d`, the corners `a`, `b`, `c` are counter-clockwise. Its face
//! `i` is opposite its corner `i`. A face without a neighbour is on the boundary.

use glam::DVec3;

use super::predicates::orient;

/// Index that denotes no tetrahedron or no point.
pub(super) const NONE: u32 = u32::MAX;

/// Maximum number of tetrahedra around an edge; longer rings are truncated and count as open.
const MAX_RING_TETS: usize = 10_000;

/// Corners of the face opposite each corner, counter-clockwise as seen from that corner.
pub(super) const FACES: [[usize; 3]; 4] = [[1, 3, 2], [0, 2, 3], [0, 3, 1], [0, 1, 2]];

/// Tetrahedra over points, with adjacency.
#[derive(Debug, Clone, Default)]
pub(super) struct Complex {
    pub(super) points: Vec<DVec3>,
    /// Corners of each tetrahedron; all [`NONE`] if it is deleted.
    pub(super) tets: Vec<[u32; 4]>,
    /// Neighbours across the faces of each tetrahedron.
    pub(super) neighbours: Vec<[u32; 4]>,
    /// One tetrahedron of each point, or [`NONE`].
    pub(super) tet_of: Vec<u32>,
    free: Vec<u32>,
    marks: Vec<u32>,
    mark: u32,
    scratch: Vec<FaceUse>,
}

/// A face as its sorted corners, with its tetrahedron and slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FaceUse {
    key: [u32; 3],
    tet: u32,
    slot: u8,
}

/// The tetrahedra around an edge `[p, q]`.
#[derive(Debug, Clone, Default)]
pub(super) struct Ring {
    /// Points around the edge; tetrahedron `i` is between point `i` and the next.
    pub(super) points: Vec<u32>,
    pub(super) tets: Vec<u32>,
    /// True if the ring is complete; otherwise the edge is on the boundary.
    pub(super) closed: bool,
}

impl Complex {
    /// Creates the complex of positive `tets` over `points`.
    pub(super) fn new(points: Vec<DVec3>, tets: &[[u32; 4]]) -> Self {
        let mut complex = Self { tet_of: vec![NONE; points.len()], points, ..Self::default() };
        complex.replace(&[], tets);
        complex
    }

    pub(super) fn add_point(&mut self, point: DVec3) -> u32 {
        self.points.push(point);
        self.tet_of.push(NONE);
        self.points.len() as u32 - 1
    }

    pub(super) fn point(&self, point: u32) -> DVec3 {
        self.points[point as usize]
    }

    pub(super) fn tet(&self, tet: u32) -> [u32; 4] {
        self.tets[tet as usize]
    }

    pub(super) fn neighbour(&self, tet: u32, slot: usize) -> u32 {
        self.neighbours[tet as usize][slot]
    }

    pub(super) fn is_alive(&self, tet: u32) -> bool {
        self.tets[tet as usize][0] != NONE
    }

    /// Indices of tetrahedra that are not deleted.
    pub(super) fn alive(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.tets.len() as u32).filter(|&tet| self.is_alive(tet))
    }

    /// Corners of a face, counter-clockwise as seen from the opposite corner.
    pub(super) fn face(&self, tet: u32, slot: usize) -> [u32; 3] {
        FACES[slot].map(|corner| self.tets[tet as usize][corner])
    }

    /// Exact orientation of four points.
    pub(super) fn orient(&self, [a, b, c, d]: [u32; 4]) -> f64 {
        orient(self.point(a), self.point(b), self.point(c), self.point(d))
    }

    /// Clears all marks.
    pub(super) fn clear_marks(&mut self) {
        self.marks.resize(self.tets.len(), 0);
        self.mark += 1;
    }

    pub(super) fn set_mark(&mut self, tet: u32) {
        self.marks[tet as usize] = self.mark;
    }

    pub(super) fn unset_mark(&mut self, tet: u32) {
        self.marks[tet as usize] = 0;
    }

    pub(super) fn is_marked(&self, tet: u32) -> bool {
        self.marks[tet as usize] == self.mark
    }

    /// Deletes `old`, adds `new`, connects all faces and returns the indices of `new`, in order.
    ///
    /// Faces of `new` that match neither each other nor a neighbour of `old` become boundary faces.
    pub(super) fn replace(&mut self, old: &[u32], new: &[[u32; 4]]) -> Vec<u32> {
        let mut uses = std::mem::take(&mut self.scratch);
        uses.clear();
        self.clear_marks();
        for &tet in old {
            self.set_mark(tet);
        }
        for &tet in old {
            for slot in 0..4 {
                let outer = self.neighbour(tet, slot);
                if outer != NONE && !self.is_marked(outer) {
                    let back = self.slot_of(outer, tet);
                    self.neighbours[outer as usize][back] = NONE;
                    uses.push(FaceUse { key: sorted(self.face(tet, slot)), tet: outer, slot: back as u8 });
                }
            }
        }
        for &tet in old {
            for corner in self.tet(tet) {
                self.tet_of[corner as usize] = NONE;
            }
            self.tets[tet as usize] = [NONE; 4];
            self.free.push(tet);
        }
        let added: Vec<u32> = new.iter().map(|&corners| self.add(corners)).collect();
        for (&tet, corners) in added.iter().zip(new) {
            for (slot, face) in FACES.iter().enumerate() {
                uses.push(FaceUse { key: sorted(face.map(|corner| corners[corner])), tet, slot: slot as u8 });
            }
        }
        self.connect(&mut uses);
        self.scratch = uses;
        added
    }

    fn add(&mut self, corners: [u32; 4]) -> u32 {
        let tet = self.free.pop().unwrap_or(self.tets.len() as u32);
        if tet as usize == self.tets.len() {
            self.tets.push(corners);
            self.neighbours.push([NONE; 4]);
        } else {
            self.tets[tet as usize] = corners;
            self.neighbours[tet as usize] = [NONE; 4];
        }
        for corner in corners {
            self.tet_of[corner as usize] = tet;
        }
        tet
    }

    fn connect(&mut self, uses: &mut [FaceUse]) {
        uses.sort_unstable();
        for pair in uses.windows(2) {
            if pair[0].key == pair[1].key {
                self.neighbours[pair[0].tet as usize][pair[0].slot as usize] = pair[1].tet;
                self.neighbours[pair[1].tet as usize][pair[1].slot as usize] = pair[0].tet;
            }
        }
        // Corners whose tetrahedron was deleted get a neighbouring tetrahedron, if there is one.
        for used in uses.iter() {
            for corner in used.key {
                if self.tet_of[corner as usize] == NONE {
                    self.tet_of[corner as usize] = used.tet;
                }
            }
        }
    }

    /// Face of `tet` that is shared with `neighbour`.
    ///
    /// # Panics
    /// If they are not neighbours.
    pub(super) fn slot_of(&self, tet: u32, neighbour: u32) -> usize {
        self.neighbours[tet as usize]
            .iter()
            .position(|&other| other == neighbour)
            .expect("the tetrahedra are neighbours")
    }

    /// Index of `point` among the corners of `tet`.
    pub(super) fn corner_of(&self, tet: u32, point: u32) -> Option<usize> {
        self.tets[tet as usize].iter().position(|&corner| corner == point)
    }

    /// Tetrahedra between the outer faces of a cavity and `point`.
    pub(super) fn cone(&mut self, cavity: &[u32], point: u32) -> Vec<[u32; 4]> {
        self.clear_marks();
        for &tet in cavity {
            self.set_mark(tet);
        }
        let faces = cavity.iter().flat_map(|&tet| (0..4).map(move |slot| (tet, slot)));
        let outer = faces.filter(|&(tet, slot)| !self.is_marked_neighbour(tet, slot));
        outer.map(|(tet, slot)| self.face(tet, slot)).map(|[a, b, c]| [a, b, c, point]).collect()
    }

    /// Returns true if the neighbour across a face is marked.
    pub(super) fn is_marked_neighbour(&self, tet: u32, slot: usize) -> bool {
        let neighbour = self.neighbour(tet, slot);
        neighbour != NONE && self.is_marked(neighbour)
    }

    /// The two tetrahedra at a face and the three that a 2-3 flip replaces them with; `None` on the boundary.
    pub(super) fn flip_2_3(&self, tet: u32, slot: usize) -> Option<([u32; 2], [[u32; 4]; 3])> {
        let other = self.neighbour(tet, slot);
        if other == NONE {
            return None;
        }
        let face = self.face(tet, slot);
        let above = self.tet(tet)[slot];
        let below = self.tet(other)[self.slot_of(other, tet)];
        Some(([tet, other], [0, 1, 2].map(|k| [face[k], face[(k + 1) % 3], below, above])))
    }

    /// All tetrahedra at `point`.
    pub(super) fn star(&mut self, point: u32) -> Vec<u32> {
        let first = self.tet_of[point as usize];
        if first == NONE {
            return Vec::new();
        }
        self.clear_marks();
        self.set_mark(first);
        let mut star = vec![first];
        let mut next = 0;
        while let Some(&tet) = star.get(next) {
            next += 1;
            for slot in 0..4 {
                let neighbour = self.neighbour(tet, slot);
                let through = self.tets[tet as usize][slot] != point;
                if through && neighbour != NONE && !self.is_marked(neighbour) {
                    self.set_mark(neighbour);
                    star.push(neighbour);
                }
            }
        }
        star
    }

    /// A tetrahedron at the edge between `p` and `q`, if the edge exists.
    pub(super) fn tet_at_edge(&mut self, p: u32, q: u32) -> Option<u32> {
        self.star(p).into_iter().find(|&tet| self.tet(tet).contains(&q))
    }

    /// Tetrahedra around the edge from `p` to `q`, starting from `tet`, which is one of them.
    pub(super) fn ring(&self, p: u32, q: u32, tet: u32) -> Ring {
        let (start_point, end_point) = self.across(p, q, tet);
        let mut ring = Ring { points: vec![start_point, end_point], tets: vec![tet], closed: false };
        while let Some((next, point)) =
            self.step(p, q, *ring.tets.last().unwrap_or(&tet), ring.points[ring.points.len() - 2])
            && ring.tets.len() < MAX_RING_TETS
        {
            if next == tet {
                ring.points.pop();
                ring.closed = true;
                return ring;
            }
            ring.tets.push(next);
            ring.points.push(point);
        }
        // The ring is open: continue from the start in the opposite direction.
        while let Some((next, point)) = self.step(p, q, ring.tets[0], ring.points[1])
            && ring.tets.len() < MAX_RING_TETS
        {
            ring.tets.insert(0, next);
            ring.points.insert(0, point);
        }
        ring
    }

    /// The other two corners of a tetrahedron at the edge `p`, `q`, in the orientation of the ring.
    fn across(&self, p: u32, q: u32, tet: u32) -> (u32, u32) {
        let corners = self.tet(tet);
        let [i, j] = [p, q].map(|point| corners.iter().position(|&corner| corner == point).unwrap_or(0));
        // (i, j, k, l) is an even permutation of the corners.
        const REST: [[[usize; 2]; 4]; 4] = [
            [[0, 0], [2, 3], [3, 1], [1, 2]],
            [[3, 2], [0, 0], [0, 3], [2, 0]],
            [[1, 3], [3, 0], [0, 0], [0, 1]],
            [[2, 1], [0, 2], [1, 0], [0, 0]],
        ];
        let [k, l] = REST[i][j];
        (corners[k], corners[l])
    }

    /// Neighbour across the face opposite `behind`, and its additional point.
    fn step(&self, p: u32, q: u32, tet: u32, behind: u32) -> Option<(u32, u32)> {
        let slot = self.corner_of(tet, behind)?;
        let next = self.neighbour(tet, slot);
        if next == NONE {
            return None;
        }
        let (a, b) = self.across(p, q, next);
        let corners = self.tet(tet);
        Some((next, if corners.contains(&a) { b } else { a }))
    }
}

/// Corners in ascending order, as a key that does not depend on orientation.
pub(super) fn sorted<const K: usize>(mut corners: [u32; K]) -> [u32; K] {
    corners.sort_unstable();
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octahedron() -> Complex {
        let points = vec![DVec3::NEG_Z, DVec3::Z, DVec3::X, DVec3::Y, DVec3::NEG_X, DVec3::NEG_Y];
        Complex::new(points, &[[0, 1, 2, 3], [0, 1, 3, 4], [0, 1, 4, 5], [0, 1, 5, 2]])
    }

    #[test]
    fn rings_are_oriented_around_their_edge() {
        let mut complex = octahedron();
        let tet = complex.tet_at_edge(0, 1).unwrap();
        let ring = complex.ring(0, 1, tet);
        assert!(ring.closed && ring.tets.len() == 4);
        for (i, &tet) in ring.tets.iter().enumerate() {
            let [r, s] = [ring.points[i], ring.points[(i + 1) % 4]];
            assert_eq!(sorted(complex.tet(tet)), sorted([0, 1, r, s]));
            assert!(complex.orient([0, 1, r, s]) > 0.0);
        }
        let tet = complex.tet_at_edge(0, 3).unwrap();
        let open = complex.ring(0, 3, tet);
        assert!(!open.closed && open.tets.len() == 2);
        assert_eq!(open.points[1], 1);
    }

    #[test]
    fn replace_connects_new_tetrahedra_with_existing_ones() {
        let mut complex = octahedron();
        let old = complex.star(0);
        complex.replace(&old, &[[2, 3, 5, 1], [3, 4, 5, 1], [5, 3, 2, 0], [5, 4, 3, 0]]);
        assert_eq!(complex.alive().count(), 4);
        assert!(complex.tet_at_edge(0, 1).is_none() && complex.tet_at_edge(3, 5).is_some());
        for tet in complex.alive().collect::<Vec<_>>() {
            assert_eq!(complex.neighbours[tet as usize].iter().filter(|&&n| n == NONE).count(), 2);
            assert!(complex.orient(complex.tet(tet)) > 0.0);
        }
    }
}
