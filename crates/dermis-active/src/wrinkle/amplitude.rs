//! Amplitude of the wrinkles, such that the cloth has nearly the area of its rest shape.
//!
//! The offsets of the curves follow from the length lost around them. The total is inexact if curves grow, end or
//! merge, so all heights of a frame are multiplied by one factor, which is determined from the area of the refined
//! cloth. The area added by wrinkles grows approximately with the square of their height; a secant method in the
//! square converges in two or three steps.
//!
//! Heights are bounded smoothly by the maximum H: `h ↦ f h / √(1 + (f h / H)²)`. The recovered area follows the loss
//! with a delay, within bounds, so that a loss that jumps between frames does not make the wrinkles jump as much.

use dermis_math::sum::sum;
use glam::Vec3;
use rayon::prelude::*;

use super::project::Lifted;

/// Maximum factor. If a larger one were needed, there would be too few wrinkles, and they would become spikes.
const MAX_FACTOR: f32 = 4.0;
/// Bounds of the recovered fraction of the lost area: the lower one holds if the loss jumps, the upper one keeps the
/// cloth from becoming larger than its rest shape.
const RECOVERED_FRACTIONS: [f64; 2] = [0.7, 0.95];
/// Fraction of the area lost in compressed regions that is recovered even if the cloth as a whole is stretched.
const MIN_RECOVERED_FRACTION: f64 = 0.1;
/// Fraction of the difference to the lost area that is covered in a frame.
const FOLLOW_RATE: f64 = 0.25;
/// Maximum number of area evaluations.
const MAX_EVALUATIONS: usize = 4;
/// Relative error of the added area at which the iteration stops.
const TOLERANCE: f64 = 0.01;

/// Heights of the samples, multiplied by a factor and bounded.
pub(super) fn heights(lifted: &Lifted, factor: f32, max_height: f32) -> Vec<f32> {
    lifted.heights.iter().map(|&height| scaled(height, factor, max_height)).collect()
}

/// Positions of the samples, with heights multiplied by a factor and bounded.
pub(super) fn positions(lifted: &Lifted, factor: f32, max_height: f32) -> Vec<Vec3> {
    let lift = |sample: usize| {
        let height = scaled(lifted.heights[sample], factor, max_height);
        lifted.bases[sample] + lifted.normals[sample] * height
    };
    (0..lifted.bases.len()).into_par_iter().with_min_len(4096).map(lift).collect()
}

#[inline]
fn scaled(height: f32, factor: f32, max_height: f32) -> f32 {
    let wanted = factor * height;
    wanted / (1.0 + (wanted / max_height).powi(2)).sqrt()
}

/// Area that wrinkles recovered in the previous frame. The next frame continues from it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RecoveredArea(Option<f64>);

/// Area lost in a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loss {
    /// Area of the coarse cloth.
    pub(super) coarse: f64,
    /// Area of the rest shape minus that of the coarse cloth.
    pub(super) lost: f64,
    /// Area lost in compressed regions only.
    pub(super) lost_locally: f64,
}

impl RecoveredArea {
    /// Area to be recovered by wrinkles on a refined cloth whose area without wrinkles is `smooth`.
    fn next(&mut self, loss: &Loss, smooth: f64) -> f64 {
        let minimum = MIN_RECOVERED_FRACTION * loss.lost_locally;
        let [low, high] =
            RECOVERED_FRACTIONS.map(|fraction| (loss.coarse + fraction * loss.lost.max(0.0) - smooth).max(minimum));
        let wanted = self.0.map_or(high, |last| last + FOLLOW_RATE * (high - last)).clamp(low, high);
        self.0 = Some(wanted);
        wanted
    }
}

/// Factor at which `triangles` over the samples have the required area, or the maximum factor if that is not
/// sufficient.
pub(super) fn factor(
    lifted: &Lifted,
    triangles: &[[u32; 3]],
    max_height: f32,
    loss: &Loss,
    recovered: &mut RecoveredArea,
) -> f32 {
    let is_lifted = |triangle: &[u32; 3]| triangle.iter().any(|&point| lifted.heights[point as usize] != 0.0);
    let (raised, flat): (Vec<[u32; 3]>, Vec<[u32; 3]>) = triangles.iter().partition(|triangle| is_lifted(triangle));
    let smooth = area(&lifted.bases, &raised);
    let needed = recovered.next(loss, smooth + area(&lifted.bases, &flat));
    if needed <= 0.0 || raised.is_empty() {
        return 0.0;
    }
    let added = |factor: f32| area(&positions(lifted, factor, max_height), &raised) - smooth;
    let (mut below, mut above) = ((0.0, 0.0), None);
    let mut factor = 1.0f32;
    for _ in 0..MAX_EVALUATIONS {
        let got = added(factor);
        if (got - needed).abs() < TOLERANCE * needed {
            break;
        }
        let square = f64::from(factor * factor);
        if got < needed {
            below = (square, got);
        } else {
            above = Some((square, got));
        }
        let next = match above {
            Some((high, most)) => below.0 + (high - below.0) * (needed - below.1) / (most - below.1),
            None if got > 0.0 => (square * needed / got).max(1.5 * square),
            None => f64::from(MAX_FACTOR * MAX_FACTOR),
        };
        factor = (next.sqrt() as f32).min(MAX_FACTOR);
    }
    factor
}

fn area(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let double = |triangle: usize| {
        let [a, b, c] = triangles[triangle];
        let (a, b, c) = (points[a as usize], points[b as usize], points[c as usize]);
        f64::from((b - a).cross(c - a).length())
    };
    0.5 * sum(triangles.len(), double)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of 40 cells of side 1 whose points are lifted in waves.
    fn waves() -> (Lifted, Vec<[u32; 3]>) {
        let bases: Vec<Vec3> = (0..82u32).map(|k| Vec3::new((k / 2) as f32, (k % 2) as f32, 0.0)).collect();
        let heights = bases.iter().map(|base| 0.5 * (0.8 * base.x).sin()).collect();
        let triangles = (0..40).flat_map(|k| [[2 * k, 2 * k + 2, 2 * k + 1], [2 * k + 1, 2 * k + 2, 2 * k + 3]]);
        (Lifted { normals: vec![Vec3::Z; bases.len()], bases, heights }, triangles.collect())
    }

    #[test]
    fn the_factor_recovers_the_lost_area_and_no_more() {
        let (lifted, triangles) = waves();
        for lost in [0.01, 0.4, 2.0, 6.0] {
            let loss = Loss { coarse: 40.0, lost, lost_locally: lost };
            let factor = factor(&lifted, &triangles, 9.0, &loss, &mut RecoveredArea::default());
            let gained = area(&positions(&lifted, factor, 9.0), &triangles) - 40.0;
            assert!((gained / lost - RECOVERED_FRACTIONS[1]).abs() < 0.03, "{gained} of {lost}");
        }
    }

    #[test]
    fn follows_a_jumping_loss_within_bounds() {
        let mut recovered = RecoveredArea::default();
        for lost in [1.0, 1.0, 5.0, 0.2, 0.0, -3.0, 2.0] {
            let wanted = recovered.next(&Loss { coarse: 40.0, lost, lost_locally: 0.0 }, 40.0);
            let bounds = RECOVERED_FRACTIONS.map(|fraction| fraction * lost.max(0.0));
            // Rounding of differences of areas near 40.
            assert!((bounds[0] - 1e-12..=bounds[1] + 1e-12).contains(&wanted), "{wanted} of {lost}");
        }
    }

    #[test]
    fn heights_stay_below_the_maximum() {
        let (lifted, _) = waves();
        assert!(heights(&lifted, 100.0, 0.3).iter().all(|height| height.abs() < 0.3));
    }
}
