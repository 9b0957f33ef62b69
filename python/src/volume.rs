//! Volume preservation.

use dermis::active::volume::{Target, VolumeOptions, effects_from_toml};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::invalid;
use crate::options::{MODES, chosen};
use crate::scene::{Model, scene_of};
use crate::work::run;

#[doc = docs!("keep_volume")]
#[pyfunction]
#[pyo3(signature = (model, *, mode=None, cap=None, target=None, effects=None, attribute=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn keep_volume(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    mode: Option<&str>,
    cap: Option<bool>,
    target: Option<&Bound<'_, PyAny>>,
    effects: Option<&str>,
    attribute: Option<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let scene = scene_of(model)?;
    let mut options = VolumeOptions { body_attribute: attribute, ..VolumeOptions::default() };
    options.mode = chosen("mode", mode, &MODES, options.mode)?;
    if let Some(target) = target {
        options.target = match target.extract::<f64>() {
            Ok(factor) => Target::new(vec![[0.0, factor]]),
            Err(_) => Target::new(target.extract::<Vec<[f64; 2]>>()?),
        }
        .map_err(|error| invalid(format!("target: {error}")))?;
    }
    if let Some(effects) = effects {
        options.effects = effects_from_toml(effects).map_err(|error| invalid(format!("effects: {error}")))?;
    }
    options.cap = cap.unwrap_or(options.cap);
    let kept = run(py, progress, |progress| dermis::keep_volume_with(&scene, &options, progress))?;
    let [intersections_before, intersections_after] = kept.intersections();
    let metrics = json!({
        "drift_before": kept.drift_before(),
        "drift_after": kept.drift_after(),
        "max_stretch": kept.max_stretch(),
        "intersections_before": intersections_before,
        "intersections_after": intersections_after,
        "milliseconds_per_frame": kept.milliseconds_per_frame(),
    });
    Ok(Model { scene: kept.scene, metrics, notes: kept.warnings })
}
