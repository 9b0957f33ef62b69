//! Precomputed lighting.

use dermis::bake_light::{BakeLightOptions, Ground};
use dermis::mesh::glam::DVec3;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::invalid;
use crate::options::{LIGHT_METHODS, chosen};
use crate::scene::{Model, scene_of};
use crate::work::run;

#[doc = docs!("bake_light")]
#[pyfunction]
#[pyo3(signature = (model, *, order=None, rays=None, rank=None, method=None, ground=None, sun=None, clip=None,
    transfer=None, force=false, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn bake_light(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    order: Option<usize>,
    rays: Option<usize>,
    rank: Option<usize>,
    method: Option<&str>,
    ground: Option<&Bound<'_, PyAny>>,
    sun: Option<(f64, f64, f64)>,
    clip: Option<String>,
    transfer: Option<std::path::PathBuf>,
    force: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let scene = scene_of(model)?;
    let mut options = BakeLightOptions { clip, ..BakeLightOptions::default() };
    options.order = order.unwrap_or(options.order);
    options.rays = rays.unwrap_or(options.rays);
    options.rank = rank.unwrap_or(options.rank);
    options.method = chosen("method", method, &LIGHT_METHODS, options.method)?;
    options.sun = sun.map_or(options.sun, DVec3::from);
    options.ground = match ground {
        None => options.ground,
        Some(value) if value.is_instance_of::<PyString>() => match value.extract::<String>()?.as_str() {
            "lowest" => Ground::Lowest,
            "none" => Ground::None,
            other => return Err(invalid(format!("ground: '{other}', expected 'lowest', 'none' or a height"))),
        },
        Some(value) => Ground::At(value.extract()?),
    };
    let lit = run(py, progress, |progress| {
        let lit = dermis::bake_light_with(&scene, &options, progress)?;
        if let Some(target) = &transfer {
            lit.write_transfer(target, &dermis::io::WriteOptions { force, ..Default::default() })?;
        }
        Ok(lit)
    })?;
    let metrics = serde_json::to_value(&lit.measures).map_err(|error| invalid(error.to_string()))?;
    Ok(Model { scene: lit.scene, metrics, notes: lit.warnings })
}
