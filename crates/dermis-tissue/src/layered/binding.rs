//! Binding of the skin to the nodes.
//!
//! If the mesher preserved the skin, point i is node i. If it covered the skin with a lattice, each point lies in a
//! tetrahedron. *Carriers* are the nodes that the skin is bound to; the values of the skin are boundary values there.
//! The skin of a simulated body is the posed skin plus the displacement of its carriers from their posed positions, so
//! a coarse lattice preserves its detail.

use std::collections::BTreeMap;

use dermis_mesh::TetMesh;
use glam::Vec3;

use super::LayeredError;
use dermis_body::{BodyModel, expect_count};
use dermis_tet::tetrahedra::lattice::Embedding;

/// Binding of the skin to the nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum SkinBinding {
    /// The first nodes are the points of the skin, in order.
    Nodes,
    /// Each point of the skin follows a tetrahedron.
    Embedded(Vec<Embedding>),
}

/// Nodes that carry a skin, and the contribution of each point to each of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Carriers {
    /// Node indices, ascending.
    pub(super) nodes: Vec<u32>,
    /// Points of each carrier and their fractions, which sum to 1.
    fractions: Vec<Vec<(u32, f64)>>,
}

impl SkinBinding {
    /// Returns an error unless the binding fits a skin of `points` points and the nodes of `tets`.
    pub(super) fn check(&self, points: usize, tets: &TetMesh) -> Result<(), LayeredError> {
        match self {
            Self::Nodes if tets.nodes().len() < points => {
                Ok(expect_count("nodes, at least one per point of the skin", tets.nodes().len(), points)?)
            }
            Self::Nodes => Ok(()),
            Self::Embedded(embeddings) => {
                expect_count("points bound to tetrahedra", embeddings.len(), points)?;
                let count = tets.tetrahedra().len();
                let fits = |embedding: &Embedding| {
                    (embedding.tetrahedron as usize) < count
                        && embedding.weights.iter().all(|weight| weight.is_finite())
                };
                match embeddings.iter().position(|embedding| !fits(embedding)) {
                    Some(point) => Err(LayeredError::Binding { point, count }),
                    None => Ok(()),
                }
            }
        }
    }

    /// Returns the nodes that carry a skin of `points` points.
    pub(super) fn carriers(&self, points: usize, tets: &TetMesh) -> Carriers {
        match self {
            Self::Nodes => Carriers {
                nodes: (0..points as u32).collect(),
                fractions: (0..points as u32).map(|point| vec![(point, 1.0)]).collect(),
            },
            Self::Embedded(embeddings) => {
                let mut fractions: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
                for (point, embedding) in (0..).zip(embeddings) {
                    let corners = tets.tetrahedra()[embedding.tetrahedron as usize];
                    for (corner, weight) in
                        corners.into_iter().zip(embedding.weights).filter(|(_, weight)| *weight > 0.0)
                    {
                        fractions.entry(corner).or_default().push((point, f64::from(weight)));
                    }
                }
                for row in fractions.values_mut() {
                    let sum: f64 = row.iter().map(|(_, fraction)| fraction).sum();
                    for (_, fraction) in row {
                        *fraction /= sum;
                    }
                }
                let (nodes, fractions) = fractions.into_iter().unzip();
                Carriers { nodes, fractions }
            }
        }
    }

    /// Interpolates values of the carriers at the skin's points.
    pub(super) fn to_skin(&self, tets: &TetMesh, carriers: &Carriers, values: &[f64]) -> Vec<f32> {
        match self {
            Self::Nodes => values.iter().map(|&value| value as f32).collect(),
            Self::Embedded(embeddings) => {
                let at = |node: u32| carriers.nodes.binary_search(&node).map_or(0.0, |index| values[index]);
                let value = |embedding: &Embedding| {
                    let corners = tets.tetrahedra()[embedding.tetrahedron as usize];
                    corners.into_iter().zip(embedding.weights).map(|(node, weight)| at(node) * f64::from(weight)).sum()
                };
                embeddings
                    .iter()
                    .map(|embedding| {
                        let value: f64 = value(embedding);
                        value as f32
                    })
                    .collect()
            }
        }
    }

    /// Moves `skin`, the posed skin, by the displacement of its nodes: from `posed_nodes` to `nodes`.
    pub(super) fn follow(&self, tets: &TetMesh, nodes: &[Vec3], posed_nodes: &[Vec3], skin: &mut [Vec3]) {
        match self {
            Self::Nodes => skin.copy_from_slice(&nodes[..skin.len()]),
            Self::Embedded(embeddings) => {
                for (point, embedding) in skin.iter_mut().zip(embeddings) {
                    let corners = tets.tetrahedra()[embedding.tetrahedron as usize].map(|corner| corner as usize);
                    for (corner, weight) in corners.into_iter().zip(embedding.weights) {
                        *point += (nodes[corner] - posed_nodes[corner]) * weight;
                    }
                }
            }
        }
    }
}

impl Carriers {
    /// Averages values of the skin, `columns` per point, at the carriers, weighted by the fractions of the points.
    pub(super) fn values(&self, skin: &[f64], columns: usize) -> Vec<f64> {
        let mut values = vec![0.0; self.nodes.len() * columns];
        for (row, fractions) in values.chunks_exact_mut(columns.max(1)).zip(&self.fractions) {
            for &(point, fraction) in fractions {
                let of_point = &skin[point as usize * columns..][..columns];
                row.iter_mut().zip(of_point).for_each(|(value, own)| *value += fraction * own);
            }
        }
        values
    }

    /// Triangles between carriers, by carrier index: those of the skin, or of the boundary of the lattice.
    pub(super) fn triangles(&self, body: &BodyModel, binding: &SkinBinding, tets: &TetMesh) -> Vec<[u32; 3]> {
        if *binding == SkinBinding::Nodes {
            return body.mesh().triangles().to_vec();
        }
        let index = |node: u32| self.nodes.binary_search(&node).ok().map(|index| index as u32);
        let placed = |[a, b, c]: [u32; 3]| Some([index(a)?, index(b)?, index(c)?]);
        tets.boundary().into_iter().filter_map(placed).collect()
    }

    /// Marks the carriers of which more than half belongs to `chosen` points.
    pub(super) fn chosen(&self, chosen: &[bool]) -> Vec<bool> {
        let part = |fractions: &Vec<(u32, f64)>| -> f64 {
            fractions.iter().filter(|(point, _)| chosen[*point as usize]).map(|(_, fraction)| fraction).sum()
        };
        self.fractions.iter().map(|fractions| part(fractions) > 0.5).collect()
    }
}
