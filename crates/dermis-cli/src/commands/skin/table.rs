//! `dermis skin --table`: Table 1 of James & Twigg 2005 for one input, with the refined fit.

use std::process::ExitCode;

use dermis::animations::Animations;
use dermis::fit_skin::fit_animations;
use dermis::mesh::{MeshSequence, Note};
use dermis::skin::fit::{Corrections, DEFAULT_TSVD_THRESHOLD, WeightMethod};
use dermis::skin::refine::RefineOptions;
use dermis::skin::{BoneModel, FitOptions, measure};
use serde::Serialize;

use super::args::Args;
use crate::diagnostic::Diagnostic;
use crate::job::{Facts, Job};
use crate::numbers::counted;
use crate::text::Text;

/// The rank of the corrected column.
const RANK: usize = 10;

/// The table as JSON.
#[derive(Debug, Serialize)]
struct Table {
    inputs: Vec<String>,
    points: usize,
    triangles: usize,
    frames: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    method: &'static str,
    bone_model: &'static str,
    weights: &'static str,
    bones: usize,
    near_rigid_fraction: Option<f64>,
    distortion_percent: f64,
    /// Distortion with corrections of rank 10.
    distortion_percent_rank_10: f64,
    /// Error without and with the corrections.
    normal_error_rms: [f64; 2],
    compression: f64,
    seconds: f64,
}

/// Fits every variant and prints one row for each.
pub(super) fn run(
    args: &Args,
    inputs: &Animations,
    options: &FitOptions,
    mut job: Job<'_>,
) -> Result<ExitCode, Diagnostic> {
    let tsvd = WeightMethod::Truncated { threshold: DEFAULT_TSVD_THRESHOLD };
    let paper = RefineOptions { max_iterations: 0, ..options.refine };
    let variants = [BoneModel::Rigid, BoneModel::Flexible].into_iter().flat_map(|model| {
        [(paper, tsvd), (paper, WeightMethod::NonNegative), (options.refine, WeightMethod::NonNegative)]
            .map(|(refine, weights)| FitOptions { bone_model: model, weights, refine, ..*options })
    });
    let mut rows = Vec::new();
    for options in variants {
        let (row, notes) = row(inputs, &options, &job)?;
        rows.push(row);
        job.notes.extend(notes);
    }
    job.clock.lap("fit");
    job.answer(&Table {
        inputs: args.inputs.clone(),
        points: inputs.object.mesh.point_count(),
        triangles: inputs.object.mesh.triangle_count(),
        frames: inputs.animations.iter().map(|animation| animation.sequence.frame_count()).sum(),
        rows,
    })
}

fn row(inputs: &Animations, options: &FitOptions, job: &Job<'_>) -> Result<(Row, Vec<Note>), Diagnostic> {
    let options = FitOptions { corrections: Corrections::Rank(RANK), ..*options };
    let fit = fit_animations(inputs, &options, &job.watch)?;
    let sequences: Vec<MeshSequence> = inputs.animations.iter().map(|animation| animation.sequence.clone()).collect();
    let without = measure(&fit.skin.with_rank(0)?, &sequences)?;
    let row = Row {
        method: if options.refine.max_iterations == 0 { "paper" } else { "refined" },
        bone_model: options.bone_model.name(),
        weights: match options.weights {
            WeightMethod::Truncated { .. } => "tsvd",
            _ => "nnls",
        },
        bones: fit.skin.bone_count(),
        near_rigid_fraction: fit.near_rigid_fraction,
        distortion_percent: without.distortion_percent,
        distortion_percent_rank_10: fit.measures.distortion_percent,
        normal_error_rms: [without.normal_error_rms, fit.measures.normal_error_rms],
        compression: fit.compression,
        seconds: fit.seconds.iter().map(|(_, time)| time).sum(),
    };
    Ok((row, fit.notes))
}

impl Facts for Table {
    fn write(&self, text: &mut Text) {
        let triangles = counted(self.triangles, "triangle", "triangles");
        text.title(&self.inputs.join(", "), format!("N = {}, {triangles}, S = {}", self.points, self.frames));
        let names = ["method", "bones", "weights", "B", "η", "E %", "E₁₀ %", "normals", "n₁₀", "compress", "seconds"];
        text.table(3, &names, &self.rows.iter().map(Row::cells).collect::<Vec<_>>());
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let near_rigid = self.near_rigid_fraction.map_or_else(|| "–".to_owned(), |fraction| format!("{fraction:.2}"));
        let [normals, corrected] = self.normal_error_rms.map(|error| format!("{error:.4}"));
        let [e, e10] = [self.distortion_percent, self.distortion_percent_rank_10].map(|e| format!("{e:.3}"));
        let names = [self.method, self.bone_model, self.weights].map(str::to_owned);
        let (compression, seconds) = (format!("{:.1}", self.compression), format!("{:.2}", self.seconds));
        let numbers = [self.bones.to_string(), near_rigid, e, e10, normals, corrected, compression, seconds];
        names.into_iter().chain(numbers).collect()
    }
}
