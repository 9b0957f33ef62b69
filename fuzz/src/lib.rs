//! What every fuzz target does with the outcome of its reader.

use dermis_io::Error;
use dermis_mesh::Scene;

/// Longer motions are read up to here, so that a run stays short.
const MOST_FRAMES: usize = 64;

/// Goes through all that a reader may have left for later: frames are read or posed when they are asked for.
///
/// An error is a fine outcome, here as in the reader; only a panic, a hang or too much memory is a finding.
pub fn exercise(outcome: Result<Scene, Error>) {
    let Ok(scene) = outcome else { return };
    for object in &scene.objects {
        let Ok(Some(motion)) = object.motion() else { continue };
        for frame in 0..motion.frame_count().min(MOST_FRAMES) {
            let _ = motion.frame(frame);
        }
    }
}
