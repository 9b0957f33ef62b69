//! Characters that keep their volume: the volume layer on top of every motion of a scene, and its measures.

use std::sync::Arc;

use dermis_active::volume::{VolumeDrift, VolumeError, VolumeLayer, VolumeOptions, corrected, measure_drift};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::{Note, Object, Scene, SequenceError};
use serde::Serialize;

use crate::error::Result;
use crate::evaluate::{self, Motion};
use crate::files::ToScene;

pub use crate::error::KeepVolumeError;

/// A scene whose moving objects keep their volume.
#[derive(Debug, Clone)]
pub struct KeptVolume {
    /// The scene. Rigs have the volume layer on top of their other layers; plain recorded frames are corrected.
    pub scene: Scene,
    /// Measures of each object that moves.
    pub objects: Vec<ObjectVolume>,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// Volume of one object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObjectVolume {
    /// Name of the object.
    pub name: String,
    /// Enclosed volume of the rest pose.
    pub rest_volume: f64,
    /// Number of joints near which volume is restored.
    #[serde(rename = "joints")]
    pub joint_count: usize,
    /// Drift of each motion.
    #[serde(rename = "clips")]
    pub motions: Vec<VolumeDrift>,
}

impl KeptVolume {
    /// Largest relative drift before the correction.
    pub fn drift_before(&self) -> f64 {
        self.motions().map(|motion| motion.before).fold(0.0, f64::max)
    }

    /// Largest relative drift after the correction.
    pub fn drift_after(&self) -> f64 {
        self.motions().map(|motion| motion.after).fold(0.0, f64::max)
    }

    /// Largest stretch of an edge by the correction.
    pub fn max_stretch(&self) -> f64 {
        self.motions().map(|motion| motion.max_stretch).fold(1.0, f64::max)
    }

    /// Largest numbers of pairs of intersecting triangles in a frame, before and after the correction.
    pub fn intersections(&self) -> [usize; 2] {
        let most = |count: fn(&VolumeDrift) -> usize| self.motions().map(count).max().unwrap_or(0);
        [most(|motion| motion.intersections_before), most(|motion| motion.intersections_after)]
    }

    /// Largest increase of the number of intersecting pairs in a frame by the correction.
    pub fn new_intersections(&self) -> usize {
        self.motions().map(|motion| motion.new_intersections).max().unwrap_or(0)
    }

    /// Mean time to correct a frame, in milliseconds.
    pub fn milliseconds_per_frame(&self) -> f64 {
        let sum: f64 = self.motions().map(|motion| motion.milliseconds_per_frame * motion.frames as f64).sum();
        sum / self.motions().map(|motion| motion.frames).sum::<usize>().max(1) as f64
    }

    fn motions(&self) -> impl Iterator<Item = &VolumeDrift> {
        self.objects.iter().flat_map(|object| &object.motions)
    }
}

impl ToScene for KeptVolume {
    fn to_scene(&self) -> Scene {
        self.scene.clone()
    }
}

/// Keeps the volume of every moving object of a scene. If only some meshes are open, they are not changed, with a note; if
/// all meshes are open, it is an error.
pub fn keep_volume(input: &(impl ToScene + ?Sized), options: &VolumeOptions) -> Result<KeptVolume> {
    keep_volume_with(input, options, &NoProgress)
}

/// [`keep_volume`] with an observer.
pub fn keep_volume_with(
    input: &(impl ToScene + ?Sized),
    options: &VolumeOptions,
    progress: &dyn Progress,
) -> Result<KeptVolume> {
    let mut scene = input.to_scene();
    let motions = scene.objects.iter().map(evaluate::motions).collect::<std::result::Result<Vec<_>, _>>()?;
    let total: usize = motions.iter().flatten().map(|motion| motion.sequence.frame_count()).sum();
    if total == 0 {
        return Err(KeepVolumeError::NothingMoves.into());
    }
    let (mut done, mut objects, mut warnings) = (0, Vec::new(), Vec::new());
    let layers = layers(&scene, &motions, options, &mut warnings)?;
    for ((object, motions), layer) in scene.objects.iter_mut().zip(motions).zip(layers) {
        let Some(layer) = layer else {
            done += motions.iter().map(|motion| motion.sequence.frame_count()).sum::<usize>();
            continue;
        };
        motions.iter().try_for_each(|motion| evaluate::check_extent(object, motion))?;
        warnings.extend(layer.notes().iter().cloned());
        let mut drifts = Vec::new();
        for Motion { sequence, clip, warnings: skipped } in &motions {
            warnings.extend(skipped.iter().cloned());
            let drift = measure_drift(&layer, sequence, clip.as_deref(), (done, total), progress)?;
            let drift = drift.ok_or(KeepVolumeError::Stopped)?;
            if let Some(drift) = drift.implausible() {
                let motion = sequence.name().to_owned();
                return Err(KeepVolumeError::Drift { object: object.name.clone(), motion, drift }.into());
            }
            drifts.push(drift);
            done += sequence.frame_count();
        }
        objects.push(ObjectVolume {
            name: object.name.clone(),
            rest_volume: layer.rest_volume(),
            joint_count: layer.joint_count(),
            motions: drifts,
        });
        *object = with_layer(std::mem::take(object), &layer, options, &motions[0])?;
    }
    Ok(KeptVolume { scene, objects, warnings })
}

/// The layer of each object that moves. Open meshes enclose no volume: if there are also closed ones, the open ones, such
/// as the hair and clothes of a character, get no layer, with a note.
fn layers(
    scene: &Scene,
    motions: &[Vec<Motion>],
    options: &VolumeOptions,
    notes: &mut Vec<Note>,
) -> Result<Vec<Option<Arc<VolumeLayer>>>> {
    let (mut layers, mut open) = (Vec::new(), None);
    for (object, motions) in scene.objects.iter().zip(motions) {
        layers.push(match VolumeLayer::new(object, options) {
            _ if motions.is_empty() => None,
            Ok(layer) => Some(Arc::new(layer)),
            Err(cause @ VolumeError::Open { .. }) => {
                notes.push(Note::at(&object.name, "the mesh is open and encloses no volume: it is not corrected"));
                open = open.or(Some(KeepVolumeError::Volume { object: object.name.clone(), cause }));
                None
            }
            Err(cause) => return Err(KeepVolumeError::Volume { object: object.name.clone(), cause }.into()),
        });
    }
    match open {
        Some(error) if layers.iter().all(Option::is_none) => Err(error.into()),
        _ => Ok(layers),
    }
}

/// The object with the layer on top; plain recorded frames are corrected.
fn with_layer(
    mut object: Object,
    layer: &Arc<VolumeLayer>,
    options: &VolumeOptions,
    first: &Motion,
) -> std::result::Result<Object, SequenceError> {
    if first.clip.is_none() && object.deformers.is_empty() {
        return Ok(evaluate::with_frames(object, corrected(layer, &first.sequence, None)?));
    }
    object.deformers.push(options.clone().into());
    Ok(object)
}
