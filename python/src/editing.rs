//! Edits of rest poses.

use std::path::PathBuf;
use std::sync::Arc;

use dermis::edit::{DisplacementMap, EditOptions, RestEdit};
use dermis::mesh::TriMesh;
use dermis::mesh::merge::single;
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::points;
use crate::errors::{FileError, exception, invalid};
use crate::scene::{Model, scene_of};
use crate::work::run;

/// Grey value of a map without displacement.
const MID_LEVEL: f64 = 0.0;

#[doc = docs!("edit")]
#[pyfunction]
#[pyo3(signature = (model, edited=None, *, map=None, scale=None, mid_level=None, mesh=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn edit(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    edited: Option<&Bound<'_, PyAny>>,
    map: Option<PathBuf>,
    scale: Option<f64>,
    mid_level: Option<f64>,
    mesh: Option<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let scene = scene_of(model)?;
    let change = match (edited, map, scale) {
        (Some(_), None, Some(_)) => return Err(invalid("scale requires a displacement map")),
        (Some(edited), None, None) => RestEdit::Mesh(edited_mesh(&scene, edited, mesh.as_deref())?),
        (None, Some(map), Some(scale)) => {
            let bytes = std::fs::read(&map)
                .map_err(|error| FileError::new_err(format!("{}: cannot be read: {error}", map.display())))?;
            let map = DisplacementMap::from_png(&bytes, scale, mid_level.unwrap_or(MID_LEVEL));
            RestEdit::Map(map.map_err(exception)?)
        }
        (None, Some(_), None) => {
            return Err(invalid("a displacement map requires scale, the displacement of white in metres"));
        }
        _ => return Err(invalid("pass either an edited mesh or a displacement map")),
    };
    let options = EditOptions { mesh };
    let result = run(py, progress, |progress| dermis::edit_with(&scene, &change, &options, progress))?;
    Ok(Model { scene: result.scene, metrics: json!({ "objects": result.objects }), notes: result.warnings })
}

/// The edited mesh: that of a scene or object, or points of the only or named object of `scene`.
fn edited_mesh(scene: &dermis::mesh::Scene, edited: &Bound<'_, PyAny>, mesh: Option<&str>) -> PyResult<Arc<TriMesh>> {
    if let Ok(edited) = scene_of(edited) {
        let (object, _) = single(&edited).map_err(|error| exception(dermis::evaluate::EvaluateError::from(error)))?;
        return Ok(object.mesh);
    }
    let points = points(edited, "edited")?;
    let selection = dermis::Selection { mesh: mesh.map(ToOwned::to_owned), ..dermis::Selection::default() };
    let chosen = dermis::select(scene.clone(), &selection).map_err(exception)?;
    let [object] = chosen.objects.as_slice() else {
        return Err(invalid("the model has several meshes: select one with mesh"));
    };
    if points.len() != object.mesh.point_count() {
        let (found, expected) = (points.len(), object.mesh.point_count());
        return Err(invalid(format!("edited: {found} points, but the mesh has {expected}")));
    }
    Ok(Arc::new(TriMesh::new(points, object.mesh.triangles().to_vec()).map_err(exception)?))
}
