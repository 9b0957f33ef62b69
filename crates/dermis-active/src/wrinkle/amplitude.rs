//! How high wrinkles must be for the cloth to have the area of its rest shape again.
//!
//! The curves' offsets already follow from the length that is lost around them; where curves are still growing, end, or
//! merge, the sum is not exact. So all heights of a frame are multiplied by one factor, found on the area that the
//! refined cloth really has. What wrinkles add grows with about the square of their height, which makes a secant in the
//! square converge in two or three steps.
//!
//! Heights are bounded smoothly by the highest, `h ↦ f h / √(1 + (f h / H)²)`. What is taken up follows the loss with a delay, as
//! far as it stays within bounds, so that a loss that jumps from frame to frame does not make the wrinkles jump as much.

use dermis_math::sum::sum;
use glam::Vec3;
use rayon::prelude::*;

use super::project::Lifted;

/// The largest factor: wrinkles that would have to be higher are too few, and a few must not be made spikes.
const LARGEST: f32 = 4.0;
/// The part of the lost area that wrinkles take up at least, where it jumps, and else; the rest keeps the cloth from
/// becoming larger than it is.
const RECOVERED: [f64; 2] = [0.7, 0.95];
/// The part of the area that is lost in places which wrinkles take up even where the cloth as a whole is stretched.
const LEAST_RECOVERED: f64 = 0.1;
/// The part of the way to what is lost that is gone in a frame.
const FOLLOW: f64 = 0.25;
/// Measurements of the area.
const STEPS: usize = 4;
/// The error of the added area, relative, at which the factor is good.
const CLOSE: f64 = 0.01;

/// The heights of samples under a factor.
pub(super) fn heights(lifted: &Lifted, factor: f32, highest: f32) -> Vec<f32> {
    lifted.heights.iter().map(|&height| scaled(height, factor, highest)).collect()
}

/// The positions of samples under a factor.
pub(super) fn positions(lifted: &Lifted, factor: f32, highest: f32) -> Vec<Vec3> {
    let place = |sample: usize| {
        let height = scaled(lifted.heights[sample], factor, highest);
        lifted.bases[sample] + lifted.normals[sample] * height
    };
    (0..lifted.bases.len()).into_par_iter().with_min_len(4096).map(place).collect()
}

#[inline]
fn scaled(height: f32, factor: f32, highest: f32) -> f32 {
    let wanted = factor * height;
    wanted / (1.0 + (wanted / highest).powi(2)).sqrt()
}

/// The area that wrinkles took up in the frame before, which those of the next follow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TakenUp(Option<f64>);

/// What a frame has lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loss {
    /// The area of the coarse cloth.
    pub(super) coarse: f64,
    /// What it lacks of the rest shape's.
    pub(super) lost: f64,
    /// The same where it is compressed alone.
    pub(super) lost_locally: f64,
}

impl TakenUp {
    /// The area that wrinkles shall take up on a refined cloth that has the area `smooth` without them.
    fn next(&mut self, loss: &Loss, smooth: f64) -> f64 {
        let least = LEAST_RECOVERED * loss.lost_locally;
        let [low, high] = RECOVERED.map(|part| (loss.coarse + part * loss.lost.max(0.0) - smooth).max(least));
        let wanted = self.0.map_or(high, |last| last + FOLLOW * (high - last)).clamp(low, high);
        self.0 = Some(wanted);
        wanted
    }
}

/// The factor at which `triangles` over the samples have the area that they should; the largest where none has so much.
pub(super) fn factor(
    lifted: &Lifted,
    triangles: &[[u32; 3]],
    highest: f32,
    loss: &Loss,
    taken_up: &mut TakenUp,
) -> f32 {
    let is_lifted = |triangle: &[u32; 3]| triangle.iter().any(|&point| lifted.heights[point as usize] != 0.0);
    let (raised, flat): (Vec<[u32; 3]>, Vec<[u32; 3]>) = triangles.iter().partition(|triangle| is_lifted(triangle));
    let smooth = area(&lifted.bases, &raised);
    let needed = taken_up.next(loss, smooth + area(&lifted.bases, &flat));
    if needed <= 0.0 || raised.is_empty() {
        return 0.0;
    }
    let added = |factor: f32| area(&positions(lifted, factor, highest), &raised) - smooth;
    let (mut below, mut above) = ((0.0, 0.0), None);
    let mut factor = 1.0f32;
    for _ in 0..STEPS {
        let got = added(factor);
        if (got - needed).abs() < CLOSE * needed {
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
            None => f64::from(LARGEST * LARGEST),
        };
        factor = (next.sqrt() as f32).min(LARGEST);
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
    fn the_factor_gives_the_area_back_and_no_more() {
        let (lifted, triangles) = waves();
        for lost in [0.01, 0.4, 2.0, 6.0] {
            let loss = Loss { coarse: 40.0, lost, lost_locally: lost };
            let factor = factor(&lifted, &triangles, 9.0, &loss, &mut TakenUp::default());
            let gained = area(&positions(&lifted, factor, 9.0), &triangles) - 40.0;
            assert!((gained / lost - RECOVERED[1]).abs() < 0.03, "{gained} of {lost}");
        }
    }

    #[test]
    fn a_loss_that_jumps_is_followed_within_bounds() {
        let mut taken_up = TakenUp::default();
        for lost in [1.0, 1.0, 5.0, 0.2, 0.0, -3.0, 2.0] {
            let wanted = taken_up.next(&Loss { coarse: 40.0, lost, lost_locally: 0.0 }, 40.0);
            let bounds = RECOVERED.map(|part| part * lost.max(0.0));
            // Areas of 40 are subtracted from each other.
            assert!((bounds[0] - 1e-12..=bounds[1] + 1e-12).contains(&wanted), "{wanted} of {lost}");
        }
    }

    #[test]
    fn heights_stay_below_the_highest() {
        let (lifted, _) = waves();
        assert!(heights(&lifted, 100.0, 0.3).iter().all(|height| height.abs() < 0.3));
    }
}
