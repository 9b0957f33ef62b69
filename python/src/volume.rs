//! Volume preservation.

use dermis::active::volume::{Mode, VolumeOptions};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::invalid;
use crate::scene::{Model, scene_of};
use crate::work::run;

/// Adds a layer that preserves the volume.
#[pyfunction]
#[pyo3(signature = (model, *, mode=None, cap=None, progress=None))]
pub(crate) fn keep_volume(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    mode: Option<&str>,
    cap: Option<bool>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let scene = scene_of(model)?;
    let mut options = VolumeOptions::default();
    options.mode = match mode {
        None => options.mode,
        Some("exact") => Mode::Exact,
        Some("fast") => Mode::Fast,
        Some("global") => Mode::Global,
        Some(other) => return Err(invalid(format!("mode: '{other}', expected 'exact', 'fast' or 'global'"))),
    };
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
