//! Poses between the frames of a motion, and jumps from one to another.

use dermis::body::{BodyMotion, BodyPose};
use dermis::mesh::glam::{DQuat, DVec3};

/// Frames that are at most this far apart, in seconds, follow each other, also where pictures are slow.
const NEIGHBOURS_S: f64 = 0.25;
/// Poses are alike up to this turn of a joint, in radians,
const ALIKE_RAD: f64 = 0.3;
/// and this way of the body, in metres: a motion that ends as it began goes on.
const ALIKE_M: f64 = 0.06;

/// The pose `share` of the way from frame `frame` to the next; after the last frame nothing moves.
pub(super) fn pose_between(motion: &BodyMotion, frame: usize, share: f64) -> BodyPose {
    let last = motion.poses.len() - 1;
    let (here, next) = (&motion.poses[frame.min(last)], &motion.poses[(frame + 1).min(last)]);
    let turned = |(here, next): (&DVec3, &DVec3)| turn(*here).slerp(turn(*next), share).to_scaled_axis();
    BodyPose {
        angles: here.angles.iter().zip(&next.angles).map(turned).collect(),
        translation: here.translation.lerp(next.translation, share),
    }
}

/// Whether a body in `before` at the time `from` would be whipped through space on its way to `after` at the time `to`,
/// in frames of `frame_rate_hz`.
pub(super) fn is_jump(before: &BodyPose, from: f64, after: &BodyPose, to: f64, frame_rate_hz: f64) -> bool {
    let turned = |(before, after): (&DVec3, &DVec3)| turn(*before).angle_between(turn(*after));
    let alike = before.translation.distance(after.translation) < ALIKE_M
        && before.angles.iter().zip(&after.angles).map(turned).all(|angle| angle < ALIKE_RAD);
    (to - from).abs() > NEIGHBOURS_S * frame_rate_hz && !alike
}

fn turn(axis_angle: DVec3) -> DQuat {
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
    fn poses_are_interpolated_up_to_the_last() {
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
