//! Flesh of a subject from scans: reading of the scans, the fit with checkpoints, and validation.
//!
//! ```no_run
//! use dermis::fit_tissue::compare_with_truth;
//! use dermis::prelude::*;
//!
//! let files = dermis::sample_scans("scans", &SampleScansOptions { seed: 7, ..default() })?;
//! let body = dermis::build_body(&dermis::read_body("sample:body", &default())?, &default())?.body;
//! let (scans, _) = dermis::read_scans(&["scans".into()], &body, None)?;
//! let fit = dermis::fit_tissue(&body, &scans, &FitTissueOptions::default())?;
//! let truth = compare_with_truth(&fit.body, &[], files.last().expect("the truth is the last file"))?;
//! println!("median error of the stiffness {:.2}", truth.median_stiffness_error);
//! dermis::write("heavy.npz", &fit.body)?;
//! # dermis::Result::Ok(())
//! ```

use std::path::{Path, PathBuf};

use dermis_body::BodyPose;
use dermis_io::dyna::{self, FRAME_RATE_HZ, Registration};
use dermis_io::npz::arrays::{self, ArrayWriter};
use dermis_io::output::Output;
use dermis_io::{Error as IoError, Format, ReadOptions, WriteOptions, Written};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::glam::{DVec3, Vec3};
use dermis_mesh::{MeshSequence, Note, UpAxis};
use dermis_tissue::fit::{
    FitState, HiddenSubject, Scan, ScanOptions, SequenceValidation, SubjectFit, SubjectKind, SubjectOptions,
    check_scans, generate_scans,
};
use dermis_tissue::layered::{LayeredBody, LayeredError};
use serde_json::{Value, json};

use crate::error::Result;
use crate::files::ToScene;

/// Units in which scans are stored: metres, centimetres, millimetres.
const UNITS: [(f32, &str); 3] = [(1.0, "metres"), (0.01, "centimetres"), (0.001, "millimetres")];
/// Range of the size of a scan relative to that of the body.
const SIZES: std::ops::Range<f32> = 0.6..1.6;
/// Folder of the hidden truth inside a folder of generated scans.
const TRUTH: &str = "truth";

/// Reads the scans in `sources`, mesh sequences or folders of them, for `body`. Units are detected from the body's
/// size. HDF5 files are Dyna or DFAUST registrations, of which the sequences of `subject` are read.
pub fn read_scans(sources: &[PathBuf], body: &LayeredBody, subject: Option<&str>) -> Result<(Vec<Scan>, Vec<Note>)> {
    let (mut scans, mut notes) = (Vec::new(), Vec::new());
    for file in files_of(sources)? {
        if dyna::is_path_of(&file) {
            for mut scan in registrations(&file, subject)? {
                notes.extend(convert_units(&mut scan.frames, body).map(|unit| unit_note(&scan.name, unit)));
                scans.push(scan);
            }
            continue;
        }
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
        notes.extend(convert_units(&mut frames, body).map(|unit| unit_note(&name, unit)));
        scans.push(Scan { name, frame_rate_hz: sequence.frame_rate_hz(), frames });
    }
    notes.extend(check_scans(body, &mut scans)?.into_iter().map(Note::new));
    Ok((scans, notes))
}

/// Sequences of a Dyna or DFAUST file.
fn registrations(path: &Path, subject: Option<&str>) -> Result<Vec<Scan>> {
    let scan = |of: Registration| Scan { name: of.sequence, frame_rate_hz: FRAME_RATE_HZ, frames: of.frames };
    Ok(dyna::read(path, subject)?.into_iter().map(scan).collect())
}

fn unit_note(name: &str, unit: &str) -> Note {
    Note::at(name, format!("its unit is assumed to be {unit}, from the size of the body"))
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
            .filter(|path| path.is_file() && (Format::of_path(path).is_ok() || dyna::is_path_of(path)))
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
    let mut store = |state: &FitState| {
        if let Some(path) = checkpoint {
            failed = write_state(path, state).err().or(failed.take());
        }
    };
    let fit = dermis_tissue::fit::fit_subject(body, scans, &options.subject, stored.as_ref(), &mut store, progress)?;
    failed.map_or(Ok(fit), Err)
}

/// Stores the arrays of a state as the bits of their numbers: a resumed fit continues with the same ones.
fn write_state(path: &Path, state: &FitState) -> Result<()> {
    let bits = |numbers: &Vec<f64>| numbers.iter().map(|number| number.to_bits()).collect::<Vec<u64>>();
    let arrays: serde_json::Map<String, Value> =
        state.arrays.iter().map(|(name, numbers)| (name.clone(), json!(bits(numbers)))).collect();
    let mut output = Output::new(true);
    let mut file = output.create(path)?;
    std::io::Write::write_all(&mut file, Value::Object(arrays).to_string().as_bytes())
        .map_err(|error| IoError::malformed(format!("the checkpoint cannot be written: {error}")).in_file(path))?;
    drop(file);
    output.commit()?;
    Ok(())
}

fn read_state(path: &Path) -> Result<FitState> {
    let invalid = |reason: String| IoError::malformed(format!("invalid checkpoint: {reason}")).in_file(path);
    let text = std::fs::read_to_string(path).map_err(|error| invalid(error.to_string()))?;
    let stored: Value = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    let numbers = |value: &Value| -> Option<Vec<f64>> {
        value.as_array()?.iter().map(|bits| bits.as_u64().map(f64::from_bits)).collect()
    };
    let arrays = stored.as_object().and_then(|arrays| {
        arrays.iter().map(|(name, value)| Some((name.clone(), numbers(value)?))).collect::<Option<_>>()
    });
    Ok(FitState { arrays: arrays.ok_or_else(|| invalid("it does not consist of arrays of numbers".to_owned()))? })
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
    let (body, motions) = dermis_io::samples::body()?;
    let subject = ScanOptions { kind: options.subject, seed: options.seed, ..ScanOptions::default() };
    let (scans, hidden) = generate_scans(&body, &motions, UpAxis::Y, &subject, progress)?;
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
    for (name, poses) in &hidden.poses {
        let number = |pose: &BodyPose| -> Vec<f32> {
            let vectors = pose.angles.iter().chain(std::iter::once(&pose.translation));
            vectors.flat_map(|vector| vector.as_vec3().to_array()).collect()
        };
        let numbers: Vec<f32> = poses.iter().flat_map(number).collect();
        let width = numbers.len() / poses.len().max(1);
        writer.floats(&format!("poses_{name}"), &[poses.len(), width], &numbers)?;
    }
    writer.finish()?;
    output.commit()?;
    Ok(())
}

/// Writes scan and simulation of every validated sequence to `folder`, as sequences of the same mesh for the viewer,
/// and the deviation of every point as JSON. The simulation has the attribute `deviation`, in metres.
pub fn write_comparison(
    folder: &Path,
    body: &LayeredBody,
    scans: &[Scan],
    validations: &[SequenceValidation],
    options: &WriteOptions,
) -> Result<Vec<Written>> {
    std::fs::create_dir_all(folder)
        .map_err(|error| IoError::malformed(format!("the folder cannot be created: {error}")).in_file(folder))?;
    let mut written = Vec::new();
    let mut points = serde_json::Map::new();
    for (scan, found) in scans.iter().zip(validations) {
        for (kind, frames) in [("scan", &scan.frames), ("fit", &found.frames)] {
            let positions: Vec<Vec3> = frames.iter().flatten().copied().collect();
            let mesh = std::sync::Arc::clone(body.body().mesh());
            let mut scene = MeshSequence::new(mesh, positions, scan.frame_rate_hz)?.to_scene();
            for object in &mut scene.objects {
                let values = if kind == "scan" { &found.of_scan } else { &found.of_points };
                object.attributes.insert("deviation".to_owned(), values.iter().map(|&metres| metres as f32).collect());
            }
            let file = folder.join(format!("{}_{kind}.npz", scan.name));
            written.push(crate::files::write_with(&file, &scene, options, &NoProgress)?);
        }
        let of = json!({ "pose_model_m": found.of_scan, "fit_m": found.of_points });
        points.insert(scan.name.clone(), of);
    }
    let file = folder.join("deviations.json");
    let mut output = Output::new(options.force);
    output.write_all(&file, Value::Object(points).to_string().as_bytes())?;
    written.push(output.commit()?);
    Ok(written)
}

/// Agreement of the flesh of a fitted body with the hidden truth.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TruthAgreement {
    /// Median relative error of Young's modulus at representative points of the flesh.
    pub median_stiffness_error: f64,
    /// The same over all points of the flesh.
    pub median_stiffness_error_all: f64,
    /// Correlation of the logarithms of the moduli over the flesh.
    pub stiffness_correlation: f64,
    /// Correlation of the thickness over all points.
    pub thickness_correlation: f64,
    /// Correlation of the thickness over the flesh of the truth.
    pub thickness_correlation_of_flesh: f64,
    /// Median modulus of the truth and of the fit, in pascals.
    pub median_young_modulus_pa: [f64; 2],
    /// Mean thickness of the truth and of the fit.
    pub mean_thickness: [f64; 2],
    /// Damping rate of the truth and of the fit, per second.
    pub damping_rate_per_s: [f64; 2],
    /// Root mean square distance of rigid points, posed by the fit, from those of the hidden pose, in millimetres.
    pub pose_rms_mm: Option<f64>,
}

/// Number of representative points at which moduli are compared.
const REPRESENTATIVES: usize = 60;
/// Relative depth from which skin counts as flesh.
const FLESH_DEPTH: f32 = 1.05;
/// Relative depth up to which the skin of the truth is rigid.
const RIGID_DEPTH: f32 = 1.001;

/// Compares the flesh of `body` and the poses of its `validations` with the hidden truth in the file `path`, which
/// [`sample_scans`] has written.
pub fn compare_with_truth(
    body: &LayeredBody,
    validations: &[SequenceValidation],
    path: &Path,
) -> Result<TruthAgreement> {
    let (template, _) = dermis_io::samples::body()?;
    let names: Vec<&str> = validations.iter().map(|sequence| sequence.name.as_str()).collect();
    let hidden = read_hidden(path, &names)?;
    let flesh = body.flesh();
    if hidden.thickness.len() != flesh.thickness.len() || hidden.moduli.len() != flesh.young_modulus_pa.len() {
        return Err(IoError::malformed("the truth belongs to another body").in_file(path).into());
    }
    let soft: Vec<u32> = (0..).zip(&hidden.thickness).filter(|(_, d)| **d > FLESH_DEPTH).map(|(p, _)| p).collect();
    let points = template.mesh().points();
    let chosen = dermis_tissue::fit::farthest_points(points, &soft, REPRESENTATIVES);
    let relative = |p: &u32| f64::from((flesh.young_modulus_pa[*p as usize] / hidden.moduli[*p as usize] - 1.0).abs());
    let of_soft = |numbers: &[f32]| -> Vec<f32> { soft.iter().map(|&p| numbers[p as usize]).collect() };
    let values = |numbers: &[f32]| -> Vec<f64> { of_soft(numbers).into_iter().map(f64::from).collect() };
    let logarithms = |numbers: &[f32]| -> Vec<f32> { of_soft(numbers).iter().map(|x| x.ln()).collect() };
    let mean = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).sum::<f64>() / numbers.len().max(1) as f64;
    Ok(TruthAgreement {
        median_stiffness_error: median(chosen.iter().map(relative).collect()),
        median_stiffness_error_all: median(soft.iter().map(relative).collect()),
        stiffness_correlation: correlation(&logarithms(&hidden.moduli), &logarithms(&flesh.young_modulus_pa)),
        thickness_correlation: correlation(&hidden.thickness, &flesh.thickness),
        thickness_correlation_of_flesh: correlation(&of_soft(&hidden.thickness), &of_soft(&flesh.thickness)),
        median_young_modulus_pa: [median(values(&hidden.moduli)), median(values(&flesh.young_modulus_pa))],
        mean_thickness: [mean(&hidden.thickness), mean(&flesh.thickness)],
        damping_rate_per_s: [hidden.damping_rate_per_s, f64::from(flesh.damping_rate_per_s)],
        pose_rms_mm: pose_rms_mm(body, validations, &template, &hidden)?,
    })
}

/// Contents of a file of hidden properties.
struct Hidden {
    thickness: Vec<f32>,
    moduli: Vec<f32>,
    damping_rate_per_s: f64,
    betas: Vec<f64>,
    /// Poses of the sequences, in the order of the validations.
    poses: Vec<Option<Vec<BodyPose>>>,
}

fn read_hidden(path: &Path, names: &[&str]) -> Result<Hidden> {
    Ok(arrays::read(path, |arrays| {
        let mut floats = |name: &'static str| match arrays.array(name)? {
            Some(array) => array.floats(),
            None => Err(IoError::malformed(format!("the truth has no array '{name}'"))),
        };
        let (thickness, moduli) = (floats("tissue_thickness")?, floats("tissue_young_modulus")?);
        let rate = floats("tissue_damping_rate")?.first().copied().unwrap_or(0.0);
        let betas = floats("betas")?.into_iter().map(f64::from).collect();
        let mut poses = Vec::new();
        for name in names {
            let pose = |row: &[f32]| {
                let mut vectors: Vec<DVec3> = row.chunks_exact(3).map(|v| Vec3::from_slice(v).as_dvec3()).collect();
                let translation = vectors.pop()?;
                Some(BodyPose { angles: vectors, translation })
            };
            let array = arrays.named(&format!("poses_{name}"))?;
            poses.push(match array {
                Some(array) => {
                    let width = array.shape().get(1).copied().unwrap_or(0).max(3);
                    array.floats()?.chunks_exact(width).map(pose).collect()
                }
                None => None,
            });
        }
        Ok(Hidden { thickness, moduli, damping_rate_per_s: f64::from(rate), betas, poses })
    })?)
}

/// Root mean square distance between rigid points in the estimated and in the hidden poses.
fn pose_rms_mm(
    body: &LayeredBody,
    validations: &[SequenceValidation],
    template: &dermis_body::BodyModel,
    hidden: &Hidden,
) -> Result<Option<f64>> {
    let rigid: Vec<u32> =
        (0..).zip(&hidden.thickness).filter(|(_, d)| **d <= RIGID_DEPTH).map(|(point, _)| point).collect();
    if template.shapes().len() < hidden.betas.len() || rigid.is_empty() {
        return Ok(None);
    }
    let truth = template.fixed_shape(&hidden.betas).map_err(LayeredError::from)?.of_points(&rigid);
    let fitted = body.body().of_points(&rigid);
    let (mut squared, mut count) = (0.0, 0usize);
    for (sequence, poses) in validations.iter().zip(&hidden.poses) {
        for (found, expected) in sequence.poses.iter().zip(poses.iter().flatten()) {
            if expected.angles.len() != truth.joints().len() {
                return Ok(None);
            }
            let found = fitted.pose(&[], found).map_err(LayeredError::from)?.points;
            let expected = truth.pose(&[], expected).map_err(LayeredError::from)?.points;
            squared += found.iter().zip(&expected).map(|(a, b)| f64::from(a.distance_squared(*b))).sum::<f64>();
            count += found.len();
        }
    }
    Ok((count > 0).then(|| 1e3 * (squared / count as f64).sqrt()))
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
