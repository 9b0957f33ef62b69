//! Summary of `dermis envelope`: a model and its errors.

use dermis::mesh::Object;
use dermis::skin::envelope::{PoseValidation, Validation};
use dermis::train_envelope::{Envelope, multi_weights, underlying_name};
use serde::Serialize;

use super::curve::CurveFacts;
use crate::job::Facts;
use crate::numbers::{counted, measured, short};
use crate::text::Text;

/// Number of worst poses and points that are listed.
const NAMED: usize = 5;

/// Errors of a model, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    model: ModelFacts,
    poses: usize,
    rms_error: f64,
    max_error: f64,
    /// Error of the underlying linear skin.
    linear_rms_error: f64,
    linear_max_error: f64,
    pose_errors: Vec<PoseFacts>,
    /// Names of the worst poses, largest error first.
    worst_poses: Vec<String>,
    worst_points: Vec<usize>,
    /// RMS over the poses for each point.
    point_rms_errors: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct PoseFacts {
    name: String,
    rms_error: f64,
    max_error: f64,
    worst_point: usize,
    linear_rms_error: f64,
    /// Angle by which a joint exceeds the trained rotations; 0 within them.
    range_distance_degrees: f64,
}

/// Facts about the model itself.
#[derive(Debug, Default, Serialize)]
pub(super) struct ModelFacts {
    rig: Option<String>,
    model: Option<String>,
    points: usize,
    joints: usize,
    /// Null if the model is the linear skin alone.
    smoothness: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothness_curve: Option<CurveFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bones_per_point: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    half_rms_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    half_max_error: Option<f64>,
    /// Deformer that is refined.
    #[serde(skip_serializing_if = "Option::is_none")]
    underlying: Option<String>,
    /// Errors of the rig's own linear skin.
    #[serde(skip_serializing_if = "Option::is_none")]
    rig_rms_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rig_max_error: Option<f64>,
    /// RMS error of held-out poses for each compared underlying deformer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    underlying_errors: Vec<(String, f64)>,
}

impl ModelFacts {
    /// Facts of a trained model.
    pub(super) fn trained(rig: &str, envelope: &Envelope) -> Self {
        let Envelope { trained, half_error: half, .. } = envelope;
        Self {
            rig: Some(rig.to_owned()),
            smoothness: Some(trained.smoothness).filter(|smoothness| smoothness.is_finite()),
            smoothness_curve: trained.curve.as_ref().map(CurveFacts::of),
            bones_per_point: Some(trained.mean_bones),
            half_rms_error: half.map(|half| half.rms),
            half_max_error: half.map(|half| half.max),
            underlying: Some(underlying_name(trained.underlying).to_owned()),
            rig_rms_error: envelope.rig_error.map(|errors| errors[0]),
            rig_max_error: envelope.rig_error.map(|errors| errors[1]),
            underlying_errors: trained
                .underlying_errors
                .iter()
                .map(|(u, e)| (underlying_name(*u).to_owned(), *e))
                .collect(),
            ..Self::of_size(envelope.model())
        }
    }

    /// Facts of a model that was read from a file.
    pub(super) fn stored(model: &str, rig: Option<&str>, object: &Object) -> Self {
        let smoothness = multi_weights(object).ok().and_then(|layer| layer.record.get("smoothness")?.as_f64());
        let (model, rig) = (Some(model.to_owned()), rig.map(ToOwned::to_owned));
        Self { rig, model, smoothness, ..Self::of_size(object) }
    }

    fn of_size(object: &Object) -> Self {
        let joints = object.rig.as_ref().map_or(0, |rig| rig.joints().len());
        Self { points: object.mesh.point_count(), joints, ..Self::default() }
    }
}

impl Summary {
    pub(super) fn new(model: ModelFacts, poses: usize, validation: &Validation) -> Self {
        let pose = |pose: &PoseValidation| PoseFacts {
            name: pose.name.clone(),
            rms_error: pose.rms_error,
            max_error: pose.max_error,
            worst_point: pose.worst_point,
            linear_rms_error: pose.linear_rms_error,
            range_distance_degrees: pose.range_distance_degrees,
        };
        let worst = validation.worst_poses();
        Self {
            model,
            poses,
            rms_error: validation.rms_error,
            max_error: validation.max_error,
            linear_rms_error: validation.linear_rms_error,
            linear_max_error: validation.linear_max_error,
            pose_errors: validation.poses.iter().map(pose).collect(),
            worst_poses: worst.iter().take(NAMED).map(|&pose| validation.poses[pose].name.clone()).collect(),
            worst_points: validation.worst_points().into_iter().take(NAMED).collect(),
            point_rms_errors: validation.points.clone(),
        }
    }

    fn worst(&self) -> String {
        let error = |name: &String| {
            let pose = self.pose_errors.iter().find(|pose| pose.name == *name);
            format!("{name} ({})", measured(pose.map_or(0.0, |pose| pose.rms_error)))
        };
        self.worst_poses.iter().map(error).collect::<Vec<_>>().join(", ")
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let model = &self.model;
        let title = model.model.as_ref().or(model.rig.as_ref()).cloned().unwrap_or_default();
        let (points, joints) = (counted(model.points, "point", "points"), counted(model.joints, "joint", "joints"));
        text.title(&title, format!("{points}, {joints}, {}", counted(self.poses, "pose", "poses")));
        if let Some(bones) = model.bones_per_point {
            text.row("influence", format!("{bones:.1} bones per point"));
        }
        let errors = |rms: f64, max: f64| format!("{} RMS, {} max", measured(rms), measured(max));
        text.row("error", errors(self.rms_error, self.max_error));
        text.row("linear skin", errors(self.linear_rms_error, self.linear_max_error));
        if let (Some(rms), Some(max)) = (model.rig_rms_error, model.rig_max_error) {
            text.row("rig skin", errors(rms, max));
        }
        if let Some(underlying) = &model.underlying {
            let held = |(name, error): &(String, f64)| format!("{name} {}", measured(*error));
            let compared: Vec<String> = model.underlying_errors.iter().map(held).collect();
            let compared =
                if compared.is_empty() { String::new() } else { format!(" (held-out error: {})", compared.join(", ")) };
            text.row("underlying", format!("{underlying}{compared}"));
        }
        let beyond = self.pose_errors.iter().map(|pose| pose.range_distance_degrees).fold(0.0, f64::max);
        if beyond > 0.0 {
            text.row("range", format!("up to {beyond:.1}° outside the trained joint rotations"));
        }
        if let (Some(rms), Some(max)) = (model.half_rms_error, model.half_max_error) {
            text.row("half precision", format!("error {}", errors(rms, max)));
        }
        text.row("worst poses", self.worst());
        text.row("worst points", self.worst_points.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        text.row("smoothness", model.smoothness.map_or("∞ (linear skin only)".to_owned(), short));
        if let Some(curve) = &model.smoothness_curve {
            curve.write(model.smoothness, text);
        }
    }
}
