//! Implicit surface of the wrinkles: the fields of the curves and of the tangent plane sum to 1 (§4.3).
//!
//! With the Cauchy kernel `(1 + s²r²)⁻²` a segment of length l has a closed-form field (`McCormack` & Sherstyuk 1998).
//! With d the vector from its start to the query, x = d·a, p² = 1 + s²(d² − x²) and q² = 1 + s²(d² + l² − 2lx),
//! `F = x/(2p²(p² + s²x²)) + (l − x)/(2p²q²) + [atan(sx/p) + atan(s(l − x)/p)]/(2sp³)`.
//! It is scaled such that an infinite straight curve has an iso-surface of radius R, with s = [`SHARPNESS`]/R. The
//! field of the plane is `1/(1 + s²h²)`, so that the cloth is unchanged without curves; its s is the mean of those of
//! the curves, weighted by their fields. A window bounds the fields to [`REACH`] radii. Its fourth power makes the
//! heights, which are proportional to the root of the field, end smoothly.
//!
//! The height h solves `√(F(h) (1 + s²h²)) = s h`, which is nearly linear, by a secant method. Eight neighbouring
//! samples are solved in parallel in SIMD registers.

use glam::Vec3;
use multiversion::multiversion;

/// Falloff of the fields. With 1, adjacent folds would fill the valley between them; larger values make folds sharper.
const SHARPNESS: f32 = 3.0;
/// Range of a segment's field, in radii.
pub(super) const REACH: f32 = 2.0;
/// Maximum height of a wrinkle, in radii. A full circle would have a height of 2 and could not be represented by
/// heights.
pub(super) const MAX_HEIGHT: f32 = 1.6;
/// Maximum number of secant steps of the projection.
const MAX_STEPS: usize = 6;
/// Error of the height, relative to its upper bound, at which the iteration stops.
const TOLERANCE: f32 = 0.005;
/// Minimum field; smaller ones lift the cloth by less than a hundredth of a radius.
const MIN_FIELD: f32 = 1e-4;
/// Number of samples that are solved in parallel.
pub(super) const LANES: usize = 8;

/// A number for each sample.
pub(super) type Lanes = [f32; LANES];

/// Segment of a wrinkle curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segment {
    start: Vec3,
    along: Vec3,
    length: f32,
    s: f32,
    gain: f32,
}

impl Segment {
    /// Creates a segment from `start` to `end` of `radius`; `None` if it has no length.
    pub(super) fn new(start: Vec3, end: Vec3, radius: f32) -> Option<Self> {
        let length = start.distance(end);
        let s = SHARPNESS / radius;
        let gain = 2.0 * s * (1.0 + SHARPNESS * SHARPNESS).powf(1.5) / std::f32::consts::PI;
        (length > 1e-6 * radius).then(|| Self { start, along: (end - start) / length, length, s, gain })
    }

    /// Radius of the iso-surface of an infinite segment.
    pub(super) fn radius(&self) -> f32 {
        SHARPNESS / self.s
    }

    /// Returns true if the field extends to within `distance` of `point`.
    pub(super) fn reaches(&self, point: Vec3, distance: f32) -> bool {
        let d = point - self.start;
        let nearest = self.along * d.dot(self.along).clamp(0.0, self.length);
        d.distance_squared(nearest) < (REACH * self.radius() + distance).powi(2)
    }
}

/// Eight samples and the directions along which they are lifted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rays {
    points: [Lanes; 3],
    normals: [Lanes; 3],
}

impl Rays {
    pub(super) fn set(&mut self, lane: usize, point: Vec3, normal: Vec3) {
        for axis in 0..3 {
            self.points[axis][lane] = point[axis];
            self.normals[axis][lane] = normal[axis];
        }
    }
}

/// Sums of the fields of the segments at a height above each sample, and sums of the fields times their s.
#[inline(always)]
fn fields(segments: &[Segment], rays: &Rays, heights: &Lanes) -> (Lanes, Lanes) {
    let [x, y, z]: [Lanes; 3] = std::array::from_fn(|axis| {
        std::array::from_fn(|lane| rays.points[axis][lane] + rays.normals[axis][lane] * heights[lane])
    });
    let (mut sums, mut weighted) = ([0.0; LANES], [0.0; LANES]);
    for segment in segments {
        let Segment { start, along, length, s, gain } = *segment;
        let s2 = s * s;
        for lane in 0..LANES {
            let (dx, dy, dz) = (x[lane] - start.x, y[lane] - start.y, z[lane] - start.z);
            let x = dx * along.x + dy * along.y + dz * along.z;
            let across = (dx * dx + dy * dy + dz * dz - x * x).max(0.0);
            let beyond = x - x.max(0.0).min(length);
            let window = (1.0 - s2 * (across + beyond * beyond) / (REACH * REACH * SHARPNESS * SHARPNESS)).max(0.0);
            let p2 = 1.0 + s2 * across;
            let p = p2.sqrt();
            let y = length - x;
            let ends = x / (p2 + s2 * x * x) + y / (p2 + s2 * y * y);
            let angles = arc_tangent(s * x / p) + arc_tangent(s * y / p);
            let window = window * window;
            let field = gain * (ends + angles / (s * p)) / (2.0 * p2) * window * window;
            sums[lane] += field;
            weighted[lane] += field * s;
        }
    }
    (sums, weighted)
}

/// Approximation of the arc tangent with an error of 1e-4, well below the visible error. The exact function would
/// dominate the run time.
#[inline(always)]
fn arc_tangent(x: f32) -> f32 {
    let size = x.abs();
    let inner = size.min(1.0) / size.max(1.0);
    let square = inner * inner;
    let angle = inner * (0.999_215 + square * (-0.321_175 + square * (0.146_264 - 0.039_087 * square)));
    let angle = if size > 1.0 { std::f32::consts::FRAC_PI_2 - angle } else { angle };
    angle.copysign(x)
}

/// Height of the implicit surface above each sample along its normal, at most `max_height`.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn heights(segments: &[Segment], rays: &Rays, max_height: f32) -> Lanes {
    let (ground, weighted) = fields(segments, rays, &[0.0; LANES]);
    let s2: Lanes = std::array::from_fn(|lane| {
        let s = weighted[lane] / ground[lane].max(f32::MIN_POSITIVE);
        s * s
    });
    // Positive below the surface, at which √(F (1 + s²h²)) = s h.
    let below = |height: f32, field: f32, s2: f32| {
        let plane = s2 * height * height;
        (field * (1.0 + plane)).sqrt() - plane.sqrt()
    };
    // Upper bound: the plane with the field on the ground, which decreases with the height.
    let upper = each(|k| (ground[k] / (s2[k] * (1.0 - ground[k]).max(1e-3))).sqrt().min(max_height));
    let (field, _) = fields(segments, rays, &upper);
    let value = each(|k| below(upper[k], field[k], s2[k]));
    let mut bracket = Bracket {
        from: [0.0; LANES],
        from_value: each(|k| ground[k].sqrt()),
        to: upper,
        to_value: value,
        tolerance: each(|k| TOLERANCE * upper[k] * s2[k].sqrt()),
    };
    for _ in 0..MAX_STEPS {
        let middle = bracket.middle();
        let (field, _) = fields(segments, rays, &middle);
        if bracket.narrow(middle, &each(|k| below(middle[k], field[k], s2[k]))) {
            break;
        }
    }
    each(|k| if ground[k] < MIN_FIELD { 0.0 } else { bracket.to[k] })
}

#[inline(always)]
fn each(of: impl Fn(usize) -> f32) -> Lanes {
    std::array::from_fn(of)
}

/// Interval around the surface for each sample, with the function values at its ends; `to` is the newer end.
struct Bracket {
    from: Lanes,
    from_value: Lanes,
    to: Lanes,
    to_value: Lanes,
    /// Function values at which the iteration stops.
    tolerance: Lanes,
}

impl Bracket {
    #[inline(always)]
    fn is_open(&self, lane: usize) -> bool {
        self.to_value[lane].abs() > self.tolerance[lane] && self.from_value[lane] * self.to_value[lane] < 0.0
    }

    /// Estimate of the secant method; the current end if the sample has converged.
    #[inline(always)]
    fn middle(&self) -> Lanes {
        each(|k| {
            let step = self.to_value[k] - self.from_value[k];
            let middle = (self.from[k] * self.to_value[k] - self.to[k] * self.from_value[k]) / step;
            if self.is_open(k) { middle } else { self.to[k] }
        })
    }

    /// Inserts the values at `middle` and returns true if all samples have converged. The value of a retained end is
    /// halved (the Illinois method).
    #[inline(always)]
    fn narrow(&mut self, middle: Lanes, values: &Lanes) -> bool {
        let mut open = 0;
        for k in 0..LANES {
            let was_open = self.is_open(k);
            let crosses = values[k] * self.to_value[k] < 0.0;
            let from = if crosses { self.to[k] } else { self.from[k] };
            let from_value = if crosses { self.to_value[k] } else { 0.5 * self.from_value[k] };
            self.from[k] = if was_open { from } else { self.from[k] };
            self.from_value[k] = if was_open { from_value } else { self.from_value[k] };
            self.to[k] = if was_open { middle[k] } else { self.to[k] };
            self.to_value[k] = if was_open { values[k] } else { self.to_value[k] };
            open += i32::from(self.is_open(k));
        }
        open == 0
    }
}

/// Height of one sample; see [`heights`].
pub(super) fn height(point: Vec3, normal: Vec3, max_height: f32, segments: &[Segment]) -> f32 {
    let mut rays = Rays::default();
    for lane in 0..LANES {
        rays.set(lane, point, normal);
    }
    heights(segments, &rays, max_height)[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(segment: &Segment, point: Vec3) -> f32 {
        let mut rays = Rays::default();
        rays.set(0, point, Vec3::Z);
        fields(&[*segment], &rays, &[0.0; LANES]).0[0]
    }

    #[test]
    fn the_closed_form_matches_quadrature() {
        let segment = Segment::new(Vec3::new(0.1, 0.0, 0.2), Vec3::new(0.9, 0.5, 0.1), 0.7).unwrap();
        for point in [Vec3::new(0.4, 0.5, 0.3), Vec3::new(-0.3, 0.2, 0.0), Vec3::new(1.2, 0.4, 0.5)] {
            const MAX_STEPS: i32 = 2000;
            let s2 = segment.s * segment.s;
            let kernel = |k: i32| {
                let at = segment.start + segment.along * (segment.length * (k as f32 + 0.5) / MAX_STEPS as f32);
                (1.0 + s2 * point.distance_squared(at)).powi(-2)
            };
            let integral = (0..MAX_STEPS).map(kernel).sum::<f32>() * segment.length / MAX_STEPS as f32;
            let nearest =
                segment.start + segment.along * (point - segment.start).dot(segment.along).clamp(0.0, segment.length);
            let window = (1.0 - s2 * point.distance_squared(nearest) / (REACH * SHARPNESS).powi(2)).powi(4);
            let expected = segment.gain * integral * window;
            assert!((at(&segment, point) - expected).abs() < 1e-3 * expected, "{} {expected}", at(&segment, point));
        }
    }

    #[test]
    fn an_infinite_curve_has_the_given_radius() {
        let segment = Segment::new(Vec3::X * -100.0, Vec3::X * 100.0, 0.5).unwrap();
        let window = (1.0 - 1.0 / (REACH * REACH)).powi(4);
        assert!((at(&segment, Vec3::Y * 0.5) - window).abs() < 1e-3);
    }

    #[test]
    fn the_projection_is_on_the_iso_surface() {
        let segment = Segment::new(Vec3::new(-3.0, 0.0, -0.3), Vec3::new(3.0, 0.0, -0.3), 1.0).unwrap();
        for y in [0.0, 0.4, 0.9, 1.4] {
            let point = Vec3::new(0.2, y, 0.0);
            let h = height(point, Vec3::Z, MAX_HEIGHT, &[segment]);
            let sum = at(&segment, point + Vec3::Z * h) + 1.0 / (1.0 + (SHARPNESS * h).powi(2));
            assert!((sum - 1.0).abs() < 2e-2, "{sum} at {y}");
        }
        assert_eq!(height(Vec3::Y * 4.0, Vec3::Z, MAX_HEIGHT, &[segment]), 0.0);
    }

    #[test]
    fn finds_the_surface_over_curves_of_all_depths() {
        for offset in [0.0, 0.1, 0.3, 0.9, 1.5] {
            let segment = Segment::new(Vec3::new(-9.0, 0.0, -offset), Vec3::new(9.0, 0.0, -offset), 1.0).unwrap();
            for k in 0..40 {
                let y = 0.05 * k as f32;
                let h = height(Vec3::Y * y, Vec3::Z, MAX_HEIGHT, &[segment]);
                let over = |h: f32| at(&segment, Vec3::new(0.0, y, h)) + 1.0 / (1.0 + (SHARPNESS * h).powi(2)) < 1.0;
                let expected = (1..=1600).rev().map(|k| 0.001 * k as f32).find(|&h| !over(h)).unwrap_or(0.0);
                assert!((h - expected).abs() < 0.02, "{h} instead of {expected} at {y}, offset {offset}");
            }
        }
    }
}
