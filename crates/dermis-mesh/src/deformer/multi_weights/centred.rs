//! Multi-weights relative to the rest pose: a form that is fast to evaluate and suitable for half precision.
//!
//! With the centre c of the home bone's points as origin, bone k relative to the home bone h is `M'_k = C⁻¹ H⁻¹ T_k C`,
//! where C is the translation by c. The change of origin turns the weights into `w'_ji = w_ji − w_j3 c_i`. A point does
//! not move in the rest pose (every M' = I), so the contributions of the identity add up to the rest point p̄:
//!
//! `p' − c = p̄ − c + Σ_{k≠h} Σ_i w'_ji,k (m'_ji,k − δ_ji)`, `p̄_j = Σ_k w_jj,k`.
//!
//! The home bone's own entry is absorbed by p̄. The remaining terms are small: weights of the size of a limb instead of
//! the distance from the origin, times the motion of a bone relative to the home bone. Rounding to f32 or f16 therefore
//! affects displacements, not positions, and the rest pose stays exact.
//!
//! The range of f16 is small, so the weights of each home bone are scaled by one power of two for the columns of the
//! axes and one for the translations.

use glam::{DVec3, Vec3};

use super::MultiWeights;

/// Upper bound of scaled weights; the largest half-precision number is 65504.
const MAX_SCALED_WEIGHT: f64 = 16384.0;

/// Origin and scales of the points of one home bone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HomeFrame {
    /// Centre of the points' rest positions.
    pub centre: DVec3,
    /// Divisors of the columns of the axes and of the column of the translation: powers of two.
    pub scales: [f32; 2],
}

impl Default for HomeFrame {
    fn default() -> Self {
        Self { centre: DVec3::ZERO, scales: [1.0; 2] }
    }
}

/// Rest position of each part.
pub fn rest_points(weights: &MultiWeights) -> Vec<DVec3> {
    let rest = |point: usize| {
        let diagonals = weights.row(point).map(|(_, w)| DVec3::new(w[0][0].into(), w[1][1].into(), w[2][2].into()));
        diagonals.sum()
    };
    (0..weights.part_count()).map(rest).collect()
}

/// Frame of each bone; bones without points have the default frame.
pub fn home_frames(weights: &MultiWeights, rest: &[DVec3]) -> Vec<HomeFrame> {
    let count = weights.home.iter().max().map_or(0, |&last| last as usize + 1);
    let mut bounds = vec![(DVec3::INFINITY, DVec3::NEG_INFINITY); count];
    for (&home, &point) in weights.home.iter().zip(rest) {
        let (low, high) = &mut bounds[home as usize];
        (*low, *high) = (low.min(point), high.max(point));
    }
    let centre = |(low, high): (DVec3, DVec3)| if low.x <= high.x { (low + high) * 0.5 } else { DVec3::ZERO };
    // Rounded to f32, so that files represent it exactly.
    let centres = bounds.into_iter().map(|bounds| centre(bounds).as_vec3().as_dvec3());
    let mut frames: Vec<HomeFrame> = centres.map(|centre| HomeFrame { centre, ..HomeFrame::default() }).collect();
    let mut largest = vec![[0.0f64; 2]; count];
    for (point, &home) in weights.home.iter().enumerate() {
        for (_, entry) in others(weights, point) {
            for [x, y, z, t] in centred(entry, &frames[home as usize]) {
                let [axes, translation] = &mut largest[home as usize];
                *axes = axes.max(x.abs()).max(y.abs()).max(z.abs());
                *translation = translation.max(t.abs());
            }
        }
    }
    for (frame, largest) in frames.iter_mut().zip(largest) {
        frame.scales =
            largest.map(|largest| if largest > 0.0 { power_of_two(largest / MAX_SCALED_WEIGHT) } else { 1.0 });
    }
    frames
}

/// Entries of a point except that of its home bone.
pub fn others(weights: &MultiWeights, point: usize) -> impl Iterator<Item = (u32, &[[f32; 4]; 3])> {
    let home = weights.home[point];
    weights.row(point).filter(move |(bone, _)| *bone != home)
}

/// `w'_ji = (w_ji − w_j3 c_i) / s`.
pub fn centred(entry: &[[f32; 4]; 3], frame: &HomeFrame) -> [[f64; 4]; 3] {
    let [axes, translation] = frame.scales.map(f64::from);
    entry.map(|row| {
        let [x, y, z, t] = row.map(f64::from);
        let w = (DVec3::new(x, y, z) - t * frame.centre) / axes;
        [w.x, w.y, w.z, t / translation]
    })
}

/// The inverse of [`centred`].
pub(super) fn uncentred(entry: [[f32; 4]; 3], frame: &HomeFrame) -> [[f32; 4]; 3] {
    let [axes, translation] = frame.scales.map(f64::from);
    entry.map(|row| {
        let [x, y, z, t] = row.map(f64::from);
        let t = t * translation;
        let w = (DVec3::new(x, y, z) * axes + t * frame.centre).as_vec3();
        [w.x, w.y, w.z, t as f32]
    })
}

/// Entry of the home bone that puts a point at its rest position, given the contribution of the other entries.
pub(super) fn home_entry(rest: Vec3, others: DVec3) -> [[f32; 4]; 3] {
    let [x, y, z] = (rest.as_dvec3() - others).as_vec3().to_array();
    [[x, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, 0.0]]
}

/// Smallest power of two that is at least `value`, within the range of f32.
fn power_of_two(value: f64) -> f32 {
    const EXPONENTS: std::ops::RangeInclusive<f64> = -100.0..=100.0;
    value.log2().ceil().clamp(*EXPONENTS.start(), *EXPONENTS.end()).exp2() as f32
}
