//! `dermis skin --table`: the paper's Table 1 for one input, and what the refinement makes of it.

use std::process::ExitCode;
use std::time::Instant;

use dermis::mesh::{MeshSequence, Note};
use dermis::skin::fit::{Corrections, DEFAULT_TSVD_THRESHOLD, WeightMethod};
use dermis::skin::refine::RefineOptions;
use dermis::skin::{BoneModel, FitOptions, fit, measure};
use serde::Serialize;

use super::args::Args;
use super::inputs::Inputs;
use crate::args::{Format, Shared};
use crate::notes::NoteFacts;
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

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
    notes: Vec<NoteFacts>,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Row {
    method: &'static str,
    bone_model: &'static str,
    weights: &'static str,
    bones: usize,
    near_rigid_fraction: Option<f64>,
    distortion_percent: f64,
    /// With corrections of rank 10.
    distortion_percent_rank_10: f64,
    /// Without and with the corrections.
    normal_error_rms: [f64; 2],
    compression: f64,
    seconds: f64,
}

/// Fits every variant and prints a row for each.
pub(super) fn run(
    args: &Args,
    inputs: &Inputs,
    options: &FitOptions,
    shared: &Shared,
    watch: &Watch,
) -> Result<ExitCode, Report> {
    let began = Instant::now();
    let tsvd = WeightMethod::Truncated { threshold: DEFAULT_TSVD_THRESHOLD };
    let paper = RefineOptions { max_iterations: 0, ..options.refine };
    let variants = [BoneModel::Rigid, BoneModel::Flexible].into_iter().flat_map(|model| {
        [(paper, tsvd), (paper, WeightMethod::NonNegative), (options.refine, WeightMethod::NonNegative)]
            .map(|(refine, weights)| FitOptions { bone_model: model, weights, refine, ..*options })
    });
    let mut rows = Vec::new();
    let mut notes = inputs.notes.clone();
    for options in variants {
        let (row, mut fit_notes) = row(inputs, &options, watch)?;
        rows.push(row);
        notes.append(&mut fit_notes);
    }
    watch.clear();
    let table = Table {
        inputs: args.inputs.clone(),
        points: inputs.object.mesh.point_count(),
        triangles: inputs.object.mesh.triangle_count(),
        frames: inputs.animations.iter().map(|animation| animation.sequence.frame_count()).sum(),
        rows,
        notes: NoteFacts::each_once(&notes),
        seconds: began.elapsed().as_secs_f64(),
    };
    match shared.format {
        Format::Json => terminal::print_json(&table)?,
        Format::Pretty => terminal::print(&table.text(Paint::for_stdout(shared.color)))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn row(inputs: &Inputs, options: &FitOptions, watch: &Watch) -> Result<(Row, Vec<Note>), Report> {
    let options = FitOptions { corrections: Corrections::Rank(RANK), ..*options };
    let fit = fit(&inputs.object.mesh, &inputs.animations, &options, watch)?;
    let sequences: Vec<MeshSequence> = inputs.animations.iter().map(|animation| animation.sequence.clone()).collect();
    let bare = fit.skin.with_rank(0).map_err(|error| Report::new(error.to_string()))?;
    let without = measure(&bare, &sequences)?;
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

impl Table {
    fn text(&self, paint: Paint) -> String {
        let head = format!(
            "{}  N = {}, {} triangles, S = {}",
            paint.title(&self.inputs.join(", ")),
            self.points,
            self.triangles,
            self.frames
        );
        let names = format!(
            "{:<8} {:<9} {:<7} {:>5} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}",
            "method", "bones", "weights", "B", "η", "E %", "E₁₀ %", "normals", "n₁₀", "compress", "seconds"
        );
        let rows: String = self.rows.iter().map(Row::line).collect();
        let notes: String = self.notes.iter().map(|note| note.line(paint)).collect();
        format!("{head}\n{}\n{rows}{notes}", paint.faint(&names))
    }
}

impl Row {
    fn line(&self) -> String {
        let near_rigid = self.near_rigid_fraction.map_or_else(|| "–".to_owned(), |fraction| format!("{fraction:.2}"));
        format!(
            "{:<8} {:<9} {:<7} {:>5} {near_rigid:>6} {:>9.3} {:>9.3} {:>9.4} {:>9.4} {:>9.1} {:>8.2}\n",
            self.method,
            self.bone_model,
            self.weights,
            self.bones,
            self.distortion_percent,
            self.distortion_percent_rank_10,
            self.normal_error_rms[0],
            self.normal_error_rms[1],
            self.compression,
            self.seconds
        )
    }
}
