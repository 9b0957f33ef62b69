//! Layered bodies and their simulation.

use std::path::PathBuf;
use std::sync::Mutex;

use dermis::bodies::BodyOptions;
use dermis::build_body::BuildBodyOptions;
use dermis::mesh::Note;
use dermis::tissue::layered::{LayeredBody, Recording, SimulateOptions};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::arrays::{of_json, of_points};
use crate::errors::invalid;
use crate::scene::{lines, write};
use crate::sequence::MeshSequence;
use crate::work::run;

/// A layered body.
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Body {
    body: LayeredBody,
    notes: Vec<Note>,
}

/// A simulated motion: an iterator over frames.
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Simulation {
    recording: Recording,
    next: Mutex<usize>,
}

/// Builds a layered body from a file, or reads a body that has already been built.
#[pyfunction]
#[pyo3(signature = (source, *, mesh=None, progress=None))]
pub(crate) fn build_body(
    py: Python<'_>,
    source: PathBuf,
    mesh: Option<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Body> {
    let source = source.to_string_lossy().into_owned();
    let (body, notes) = run(py, progress, |progress| {
        let options = BodyOptions { mesh, ..BodyOptions::default() };
        let (layered, body) = dermis::bodies::open_body(&source, &options)?;
        if let Some(layered) = layered {
            return Ok((layered, body.notes));
        }
        let built = dermis::build_body_with(body, &BuildBodyOptions::default(), progress)?;
        Ok((built.body, built.notes))
    })?;
    Ok(Body { body, notes })
}

/// Simulates the flesh of a body in one of its clips.
#[pyfunction]
#[pyo3(signature = (body, *, clip=None, substeps=None, settle=None))]
pub(crate) fn simulate(
    py: Python<'_>,
    body: PyRef<'_, Body>,
    clip: Option<&str>,
    substeps: Option<usize>,
    settle: Option<f32>,
) -> PyResult<Simulation> {
    let body = &body.body;
    let motion = body.motion(clip).ok_or_else(|| {
        let names: Vec<&str> = body.parts().motions.iter().map(|motion| motion.name.as_str()).collect();
        invalid(format!("no such clip; the body has: {}", names.join(", ")))
    })?;
    let mut options = SimulateOptions { substeps, ..SimulateOptions::default() };
    options.settle_s = settle.unwrap_or(options.settle_s);
    let recording = run(py, None, |_| dermis::simulate(body, motion, &options))?;
    Ok(Simulation { recording, next: Mutex::new(0) })
}

#[pymethods]
impl Body {
    #[getter]
    fn clips(&self) -> Vec<String> {
        self.body.parts().motions.iter().map(|motion| motion.name.clone()).collect()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        lines(&self.notes)
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.body, force)
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

    /// Measures of the frames simulated so far.
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
