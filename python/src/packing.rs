//! Small files.

use std::path::PathBuf;

use dermis::pack::{PackBudget, PackOptions, PackedAsset};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::of_json;
use crate::errors::invalid;
use crate::scene::{lines, scene_of, write};
use crate::work::run;

#[doc = docs!("Packed")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Packed {
    pub(crate) asset: PackedAsset,
}

#[doc = docs!("pack")]
#[pyfunction]
#[pyo3(signature = (model, *, error=None, size=None, shape_normals=None, keep_order=None, progress=None))]
pub(crate) fn pack(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    error: Option<f64>,
    size: Option<usize>,
    shape_normals: Option<bool>,
    keep_order: Option<bool>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Packed> {
    let scene = scene_of(model)?;
    let mut options = PackOptions::default();
    options.budget = match (error, size) {
        (None, None) => options.budget,
        (Some(percent), None) => PackBudget::Error(percent),
        (None, Some(bytes)) => PackBudget::Size(bytes),
        _ => return Err(invalid("error and size exclude each other")),
    };
    options.shape_normals = shape_normals.unwrap_or(options.shape_normals);
    options.keep_order = keep_order.unwrap_or(options.keep_order);
    Ok(Packed { asset: run(py, progress, |progress| dermis::pack_with(&scene, &options, progress))? })
}

#[pymethods]
impl Packed {
    /// Contents of the `.glb` file.
    #[getter]
    fn glb<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.asset.glb)
    }

    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        of_json(py, &serde_json::to_value(self.asset.measures).map_err(|error| invalid(error.to_string()))?)
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        lines(&self.asset.warnings)
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.asset, force)
    }

    fn __repr__(&self) -> String {
        let measures = &self.asset.measures;
        format!("<dermis.Packed: {} bytes, {:.3} % distortion>", measures.packed_bytes, measures.distortion_percent)
    }
}
