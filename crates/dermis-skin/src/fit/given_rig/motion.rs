//! Motion of the joints of a rig from frames: rotations about joints with fixed offsets, and the translation of roots.

use dermis_mesh::Rig;
use faer::Mat;

use super::locked::measure_points;
use super::rig_influences;
use crate::bone_model::BoneModel;
use crate::fit::Work;
use crate::fit::refine::RESELECT_EVERY;
use crate::fit::refine::bones::{HOLD, update_bones};
use crate::fit::refine::local_weights::{LocalOptions, weigh_locally};
use crate::fit::skeleton::{FixedOffsets, Skeleton, solve_rotations};
use crate::fit::state::State;
use crate::fit::surface::Surface;

/// Number of updates of the bones without a hierarchy, from which the rotations start.
const FREE_UPDATES: usize = 3;
/// Maximum number of solves for the rotations; each sweeps over all joints a few times.
const MAX_SOLVES: usize = 40;
/// Relative decrease of the squared error per solve below which the rotations have converged.
const CONVERGED: f64 = 1e-4;

/// State of `rig` with the motion closest to the frames, and with its own weights if they are locked.
pub(super) fn solve_rig_motion(work: &Work<'_>, rig: &Rig, lock_weights: bool, surface: &Surface) -> State {
    let trajectories = work.trajectories;
    let (frames, count) = (trajectories.frame_count(), rig.joints().len());
    let mut state = State {
        transforms: Mat::from_fn(3 * frames, 4 * count, |row, column| f64::from(u8::from(row % 3 == column % 4))),
        rest: trajectories.rest.clone(),
        influences: rig_influences(rig),
        squared_errors: vec![0.0; trajectories.point_count()],
    };
    for _ in 0..FREE_UPDATES {
        update_bones(trajectories, &state.influences, &state.rest, BoneModel::Rigid, HOLD, &mut state.transforms);
    }
    let mut skeleton = Skeleton::of_rig(rig, trajectories);
    let fixed = FixedOffsets::new(&mut skeleton);
    let mut before = f64::INFINITY;
    for iteration in 0..MAX_SOLVES {
        solve_rotations(trajectories, &mut state, &fixed);
        if lock_weights {
            measure_points(trajectories, &mut state);
        } else {
            let reselect = iteration % RESELECT_EVERY == 0;
            let (smoothness, max_influences) = (work.options.refine.smoothness, work.options.influences);
            weigh_locally(
                trajectories,
                &mut state,
                surface,
                &LocalOptions { max_influences, smoothness, reselect, keep_rest: true },
            );
        }
        let error = state.squared_error();
        if error >= (1.0 - CONVERGED) * before {
            break;
        }
        before = error;
        if work.progress.report("rotations", iteration + 1, MAX_SOLVES).is_break() {
            break;
        }
    }
    state
}
