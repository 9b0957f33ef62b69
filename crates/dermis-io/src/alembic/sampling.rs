//! Sample times: the time samplings of an archive, and the common grid of frames of an object's samples.
//!
//! A time sampling stores n times and a period: sample i is at `times[i mod n] + period · ⌊i / n⌋`. With n = 1 it is
//! uniform, with n > 1 cyclic, and with the largest possible period it is acyclic: every time is stored. Cyclic and
//! acyclic times with even steps count as uniform.
//!
//! An object moves by its own points and by the transforms above it, each with its own sampling. If all share one grid,
//! samples are used unchanged; otherwise they are interpolated linearly on the finest of the grids.

use std::sync::Arc;

use super::cursor::Cursor;
use crate::error::Error;

/// Distance from a grid, in steps, up to which a time is on it: exporters round times to single precision.
const ON_GRID: f64 = 0.02;

/// The times of samples.
#[derive(Debug, PartialEq)]
pub(super) struct TimeSampling {
    period: Period,
    times: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Period {
    Seconds(f64),
    Acyclic,
}

/// Evenly spaced frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grid {
    pub(super) start_seconds: f64,
    pub(super) frame_rate_hz: f64,
    pub(super) frames: usize,
}

/// Positions of the samples of a property on a [`Grid`].
#[derive(Debug, Clone)]
pub(super) struct Track {
    sampling: Arc<TimeSampling>,
    samples: usize,
    placing: Placing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Placing {
    /// Offset from the frame number to the sample number.
    Shifted(i64),
    /// Frames are between samples.
    Between,
}

/// A value between two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Between {
    pub(super) before: usize,
    pub(super) after: usize,
    /// Fraction of the way from `before` to `after`, in [0, 1).
    pub(super) part: f64,
}

/// The time period that means "acyclic": 1/32 of the largest number.
pub(super) const ACYCLIC_PERIOD: f64 = f64::MAX / 32.0;

impl TimeSampling {
    /// All samplings of an archive: for each, the number of samples that use it, the period, and the stored times.
    pub(super) fn read_all(bytes: &[u8]) -> Result<Vec<Arc<Self>>, Error> {
        let mut cursor = Cursor::new(bytes, "the time samplings");
        let mut samplings = Vec::new();
        while !cursor.is_empty() {
            cursor.u32()?;
            let period = cursor.f64()?;
            let count = cursor.u32()? as usize;
            let times = cursor.bytes(count.saturating_mul(8))?;
            let times = times.as_chunks().0.iter().map(|time| f64::from_le_bytes(*time)).collect();
            let period = if period >= ACYCLIC_PERIOD { Period::Acyclic } else { Period::Seconds(period) };
            samplings.push(Arc::new(Self { period, times }));
        }
        Ok(samplings)
    }

    /// Returns whether this is the default sampling with which every archive begins: one sample per second from 0.
    pub(super) fn is_unstated(&self) -> bool {
        self.period == Period::Seconds(1.0) && self.times == [0.0]
    }

    /// The same samples at `rate_hz` samples per second from 0.
    pub(super) fn uniform(rate_hz: f64) -> Self {
        Self { period: Period::Seconds(1.0 / rate_hz), times: vec![0.0] }
    }

    /// Returns an error unless the times of all `samples` samples exist, are finite and increase.
    pub(super) fn check(&self, samples: usize) -> Result<(), Error> {
        let increasing = self.times.windows(2).all(|pair| pair[0] < pair[1]);
        let finite = self.times.iter().all(|time| time.is_finite());
        let (Some(first), Some(last)) = (self.times.first(), self.times.last()) else {
            return Err(Error::malformed("a time sampling has no times"));
        };
        let fits = match self.period {
            Period::Seconds(period) => period > 0.0 && last - first < period,
            Period::Acyclic => self.times.len() >= samples,
        };
        if increasing && finite && fits {
            return Ok(());
        }
        Err(Error::malformed(format!("the times of {samples} samples are missing, out of order or not finite")))
    }

    fn time(&self, sample: usize) -> f64 {
        match self.period {
            Period::Acyclic => self.times[sample.min(self.times.len() - 1)],
            Period::Seconds(period) => {
                self.times[sample % self.times.len()] + period * (sample / self.times.len()) as f64
            }
        }
    }

    /// The step between samples if it is always the same.
    fn even_step(&self, samples: usize) -> Option<f64> {
        let count = self.times.len();
        let (step, cycle) = match self.period {
            Period::Seconds(period) => (period / count as f64, count),
            Period::Acyclic if samples < 2 => return None,
            Period::Acyclic => ((self.time(samples - 1) - self.time(0)) / (samples - 1) as f64, samples),
        };
        let start = self.times[0];
        let even = self.times[..cycle]
            .iter()
            .enumerate()
            .all(|(k, time)| (time - start - k as f64 * step).abs() <= ON_GRID * step);
        even.then_some(step)
    }

    /// Step and phase of the grid: the step between samples, or the period of uneven cycles with the sample in them
    /// that is closest to a whole frame (the others are shutter samples), or `None`.
    fn natural_step(&self, samples: usize) -> Option<(f64, f64)> {
        if let Some(step) = self.even_step(samples) {
            return Some((step, self.times[0]));
        }
        let Period::Seconds(period) = self.period else {
            return None;
        };
        let off_frame = |time: &f64| (time / period - (time / period).round()).abs();
        let hit = self.times.iter().min_by(|a, b| off_frame(a).total_cmp(&off_frame(b)))?;
        Some((period, *hit))
    }

    fn around(&self, samples: usize, time: f64) -> Between {
        // Binary search for the first sample after `time`.
        let (mut low, mut high) = (0, samples);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.time(middle) <= time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (before, after) = (low.saturating_sub(1), low.min(samples - 1));
        let span = self.time(after) - self.time(before);
        let part = if span > 0.0 { ((time - self.time(before)) / span).clamp(0.0, 1.0) } else { 0.0 };
        // Times that equal a sample time up to rounding use that sample, not a blend.
        if part < ON_GRID {
            return Between { before, after: before, part: 0.0 };
        }
        if part > 1.0 - ON_GRID {
            return Between { before: after, after, part: 0.0 };
        }
        Between { before, after, part }
    }
}

impl Track {
    /// `samples` samples, at least one, at the times of `sampling`, which has been checked.
    pub(super) fn new(sampling: Arc<TimeSampling>, samples: usize) -> Self {
        Self { sampling, samples, placing: Placing::Shifted(0) }
    }

    /// The samples of frame `frame` of `grid`: the first before its time, the last after its time.
    pub(super) fn at(&self, grid: &Grid, frame: usize) -> Between {
        match self.placing {
            Placing::Shifted(shift) => {
                let sample = (frame as i64).saturating_add(shift).clamp(0, self.samples as i64 - 1) as usize;
                Between { before: sample, after: sample, part: 0.0 }
            }
            Placing::Between => {
                self.sampling.around(self.samples, grid.start_seconds + frame as f64 / grid.frame_rate_hz)
            }
        }
    }

    /// The frame of `grid` that is nearest to the first occurrence of a sample.
    pub(super) fn frame_of(&self, grid: &Grid, sample: usize) -> usize {
        let seconds = self.sampling.time(sample) - grid.start_seconds;
        (seconds * grid.frame_rate_hz).round().max(0.0) as usize
    }
}

/// Puts all `tracks` on one grid. `None` without tracks. The flag is true if any is interpolated.
///
/// `fallback_rate_hz` is used for times without a rate.
pub(super) fn common_grid(tracks: &mut [&mut Track], fallback_rate_hz: f64) -> Option<(Grid, bool)> {
    let natural: Vec<_> = tracks.iter().map(|track| track.sampling.natural_step(track.samples)).collect();
    let finest = natural.iter().flatten().copied().min_by(|a, b| a.0.total_cmp(&b.0));
    let first = tracks.iter().map(|track| track.sampling.time(0)).min_by(f64::total_cmp)?;
    let last = tracks.iter().map(|track| track.sampling.time(track.samples - 1)).max_by(f64::total_cmp)?;
    let (step, hit) = finest.unwrap_or((1.0 / fallback_rate_hz, first));
    // Earliest time on the grid through `hit` that is not before the first sample.
    let start = hit + ((first - hit) / step - ON_GRID).ceil() * step;
    let frame_rate_hz = tidy_rate(1.0 / step);
    let frames = ((last - start) / step + ON_GRID).floor().max(0.0) as usize;
    let grid = Grid { start_seconds: start, frame_rate_hz, frames: frames.saturating_add(1) };
    let mut interpolated = false;
    for track in tracks {
        track.placing = placing_of(track, start, step);
        interpolated |= track.placing == Placing::Between;
    }
    Some((grid, interpolated))
}

fn placing_of(track: &Track, start: f64, step: f64) -> Placing {
    let Some(own_step) = track.sampling.even_step(track.samples) else {
        return Placing::Between;
    };
    let shift = (start - track.sampling.time(0)) / step;
    // The steps must agree closely enough that the last sample is still on the grid.
    let drift = (own_step / step - 1.0).abs() * track.samples as f64;
    if (shift - shift.round()).abs() > ON_GRID || drift > ON_GRID {
        return Placing::Between;
    }
    Placing::Shifted(shift.round() as i64)
}

/// The intended rate: steps are stored rounded, by some exporters to single precision.
fn tidy_rate(rate_hz: f64) -> f64 {
    const ROUNDING: f64 = 1e-7;
    let whole = rate_hz.round();
    let television = (rate_hz * 1.001).round() * 1000.0 / 1001.0;
    // The rate commonly written as 23.976.
    let decimal = (rate_hz * 1000.0).round() / 1000.0;
    let near = |candidate: &f64| (candidate - rate_hz).abs() <= ROUNDING * rate_hz;
    [whole, television, decimal].into_iter().find(near).unwrap_or(rate_hz)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cyclic(period: f64, times: &[f64]) -> Arc<TimeSampling> {
        Arc::new(TimeSampling { period: Period::Seconds(period), times: times.to_vec() })
    }

    fn acyclic(times: &[f64]) -> Arc<TimeSampling> {
        Arc::new(TimeSampling { period: Period::Acyclic, times: times.to_vec() })
    }

    fn grid_of(tracks: &mut [Track]) -> (Grid, bool) {
        common_grid(&mut tracks.iter_mut().collect::<Vec<_>>(), 24.0).unwrap()
    }

    #[test]
    fn even_cycles_and_even_lists_count_as_uniform() {
        let even = [cyclic(0.1, &[1.0, 1.05]), acyclic(&[1.0, 1.05, 1.1, 1.15]), cyclic(0.05, &[1.0])];
        for sampling in even {
            let mut tracks = [Track::new(sampling, 4)];
            let (grid, interpolated) = grid_of(&mut tracks);
            assert_eq!((grid.frames, grid.frame_rate_hz, interpolated), (4, 20.0, false));
            assert_eq!(grid.start_seconds, 1.0);
            assert_eq!(tracks[0].at(&grid, 3).before, 3);
        }
    }

    #[test]
    fn broadcast_and_decimal_rates_are_recovered_exactly() {
        for rate in [24.0, 23.976, 24000.0 / 1001.0, 30000.0 / 1001.0, 29.97, 12.5, 1.0] {
            assert_eq!(grid_of(&mut [Track::new(cyclic(1.0 / rate, &[0.0]), 5)]).0.frame_rate_hz, rate);
        }
    }

    #[test]
    fn a_late_start_holds_the_first_sample() {
        let step = 1.0 / 24.0;
        let mut tracks = [Track::new(cyclic(step, &[step * 10.0]), 5), Track::new(cyclic(step, &[step * 8.0]), 5)];
        let (grid, interpolated) = grid_of(&mut tracks);
        assert_eq!((grid.frames, interpolated), (7, false));
        let samples: Vec<usize> = (0..7).map(|frame| tracks[0].at(&grid, frame).before).collect();
        assert_eq!(samples, [0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(tracks[0].frame_of(&grid, 4), 6);
    }

    #[test]
    fn uneven_times_are_interpolated() {
        let mut tracks = [Track::new(acyclic(&[0.0, 0.25, 1.0]), 3)];
        let (grid, interpolated) = grid_of(&mut tracks);
        assert_eq!((grid.frames, grid.frame_rate_hz, interpolated), (25, 24.0, true));
        assert_eq!(tracks[0].at(&grid, 15), Between { before: 1, after: 2, part: 0.5 });
        assert_eq!(tracks[0].at(&grid, 24).before, 2);
    }

    #[test]
    fn shutter_samples_are_skipped() {
        let step = 1.0 / 24.0;
        let mut tracks = [Track::new(cyclic(step, &[-0.25 * step, 0.0, 0.25 * step]), 9)];
        let (grid, _) = grid_of(&mut tracks);
        assert_eq!((grid.frames, grid.start_seconds), (3, 0.0));
        let samples: Vec<usize> = (0..3).map(|frame| tracks[0].at(&grid, frame).before).collect();
        assert_eq!(samples, [1, 4, 7]);
    }

    #[test]
    fn rejects_missing_or_unordered_times() {
        assert!(acyclic(&[0.0, 1.0]).check(3).is_err());
        assert!(acyclic(&[1.0, 0.0]).check(2).is_err());
        assert!(acyclic(&[f64::NAN]).check(1).is_err());
        assert!(cyclic(0.0, &[0.0]).check(1).is_err());
        assert!(cyclic(1.0, &[]).check(1).is_err());
        assert!(cyclic(1.0, &[0.0]).check(100).is_ok());
    }
}
