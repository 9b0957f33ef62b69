//! Smooth, local and sparse weights, as a step of the alternation.
//!
//! With bones and rest pose fixed, `Σ_i ‖p_i − Σ_b w_ib T_b p̃_i‖² + μ Σ_ij c_ij ‖w_i − w_j‖²` is minimized over the
//! simplex of each point. The couplings c and their unit are those of [`Surface`]; `μ = smoothness · ℓ²N/A · e`, where e is
//! the mean squared error of a point, so that the term is as large as the remaining error and an exact skin stays
//! exact. Points are solved with the weights of their neighbours from the previous step (Jacobi): the mean of these is
//! a prior.
//!
//! Locality: a point can only have bones within [`Surface::rings`] of it. Of the region of a bone, only the connected part
//! with the largest weight is kept, together with parts whose removal would increase the total squared error by more than
//! [`MIN_PART_GAIN`]: if there are few bones, each has to move several limbs.
//! Sparsity: an additional bone must reduce the squared error by at least [`MIN_GAIN`] of e, and weights below [`MIN_WEIGHT`] are dropped.

use glam::DVec3;
use rayon::prelude::*;

use super::rest::{RestPull, best_rest};
use crate::blocks::in_blocks;
use crate::fit::influences::{Influences, Point, Prior, Scratch};
use crate::fit::moments::{Moments, correlate};
use crate::fit::state::State;
use crate::fit::surface::Surface;
use crate::fit::trajectories::Trajectories;

/// Minimum gain of an additional bone, relative to the mean squared error of a point.
const MIN_GAIN: f64 = 0.01;
/// Minimum weight that is kept.
const MIN_WEIGHT: f64 = 0.01;
/// Minimum gain of a further part of the region of a bone, relative to the squared error of all points.
const MIN_PART_GAIN: f64 = 0.05;
/// Squared error below which a fit is exact up to rounding, relative to the squared positions of all points.
const NEGLIGIBLE_ERROR: f64 = 1e-10;
/// Coupling of the displacements of neighbouring points of the rest pose, relative to the curvature of the error.
const REST_COUPLING: f64 = 0.5;

/// Options of [`weigh_locally`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalOptions {
    pub(crate) max_influences: usize,
    pub(crate) smoothness: f64,
    /// Selects the influences again instead of keeping them.
    pub(crate) reselect: bool,
    pub(crate) keep_rest: bool,
}

/// Solves for weights, and unless `keep_rest` for rest positions, with fixed bones.
pub(crate) fn weigh_locally(trajectories: &Trajectories, state: &mut State, surface: &Surface, options: &LocalOptions) {
    let moments = Moments::new(&state.transforms);
    let mean_error = state.squared_error() / trajectories.point_count().max(1) as f64;
    let strength = options.smoothness * surface.density * mean_error;
    let candidates = if options.reselect { nearby_bones(state, surface) } else { Vec::new() };
    let before = &*state;
    let blocks = in_blocks(trajectories.point_count(), |points| {
        let correlations = correlate(&before.transforms, &trajectories.positions, &points);
        let mut scratch = Scratch::default();
        scratch.min_gain = MIN_GAIN * mean_error;
        let mut prior = vec![0.0; before.bone_count()];
        let solve = |index: usize| {
            let coupling = mean_weights(before, surface, index, &mut prior);
            let mut point = Point {
                moments: &moments,
                correlations: correlations.col_as_slice(index - points.start),
                rest: before.rest[index],
                prior: Some(Prior { strength: strength * coupling, weights: &prior }),
            };
            let mut influences = before.influences[index];
            let value = point.weigh(&mut influences);
            if options.reselect {
                let (chosen, chosen_value) =
                    point.choose_among(&candidates[index], options.max_influences, &mut scratch);
                if chosen_value < value + scratch.min_gain * (influences.len() as f64 - chosen.len() as f64) {
                    influences = chosen;
                }
            }
            drop_small(&point, &mut influences);
            if !options.keep_rest {
                let pull = rest_pull(trajectories, before, surface, index);
                point.rest = best_rest(&point, &influences, &pull);
                point.weigh(&mut influences);
            }
            let squared_error = (point.squared_error(&influences) + trajectories.squared_norms[index]).max(0.0);
            (influences, point.rest, squared_error)
        };
        points.clone().map(solve).collect::<Vec<_>>()
    });
    for (index, (influences, rest, squared_error)) in blocks.into_iter().flatten().enumerate() {
        state.influences[index] = influences;
        state.rest[index] = rest;
        state.squared_errors[index] = squared_error;
    }
    let min_gain = MIN_PART_GAIN * state.squared_error();
    keep_main_parts(trajectories, state, surface, options.max_influences, min_gain);
}

/// Writes the mean weights of the neighbours of `point` to `mean`; returns the sum of their couplings.
fn mean_weights(state: &State, surface: &Surface, point: usize, mean: &mut [f64]) -> f64 {
    mean.fill(0.0);
    let mut total = 0.0;
    for (other, coupling) in surface.neighbours(point) {
        total += coupling;
        for (bone, weight) in state.influences[other].iter() {
            mean[bone] += coupling * weight;
        }
    }
    if total > 0.0 {
        for weight in mean.iter_mut() {
            *weight /= total;
        }
    }
    total
}

/// Prior of a rest position: the mean displacement of its neighbours.
fn rest_pull(trajectories: &Trajectories, state: &State, surface: &Surface, point: usize) -> RestPull {
    let (mut sum, mut total) = (DVec3::ZERO, 0.0);
    for (other, coupling) in surface.neighbours(point) {
        sum += coupling * (state.rest[other] - trajectories.rest[other]);
        total += coupling;
    }
    let displacement = if total > 0.0 { sum / total } else { DVec3::ZERO };
    RestPull {
        given: trajectories.rest[point],
        smooth: trajectories.rest[point] + displacement,
        coupling: REST_COUPLING,
    }
}

/// Drops negligible weights and solves for the others again.
fn drop_small(point: &Point<'_>, influences: &mut Influences) {
    let small = influences.iter().any(|(_, weight)| weight < MIN_WEIGHT);
    if small {
        *influences = Influences::from_pairs(influences.iter().filter(|(_, weight)| *weight >= MIN_WEIGHT));
        point.weigh(influences);
        *influences = Influences::from_pairs(influences.iter());
    }
}

/// Bones whose region is within [`Surface::rings`] of each point, ascending.
fn nearby_bones(state: &State, surface: &Surface) -> Vec<Vec<u32>> {
    let mut nearby: Vec<Vec<u32>> = vec![Vec::new(); state.influences.len()];
    for (bone, members) in regions(state).into_iter().enumerate() {
        let mut seen = vec![false; state.influences.len()];
        let mut front: Vec<u32> = members.iter().map(|&(point, _)| point).collect();
        for &point in &front {
            seen[point as usize] = true;
        }
        let mut reached = front.clone();
        for _ in 0..surface.rings {
            let mut next = Vec::new();
            for &point in &front {
                for &other in surface.graph.neighbours(point as usize) {
                    if !std::mem::replace(&mut seen[other as usize], true) {
                        next.push(other);
                    }
                }
            }
            reached.extend(&next);
            front = next;
        }
        for &point in &reached {
            nearby[point as usize].push(bone as u32);
        }
    }
    nearby
}

/// Points of each bone, ascending, with their weights.
fn regions(state: &State) -> Vec<Vec<(u32, f64)>> {
    let mut regions = vec![Vec::new(); state.bone_count()];
    for (point, influences) in state.influences.iter().enumerate() {
        for (bone, weight) in influences.iter() {
            regions[bone].push((point as u32, weight));
        }
    }
    regions
}

/// Removes each bone from all points outside the heaviest connected part of its region, unless a part decreases
/// the squared error by at least `min_gain`. Points that lose all bones get those of their neighbours.
pub(crate) fn keep_main_parts(
    trajectories: &Trajectories,
    state: &mut State,
    surface: &Surface,
    max_influences: usize,
    min_gain: f64,
) {
    let stray = stray_parts(state, surface);
    if stray.is_empty() {
        return;
    }
    let norms: f64 = trajectories.squared_norms.iter().sum();
    let min_gain = min_gain + NEGLIGIBLE_ERROR * norms;
    let gains = part_gains(trajectories, state, surface, max_influences, &stray);
    let dropped = stray.into_iter().zip(gains).filter(|(_, gain)| *gain < min_gain).map(|(part, _)| part);
    remove_parts(state, surface, dropped);
}

/// Removes bones from all points of parts of their regions.
fn remove_parts(state: &mut State, surface: &Surface, parts: impl Iterator<Item = (usize, Vec<u32>)>) {
    let mut orphans = Vec::new();
    for (bone, part) in parts {
        for point in part {
            match state.influences[point as usize].without(bone) {
                Some(rest) => state.influences[point as usize] = rest,
                None => orphans.push(point),
            }
        }
    }
    adopt(state, surface, orphans);
}

/// Removes a bone from all points.
pub(crate) fn remove_bone(state: &mut State, surface: &Surface, bone: usize) {
    let region = regions(state).swap_remove(bone).into_iter().map(|(point, _)| point).collect();
    remove_parts(state, surface, std::iter::once((bone, region)));
}

/// For each bone, the squared error that it saves compared with the other bones in and around its region.
pub(crate) fn bone_gains(
    trajectories: &Trajectories,
    state: &State,
    surface: &Surface,
    max_influences: usize,
) -> Vec<f64> {
    let regions = regions(state).into_iter().enumerate();
    let parts: Vec<(usize, Vec<u32>)> =
        regions.map(|(bone, region)| (bone, region.into_iter().map(|(point, _)| point).collect())).collect();
    part_gains(trajectories, state, surface, max_influences, &parts)
}

/// Connected parts of the regions of all bones, except for the heaviest of each bone.
fn stray_parts(state: &State, surface: &Surface) -> Vec<(usize, Vec<u32>)> {
    let mut stray = Vec::new();
    for (bone, region) in regions(state).into_iter().enumerate() {
        let members: Vec<u32> = region.iter().map(|&(point, _)| point).collect();
        let weight_of = |point: &u32| members.binary_search(point).map_or(0.0, |at| region[at].1);
        let parts = surface.graph.parts(&members);
        let weights: Vec<f64> = parts.iter().map(|part| part.iter().map(weight_of).sum()).collect();
        let main = (0..parts.len()).reduce(|best, next| if weights[next] > weights[best] { next } else { best });
        stray.extend(parts.into_iter().enumerate().filter(|(part, _)| Some(*part) != main).map(|(_, p)| (bone, p)));
    }
    stray
}

/// For each part of the region of a bone, the squared error that the bone saves compared with the other bones in and
/// around the part.
fn part_gains(
    trajectories: &Trajectories,
    state: &State,
    surface: &Surface,
    max_influences: usize,
    parts: &[(usize, Vec<u32>)],
) -> Vec<f64> {
    let moments = Moments::new(&state.transforms);
    let gain = |(bone, part): &(usize, Vec<u32>)| {
        let around = part.iter().flat_map(|&point| surface.graph.neighbours(point as usize)).chain(part);
        let bones = around.flat_map(|&point| state.influences[point as usize].iter().map(|(bone, _)| bone as u32));
        let mut others: Vec<u32> = bones.filter(|&other| other as usize != *bone).collect();
        others.sort_unstable();
        others.dedup();
        if others.is_empty() {
            // A separate shell without a bridge.
            return f64::INFINITY;
        }
        let mut scratch = Scratch::default();
        let saved = |&index: &u32| {
            let index = index as usize;
            let correlations = correlate(&state.transforms, &trajectories.positions, &(index..index + 1));
            let correlations = correlations.col_as_slice(0);
            let point = Point { moments: &moments, correlations, rest: state.rest[index], prior: None };
            let without = point.choose_among(&others, max_influences, &mut scratch).1;
            (without - point.squared_error(&state.influences[index])).max(0.0)
        };
        part.iter().map(saved).sum()
    };
    parts.par_iter().map(gain).collect()
}

/// Gives points without bones the influences of a neighbour, from the outside inwards.
fn adopt(state: &mut State, surface: &Surface, mut orphans: Vec<u32>) {
    let mut orphaned = vec![false; state.influences.len()];
    for &point in &orphans {
        orphaned[point as usize] = true;
    }
    while !orphans.is_empty() {
        let parent = |point: u32| {
            let around = surface.graph.neighbours(point as usize).iter();
            around.copied().find(|&other| !orphaned[other as usize])
        };
        let adopted: Vec<(u32, u32)> = orphans.iter().filter_map(|&point| Some((point, parent(point)?))).collect();
        if adopted.is_empty() {
            return;
        }
        for &(point, parent) in &adopted {
            state.influences[point as usize] = state.influences[parent as usize];
            orphaned[point as usize] = false;
        }
        orphans.retain(|&point| orphaned[point as usize]);
    }
}
