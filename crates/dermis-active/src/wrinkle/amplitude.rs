//! How high wrinkles must be for the cloth to have the area of its rest shape again.
//!
//! The curves' offsets already follow from the length that is lost around them; where curves are still growing, end, or
//! merge, the sum is not exact. So all heights of a frame are multiplied by one factor, found on the area that the
//! refined cloth really has. What wrinkles add grows with about the square of their height, which makes a secant in the
//! square converge in two or three steps.
//!
//! Heights are bounded by `H`, smoothly: `h ↦ f h / √(1 + (f h / H)²)`.

use dermis_math::sum::sum;
use glam::Vec3;
use rayon::prelude::*;

use super::project::Lifted;

/// The largest factor: wrinkles that would have to be higher are too few, and a few must not be made spikes.
const LARGEST: f32 = 4.0;
/// Measurements of the area.
const STEPS: usize = 4;
/// The error of the added area, relative, at which the factor is good.
const CLOSE: f64 = 0.01;

/// A height under a factor.
#[inline]
pub(super) fn scaled(height: f32, factor: f32, highest: f32) -> f32 {
    let wanted = factor * height;
    wanted / (1.0 + (wanted / highest).powi(2)).sqrt()
}

/// The positions of samples under a factor.
pub(super) fn positions(lifted: &Lifted, factor: f32, highest: f32) -> Vec<Vec3> {
    let samples = lifted.bases.par_iter().zip(&lifted.normals).zip(&lifted.heights).with_min_len(4096);
    samples.map(|((base, normal), &height)| *base + *normal * scaled(height, factor, highest)).collect()
}

/// The factor at which `triangles` over the samples have the area `wanted`, which is a function of that without wrinkles;
/// the largest where none has so much.
pub(super) fn factor(lifted: &Lifted, triangles: &[[u32; 3]], highest: f32, wanted: impl Fn(f64) -> f64) -> f32 {
    let is_lifted = |triangle: &[u32; 3]| triangle.iter().any(|&point| lifted.heights[point as usize] > 0.0);
    let (raised, flat): (Vec<[u32; 3]>, Vec<[u32; 3]>) = triangles.iter().partition(|triangle| is_lifted(triangle));
    let (smooth, flat) = (area(&lifted.bases, &raised), area(&lifted.bases, &flat));
    let needed = wanted(smooth + flat) - smooth - flat;
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
