//! What `dermis skin` says about a fit.

use dermis::io::Written;
use dermis::skin::{BoneModel, Fit, FitOptions};
use serde::Serialize;
use serde_json::{Map, Value};

use super::args::Args;
use super::inputs::Inputs;
use crate::motion::MotionFacts;
use crate::notes::NoteFacts;
use crate::numbers::{bytes, counted, measured, seconds, short};
use crate::terminal::Paint;

/// A fit as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    inputs: Vec<String>,
    output: Option<String>,
    files: Vec<String>,
    bytes: u64,
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
    compression: f64,
    iterations: usize,
    converged: bool,
    seconds: Map<String, Value>,
    /// The same in the order of the work, for people.
    #[serde(skip)]
    stages: Vec<(&'static str, f64)>,
    notes: Vec<NoteFacts>,
}

impl Summary {
    pub(super) fn new(
        args: &Args,
        inputs: &Inputs,
        fit: &Fit,
        options: &FitOptions,
        written: Option<&Written>,
        total: f64,
    ) -> Self {
        let model = if args.from.is_some() || args.bones.rig.is_some() {
            BoneModel::of_skin(&fit.skin)
        } else {
            options.bone_model
        };
        let mut times: Map<String, Value> =
            fit.seconds.iter().map(|&(stage, time)| (stage.replace(' ', "_"), time.into())).collect();
        times.insert("total".to_owned(), total.into());
        Self {
            inputs: args.inputs.clone(),
            output: args.output.as_ref().map(|output| output.display().to_string()),
            notes: NoteFacts::each_once(inputs.notes.iter().chain(written.iter().flat_map(|written| &written.notes))),
            files: written.iter().flat_map(|w| &w.files).map(|file| file.display().to_string()).collect(),
            bytes: written.map_or(0, |written| written.bytes),
            points: fit.skin.mesh().point_count(),
            triangles: fit.skin.mesh().triangle_count(),
            frames: inputs.animations.iter().map(|animation| animation.sequence.frame_count()).sum(),
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
            iterations: fit.refinement.iterations,
            converged: fit.refinement.converged,
            seconds: times,
            stages: fit.seconds.clone(),
        }
    }

    /// The summary for people.
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut lines = vec![format!(
            "{}  {}, {}, {}",
            paint.title(&self.inputs.join(", ")),
            counted(self.points, "point", "points"),
            counted(self.triangles, "triangle", "triangles"),
            counted(self.frames, "frame", "frames"),
        )];
        let mut fact = |name: &str, words: String| lines.push(format!("  {name:<14} {words}"));
        let influences = counted(self.influences, "influence", "influences");
        fact("bones", format!("{} {}, at most {influences} per point", self.bones, self.bone_model));
        if let (Some(fraction), Some(epsilon)) = (self.near_rigid_fraction, self.epsilon) {
            fact("near-rigid", format!("{:.0} % of the triangles, at ε = {}", 100.0 * fraction, short(epsilon)));
        }
        fact("distortion", self.distortion());
        fact("largest error", format!("{} % of the box's diagonal", measured(self.max_error_percent)));
        fact("normals", format!("{} rms of unit normals", measured(self.normal_error_rms)));
        let bones_only = if self.rank > 0 { ", corrections not counted" } else { "" };
        fact("compression", format!("{:.1} times smaller than the frames{bones_only}", self.compression));
        fact("time", self.times());
        if let Some(output) = &self.output {
            lines.push(format!("wrote {} ({})", paint.title(output), bytes(self.bytes)));
        }
        let notes: String = self.notes.iter().map(|note| note.line(paint)).collect();
        lines.join("\n") + "\n" + &notes
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

    fn times(&self) -> String {
        let stages: Vec<String> = self
            .stages
            .iter()
            .filter(|(_, time)| *time >= 0.005)
            .map(|(stage, time)| format!("{stage} {}", seconds(*time)))
            .collect();
        let iterations = match self.iterations {
            0 => String::new(),
            count => format!("; {}", counted(count, "iteration", "iterations")),
        };
        let total = seconds(self.seconds["total"].as_f64().unwrap_or(0.0));
        format!("{total} ({}{iterations})", stages.join(", "))
    }
}
