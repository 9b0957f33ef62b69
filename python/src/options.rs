//! Named values of options, and the defaults of all options, read from the library.

use dermis::active::volume::VolumeOptions;
use dermis::active::wrinkle::{ClothOptions, Folds};
use dermis::bake_light::{BakeLightOptions, Ground, LightMethod};
use dermis::build_body::BuildBodyOptions;
use dermis::corrective_shapes::ShapeOptions;
use dermis::fit_tissue::SampleScansOptions;
use dermis::lod::LodOptions;
use dermis::pack::{PackBudget, PackOptions};
use dermis::render::RenderOptions;
use dermis::skin::RigOptions;
use dermis::skin::envelope::Underlying;
use dermis::skin::fit::{Bones, Corrections};
use dermis::skin::{BoneModel, FitOptions};
use dermis::tissue::fit::{BeamOptions, Method, SubjectKind, SubjectOptions};
use dermis::tissue::layered::SimulateOptions;
use dermis::train_envelope::EnvelopeOptions;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::arrays::of_json;
use crate::errors::invalid;

/// Bone models by name.
pub(crate) const BONE_MODELS: [(&str, BoneModel); 3] =
    [("rigid", BoneModel::Rigid), ("scaled", BoneModel::Scaled), ("flexible", BoneModel::Flexible)];
/// Volume modes by name.
pub(crate) const MODES: [(&str, dermis::active::volume::Mode); 3] = [
    ("exact", dermis::active::volume::Mode::Exact),
    ("fast", dermis::active::volume::Mode::Fast),
    ("global", dermis::active::volume::Mode::Global),
];
/// Methods for folds by name.
pub(crate) const FOLDS: [(&str, Folds); 2] = [("buckled", Folds::Buckled), ("curves", Folds::Curves)];
/// Reductions of light by name.
pub(crate) const LIGHT_METHODS: [(&str, LightMethod); 2] = [("svd", LightMethod::Svd), ("nmf", LightMethod::Nmf)];
/// Builds of generated subjects by name.
pub(crate) const SUBJECTS: [(&str, SubjectKind); 3] =
    [("heavy", SubjectKind::Heavy), ("average", SubjectKind::Average), ("slim", SubjectKind::Slim)];
/// Deformers that multi-weights refine, by name.
pub(crate) const UNDERLYING: [(&str, Underlying); 4] =
    [("auto", Underlying::Auto), ("rigid", Underlying::Rigid), ("rig", Underlying::Rig), ("best", Underlying::Best)];
/// Methods of tissue fits by name.
pub(crate) const METHODS: [(&str, Method); 2] = [("adjoint", Method::Adjoint), ("paper", Method::Paper)];

/// Value of the option `option` with the name `wanted`.
pub(crate) fn choice<T: Copy>(option: &str, wanted: &str, values: &[(&str, T)]) -> PyResult<T> {
    let found = values.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<String> = values.iter().map(|(name, _)| format!("'{name}'")).collect();
        invalid(format!("{option}: '{wanted}', expected {}", names.join(", ")))
    })
}

/// Value of an option that is not given by default.
pub(crate) fn chosen<T: Copy>(option: &str, wanted: Option<&str>, values: &[(&str, T)], default: T) -> PyResult<T> {
    wanted.map_or(Ok(default), |wanted| choice(option, wanted, values))
}

fn name_of<T: PartialEq>(values: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    values.iter().find(|(_, known)| known == value).map(|(name, _)| *name)
}

#[doc = docs!("defaults")]
#[pyfunction]
pub(crate) fn defaults(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    of_json(py, &all())
}

fn all() -> Value {
    [skins(), layers(), bodies(), assets()].into_iter().reduce(|all, more| with(&all, more)).unwrap_or_default()
}

/// The entries of both objects.
fn with(first: &Value, second: Value) -> Value {
    let mut all = first.clone();
    if let (Some(all), Value::Object(second)) = (all.as_object_mut(), second) {
        all.extend(second);
    }
    all
}

fn skins() -> Value {
    let (fit, rig) = (FitOptions::default(), RigOptions::default());
    let rank = match fit.corrections {
        Corrections::Rank(rank) => Some(rank),
        Corrections::ForDistortion { .. } => None,
    };
    let shared = json!({
        "rank": rank,
        "influences": fit.influences,
        "bone_model": name_of(&BONE_MODELS, &fit.bone_model),
        "smoothness": fit.refine.smoothness,
        "refine": fit.refine.max_iterations,
        "keep_rest": fit.refine.keep_rest,
    });
    let tolerance = match fit.bones {
        Bones::Tolerance(tolerance) => Some(tolerance),
        _ => None,
    };
    let given = json!({
        "helpers": rig.helpers,
        "rotations_only": rig.rotations_only,
        "lock_weights": rig.lock_weights,
    });
    json!({ "fit_skin": with(&shared, json!({ "tolerance": tolerance })), "fit_rig": with(&shared, given) })
}

fn layers() -> Value {
    let (envelope, volume) = (EnvelopeOptions::default(), VolumeOptions::default());
    let ClothOptions { layer, folds, .. } = ClothOptions::default();
    json!({
        "train_envelope": {
            "retained_variance": envelope.train.retained_variance,
            "influences": envelope.train.linear_influences,
            "underlying": name_of(&UNDERLYING, &envelope.train.underlying),
            "fade": envelope.fade,
        },
        "corrective_shapes": { "count": ShapeOptions::default().count },
        "keep_volume": { "mode": name_of(&MODES, &volume.mode), "cap": volume.cap, "target": volume.target.at(0.0) },
        "wrinkle": {
            "folds": name_of(&FOLDS, &folds),
            "threshold": short(layer.threshold),
            "fade_frames": short(layer.fade_frames),
            "smoothing": short(layer.smoothing),
            "max_length": short(layer.max_length),
        },
    })
}

fn bodies() -> Value {
    let (simulate, build) = (SimulateOptions::default(), BuildBodyOptions::default().build);
    let (subject, scans, beam) = (SubjectOptions::default(), SampleScansOptions::default(), BeamOptions::default());
    json!({
        "build_body": {
            "poisson_ratio": short(build.poisson_ratio),
            "density": short(build.density_kg_per_m3),
            "damping": short(build.damping_rate_per_s),
        },
        "simulate": {
            "settle": short(simulate.settle_s),
            "tolerance": simulate.body.tolerance,
            "all_elements": simulate.body.all_elements,
        },
        "fit_tissue": {
            "method": name_of(&METHODS, &subject.method),
            "points": subject.representative_points,
            "frames": subject.max_frames,
            "symmetric": subject.symmetric,
        },
        "sample_scans": { "subject": name_of(&SUBJECTS, &scans.subject), "seed": scans.seed },
        "fit_beam": {
            "poisson_ratio": beam.poisson_ratio,
            "substeps": beam.substeps,
            "iterations": beam.max_iterations,
        },
    })
}

fn assets() -> Value {
    let (levels, pack) = (LodOptions::default(), PackOptions::default());
    let (light, picture) = (BakeLightOptions::default(), RenderOptions::default());
    let error = match pack.budget {
        PackBudget::Error(percent) => Some(percent),
        PackBudget::Size(_) => None,
    };
    let ground = match light.ground {
        Ground::Lowest => json!("lowest"),
        Ground::At(height) => json!(height),
        Ground::None => json!("none"),
    };
    json!({
        "make_levels": { "ratios": levels.ratios, "max_poses": levels.max_poses },
        "pack": { "error": error, "shape_normals": pack.shape_normals, "keep_order": pack.keep_order },
        "bake_light": {
            "order": light.order,
            "rays": light.rays,
            "rank": light.rank,
            "method": name_of(&LIGHT_METHODS, &light.method),
            "ground": ground,
            "sun": light.sun.to_array(),
        },
        "render": {
            "width": picture.width,
            "height": picture.height,
            "floor": picture.floor,
            "wireframe": picture.wireframe,
            "skeleton": picture.skeleton,
            "same_scale": picture.same_scale,
        },
    })
}

/// A single-precision number with its shortest decimal digits, which a conversion to double precision would not keep.
fn short(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
