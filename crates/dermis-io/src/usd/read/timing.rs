//! Frame times of animated attributes.
//!
//! Times of samples are time codes. If they are on an even grid, with or without gaps, the points of the grid are the
//! frames; otherwise there is one frame per time code. Keys of curves that are too sparse to be frames are sampled at
//! the stage's rate. The last frame is at or after the last sample, so that no motion is cut off. Between samples,
//! values are interpolated as in USD: linearly, quaternions along the great circle, arrays element by element.

use dermis_mesh::Note;
use glam::{DQuat, Vec3};
use openusd::sdf::Value;

use super::Clock;
use super::prims::Attribute;
use crate::budget::Budget;
use crate::error::Error;

/// Distance of a sample from the grid, in spacings of the grid, up to which it is on it.
const GRID_TOLERANCE: f64 = 1e-3;

/// Frame spacing if samples are not on a grid.
const ONE_TIME_CODE: f64 = 1.0;

/// Keys on a slower grid than this are sparse and are interpolated.
const MIN_RATE_HZ: f64 = 10.0;

/// The times of frames.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    /// The first time code.
    pub(super) start: f64,
    /// Time codes between frames.
    pub(super) spacing: f64,
    /// The number of frames.
    pub(super) count: usize,
    /// True if there are samples between frames.
    pub(super) misses: bool,
}

impl Grid {
    /// The frames of attributes that are sampled at `times` (ascending, not empty).
    ///
    /// `spacing` is the requested distance; `None` is that of the samples.
    pub(super) fn of(times: &[f64], spacing: Option<f64>, budget: &mut Budget) -> Result<Self, Error> {
        let (start, end) = (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(0.0));
        let spacing = spacing.or_else(|| spacing_of(times)).unwrap_or(ONE_TIME_CODE);
        let count = ((end - start) / spacing - GRID_TOLERANCE).ceil().max(0.0);
        // If samples are far apart, the number of frames is not bounded by the size of the file.
        budget.take("frames", count.min(1e15) as usize, 64)?;
        let misses = !times.iter().all(|time| is_on_grid(*time, start, spacing));
        Ok(Self { start, spacing, count: count as usize + 1, misses })
    }

    /// The frames of curves with keys at `times`: at the requested rate, else at that of the keys, else,
    /// if these are sparse, at the stage's.
    pub(super) fn of_curves(times: &[f64], clock: &Clock, budget: &mut Budget) -> Result<Self, Error> {
        let own = spacing_of(times).unwrap_or(ONE_TIME_CODE);
        let is_sparse = clock.rate(own) < MIN_RATE_HZ;
        let own = if is_sparse { own.min(clock.stage_spacing()) } else { own };
        let grid = Self::of(times, Some(clock.asked_spacing().unwrap_or(own)), budget)?;
        // At a requested rate, values between the keys are expected.
        Ok(Self { misses: grid.misses && clock.asked_spacing().is_none(), ..grid })
    }

    /// Note on the frames of the prim at `path`.
    pub(super) fn note(&self, path: &str) -> Option<Note> {
        self.misses.then(|| Note::at(path, "some samples are between frames; the motion is interpolated"))
    }

    /// The time code of frame `frame`.
    pub(super) fn time(&self, frame: usize) -> f64 {
        self.start + frame as f64 * self.spacing
    }

    /// All time codes.
    pub(super) fn times(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.count).map(|frame| self.time(frame))
    }
}

/// The spacing of which all sample times are multiples, if there is one.
fn spacing_of(times: &[f64]) -> Option<f64> {
    let (start, end) = (*times.first()?, *times.last()?);
    let smallest = times.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    if !(smallest > 0.0 && smallest.is_finite()) {
        return None;
    }
    // Divided evenly over the whole range, the spacing is exact even if the times are rounded.
    let spacing = (end - start) / ((end - start) / smallest).round();
    times.iter().all(|time| is_on_grid(*time, start, spacing)).then_some(spacing)
}

fn is_on_grid(time: f64, start: f64, spacing: f64) -> bool {
    let steps = (time - start) / spacing;
    (steps - steps.round()).abs() <= GRID_TOLERANCE
}

/// The times at which any of `attributes` has a sample, ascending.
pub(super) fn sample_times<'a>(attributes: impl IntoIterator<Item = &'a Attribute>) -> Vec<f64> {
    let mut times: Vec<f64> = Vec::new();
    for attribute in attributes.into_iter().filter(|attribute| attribute.samples.len() > 1) {
        times.extend(attribute.samples.iter().map(|(time, _)| *time));
    }
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

/// Location of `time` among samples: the sample before, and the fraction of the way to the next.
fn interval(samples: &[(f64, Value)], time: f64) -> (usize, f64) {
    let after = samples.partition_point(|(sample, _)| *sample <= time);
    let before = after.saturating_sub(1);
    let Some((&(start, _), &(end, _))) = samples.get(before).zip(samples.get(after)) else {
        return (before, 0.0);
    };
    // Before the first sample, the first sample is used; apart from rounding, the times of a grid are those of the
    // samples.
    const SNAP: f64 = 1e-9;
    let t = if after == 0 || end <= start { 0.0 } else { (time - start) / (end - start) };
    if t > 1.0 - SNAP { (after, 0.0) } else { (before, if t < SNAP { 0.0 } else { t }) }
}

/// The value at `time`: interpolated between samples, or the default.
pub(super) fn at<T>(
    attribute: &Attribute,
    time: f64,
    convert: impl Fn(&Value) -> Option<T>,
    blend: impl Fn(T, T, f64) -> T,
) -> Option<T> {
    if attribute.samples.is_empty() {
        return attribute.default.as_ref().and_then(convert);
    }
    let (before, t) = interval(&attribute.samples, time);
    let first = convert(&attribute.samples.get(before)?.1)?;
    match attribute.samples.get(before + 1).filter(|_| t > 0.0) {
        Some((_, next)) => Some(blend(first, convert(next)?, t)),
        None => Some(first),
    }
}

/// Blends element by element; lists of different lengths are not blended.
pub(super) fn blend_lists<T: Copy>(blend: impl Fn(T, T, f64) -> T) -> impl Fn(Vec<T>, Vec<T>, f64) -> Vec<T> {
    move |mut a, b, t| {
        if a.len() == b.len() {
            for (a, b) in a.iter_mut().zip(b) {
                *a = blend(*a, b, t);
            }
        }
        a
    }
}

pub(super) fn blend_vector3(a: Vec3, b: Vec3, t: f64) -> Vec3 {
    a.lerp(b, t as f32)
}

/// Along the shorter arc.
pub(super) fn blend_quaternion(a: DQuat, b: DQuat, t: f64) -> DQuat {
    if a.length_squared() > 0.0 && b.length_squared() > 0.0 { a.normalize().slerp(b.normalize(), t) } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(times: &[f64]) -> Grid {
        Grid::of(times, None, &mut Budget::for_file(100)).unwrap()
    }

    #[test]
    fn samples_on_a_grid_are_the_frames() {
        assert_eq!(grid(&[1.0, 3.0, 5.0]), Grid { start: 1.0, spacing: 2.0, count: 3, misses: false });
        assert_eq!(grid(&[0.0, 2.0, 3.0, 10.0]).count, 11);
        let thirds: Vec<f64> = (0..100).map(|k| f64::from(k as f32 / 3.0)).collect();
        assert_eq!(grid(&thirds).count, 100);
    }

    #[test]
    fn samples_off_any_grid_give_one_frame_per_time_code() {
        let uneven = grid(&[0.0, 0.7, 1.9, 10.0]);
        assert_eq!((uneven.spacing, uneven.count, uneven.misses), (1.0, 11, true));
    }

    #[test]
    fn frames_reach_the_last_sample() {
        let uneven = grid(&[0.0, 1.0, 10.0, 10.37]);
        assert_eq!((uneven.spacing, uneven.count, uneven.misses), (1.0, 12, true));
    }

    #[test]
    fn sparse_keys_are_sampled_at_the_rate_of_the_stage() {
        let frames = |times: &[f64], time_codes_per_second, frames_per_second| {
            let clock = Clock { time_codes_per_second, frames_per_second, asked_rate_hz: None };
            let grid = Grid::of_curves(times, &clock, &mut Budget::for_file(100)).unwrap();
            (grid.count, clock.rate(grid.spacing))
        };
        assert_eq!(frames(&[0.0, 30.0], 24.0, 24.0), (31, 24.0));
        assert_eq!(frames(&[0.0, 2.0], 1.0, 30.0), (61, 30.0));
        // Every second frame is dense enough, and slow stages are kept unchanged.
        assert_eq!(frames(&[0.0, 2.0, 4.0], 24.0, 24.0), (3, 12.0));
        assert_eq!(frames(&[0.0, 1.0, 2.0], 5.0, 5.0), (3, 5.0));
    }

    #[test]
    fn rejects_samples_that_are_too_far_apart() {
        assert!(Grid::of(&[0.0, 0.001, 1e12], None, &mut Budget::for_file(100)).is_err());
    }

    #[test]
    fn values_between_samples_are_interpolated() {
        let samples = vec![(0.0, Value::Double(1.0)), (10.0, Value::Double(2.0))];
        let attribute = Attribute { samples, ..Attribute::default() };
        let at = |time| at(&attribute, time, super::super::values::number, |a, b, t| a + (b - a) * t).unwrap();
        assert_eq!([at(-5.0), at(0.0), at(5.0), at(10.0), at(20.0)], [1.0, 1.0, 1.5, 2.0, 2.0]);
    }
}
