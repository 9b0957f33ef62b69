//! Scenes, their objects, and models that functions of dermis create from them.

use std::path::{Path, PathBuf};

use dermis::io::{ReadOptions, WriteOptions};
use dermis::mesh::{Clip, Note, Object as MeshObject, Scene as MeshScene};
use dermis::select::Selection;
use dermis::{ToScene, Writable, evaluate, find_clip};
use numpy::{PyArray1, PyArray2, PyArray3, PyArray4};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{of_json, view_points, view_triangles};
use crate::errors::{exception, invalid};
use crate::packing::Packed;
use crate::rigs;
use crate::sequence::MeshSequence;
use crate::skin::Skin;
use crate::tissue::{Body, Simulation};
use crate::work::run;

#[doc = docs!("Scene")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Scene {
    pub(crate) inner: MeshScene,
}

#[doc = docs!("Object")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Object {
    pub(crate) inner: MeshObject,
}

#[doc = docs!("Model")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Model {
    pub(crate) scene: MeshScene,
    pub(crate) metrics: serde_json::Value,
    pub(crate) notes: Vec<Note>,
}

#[doc = docs!("load")]
#[pyfunction]
#[pyo3(signature = (path, *, fps=None, scale=None))]
pub(crate) fn load(py: Python<'_>, path: PathBuf, fps: Option<f64>, scale: Option<f64>) -> PyResult<Scene> {
    let source = path.to_string_lossy().into_owned();
    let options = ReadOptions { frame_rate_hz: fps, scale, ..ReadOptions::default() };
    Ok(Scene { inner: run(py, None, |_| dermis::read_with(source, &options))? })
}

#[doc = docs!("select")]
#[pyfunction]
#[pyo3(signature = (scene, *, mesh=None, clip=None, frames=None, fps=None, rest_frame=None))]
pub(crate) fn select(
    py: Python<'_>,
    scene: &Bound<'_, PyAny>,
    mesh: Option<String>,
    clip: Option<String>,
    frames: Option<&str>,
    fps: Option<f64>,
    rest_frame: Option<isize>,
) -> PyResult<Scene> {
    let scene = scene_of(scene)?;
    let frames = frames.map(str::parse).transpose().map_err(|error: dermis::FrameRangeError| exception(error))?;
    let selection = Selection { mesh, clip, frames, frame_rate_hz: fps, rest_frame };
    Ok(Scene { inner: run(py, None, |_| Ok(dermis::select(scene, &selection)?))? })
}

#[doc = docs!("inspect")]
#[pyfunction]
#[pyo3(signature = (scene, *, progress=None))]
pub(crate) fn inspect<'py>(
    py: Python<'py>,
    scene: &Bound<'py, PyAny>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let scene = scene_of(scene)?;
    let facts = run(py, progress, |progress| Ok(dermis::inspect::inspect(&scene, progress)?))?;
    of_json(py, &serde_json::to_value(&facts).map_err(|error| invalid(error.to_string()))?)
}

#[doc = docs!("save")]
#[pyfunction]
#[pyo3(signature = (what, path, *, force=false))]
pub(crate) fn save(py: Python<'_>, what: &Bound<'_, PyAny>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
    if let Ok(body) = what.cast::<Body>() {
        return write(py, &path, &body.get().layered, force);
    }
    if let Ok(packed) = what.cast::<Packed>() {
        return write(py, &path, &packed.get().asset, force);
    }
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
        return Ok(skin.get().scene());
    }
    if let Ok(object) = value.cast::<Object>() {
        return Ok(object.get().inner.to_scene());
    }
    if let Ok(sequence) = value.cast::<MeshSequence>() {
        return Ok(sequence.get().inner.to_scene());
    }
    if let Ok(simulation) = value.cast::<Simulation>() {
        return Ok(simulation.get().recording.to_scene());
    }
    if let Ok(body) = value.cast::<Body>() {
        return body.get().scene();
    }
    let name = value.get_type().name()?;
    let expected = "a Scene, Model, Skin, Object, MeshSequence, Simulation or Body of dermis";
    Err(PyTypeError::new_err(format!("{name}: expected {expected}")))
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
fn motion(py: Python<'_>, scene: &MeshScene, clip: Option<&Bound<'_, PyAny>>) -> PyResult<MeshSequence> {
    let clip = clip.map(|clip| Ok::<_, PyErr>(clip.str()?.to_string())).transpose()?;
    let (inner, notes) = run(py, None, |_| {
        let (object, mut notes) = evaluate::single(scene)?;
        let found = if let Some(clip) = &clip {
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

    #[doc = docs!("Scene.notes")]
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

    #[doc = docs!("Scene.sequence")]
    #[pyo3(signature = (clip=None))]
    fn sequence(&self, py: Python<'_>, clip: Option<&Bound<'_, PyAny>>) -> PyResult<MeshSequence> {
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
    fn points<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        view_points(this.get().inner.mesh.points(), this.clone().into_any())
    }

    #[getter]
    fn faces<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        view_triangles(this.get().inner.mesh.triangles(), this.clone().into_any())
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

    #[doc = docs!("Object.weights")]
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.rig.as_ref().map(|rig| rigs::weights(py, rig)).transpose()
    }

    #[doc = docs!("Object.bind")]
    #[getter]
    fn bind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        rigs::bind(py, self.inner.rig.as_ref().map_or(&[][..], |rig| rig.joints()))
    }

    #[doc = docs!("Object.shapes")]
    #[getter]
    fn shapes(&self) -> Vec<String> {
        let shapes = self.inner.rig.iter().flat_map(|rig| rig.shapes());
        shapes.map(|shape| shape.name.clone()).collect()
    }

    #[doc = docs!("Object.basis")]
    #[getter]
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        match &self.inner.rig {
            Some(rig) => rigs::basis(py, rig),
            None => Ok(PyArray3::zeros(py, [0, self.inner.mesh.point_count(), 3], false)),
        }
    }

    #[doc = docs!("Object.transforms")]
    #[pyo3(signature = (clip=None))]
    fn transforms<'py>(
        &self,
        py: Python<'py>,
        clip: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray4<f64>>> {
        rigs::transforms(py, self.clip(clip)?)
    }

    #[doc = docs!("Object.coefficients")]
    #[pyo3(signature = (clip=None))]
    fn coefficients<'py>(
        &self,
        py: Python<'py>,
        clip: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        rigs::coefficients(py, self.clip(clip)?)
    }

    #[doc = docs!("Object.attributes")]
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, values) in &self.inner.attributes {
            all.set_item(name, PyArray1::from_slice(py, values))?;
        }
        Ok(all)
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
    fn sequence(&self, py: Python<'_>, clip: Option<&Bound<'_, PyAny>>) -> PyResult<MeshSequence> {
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
    fn sequence(&self, py: Python<'_>, clip: Option<&Bound<'_, PyAny>>) -> PyResult<MeshSequence> {
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

impl Object {
    fn clip(&self, clip: Option<&Bound<'_, PyAny>>) -> PyResult<&Clip> {
        let clips = &self.inner.clips;
        let names: Vec<&str> = clips.iter().map(|clip| clip.name()).collect();
        let index = clip.map_or(Ok(0), |clip| find_clip(&clip.str()?.to_string(), &names).map_err(exception))?;
        clips.get(index).map(|clip| &**clip).ok_or_else(|| invalid(format!("'{}' has no clips", self.inner.name)))
    }
}
