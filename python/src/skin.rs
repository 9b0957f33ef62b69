//! Skins fitted to mesh sequences.

use std::path::PathBuf;

use dermis::skin::fit::{Bones, Corrections, SkeletonKind};
use dermis::skin::{BoneModel, Fit, FitOptions};
use numpy::{PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::json;

use crate::arrays::{matrix, of_frames, of_json, of_points, of_triangles};
use crate::errors::{exception, invalid};
use crate::scene::{lines, transforms, write};
use crate::sequence::MeshSequence;
use crate::work::run;

/// Maximum rank in a search for a distortion.
const MAX_RANK: usize = 256;

/// A skin and the report of its fit.
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Skin {
    pub(crate) fit: Fit,
}

/// Fits bones, weights and corrections to one or more sequences of a mesh.
#[pyfunction]
#[pyo3(signature = (sequence, *, bones=None, error=None, tolerance=None, rank=None, rank_error=None, influences=None,
    bone_model=None, smoothness=None, refine=None, keep_rest=None, skeleton=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn fit_skin(
    py: Python<'_>,
    sequence: &Bound<'_, PyAny>,
    bones: Option<usize>,
    error: Option<f64>,
    tolerance: Option<f64>,
    rank: Option<usize>,
    rank_error: Option<f64>,
    influences: Option<usize>,
    bone_model: Option<&str>,
    smoothness: Option<f64>,
    refine: Option<usize>,
    keep_rest: Option<bool>,
    skeleton: Option<&str>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Skin> {
    let mut options = FitOptions::default();
    options.bones = match (bones, error, tolerance) {
        (None, None, None) => options.bones,
        (Some(count), None, None) => Bones::Count(count),
        (None, Some(percent), None) => Bones::Distortion(percent),
        (None, None, Some(epsilon)) => Bones::Tolerance(epsilon),
        _ => return Err(invalid("bones, error and tolerance exclude each other")),
    };
    options.corrections = match (rank, rank_error) {
        (None, None) => options.corrections,
        (Some(rank), None) => Corrections::Rank(rank),
        (max, Some(percent)) => Corrections::ForDistortion { percent, max_rank: max.unwrap_or(MAX_RANK) },
    };
    options.influences = influences.unwrap_or(options.influences);
    options.bone_model = bone_model.map_or(Ok(options.bone_model), bone_model_of)?;
    options.refine.smoothness = smoothness.unwrap_or(options.refine.smoothness);
    options.refine.max_iterations = refine.unwrap_or(options.refine.max_iterations);
    options.refine.keep_rest = keep_rest.unwrap_or(options.refine.keep_rest);
    options.skeleton = match skeleton {
        None => None,
        Some("fixed") => Some(SkeletonKind::Fixed),
        Some("free") => Some(SkeletonKind::Free),
        Some(other) => return Err(invalid(format!("skeleton: '{other}', expected 'fixed' or 'free'"))),
    };
    let sequences = if let Ok(one) = sequence.cast::<MeshSequence>() {
        vec![one.get().inner.clone()]
    } else {
        let all = sequence.try_iter()?.map(|item| Ok(item?.cast::<MeshSequence>()?.get().inner.clone()));
        all.collect::<PyResult<Vec<_>>>()?
    };
    Ok(Skin { fit: run(py, progress, |progress| dermis::fit_skin_with(&sequences, &options, progress))? })
}

fn bone_model_of(name: &str) -> PyResult<BoneModel> {
    let models = [BoneModel::Rigid, BoneModel::Scaled, BoneModel::Flexible];
    let found = models.into_iter().find(|model| model.name() == name);
    found.ok_or_else(|| invalid(format!("bone_model: '{name}', expected 'rigid', 'scaled' or 'flexible'")))
}

#[pymethods]
impl Skin {
    #[getter]
    fn bone_count(&self) -> usize {
        self.fit.skin.bone_count()
    }

    #[getter]
    fn rank(&self) -> usize {
        self.fit.skin.rank()
    }

    #[getter]
    fn rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        of_points(py, self.fit.skin.mesh().points())
    }

    #[getter]
    fn faces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        of_triangles(py, self.fit.skin.mesh().triangles())
    }

    #[getter]
    fn bones(&self) -> Vec<String> {
        self.fit.skin.rig().joints().iter().map(|joint| joint.name.clone()).collect()
    }

    #[getter]
    fn parents(&self) -> Vec<Option<usize>> {
        self.fit.skin.rig().joints().iter().map(|joint| joint.parent).collect()
    }

    #[getter]
    fn clips(&self) -> Vec<String> {
        self.fit.skin.clips().iter().map(|clip| clip.name().to_owned()).collect()
    }

    /// The weights as a matrix of points × bones: a `scipy.sparse.csr_array` if `SciPy` is installed, otherwise an
    /// array.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rig = self.fit.skin.rig();
        let (weights, bones) = (rig.weights(), rig.joints().len());
        let Ok(sparse) = py.import("scipy.sparse") else {
            let dense = PyArray1::from_vec(py, weights.to_dense(bones));
            return dense.call_method1("reshape", (weights.point_count(), bones));
        };
        let (mut starts, mut columns, mut values) = (vec![0_i32], Vec::new(), Vec::new());
        for row in weights.rows() {
            for (bone, weight) in row {
                columns.push(i32::try_from(bone).unwrap_or(i32::MAX));
                values.push(weight);
            }
            starts.push(i32::try_from(values.len()).map_err(|_| invalid("too many weights"))?);
        }
        let parts = (PyArray1::from_vec(py, values), PyArray1::from_vec(py, columns), PyArray1::from_vec(py, starts));
        let options = PyDict::new(py);
        options.set_item("shape", PyTuple::new(py, [weights.point_count(), bones])?)?;
        sparse.getattr("csr_array")?.call((parts,), Some(&options))
    }

    /// World transforms of the bones in a clip, of shape (frames, bones, 4, 4).
    #[pyo3(signature = (clip=None))]
    fn transforms<'py>(&self, py: Python<'py>, clip: Option<&str>) -> PyResult<Bound<'py, PyArray4<f64>>> {
        let index = self.clip_index(clip)?;
        transforms(py, &self.fit.skin.clips()[index])
    }

    /// World transforms of the bones in the bind pose, of shape (bones, 4, 4).
    #[getter]
    fn bind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let joints = self.fit.skin.rig().joints();
        let all: Vec<f64> = joints.iter().flat_map(|joint| matrix(&joint.bind())).collect();
        PyArray1::from_vec(py, all).reshape([joints.len(), 4, 4])
    }

    /// Shapes of the corrections, of shape (rank, points, 3).
    #[getter]
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let shapes = self.fit.skin.rig().shapes();
        let all: Vec<f32> =
            shapes.iter().flat_map(|shape| bytemuck::cast_slice::<_, f32>(&shape.offsets).iter().copied()).collect();
        if shapes.is_empty() {
            return Ok(PyArray3::zeros(py, [0, self.fit.skin.mesh().point_count(), 3], false));
        }
        of_frames(py, all, shapes.len())
    }

    /// Positions in a frame of a clip.
    fn pose<'py>(
        &self,
        py: Python<'py>,
        clip: &Bound<'py, PyAny>,
        frame: usize,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let clip = clip.str()?.to_string();
        of_points(py, &self.fit.skin.pose(clip, frame).map_err(exception)?)
    }

    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (measures, quality) = (&self.fit.measures, &self.fit.quality);
        let metrics = json!({
            "distortion_percent": measures.distortion_percent,
            "distortion_percent_by_rank": measures.distortion_percent_by_rank,
            "erms": measures.erms,
            "max_error_percent": measures.max_error_percent,
            "normal_error_rms": measures.normal_error_rms,
            "crossfade_stretch_percent": quality.crossfade_stretch_percent,
            "compression": self.fit.compression,
            "seconds": self.fit.seconds.iter().map(|(stage, seconds)| (*stage, *seconds))
                .collect::<std::collections::BTreeMap<_, _>>(),
        });
        of_json(py, &metrics)
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        lines(&self.fit.notes)
    }

    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Vec<String>> {
        write(py, &path, &self.fit, force)
    }

    fn __repr__(&self) -> String {
        let (bones, rank) = (self.fit.skin.bone_count(), self.fit.skin.rank());
        format!(
            "<dermis.Skin: {bones} bones, {rank} corrections, {:.3} % distortion>",
            self.fit.measures.distortion_percent
        )
    }
}

impl Skin {
    fn clip_index(&self, clip: Option<&str>) -> PyResult<usize> {
        let names: Vec<&str> = self.fit.skin.clips().iter().map(|clip| clip.name()).collect();
        clip.map_or(Ok(0), |clip| dermis::find_clip(clip, &names)).map_err(exception)
    }
}
