//! Drift of the volume over a motion, before and after its correction.

use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::{Clip, MeshSequence, SequenceError};
use rayon::prelude::*;
use serde::Serialize;

use super::{VolumeLayer, Workspace};
use crate::intersections::intersecting_pairs;

/// Relative drift above which a motion does not match its rest pose: another unit, another mesh or a wrong target.
pub const MAX_PLAUSIBLE_DRIFT: f64 = 0.5;

/// Frames that are measured in parallel between two reports of progress.
const FRAMES_PER_BLOCK: usize = 8;

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
    /// Largest number of pairs of intersecting triangles in a frame before the correction.
    pub intersections_before: usize,
    /// Largest number of pairs of intersecting triangles in a frame after the correction.
    pub intersections_after: usize,
    /// Largest increase of the number of intersecting pairs by the correction of a frame.
    pub new_intersections: usize,
    /// Mean time to correct a frame, in milliseconds.
    pub milliseconds_per_frame: f64,
}

impl VolumeDrift {
    /// Drift that cannot be real, as a fraction: that of the motion, or that of a failed correction.
    pub fn implausible(&self) -> Option<f64> {
        let is_plausible = |drift: f64| drift <= MAX_PLAUSIBLE_DRIFT;
        [self.before, self.after].into_iter().find(|drift| !is_plausible(*drift))
    }
}

/// Corrects all frames of `motion` and measures them; `clip` poses the joints of the same frames. `Ok(None)` if the
/// observer stops the work. Progress counts from `done` to `total`, so that several motions form one stage.
pub fn measure_drift(
    layer: &VolumeLayer,
    motion: &MeshSequence,
    clip: Option<&Clip>,
    (done, total): (usize, usize),
    progress: &dyn Progress,
) -> Result<Option<VolumeDrift>, SequenceError> {
    let mut drift = VolumeDrift { name: motion.name().to_owned(), frames: motion.frame_count(), ..Default::default() };
    let mut seconds = 0.0;
    let frames: Vec<usize> = (0..motion.frame_count()).collect();
    for block in frames.chunks(FRAMES_PER_BLOCK) {
        if progress.report("correcting", done + block[0], total).is_break() {
            return Ok(None);
        }
        let measured = block
            .par_iter()
            .map_init(Workspace::default, |work, &frame| measure_frame(layer, motion, clip, frame, work));
        for frame in measured.collect::<Result<Vec<_>, _>>()? {
            drift.before = larger(drift.before, frame.drift[0]);
            drift.after = larger(drift.after, frame.drift[1]);
            drift.max_stretch = drift.max_stretch.max(frame.stretch);
            drift.intersections_before = drift.intersections_before.max(frame.pairs[0]);
            drift.intersections_after = drift.intersections_after.max(frame.pairs[1]);
            drift.new_intersections = drift.new_intersections.max(frame.pairs[1].saturating_sub(frame.pairs[0]));
            seconds += frame.seconds;
        }
    }
    drift.milliseconds_per_frame = 1e3 * seconds / motion.frame_count() as f64;
    Ok(Some(drift))
}

/// Measures of a corrected frame; pairs of values are before and after the correction.
struct FrameMeasures {
    drift: [f64; 2],
    stretch: f64,
    pairs: [usize; 2],
    seconds: f64,
}

fn measure_frame(
    layer: &VolumeLayer,
    motion: &MeshSequence,
    clip: Option<&Clip>,
    frame: usize,
    work: &mut Workspace,
) -> Result<FrameMeasures, SequenceError> {
    let triangles = motion.mesh().triangles();
    let mut positions = motion.frame(frame)?.into_owned();
    let pairs_before = intersecting_pairs(&positions, triangles).len();
    let start = Instant::now();
    let target = layer.target_of_frame(frame, motion);
    let volumes = layer.apply_separated(&mut positions, clip.map(|clip| clip.transforms(frame)), target, work);
    let seconds = start.elapsed().as_secs_f64();
    Ok(FrameMeasures {
        drift: [volumes.drift_before(), volumes.drift(layer.volume_of(&positions))],
        stretch: layer.stretch(work),
        pairs: [pairs_before, intersecting_pairs(&positions, triangles).len()],
        seconds,
    })
}

/// The larger drift; one that is not a number is larger than all others.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}
