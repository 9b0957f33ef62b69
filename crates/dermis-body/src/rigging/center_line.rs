//! Centre line of a limb: the centres of its cross-sections, starting at the tip.
//!
//! Level sets of the geodesic distance from the tip follow a limb in any pose, but are tilted if the path along one
//! side is longer. Their centres are therefore only an initial guess: planes perpendicular to that line cut the limb
//! again, and the centres of these sections form the centre line, at even intervals.
//!
//! A limb ends at the trunk, over which its level sets spread. The girth of level sets hardly grows with the distance
//! on a tube of any thickness; on a trunk it grows like that of a circle, at a rate of up to 2π. The threshold
//! [`MAX_GIRTH_GROWTH`] is between the two.

use glam::DVec3;

use super::geodesic::Surface;
use super::sections::{Section, level_sections, plane_sections};
use super::tips::Tip;

/// Growth of the girth per distance above which a level set belongs to the trunk. Limbs of scanned and generated bodies
/// are below 1, trunks above 3.
const MAX_GIRTH_GROWTH: f64 = 1.5;
/// Numbers of steps over which the growth is measured; it must exceed the threshold for both.
const GROWTH_STEPS: [usize; 2] = [4, 12];
/// Number of rounds of cutting and centring.
const ROUNDS: usize = 3;
/// Number of sections on each side from which the direction of the line is computed.
const DIRECTION_REACH: usize = 5;
/// Range of the girth of a plane section, relative to that of the level set, in which it belongs to the limb.
const GIRTH_RANGE: std::ops::Range<f64> = 0.6..1.4;

/// A line of sections at even intervals, starting at the tip.
#[derive(Debug, Clone)]
pub(super) struct CenterLine {
    points: Vec<DVec3>,
    girths: Vec<f64>,
    interval: f64,
}

/// Longest loop at each of the distances `step`, 2 `step`, … up to `until` from a tip.
pub(super) fn level_loops(surface: &Surface<'_>, tip: &Tip, step: f64, until: f64) -> Vec<Section> {
    let count = (until / step) as usize;
    let longest = |k: usize| {
        let loops = level_sections(&surface.points, surface.triangles, &tip.distances, k as f64 * step);
        loops.into_iter().max_by(|a, b| a.girth.total_cmp(&b.girth))
    };
    (1..=count).map_while(longest).collect()
}

/// Index of the last loop, at or after `start`, before the loops spread over the trunk.
pub(super) fn limb_end(loops: &[Section], step: f64, start: usize) -> Option<usize> {
    let grows = |k: usize, steps: usize| {
        loops.get(k + steps).is_some_and(|later| later.girth - loops[k].girth > MAX_GIRTH_GROWTH * steps as f64 * step)
    };
    (start..loops.len()).find(|&k| GROWTH_STEPS.iter().all(|&steps| grows(k, steps)))
}

impl CenterLine {
    /// Creates the centre line through at least two level sets of a limb.
    pub(super) fn through(surface: &Surface<'_>, loops: &[Section], step: f64) -> Self {
        let mut line = Self {
            points: loops.iter().map(|section| section.center).collect(),
            girths: loops.iter().map(|section| section.girth).collect(),
            interval: step,
        };
        for _ in 0..ROUNDS {
            line.center(surface);
            line.resample(step);
        }
        line
    }

    pub(super) fn length(&self) -> f64 {
        self.interval * (self.points.len() - 1) as f64
    }

    /// Point at a length from the tip.
    pub(super) fn at(&self, length: f64) -> DVec3 {
        let (k, fraction) = self.segment_at(length);
        self.points[k].lerp(self.points[k + 1], fraction)
    }

    /// Girth at a length from the tip.
    pub(super) fn girth(&self, length: f64) -> f64 {
        let (k, fraction) = self.segment_at(length);
        self.girths[k] + fraction * (self.girths[k + 1] - self.girths[k])
    }

    /// Length between `from` and `to` at which the limb is thinnest.
    pub(super) fn thinnest(&self, from: f64, to: f64) -> f64 {
        let lengths = (0..self.points.len()).map(|k| k as f64 * self.interval);
        let within = lengths.zip(&self.girths).filter(|(length, _)| (from..=to).contains(length));
        within.min_by(|a, b| a.1.total_cmp(b.1)).map_or(f64::midpoint(from, to), |(length, _)| length)
    }

    /// Index of the segment at a length from the tip, and the fraction along it.
    fn segment_at(&self, length: f64) -> (usize, f64) {
        let position = (length / self.interval).clamp(0.0, (self.points.len() - 1) as f64);
        let k = (position as usize).min(self.points.len() - 2);
        (k, position - k as f64)
    }

    /// Moves each point to the centre of the plane section perpendicular to the line.
    fn center(&mut self, surface: &Surface<'_>) {
        let cut = |k: usize| {
            let (at, girth) = (self.points[k], self.girths[k]);
            let sections = plane_sections(&surface.points, surface.triangles, at, self.direction(k));
            let similar = sections.into_iter().filter(|section| GIRTH_RANGE.contains(&(section.girth / girth)));
            similar
                .min_by(|a, b| a.center.distance(at).total_cmp(&b.center.distance(at)))
                .filter(|section| section.center.distance(at) < girth / 4.0)
        };
        let cuts: Vec<Option<Section>> = (0..self.points.len()).map(cut).collect();
        for (k, section) in cuts.into_iter().enumerate() {
            if let Some(section) = section {
                self.points[k] = section.center;
                self.girths[k] = section.girth;
            }
        }
    }

    /// Unit direction of the line at a point, away from the tip.
    fn direction(&self, k: usize) -> DVec3 {
        let last = self.points.len() - 1;
        (self.points[(k + DIRECTION_REACH).min(last)] - self.points[k.saturating_sub(DIRECTION_REACH)])
            .normalize_or(DVec3::Y)
    }

    /// Resamples the line at even intervals of about `step`.
    fn resample(&mut self, step: f64) {
        let mut lengths = vec![0.0];
        for pair in self.points.windows(2) {
            lengths.push(lengths[lengths.len() - 1] + pair[0].distance(pair[1]));
        }
        let total = lengths[lengths.len() - 1];
        let count = ((total / step).round() as usize).max(1);
        self.interval = total / count as f64;
        let even = |index: usize| {
            let length = index as f64 * self.interval;
            let k = lengths.partition_point(|&other| other <= length).clamp(1, lengths.len() - 1);
            let fraction =
                ((length - lengths[k - 1]) / (lengths[k] - lengths[k - 1]).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            let girth = self.girths[k - 1] + fraction * (self.girths[k] - self.girths[k - 1]);
            (self.points[k - 1].lerp(self.points[k], fraction), girth)
        };
        (self.points, self.girths) = (0..=count).map(even).unzip();
    }
}
