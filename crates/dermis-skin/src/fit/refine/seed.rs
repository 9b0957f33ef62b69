//! Initial bones: a partition of the points into a given number of bones, and new seeds for bones without points.
//!
//! The partition splits clusters: starting from one bone, the clusters with the largest error are split in two, all
//! points are assigned to the bone that predicts them best, and bones are fitted to their points again, until the number
//! of bones is reached. A cluster is split halfway between its centre and its worst point, which needs no eigenvectors
//! and also works for clusters that consist of several shells.

use faer::Mat;
use glam::DVec3;

use super::bones::{HOLD, update_bones};
use super::local_weights::keep_main_parts;
use crate::blocks::in_blocks;
use crate::bone_model::BoneModel;
use crate::fit::influences::{Influences, Point};
use crate::fit::moments::{Moments, correlate};
use crate::fit::state::State;
use crate::fit::surface::Surface;
use crate::fit::trajectories::Trajectories;

/// Minimum number of points of a cluster that is split: four points determine an affine bone exactly.
const MIN_SPLIT_POINTS: usize = 8;
/// Number of assignments and fits after each round of splits.
const SETTLING: usize = 3;
/// The alternation ends if fewer than one point in this many changes its bone.
const SETTLED: usize = 200;
/// Number of assignments and fits after the last split.
const LAST_SETTLING: usize = 12;
/// Minimum distortion by which a separate part of a cluster decreases the error. It is relative to the motion, not to the
/// error, which is large while there are few clusters.
const MIN_PART_DISTORTION: f64 = 0.005;
/// Minimum weight of a bone's points, relative to an average bone; bones below it are seeded again.
const MIN_BONE_FRACTION: f64 = 1e-3;

/// Assigns each point to one of at most `bones` bones; fewer if the motion needs no more or has too few points.
pub(crate) fn partition(
    trajectories: &Trajectories,
    surface: Option<&Surface>,
    bones: usize,
    model: BoneModel,
) -> State {
    let points = trajectories.point_count();
    let mut state = State {
        transforms: identity_bones(trajectories.frame_count(), 1),
        rest: trajectories.rest.clone(),
        influences: vec![Influences::of(0); points],
        squared_errors: vec![0.0; points],
    };
    settle(trajectories, &mut state, surface, model, SETTLING);
    while state.bone_count() < bones {
        let split = split_worst(trajectories, &mut state, bones);
        if split == 0 {
            break;
        }
        settle(trajectories, &mut state, surface, model, SETTLING);
    }
    settle(trajectories, &mut state, surface, model, LAST_SETTLING);
    state
}

/// Alternates between fitting bones to their points and assigning points to bones, until few change or for `rounds`
/// rounds.
fn settle(trajectories: &Trajectories, state: &mut State, surface: Option<&Surface>, model: BoneModel, rounds: usize) {
    for _ in 0..rounds {
        update_bones(trajectories, &state.influences, &state.rest, model, HOLD, &mut state.transforms);
        let before = state.influences.clone();
        assign(trajectories, state);
        if let Some(surface) = surface {
            let min_gain = MIN_PART_DISTORTION * MIN_PART_DISTORTION * trajectories.variation;
            keep_main_parts(trajectories, state, surface, 1, min_gain);
        }
        let changed = before.iter().zip(&state.influences).filter(|(before, after)| before != after).count();
        if changed * SETTLED <= before.len() {
            break;
        }
    }
    update_bones(trajectories, &state.influences, &state.rest, model, HOLD, &mut state.transforms);
}

/// Assigns every point to the bone that predicts it best.
pub(crate) fn assign(trajectories: &Trajectories, state: &mut State) {
    let moments = Moments::new(&state.transforms);
    let blocks = in_blocks(trajectories.point_count(), |points| {
        let correlations = correlate(&state.transforms, &trajectories.positions, &points);
        let best = |index: usize| {
            let correlations = correlations.col_as_slice(index - points.start);
            Point { moments: &moments, correlations, rest: state.rest[index], prior: None }.best_bone()
        };
        points.clone().map(best).collect::<Vec<_>>()
    });
    for (index, (bone, value)) in blocks.into_iter().flatten().enumerate() {
        state.influences[index] = Influences::of(bone);
        state.squared_errors[index] = (value + trajectories.squared_norms[index]).max(0.0);
    }
}

/// Splits up to half of the clusters, those with the largest error first; returns the number of splits.
fn split_worst(trajectories: &Trajectories, state: &mut State, bones: usize) -> usize {
    let count = state.bone_count();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (index, influences) in state.influences.iter().enumerate() {
        for (bone, _) in influences.iter() {
            members[bone].push(index);
        }
    }
    // Below this the motion is exact to rounding and an additional bone has no effect.
    let negligible = 1e-14 * trajectories.squared_norms.iter().sum::<f64>() / count as f64;
    let error = |bone: usize| members[bone].iter().map(|&index| state.squared_errors[index]).sum::<f64>();
    let mut order: Vec<(f64, usize)> = (0..count).map(|bone| (error(bone), bone)).collect();
    order.retain(|&(error, bone)| error > negligible && members[bone].len() >= MIN_SPLIT_POINTS);
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.truncate((bones - count).min(count.div_ceil(2)));
    for (new, &(_, bone)) in order.iter().enumerate() {
        for index in far_side(state, &members[bone]) {
            state.influences[index] = Influences::of(count + new);
        }
    }
    append_bones(state, order.iter().map(|&(_, bone)| bone));
    order.len()
}

/// Points of a cluster that are nearer to its worst point than to its centre; at least that point.
fn far_side(state: &State, members: &[usize]) -> Vec<usize> {
    let centre = members.iter().map(|&index| state.rest[index]).sum::<DVec3>() / members.len() as f64;
    let worst = worst_of(state, members.iter().copied());
    let seed = state.rest[worst];
    let nearer = |&index: &usize| {
        let rest = state.rest[index];
        index == worst || rest.distance_squared(seed) < rest.distance_squared(centre)
    };
    members.iter().copied().filter(nearer).collect()
}

fn worst_of(state: &State, points: impl Iterator<Item = usize>) -> usize {
    points
        .fold(None, |worst: Option<usize>, next| match worst {
            Some(worst) if state.squared_errors[worst] >= state.squared_errors[next] => Some(worst),
            _ => Some(next),
        })
        .unwrap_or(0)
}

/// Moves bones with negligible weight to the neighbourhood of the worst point, which they then move alone.
pub(crate) fn revive_bones(trajectories: &Trajectories, state: &mut State) {
    let bones = state.bone_count();
    let mut masses = vec![0.0; bones];
    for influences in &state.influences {
        for (bone, weight) in influences.iter() {
            masses[bone] += weight;
        }
    }
    let limit = MIN_BONE_FRACTION * trajectories.point_count() as f64 / bones as f64;
    for bone in (0..bones).filter(|&bone| masses[bone] < limit) {
        let worst = worst_of(state, 0..trajectories.point_count());
        if state.squared_errors[worst] <= 1e-14 * trajectories.squared_norms[worst] {
            return;
        }
        for index in surroundings(state, worst, 2 * MIN_SPLIT_POINTS) {
            state.influences[index] = Influences::of(bone);
            state.squared_errors[index] = 0.0;
        }
        let (from, to) = (state.influences[worst].iter().next().map_or(0, |(bone, _)| bone), bone);
        copy_bone(&mut state.transforms, from, to);
    }
}

/// Splits the bone whose points have the largest error, except for the `skip` largest. Returns false if there is none.
pub(crate) fn split_bone(trajectories: &Trajectories, state: &mut State, skip: usize) -> bool {
    let bones = state.bone_count();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); bones];
    let mut errors = vec![0.0; bones];
    for (index, influences) in state.influences.iter().enumerate() {
        for (bone, weight) in influences.iter() {
            errors[bone] += weight * state.squared_errors[index];
        }
        members[main_bone(influences)].push(index);
    }
    let mut order: Vec<usize> = (0..bones).filter(|&bone| members[bone].len() >= MIN_SPLIT_POINTS).collect();
    order.sort_by(|&a, &b| errors[b].total_cmp(&errors[a]).then(a.cmp(&b)));
    let negligible = 1e-14 * trajectories.squared_norms.iter().sum::<f64>() / bones as f64;
    let Some(&bone) = order.get(skip).filter(|&&bone| errors[bone] > negligible) else { return false };
    for index in far_side(state, &members[bone]) {
        state.influences[index] = Influences::of(bones);
    }
    append_bones(state, std::iter::once(bone));
    update_bones(trajectories, &state.influences, &state.rest, BoneModel::Rigid, HOLD, &mut state.transforms);
    true
}

/// Bone with the largest weight.
pub(crate) fn main_bone(influences: &Influences) -> usize {
    influences.iter().fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best }).0
}

/// The `count` points nearest to `centre` in the rest pose.
fn surroundings(state: &State, centre: usize, count: usize) -> Vec<usize> {
    let seed = state.rest[centre];
    let mut near: Vec<(f64, usize)> =
        state.rest.iter().enumerate().map(|(index, rest)| (rest.distance_squared(seed), index)).collect();
    let count = count.min(near.len());
    near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    near.truncate(count);
    near.into_iter().map(|(_, index)| index).collect()
}

pub(crate) fn identity_bones(frames: usize, bones: usize) -> Mat<f64> {
    Mat::from_fn(3 * frames, 4 * bones, |row, column| f64::from(u8::from(row % 3 == column % 4)))
}

fn append_bones(state: &mut State, copies_of: impl Iterator<Item = usize>) {
    let former = &state.transforms;
    let sources: Vec<usize> = (0..state.bone_count()).chain(copies_of).collect();
    state.transforms = Mat::from_fn(former.nrows(), 4 * sources.len(), |row, column| {
        former[(row, 4 * sources[column / 4] + column % 4)]
    });
}

fn copy_bone(transforms: &mut Mat<f64>, from: usize, to: usize) {
    for k in 0..4 {
        let column = transforms.col_as_slice(4 * from + k).to_vec();
        transforms.col_as_slice_mut(4 * to + k).copy_from_slice(&column);
    }
}
