//! Use of the result of a reader, shared by all fuzz targets.

use dermis_io::Error;
use dermis_mesh::Scene;

/// Maximum number of frames that are read, to keep a run short.
const MAX_FRAMES: usize = 64;

/// Evaluates the frames of all objects, which readers load or pose on demand.
///
/// Errors are valid results; only a panic, a hang or excessive memory use is a finding.
pub fn exercise(outcome: Result<Scene, Error>) {
    let Ok(scene) = outcome else { return };
    for object in &scene.objects {
        let Ok(Some(motion)) = object.motion() else { continue };
        for frame in 0..motion.frame_count().min(MAX_FRAMES) {
            let _ = motion.frame(frame);
        }
    }
}
