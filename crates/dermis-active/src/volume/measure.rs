//! Drift of the volume over a motion, before and after its correction.

use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::{Clip, MeshSequence, SequenceError};
use serde::Serialize;

use super::{VolumeLayer, Workspace};

/// Volume of a motion, relative to its target.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct VolumeDrift {
    /// Name of the clip; empty for recorded frames without a name.
    pub name: String,
    /// Number of frames.
    pub frames: usize,
    /// Largest relative drift of a frame before the correction.
    #[serde(rename = "volume_drift_before")]
    pub before: f64,
    /// Largest relative drift of a frame after the correction.
    #[serde(rename = "volume_drift_after")]
    pub after: f64,
    /// Largest ratio of the lengths of an edge after and before the correction.
    pub max_stretch: f64,
    /// Mean time to correct a frame, in milliseconds.
    pub milliseconds_per_frame: f64,
}

/// Corrects all frames of `motion` and measures them; `clip` poses the joints of the same frames. `Ok(None)` if the
/// observer stops the work. Progress counts from `done` to `total`, so that several motions make one stage.
pub fn measure_drift(
    layer: &VolumeLayer,
    motion: &MeshSequence,
    clip: Option<&Clip>,
    (done, total): (usize, usize),
    progress: &dyn Progress,
) -> Result<Option<VolumeDrift>, SequenceError> {
    let mut work = Workspace::default();
    let mut drift = VolumeDrift { name: motion.name().to_owned(), frames: motion.frame_count(), ..Default::default() };
    let mut seconds = 0.0;
    for frame in 0..motion.frame_count() {
        if progress.report("correcting", done + frame, total).is_break() {
            return Ok(None);
        }
        let mut positions = motion.frame(frame)?.into_owned();
        let start = Instant::now();
        let target = layer.target_of_frame(frame, motion);
        let volumes = layer.apply(&mut positions, clip.map(|clip| clip.transforms(frame)), target, &mut work);
        seconds += start.elapsed().as_secs_f64();
        drift.before = drift.before.max(volumes.drift_before());
        drift.after = drift.after.max(volumes.drift(layer.volume_of(&positions)));
        drift.max_stretch = drift.max_stretch.max(layer.stretch(&work));
    }
    drift.milliseconds_per_frame = 1e3 * seconds / motion.frame_count() as f64;
    Ok(Some(drift))
}
