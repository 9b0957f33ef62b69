//! Wrinkles of cloth.

use dermis::ToScene;
use dermis::active::wrinkle::{ClothOptions, RestShape};
use pyo3::prelude::*;

use crate::arrays::points;
use crate::errors::{exception, invalid};
use crate::options::{FOLDS, chosen};
use crate::scene::{Model, scene_of};
use crate::work::run;

#[doc = docs!("wrinkle")]
#[pyfunction]
#[pyo3(signature = (cloth, *, rest=None, subdivide=None, coarsen=None, folds=None, min_radius=None, threshold=None,
    fade_frames=None, smoothing=None, max_length=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn wrinkle(
    py: Python<'_>,
    cloth: &Bound<'_, PyAny>,
    rest: Option<&Bound<'_, PyAny>>,
    subdivide: Option<u32>,
    coarsen: Option<usize>,
    folds: Option<&str>,
    min_radius: Option<f32>,
    threshold: Option<f32>,
    fade_frames: Option<f32>,
    smoothing: Option<f32>,
    max_length: Option<f32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let scene = scene_of(cloth)?;
    if scene.objects.len() > 1 {
        let names: Vec<&str> = scene.objects.iter().map(|object| object.name.as_str()).collect();
        return Err(invalid(format!(
            "several meshes: {}\nhint: pass the cloth, one of scene.objects",
            names.join(", ")
        )));
    }
    let motion = dermis::ToSequence::sequence(&scene).map_err(exception)?;
    let rest = rest.map(|rest| points(rest, "rest")).transpose()?;
    if let Some(found) = rest.as_ref().map(Vec::len).filter(|&found| found != motion.point_count()) {
        return Err(invalid(format!("rest: {found} points, but the cloth has {}", motion.point_count())));
    }
    let mut options = ClothOptions { subdivide, coarsen, ..ClothOptions::default() };
    options.folds = chosen("folds", folds, &FOLDS, options.folds)?;
    let layer = &mut options.layer;
    layer.min_radius = min_radius.or(layer.min_radius);
    layer.threshold = threshold.unwrap_or(layer.threshold);
    layer.fade_frames = fade_frames.unwrap_or(layer.fade_frames);
    layer.smoothing = smoothing.unwrap_or(layer.smoothing);
    layer.max_length = max_length.unwrap_or(layer.max_length);
    let cloth = run(py, progress, |progress| {
        let shape = rest.as_deref().map_or(RestShape::Pose, RestShape::Points);
        dermis::wrinkle_with(&motion, shape, &options, progress)
    })?;
    let metrics = serde_json::to_value(&cloth.measures).map_err(|error| invalid(error.to_string()))?;
    Ok(Model { scene: cloth.to_scene(), metrics, notes: cloth.notes.clone() })
}
