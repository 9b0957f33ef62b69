//! Motions of a body: joint angles over time.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `poses` | `[S,J,3]` or `[S,3J]` | axis times angle of each joint relative to its parent, in radians |
//! | `trans` | `[S,3]` | translation of the body; zero if it is missing |
//! | `clip_frames`, `clip_names`, `clip_fps` | `[C]` | several motions in a row |
//! | `fps`, `mocap_framerate`, `mocap_frame_rate` | one number | the rate if there is no `clip_fps`; else 60 |

use dermis_body::{BodyMotion, BodyPose};
use dermis_mesh::Note;
use glam::DVec3;

use crate::error::Error;
use crate::npz::arrays::Arrays;
use crate::npz::rig;

/// Frame rate of captured motions without a stated rate.
const ASSUMED_HZ: f64 = 60.0;

/// Motions in `arrays` of a body with `joints` joints.
pub(super) fn motions(arrays: &mut dyn Arrays, joints: usize, notes: &mut Vec<Note>) -> Result<Vec<BodyMotion>, Error> {
    let Some(array) = arrays.array("poses")? else { return Ok(Vec::new()) };
    let frames = match *array.shape() {
        [frames, count, 3] if count == joints => frames,
        [frames, columns] if columns == 3 * joints => frames,
        _ => return Err(array.wrong_shape(&format!("[frames, {joints}, 3]"))),
    };
    let angles = array.numbers()?;
    let translations = match arrays.array("trans")? {
        Some(array) if array.shape() != [frames, 3] => return Err(array.wrong_shape(&format!("[{frames}, 3]"))),
        Some(array) => array.numbers()?,
        None => vec![0.0; 3 * frames],
    };
    let vectors = |numbers: &[f64]| -> Vec<DVec3> { numbers.as_chunks::<3>().0.iter().map(|&v| v.into()).collect() };
    let pose = |(angles, &translation): (&[f64], &DVec3)| BodyPose { angles: vectors(angles), translation };
    let poses: Vec<BodyPose> = angles.chunks_exact(3 * joints).zip(&vectors(&translations)).map(pose).collect();
    let finite = |pose: &BodyPose| pose.translation.is_finite() && pose.angles.iter().all(|angle| angle.is_finite());
    if let Some(frame) = poses.iter().position(|pose| !finite(pose)) {
        return Err(Error::malformed(format!("frame {frame} has a number that is not finite")).at("poses"));
    }
    split(arrays, poses, notes)
}

/// Consecutive motions of one array.
fn split(arrays: &mut dyn Arrays, poses: Vec<BodyPose>, notes: &mut Vec<Note>) -> Result<Vec<BodyMotion>, Error> {
    let rate = rate(arrays, notes)?;
    let counts = match arrays.array("clip_frames")? {
        Some(array) => array.indices()?.into_iter().map(|count| count as usize).collect(),
        None => vec![poses.len()],
    };
    if counts.iter().sum::<usize>() != poses.len() {
        let message = format!("the frames of the clips do not add up to the {} poses", poses.len());
        return Err(Error::malformed(message).at("clip_frames"));
    }
    let names = match arrays.array("clip_names")? {
        Some(array) => rig::names(&array, counts.len())?,
        None => {
            (0..counts.len()).map(|clip| if clip == 0 { "motion".into() } else { format!("motion {clip}") }).collect()
        }
    };
    let rates = match arrays.array("clip_fps")? {
        Some(array) if array.shape() != [counts.len()] => return Err(array.wrong_shape(&format!("[{}]", counts.len()))),
        Some(array) => array.numbers()?,
        None => vec![rate; counts.len()],
    };
    if let Some(rate) = rates.iter().find(|rate| !(rate.is_finite() && **rate > 0.0)) {
        return Err(Error::malformed(format!("invalid frame rate {rate}: it must be positive")).at("clip_fps"));
    }
    let mut poses = poses.into_iter();
    let motion = |((name, count), frame_rate_hz): ((String, usize), f64)| BodyMotion {
        name,
        frame_rate_hz,
        poses: poses.by_ref().take(count).collect(),
        notes: Vec::new(),
    };
    let motions: Vec<BodyMotion> = names.into_iter().zip(counts).zip(rates).map(motion).collect();
    Ok(motions.into_iter().filter(|motion| !motion.poses.is_empty()).collect())
}

fn rate(arrays: &mut dyn Arrays, notes: &mut Vec<Note>) -> Result<f64, Error> {
    for name in ["fps", "mocap_framerate", "mocap_frame_rate"] {
        if let Some(array) = arrays.array(name)? {
            return array.number();
        }
    }
    if arrays.array("clip_fps")?.is_none() {
        notes
            .push(Note::at("poses", format!("the file has no frame rate; {ASSUMED_HZ} frames per second are assumed")));
    }
    Ok(ASSUMED_HZ)
}
