//! Flesh of a subject from scans: reading of the scans, the fit with checkpoints, and validation.
//!
//! ```no_run
//! use dermis::fit_tissue::compare_with_truth;
//! use dermis::prelude::*;
//!
//! let files = dermis::sample_scans("scans", &SampleScansOptions { seed: 7, ..default() })?;
//! let body = dermis::build_body(&dermis::read_body("sample:body", &default())?, &default())?.body;
//! let (scans, _) = dermis::read_scans(&["scans".into()], &body)?;
//! let fit = dermis::fit_tissue(&body, &scans, &FitTissueOptions::default())?;
//! let truth = compare_with_truth(&fit.body, files.last().expect("the truth is the last file"))?;
//! println!("median error of the stiffness {:.2}", truth.median_stiffness_error);
//! dermis::write("heavy.npz", &fit.body)?;
//! # dermis::Result::Ok(())
//! ```

use std::path::{Path, PathBuf};

use dermis_body::sample;
use dermis_io::npz::arrays::{self, ArrayWriter};
use dermis_io::output::Output;
use dermis_io::{Error as IoError, Format, ReadOptions, WriteOptions};
use dermis_math::lbfgs::Lbfgs;
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::glam::Vec3;
use dermis_mesh::{MeshSequence, Note, UpAxis};
use dermis_tissue::fit::{HiddenSubject, Scan, SubjectFit, SubjectKind, SubjectOptions, check_scans, generate_scans};
use dermis_tissue::layered::LayeredBody;
use serde_json::{Value, json};

use crate::error::Result;

/// Units in which scans are stored: metres, centimetres, millimetres.
const UNITS: [(f32, &str); 3] = [(1.0, "metres"), (0.01, "centimetres"), (0.001, "millimetres")];
/// Range of the size of a scan relative to that of the body.
const SIZES: std::ops::Range<f32> = 0.6..1.6;
/// Folder of the hidden truth inside a folder of generated scans.
const TRUTH: &str = "truth";

/// Reads the scans in `sources`, mesh sequences or folders of them, for `body`. Units are detected from the body's
/// size.
pub fn read_scans(sources: &[PathBuf], body: &LayeredBody) -> Result<(Vec<Scan>, Vec<Note>)> {
    let (mut scans, mut notes) = (Vec::new(), Vec::new());
    for file in files_of(sources)? {
        let scene = dermis_io::read(&file.to_string_lossy(), &ReadOptions::default())?;
        let Some(sequence) = scene.objects.iter().find_map(|object| object.sequence.clone()) else {
            let error = IoError::malformed("the file has no mesh sequence").in_file(&file);
            return Err(error.with_hint("scans are mesh sequences with the points of the body").into());
        };
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut frames = Vec::with_capacity(sequence.frame_count());
        for frame in 0..sequence.frame_count() {
            frames.push(sequence.frame(frame)?.into_owned());
        }
        if let Some(unit) = convert_units(&mut frames, body) {
            notes.push(Note::at(&name, format!("its unit is taken for {unit}, by the size of the body")));
        }
        scans.push(Scan { name, frame_rate_hz: sequence.frame_rate_hz(), frames });
    }
    notes.extend(check_scans(body, &mut scans)?.into_iter().map(Note::new));
    Ok((scans, notes))
}

/// Files among `sources`, and those directly inside folders, sorted by name.
fn files_of(sources: &[PathBuf]) -> std::result::Result<Vec<PathBuf>, IoError> {
    let mut files = Vec::new();
    for source in sources {
        if !source.is_dir() {
            files.push(source.clone());
            continue;
        }
        let entries = std::fs::read_dir(source)
            .map_err(|error| IoError::malformed(format!("the folder cannot be read: {error}")).in_file(source))?;
        let mut inside: Vec<PathBuf> = entries
            .filter_map(std::result::Result::ok)
            .map(|entry| entry.path())
            .filter(|path| path.is_file() && Format::of_path(path).is_ok())
            .collect();
        inside.sort();
        if inside.is_empty() {
            return Err(IoError::malformed("the folder contains no mesh sequences").in_file(source));
        }
        files.append(&mut inside);
    }
    Ok(files)
}

/// Converts frames to metres if another unit fits the size of the body; returns that unit.
fn convert_units(frames: &mut [Vec<Vec3>], body: &LayeredBody) -> Option<&'static str> {
    let (low, high) = dermis_mesh::tri_mesh::bounds(frames.first()?);
    let size = (high - low).length() / body.body().mesh().diagonal();
    let (scale, unit) = UNITS.into_iter().find(|(scale, _)| SIZES.contains(&(size * scale)))?;
    if scale == 1.0 {
        return None;
    }
    frames.iter_mut().flatten().for_each(|point| *point *= scale);
    Some(unit)
}

/// Options of [`fit_tissue`].
#[derive(Debug, Clone, Default)]
pub struct FitTissueOptions {
    /// Options of the fit.
    pub subject: SubjectOptions,
    /// File for the state of the minimization, written after every iteration. `None`: the state is not stored.
    pub checkpoint: Option<PathBuf>,
    /// Continues from the state in the checkpoint, if there is one.
    pub resume: bool,
}

/// Learns the flesh of the subject in `scans`.
pub fn fit_tissue(body: &LayeredBody, scans: &[Scan], options: &FitTissueOptions) -> Result<SubjectFit> {
    fit_tissue_with(body, scans, options, &NoProgress)
}

/// [`fit_tissue`] with an observer.
pub fn fit_tissue_with(
    body: &LayeredBody,
    scans: &[Scan],
    options: &FitTissueOptions,
    progress: &dyn Progress,
) -> Result<SubjectFit> {
    let checkpoint = options.checkpoint.as_deref();
    let stored = match checkpoint {
        Some(path) if options.resume && path.is_file() => Some(read_state(path)?),
        _ => None,
    };
    let mut failed = None;
    let mut store = |state: &Lbfgs| {
        if let Some(path) = checkpoint {
            failed = write_state(path, state).err().or(failed.take());
        }
    };
    let fit = dermis_tissue::fit::fit_subject(body, scans, &options.subject, stored, &mut store, progress)?;
    failed.map_or(Ok(fit), Err)
}

/// Numbers as their bits: a resumed fit continues with the same ones.
fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

fn write_state(path: &Path, state: &Lbfgs) -> Result<()> {
    let all = |vectors: &[Vec<f64>]| vectors.iter().map(|vector| bits(vector)).collect::<Vec<_>>();
    let value = json!({
        "x": bits(&state.x), "value": state.value.to_bits(), "gradient": bits(&state.gradient),
        "iterations": state.iterations, "evaluations": state.evaluations,
        "steps": all(&state.steps), "changes": all(&state.changes),
    });
    let mut output = Output::new(true);
    let mut file = output.create(path)?;
    std::io::Write::write_all(&mut file, value.to_string().as_bytes())
        .map_err(|error| IoError::malformed(format!("the checkpoint cannot be written: {error}")).in_file(path))?;
    drop(file);
    output.commit()?;
    Ok(())
}

fn read_state(path: &Path) -> Result<Lbfgs> {
    let invalid = |message: String| IoError::malformed(format!("invalid checkpoint: {message}")).in_file(path);
    let text = std::fs::read_to_string(path).map_err(|error| invalid(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    let numbers = |value: &Value| -> Option<Vec<f64>> {
        value.as_array()?.iter().map(|number| number.as_u64().map(f64::from_bits)).collect()
    };
    let vectors = |value: &Value| -> Option<Vec<Vec<f64>>> { value.as_array()?.iter().map(numbers).collect() };
    let state = || -> Option<Lbfgs> {
        let state = Lbfgs {
            x: numbers(&value["x"])?,
            value: f64::from_bits(value["value"].as_u64()?),
            gradient: numbers(&value["gradient"])?,
            iterations: value["iterations"].as_u64()? as usize,
            evaluations: value["evaluations"].as_u64()? as usize,
            steps: vectors(&value["steps"])?,
            changes: vectors(&value["changes"])?,
        };
        let count = state.x.len();
        let fits = state.steps.iter().chain(&state.changes).all(|vector| vector.len() == count);
        (fits && state.gradient.len() == count && state.steps.len() == state.changes.len()).then_some(state)
    };
    Ok(state().ok_or_else(|| invalid("its arrays do not belong together".to_owned()))?)
}

/// Options of [`sample_scans`].
#[derive(Debug, Clone)]
pub struct SampleScansOptions {
    /// Build of the subject.
    pub subject: SubjectKind,
    /// Seed of the hidden flesh.
    pub seed: u64,
    /// Options of the files.
    pub write: WriteOptions,
}

impl Default for SampleScansOptions {
    fn default() -> Self {
        Self { subject: SubjectKind::Heavy, seed: 1, write: WriteOptions::default() }
    }
}

/// Generates the scans of a subject of `sample:body` in `folder`, and the hidden truth in a folder inside it. Returns
/// the files; the truth is the last.
pub fn sample_scans(folder: impl AsRef<Path>, options: &SampleScansOptions) -> Result<Vec<PathBuf>> {
    sample_scans_with(folder.as_ref(), options, &NoProgress)
}

/// [`sample_scans`] with an observer.
pub fn sample_scans_with(folder: &Path, options: &SampleScansOptions, progress: &dyn Progress) -> Result<Vec<PathBuf>> {
    let (body, motions) = sample();
    let (scans, hidden) = generate_scans(&body, &motions, UpAxis::Y, options.subject, options.seed, progress)?;
    let options = &options.write;
    let truth = folder.join(TRUTH);
    std::fs::create_dir_all(&truth)
        .map_err(|error| IoError::malformed(format!("the folder cannot be created: {error}")).in_file(&truth))?;
    let mut written = Vec::new();
    for scan in scans {
        let positions = scan.frames.into_iter().flatten().collect();
        let sequence = MeshSequence::new(std::sync::Arc::clone(body.mesh()), positions, scan.frame_rate_hz)?;
        let file = folder.join(format!("{}.npz", scan.name));
        crate::files::write_with(&file, &sequence, options, progress)?;
        written.push(file);
    }
    let file = truth.join("hidden.npz");
    write_hidden(&file, &hidden, options)?;
    written.push(file);
    Ok(written)
}

fn write_hidden(path: &Path, hidden: &HiddenSubject, options: &WriteOptions) -> Result<()> {
    dermis_io::check_target(path, options)?;
    let mut output = Output::new(options.force);
    let mut writer = ArrayWriter::new(output.create(path)?);
    let flesh = &hidden.flesh;
    writer.floats("tissue_thickness", &[flesh.thickness.len()], &flesh.thickness)?;
    writer.floats("tissue_young_modulus", &[flesh.young_modulus_pa.len()], &flesh.young_modulus_pa)?;
    writer.number("tissue_damping_rate", f64::from(flesh.damping_rate_per_s))?;
    let betas: Vec<f32> = hidden.betas.iter().map(|&beta| beta as f32).collect();
    writer.floats("betas", &[betas.len()], &betas)?;
    writer.finish()?;
    output.commit()?;
    Ok(())
}

/// Agreement of the flesh of a fitted body with the hidden truth.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct TruthAgreement {
    /// Median relative error of Young's modulus over the points with a layer.
    pub median_stiffness_error: f64,
    /// Correlation of the thickness over all points.
    pub thickness_correlation: f64,
    /// Median modulus of the truth and of the fit, in pascal.
    pub median_young_modulus_pa: [f64; 2],
    /// Mean thickness of the truth and of the fit.
    pub mean_thickness: [f64; 2],
}

/// Compares the flesh of `body` with the hidden truth in the file `path`.
pub fn compare_with_truth(body: &LayeredBody, path: &Path) -> Result<TruthAgreement> {
    let hidden = arrays::read(path, |arrays| {
        let mut floats = |name: &'static str| match arrays.array(name)? {
            Some(array) => array.floats(),
            None => Err(IoError::malformed(format!("the truth has no array '{name}'"))),
        };
        Ok((floats("tissue_thickness")?, floats("tissue_young_modulus")?))
    })?;
    let flesh = body.flesh();
    if hidden.0.len() != flesh.thickness.len() || hidden.1.len() != flesh.young_modulus_pa.len() {
        return Err(IoError::malformed("the truth belongs to another body").in_file(path).into());
    }
    let soft: Vec<usize> = (0..hidden.0.len()).filter(|&point| hidden.0[point] > 1.05).collect();
    let relative = |&p: &usize| f64::from((flesh.young_modulus_pa[p] / hidden.1[p] - 1.0).abs());
    let values = |numbers: &[f32]| -> Vec<f64> { soft.iter().map(|&p| f64::from(numbers[p])).collect() };
    let mean = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).sum::<f64>() / numbers.len().max(1) as f64;
    Ok(TruthAgreement {
        median_stiffness_error: median(soft.iter().map(relative).collect()),
        thickness_correlation: correlation(&hidden.0, &flesh.thickness),
        median_young_modulus_pa: [median(values(&hidden.1)), median(values(&flesh.young_modulus_pa))],
        mean_thickness: [mean(&hidden.0), mean(&flesh.thickness)],
    })
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn correlation(a: &[f32], b: &[f32]) -> f64 {
    let mean = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).sum::<f64>() / numbers.len().max(1) as f64;
    let (of_a, of_b) = (mean(a), mean(b));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (&a, &b) in a.iter().zip(b) {
        let (a, b) = (f64::from(a) - of_a, f64::from(b) - of_b);
        (ab, aa, bb) = (ab + a * b, aa + a * a, bb + b * b);
    }
    ab / (aa * bb).sqrt()
}
