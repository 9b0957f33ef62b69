//! Folds learned from pairs of a coarse and a fine simulation of the same garment.
//!
//! Every point of the fine cloth has a linear model that maps the shape of the coarse cloth around it to a displacement
//! (`train`). The shape consists of the positions of the nearest control points, in the rotated frame of the point; the
//! control points are those of the coarse cloth of the training. The displacement is relative to the coarse cloth after
//! a relaxation that restores the learned lengths of the fine cloth (`lengths`), which resolves most of the lost length
//! without knowledge of the folds. A longer and softer relaxation follows. Coarse cloths with other triangles are
//! supported: both cloths are related by their rest shapes (`binding`).
//!
//! Related: Kavan et al. 2011 learn one linear map from coarse to fine cloth. Learning the remainder of a nonlinear
//! relaxation, and relaxing the result, reduces the error by a further fifth (`docs/algorithms/wrinkle.md`).
//! Frames are independent of each other. The cost is linear in the number of points.

mod binding;
mod lengths;
mod train;

use std::sync::Arc;
use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::geometry::{point_normals, total_area};
use dermis_mesh::{MeshSequence, Note, SequenceError, TriMesh};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::measures::{Meter, WrinkleMeasures};
use super::{ClothError, RestShape, WrinkleError, WrinkleLayer, WrinkleOptions};
use binding::{Binding, Cloth, Posed};
use lengths::{Anchors, Lengths, Links, Relaxation, relax};
pub use train::{FoldTraining, LearnOptions, train_folds};

/// Relaxation before the learned displacement.
const BASE: Relaxation = Relaxation { steps: 20, edge_stiffness: 0.7, span_stiffness: 0.1 };
/// Relaxation after it.
const FINAL: Relaxation = Relaxation { steps: 80, edge_stiffness: 0.1, span_stiffness: 0.04 };

/// Data of learned folds.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldParts {
    /// Rest shape and triangles of the fine cloth.
    pub mesh: Arc<TriMesh>,
    /// Rest positions of the control points.
    pub controls: Vec<Vec3>,
    /// Control points of each point, the same number for all.
    pub neighbours: Vec<u32>,
    /// Displacement per unit of each coordinate of a control point: for each point and control point, three columns.
    pub weights: Vec<[Vec3; 3]>,
    /// Displacement of each point if the coarse cloth has its rest shape.
    pub offsets: Vec<Vec3>,
    /// Largest displacement of each point.
    pub limits: Vec<f32>,
    /// Lengths of the edges, in the order of their points.
    pub edge_lengths: Vec<f32>,
    /// Distances of the opposite corners of adjacent triangles, in the order of their common edges.
    pub span_lengths: Vec<f32>,
    /// Fraction of the distance to the points of the coarse cloth that a step of the relaxation corrects: 1 if the fine
    /// cloth passes through them, 0 if the simulations are independent.
    pub anchoring: f32,
    /// Regularization of the linear models.
    pub smoothness: f64,
}

/// Learned folds, valid by construction.
#[derive(Debug, Clone)]
pub struct LearnedFolds {
    parts: FoldParts,
    links: Links,
    per_point: usize,
    /// Mean length of the edges of the fine cloth.
    side: f64,
}

/// Cloth with learned folds.
#[derive(Debug, Clone)]
pub struct LearnedCloth {
    /// Fine cloth; frames are computed when they are read.
    pub sequence: MeshSequence,
    /// Measures of the result.
    pub measures: WrinkleMeasures,
    /// Assumptions made and data dropped.
    pub notes: Vec<Note>,
}

/// Error of learned folds.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FoldsError {
    /// A cloth is empty.
    #[error("the cloth has no triangles")]
    NoTriangles,
    /// The simulations have different lengths.
    #[error("the coarse simulation has {coarse} frames and the fine one {fine}: frames must correspond")]
    Frames {
        /// Frames of the coarse simulation.
        coarse: usize,
        /// Frames of the fine simulation.
        fine: usize,
    },
    /// There are too few frames.
    #[error("{found} frames are too few to learn folds: at least {needed} are required")]
    TooFewFrames {
        /// Number of frames.
        found: usize,
        /// Smallest number.
        needed: usize,
    },
    /// The fine cloth has no more points than the coarse one.
    #[error("the fine cloth has {fine} points, no more than the coarse one with {coarse}")]
    NotFiner {
        /// Points of the coarse cloth.
        coarse: usize,
        /// Points of the fine cloth.
        fine: usize,
    },
    /// The rest shapes differ.
    #[error("the rest shapes differ by {percent:.1} % of the size on average: folds apply to the same garment only")]
    OtherCloth {
        /// Mean distance in percent of the diagonal.
        percent: f64,
    },
    /// The data of a file do not belong together.
    #[error("invalid learned folds: {0}")]
    Invalid(&'static str),
    /// An option is out of range.
    #[error("invalid smoothness {0}: it must be positive")]
    Smoothness(f64),
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The observer stopped the work.
    #[error("stopped before all frames were computed")]
    Stopped,
}

impl FoldsError {
    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::OtherCloth { .. } => Some("use cloths with the same rest shape and unit, or give the rest shape"),
            Self::Frames { .. } => Some("select corresponding frames of both simulations"),
            Self::NotFiner { .. } => Some("the coarse simulation comes first, the fine one second"),
            _ => None,
        }
    }
}

impl LearnedFolds {
    /// Checks the data and prepares the relaxation.
    pub fn new(parts: FoldParts) -> Result<Self, FoldsError> {
        let links = Links::of(&parts.mesh);
        let points = parts.mesh.point_count();
        let per_point = parts.neighbours.len().checked_div(points).unwrap_or(0);
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite() && *value >= 0.0);
        let invalid = [
            (points == 0 || parts.mesh.triangle_count() == 0, "the mesh is empty"),
            (per_point == 0 || parts.neighbours.len() != per_point * points, "neighbours do not match the points"),
            (parts.neighbours.iter().any(|&at| at as usize >= parts.controls.len()), "a neighbour does not exist"),
            (parts.weights.len() != parts.neighbours.len(), "weights do not match the neighbours"),
            (parts.offsets.len() != points || parts.limits.len() != points, "offsets do not match the points"),
            (parts.edge_lengths.len() != links.edges.len(), "edge lengths do not match the edges"),
            (parts.span_lengths.len() != links.spans.len(), "span lengths do not match the edges"),
            (!finite(&parts.edge_lengths) || !finite(&parts.span_lengths), "a length is negative or not finite"),
            (!finite(&parts.limits), "a limit is negative or not finite"),
            (!parts.weights.iter().flatten().all(|weight| weight.is_finite()), "a weight is not finite"),
            (!parts.offsets.iter().chain(&parts.controls).all(|point| point.is_finite()), "a point is not finite"),
            (!(0.0..=1.0).contains(&parts.anchoring), "the anchoring is not between 0 and 1"),
        ];
        if let Some((_, reason)) = invalid.into_iter().find(|(is_invalid, _)| *is_invalid) {
            return Err(FoldsError::Invalid(reason));
        }
        let lengths = parts.edge_lengths.iter().map(|length| f64::from(*length));
        let side = lengths.sum::<f64>() / parts.edge_lengths.len().max(1) as f64;
        Ok(Self { parts, links, per_point, side })
    }

    /// The data.
    pub fn parts(&self) -> &FoldParts {
        &self.parts
    }

    /// Relates a coarse cloth to the fine one.
    fn bind(&self, coarse: Cloth<'_>) -> Result<(Binding, Anchors), FoldsError> {
        let FoldParts { mesh, controls, anchoring, .. } = &self.parts;
        let fine = Cloth { rest: mesh.points(), triangles: mesh.triangles() };
        let binding = Binding::new(coarse, fine, controls)?;
        let anchors = Anchors::new(&binding.anchors, mesh.point_count(), f64::from(*anchoring));
        Ok((binding, anchors))
    }

    /// The fine cloth of a frame.
    fn frame(&self, binding: &Binding, anchors: &Anchors, positions: &[Vec3]) -> Vec<DVec3> {
        let posed = binding.pose(positions);
        let FoldParts { edge_lengths: edges, span_lengths: spans, .. } = &self.parts;
        let lengths = Lengths { edges, spans };
        let mut points = posed.points.clone();
        relax(&self.links, lengths, anchors, &posed.coarse, &mut points, BASE);
        let moved = |(point, position): (usize, &DVec3)| *position + self.displacement(&posed, point);
        let mut points: Vec<DVec3> = points.par_iter().enumerate().with_min_len(256).map(moved).collect();
        relax(&self.links, lengths, anchors, &posed.coarse, &mut points, FINAL);
        points
    }

    /// Learned displacement of a point.
    fn displacement(&self, posed: &Posed, point: usize) -> DVec3 {
        let entries = point * self.per_point..(point + 1) * self.per_point;
        let mut local = self.parts.offsets[point].as_dvec3();
        for entry in entries {
            let [x, y, z] = self.parts.weights[entry].map(Vec3::as_dvec3);
            let moved = self.feature(posed, point, entry);
            local += x * moved.x + y * moved.y + z * moved.z;
        }
        posed.rotations[point] * local.clamp_length_max(f64::from(self.parts.limits[point]))
    }

    /// Relative displacement of a control point in the frame of a point.
    fn feature(&self, posed: &Posed, point: usize, entry: usize) -> DVec3 {
        let FoldParts { mesh, controls, neighbours, .. } = &self.parts;
        let control = neighbours[entry] as usize;
        let rest = (controls[control] - mesh.points()[point]).as_dvec3();
        feature(rest, posed.rotations[point].inverse() * (posed.controls[control] - posed.points[point]), self.side)
    }
}

/// Displacement of a control point relative to its distance at rest; `side` avoids large values nearby.
fn feature(rest: DVec3, now: DVec3, side: f64) -> DVec3 {
    (now - rest) / (rest.length() + side)
}

/// Adds learned folds to the cloth animation `motion` with the rest shape `rest`, that of its mesh if `None`.
pub fn apply_folds(
    folds: &Arc<LearnedFolds>,
    motion: &MeshSequence,
    rest: Option<&[Vec3]>,
    progress: &dyn Progress,
) -> Result<LearnedCloth, ClothError> {
    let mesh = motion.mesh();
    let rest = rest.unwrap_or(mesh.points());
    if rest.len() != mesh.point_count() {
        return Err(WrinkleError::RestPoints { found: rest.len(), expected: mesh.point_count() }.into());
    }
    let (binding, anchors) = folds.bind(Cloth { rest, triangles: mesh.triangles() })?;
    let binding = Arc::new(binding);
    let fine = Arc::clone(&folds.parts.mesh);
    let area = total_area(fine.points(), fine.triangles());
    let layer = WrinkleLayer::new(mesh, RestShape::Points(rest), &WrinkleOptions::default())?.with_rest_area(area);
    let mut meter = Meter::new(&layer, motion, folds.side as f32);
    let mut seconds = 0.0;
    let count = motion.frame_count();
    for frame in 0..count {
        if progress.report("wrinkling", frame, count).is_break() {
            return Err(ClothError::Stopped);
        }
        let positions = motion.frame(frame)?;
        let start = Instant::now();
        let found = folds.frame(&binding, &anchors, &positions);
        seconds += start.elapsed().as_secs_f64();
        let found: Vec<Vec3> = found.iter().map(|point| point.as_vec3()).collect();
        let flat = binding.pose(&positions).points;
        let normals = point_normals(&found, fine.triangles());
        let height = |((point, flat), normal): ((&Vec3, &DVec3), &Vec3)| (*point - flat.as_vec3()).dot(*normal);
        let heights: Vec<f32> = found.iter().zip(&flat).zip(&normals).map(height).collect();
        meter.add(frame, &positions, &found, &heights, fine.triangles())?;
    }
    let measures = meter.finish(seconds / count as f64);
    let notes = layer.notes().to_vec();
    let (folds, source) = (Arc::clone(folds), motion.clone());
    let read = move |frame: usize, out: &mut [Vec3]| {
        let found = folds.frame(&binding, &anchors, &source.frame(frame)?);
        out.iter_mut().zip(found).for_each(|(out, point)| *out = point.as_vec3());
        Ok(())
    };
    let sequence = MeshSequence::from_fn(fine, count, motion.frame_rate_hz(), read)?;
    let sequence = sequence.starting_at(motion.start_seconds()).named(motion.name());
    Ok(LearnedCloth { sequence, measures, notes })
}

#[cfg(test)]
mod tests;
