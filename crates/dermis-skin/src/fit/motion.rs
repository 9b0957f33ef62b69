//! Motion of the bones of a given skin in new animations, with weights and rest pose fixed.
//!
//! The squared error ‖P − TΦ‖² is minimized over T alone (`refine/bones.rs`). Rigid and scaled bones start from the best
//! transform for the points for which they have the largest weight, which needs no earlier motion. They are swept until
//! the transforms settle. The error on frames that were not part of a fit shows whether its weights generalize.

use dermis_math::progress::Progress;
use faer::Mat;

use super::assemble::assemble;
use super::error::{Animation, FitError};
use super::influences::Influences;
use super::options::MAX_INFLUENCES;
use super::refine::bones::{HOLD, update_bones};
use super::refine::seed::{identity_bones, main_bone};
use super::state::State;
use super::trajectories::Trajectories;
use super::{check, clip_info};
use crate::bone_model::BoneModel;
use crate::skin::Skin;

/// Maximum number of updates of the bones.
const MAX_UPDATES: usize = 60;
/// Largest change of an entry of a transform in one update at which the bones have settled; the rest pose has an RMS
/// radius of 1.
const SETTLED: f64 = 1e-5;

/// Returns `skin` with clips that play `animations`: bones of `model` that move the rest pose of the skin closest to the
/// frames. Corrections are dropped, because their coefficients belong to the animations of the skin.
pub fn fit_motion(
    skin: &Skin,
    animations: &[Animation],
    model: BoneModel,
    progress: &dyn Progress,
) -> Result<Skin, FitError> {
    let mesh = skin.mesh();
    check::check_meshes(mesh, animations)?;
    let rows: Vec<Vec<(usize, f64)>> = skin
        .rig()
        .weights()
        .rows()
        .map(|row| {
            row.map(|(bone, weight)| (bone as usize, f64::from(weight))).filter(|entry| entry.1 != 0.0).collect()
        })
        .collect();
    if let Some(row) = rows.iter().find(|row| row.len() > MAX_INFLUENCES) {
        let (value, allowed) = (row.len().to_string(), format!("1 to {MAX_INFLUENCES}"));
        return Err(FitError::Option { what: "the number of influences of a point", value, allowed });
    }
    let influences: Vec<Influences> = rows.into_iter().map(|row| Influences::from_pairs(row.into_iter())).collect();
    let sequences: Vec<_> = animations.iter().map(|animation| animation.sequence.clone()).collect();
    let trajectories = Trajectories::gather(&sequences, mesh.points())?;
    let transforms = best_motion(&trajectories, &influences, skin.bone_count(), model, progress)?;
    let rest = trajectories.rest.clone();
    let state = State { transforms, rest, squared_errors: vec![0.0; influences.len()], influences };
    let infos: Vec<_> = animations.iter().map(clip_info).collect();
    Ok(assemble(mesh, &trajectories, &state, Some(skin.rig().joints()), &infos)?)
}

fn best_motion(
    trajectories: &Trajectories,
    influences: &[Influences],
    bones: usize,
    model: BoneModel,
    progress: &dyn Progress,
) -> Result<Mat<f64>, FitError> {
    let mut transforms = identity_bones(trajectories.frame_count(), bones);
    let alone: Vec<Influences> = influences.iter().map(|row| Influences::of(main_bone(row))).collect();
    update_bones(trajectories, &alone, &trajectories.rest, BoneModel::Rigid, HOLD, &mut transforms);
    for update in 0..MAX_UPDATES {
        let before = transforms.clone();
        update_bones(trajectories, influences, &trajectories.rest, model, HOLD, &mut transforms);
        if progress.report("solving bones", update + 1, MAX_UPDATES).is_break() {
            return Err(FitError::Stopped);
        }
        if (&transforms - &before).norm_max() < SETTLED {
            break;
        }
    }
    Ok(transforms)
}
