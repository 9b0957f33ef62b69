//! Playing an object whole: its rig, then its deformers in their order, each frame when it is read.
//!
//! This is the one place that knows which crate understands which deformer. A layer takes the frames below it and gives
//! frames, so a sequence larger than memory plays.

use std::sync::Arc;

use dermis_active::volume::{self, VolumeError, VolumeLayer};
use dermis_mesh::pose::bake_lazily;
use dermis_mesh::{Clip, Deformer, MeshSequence, Note, Object, Scene, SequenceError};
use dermis_skin::envelope::{self, MultiWeights, MultiWeightsError, PlayError};

/// Why an object cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// There is nothing that a clip could move.
    #[error("'{0}' has no rig")]
    NoRig(String),
    /// The clip has other joints or shapes than the rig.
    #[error("the clip '{clip}' is not one of the rig of '{object}'")]
    OtherRig {
        /// The object.
        object: String,
        /// The clip.
        clip: String,
    },
    /// The multi-weights are not whole, or of another mesh.
    #[error(transparent)]
    Weights(#[from] MultiWeightsError),
    /// The multi-weights cannot play the clip.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// The volume layer does not suit the mesh.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The frames cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

/// What a deformer calls itself; `None` where it does not say.
pub fn kind(deformer: &Deformer) -> Option<String> {
    let settings: serde_json::Value = serde_json::from_str(&deformer.settings).ok()?;
    settings.get("type")?.as_str().map(ToOwned::to_owned)
}

/// The frames of `clip`, one of the object's or another of its rig, with all that deforms the object; and what of it
/// had to be left out.
pub fn replay(object: &Object, clip: &Arc<Clip>) -> Result<(MeshSequence, Vec<Note>), ReplayError> {
    let rig = object.rig.as_ref().ok_or_else(|| ReplayError::NoRig(object.name.clone()))?;
    if clip.transforms(0).len() != rig.joints().len() || clip.shape_weights(0).len() != rig.shapes().len() {
        return Err(ReplayError::OtherRig { object: object.name.clone(), clip: clip.name().to_owned() });
    }
    let linear = bake_lazily(&object.mesh, rig, clip)?;
    let has_shapes = (0..clip.frame_count()).any(|frame| clip.shape_weights(frame).iter().any(|&weight| weight != 0.0));
    // Where nothing but the linear skin lies below a layer, it need not be computed.
    let mut below = has_shapes.then(|| linear.clone());
    let mut notes = Vec::new();
    for deformer in &object.deformers {
        match kind(deformer).as_deref() {
            Some(envelope::storage::TYPE) => {
                let Some(weights) = MultiWeights::from_deformer(deformer)? else { continue };
                below = Some(envelope::play(&weights, &object.mesh, rig, clip, below.as_ref())?);
            }
            Some(volume::TYPE) => {
                let Some(options) = volume::from_deformers(object)? else { continue };
                let layer = Arc::new(VolumeLayer::new(object, &options)?);
                below = Some(volume::corrected(&layer, below.as_ref().unwrap_or(&linear), Some(clip))?);
            }
            other => notes.push(unknown(object, other)),
        }
    }
    Ok((below.unwrap_or(linear), notes))
}

fn unknown(object: &Object, kind: Option<&str>) -> Note {
    let name = kind.map_or_else(|| "without a type".to_owned(), |kind| format!("'{kind}'"));
    Note::at(object.name.clone(), format!("this version does not know the layer {name}; it is left out"))
}

/// The object's recorded frames, or its first clip with all that deforms it, and what had to be left out.
pub fn whole_motion(object: &Object) -> Result<Option<(MeshSequence, Vec<Note>)>, ReplayError> {
    match (&object.sequence, object.clips.first()) {
        (Some(sequence), _) => Ok(Some((sequence.clone(), Vec::new()))),
        (None, Some(clip)) => replay(object, clip).map(Some),
        (None, None) => Ok(None),
    }
}

/// `object` as the frames of its first clip with all deformers; itself where it has none that could be played.
fn flattened(object: Object, notes: &mut Vec<Note>) -> Result<Object, ReplayError> {
    if object.deformers.is_empty() {
        return Ok(object);
    }
    let layers = object.deformers.iter().filter_map(kind).collect::<Vec<_>>().join(", ");
    let mut note = |message: String| notes.push(Note::at(object.name.clone(), message));
    let Some(clip) = object.clips.first() else {
        note(format!("the format does not hold the layers of the object ({layers}); they are left out"));
        return Ok(Object { deformers: Vec::new(), ..object });
    };
    note(format!(
        "the format does not hold the layers of the object ({layers}): they are applied, and the frames of the clip \
         '{}' are written",
        clip.name()
    ));
    let (sequence, left_out) = replay(&object, clip)?;
    notes.extend(left_out);
    Ok(Object { sequence: Some(sequence), rig: None, clips: Vec::new(), deformers: Vec::new(), ..object })
}

/// `scene` for a format that holds no deformers: objects that have some become the frames that they play.
pub fn without_deformers(mut scene: Scene) -> Result<Scene, ReplayError> {
    for object in &mut scene.objects {
        *object = flattened(std::mem::take(object), &mut scene.notes)?;
    }
    Ok(scene)
}
