//! Lengths of the fine cloth and the relaxation that restores them.
//!
//! Cloth hardly stretches, so the lengths of the edges of the fine cloth are nearly the same in all frames. The distances
//! of opposite corners of adjacent triangles represent bending: cloth resists folds that are sharper than those of the
//! examples. Each step projects all constraints in turn (position-based dynamics, Müller et al. 2007), in a fixed order.

use dermis_mesh::TriMesh;
use dermis_mesh::adjacency::Edges;
use glam::DVec3;

use super::binding::Location;

/// Fraction of the error of an edge that is corrected in a step, if it is too long.
const EDGE_STIFFNESS: f64 = 0.7;
/// Weight of a corner above which a coarse point is a point of the fine cloth.
const CORNER_WEIGHT: f64 = 0.99;

/// Edges of the fine cloth, and spans: pairs of opposite corners of adjacent triangles.
#[derive(Debug, Clone)]
pub(super) struct Links {
    pub(super) edges: Vec<[u32; 2]>,
    pub(super) spans: Vec<[u32; 2]>,
}

/// Rest lengths of the links.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths<'a> {
    pub(super) edges: &'a [f32],
    pub(super) spans: &'a [f32],
}

/// Relaxation: number of steps, and the fractions of the errors of edges and spans that are corrected in a step if they are
/// too short. Edges that are too short resist less than others, otherwise the cloth would buckle at the scale of its edges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Relaxation {
    pub(super) steps: usize,
    pub(super) edge_stiffness: f64,
    pub(super) span_stiffness: f64,
}

/// Points that the relaxation draws to the coarse cloth.
#[derive(Debug, Clone)]
pub(super) struct Anchors {
    /// Mobility of each point: 0 if it is a point of the coarse cloth that the fine cloth follows exactly, otherwise 1.
    mobilities: Vec<f64>,
    /// Coarse points that are points of the fine cloth, and the fine points.
    fixed: Vec<(u32, u32)>,
    /// Coarse points inside triangles of the fine cloth.
    inner: Vec<(u32, Location)>,
    stiffness: f64,
}

impl Links {
    pub(super) fn of(mesh: &TriMesh) -> Self {
        let triangles = mesh.triangles();
        let edges = Edges::new(mesh.point_count(), triangles);
        let opposite = |triangle: u32, ends: [u32; 2]| {
            triangles[triangle as usize].into_iter().find(|corner| !ends.contains(corner))
        };
        let span = |(ends, uses): ([u32; 2], &[dermis_mesh::adjacency::EdgeUse])| match uses {
            [a, b] => Some([opposite(a.triangle, ends)?, opposite(b.triangle, ends)?]),
            _ => None,
        };
        let spans = edges.iter().filter_map(span).filter(|[a, b]| a != b).collect();
        Self { edges: edges.ends().to_vec(), spans }
    }
}

impl Anchors {
    /// Anchors at the coarse points with the given locations on the fine cloth. `stiffness` is the fraction of the distance
    /// that is corrected in a step.
    pub(super) fn new(locations: &[Option<Location>], point_count: usize, stiffness: f64) -> Self {
        let mut anchors = Self { mobilities: vec![1.0; point_count], fixed: Vec::new(), inner: Vec::new(), stiffness };
        for (coarse, location) in locations.iter().enumerate() {
            let Some(location) = location else { continue };
            match (0..3).find(|&corner| location.weights[corner] > CORNER_WEIGHT) {
                Some(corner) => {
                    let point = location.corners[corner];
                    anchors.mobilities[point as usize] = 1.0 - stiffness;
                    anchors.fixed.push((coarse as u32, point));
                }
                None => anchors.inner.push((coarse as u32, *location)),
            }
        }
        anchors
    }

    /// Draws the anchored points to the coarse points.
    fn pull(&self, coarse: &[DVec3], points: &mut [DVec3]) {
        for &(from, to) in &self.fixed {
            let point = &mut points[to as usize];
            *point += self.stiffness * (coarse[from as usize] - *point);
        }
        for (from, location) in &self.inner {
            let apart = coarse[*from as usize] - location.blend(points);
            let square: f64 = location.weights.iter().map(|weight| weight * weight).sum();
            for (corner, weight) in location.corners.iter().zip(location.weights) {
                points[*corner as usize] += self.stiffness * weight / square * apart;
            }
        }
    }
}

/// Restores the lengths of the links; `points` are the start and the result.
pub(super) fn relax(
    links: &Links,
    lengths: Lengths<'_>,
    anchors: &Anchors,
    coarse: &[DVec3],
    points: &mut [DVec3],
    relaxation: Relaxation,
) {
    let Relaxation { steps, edge_stiffness, span_stiffness } = relaxation;
    anchors.pull(coarse, points);
    for _ in 0..steps {
        for (&[a, b], &length) in links.spans.iter().zip(lengths.spans) {
            project([a, b], f64::from(length), [span_stiffness, 0.0], &anchors.mobilities, points);
        }
        for (&[a, b], &length) in links.edges.iter().zip(lengths.edges) {
            project([a, b], f64::from(length), [edge_stiffness, EDGE_STIFFNESS], &anchors.mobilities, points);
        }
        anchors.pull(coarse, points);
    }
}

/// Moves two points towards their rest length, with a stiffness for links that are too short and one for those that are too
/// long.
#[inline]
fn project(ends: [u32; 2], length: f64, [short, long]: [f64; 2], mobilities: &[f64], points: &mut [DVec3]) {
    let [a, b] = ends.map(|end| end as usize);
    let apart = points[b] - points[a];
    let found = apart.length();
    let mobility = mobilities[a] + mobilities[b];
    if found <= f64::MIN_POSITIVE || mobility <= 0.0 {
        return;
    }
    let stiffness = if found < length { short } else { long };
    let step = apart * (stiffness * (found - length) / (found * mobility));
    points[a] += step * mobilities[a];
    points[b] -= step * mobilities[b];
}
