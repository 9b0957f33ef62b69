//! What `dermis skin` tells about a fit.

use dermis::animations::Animations;
use dermis::skin::{BoneModel, Fit, FitOptions};
use serde::Serialize;

use super::args::Args;
use crate::job::Facts;
use crate::motion::MotionFacts;
use crate::numbers::{counted, measured, short};
use crate::text::Text;

/// Bytes of a position in 32-bit floats.
const POSITION_BYTES: f64 = 12.0;

/// A fit as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    inputs: Vec<String>,
    points: usize,
    triangles: usize,
    frames: usize,
    clips: Vec<MotionFacts>,
    bones: usize,
    bone_model: &'static str,
    /// The most bones that any point really has.
    influences: usize,
    rank: usize,
    near_rigid_fraction: Option<f64>,
    epsilon: Option<f64>,
    distortion_percent: f64,
    distortion_percent_by_rank: Vec<f64>,
    erms: f64,
    max_error_percent: f64,
    normal_error_rms: f64,
    /// The paper's measure, of rest pose, weights and bones.
    compression: f64,
    /// Bytes of the raw frames over bytes written; null if nothing was written.
    file_ratio: Option<f64>,
    iterations: usize,
    converged: bool,
}

impl Summary {
    pub(super) fn new(args: &Args, inputs: &Animations, fit: &Fit, options: &FitOptions, written_bytes: u64) -> Self {
        let model = if args.from.is_some() || args.bones.rig.is_some() {
            BoneModel::of_skin(&fit.skin)
        } else {
            options.bone_model
        };
        let points = fit.skin.mesh().point_count();
        let frames = inputs.animations.iter().map(|animation| animation.sequence.frame_count()).sum();
        let raw_bytes = POSITION_BYTES * points as f64 * frames as f64;
        Self {
            inputs: args.inputs.clone(),
            points,
            triangles: fit.skin.mesh().triangle_count(),
            frames,
            clips: fit.skin.clips().iter().map(|clip| MotionFacts::of_clip(clip)).collect(),
            bones: fit.skin.bone_count(),
            bone_model: model.name(),
            influences: fit.skin.rig().weights().max_influences(),
            rank: fit.skin.rank(),
            near_rigid_fraction: fit.near_rigid_fraction,
            epsilon: fit.epsilon,
            distortion_percent: fit.measures.distortion_percent,
            distortion_percent_by_rank: fit.measures.distortion_percent_by_rank.clone(),
            erms: fit.measures.erms,
            max_error_percent: fit.measures.max_error_percent,
            normal_error_rms: fit.measures.normal_error_rms,
            compression: fit.compression,
            file_ratio: (written_bytes > 0).then(|| raw_bytes / written_bytes as f64),
            iterations: fit.refinement.iterations,
            converged: fit.refinement.converged,
        }
    }

    fn distortion(&self) -> String {
        let last = measured(self.distortion_percent);
        match self.rank {
            0 => format!("{last} % (erms {})", measured(self.erms)),
            rank => {
                let bare = measured(self.distortion_percent_by_rank[0]);
                let corrections = counted(rank, "correction", "corrections");
                format!("{last} % with {corrections}, {bare} % without (erms {})", measured(self.erms))
            }
        }
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let points = counted(self.points, "point", "points");
        let triangles = counted(self.triangles, "triangle", "triangles");
        let frames = counted(self.frames, "frame", "frames");
        text.title(&self.inputs.join(", "), format!("{points}, {triangles}, {frames}"));
        let influences = counted(self.influences, "influence", "influences");
        text.row("bones", format!("{} {}, at most {influences} per point", self.bones, self.bone_model));
        if let (Some(fraction), Some(epsilon)) = (self.near_rigid_fraction, self.epsilon) {
            text.row("near-rigid", format!("{:.0} % of the triangles, at ε = {}", 100.0 * fraction, short(epsilon)));
        }
        text.row("distortion", self.distortion());
        text.row("largest error", format!("{} % of the box's diagonal", measured(self.max_error_percent)));
        text.row("normals", format!("{} rms of unit normals", measured(self.normal_error_rms)));
        let bones_only = if self.rank > 0 { ", corrections not counted" } else { "" };
        text.row("compression", format!("{:.1} times fewer numbers than the frames{bones_only}", self.compression));
        if let Some(ratio) = self.file_ratio {
            text.row("file ratio", format!("the file is {ratio:.1} times smaller than the raw frames"));
        }
        if self.iterations > 0 {
            let unfinished = if self.converged { "" } else { ", still improving" };
            text.row("refinement", format!("{}{unfinished}", counted(self.iterations, "iteration", "iterations")));
        }
    }
}
