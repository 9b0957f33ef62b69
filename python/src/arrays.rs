//! Conversion of `NumPy` arrays. Results are views of the memory of the object that returns them if it has their
//! layout: read-only arrays that keep the object alive.

#![allow(unsafe_code, reason = "arrays that share the memory of their owner")]

use dermis::mesh::glam::{DAffine3, DMat4, Vec3};
use numpy::ndarray::{ArrayView, Dimension, IntoDimension};
use numpy::{
    Element, PyArray, PyArray1, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::invalid;

/// Array of 32-bit floats in C order: `value` itself if it is already one, otherwise a converted copy.
pub(crate) fn floats<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    converted(value, name, "float32", "fiu")
}

/// `array` itself, or a copy if it is a view of memory that stays writable through another array.
pub(crate) fn unshared(array: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let mut base = array.getattr("base")?;
    while !base.is_none() {
        // Memory of another kind, such as a mapped file or a tensor, is as writable as the array.
        let is_array = base.is_instance_of::<PyUntypedArray>();
        let owner = if is_array { &base } else { &array };
        if owner.getattr("flags")?.getattr("writeable")?.is_truthy()? {
            return array.call_method0("copy");
        }
        if !is_array {
            break;
        }
        base = base.getattr("base")?;
    }
    Ok(array)
}

/// Array of 32-bit indices in C order.
pub(crate) fn indices(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<[u32; 3]>> {
    let array = converted(value, name, "int64", "iu")?;
    let array = array.cast_into::<PyArray2<i64>>().map_err(|_| shape(value, name, "(n, 3)"))?;
    let array = array.readonly();
    if array.shape()[1] != 3 {
        return Err(shape(value, name, "(n, 3)"));
    }
    let index = |&index: &i64| u32::try_from(index).map_err(|_| invalid(format!("{name}: invalid index {index}")));
    let all: Vec<u32> = array.as_slice()?.iter().map(index).collect::<PyResult<_>>()?;
    Ok(all.as_chunks::<3>().0.to_vec())
}

/// Points of an array of shape (n, 3).
pub(crate) fn points(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Vec3>> {
    let array = floats(value, name)?;
    let array = array.cast_into::<PyArray2<f32>>().map_err(|_| shape(value, name, "(n, 3)"))?;
    let array = array.readonly();
    if array.shape()[1] != 3 {
        return Err(shape(value, name, "(n, 3)"));
    }
    Ok(bytemuck::cast_slice(array.as_slice()?).to_vec())
}

/// Exception for an array of another shape.
pub(crate) fn shape(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let found = value.getattr("shape").map_or_else(|_| "not an array".to_owned(), |shape| format!("shape {shape}"));
    invalid(format!("{name}: {found}, expected {expected}"))
}

fn converted<'py>(value: &Bound<'py, PyAny>, name: &str, dtype: &str, kinds: &str) -> PyResult<Bound<'py, PyAny>> {
    let numpy = value.py().import(intern!(value.py(), "numpy"))?;
    let array = numpy.call_method1("asarray", (value,))?;
    let found = array.cast::<PyUntypedArray>()?.dtype();
    let kind: String = found.getattr("kind")?.extract()?;
    if !kinds.contains(&kind) {
        return Err(PyTypeError::new_err(format!("{name}: dtype {found}, expected {dtype}")));
    }
    let options = PyDict::new(value.py());
    options.set_item("dtype", dtype)?;
    numpy.call_method("ascontiguousarray", (array,), Some(&options))
}

/// Numbers of an array of 64-bit floats, and its shape.
pub(crate) fn numbers(value: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<f64>, Vec<usize>)> {
    let array = converted(value, name, "float64", "fiu")?;
    let array = array.cast_into::<PyArrayDyn<f64>>().map_err(|_| shape(value, name, "an array of numbers"))?;
    Ok((array.readonly().as_slice()?.to_vec(), array.shape().to_vec()))
}

/// Affine transforms of an array of shape (…, 4, 4), and the shape before the matrices.
pub(crate) fn matrices(value: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<DAffine3>, Vec<usize>)> {
    let (numbers, found) = numbers(value, name)?;
    let Some(outer) = found.strip_suffix(&[4, 4]) else { return Err(shape(value, name, "(…, 4, 4)")) };
    let rows = numbers.as_chunks::<16>().0.iter();
    if rows.clone().any(|rows| rows[12..] != [0.0, 0.0, 0.0, 1.0]) {
        return Err(invalid(format!("{name}: the last row of a matrix is not 0, 0, 0, 1")));
    }
    let transforms = rows.map(|rows| DAffine3::from_mat4(DMat4::from_cols_array(rows).transpose())).collect();
    Ok((transforms, outer.to_vec()))
}

/// Read-only array of `values`, which belong to `owner`.
fn view<'py, T: Element, D: Dimension>(
    values: &[T],
    shape: impl IntoDimension<Dim = D>,
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray<T, D>>> {
    let values = ArrayView::from_shape(shape.into_dimension(), values).map_err(|error| invalid(error.to_string()))?;
    // SAFETY: callers pass values of a frozen object; the array keeps `owner`, and thereby the memory, alive.
    let array = unsafe { PyArray::borrow_from_array(&values, owner) };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

/// View of shape (n, 3) of the points of `owner`.
pub(crate) fn view_points<'py>(points: &[Vec3], owner: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f32>>> {
    view(bytemuck::cast_slice(points), [points.len(), 3], owner)
}

/// View of shape (frames, n, 3) of the positions of `owner`.
pub(crate) fn view_frames<'py>(
    positions: &[Vec3],
    frames: usize,
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray3<f32>>> {
    let points = positions.len() / frames.max(1);
    view(bytemuck::cast_slice(positions), [frames, points, 3], owner)
}

/// View of shape (n, 3) of the triangles of `owner`.
pub(crate) fn view_triangles<'py>(
    triangles: &[[u32; 3]],
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    view(triangles.as_flattened(), [triangles.len(), 3], owner)
}

/// Array of shape (n, 3).
pub(crate) fn of_points<'py>(py: Python<'py>, points: &[Vec3]) -> PyResult<Bound<'py, PyArray2<f32>>> {
    PyArray1::from_slice(py, bytemuck::cast_slice(points)).reshape([points.len(), 3])
}

/// Array of shape (frames, n, 3).
pub(crate) fn of_frames(py: Python<'_>, positions: Vec<f32>, frames: usize) -> PyResult<Bound<'_, PyArray3<f32>>> {
    let points = positions.len() / 3 / frames.max(1);
    PyArray1::from_vec(py, positions).reshape([frames, points, 3])
}

/// Rows of 4 × 4 matrices.
pub(crate) fn matrix(transform: &DAffine3) -> [f64; 16] {
    let columns = dermis::mesh::glam::DMat4::from(*transform);
    columns.transpose().to_cols_array()
}

/// Python value of a JSON value.
pub(crate) fn of_json<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    let text = PyString::new(py, &value.to_string());
    py.import(intern!(py, "json"))?.call_method1("loads", (text,))
}
