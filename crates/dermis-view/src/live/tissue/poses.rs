//! Interpolation between the frames of a motion, and detection of jumps.

use dermis::body::{BodyMotion, BodyPose};
use dermis::mesh::glam::{DQuat, DVec3};

/// Maximum time between consecutive frames, in seconds, including those of a slow display.
const MAX_CONSECUTIVE_S: f64 = 0.25;
/// Maximum rotation of a joint between similar poses, in radians.
const MAX_SIMILAR_RAD: f64 = 0.3;
/// Maximum translation of the body between similar poses, in metres. A loop whose last pose is similar to its first
/// continues without a jump.
const MAX_SIMILAR_M: f64 = 0.06;

/// Pose at `fraction` between frame `frame` and the next one; the last frame is not extrapolated.
pub(super) fn pose_between(motion: &BodyMotion, frame: usize, fraction: f64) -> BodyPose {
    let last = motion.poses.len() - 1;
    let (here, next) = (&motion.poses[frame.min(last)], &motion.poses[(frame + 1).min(last)]);
    let interpolated =
        |(here, next): (&DVec3, &DVec3)| rotation(*here).slerp(rotation(*next), fraction).to_scaled_axis();
    BodyPose {
        angles: here.angles.iter().zip(&next.angles).map(interpolated).collect(),
        translation: here.translation.lerp(next.translation, fraction),
    }
}

/// Returns true if the body would be moved abruptly from `before` at the time `from` to `after` at the time `to`, in
/// frames of `frame_rate_hz`.
pub(super) fn is_jump(before: &BodyPose, from: f64, after: &BodyPose, to: f64, frame_rate_hz: f64) -> bool {
    let angle_between = |(before, after): (&DVec3, &DVec3)| rotation(*before).angle_between(rotation(*after));
    let is_similar = before.translation.distance(after.translation) < MAX_SIMILAR_M
        && before.angles.iter().zip(&after.angles).map(angle_between).all(|angle| angle < MAX_SIMILAR_RAD);
    (to - from).abs() > MAX_CONSECUTIVE_S * frame_rate_hz && !is_similar
}

fn rotation(axis_angle: DVec3) -> DQuat {
    DQuat::from_scaled_axis(axis_angle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motion() -> BodyMotion {
        let pose = |angle: f64| BodyPose { angles: vec![DVec3::Z * angle], translation: DVec3::X * angle };
        BodyMotion { name: String::new(), frame_rate_hz: 10.0, poses: [0.0, 0.5, 1.0].map(pose).into(), notes: vec![] }
    }

    #[test]
    fn interpolates_poses_up_to_the_last() {
        let motion = motion();
        let half = pose_between(&motion, 0, 0.5);
        assert!((half.angles[0].z - 0.25).abs() < 1e-12 && (half.translation.x - 0.25).abs() < 1e-12);
        assert_eq!(pose_between(&motion, 2, 0.7).translation, motion.poses[2].translation);
    }

    #[test]
    fn only_a_distant_frame_in_another_pose_is_a_jump() {
        let [first, _, last] = [0, 1, 2].map(|frame| pose_between(&motion(), frame, 0.0));
        assert!(is_jump(&last, 20.0, &first, 0.0, 10.0));
        assert!(!is_jump(&last, 2.0, &first, 0.0, 10.0), "a neighbour");
        assert!(!is_jump(&last, 20.0, &last, 0.0, 10.0), "a loop that closes");
    }
}
