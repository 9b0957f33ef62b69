//! Frame rate that the key times of an animation imply.
//!
//! glTF stores times, not frames. If all keys are on a grid `start + k / f`, the smallest such f is assumed to be the
//! rate at which the animation was made, so that every key is a frame and no frame is redundant. If f is below 10, the
//! keys were probably set by hand and should be interpolated: the smallest multiple of f that reaches 10 is then used.

use dermis_mesh::sequence::DEFAULT_FRAME_RATE_HZ;

/// Common rates that are not whole numbers.
const BROADCAST_RATES_HZ: [f64; 3] = [24_000.0 / 1001.0, 30_000.0 / 1001.0, 60_000.0 / 1001.0];
const MAX_RATE_HZ: u32 = 240;
const MIN_RATE_HZ: f64 = 10.0;
/// Tolerated distance of a key from the grid, in frames, in addition to the rounding of times to f32.
const TOLERANCE_FRAMES: f64 = 5e-4;
/// Maximum tolerance: with a larger one, any grid would match.
const MAX_TOLERANCE_FRAMES: f64 = 0.02;

/// Times of frames: frame k is at `start_seconds + k / rate_hz`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FrameTimes {
    pub start_seconds: f64,
    pub rate_hz: f64,
    pub count: usize,
    /// True if the rate is the default because none could be determined.
    pub assumed: bool,
}

impl FrameTimes {
    /// The time of frame `frame`.
    pub(super) fn seconds(&self, frame: usize) -> f64 {
        self.start_seconds + frame as f64 / self.rate_hz
    }

    /// Distance below which two times are considered equal.
    pub(super) fn tolerance_seconds(&self) -> f64 {
        TOLERANCE_FRAMES / self.rate_hz + rounding_seconds(self.seconds(self.count))
    }
}

/// The frames of an animation with the given key times (ascending) at `wanted_hz`, or at the rate of its keys.
pub(super) fn frame_times(keys: &[f32], wanted_hz: Option<f64>) -> FrameTimes {
    let start_seconds = f64::from(keys.first().copied().unwrap_or(0.0));
    let end = f64::from(keys.last().copied().unwrap_or(0.0));
    let length = end - start_seconds;
    let times = |rate_hz: f64, last_frame: f64, assumed: bool| FrameTimes {
        start_seconds,
        rate_hz,
        count: (last_frame as usize).saturating_add(1),
        assumed,
    };
    // The last key can be slightly before its frame because its time is rounded.
    let last_frame = |rate_hz: f64| {
        let slack = 1e-6 + (rounding_seconds(end) * rate_hz).min(MAX_TOLERANCE_FRAMES);
        (length * rate_hz + slack).floor()
    };
    match (wanted_hz, grid_rate(keys)) {
        (Some(rate), _) => times(rate, last_frame(rate), false),
        (None, Some(rate)) => times(rate, (length * rate).round(), false),
        (None, None) => times(DEFAULT_FRAME_RATE_HZ, last_frame(DEFAULT_FRAME_RATE_HZ), true),
    }
}

/// The lowest rate whose grid contains all keys.
fn grid_rate(keys: &[f32]) -> Option<f64> {
    let start = f64::from(*keys.first()?);
    let end = f64::from(*keys.last()?);
    let fits = |rate: &f64| {
        let tolerance = TOLERANCE_FRAMES + rounding_seconds(end) * rate;
        tolerance <= MAX_TOLERANCE_FRAMES
            && keys.iter().all(|&key| {
                let frame = (f64::from(key) - start) * rate;
                (frame - frame.round()).abs() <= tolerance
            })
    };
    if end <= start {
        return Some(DEFAULT_FRAME_RATE_HZ);
    }
    let rate = (1..=MAX_RATE_HZ).map(f64::from).chain(BROADCAST_RATES_HZ).find(fits)?;
    Some(rate * (MIN_RATE_HZ / rate).ceil().max(1.0))
}

/// Rounding error of times near `seconds` that are stored as f32.
fn rounding_seconds(seconds: f64) -> f64 {
    2.0 * f64::from(f32::EPSILON) * seconds.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rate: f64, first: u32, count: u32) -> Vec<f32> {
        (first..first + count).map(|k| (f64::from(k) / rate) as f32).collect()
    }

    #[test]
    fn every_common_rate_is_recovered_from_rounded_times() {
        for rate in [10.0, 12.0, 15.0, 24.0, 24_000.0 / 1001.0, 25.0, 30_000.0 / 1001.0, 30.0, 50.0, 60.0, 120.0, 240.0]
        {
            for count in [2, 17, 1000, 5000] {
                let times = frame_times(&grid(rate, 1, count), None);
                assert!((times.rate_hz - rate).abs() < 1e-9, "{rate} Hz, {count} keys: {times:?}");
                assert_eq!(times.count, count as usize);
            }
        }
    }

    #[test]
    fn sparse_keys_on_the_grid_do_not_lower_the_rate_below_ten() {
        assert_eq!(frame_times(&[0.0, 1.0, 3.0], None).rate_hz, 10.0);
        assert_eq!(frame_times(&[0.0, 1.0 / 3.0, 2.0], None).rate_hz, 12.0);
        assert_eq!(frame_times(&[0.0, 3.0 / 24.0, 47.0 / 24.0], None).rate_hz, 24.0);
    }

    #[test]
    fn times_off_any_grid_use_the_default_unless_a_rate_is_given() {
        let keys = [0.0, 0.1234, 0.5077, 1.0];
        let times = frame_times(&keys, None);
        assert!(times.assumed && times.rate_hz == 24.0 && times.count == 25);
        let times = frame_times(&keys, Some(30.0));
        assert!(!times.assumed && times.count == 31);
        assert_eq!(frame_times(&[2.0], None).count, 1);
    }
}
