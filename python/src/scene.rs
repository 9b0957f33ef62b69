//! Scenes, their objects, and models that functions of dermis create from them.

use std::path::{Path, PathBuf};

use dermis::io::WriteOptions;
use dermis::mesh::{Note, Object as MeshObject, Scene as MeshScene};
use dermis::{ToScene, Writable, evaluate, find_clip};
use numpy::{PyArray1, PyArray2, PyArray4, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrays::{matrix, of_json, of_points, of_triangles};
use crate::sequence::MeshSequence;
use crate::skin::Skin;
use crate::work::run;

/// The contents of a file.
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Scene {
    pub(crate) inner: MeshScene,
}

/// A mesh and its motion.
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Object {
    inner: MeshObject,
}

/// A scene with layers or levels of detail, and the measures of the function that created it.
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Model {
    pub(crate) scene: MeshScene,
    pub(crate) metrics: serde_json::Value,
    pub(crate) notes: Vec<Note>,
}

/// Reads a file or a built-in sample.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<Scene> {
    let source = path.to_string_lossy().into_owned();
    Ok(Scene { inner: run(py, None, |_| dermis::read(source))? })
}

/// Writes any value with a scene; returns the warnings.
#[pyfunction]
#[pyo3(signature = (what, path, *, force=false))]
pub(crate) fn save(py: Python<'_>, what: &Bound<'_, PyAny>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
    write(py, &path, &scene_of(what)?, force)
}

/// The scene of an argument: a scene, a model, a skin, an object or a sequence.
pub(crate) fn scene_of(value: &Bound<'_, PyAny>) -> PyResult<MeshScene> {
    if let Ok(scene) = value.cast::<Scene>() {
        return Ok(scene.get().inner.clone());
    }
    if let Ok(model) = value.cast::<Model>() {
        return Ok(model.get().scene.clone());
    }
    if let Ok(skin) = value.cast::<Skin>() {
        return Ok(skin.get().fit.to_scene());
    }
    if let Ok(object) = value.cast::<Object>() {
        return Ok(object.get().inner.to_scene());
    }
    if let Ok(sequence) = value.cast::<MeshSequence>() {
        return Ok(sequence.get().inner.to_scene());
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("{name}: expected a Scene, Model, Skin, Object or MeshSequence of dermis")))
}

/// Writes without the interpreter lock; returns the warnings.
pub(crate) fn write(
    py: Python<'_>,
    path: &Path,
    what: &(impl Writable + Sync + ?Sized),
    force: bool,
) -> PyResult<Vec<String>> {
    let options = WriteOptions { force, ..WriteOptions::default() };
    let written = run(py, None, |progress| dermis::write_with(path, what, &options, progress))?;
    Ok(lines(&written.notes))
}

/// The text of notes.
pub(crate) fn lines(notes: &[Note]) -> Vec<String> {
    let line = |note: &Note| match &note.location {
        Some(location) => format!("{location}: {}", note.message),
        None => note.message.clone(),
    };
    notes.iter().map(line).collect()
}

/// The motion of a clip, by name or index, or of the first clip.
fn motion(py: Python<'_>, scene: &MeshScene, clip: Option<&str>) -> PyResult<MeshSequence> {
    let (inner, notes) = run(py, None, |_| {
        let (object, mut notes) = evaluate::single(scene)?;
        let found = if let Some(clip) = clip {
            let names: Vec<&str> = object.clips.iter().map(|clip| clip.name()).collect();
            evaluate::motion_of_clip(&object, find_clip(clip, &names)?)?
        } else {
            let found = evaluate::motion(&object)?;
            found.ok_or_else(|| evaluate::EvaluateError::NoMotion(object.name.clone()))?
        };
        notes.extend(found.warnings);
        Ok((found.sequence, notes))
    })?;
    for line in lines(&notes) {
        py.import("warnings")?.call_method1("warn", (line,))?;
    }
    Ok(MeshSequence { inner })
}

#[pymethods]
impl Scene {
    #[getter]
    fn objects(&self) -> Vec<Object> {
        self.inner.objects.iter().map(|object| Object { inner: object.clone() }).collect()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        lines(&self.inner.notes)
    }

    #[getter]
    fn metres_per_unit(&self) -> Option<f64> {
        self.inner.units.metres_per_unit
    }

    #[getter]
    fn clips(&self) -> Vec<String> {
        let moving = self.inner.objects.iter().find(|object| !object.clips.is_empty());
        moving.map_or_else(Vec::new, |object| object.clips.iter().map(|clip| clip.name().to_owned()).collect())
    }

    #[pyo3(signature = (clip=None))]
    fn sequence(&self, py: Python<'_>, clip: Option<&str>) -> PyResult<MeshSequence> {
        motion(py, &self.inner, clip)
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.inner, force)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.inner.objects.iter().map(|object| object.name.as_str()).collect();
        format!("<dermis.Scene: {}>", names.join(", "))
    }
}

#[pymethods]
impl Object {
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        of_points(py, self.inner.mesh.points())
    }

    #[getter]
    fn faces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        of_triangles(py, self.inner.mesh.triangles())
    }

    #[getter]
    fn joints(&self) -> Vec<String> {
        let joints = self.inner.rig.as_ref().map_or(&[][..], |rig| rig.joints());
        joints.iter().map(|joint| joint.name.clone()).collect()
    }

    #[getter]
    fn parents(&self) -> Vec<Option<usize>> {
        self.inner.rig.as_ref().map_or_else(Vec::new, |rig| rig.joints().iter().map(|joint| joint.parent).collect())
    }

    #[getter]
    fn layers(&self) -> Vec<String> {
        self.inner.deformers.iter().map(|layer| layer.kind().to_owned()).collect()
    }

    #[getter]
    fn clips(&self) -> Vec<String> {
        self.inner.clips.iter().map(|clip| clip.name().to_owned()).collect()
    }

    #[pyo3(signature = (clip=None))]
    fn sequence(&self, py: Python<'_>, clip: Option<&str>) -> PyResult<MeshSequence> {
        motion(py, &self.inner.to_scene(), clip)
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.inner, force)
    }

    fn __repr__(&self) -> String {
        let (points, triangles) = (self.inner.mesh.point_count(), self.inner.mesh.triangle_count());
        format!("<dermis.Object '{}': {points} points, {triangles} triangles>", self.inner.name)
    }
}

#[pymethods]
impl Model {
    #[getter]
    fn scene(&self) -> Scene {
        Scene { inner: self.scene.clone() }
    }

    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        of_json(py, &self.metrics)
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        lines(&self.notes)
    }

    #[pyo3(signature = (clip=None))]
    fn sequence(&self, py: Python<'_>, clip: Option<&str>) -> PyResult<MeshSequence> {
        motion(py, &self.scene, clip)
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.scene, force)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.scene.objects.iter().map(|object| object.name.as_str()).collect();
        format!("<dermis.Model: {}>", names.join(", "))
    }
}

/// Transforms of the joints in all frames of a clip, of shape (frames, joints, 4, 4).
pub(crate) fn transforms<'py>(py: Python<'py>, clip: &dermis::mesh::Clip) -> PyResult<Bound<'py, PyArray4<f64>>> {
    let frames = clip.frame_count();
    let all: Vec<f64> =
        (0..frames).flat_map(|frame| clip.transforms(frame).iter().flat_map(matrix).collect::<Vec<_>>()).collect();
    PyArray1::from_vec(py, all).reshape([frames, clip.transforms(0).len(), 4, 4])
}
