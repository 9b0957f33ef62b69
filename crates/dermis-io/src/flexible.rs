//! Flexible bones: an affine motion as nested nodes, which glTF and USD can hold although each is only T·R·S.
//!
//! With the singular value decomposition `F = U Σ Vᵀ`, a node with translation v, rotation U and scale Σ above a node
//! with rotation Vᵀ is exactly the affine transform (F, v). Between keys, players interpolate U and V along arcs and Σ
//! along lines, so the factors must follow the motion. They are free in three ways:
//!
//! - the singular values may stand in any order and the vectors turn about in pairs: `U P`, `PᵀΣP`, `V P` with the 24
//!   rotations P of the cube;
//! - signs may move from U into Σ in pairs: `U D`, `DΣ`, V with the 4 even sign changes D. That is also how a bone
//!   passes through a reflection: one scale changes its sign;
//! - where singular values are equal, their vectors may turn together by any angle.
//!
//! Of these 96 candidates each frame takes the one whose half-way transform to the frame before lies nearest to the mean
//! of the two, which is what a viewer sees; then equal values are turned towards the frame before. The first frame takes
//! the one nearest to `V = 1`, so that a bone without shear needs no second node's rotation.

use dermis_math::svd3::svd3;
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// Singular values that differ by less than this, relative to the largest, count as equal. Turning their vectors then
/// changes the product by as much, which f32 hardly shows.
const EQUAL: f64 = 1e-6;

/// One frame of a flexible bone: the product of translation, rotation `u`, scale `sigma` and rotation `v` inverted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factors {
    pub translation: DVec3,
    pub u: DQuat,
    pub sigma: DVec3,
    pub v: DQuat,
}

impl Factors {
    /// The linear part, `U Σ Vᵀ`.
    fn linear(&self) -> DMat3 {
        product(self.u, self.sigma, self.v)
    }
}

/// The factors of a bone's transforms, continuous from each frame to the next.
pub(crate) fn factor_motion(transforms: impl IntoIterator<Item = DAffine3>) -> Vec<Factors> {
    let choices = Choices::new();
    let mut frames: Vec<Factors> = Vec::new();
    for transform in transforms {
        let factors = proper(transform);
        frames.push(match frames.last() {
            Some(before) => choices.follow(before, &factors),
            None => choices.begin(&factors),
        });
    }
    frames
}

/// The singular value decomposition with rotations, reflections moved into the sign of the smallest scale.
fn proper(transform: DAffine3) -> Factors {
    let mut svd = svd3(transform.matrix3);
    for side in [&mut svd.u, &mut svd.v] {
        if side.determinant() < 0.0 {
            side.z_axis = -side.z_axis;
            svd.sigma.z = -svd.sigma.z;
        }
    }
    let (u, v) = (DQuat::from_mat3(&svd.u).normalize(), DQuat::from_mat3(&svd.v).normalize());
    Factors { translation: transform.translation, u, sigma: svd.sigma, v }
}

/// The ways to reorder and to turn about the axes of a decomposition.
struct Choices {
    /// The rotations of the cube, and where each puts the axes.
    turns: Vec<(DQuat, [usize; 3])>,
    /// Even sign changes, as half turns and as signs.
    flips: [(DQuat, DVec3); 4],
}

impl Choices {
    fn new() -> Self {
        let mut turns = Vec::new();
        for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]] {
            for signs in 0..8u8 {
                let column = |k: usize| {
                    let sign = if signs & (1 << k) == 0 { 1.0 } else { -1.0 };
                    sign * DMat3::IDENTITY.col(order[k])
                };
                let matrix = DMat3::from_cols(column(0), column(1), column(2));
                if matrix.determinant() > 0.0 {
                    turns.push((DQuat::from_mat3(&matrix), order));
                }
            }
        }
        let half_turn = |x, y, z| (DQuat::from_xyzw(x, y, z, 0.0), 2.0 * DVec3::new(x, y, z) - 1.0);
        let flips = [
            (DQuat::IDENTITY, DVec3::ONE),
            half_turn(1.0, 0.0, 0.0),
            half_turn(0.0, 1.0, 0.0),
            half_turn(0.0, 0.0, 1.0),
        ];
        Self { turns, flips }
    }

    /// All factors with the same product.
    fn of<'a>(&'a self, factors: &'a Factors) -> impl Iterator<Item = Factors> + 'a {
        let turned = |&(turn, order): &(DQuat, [usize; 3])| {
            let sigma = DVec3::from(order.map(|axis| factors.sigma[axis]));
            Factors { u: factors.u * turn, sigma, v: factors.v * turn, ..*factors }
        };
        let flipped = |factors: Factors| {
            self.flips.iter().map(move |(half_turn, signs)| Factors {
                u: factors.u * *half_turn,
                sigma: *signs * factors.sigma,
                ..factors
            })
        };
        self.turns.iter().map(turned).flat_map(flipped)
    }

    /// The factors for a first frame: scales positive as far as they can be, V near to no rotation.
    fn begin(&self, factors: &Factors) -> Factors {
        let rotation = (factors.u * factors.v.inverse()).normalize();
        let unsheared = Factors { u: rotation, v: DQuat::IDENTITY, ..*factors };
        let negative = |candidate: &Factors| candidate.sigma.to_array().iter().filter(|scale| **scale < 0.0).count();
        // Aligned before they are compared: where all values are equal, every candidate can have V = 1.
        let candidates = self.of(factors).map(|candidate| turn_equal(&unsheared, candidate));
        least(candidates, |candidate| negative(candidate) as f64 + 1.0 - candidate.v.w.abs())
    }

    /// The factors that follow `before` most smoothly.
    fn follow(&self, before: &Factors, factors: &Factors) -> Factors {
        let mean = 0.5 * (before.linear() + factors.linear());
        let detour = |candidate: &Factors| distance_squared(half_way(before, candidate), mean);
        let best = least(self.of(factors), detour);
        let turned = turn_equal(before, best);
        same_hemisphere(before, if detour(&turned) <= detour(&best) { turned } else { best })
    }
}

/// The first candidate of least cost.
fn least(candidates: impl Iterator<Item = Factors>, cost: impl Fn(&Factors) -> f64) -> Factors {
    let costs = candidates.map(|candidate| (cost(&candidate), candidate));
    let best = costs.reduce(|best, next| if next.0 < best.0 { next } else { best });
    best.map_or_else(|| proper(DAffine3::IDENTITY), |(_, factors)| factors)
}

/// What a player shows half-way between two keys.
fn half_way(a: &Factors, b: &Factors) -> DMat3 {
    let middle = |a: DQuat, b: DQuat| {
        let sum = if a.dot(b) < 0.0 { a - b } else { a + b };
        sum.normalize()
    };
    product(middle(a.u, b.u), 0.5 * (a.sigma + b.sigma), middle(a.v, b.v))
}

fn product(u: DQuat, sigma: DVec3, v: DQuat) -> DMat3 {
    DMat3::from_quat(u) * DMat3::from_diagonal(sigma) * DMat3::from_quat(v).transpose()
}

fn distance_squared(a: DMat3, b: DMat3) -> f64 {
    let difference = a - b;
    difference.x_axis.length_squared() + difference.y_axis.length_squared() + difference.z_axis.length_squared()
}

/// Turns the vectors of equal singular values, left and right alike, towards those of `before`.
fn turn_equal(before: &Factors, factors: Factors) -> Factors {
    let sigma = factors.sigma;
    let tolerance = EQUAL * sigma.abs().max_element();
    let equal = |i: usize, j: usize| (sigma[i] - sigma[j]).abs() <= tolerance;
    if equal(0, 1) && equal(1, 2) && equal(0, 2) {
        let turn = factors.v.inverse() * before.v;
        return Factors { u: (factors.u * turn).normalize(), v: before.v, ..factors };
    }
    let pair = [(0, 1), (1, 2), (2, 0)].into_iter().find(|&(i, j)| equal(i, j));
    pair.map_or(factors, |(i, j)| turn_pair(before, factors, i, j))
}

/// Turns the vectors i and j in their plane to where they agree best with those of `before`.
fn turn_pair(before: &Factors, factors: Factors, i: usize, j: usize) -> Factors {
    let (mut along, mut across) = (0.0, 0.0);
    for (old, new) in [(before.u, factors.u), (before.v, factors.v)] {
        let (old, new) = (DMat3::from_quat(old), DMat3::from_quat(new));
        along += new.col(i).dot(old.col(i)) + new.col(j).dot(old.col(j));
        across += new.col(j).dot(old.col(i)) - new.col(i).dot(old.col(j));
    }
    // (i, j) is an even pair of axes, so the turn from i to j is positive about the third.
    let turn = DQuat::from_axis_angle(DMat3::IDENTITY.col(3 - i - j), f64::atan2(across, along));
    Factors { u: (factors.u * turn).normalize(), v: (factors.v * turn).normalize(), ..factors }
}

/// A quaternion and its negative are the same rotation; players that do not look interpolate the long way round.
fn same_hemisphere(before: &Factors, mut factors: Factors) -> Factors {
    for (old, new) in [(before.u, &mut factors.u), (before.v, &mut factors.v)] {
        if old.dot(*new) < 0.0 {
            *new = -*new;
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much farther than 1.5 times the distance of the keys any point of the unit ball strays half-way.
    fn overshoot(frames: &[Factors]) -> f64 {
        let pairs = frames.windows(2).map(|pair| {
            let middle = half_way(&pair[0], &pair[1]);
            let norm = |m: DMat3| svd3(m).sigma.x;
            let apart = norm(pair[0].linear() - pair[1].linear());
            norm(middle - pair[0].linear()).max(norm(middle - pair[1].linear())) - 1.5 * apart
        });
        pairs.fold(0.0, f64::max)
    }

    fn assert_exact(transforms: &[DAffine3], frames: &[Factors]) {
        for (transform, factors) in transforms.iter().zip(frames) {
            let error = distance_squared(transform.matrix3, factors.linear()).sqrt();
            assert!(error <= 4.0 * EQUAL * svd3(transform.matrix3).sigma.x, "{transform:?} is off by {error}");
            assert!(factors.u.is_normalized() && factors.v.is_normalized());
        }
    }

    fn smooth(frame: usize, stretch: f64) -> DAffine3 {
        let t = frame as f64 / 24.0;
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, 2.0 * t, (3.0 * t).sin(), 5.0 * t);
        let strain = DMat3::from_cols_array(&[
            1.0 + stretch * (7.0 * t).sin(),
            stretch * (5.0 * t).cos(),
            0.0,
            stretch * t.sin(),
            1.0 - stretch * (3.0 * t).cos(),
            stretch * (4.0 * t).sin(),
            0.0,
            0.3 * stretch,
            1.0 + stretch * (2.0 * t).cos(),
        ]);
        DAffine3 { matrix3: DMat3::from_quat(turn) * strain, translation: DVec3::new(t, 1.0, 0.0) }
    }

    #[test]
    fn there_are_96_ways_to_say_the_same() {
        let factors = proper(smooth(3, 0.3));
        let all: Vec<Factors> = Choices::new().of(&factors).collect();
        assert_eq!(all.len(), 96);
        assert!(all.iter().all(|candidate| distance_squared(candidate.linear(), factors.linear()) < 1e-24));
    }

    #[test]
    fn smooth_motion_stays_smooth_between_keys_however_close_the_singular_values_are() {
        for stretch in [0.4, 1e-2, 1e-4, 1e-6, 1e-8, 0.0] {
            let transforms: Vec<DAffine3> = (0..200).map(|frame| smooth(frame, stretch)).collect();
            let frames = factor_motion(transforms.iter().copied());
            assert_exact(&transforms, &frames);
            assert!(overshoot(&frames) <= 1e-9, "stretch {stretch}: {}", overshoot(&frames));
            let turned = |pair: &[Factors]| pair[0].u.dot(pair[1].u) >= 0.0 && pair[0].v.dot(pair[1].v) >= 0.0;
            assert!(frames.windows(2).all(turned));
        }
    }

    #[test]
    fn rigid_and_scaled_bones_need_no_second_rotation() {
        let transforms: Vec<DAffine3> = (0..50)
            .map(|frame| {
                let scale = if frame < 25 { DVec3::ONE } else { DVec3::new(1.0, 2.0, 3.0) };
                smooth(frame, 0.0) * DAffine3::from_scale(scale)
            })
            .collect();
        for half in [&transforms[..25], &transforms[25..]] {
            let frames = factor_motion(half.iter().copied());
            assert_exact(half, &frames);
            assert!(frames.iter().all(|factors| factors.v.w.abs() > 1.0 - 1e-9), "{frames:?}");
        }
    }

    #[test]
    fn a_bone_passes_through_a_reflection_with_one_scale() {
        let squash =
            |frame: i32| smooth(0, 0.2) * DAffine3::from_scale(DVec3::new(1.0, 1.2, f64::from(5 - frame) / 5.0));
        let transforms: Vec<DAffine3> = (0..11).map(squash).collect();
        let frames = factor_motion(transforms.iter().copied());
        assert_exact(&transforms, &frames);
        assert!(overshoot(&frames) <= 1e-9, "{}", overshoot(&frames));
    }

    #[test]
    fn unrelated_transforms_are_exact_at_their_keys() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
        };
        let transforms: Vec<DAffine3> =
            (0..300).map(|_| DAffine3::from_cols_array(&std::array::from_fn(|_| random()))).collect();
        let frames = factor_motion(transforms.iter().copied());
        assert_exact(&transforms, &frames);
        assert!(overshoot(&frames) <= 1e-9, "{}", overshoot(&frames));
        assert_exact(&[DAffine3::ZERO], &factor_motion([DAffine3::ZERO]));
    }
}
