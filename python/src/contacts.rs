//! Contacts of animated models.

use dermis::collide::CollideOptions;
use dermis::mesh::glam::DVec3;
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::of_json;
use crate::scene::{lines, scene_of};
use crate::work::run;

#[doc = docs!("collide")]
#[pyfunction]
#[pyo3(signature = (first, second, *, clip=None, other_clip=None, offset=(0.0, 0.0, 0.0), progress=None))]
pub(crate) fn collide<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    clip: Option<String>,
    other_clip: Option<String>,
    offset: (f64, f64, f64),
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (first, second) = (scene_of(first)?, scene_of(second)?);
    let options = CollideOptions { clip, other_clip, offset: DVec3::from(offset) };
    let found = run(py, progress, |progress| dermis::collide_with(&first, &second, &options, progress))?;
    of_json(py, &json!({ "frame_count": found.frame_count, "frames": found.frames, "notes": lines(&found.warnings) }))
}
