//! Mesh sequences.

#![allow(unsafe_code, reason = "the frames of an array are read without a copy; nothing else here is unsafe")]

use std::path::PathBuf;
use std::sync::Arc;

use dermis::mesh::glam::Vec3;
use dermis::mesh::{FrameSource, MeshSequence as Sequence, SequenceError, TriMesh};
use numpy::{PyArray2, PyArray3, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::arrays::{
    floats, indices, of_frames, of_points, points, shape, unshared, view_frames, view_points, view_triangles,
};
use crate::errors::exception;
use crate::scene::write;
use crate::work::run;

#[doc = docs!("MeshSequence")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct MeshSequence {
    pub(crate) inner: Sequence,
}

/// Frames of an array, which is kept alive and read-only.
struct ArrayFrames {
    array: Py<PyAny>,
    positions: *const Vec3,
    frame_count: usize,
    point_count: usize,
}

// SAFETY: the memory belongs to `array`, which is kept alive and read-only; it is never written through the pointer.
unsafe impl Send for ArrayFrames {}
// SAFETY: as above; shared reads of constant memory are sound.
unsafe impl Sync for ArrayFrames {}

impl std::fmt::Debug for ArrayFrames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrayFrames").field("array", &self.array).finish_non_exhaustive()
    }
}

impl ArrayFrames {
    fn all(&self) -> &[Vec3] {
        // SAFETY: `new` checked the number of elements; `Vec3` is three floats without padding.
        unsafe { std::slice::from_raw_parts(self.positions, self.frame_count * self.point_count) }
    }
}

impl FrameSource for ArrayFrames {
    fn frame_count(&self) -> usize {
        self.frame_count
    }

    fn point_count(&self) -> usize {
        self.point_count
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        out.copy_from_slice(&self.all()[frame * self.point_count..][..self.point_count]);
        Ok(())
    }

    fn as_slice(&self) -> Option<&[Vec3]> {
        Some(self.all())
    }
}

#[pymethods]
impl MeshSequence {
    #[new]
    #[pyo3(signature = (faces, frames, rest=None, fps=24.0, name="sequence"))]
    fn new(
        faces: &Bound<'_, PyAny>,
        frames: &Bound<'_, PyAny>,
        rest: Option<&Bound<'_, PyAny>>,
        fps: f64,
        name: &str,
    ) -> PyResult<Self> {
        let triangles = indices(faces, "faces")?;
        let expected = "(frames, points, 3)";
        let array = unshared(floats(frames, "frames")?)?;
        let array = array.cast_into::<PyArray3<f32>>().map_err(|_| shape(frames, "frames", expected))?;
        let &[frame_count, point_count, 3] = array.shape() else { return Err(shape(frames, "frames", expected)) };
        if frame_count == 0 {
            return Err(exception(SequenceError::NoFrames));
        }
        let source = {
            let view = array.readonly();
            let positions: &[Vec3] = bytemuck::cast_slice(view.as_slice()?);
            if let Some(at) = positions.iter().position(|point| !point.is_finite()) {
                let (frame, point, position) = (at / point_count, at % point_count, positions[at]);
                return Err(exception(SequenceError::NotFinite { frame, point, position }));
            }
            let array = array.clone().into_any().unbind();
            // Only arrays that are accepted become read-only.
            view.call_method1("setflags", (false,))?;
            ArrayFrames { array, positions: positions.as_ptr(), frame_count, point_count }
        };
        let rest = match rest {
            Some(rest) => points(rest, "rest")?,
            None => source.all().get(..point_count).unwrap_or_default().to_vec(),
        };
        let mesh = TriMesh::new(rest, triangles).map_err(exception)?;
        let inner = Sequence::from_source(Arc::new(mesh), Arc::new(source), fps).map_err(exception)?;
        Ok(Self { inner: inner.named(name) })
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn fps(&self) -> f64 {
        self.inner.frame_rate_hz()
    }

    #[getter]
    fn faces<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        view_triangles(this.get().inner.mesh().triangles(), this.clone().into_any())
    }

    #[getter]
    fn rest<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        view_points(this.get().inner.mesh().points(), this.clone().into_any())
    }

    #[doc = docs!("MeshSequence.frames")]
    #[getter]
    fn frames<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let inner = &this.get().inner;
        if let Some(positions) = inner.positions() {
            return view_frames(positions, inner.frame_count(), this.clone().into_any());
        }
        let loaded = run(this.py(), None, |_| Ok(inner.load()?))?;
        let positions = loaded.positions().unwrap_or_default();
        of_frames(this.py(), bytemuck::cast_slice(positions).to_vec(), loaded.frame_count())
    }

    fn __len__(&self) -> usize {
        self.inner.frame_count()
    }

    fn __getitem__<'py>(this: &Bound<'py, Self>, frame: isize) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let inner = &this.get().inner;
        let (count, points) = (inner.frame_count(), inner.point_count());
        let index = if frame < 0 { frame.checked_add_unsigned(count) } else { Some(frame) };
        let index = index.and_then(|index| usize::try_from(index).ok()).filter(|&index| index < count);
        let index = index.ok_or_else(|| PyIndexError::new_err(format!("frame {frame} of {count} frames")))?;
        if let Some(positions) = inner.positions() {
            return view_points(&positions[index * points..][..points], this.clone().into_any());
        }
        of_points(this.py(), &run(this.py(), None, |_| Ok(inner.frame(index)?.into_owned()))?)
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.inner, force)
    }

    fn __repr__(&self) -> String {
        let (frames, points, fps) = (self.inner.frame_count(), self.inner.point_count(), self.inner.frame_rate_hz());
        format!("<dermis.MeshSequence '{}': {frames} frames of {points} points, {fps} fps>", self.inner.name())
    }
}
