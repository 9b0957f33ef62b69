//! Problems of a sequence, found in one pass over its frames.

use dermis_math::progress::Progress;
use glam::Vec3;

use super::{Problem, ProblemKind, Tally, counted};
use crate::sequence::{MeshSequence, SequenceError};
use crate::tri_mesh::bounds;

/// Factor by which the bounding box of a frame can differ from the median: confusing metres and centimetres gives a
/// factor of one hundred, and no character stretches by as much as fifty.
const SIZE_RATIO: f32 = 50.0;

/// Finds problems of the frames of a sequence.
///
/// Frames are read in order; if `progress` requests a stop, only those already read are checked.
pub fn of_sequence(sequence: &MeshSequence, progress: &dyn Progress) -> Result<Vec<Problem>, SequenceError> {
    let frames = sequence.frame_count();
    let mut previous = vec![Vec3::ZERO; sequence.point_count()];
    let mut current = previous.clone();
    let mut repeated = Tally::default();
    let mut sizes = Vec::with_capacity(frames);
    for frame in 0..frames {
        sequence.read_into(frame, &mut current)?;
        if frame > 0 && current == previous {
            repeated.add(frame);
        }
        sizes.push(diagonal(&current));
        std::mem::swap(&mut previous, &mut current);
        if progress.report("checking frames", frame + 1, frames).is_break() {
            break;
        }
    }
    let mut sorted = sizes.clone();
    sorted.sort_by(f32::total_cmp);
    let median = sorted[sorted.len() / 2];
    let stillness = stillness(repeated, sizes.len());
    let rest = rest_size(diagonal(sequence.mesh().points()), median);
    Ok([stillness, size_jumps(&sizes, median), rest].into_iter().flatten().collect())
}

fn diagonal(points: &[Vec3]) -> f32 {
    let (low, high) = bounds(points);
    high.distance(low)
}

fn stillness(repeated: Tally, frames: usize) -> Option<Problem> {
    if frames > 1 && repeated.count == frames - 1 {
        return Some(Problem {
            kind: ProblemKind::StaticSequence,
            count: frames,
            message: format!("no motion: all {frames} frames are identical"),
            hint: "check that the animation was exported, not only the rest pose",
        });
    }
    let hint = "held poses are fine; regular repeats indicate a frame rate above that of the animation";
    repeated.problem(ProblemKind::RepeatedFrames, hint, |count, first| {
        let what = counted(count, "frame", "repeats", "repeat");
        format!("{what} the previous frame; the first is frame {first}")
    })
}

fn size_jumps(sizes: &[f32], median: f32) -> Option<Problem> {
    let jumps = (0..sizes.len()).filter(|&frame| differs(sizes[frame], median));
    let hint = "usually a wrong unit or a corrupt frame: export it again, or exclude the frame";
    Tally::of(jumps).problem(ProblemKind::SizeJumps, hint, |count, first| {
        let what = counted(count, "frame", "differs", "differ");
        let size = sizes[first];
        format!("{what} greatly in size; the first is frame {first}, with a diagonal of {size:.4} (median {median:.4})")
    })
}

fn rest_size(rest: f32, median: f32) -> Option<Problem> {
    differs(rest, median).then(|| Problem {
        kind: ProblemKind::RestSize,
        count: 1,
        message: format!("the rest pose has a diagonal of {rest:.4}, the frames of {median:.4}"),
        hint: "usually a wrong unit: use a frame as the rest pose",
    })
}

/// Returns true if a size is implausible. Frames whose points all coincide have no size to compare.
fn differs(size: f32, median: f32) -> bool {
    median > 0.0 && !(median / SIZE_RATIO..=median * SIZE_RATIO).contains(&size)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use dermis_math::progress::NoProgress;

    use super::*;
    use crate::tri_mesh::TriMesh;

    /// Frames of two points at the given distances.
    fn lengths(rest: f32, frames: &[f32]) -> MeshSequence {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X * rest], vec![]).unwrap());
        let positions = frames.iter().flat_map(|&length| [Vec3::ZERO, Vec3::X * length]).collect();
        MeshSequence::new(mesh, positions, 24.0).unwrap()
    }

    fn messages(sequence: &MeshSequence) -> Vec<String> {
        of_sequence(sequence, &NoProgress).unwrap().into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn moving_frames_and_single_frames_have_no_problems() {
        assert_eq!(messages(&lengths(1.0, &[1.0, 2.0, 3.0])), [""; 0]);
        assert_eq!(messages(&lengths(1.0, &[1.0])), [""; 0]);
    }

    #[test]
    fn a_sequence_without_motion_is_static() {
        assert_eq!(messages(&lengths(1.0, &[2.0; 3])), ["no motion: all 3 frames are identical"]);
    }

    #[test]
    fn counts_held_poses() {
        let found = messages(&lengths(1.0, &[1.0, 2.0, 2.0, 2.0]));
        assert_eq!(found, ["2 frames repeat the previous frame; the first is frame 2"]);
    }

    #[test]
    fn reports_the_first_frame_in_another_unit() {
        let found = messages(&lengths(1.0, &[1.0, 1.1, 110.0, 1.2, 0.011]));
        let expected =
            "2 frames differ greatly in size; the first is frame 2, with a diagonal of 110.0000 (median 1.1000)";
        assert_eq!(found, [expected]);
        let found = messages(&lengths(100.0, &[1.0, 1.1]));
        assert_eq!(found, ["the rest pose has a diagonal of 100.0000, the frames of 1.1000"]);
    }

    #[test]
    fn checks_only_the_frames_read_before_a_stop() {
        struct StopAtTwo;
        impl Progress for StopAtTwo {
            fn report(&self, _stage: &str, done: usize, _total: usize) -> ControlFlow<()> {
                if done < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            }
        }
        let problems = of_sequence(&lengths(1.0, &[1.0, 2.0, 1000.0]), &StopAtTwo).unwrap();
        assert_eq!(problems, []);
    }
}
