//! Edges and faces of the skin that the tetrahedra must contain, and their splits.

use std::collections::HashMap;

use super::super::complex::sorted;

/// Split of an edge or face of the skin at a Steiner point.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Split {
    pub(in super::super) point: u32,
    /// Faces before the split.
    pub(in super::super) before: Vec<[u32; 3]>,
}

/// Edges and faces to recover.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Constraints {
    faces: Vec<Option<[u32; 3]>>,
    edges: HashMap<[u32; 2], Vec<u32>>,
    keys: HashMap<[u32; 3], u32>,
    pub(in super::super) splits: Vec<Split>,
}

impl Constraints {
    pub(in super::super) fn new(faces: &[[u32; 3]]) -> Self {
        let mut constraints = Self::default();
        for &face in faces {
            constraints.add(face);
        }
        constraints
    }

    fn add(&mut self, face: [u32; 3]) {
        let index = self.faces.len() as u32;
        self.faces.push(Some(face));
        self.keys.insert(sorted(face), index);
        for edge in edges_of(face) {
            self.edges.entry(edge).or_default().push(index);
        }
    }

    fn remove(&mut self, index: u32) -> Option<[u32; 3]> {
        let face = self.faces[index as usize].take()?;
        self.keys.remove(&sorted(face));
        for edge in edges_of(face) {
            if let Some(faces) = self.edges.get_mut(&edge) {
                faces.retain(|&other| other != index);
                if faces.is_empty() {
                    self.edges.remove(&edge);
                }
            }
        }
        Some(face)
    }

    pub(in super::super) fn has_edge(&self, p: u32, q: u32) -> bool {
        self.edges.contains_key(&sorted([p, q]))
    }

    pub(in super::super) fn has_face(&self, face: [u32; 3]) -> bool {
        self.keys.contains_key(&sorted(face))
    }

    /// Faces in the order of insertion.
    pub(in super::super) fn faces(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.faces.iter().copied().flatten()
    }

    /// Edges in ascending order.
    pub(in super::super) fn edges(&self) -> Vec<[u32; 2]> {
        let mut edges: Vec<[u32; 2]> = self.edges.keys().copied().collect();
        edges.sort_unstable();
        edges
    }

    /// Splits an edge at `point`; returns the new edges.
    pub(super) fn split_edge(&mut self, [a, c]: [u32; 2], point: u32) -> Vec<[u32; 2]> {
        let at_edge = self.edges.get(&sorted([a, c])).cloned().unwrap_or_default();
        let mut new = vec![sorted([a, point]), sorted([point, c])];
        let mut before = Vec::new();
        for index in at_edge {
            let Some(face) = self.remove(index) else { continue };
            before.push(face);
            self.add(face.map(|corner| if corner == c { point } else { corner }));
            self.add(face.map(|corner| if corner == a { point } else { corner }));
            new.extend(face.iter().filter(|&&corner| corner != a && corner != c).map(|&x| sorted([x, point])));
        }
        self.splits.push(Split { point, before });
        new
    }

    /// Splits a face at `point`; returns the new edges.
    pub(super) fn split_face(&mut self, face: [u32; 3], point: u32) -> Vec<[u32; 2]> {
        if let Some(&index) = self.keys.get(&sorted(face))
            && let Some(face) = self.remove(index)
        {
            let [a, b, c] = face;
            for part in [[a, b, point], [b, c, point], [c, a, point]] {
                self.add(part);
            }
            self.splits.push(Split { point, before: vec![face] });
        }
        face.iter().map(|&corner| sorted([corner, point])).collect()
    }
}

fn edges_of([a, b, c]: [u32; 3]) -> [[u32; 2]; 3] {
    [sorted([a, b]), sorted([b, c]), sorted([c, a])]
}
