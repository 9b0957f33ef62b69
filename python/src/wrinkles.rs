//! Wrinkles of cloth.

use dermis::ToScene;
use dermis::active::wrinkle::{ClothOptions, RestShape};
use pyo3::prelude::*;

use crate::arrays::points;
use crate::errors::{exception, invalid};
use crate::scene::{Model, scene_of};
use crate::work::run;

/// Adds wrinkles to a cloth animation.
#[pyfunction]
#[pyo3(signature = (cloth, *, rest=None, subdivide=None, coarsen=None, progress=None))]
pub(crate) fn wrinkle(
    py: Python<'_>,
    cloth: &Bound<'_, PyAny>,
    rest: Option<&Bound<'_, PyAny>>,
    subdivide: Option<u32>,
    coarsen: Option<usize>,
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
    let options = ClothOptions { subdivide, coarsen, ..ClothOptions::default() };
    let cloth = run(py, progress, |progress| {
        let shape = rest.as_deref().map_or(RestShape::Pose, RestShape::Points);
        dermis::wrinkle_with(&motion, shape, &options, progress)
    })?;
    let metrics = serde_json::to_value(&cloth.measures).map_err(|error| invalid(error.to_string()))?;
    Ok(Model { scene: cloth.to_scene(), metrics, notes: cloth.notes.clone() })
}
