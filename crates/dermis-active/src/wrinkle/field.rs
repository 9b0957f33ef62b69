//! The wrinkle's surface: where convolution fields of the curves and the tangent plane's field sum to 1 (§4.3).
//!
//! With the Cauchy kernel `(1 + s²r²)⁻²` a segment of length l has a closed field (`McCormack` & Sherstyuk 1998): with d from
//! its start to the query, x = d·a, p² = 1 + s²(d² − x²), q² = 1 + s²(d² + l² − 2lx),
//! `F = x/(2p²(p² + s²x²)) + (l − x)/(2p²q²) + [atan(sx/p) + atan(s(l − x)/p)]/(2sp³)`. It is scaled so that an endless
//! straight curve alone has the iso-surface of radius R, with s = [`SHARPNESS`]/R. The plane is scaled to `1/(1 + s²h²)`, so that without
//! curves the cloth stays where it is. A window lets fields end at [`REACH`] radii; its fourth power makes heights, which
//! go with the root of the field, end without a crease.

use glam::Vec3;
use multiversion::multiversion;

/// How quickly fields fall off. At 1 near folds would fill the valley between them; larger makes edges of them.
const SHARPNESS: f32 = 3.0;
/// Where a segment's field ends, in radii.
pub(super) const REACH: f32 = 2.0;
/// The highest wrinkle, in radii: a curve as far above the cloth as it may be.
pub(super) const HIGHEST: f32 = 1.6;
/// Steps of the projection.
const STEPS: usize = 8;
/// The error of the field, relative, at which a projection is close enough.
const CLOSE: f32 = 0.02;
/// Where the projection starts, as a part of the highest height.
const LOWEST: f32 = 0.02;
/// Fields below this lift the cloth by less than a hundredth of a radius.
const FAINT: f32 = 1e-4;

/// A piece of a wrinkle curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segment {
    start: Vec3,
    along: Vec3,
    length: f32,
    s: f32,
    gain: f32,
}

impl Segment {
    /// From `start` to `end`, of `radius`; `None` where it has no length.
    pub(super) fn new(start: Vec3, end: Vec3, radius: f32) -> Option<Self> {
        let length = start.distance(end);
        let s = SHARPNESS / radius;
        let gain = 2.0 * s * (1.0 + SHARPNESS * SHARPNESS).powf(1.5) / std::f32::consts::PI;
        (length > 1e-6 * radius).then(|| Self { start, along: (end - start) / length, length, s, gain })
    }

    /// The radius of the iso-surface of an endless one.
    pub(super) fn radius(&self) -> f32 {
        SHARPNESS / self.s
    }

    /// Whether the field reaches within `distance` of `point`.
    pub(super) fn reaches(&self, point: Vec3, distance: f32) -> bool {
        let d = point - self.start;
        let nearest = self.along * d.dot(self.along).clamp(0.0, self.length);
        d.distance_squared(nearest) < (REACH * self.radius() + distance).powi(2)
    }
}

/// Segments side by side, eight at a time: registers are that wide.
#[derive(Debug, Clone, Default)]
pub(super) struct Bundle {
    blocks: Vec<Block>,
    count: usize,
}

/// Eight segments; those that are missing have no gain.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    start: [[f32; LANES]; 3],
    along: [[f32; LANES]; 3],
    length: [f32; LANES],
    s: [f32; LANES],
    gain: [f32; LANES],
}

const LANES: usize = 8;

impl Bundle {
    pub(super) fn of(segments: &[Segment]) -> Self {
        let mut bundle = Self::default();
        for segment in segments {
            bundle.push(segment);
        }
        bundle
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.count = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn push(&mut self, segment: &Segment) {
        let lane = self.count % LANES;
        if lane == 0 {
            self.blocks.push(Block { s: [1.0; LANES], ..Block::default() });
        }
        let last = self.blocks.len() - 1;
        let block = &mut self.blocks[last];
        for axis in 0..3 {
            block.start[axis][lane] = segment.start[axis];
            block.along[axis][lane] = segment.along[axis];
        }
        block.length[lane] = segment.length;
        block.s[lane] = segment.s;
        block.gain[lane] = segment.gain;
        self.count += 1;
    }
}

/// The sum of the fields at `point`, and that of the fields times their s.
#[multiversion(targets("x86_64+avx2"))]
fn fields(blocks: &[Block], point: Vec3) -> (f32, f32) {
    let mut sums = [0.0; LANES];
    let mut weighted = [0.0; LANES];
    for block in blocks {
        for lane in 0..LANES {
            let dx = point.x - block.start[0][lane];
            let dy = point.y - block.start[1][lane];
            let dz = point.z - block.start[2][lane];
            let x = dx * block.along[0][lane] + dy * block.along[1][lane] + dz * block.along[2][lane];
            let across = (dx * dx + dy * dy + dz * dz - x * x).max(0.0);
            let (s, length) = (block.s[lane], block.length[lane]);
            let beyond = x - x.max(0.0).min(length);
            let s2 = s * s;
            let window = (1.0 - s2 * (across + beyond * beyond) / (REACH * REACH * SHARPNESS * SHARPNESS)).max(0.0);
            let p2 = 1.0 + s2 * across;
            let p = p2.sqrt();
            let y = length - x;
            let ends = x / (p2 + s2 * x * x) + y / (p2 + s2 * y * y);
            let angles = arc_tangent(s * x / p) + arc_tangent(s * y / p);
            let field = ends / (2.0 * p2) + angles / (2.0 * s * p2 * p);
            let window = window * window;
            let field = block.gain[lane] * field * window * window;
            sums[lane] += field;
            weighted[lane] += field * s;
        }
    }
    (sums.iter().sum(), weighted.iter().sum())
}

/// The arc tangent to 1e-4, which is a thousandth of what shows; the exact one is most of the time otherwise.
#[inline]
fn arc_tangent(x: f32) -> f32 {
    let size = x.abs();
    let inner = size.min(1.0) / size.max(1.0);
    let square = inner * inner;
    let angle = inner * (0.999_215 + square * (-0.321_175 + square * (0.146_264 - 0.039_087 * square)));
    let angle = if size > 1.0 { std::f32::consts::FRAC_PI_2 - angle } else { angle };
    angle.copysign(x)
}

/// How far along `normal` the wrinkle's surface is above `point`, at most `highest`. The plane takes the radius of the
/// curves around, by their fields.
pub(super) fn height(point: Vec3, normal: Vec3, highest: f32, segments: &Bundle) -> f32 {
    let field = |height: f32| fields(&segments.blocks, point + normal * height).0;
    let (ground, weighted) = fields(&segments.blocks, point);
    if ground < FAINT {
        return 0.0;
    }
    let s2 = (weighted / ground).powi(2);
    // Positive below the surface; the logarithm is nearly straight, as fields are nearly powers of the distance.
    let below =
        |height: f32, field: f32| (field * (1.0 + s2 * height * height) / (s2 * height * height)).max(1e-12).ln();
    let start = LOWEST * highest;
    let (mut low, mut high) = ((start, below(start, ground)), (highest, below(highest, field(highest))));
    if low.1 <= 0.0 || high.1 >= 0.0 {
        return if low.1 <= 0.0 { (ground / s2).sqrt().min(start) } else { highest };
    }
    // The Illinois method: a secant that halves the end that stays.
    let mut last_side = 0i8;
    let mut middle = low.0;
    for _ in 0..STEPS {
        middle = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
        let value = below(middle, field(middle));
        if value.abs() < CLOSE {
            break;
        }
        let side = if value > 0.0 { 1 } else { -1 };
        if side > 0 {
            low = (middle, value);
            high.1 *= if last_side == side { 0.5 } else { 1.0 };
        } else {
            high = (middle, value);
            low.1 *= if last_side == side { 0.5 } else { 1.0 };
        }
        last_side = side;
    }
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(segment: &Segment, point: Vec3) -> f32 {
        fields(&Bundle::of(&[*segment]).blocks, point).0
    }

    #[test]
    fn the_closed_form_matches_quadrature() {
        let segment = Segment::new(Vec3::new(0.1, 0.0, 0.2), Vec3::new(0.9, 0.5, 0.1), 0.7).unwrap();
        for point in [Vec3::new(0.4, 0.5, 0.3), Vec3::new(-0.3, 0.2, 0.0), Vec3::new(1.2, 0.4, 0.5)] {
            const STEPS: i32 = 2000;
            let s2 = segment.s * segment.s;
            let kernel = |k: i32| {
                let at = segment.start + segment.along * (segment.length * (k as f32 + 0.5) / STEPS as f32);
                (1.0 + s2 * point.distance_squared(at)).powi(-2)
            };
            let integral = (0..STEPS).map(kernel).sum::<f32>() * segment.length / STEPS as f32;
            let nearest =
                segment.start + segment.along * (point - segment.start).dot(segment.along).clamp(0.0, segment.length);
            let window = (1.0 - s2 * point.distance_squared(nearest) / (REACH * SHARPNESS).powi(2)).powi(4);
            let expected = segment.gain * integral * window;
            assert!((at(&segment, point) - expected).abs() < 1e-3 * expected, "{} {expected}", at(&segment, point));
        }
    }

    #[test]
    fn an_endless_curve_has_the_radius_it_was_given() {
        let segment = Segment::new(Vec3::X * -100.0, Vec3::X * 100.0, 0.5).unwrap();
        let window = (1.0 - 1.0 / (REACH * REACH)).powi(4);
        assert!((at(&segment, Vec3::Y * 0.5) - window).abs() < 1e-3);
    }

    #[test]
    fn the_projection_is_on_the_iso_surface() {
        let segment = Segment::new(Vec3::new(-3.0, 0.0, -0.3), Vec3::new(3.0, 0.0, -0.3), 1.0).unwrap();
        for y in [0.0, 0.4, 0.9, 1.4] {
            let point = Vec3::new(0.2, y, 0.0);
            let h = height(point, Vec3::Z, HIGHEST, &Bundle::of(&[segment]));
            let sum = at(&segment, point + Vec3::Z * h) + 1.0 / (1.0 + (SHARPNESS * h).powi(2));
            assert!((sum - 1.0).abs() < 2e-2, "{sum} at {y}");
        }
        assert_eq!(height(Vec3::Y * 4.0, Vec3::Z, HIGHEST, &Bundle::of(&[segment])), 0.0);
    }
}
