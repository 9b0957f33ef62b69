//! What `dermis envelope` says about a model and its errors.

use dermis::io::Written;
use dermis::mesh::{Note, Object};
use dermis::skin::envelope::{Curve, Validation};
use dermis::train_envelope::{Envelope, multi_weights};
use serde::Serialize;
use serde_json::{Map, Value};

use super::args::TrainArgs;
use crate::args::{Format, Shared};
use crate::notes::NoteFacts;
use crate::numbers::{bytes, counted, measured, seconds, short};
use crate::report::Report;
use crate::terminal::{self, Paint};

/// How many of the worst are named.
const NAMED: usize = 5;
/// How wide the bars of the curve are at most.
const BAR: f64 = 40.0;

/// What both actions know.
pub(super) struct Facts<'a> {
    pub(super) poses: usize,
    pub(super) validation: &'a Validation,
    pub(super) notes: &'a [Note],
    pub(super) seconds: &'a [(&'static str, f64)],
}

/// Errors of a model, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    pub(super) model: ModelFacts,
    poses: usize,
    rms_error: f64,
    max_error: f64,
    /// Of the linear skin below.
    linear_rms_error: f64,
    linear_max_error: f64,
    pose_errors: Vec<PoseFacts>,
    /// The names of the worst poses, worst first.
    worst_poses: Vec<String>,
    worst_points: Vec<usize>,
    /// RMS over the poses, of each point.
    point_rms_errors: Vec<f64>,
    notes: Vec<NoteFacts>,
    seconds: Map<String, Value>,
    #[serde(skip)]
    stages: Vec<(&'static str, f64)>,
}

#[derive(Debug, Serialize)]
struct PoseFacts {
    name: String,
    rms_error: f64,
    max_error: f64,
    worst_point: usize,
    linear_rms_error: f64,
}

/// What is said about the model itself.
#[derive(Debug, Default, Serialize)]
pub(super) struct ModelFacts {
    rig: Option<String>,
    model: Option<String>,
    output: Option<String>,
    files: Vec<String>,
    bytes: u64,
    points: usize,
    joints: usize,
    /// Null where the model is the linear skin alone.
    smoothness: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothness_curve: Option<CurveFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bones_per_point: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    half_rms_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    half_max_error: Option<f64>,
}

/// What cross-validation found.
#[derive(Debug, Serialize)]
struct CurveFacts {
    smoothness: Vec<f64>,
    /// On held-out poses.
    rms_error: Vec<f64>,
    linear_rms_error: f64,
    blocks: usize,
}

impl CurveFacts {
    fn of(curve: &Curve) -> Self {
        let (smoothness, rms_error) = curve.errors.iter().copied().unzip();
        Self { smoothness, rms_error, linear_rms_error: curve.linear_error, blocks: curve.blocks }
    }

    /// A bar for each value.
    fn lines(&self, chosen: Option<f64>, paint: Paint) -> Vec<String> {
        let most = self.rms_error.iter().fold(self.linear_rms_error, |most, error| most.max(*error));
        let line = |name: &str, error: f64, is_chosen: bool| {
            let width = (BAR * error / most.max(f64::MIN_POSITIVE)).round() as usize;
            let text = format!("    {name:<8} {:<9} {}", measured(error), "▪".repeat(width));
            if is_chosen { paint.title(&format!("{text} ◂")) } else { text }
        };
        let values = self.smoothness.iter().zip(&self.rms_error);
        let lines = values.map(|(s, error)| line(&format!("{s:.0e}"), *error, chosen == Some(*s)));
        lines.chain([line("linear", self.linear_rms_error, chosen.is_none())]).collect()
    }
}

impl ModelFacts {
    pub(super) fn of(args: &TrainArgs, envelope: &Envelope, written: &Written) -> Self {
        let Envelope { trained, half_error: half, .. } = envelope;
        Self {
            rig: Some(args.rig.clone()),
            output: Some(args.output.display().to_string()),
            files: written.files.iter().map(|file| file.display().to_string()).collect(),
            bytes: written.bytes,
            smoothness: Some(trained.smoothness).filter(|smoothness| smoothness.is_finite()),
            smoothness_curve: trained.curve.as_ref().map(CurveFacts::of),
            bones_per_point: Some(trained.mean_bones),
            half_rms_error: half.map(|half| half.rms),
            half_max_error: half.map(|half| half.max),
            ..Self::default().with_size(envelope.model())
        }
    }

    /// A model that was read.
    pub(super) fn input(&mut self, model: &str, rig: Option<&str>, object: &Object) {
        let smoothness = multi_weights(object).ok().and_then(|layer| layer.record.get("smoothness")?.as_f64());
        *self = Self { model: Some(model.to_owned()), rig: rig.map(ToOwned::to_owned), smoothness, ..Self::default() }
            .with_size(object);
    }

    fn with_size(self, object: &Object) -> Self {
        let joints = object.rig.as_ref().map_or(0, |rig| rig.joints().len());
        Self { points: object.mesh.point_count(), joints, ..self }
    }
}

impl Summary {
    pub(super) fn new(facts: &Facts<'_>, total: f64) -> Self {
        let validation = facts.validation;
        let pose = |pose: &dermis::skin::envelope::PoseError| PoseFacts {
            name: pose.name.clone(),
            rms_error: pose.rms_error,
            max_error: pose.max_error,
            worst_point: pose.worst_point,
            linear_rms_error: pose.linear_rms_error,
        };
        let mut times: Map<String, Value> =
            facts.seconds.iter().map(|&(stage, time)| (stage.replace([' ', '-'], "_"), time.into())).collect();
        times.insert("total".to_owned(), total.into());
        let worst = validation.worst_poses();
        Self {
            model: ModelFacts::default(),
            poses: facts.poses,
            rms_error: validation.rms_error,
            max_error: validation.max_error,
            linear_rms_error: validation.linear_rms_error,
            linear_max_error: validation.linear_max_error,
            pose_errors: validation.poses.iter().map(pose).collect(),
            worst_poses: worst.iter().take(NAMED).map(|&pose| validation.poses[pose].name.clone()).collect(),
            worst_points: validation.worst_points().into_iter().take(NAMED).collect(),
            point_rms_errors: validation.points.clone(),
            notes: NoteFacts::each_once(facts.notes),
            seconds: times,
            stages: facts.seconds.to_vec(),
        }
    }

    pub(super) fn print(&self, shared: &Shared) -> Result<(), Report> {
        match shared.format {
            Format::Json => terminal::print_json(self)?,
            Format::Pretty if shared.quiet => {}
            Format::Pretty => terminal::print(&self.text(Paint::for_stdout(shared.color)))?,
        }
        Ok(())
    }

    fn text(&self, paint: Paint) -> String {
        let model = &self.model;
        let title = model.model.as_ref().or(model.rig.as_ref()).cloned().unwrap_or_default();
        let mut lines = vec![format!(
            "{}  {}, {}, {}",
            paint.title(&title),
            counted(model.points, "point", "points"),
            counted(model.joints, "joint", "joints"),
            counted(self.poses, "pose", "poses")
        )];
        let mut fact = |name: &str, words: String| lines.push(format!("  {name:<14} {words}"));
        if let Some(bones) = model.bones_per_point {
            fact("influence", format!("{bones:.1} bones per point"));
        }
        fact("error", format!("{} rms, {} at most", measured(self.rms_error), measured(self.max_error)));
        let linear = format!("{} rms, {} at most", measured(self.linear_rms_error), measured(self.linear_max_error));
        fact("linear skin", linear);
        if let (Some(rms), Some(most)) = (model.half_rms_error, model.half_max_error) {
            fact("half precision", format!("costs {} rms, {} at most", measured(rms), measured(most)));
        }
        fact("worst poses", self.worst());
        fact("worst points", self.worst_points.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        fact("smoothness", model.smoothness.map_or("∞: the linear skin alone".to_owned(), short));
        if let Some(curve) = &model.smoothness_curve {
            lines.extend(curve.lines(model.smoothness, paint));
        }
        lines.push(format!("  {:<14} {}", "time", self.times()));
        if let Some(output) = &model.output {
            lines.push(format!("wrote {} ({})", paint.title(output), bytes(model.bytes)));
        }
        let notes: String = self.notes.iter().map(|note| note.line(paint)).collect();
        lines.join("\n") + "\n" + &notes
    }

    fn worst(&self) -> String {
        let error = |name: &String| {
            let pose = self.pose_errors.iter().find(|pose| pose.name == *name);
            format!("{name} ({})", measured(pose.map_or(0.0, |pose| pose.rms_error)))
        };
        self.worst_poses.iter().map(error).collect::<Vec<_>>().join(", ")
    }

    fn times(&self) -> String {
        let stages = self.stages.iter().filter(|(_, time)| *time >= 0.005);
        let stages: Vec<String> = stages.map(|(stage, time)| format!("{stage} {}", seconds(*time))).collect();
        format!("{} ({})", seconds(self.seconds["total"].as_f64().unwrap_or(0.0)), stages.join(", "))
    }
}
