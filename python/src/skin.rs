//! Skins fitted to mesh sequences.

use std::path::PathBuf;

use dermis::mesh::MeshSequence as Sequence;
use dermis::skin::fit::{Bones, Corrections, SkeletonKind};
use dermis::skin::{Animation, Fit, FitOptions, RigOptions};
use dermis::{FitRigOptions, ToScene};
use numpy::{PyArray2, PyArray3, PyArray4};
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::{of_json, of_points, view_points, view_triangles};
use crate::errors::{exception, invalid};
use crate::options::{BONE_MODELS, chosen};
use crate::rigs;
use crate::scene::{lines, scene_of, write};
use crate::sequence::MeshSequence;
use crate::work::run;

/// Maximum rank in a search for a distortion.
const MAX_RANK: usize = 256;

#[doc = docs!("Skin")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Skin {
    pub(crate) fit: Fit,
    sequences: Vec<Sequence>,
}

#[doc = docs!("fit_skin")]
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
    options.corrections = corrections(rank, rank_error, options.corrections);
    options.influences = influences.unwrap_or(options.influences);
    options.bone_model = chosen("bone_model", bone_model, &BONE_MODELS, options.bone_model)?;
    options.refine.smoothness = smoothness.unwrap_or(options.refine.smoothness);
    options.refine.max_iterations = refine.unwrap_or(options.refine.max_iterations);
    options.refine.keep_rest = keep_rest.unwrap_or(options.refine.keep_rest);
    let kinds = [("fixed", Some(SkeletonKind::Fixed)), ("free", Some(SkeletonKind::Free))];
    options.skeleton = chosen("skeleton", skeleton, &kinds, options.skeleton)?;
    let sequences = sequences_of(sequence)?;
    let fit = run(py, progress, |progress| dermis::fit_skin_with(&sequences, &options, progress))?;
    Ok(Skin { fit, sequences })
}

#[doc = docs!("fit_rig")]
#[pyfunction]
#[pyo3(signature = (rig, sequence, *, helpers=None, rotations_only=None, lock_weights=None, clips=None, rank=None,
    rank_error=None, influences=None, bone_model=None, smoothness=None, refine=None, keep_rest=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn fit_rig(
    py: Python<'_>,
    rig: &Bound<'_, PyAny>,
    sequence: &Bound<'_, PyAny>,
    helpers: Option<usize>,
    rotations_only: Option<bool>,
    lock_weights: Option<bool>,
    clips: Option<Vec<String>>,
    rank: Option<usize>,
    rank_error: Option<f64>,
    influences: Option<usize>,
    bone_model: Option<&str>,
    smoothness: Option<f64>,
    refine: Option<usize>,
    keep_rest: Option<bool>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Skin> {
    let scene = scene_of(rig)?;
    let sequences = sequences_of(sequence)?;
    let mut fit = FitOptions::default();
    fit.corrections = corrections(rank, rank_error, fit.corrections);
    fit.influences = influences.unwrap_or(fit.influences);
    fit.bone_model = chosen("bone_model", bone_model, &BONE_MODELS, fit.bone_model)?;
    fit.refine.smoothness = smoothness.unwrap_or(fit.refine.smoothness);
    fit.refine.max_iterations = refine.unwrap_or(fit.refine.max_iterations);
    fit.refine.keep_rest = keep_rest.unwrap_or(fit.refine.keep_rest);
    let defaults = RigOptions::default();
    let rig = RigOptions {
        helpers: helpers.unwrap_or(defaults.helpers),
        rotations_only: rotations_only.unwrap_or(defaults.rotations_only),
        lock_weights: lock_weights.unwrap_or(defaults.lock_weights),
    };
    let options = FitRigOptions { fit, rig, clips: clips.unwrap_or_default() };
    let fit = run(py, progress, |progress| {
        let object = dermis::fit_rig::rigged_object(&scene)?;
        let animation =
            |sequence: &Sequence| Animation { name: sequence.name().to_owned(), sequence: sequence.clone() };
        let animations: Vec<Animation> = sequences.iter().map(animation).collect();
        dermis::fit_rig_with(&object, (sequences[0].mesh(), &animations), &options, progress)
    })?;
    Ok(Skin { fit, sequences })
}

/// One sequence, or all sequences of an iterable.
fn sequences_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<Sequence>> {
    if let Ok(one) = value.cast::<MeshSequence>() {
        return Ok(vec![one.get().inner.clone()]);
    }
    let all = value.try_iter()?.map(|item| Ok(item?.cast::<MeshSequence>()?.get().inner.clone()));
    let all = all.collect::<PyResult<Vec<_>>>()?;
    if all.is_empty() { Err(invalid("sequence: at least one MeshSequence is required")) } else { Ok(all) }
}

fn corrections(rank: Option<usize>, rank_error: Option<f64>, default: Corrections) -> Corrections {
    match (rank, rank_error) {
        (None, None) => default,
        (Some(rank), None) => Corrections::Rank(rank),
        (max, Some(percent)) => Corrections::ForDistortion { percent, max_rank: max.unwrap_or(MAX_RANK) },
    }
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
    fn rest<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        view_points(this.get().fit.skin.mesh().points(), this.clone().into_any())
    }

    #[getter]
    fn faces<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        view_triangles(this.get().fit.skin.mesh().triangles(), this.clone().into_any())
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

    #[doc = docs!("Skin.weights")]
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rigs::weights(py, self.fit.skin.rig())
    }

    #[doc = docs!("Skin.transforms")]
    #[pyo3(signature = (clip=None))]
    fn transforms<'py>(
        &self,
        py: Python<'py>,
        clip: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray4<f64>>> {
        rigs::transforms(py, &self.fit.skin.clips()[self.clip_index(clip)?])
    }

    #[doc = docs!("Skin.bind")]
    #[getter]
    fn bind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        rigs::bind(py, self.fit.skin.rig().joints())
    }

    #[doc = docs!("Skin.basis")]
    #[getter]
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        rigs::basis(py, self.fit.skin.rig())
    }

    #[doc = docs!("Skin.coefficients")]
    #[pyo3(signature = (clip=None))]
    fn coefficients<'py>(
        &self,
        py: Python<'py>,
        clip: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        rigs::coefficients(py, &self.fit.skin.clips()[self.clip_index(clip)?])
    }

    #[doc = docs!("Skin.plot")]
    #[pyo3(signature = (clip=None))]
    fn plot<'py>(this: &Bound<'py, Self>, clip: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let index = this.get().clip_index(clip)?;
        let sequences = &this.get().sequences;
        let inner = sequences.get(index).ok_or_else(|| invalid("the clip was not fitted to a sequence"))?.clone();
        let name = this.get().fit.skin.clips()[index].name();
        py.import("dermis._plot")?.getattr("plot_errors")?.call1((this, MeshSequence { inner }, name))
    }

    #[doc = docs!("Skin.pose")]
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
            "bones": self.fit.skin.bone_count(),
            "rank": self.fit.skin.rank(),
            "influences": self.fit.skin.rig().weights().max_influences(),
            "distortion_percent": measures.distortion_percent,
            "distortion_percent_by_rank": measures.distortion_percent_by_rank,
            "erms": measures.erms,
            "max_error_percent": measures.max_error_percent,
            "normal_error_rms": measures.normal_error_rms,
            "crossfade_stretch_percent": quality.crossfade_stretch_percent,
            "compression": self.fit.compression,
            "near_rigid_fraction": self.fit.near_rigid_fraction,
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
    /// Index of a clip given by name or index; of the first one by default.
    fn clip_index(&self, clip: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let names: Vec<&str> = self.fit.skin.clips().iter().map(|clip| clip.name()).collect();
        let Some(clip) = clip else { return Ok(0) };
        dermis::find_clip(&clip.str()?.to_string(), &names).map_err(exception)
    }

    /// The skin as a scene.
    pub(crate) fn scene(&self) -> dermis::mesh::Scene {
        self.fit.to_scene()
    }
}
