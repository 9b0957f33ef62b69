//! Checks of scans before a fit: topology, frame rate, invalid frames, size and floor.

use dermis_mesh::UpAxis;
use glam::Vec3;

use super::SubjectError;
use crate::fit::scans::Scan;
use crate::layered::LayeredBody;

/// Maximum fraction of invalid frames, which are interpolated.
const MAX_INVALID: f64 = 0.05;
/// Minimum number of frames.
const MIN_FRAMES: usize = 10;
/// Size of a scan relative to the body.
const SIZES: std::ops::Range<f64> = 0.6..1.6;
/// Depth below the first frame, in metres, from which a scan is reported as below the floor.
const FLOOR_M: f32 = 0.03;

/// Checks `scans` against the body and replaces invalid frames; returns a description of each replacement.
pub fn check_scans(body: &LayeredBody, scans: &mut [Scan]) -> Result<Vec<String>, SubjectError> {
    let expected = body.body().point_count();
    let rate = scans.first().map_or(0.0, |scan| scan.frame_rate_hz);
    let size = f64::from(body.body().mesh().diagonal());
    let mut notes = Vec::new();
    for scan in scans {
        let name = || scan.name.clone();
        if (scan.frame_rate_hz - rate).abs() > 1e-6 * rate.abs() {
            return Err(SubjectError::FrameRate { scan: name(), found: scan.frame_rate_hz, expected: rate });
        }
        if let Some(frame) = scan.frames.iter().position(|frame| frame.len() != expected) {
            return Err(SubjectError::Topology { scan: name(), frame, found: scan.frames[frame].len(), expected });
        }
        let frames = scan.frames.len();
        if frames < MIN_FRAMES {
            return Err(SubjectError::TooShort { scan: name(), frames, min: MIN_FRAMES });
        }
        let is_valid = |frame: &Vec<Vec3>| frame.iter().all(|point| point.is_finite());
        let valid: Vec<usize> = (0..frames).filter(|&frame| is_valid(&scan.frames[frame])).collect();
        let invalid = frames - valid.len();
        if invalid as f64 > MAX_INVALID * frames as f64 {
            return Err(SubjectError::InvalidFrames { scan: name(), invalid, frames });
        }
        for frame in (0..frames).filter(|frame| valid.binary_search(frame).is_err()) {
            let next = valid.partition_point(|&other| other < frame);
            let after = valid[next.min(valid.len() - 1)];
            let before = valid[next.saturating_sub(1)];
            let t = if after > before { (frame - before) as f32 / (after - before) as f32 } else { 0.0 };
            let between: Vec<Vec3> =
                scan.frames[before].iter().zip(&scan.frames[after]).map(|(a, b)| a.lerp(*b, t)).collect();
            notes.push(format!("frame {frame} of '{}' is invalid and interpolated", scan.name));
            scan.frames[frame] = between;
        }
        let (low, high) = dermis_mesh::tri_mesh::bounds(&scan.frames[0]);
        let found = f64::from((high - low).length());
        if !SIZES.contains(&(found / size)) {
            return Err(SubjectError::Size { scan: name(), found, expected: size });
        }
        let below = below_floor(&scan.frames, body.parts().up);
        if below > FLOOR_M {
            let (name, depth) = (&scan.name, 100.0 * below);
            notes
                .push(format!("'{name}' goes {depth:.0} cm below the floor of its first frame; no floor is simulated"));
        }
    }
    Ok(notes)
}

/// Largest distance by which a frame goes below the first.
fn below_floor(frames: &[Vec<Vec3>], up: UpAxis) -> f32 {
    let height = |point: &Vec3| match up {
        UpAxis::X => point.x,
        UpAxis::Y => point.y,
        UpAxis::Z => point.z,
    };
    let lowest = |frame: &Vec<Vec3>| frame.iter().map(height).fold(f32::MAX, f32::min);
    let floor = frames.first().map_or(0.0, lowest);
    frames.iter().map(|frame| floor - lowest(frame)).fold(0.0, f32::max)
}
