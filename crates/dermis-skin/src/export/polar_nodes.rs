//! Flexible bones: an affine motion as nested nodes, each of which is only T·R·S.
//!
//! With the polar decomposition `F = R S` and `S = V Σ Vᵀ`, a node with translation v and rotation R, above one with
//! rotation V and scale Σ, above one with rotation Vᵀ, is exactly the affine transform (F, v). Between keys and in
//! cross-fades, players interpolate R and V along arcs and Σ along lines. R is continuous, and positive scales stay
//! between those of both sides for any V, so no intermediate pose is stretched beyond both. (Two nodes `U Σ`
//! and `Vᵀ` are also exact at keys, but tear in cross-fades: U contains part of the rotation of V.)
//!
//! V is not unique: the singular values can be in any order, `V C` and `CᵀΣC` with the 24 rotations C of the cube, and
//! the vectors of equal values can be rotated in their plane. Equal values are rotated towards one reference V₀ of the
//! bone, the principal axes of its strain over all clips. C is chosen for each clip as a whole by dynamic programming
//! (Viterbi), which minimizes the sum over frames of the deviation of the strain halfway to the next frame, plus
//! [`ALIKE`] times its deviation halfway to V₀. V is therefore similar in all clips, and changes abruptly only if
//! necessary.
//!
//! A reflection is a negative scale. It is assigned to the axis for which R is nearest to that of the previous frame. If
//! a bone is squashed through a plane, a single scale therefore passes through 0.

use dermis_math::svd3::svd3;
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// Singular values that differ by less than this, relative to the largest, count as equal. Rotating their vectors then
/// changes the product by as much, which is below the resolution of f32.
const EQUAL: f64 = 1e-6;
/// Weight of the distance from the reference relative to the smoothness from frame to frame.
const ALIKE: f64 = 0.05;
/// Number of rotations of the cube.
const ROTATIONS: usize = 24;

/// One frame of a flexible bone: the product of translation, rotation `r`, and strain `V Σ Vᵀ`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolarFactors {
    /// Translation of the bone.
    pub translation: DVec3,
    /// Rotation R of the bone.
    pub r: DQuat,
    /// Rotation V from the principal axes of the strain.
    pub v: DQuat,
    /// Scales Σ along the principal axes.
    pub sigma: DVec3,
}

impl PolarFactors {
    fn strain(&self) -> DMat3 {
        strain(self.v, self.sigma)
    }
}

/// Factors of a bone's transforms in all clips, continuous from frame to frame and similar in all clips.
pub fn polar_factors(clips: &[Vec<DAffine3>]) -> Vec<Vec<PolarFactors>> {
    let mut factors: Vec<Vec<PolarFactors>> = clips.iter().map(|clip| decompose_clip(clip)).collect();
    let cube = Cube::new();
    let reference = cube.reference(factors.iter().flatten());
    for clip in &mut factors {
        for frame in clip.iter_mut() {
            *frame = align_equal(reference, *frame);
        }
        for (frame, choice) in cube.choices(reference, clip).into_iter().enumerate() {
            let chosen = cube.apply(&clip[frame], choice);
            let before = frame.checked_sub(1).map(|before| clip[before]);
            // A quaternion and its negative are the same rotation; not all players interpolate along the shorter arc.
            let near = |rotation: DQuat, to: DQuat| if rotation.dot(to) < 0.0 { -rotation } else { rotation };
            let r = near(chosen.r, before.map_or(DQuat::IDENTITY, |before| before.r));
            clip[frame] = PolarFactors { r, v: near(chosen.v, before.map_or(reference, |before| before.v)), ..chosen };
        }
    }
    factors
}

fn decompose_clip(clip: &[DAffine3]) -> Vec<PolarFactors> {
    let mut frames: Vec<PolarFactors> = Vec::with_capacity(clip.len());
    for &transform in clip {
        let factors = decompose(transform);
        frames.push(frames.last().map_or(factors, |before| reflect_alike(before.r, factors)));
    }
    frames
}

/// Moves the sign of a reflection to the scale for which the rotation is nearest to `before`.
fn reflect_alike(before: DQuat, factors: PolarFactors) -> PolarFactors {
    if factors.sigma.element_product() >= 0.0 {
        return factors;
    }
    let half_turn = |axis: DVec3| PolarFactors {
        r: factors.r * factors.v * DQuat::from_vec4(axis.extend(0.0)) * factors.v.inverse(),
        sigma: (2.0 * axis - 1.0) * factors.sigma,
        ..factors
    };
    let candidates = DVec3::AXES.into_iter().map(half_turn);
    let nearer = |a: PolarFactors, b: PolarFactors| if b.r.dot(before).abs() > a.r.dot(before).abs() { b } else { a };
    candidates.fold(factors, nearer)
}

/// Polar and spectral decomposition; a reflection is the sign of the smallest scale.
fn decompose(transform: DAffine3) -> PolarFactors {
    let mut svd = svd3(transform.matrix3);
    if svd.u.determinant() * svd.v.determinant() < 0.0 {
        svd.u.z_axis = -svd.u.z_axis;
        svd.sigma.z = -svd.sigma.z;
    }
    let r = DQuat::from_mat3(&(svd.u * svd.v.transpose())).normalize();
    PolarFactors { translation: transform.translation, r, v: proper_rotation(svd.v), sigma: svd.sigma }
}

/// Rotation given by orthonormal axes; the last axis is reversed if they are left-handed.
fn proper_rotation(mut axes: DMat3) -> DQuat {
    if axes.determinant() < 0.0 {
        axes.z_axis = -axes.z_axis;
    }
    DQuat::from_mat3(&axes).normalize()
}

fn strain(v: DQuat, sigma: DVec3) -> DMat3 {
    let v = DMat3::from_quat(v);
    v * DMat3::from_diagonal(sigma) * v.transpose()
}

/// Rotation halfway between two rotations, as players interpolate.
fn middle(a: DQuat, b: DQuat) -> DQuat {
    let sum = if a.dot(b) < 0.0 { a - b } else { a + b };
    sum.normalize()
}

fn distance_squared(a: DMat3, b: DMat3) -> f64 {
    let difference = a - b;
    difference.x_axis.length_squared() + difference.y_axis.length_squared() + difference.z_axis.length_squared()
}

/// Rotations of the cube, which permute the principal axes.
struct Cube {
    rotations: [DQuat; ROTATIONS],
    /// The axis that each rotation makes the first, second and third.
    orders: [[usize; 3]; ROTATIONS],
    /// `quotients[q][p]` is the index of `C_q C_p⁻¹`.
    quotients: [[usize; ROTATIONS]; ROTATIONS],
}

impl Cube {
    fn new() -> Self {
        let mut rotations = [DQuat::IDENTITY; ROTATIONS];
        let mut orders = [[0, 1, 2]; ROTATIONS];
        let mut count = 0;
        for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]] {
            for signs in 0..8u8 {
                let sign = |k: usize| if signs & (1 << k) == 0 { 1.0 } else { -1.0 };
                let column = |k: usize| sign(k) * DMat3::IDENTITY.col(order[k]);
                let matrix = DMat3::from_cols(column(0), column(1), column(2));
                if matrix.determinant() > 0.0 {
                    (rotations[count], orders[count]) = (DQuat::from_mat3(&matrix), order);
                    count += 1;
                }
            }
        }
        let nearest = |rotation: DQuat| {
            let likeness = |k: usize| rotations[k].dot(rotation).abs();
            (1..ROTATIONS).fold(0, |best, k| if likeness(k) > likeness(best) { k } else { best })
        };
        let quotient = |q: usize, p: usize| nearest(rotations[q] * rotations[p].inverse());
        let quotients = std::array::from_fn(|q| std::array::from_fn(|p| quotient(q, p)));
        Self { rotations, orders, quotients }
    }

    /// The same transform with its principal axes permuted by rotation `choice`.
    fn apply(&self, factors: &PolarFactors, choice: usize) -> PolarFactors {
        let sigma = DVec3::from(self.orders[choice].map(|axis| factors.sigma[axis]));
        PolarFactors { v: (factors.v * self.rotations[choice]).normalize(), sigma, ..*factors }
    }

    /// V₀: principal axes of the strain of all frames, ordered so that V₀ is as near as possible to the identity.
    fn reference<'a>(&self, frames: impl Iterator<Item = &'a PolarFactors>) -> DQuat {
        let (mut spread, mut size) = (DMat3::ZERO, 0.0);
        for frame in frames {
            let mean = frame.sigma.element_sum() / 3.0;
            let deviation = strain(frame.v, frame.sigma - mean);
            spread += deviation * deviation;
            size += frame.sigma.length_squared();
        }
        let axes = svd3(spread);
        if !spread.is_finite() || axes.sigma.x <= EQUAL * EQUAL * size {
            return DQuat::IDENTITY;
        }
        let v = proper_rotation(axes.u);
        let candidates = self.rotations.iter().map(|&rotation| v * rotation);
        candidates.reduce(|best, next| if next.w.abs() > best.w.abs() { next } else { best }).unwrap_or(v)
    }

    /// Rotation of the cube for each frame of a clip: the cheapest path.
    fn choices(&self, reference: DQuat, clip: &[PolarFactors]) -> Vec<usize> {
        let Some(first) = clip.first() else { return Vec::new() };
        let mut costs = self.unlike(reference, first);
        let mut origins: Vec<[usize; ROTATIONS]> = Vec::with_capacity(clip.len());
        for pair in clip.windows(2) {
            let steps = self.detours(&pair[0], &pair[1]);
            let own = self.unlike(reference, &pair[1]);
            let cost = |q: usize, p: usize| costs[p] + steps[self.quotients[q][p]];
            let origin: [usize; ROTATIONS] = std::array::from_fn(|q| least(|p| cost(q, p)));
            costs = std::array::from_fn(|q| cost(q, origin[q]) + own[q]);
            origins.push(origin);
        }
        let mut choice = least(|q| costs[q]);
        let mut choices = vec![choice];
        for origin in origins.iter().rev() {
            choice = origin[choice];
            choices.push(choice);
        }
        choices.reverse();
        choices
    }

    /// Deviation of the strain halfway to the reference, for each rotation.
    fn unlike(&self, reference: DQuat, frame: &PolarFactors) -> [f64; ROTATIONS] {
        let exact = frame.strain();
        std::array::from_fn(|k| {
            let named = self.apply(frame, k);
            ALIKE * distance_squared(strain(middle(named.v, reference), named.sigma), exact)
        })
    }

    /// Deviation of the strain halfway from the mean, for each rotation of the second frame relative to the first.
    fn detours(&self, first: &PolarFactors, second: &PolarFactors) -> [f64; ROTATIONS] {
        let mean = 0.5 * (first.strain() + second.strain());
        std::array::from_fn(|k| {
            let named = self.apply(second, k);
            distance_squared(strain(middle(first.v, named.v), 0.5 * (first.sigma + named.sigma)), mean)
        })
    }
}

/// First rotation of minimum cost.
fn least(cost: impl Fn(usize) -> f64) -> usize {
    (1..ROTATIONS).fold(0, |best, next| if cost(next) < cost(best) { next } else { best })
}

/// Rotates the principal axes of equal scales towards the reference.
fn align_equal(reference: DQuat, factors: PolarFactors) -> PolarFactors {
    let sigma = factors.sigma;
    let tolerance = EQUAL * sigma.abs().max_element();
    let equal = |i: usize, j: usize| (sigma[i] - sigma[j]).abs() <= tolerance;
    if equal(0, 1) && equal(1, 2) && equal(0, 2) {
        return PolarFactors { v: reference, ..factors };
    }
    let pair = [(0, 1), (1, 2), (2, 0)].into_iter().find(|&(i, j)| equal(i, j));
    pair.map_or(factors, |(i, j)| {
        let (old, new) = (DMat3::from_quat(reference), DMat3::from_quat(factors.v));
        let along = new.col(i).dot(old.col(i)) + new.col(j).dot(old.col(j));
        let across = new.col(j).dot(old.col(i)) - new.col(i).dot(old.col(j));
        // (i, j) is an even pair of axes, so the rotation from i to j is positive about the third.
        let rotation = DQuat::from_axis_angle(DMat3::IDENTITY.col(3 - i - j), f64::atan2(across, along));
        PolarFactors { v: (factors.v * rotation).normalize(), ..factors }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(factors: &PolarFactors) -> DMat3 {
        DMat3::from_quat(factors.r) * factors.strain()
    }

    fn half_way(a: &PolarFactors, b: &PolarFactors) -> DMat3 {
        DMat3::from_quat(middle(a.r, b.r)) * strain(middle(a.v, b.v), 0.5 * (a.sigma + b.sigma))
    }

    fn norm(matrix: DMat3) -> f64 {
        svd3(matrix).sigma.x
    }

    fn factors_of(transforms: &[DAffine3]) -> Vec<PolarFactors> {
        polar_factors(&[transforms.to_vec()]).remove(0)
    }

    /// Largest distance of any point of the unit ball halfway from its keys, beyond 1.5 times the distance of the
    /// keys.
    fn overshoot(frames: &[PolarFactors]) -> f64 {
        let pairs = frames.windows(2).map(|pair| {
            let middle = half_way(&pair[0], &pair[1]);
            let apart = norm(linear(&pair[0]) - linear(&pair[1]));
            norm(middle - linear(&pair[0])).max(norm(middle - linear(&pair[1]))) - 1.5 * apart
        });
        pairs.fold(0.0, f64::max)
    }

    fn assert_exact(transforms: &[DAffine3], frames: &[PolarFactors]) {
        for (transform, factors) in transforms.iter().zip(frames) {
            let error = distance_squared(transform.matrix3, linear(factors)).sqrt();
            assert!(error <= 4.0 * EQUAL * norm(transform.matrix3), "{transform:?} is off by {error}");
            assert!(factors.r.is_normalized() && factors.v.is_normalized());
        }
    }

    fn smooth(frame: usize, stretch: f64) -> DAffine3 {
        let t = frame as f64 / 24.0;
        let rotation = DQuat::from_euler(glam::EulerRot::XYZ, 2.0 * t, (3.0 * t).sin(), 5.0 * t);
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
        DAffine3 { matrix3: DMat3::from_quat(rotation) * strain, translation: DVec3::new(t, 1.0, 0.0) }
    }

    #[test]
    fn permuting_the_axes_preserves_the_transform() {
        let (cube, factors) = (Cube::new(), decompose(smooth(3, 0.3)));
        let same = |k: usize| distance_squared(linear(&cube.apply(&factors, k)), linear(&factors)) < 1e-24;
        assert!((0..ROTATIONS).all(same));
        for (q, p) in (0..ROTATIONS).flat_map(|q| (0..ROTATIONS).map(move |p| (q, p))) {
            let product = cube.rotations[cube.quotients[q][p]] * cube.rotations[p];
            assert!(product.dot(cube.rotations[q]).abs() > 1.0 - 1e-12);
        }
    }

    #[test]
    fn smooth_motion_stays_smooth_between_keys_however_close_the_singular_values_are() {
        for stretch in [0.4, 1e-2, 1e-4, 1e-6, 1e-8, 0.0] {
            let transforms: Vec<DAffine3> = (0..200).map(|frame| smooth(frame, stretch)).collect();
            let frames = factors_of(&transforms);
            assert_exact(&transforms, &frames);
            assert!(overshoot(&frames) <= 1e-9, "stretch {stretch}: {}", overshoot(&frames));
            let turned = |pair: &[PolarFactors]| pair[0].r.dot(pair[1].r) >= 0.0 && pair[0].v.dot(pair[1].v) >= 0.0;
            assert!(frames.windows(2).all(turned));
        }
    }

    #[test]
    fn a_cross_fade_of_any_two_frames_stretches_no_more_than_both() {
        let clips: Vec<Vec<DAffine3>> =
            (0..3).map(|clip| (0..40).map(|frame| smooth(97 * clip + frame, 0.3)).collect()).collect();
        let factors = polar_factors(&clips).concat();
        for (k, a) in factors.iter().enumerate() {
            for b in &factors[k + 1..] {
                let (low, high) = (a.sigma.min_element().min(b.sigma.min_element()), a.sigma.max(b.sigma));
                let middle = svd3(half_way(a, b)).sigma;
                assert!(middle.x <= high.max_element() + 1e-9 && middle.z >= low - 1e-9);
            }
        }
    }

    #[test]
    fn a_strain_that_vanishes_temporarily_returns_to_the_same_axes() {
        // Stretch along one axis, then only noise, then the same stretch again, in one clip and in another.
        let axis = DMat3::from_quat(DQuat::from_euler(glam::EulerRot::XYZ, 0.4, 0.9, 0.2));
        let stretched = DAffine3::from_mat3(axis * DMat3::from_diagonal(DVec3::new(1.3, 1.0, 0.9)) * axis.transpose());
        let mut clip = vec![stretched];
        clip.extend((0..30).map(|frame| smooth(frame, 1e-3)));
        clip.push(stretched);
        let factors = polar_factors(&[clip, vec![stretched]]);
        let [first, last, other] = [factors[0][0], factors[0][31], factors[1][0]];
        assert!(
            first.v.abs_diff_eq(last.v, 1e-9) && first.v.abs_diff_eq(other.v, 1e-9),
            "{first:?} {last:?} {other:?}"
        );
    }

    #[test]
    fn rigid_and_scaled_bones_have_no_axis_rotation() {
        let transforms: Vec<DAffine3> = (0..50)
            .map(|frame| {
                let scale = if frame < 25 { DVec3::ONE } else { DVec3::new(1.0, 2.0, 3.0) };
                smooth(frame, 0.0) * DAffine3::from_scale(scale)
            })
            .collect();
        for half in [&transforms[..25], &transforms[25..]] {
            let frames = factors_of(half);
            assert_exact(half, &frames);
            assert!(frames.iter().all(|factors| factors.v.w.abs() > 1.0 - 1e-9), "{frames:?}");
        }
    }

    #[test]
    fn a_bone_passes_through_a_reflection_with_one_scale() {
        let squash =
            |frame: i32| smooth(0, 0.2) * DAffine3::from_scale(DVec3::new(1.0, 1.2, f64::from(5 - frame) / 5.0));
        let transforms: Vec<DAffine3> = (0..11).map(squash).collect();
        let frames = factors_of(&transforms);
        assert_exact(&transforms, &frames);
        assert!(overshoot(&frames) <= 1e-9, "{}", overshoot(&frames));
    }

    #[test]
    fn unrelated_transforms_are_exact_at_their_keys_and_bounded_between_them() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
        };
        let transforms: Vec<DAffine3> =
            (0..300).map(|_| DAffine3::from_cols_array(&std::array::from_fn(|_| random()))).collect();
        let frames = factors_of(&transforms);
        assert_exact(&transforms, &frames);
        let stretch = |pair: &[PolarFactors]| norm(half_way(&pair[0], &pair[1]));
        let limit = |pair: &[PolarFactors]| norm(linear(&pair[0])).max(norm(linear(&pair[1])));
        assert!(frames.windows(2).all(|pair| stretch(pair) <= limit(pair) + 1e-9));
        assert_exact(&[DAffine3::ZERO], &factors_of(&[DAffine3::ZERO]));
    }
}
