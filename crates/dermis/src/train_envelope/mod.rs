//! Multi-weights from examples, from end to end: a training set, influence maps, training, and validation.

mod maps;
mod training_set;

use std::sync::Arc;

use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::deformer::multi_weights::{MultiWeightsLayer, Precision};
use dermis_mesh::{Clip, Deformer, Note, Object, Rig, RigError, Scene, TriMesh};
use dermis_skin::envelope::{
    Examples, HalfError, MapOptions, TrainOptions, Trained, TrainedRange, Underlying, Validation, half_error, train,
    trained_range, validate,
};
use serde_json::json;

pub use crate::error::EnvelopeError;
pub use maps::MapSource;
pub use training_set::{ExampleOptions, Targets, TrainingSet};

use crate::error::Result;
use crate::files::ToScene;

/// Options of [`train_envelope`].
#[derive(Debug, Clone)]
pub struct EnvelopeOptions {
    /// The solver.
    pub train: TrainOptions,
    /// Source of the influence maps.
    pub maps: MapSource,
    /// Treatment of the influence maps.
    pub map_options: MapOptions,
    /// Precision of the stored weights.
    pub precision: Precision,
    /// Multi-weights fade to the linear skin beyond the joint rotations of the examples.
    pub fade: bool,
}

impl Default for EnvelopeOptions {
    fn default() -> Self {
        Self {
            train: TrainOptions::default(),
            maps: MapSource::default(),
            map_options: MapOptions::default(),
            precision: Precision::default(),
            fade: true,
        }
    }
}

/// A rig with learned multi-weights.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The scene with the model: the best linear skin with the multi-weights as a layer.
    pub scene: Scene,
    /// The solution.
    pub trained: Trained,
    /// Errors on the examples.
    pub validation: Validation,
    /// RMS and largest error of the rig's own skin on the examples, if it has one.
    pub rig_error: Option<[f64; 2]>,
    /// Error of half precision, if the weights are stored in it.
    pub half_error: Option<HalfError>,
    /// Seconds spent on validation.
    pub validation_seconds: f64,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

impl Envelope {
    /// The model.
    pub fn model(&self) -> &Object {
        &self.scene.objects[0]
    }
}

impl ToScene for Envelope {
    fn to_scene(&self) -> Scene {
        self.scene.clone()
    }
}

/// Learns multi-weights from a training set.
pub fn train_envelope(set: &TrainingSet, options: &EnvelopeOptions) -> Result<Envelope> {
    train_envelope_with(set, options, &NoProgress)
}

/// [`train_envelope`] with an observer.
pub fn train_envelope_with(set: &TrainingSet, options: &EnvelopeOptions, progress: &dyn Progress) -> Result<Envelope> {
    let TrainingSet { object, rig, .. } = set;
    let mut warnings = set.warnings.clone();
    if !rig.shapes().is_empty() {
        warnings
            .push(Note::new("the model has no blend shapes; their effect is learned as part of the example shapes"));
    }
    if !object.deformers.is_empty() {
        let layers: Vec<&str> = object.deformers.iter().map(Deformer::kind).collect();
        let message = format!(
            "the layers of the rig ({}) are replaced by multi-weights learned from the shapes",
            layers.join(", ")
        );
        warnings.push(Note::at(&object.name, message));
    }
    let examples = set.examples()?;
    let maps = maps::influences(&options.maps, &options.map_options, object, rig, &examples, &mut warnings)?;
    let trained = train(&object.mesh, rig, &maps, &examples, &options.train, progress)?;
    warnings.extend(trained.notes.iter().cloned());
    let start = std::time::Instant::now();
    // Other viewers play the linear skin, so it is never the rigid one.
    let base = if trained.underlying == Underlying::Rigid { rig.weights() } else { &trained.linear };
    let validation = validate(&trained.weights, base, &object.mesh, &examples, None)?;
    let rig_error = rig_error(&trained, rig, &object.mesh, &examples)?;
    let half_error = match options.precision {
        Precision::Single => None,
        Precision::Half => {
            let clips = set.poses.iter().take(1).map(|poses| &poses.clip);
            let frames = clips.flat_map(|clip| (0..clip.frame_count()).map(|frame| clip.transforms(frame)));
            Some(half_error(&trained.weights, &object.mesh, rig.joints(), frames)?)
        }
    };
    let mut layer = layer(&trained, options, &examples, &validation)?;
    if options.fade {
        layer.record.extend(trained_range(&trained, base, &object.mesh, rig.joints(), &examples)?.to_record());
    }
    let bare = Rig::new(&object.mesh, rig.joints().to_vec(), base.normalized(usize::MAX), Vec::new())?;
    let clips = object.clips.iter().map(|clip| without_shapes(&bare, clip).map(Arc::new));
    if !object.levels.is_empty() {
        warnings.push(Note::at(&object.name, "the levels of detail are dropped; they have no multi-weights"));
    }
    let model = Object {
        clips: clips.collect::<std::result::Result<_, _>>()?,
        rig: Some(Arc::new(bare)),
        sequence: None,
        levels: Vec::new(),
        deformers: vec![layer.into()],
        ..object.clone()
    };
    let scene = Scene { objects: vec![model], ..set.scene.clone() };
    let validation_seconds = start.elapsed().as_secs_f64();
    Ok(Envelope { scene, trained, validation, rig_error, half_error, validation_seconds, warnings })
}

/// RMS and largest error of the rig's own linear skin on the examples; `None` if it has none.
fn rig_error(trained: &Trained, rig: &Rig, mesh: &TriMesh, examples: &Examples) -> Result<Option<[f64; 2]>> {
    if !rig.weights().rows().all(|mut row| row.any(|(_, weight)| weight > 0.0)) {
        return Ok(None);
    }
    let weights = rig.weights().normalized(usize::MAX);
    let found = validate(&trained.weights, &weights, mesh, examples, None)?;
    Ok(Some([found.linear_rms_error, found.linear_max_error]))
}

/// Name of an underlying deformer in files and summaries.
pub fn underlying_name(underlying: Underlying) -> &'static str {
    match underlying {
        Underlying::Auto => "auto",
        Underlying::Rigid => "rigid",
        Underlying::Rig => "rig",
        Underlying::Best => "best",
    }
}

/// The multi-weights with a record of their training.
fn layer(
    trained: &Trained,
    options: &EnvelopeOptions,
    examples: &Examples,
    validation: &Validation,
) -> Result<MultiWeightsLayer> {
    let mut layer = MultiWeightsLayer::new(trained.weights.clone(), options.precision)?;
    layer.record.extend([
        ("smoothness".to_owned(), json!(trained.smoothness)),
        ("underlying".to_owned(), json!(underlying_name(trained.underlying))),
        ("poses".to_owned(), json!(examples.pose_count())),
        ("training_rms_error".to_owned(), json!(validation.rms_error)),
    ]);
    Ok(layer)
}

fn without_shapes(rig: &Rig, clip: &Clip) -> std::result::Result<Clip, RigError> {
    let transforms = (0..clip.frame_count()).flat_map(|frame| clip.transforms(frame).iter().copied()).collect();
    Ok(Clip::new(rig, clip.name(), clip.frame_rate_hz(), transforms, Vec::new())?.starting_at(clip.start_seconds()))
}

/// The first multi-weights of an object.
pub fn multi_weights<'a>(object: &'a Object) -> std::result::Result<&'a MultiWeightsLayer, EnvelopeError> {
    let layer = |layer: &'a Deformer| match layer {
        Deformer::MultiWeights(layer) => Some(&**layer),
        _ => None,
    };
    object.deformers.iter().find_map(layer).ok_or(EnvelopeError::NoMultiWeights)
}

/// Compares the shapes of a set with those that the multi-weights and the linear skin of its object give.
pub fn validate_envelope(set: &TrainingSet) -> Result<Validation> {
    let layer = multi_weights(&set.object)?;
    let joints = set.rig.joints();
    let range = TrainedRange::from_record(&layer.record, joints.len());
    let range = range.as_ref().map(|range| (range, joints));
    Ok(validate(layer.weights(), set.rig.weights(), &set.object.mesh, &set.examples()?, range)?)
}
