//! Layered bodies, their simulation, and their fit to scans.

use std::path::PathBuf;
use std::sync::Mutex;

use dermis::bodies::{BodyOptions, read_body};
use dermis::body::rigging::Skeleton;
use dermis::build_body::{BuildBodyOptions, RigChoice};
use dermis::fit_tissue::{FitTissueOptions, SampleScansOptions, compare_with_truth};
use dermis::io::WriteOptions;
use dermis::mesh::{Note, Scene as MeshScene, Units};
use dermis::tissue::fit::{BeamOptions, RestShape, Scan, SequenceValidation, SubjectOptions, validate_subject};
use dermis::tissue::layered::{LayeredBody, LayeredError, Recording, SimulateOptions, Thickness};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::arrays::{numbers, of_json, of_points, view_points, view_triangles};
use crate::errors::{exception, invalid};
use crate::options::{METHODS, SUBJECTS, chosen};
use crate::scene::{lines, write};
use crate::sequence::MeshSequence;
use crate::work::run;

/// Estimations of the rest shape by name.
const REST_SHAPES: [(&str, RestShape); 3] = [
    ("inverse-static", RestShape::InverseStatic),
    ("inverse-gravity", RestShape::InverseGravity),
    ("none", RestShape::Unchanged),
];

#[doc = docs!("Body")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Body {
    pub(crate) layered: LayeredBody,
    metrics: Value,
    notes: Vec<Note>,
}

#[doc = docs!("Simulation")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Simulation {
    pub(crate) recording: Recording,
    next: Mutex<usize>,
}

#[doc = docs!("build_body")]
#[pyfunction]
#[pyo3(signature = (source, *, mesh=None, rig=None, thickness=None, stiffness=None, poisson_ratio=None, density=None,
    damping=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn build_body(
    py: Python<'_>,
    source: PathBuf,
    mesh: Option<String>,
    rig: Option<String>,
    thickness: Option<&Bound<'_, PyAny>>,
    stiffness: Option<&Bound<'_, PyAny>>,
    poisson_ratio: Option<f32>,
    density: Option<f32>,
    damping: Option<f32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Body> {
    let source = source.to_string_lossy().into_owned();
    let thickness = thickness.map(|value| per_point(value, "thickness")).transpose()?;
    let stiffness = stiffness.map(|value| per_point(value, "stiffness")).transpose()?;
    let changes = rig.is_some() || thickness.is_some() || stiffness.is_some();
    let changes = changes || poisson_ratio.is_some() || density.is_some() || damping.is_some();
    let (body, metrics, notes) = run(py, progress, |progress| {
        let options = BodyOptions { mesh, ..BodyOptions::default() };
        let (layered, body) = dermis::bodies::open_body(&source, &options)?;
        if let Some(layered) = layered.filter(|_| !changes) {
            return Ok((layered, Value::Null, body.notes));
        }
        let mut options = BuildBodyOptions { rig: rig_of(rig.as_deref())?, ..BuildBodyOptions::default() };
        let build = &mut options.build;
        build.thickness = match thickness {
            None => std::mem::replace(&mut build.thickness, Thickness::Uniform(1.0)),
            Some(values) if values.len() == 1 => Thickness::Uniform(values[0]),
            Some(values) => Thickness::PerPoint(values),
        };
        if let Some(values) = stiffness {
            let one = values.len() == 1;
            build.young_modulus_pa = if one { vec![values[0]; body.skin.point_count()] } else { values };
        }
        build.poisson_ratio = poisson_ratio.unwrap_or(build.poisson_ratio);
        build.density_kg_per_m3 = density.unwrap_or(build.density_kg_per_m3);
        build.damping_rate_per_s = damping.unwrap_or(build.damping_rate_per_s);
        let built = dermis::build_body_with(body, &options, progress)?;
        let report = &built.report;
        let metrics = json!({
            "volume_error": report.mesh.volume_error,
            "weight_steps": report.weight_steps,
            "seconds": { "tetrahedra": report.tetrahedra_s, "weights": report.volume_s, "layers": report.layers_s },
        });
        Ok((built.body, metrics, built.notes))
    })?;
    Ok(Body { layered: body, metrics, notes })
}

/// A number, or a number per point.
fn per_point(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f32>> {
    Ok(numbers(value, name)?.0.into_iter().map(|number| number as f32).collect())
}

/// Source of the joints: those of the body, 'human' for a fitted skeleton, or those of a file.
fn rig_of(rig: Option<&str>) -> dermis::Result<RigChoice> {
    match rig {
        None => Ok(RigChoice::Own),
        Some("human") => Ok(RigChoice::Human),
        Some(file) => {
            let other = read_body(file, &BodyOptions::default())?;
            let model = other.model.ok_or(dermis::bodies::BodyFileError::NoRig)?;
            let skeleton = Skeleton::new(model.joints().to_vec(), model.rest_joints().to_vec());
            Ok(RigChoice::Skeleton(skeleton.map_err(LayeredError::from)?))
        }
    }
}

#[doc = docs!("simulate")]
#[pyfunction]
#[pyo3(signature = (body, *, clip=None, substeps=None, settle=None, tolerance=None, all_elements=None, betas=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn simulate(
    py: Python<'_>,
    body: PyRef<'_, Body>,
    clip: Option<&str>,
    substeps: Option<usize>,
    settle: Option<f32>,
    tolerance: Option<f64>,
    all_elements: Option<bool>,
    betas: Option<Vec<f64>>,
) -> PyResult<Simulation> {
    let body = &body.layered;
    let motion = body.motion(clip).ok_or_else(|| {
        let names: Vec<&str> = body.parts().motions.iter().map(|motion| motion.name.as_str()).collect();
        invalid(format!("no such clip; the body has: {}", names.join(", ")))
    })?;
    let mut options = SimulateOptions { substeps, ..SimulateOptions::default() };
    options.settle_s = settle.unwrap_or(options.settle_s);
    options.body.tolerance = tolerance.unwrap_or(options.body.tolerance);
    options.body.all_elements = all_elements.unwrap_or(options.body.all_elements);
    options.body.betas = betas.unwrap_or(options.body.betas);
    let recording = run(py, None, |_| dermis::simulate(body, motion, &options))?;
    Ok(Simulation { recording, next: Mutex::new(0) })
}

#[doc = docs!("sample_scans")]
#[pyfunction]
#[pyo3(signature = (folder, *, subject=None, seed=None, force=false, progress=None))]
pub(crate) fn sample_scans(
    py: Python<'_>,
    folder: PathBuf,
    subject: Option<&str>,
    seed: Option<u64>,
    force: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<PathBuf>> {
    let defaults = SampleScansOptions::default();
    let options = SampleScansOptions {
        subject: chosen("subject", subject, &SUBJECTS, defaults.subject)?,
        seed: seed.unwrap_or(defaults.seed),
        write: WriteOptions { force, ..defaults.write },
    };
    run(py, progress, |progress| dermis::sample_scans_with(&folder, &options, progress))
}

#[doc = docs!("fit_tissue")]
#[pyfunction]
#[pyo3(signature = (body, scans, *, subject=None, train=None, method=None, iterations=None, points=None, frames=None,
    rest_shape=None, symmetric=None, checkpoint=None, resume=false, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn fit_tissue(
    py: Python<'_>,
    body: PyRef<'_, Body>,
    scans: &Bound<'_, PyAny>,
    subject: Option<String>,
    train: Option<Vec<String>>,
    method: Option<&str>,
    iterations: Option<usize>,
    points: Option<usize>,
    frames: Option<usize>,
    rest_shape: Option<&str>,
    symmetric: Option<bool>,
    checkpoint: Option<PathBuf>,
    resume: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Body> {
    let scans = ScanSource::new(scans, subject)?;
    let mut options = SubjectOptions { max_iterations: iterations, ..SubjectOptions::default() };
    options.method = chosen("method", method, &METHODS, options.method)?;
    options.train = train.unwrap_or_default();
    options.representative_points = points.unwrap_or(options.representative_points);
    options.max_frames = frames.unwrap_or(options.max_frames);
    let shapes = REST_SHAPES.map(|(name, shape)| (name, Some(shape)));
    options.rest_shape = chosen("rest_shape", rest_shape, &shapes, None)?;
    options.symmetric = symmetric.unwrap_or(options.symmetric);
    let options = FitTissueOptions { subject: options, checkpoint, resume };
    let body = &body.layered;
    let (fit, found, notes) = run(py, progress, |progress| {
        let (scans, notes) = scans.read(body)?;
        let fit = dermis::fit_tissue_with(body, &scans, &options, progress)?;
        let found = validate_subject(&fit.body, &scans, progress)?;
        Ok((fit, found, notes))
    })?;
    let training: Vec<&str> = fit.training.iter().map(|&at| found[at].name.as_str()).collect();
    let metrics = json!({
        "iterations": fit.iterations,
        "losses_mm2": fit.losses,
        "betas": fit.betas,
        "representative_points": fit.representative_points,
        "young_modulus_pa": fit.young_modulus_pa,
        "sequences": scores(&found, &training),
    });
    Ok(Body { layered: fit.body, metrics, notes })
}

#[doc = docs!("validate_tissue")]
#[pyfunction]
#[pyo3(signature = (body, scans, *, subject=None, train=None, truth=None, progress=None))]
pub(crate) fn validate_tissue<'py>(
    py: Python<'py>,
    body: PyRef<'py, Body>,
    scans: &Bound<'py, PyAny>,
    subject: Option<String>,
    train: Option<Vec<String>>,
    truth: Option<PathBuf>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (scans, body) = (ScanSource::new(scans, subject)?, &body.layered);
    let (found, truth) = run(py, progress, |progress| {
        let (scans, _) = scans.read(body)?;
        let found = validate_subject(body, &scans, progress)?;
        let truth = truth.map(|truth| compare_with_truth(body, &found, &truth)).transpose()?;
        Ok((found, truth))
    })?;
    let train = train.unwrap_or_default();
    let training: Vec<&str> = train.iter().map(String::as_str).collect();
    of_json(py, &json!({ "sequences": scores(&found, &training), "truth": truth }))
}

#[doc = docs!("fit_beam")]
#[pyfunction]
#[pyo3(signature = (path, *, poisson_ratio=None, substeps=None, iterations=None))]
pub(crate) fn fit_beam(
    py: Python<'_>,
    path: PathBuf,
    poisson_ratio: Option<f64>,
    substeps: Option<usize>,
    iterations: Option<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    let mut options = BeamOptions::default();
    options.poisson_ratio = poisson_ratio.unwrap_or(options.poisson_ratio);
    options.substeps = substeps.unwrap_or(options.substeps);
    options.max_iterations = iterations.unwrap_or(options.max_iterations);
    let fit = run(py, None, |_| dermis::fit_beam(&dermis::read_beam(path)?, &options))?;
    of_json(
        py,
        &json!({
            "young_modulus_pa": fit.young_modulus_pa,
            "static_modulus_pa": fit.static_modulus_pa,
            "loss_factor": fit.loss_factor,
            "damping_rate_per_s": fit.damping_rate_per_s,
            "iterations": fit.iterations,
            "fitted_rms_m": fit.fitted_rms_m,
        }),
    )
}

/// Scans of an argument.
enum ScanSource {
    Files(Vec<PathBuf>, Option<String>),
    Sequences(Vec<dermis::mesh::MeshSequence>),
}

impl ScanSource {
    /// A file or folder, or several; or sequences.
    fn new(value: &Bound<'_, PyAny>, subject: Option<String>) -> PyResult<Self> {
        if let Ok(path) = value.extract::<PathBuf>() {
            return Ok(Self::Files(vec![path], subject));
        }
        if let Ok(paths) = value.extract::<Vec<PathBuf>>() {
            return Ok(Self::Files(paths, subject));
        }
        let all = value.try_iter()?.map(|item| Ok(item?.cast::<MeshSequence>()?.get().inner.clone()));
        Ok(Self::Sequences(all.collect::<PyResult<_>>()?))
    }

    fn read(&self, body: &LayeredBody) -> dermis::Result<(Vec<Scan>, Vec<Note>)> {
        match self {
            Self::Files(files, subject) => dermis::read_scans(files, body, subject.as_deref()),
            Self::Sequences(sequences) => {
                let mut scans = Vec::with_capacity(sequences.len());
                for sequence in sequences {
                    let frames = (0..sequence.frame_count()).map(|frame| Ok(sequence.frame(frame)?.into_owned()));
                    let frames = frames.collect::<dermis::Result<Vec<_>>>()?;
                    let (name, frame_rate_hz) = (sequence.name().to_owned(), sequence.frame_rate_hz());
                    scans.push(Scan { name, frame_rate_hz, frames });
                }
                let notes = dermis::tissue::fit::check_scans(body, &mut scans)?;
                Ok((scans, notes.into_iter().map(Note::new).collect()))
            }
        }
    }
}

/// Deviations of each sequence, in metres summed over points.
fn scores(found: &[SequenceValidation], training: &[&str]) -> Vec<Value> {
    let score = |sequence: &SequenceValidation| {
        json!({
            "name": sequence.name,
            "held_out": !training.contains(&sequence.name.as_str()),
            "deviation_pose_model": sequence.deviation_pose_model,
            "deviation_fit": sequence.deviation_fit,
            "rigid_rms_mm": 1e3 * sequence.rigid_rms_m,
        })
    };
    found.iter().map(score).collect()
}

impl Body {
    /// The skin and its motions as a scene. A note lists what a rig cannot store.
    pub(crate) fn scene(&self) -> PyResult<MeshScene> {
        let parts = self.layered.parts();
        let rigged = || parts.body.shaped(&[])?.to_object("body", &parts.motions);
        let mut object = rigged().map_err(|error| exception(LayeredError::from(error)))?;
        let flesh = self.layered.flesh();
        object.attributes.insert("tissue_thickness".to_owned(), flesh.thickness.clone());
        object.attributes.insert("tissue_young_modulus".to_owned(), flesh.young_modulus_pa.clone());
        let units = Units { metres_per_unit: Some(1.0), up_axis: Some(parts.up) };
        let has_shapes = !parts.body.pose_shapes().is_empty();
        let note = Note::at("body", "the rig of the body has no pose shapes");
        Ok(MeshScene { objects: vec![object], units, notes: has_shapes.then_some(note).into_iter().collect() })
    }
}

#[pymethods]
impl Body {
    #[getter]
    fn clips(&self) -> Vec<String> {
        self.layered.parts().motions.iter().map(|motion| motion.name.clone()).collect()
    }

    #[getter]
    fn points<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        view_points(this.get().layered.body().mesh().points(), this.clone().into_any())
    }

    #[getter]
    fn faces<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        view_triangles(this.get().layered.body().mesh().triangles(), this.clone().into_any())
    }

    #[doc = docs!("Body.thickness")]
    #[getter]
    fn thickness<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, &self.layered.flesh().thickness)
    }

    #[doc = docs!("Body.stiffness")]
    #[getter]
    fn stiffness<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, &self.layered.flesh().young_modulus_pa)
    }

    /// Counts of the body, and the measures of the function that created it.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let facts = run(py, None, |_| Ok(self.layered.facts()?))?;
        let mut all = serde_json::to_value(facts).map_err(|error| invalid(error.to_string()))?;
        if let (Some(all), Value::Object(own)) = (all.as_object_mut(), self.metrics.clone()) {
            all.extend(own);
        }
        of_json(py, &all)
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        lines(&self.notes)
    }

    fn __repr__(&self) -> String {
        let parts = self.layered.parts();
        let (points, tetrahedra) = (parts.body.point_count(), parts.tets.tetrahedra().len());
        format!("<dermis.Body: {points} points, {tetrahedra} tetrahedra>")
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.layered, force)
    }
}

#[pymethods]
impl Simulation {
    fn __len__(&self) -> usize {
        self.recording.sequence.frame_count()
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        let frame = {
            let mut next = self.next.lock().map_err(|_| invalid("the simulation has already failed"))?;
            let frame = *next;
            *next += 1;
            frame
        };
        if frame >= self.recording.sequence.frame_count() {
            return Ok(None);
        }
        let points = run(py, None, |_| Ok(self.recording.sequence.frame(frame)?.into_owned()))?;
        of_points(py, &points).map(Some)
    }

    /// The simulated frames as a sequence.
    fn sequence(&self) -> MeshSequence {
        MeshSequence { inner: self.recording.sequence.clone() }
    }

    #[doc = docs!("Simulation.metrics")]
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = serde_json::to_value(self.recording.measures()).map_err(|error| invalid(error.to_string()))?;
        of_json(py, &value)
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        lines(&self.recording.notes)
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.recording, force)
    }
}
