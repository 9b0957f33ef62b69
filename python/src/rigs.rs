//! Rigs: construction from arrays, their arrays, corrective shapes, and factors of flexible bones.

use std::sync::Arc;

use dermis::corrective_shapes::{ShapeOptions, corrective_shapes as shapes_of_layers};
use dermis::mesh::{
    Clip, Joint, MeshSequence as Sequence, Object as MeshObject, Rig, Scene as MeshScene, Shape, SkinWeights, TriMesh,
    Units, UpAxis,
};
use dermis::skin::export::polar_factors;
use numpy::{PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::json;

use crate::arrays::{floats, indices, matrices, matrix, numbers, of_frames, points, shape};
use crate::errors::{exception, invalid};
use crate::options::choice;
use crate::scene::{Model, Scene, scene_of};
use crate::work::run;

/// Weights as a matrix of points × joints: a `scipy.sparse.csr_array` if `SciPy` is installed, otherwise an array.
pub(crate) fn weights<'py>(py: Python<'py>, rig: &Rig) -> PyResult<Bound<'py, PyAny>> {
    let (weights, joints) = (rig.weights(), rig.joints().len());
    let Ok(sparse) = py.import("scipy.sparse") else {
        let dense = PyArray1::from_vec(py, weights.to_dense(joints));
        return dense.call_method1("reshape", (weights.point_count(), joints));
    };
    let (mut starts, mut columns, mut values) = (vec![0_i32], Vec::new(), Vec::new());
    for row in weights.rows() {
        for (joint, weight) in row {
            columns.push(i32::try_from(joint).map_err(|_| invalid("too many joints"))?);
            values.push(weight);
        }
        starts.push(i32::try_from(values.len()).map_err(|_| invalid("too many weights"))?);
    }
    let parts = (PyArray1::from_vec(py, values), PyArray1::from_vec(py, columns), PyArray1::from_vec(py, starts));
    let options = PyDict::new(py);
    options.set_item("shape", PyTuple::new(py, [weights.point_count(), joints])?)?;
    sparse.getattr("csr_array")?.call((parts,), Some(&options))
}

/// Transforms of the joints in the bind pose, of shape (joints, 4, 4).
pub(crate) fn bind<'py>(py: Python<'py>, joints: &[Joint]) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let all: Vec<f64> = joints.iter().flat_map(|joint| matrix(&joint.bind())).collect();
    PyArray1::from_vec(py, all).reshape([joints.len(), 4, 4])
}

/// Transforms of the joints in all frames of a clip, of shape (frames, joints, 4, 4).
pub(crate) fn transforms<'py>(py: Python<'py>, clip: &Clip) -> PyResult<Bound<'py, PyArray4<f64>>> {
    let frames = clip.frame_count();
    let all: Vec<f64> = (0..frames).flat_map(|frame| clip.transforms(frame)).flat_map(matrix).collect();
    PyArray1::from_vec(py, all).reshape([frames, clip.transforms(0).len(), 4, 4])
}

/// Offsets of the shapes, of shape (shapes, points, 3).
pub(crate) fn basis<'py>(py: Python<'py>, rig: &Rig) -> PyResult<Bound<'py, PyArray3<f32>>> {
    let shapes = rig.shapes();
    if shapes.is_empty() {
        return Ok(PyArray3::zeros(py, [0, rig.weights().point_count(), 3], false));
    }
    let offsets = |shape: &Shape| bytemuck::cast_slice::<_, f32>(&shape.offsets).to_vec();
    of_frames(py, shapes.iter().flat_map(offsets).collect(), shapes.len())
}

/// Weights of the shapes in all frames of a clip, of shape (frames, shapes).
pub(crate) fn coefficients<'py>(py: Python<'py>, clip: &Clip) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let frames = clip.frame_count();
    let all: Vec<f32> = (0..frames).flat_map(|frame| clip.shape_weights(frame)).copied().collect();
    let shapes = all.len() / frames.max(1);
    PyArray1::from_vec(py, all).reshape([frames, shapes])
}

#[doc = docs!("rigged_mesh")]
#[pyfunction]
#[pyo3(signature = (faces, points, *, weights, bind, transforms, parents=None, joints=None, shapes=None,
    shape_weights=None, frames=None, fps=24.0, name="mesh", clip="clip", up="y"))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn rigged_mesh(
    faces: &Bound<'_, PyAny>,
    points: &Bound<'_, PyAny>,
    weights: &Bound<'_, PyAny>,
    bind: &Bound<'_, PyAny>,
    transforms: &Bound<'_, PyAny>,
    parents: Option<Vec<Option<usize>>>,
    joints: Option<Vec<String>>,
    shapes: Option<&Bound<'_, PyAny>>,
    shape_weights: Option<&Bound<'_, PyAny>>,
    frames: Option<&Bound<'_, PyAny>>,
    fps: f64,
    name: &str,
    clip: &str,
    up: &str,
) -> PyResult<Scene> {
    let up = choice("up", up, &[("x", UpAxis::X), ("y", UpAxis::Y), ("z", UpAxis::Z)])?;
    let rest = self::points(points, "points")?;
    let mesh = Arc::new(TriMesh::new(rest, indices(faces, "faces")?).map_err(exception)?);
    let (binds, outer) = matrices(bind, "bind")?;
    let &[count] = outer.as_slice() else { return Err(shape(bind, "bind", "(joints, 4, 4)")) };
    let names = joints.unwrap_or_else(|| (0..count).map(|joint| format!("joint_{joint}")).collect());
    let parents = parents.unwrap_or_else(|| vec![None; count]);
    for (what, found) in [("joints", names.len()), ("parents", parents.len())] {
        if found != count {
            return Err(invalid(format!("{what}: {found} given, but bind has {count} joints")));
        }
    }
    let parts = names.into_iter().zip(parents).zip(binds);
    let joints: Vec<Joint> = parts.map(|((name, parent), bind)| Joint::at(name, parent, bind)).collect();
    let rig = Rig::new(&mesh, joints, given_weights(weights, mesh.point_count(), count)?, given_shapes(shapes, &mesh)?);
    let rig = rig.map_err(exception)?;
    let (moved, outer) = matrices(transforms, "transforms")?;
    if outer.len() != 2 || outer[1] != count {
        return Err(shape(transforms, "transforms", &format!("(frames, {count}, 4, 4)")));
    }
    let shape_weights = match shape_weights {
        Some(value) => numbers(value, "shape_weights")?.0.into_iter().map(|weight| weight as f32).collect(),
        None => vec![0.0; outer[0] * rig.shapes().len()],
    };
    let clip = Clip::new(&rig, clip, fps, moved, shape_weights).map_err(exception)?;
    let mut object = MeshObject::of_rig(name, Arc::clone(&mesh), rig, vec![clip]);
    if let Some(frames) = frames {
        let array = floats(frames, "frames")?;
        let array = array.cast_into::<PyArray3<f32>>().map_err(|_| shape(frames, "frames", "(frames, points, 3)"))?;
        let positions = bytemuck::cast_slice(array.readonly().as_slice()?).to_vec();
        object.sequence = Some(Sequence::new(mesh, positions, fps).map_err(exception)?.named(name));
    }
    let units = Units { metres_per_unit: None, up_axis: Some(up) };
    Ok(Scene { inner: MeshScene { objects: vec![object], units, notes: Vec::new() } })
}

/// Weights of an array of points × joints, or of a sparse matrix.
fn given_weights(value: &Bound<'_, PyAny>, points: usize, joints: usize) -> PyResult<SkinWeights> {
    let dense = if value.hasattr("toarray")? { value.call_method0("toarray")? } else { value.clone() };
    let (weights, found) = numbers(&dense, "weights")?;
    if found != [points, joints] || joints == 0 {
        return Err(shape(&dense, "weights", &format!("({points}, {joints})")));
    }
    let weights: Vec<f32> = weights.into_iter().map(|weight| weight as f32).collect();
    Ok(SkinWeights::from_dense(&weights, joints))
}

/// Shapes of an array of shape (shapes, points, 3).
fn given_shapes(value: Option<&Bound<'_, PyAny>>, mesh: &TriMesh) -> PyResult<Vec<Shape>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let array = floats(value, "shapes")?;
    let expected = format!("(shapes, {}, 3)", mesh.point_count());
    let array = array.cast_into::<PyArray3<f32>>().map_err(|_| shape(value, "shapes", &expected))?;
    let array = array.readonly();
    let offsets: &[dermis::mesh::glam::Vec3] = bytemuck::cast_slice(array.as_slice()?);
    if numpy::PyUntypedArrayMethods::shape(&*array)[1..] != [mesh.point_count(), 3] {
        return Err(shape(value, "shapes", &expected));
    }
    let parts = offsets.chunks_exact(mesh.point_count().max(1)).enumerate();
    let of = |(at, offsets): (usize, &[_])| Shape {
        name: format!("shape_{at}"),
        offsets: offsets.to_vec(),
        normal_offsets: None,
    };
    Ok(parts.map(of).collect())
}

#[doc = docs!("corrective_shapes")]
#[pyfunction]
#[pyo3(signature = (model, *, count=None, max_influences=None))]
pub(crate) fn corrective_shapes(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    count: Option<usize>,
    max_influences: Option<usize>,
) -> PyResult<Model> {
    let mut scene = scene_of(model)?;
    let defaults = ShapeOptions::default();
    let options = ShapeOptions {
        count: count.unwrap_or(defaults.count),
        max_influences: max_influences.unwrap_or(defaults.max_influences),
    };
    let layered = scene.objects.iter().position(|object| !object.deformers.is_empty());
    let object = scene.objects.get_mut(layered.unwrap_or(0)).ok_or_else(|| invalid("the scene is empty"))?;
    let shaped = run(py, None, |_| shapes_of_layers(object, &options))?;
    *object = shaped.object;
    Ok(Model { scene, metrics: json!({ "clips": shaped.clips }), notes: shaped.warnings })
}

#[doc = docs!("factor_transforms")]
#[pyfunction]
pub(crate) fn factor_transforms<'py>(
    py: Python<'py>,
    transforms: &Bound<'py, PyAny>,
) -> PyResult<[Bound<'py, PyAny>; 4]> {
    let (all, outer) = matrices(transforms, "transforms")?;
    let &[frames, bones] = outer.as_slice() else {
        return Err(shape(transforms, "transforms", "(frames, bones, 4, 4)"));
    };
    let factors: Vec<_> = py.detach(|| {
        let of_bone = |bone: usize| all.iter().skip(bone).step_by(bones.max(1)).copied().collect();
        (0..bones).flat_map(|bone| polar_factors(&[of_bone(bone)])).collect()
    });
    let mut parts = [const { Vec::new() }; 4];
    for factors in (0..frames).flat_map(|frame| factors.iter().map(move |bone| bone[frame])) {
        parts[0].extend(factors.translation.to_array());
        parts[1].extend([factors.r.w, factors.r.x, factors.r.y, factors.r.z]);
        parts[2].extend([factors.v.w, factors.v.x, factors.v.y, factors.v.z]);
        parts[3].extend(factors.sigma.to_array());
    }
    let array = |numbers: Vec<f64>, width: usize| {
        Ok::<_, PyErr>(PyArray1::from_vec(py, numbers).reshape([frames, bones, width])?.into_any())
    };
    let [translation, rotation, axes, scale] = parts;
    Ok([array(translation, 3)?, array(rotation, 4)?, array(axes, 4)?, array(scale, 3)?])
}
