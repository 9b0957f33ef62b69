//! The centre line of a limb: the centres of its cross-sections, from the tip on.
//!
//! The loops at equal geodesic distance from the tip follow a limb in any pose, but stand askew where the way along one
//! side is longer. So their centres are only a first guess: planes across that line cut the limb again, and the centres
//! of these sections are the line, at even intervals.
//!
//! A limb ends where its level sets begin to spread over the trunk. Around a tube of any thickness their girth hardly
//! grows with the distance; on a trunk it grows as a circle's does, by up to 2π. [`GROWTH`] lies between.

use glam::DVec3;

use super::geodesic::Surface;
use super::sections::{Section, level_sections, plane_sections};
use super::tips::Tip;

/// Girth per distance at which a limb has become the trunk. Limbs of real and made bodies stay below 1, trunks begin at 3.
const GROWTH: f64 = 1.5;
/// Steps over which growth is measured at once, and over which it must last.
const GROWTH_STEPS: [usize; 2] = [4, 12];
/// Rounds of cutting across the line and taking the centres.
const ROUNDS: usize = 3;
/// Sections before and after one by which the line's direction is measured.
const REACH: usize = 5;
/// A plane section belongs to the limb when its girth is within these parts of that of the level set.
const ALIKE: std::ops::Range<f64> = 0.6..1.4;

/// A line of sections, in the order from the tip, at even intervals.
#[derive(Debug, Clone)]
pub(super) struct CentreLine {
    points: Vec<DVec3>,
    girths: Vec<f64>,
    interval: f64,
}

/// The longest loop at each of the distances `step`, 2 `step`, … up to `until` from a tip.
pub(super) fn level_loops(surface: &Surface<'_>, tip: &Tip, step: f64, until: f64) -> Vec<Section> {
    let count = (until / step) as usize;
    let longest = |k: usize| {
        let loops = level_sections(&surface.points, surface.triangles, &tip.distances, k as f64 * step);
        loops.into_iter().max_by(|a, b| a.girth.total_cmp(&b.girth))
    };
    (1..=count).map_while(longest).collect()
}

/// The first of `loops`, from `start` on, after which they spread over a trunk.
pub(super) fn limb_end(loops: &[Section], step: f64, start: usize) -> Option<usize> {
    let grows = |k: usize, steps: usize| {
        loops.get(k + steps).is_some_and(|later| later.girth - loops[k].girth > GROWTH * steps as f64 * step)
    };
    (start..loops.len()).find(|&k| GROWTH_STEPS.iter().all(|&steps| grows(k, steps)))
}

impl CentreLine {
    /// The line through at least two level sets of a limb.
    pub(super) fn through(surface: &Surface<'_>, loops: &[Section], step: f64) -> Self {
        let mut line = Self {
            points: loops.iter().map(|section| section.centre).collect(),
            girths: loops.iter().map(|section| section.girth).collect(),
            interval: step,
        };
        for _ in 0..ROUNDS {
            line.centre(surface);
            line.resample(step);
        }
        line
    }

    pub(super) fn length(&self) -> f64 {
        self.interval * (self.points.len() - 1) as f64
    }

    /// The point at a length from the tip.
    pub(super) fn at(&self, length: f64) -> DVec3 {
        let (k, part) = self.place(length);
        self.points[k].lerp(self.points[k + 1], part)
    }

    /// The girth at a length from the tip.
    pub(super) fn girth(&self, length: f64) -> f64 {
        let (k, part) = self.place(length);
        self.girths[k] + part * (self.girths[k + 1] - self.girths[k])
    }

    /// The length between `from` and `to` at which the limb is thinnest.
    pub(super) fn thinnest(&self, from: f64, to: f64) -> f64 {
        let lengths = (0..self.points.len()).map(|k| k as f64 * self.interval);
        let within = lengths.zip(&self.girths).filter(|(length, _)| (from..=to).contains(length));
        within.min_by(|a, b| a.1.total_cmp(b.1)).map_or(f64::midpoint(from, to), |(length, _)| length)
    }

    fn place(&self, length: f64) -> (usize, f64) {
        let place = (length / self.interval).clamp(0.0, (self.points.len() - 1) as f64);
        let k = (place as usize).min(self.points.len() - 2);
        (k, place - k as f64)
    }

    /// Moves each point to the centre of the plane section across the line there.
    fn centre(&mut self, surface: &Surface<'_>) {
        let cut = |k: usize| {
            let (at, girth) = (self.points[k], self.girths[k]);
            let sections = plane_sections(&surface.points, surface.triangles, at, self.direction(k));
            let alike = sections.into_iter().filter(|section| ALIKE.contains(&(section.girth / girth)));
            alike
                .min_by(|a, b| a.centre.distance(at).total_cmp(&b.centre.distance(at)))
                .filter(|section| section.centre.distance(at) < girth / 4.0)
        };
        let cuts: Vec<Option<Section>> = (0..self.points.len()).map(cut).collect();
        for (k, section) in cuts.into_iter().enumerate() {
            if let Some(section) = section {
                self.points[k] = section.centre;
                self.girths[k] = section.girth;
            }
        }
    }

    /// The unit direction away from the tip at a point.
    fn direction(&self, k: usize) -> DVec3 {
        let last = self.points.len() - 1;
        (self.points[(k + REACH).min(last)] - self.points[k.saturating_sub(REACH)]).normalize_or(DVec3::Y)
    }

    /// Spreads the points evenly, about `step` apart.
    fn resample(&mut self, step: f64) {
        let mut lengths = vec![0.0];
        for pair in self.points.windows(2) {
            lengths.push(lengths[lengths.len() - 1] + pair[0].distance(pair[1]));
        }
        let whole = lengths[lengths.len() - 1];
        let count = ((whole / step).round() as usize).max(1);
        self.interval = whole / count as f64;
        let even = |index: usize| {
            let length = index as f64 * self.interval;
            let k = lengths.partition_point(|&other| other <= length).clamp(1, lengths.len() - 1);
            let part =
                ((length - lengths[k - 1]) / (lengths[k] - lengths[k - 1]).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            let girth = self.girths[k - 1] + part * (self.girths[k] - self.girths[k - 1]);
            (self.points[k - 1].lerp(self.points[k], part), girth)
        };
        (self.points, self.girths) = (0..=count).map(even).unzip();
    }
}
