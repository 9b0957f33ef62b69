//! Summary of `dermis skin`.

use dermis::animations::Animations;
use dermis::skin::{BoneModel, Fit, FitOptions};
use serde::Serialize;

use super::args::Args;
use super::given::GivenRig;
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
    /// Maximum number of bones per point.
    influences: usize,
    rank: usize,
    near_rigid_fraction: Option<f64>,
    epsilon: Option<f64>,
    distortion_percent: f64,
    distortion_percent_by_rank: Vec<f64>,
    erms: f64,
    max_error_percent: f64,
    normal_error_rms: f64,
    normal_error_degrees: Degrees,
    parts_per_bone: f64,
    islands: usize,
    stray_weight_percent: f64,
    mean_influences: f64,
    weight_difference: f64,
    rest_energy_ratio: f64,
    flipped_rest_triangles: usize,
    crossfade_stretch_percent: f64,
    /// Measure of the paper: floats of the frames over those of rest pose, weights and bones.
    compression: f64,
    /// Bytes of the raw frames over bytes written; null if nothing was written.
    file_ratio: Option<f64>,
    iterations: usize,
    converged: bool,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    skeleton: Option<Skeleton>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    given: Option<GivenRig>,
    /// Settings of `--engine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
}

/// Joint tree of `--skeleton`.
#[derive(Debug, Serialize)]
struct Skeleton {
    joints: usize,
    roots: usize,
    /// Distortion of the same number of rigid bones without parents.
    distortion_percent_free: f64,
}

/// Root mean square errors of normals, in degrees.
#[derive(Debug, Serialize)]
struct Degrees {
    geometric: f64,
    skinned: f64,
}

impl Summary {
    pub(super) fn new(args: &Args, inputs: &Animations, fit: &Fit, options: &FitOptions, written_bytes: u64) -> Self {
        let model = match options.skeleton {
            Some(_) => BoneModel::Rigid,
            None if args.from.is_some() || args.bones.rig.is_some() => BoneModel::of_skin(&fit.skin),
            None => options.bone_model,
        };
        let points = fit.skin.mesh().point_count();
        let frames = inputs.animations.iter().map(|animation| animation.sequence.frame_count()).sum();
        let quality = &fit.quality;
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
            normal_error_degrees: Degrees {
                geometric: quality.normal_error_degrees.geometric,
                skinned: quality.normal_error_degrees.skinned,
            },
            parts_per_bone: quality.weights.parts_per_bone,
            islands: quality.weights.islands,
            stray_weight_percent: quality.weights.stray_weight_percent,
            mean_influences: quality.weights.mean_influences,
            weight_difference: quality.weights.weight_difference,
            rest_energy_ratio: quality.rest.rest_energy_ratio,
            flipped_rest_triangles: quality.rest.flipped_rest_triangles,
            crossfade_stretch_percent: quality.crossfade_stretch_percent,
            compression: fit.compression,
            file_ratio: (written_bytes > 0).then(|| raw_bytes / written_bytes as f64),
            iterations: fit.refinement.iterations,
            converged: fit.refinement.converged,
            skeleton: fit.skeleton.map(|report| Skeleton {
                joints: report.joints,
                roots: report.roots,
                distortion_percent_free: report.distortion_percent_free,
            }),
            given: fit.rig.as_ref().map(GivenRig::new),
            engine: args.profile().map(|profile| format!("{}: {}", profile.name, profile.summary())),
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
        if let Some(engine) = &self.engine {
            text.row("engine", engine.clone());
        }
        let influences = counted(self.influences, "influence", "influences");
        text.row("bones", format!("{} {}, at most {influences} per point", self.bones, self.bone_model));
        if let (Some(fraction), Some(epsilon)) = (self.near_rigid_fraction, self.epsilon) {
            text.row("near-rigid", format!("{:.0} % of the triangles, at ε = {}", 100.0 * fraction, short(epsilon)));
        }
        text.row("distortion", self.distortion());
        if let Some(Skeleton { joints, roots, distortion_percent_free }) = self.skeleton {
            let (joints, roots) = (counted(joints, "joint", "joints"), counted(roots, "root", "roots"));
            let free = measured(distortion_percent_free);
            text.row("skeleton", format!("{joints}, {roots}; {free} % distortion without it"));
        }
        if let Some(row) = self.given.as_ref().and_then(GivenRig::row) {
            text.row("helpers", row);
        }
        text.row("largest error", format!("{} % of the diagonal", measured(self.max_error_percent)));
        let Degrees { geometric, skinned } = self.normal_error_degrees;
        text.row("normals", format!("{skinned:.1}° RMS as skinned, {geometric:.1}° recomputed"));
        let islands = counted(self.islands, "island", "islands");
        let (parts, influences) = (self.parts_per_bone, self.mean_influences);
        text.row("weights", format!("{parts:.1} parts per bone, {islands}, {influences:.1} influences per point"));
        if self.flipped_rest_triangles > 0 {
            text.row("rest pose", counted(self.flipped_rest_triangles, "flipped triangle", "flipped triangles"));
        }
        let bones_only = if self.rank > 0 { ", corrections not counted" } else { "" };
        text.row("compression", format!("{:.1} times fewer floats than the frames{bones_only}", self.compression));
        if let Some(ratio) = self.file_ratio {
            text.row("file ratio", format!("{ratio:.1} times smaller than the raw frames"));
        }
        if self.iterations > 0 {
            let unfinished = if self.converged { "" } else { ", not converged" };
            text.row("refinement", format!("{}{unfinished}", counted(self.iterations, "iteration", "iterations")));
        }
    }
}
