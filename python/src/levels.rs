//! Levels of detail.

use dermis::lod::LodOptions;
use pyo3::prelude::*;

use crate::errors::invalid;
use crate::scene::{Model, scene_of};
use crate::work::run;

#[doc = docs!("make_levels")]
#[pyfunction]
#[pyo3(signature = (model, *, ratios=None, max_poses=None, progress=None))]
pub(crate) fn make_levels(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    ratios: Option<Vec<f64>>,
    max_poses: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let scene = scene_of(model)?;
    let defaults = LodOptions::default();
    let options =
        LodOptions { ratios: ratios.unwrap_or(defaults.ratios), max_poses: max_poses.unwrap_or(defaults.max_poses) };
    let leveled = run(py, progress, |progress| dermis::make_levels_with(&scene, &options, progress))?;
    let metrics = serde_json::to_value(&leveled.objects).map_err(|error| invalid(error.to_string()))?;
    Ok(Model { scene: leveled.scene, metrics: serde_json::json!({ "objects": metrics }), notes: leveled.warnings })
}
