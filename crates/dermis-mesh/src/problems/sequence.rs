//! Problems of a sequence, found in one pass over its frames.

use dermis_math::progress::Progress;
use glam::Vec3;

use super::{Problem, ProblemKind, Tally, counted};
use crate::sequence::{MeshSequence, SequenceError};
use crate::tri_mesh::bounds;

/// How much larger or smaller than the median a frame's box may be: a hundred is the step from metres to centimetres,
/// and no character stretches so far.
const SIZE_RATIO: f32 = 50.0;

/// The problems of a sequence's frames.
///
/// Frames are read one after the other; where `progress` asks to stop, those read so far are judged.
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
            message: format!("nothing moves: all {frames} frames are the same"),
            hint: "check that the animation was exported, not only the rest pose",
        });
    }
    let hint = "held poses are fine; a rate below the one exported at shows as regular repeats";
    repeated.problem(ProblemKind::RepeatedFrames, hint, |count, first| {
        let what = counted(count, "frame", "repeats", "repeat");
        format!("{what} the one before; the first is frame {first}")
    })
}

fn size_jumps(sizes: &[f32], median: f32) -> Option<Problem> {
    let jumps = (0..sizes.len()).filter(|&frame| differs(sizes[frame], median));
    let hint = "usually a wrong unit or a corrupt frame: export it again, or leave it out with --frames";
    Tally::of(jumps).problem(ProblemKind::SizeJumps, hint, |count, first| {
        let what = counted(count, "frame", "has", "have");
        let size = sizes[first];
        format!("{what} a very different size; the first is frame {first}, {size:.4} across where {median:.4} is usual")
    })
}

fn rest_size(rest: f32, median: f32) -> Option<Problem> {
    differs(rest, median).then(|| Problem {
        kind: ProblemKind::RestSize,
        count: 1,
        message: format!("the rest pose is {rest:.4} across, the frames are {median:.4}"),
        hint: "usually a wrong unit: take the rest pose from a frame with --rest-frame",
    })
}

/// Whether a size is out of proportion. A frame that is one point has no size to compare.
fn differs(size: f32, median: f32) -> bool {
    median > 0.0 && !(median / SIZE_RATIO..=median * SIZE_RATIO).contains(&size)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use dermis_math::progress::Silent;

    use super::*;
    use crate::tri_mesh::TriMesh;

    /// Frames of two points, each as far apart as its number says.
    fn lengths(rest: f32, frames: &[f32]) -> MeshSequence {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X * rest], vec![]).unwrap());
        let positions = frames.iter().flat_map(|&length| [Vec3::ZERO, Vec3::X * length]).collect();
        MeshSequence::new(mesh, positions, 24.0).unwrap()
    }

    fn messages(sequence: &MeshSequence) -> Vec<String> {
        of_sequence(sequence, &Silent).unwrap().into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn moving_frames_and_single_frames_have_no_problems() {
        assert_eq!(messages(&lengths(1.0, &[1.0, 2.0, 3.0])), [""; 0]);
        assert_eq!(messages(&lengths(1.0, &[1.0])), [""; 0]);
    }

    #[test]
    fn a_sequence_in_which_nothing_moves_is_static() {
        assert_eq!(messages(&lengths(1.0, &[2.0; 3])), ["nothing moves: all 3 frames are the same"]);
    }

    #[test]
    fn held_poses_are_counted() {
        let found = messages(&lengths(1.0, &[1.0, 2.0, 2.0, 2.0]));
        assert_eq!(found, ["2 frames repeat the one before; the first is frame 2"]);
    }

    #[test]
    fn a_frame_in_another_unit_is_named() {
        let found = messages(&lengths(1.0, &[1.0, 1.1, 110.0, 1.2, 0.011]));
        let expected =
            "2 frames have a very different size; the first is frame 2, 110.0000 across where 1.1000 is usual";
        assert_eq!(found, [expected]);
        let found = messages(&lengths(100.0, &[1.0, 1.1]));
        assert_eq!(found, ["the rest pose is 100.0000 across, the frames are 1.1000"]);
    }

    #[test]
    fn stopping_judges_the_frames_read_so_far() {
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
