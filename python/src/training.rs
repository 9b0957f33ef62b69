//! Multi-weights from examples.

use dermis::frame_range::FrameRange;
use dermis::train_envelope::{EnvelopeOptions, ExampleOptions, Targets, TrainingSet};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::exception;
use crate::options::{UNDERLYING, chosen};
use crate::scene::{Model, scene_of};
use crate::sequence::MeshSequence;
use crate::work::run;

#[doc = docs!("train_envelope")]
#[pyfunction]
#[pyo3(signature = (rig, targets=None, *, clip=None, mesh=None, frames=None, smoothness=None, retained_variance=None,
    influences=None, underlying=None, fade=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn train_envelope(
    py: Python<'_>,
    rig: &Bound<'_, PyAny>,
    targets: Option<PyRef<'_, MeshSequence>>,
    clip: Option<String>,
    mesh: Option<String>,
    frames: Option<&str>,
    smoothness: Option<f64>,
    retained_variance: Option<f64>,
    influences: Option<usize>,
    underlying: Option<&str>,
    fade: Option<bool>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let scene = scene_of(rig)?;
    let frames: Vec<FrameRange> = match frames {
        Some(frames) => frames.split(',').map(str::parse).collect::<Result<_, _>>().map_err(exception)?,
        None => Vec::new(),
    };
    let targets = targets.map(|targets| Targets { shapes: targets.inner.clone(), frame_numbers: None });
    let examples = ExampleOptions { mesh, clip, frames, targets, ..ExampleOptions::default() };
    let mut options = EnvelopeOptions::default();
    options.train.smoothness = smoothness.or(options.train.smoothness);
    options.train.retained_variance = retained_variance.unwrap_or(options.train.retained_variance);
    options.train.linear_influences = influences.unwrap_or(options.train.linear_influences);
    options.train.underlying = chosen("underlying", underlying, &UNDERLYING, options.train.underlying)?;
    options.fade = fade.unwrap_or(options.fade);
    let envelope = run(py, progress, |progress| {
        let set = TrainingSet::new(&scene, &examples)?;
        dermis::train_envelope_with(&set, &options, progress)
    })?;
    let found = &envelope.validation;
    let metrics = json!({
        "rms_error": found.rms_error,
        "max_error": found.max_error,
        "linear_rms_error": found.linear_rms_error,
        "linear_max_error": found.linear_max_error,
        "smoothness": envelope.trained.smoothness,
    });
    Ok(Model { scene: envelope.scene, metrics, notes: envelope.warnings })
}
