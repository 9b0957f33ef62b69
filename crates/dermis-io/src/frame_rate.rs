//! Frame rates: stated by a file, derived from its times, or assumed.

use dermis_mesh::Note;
use dermis_mesh::sequence::DEFAULT_FRAME_RATE_HZ;

use crate::options::ReadOptions;

/// Tolerated deviation of times from their grid, as a fraction of a frame: f32 seconds of an hour-long take are within
/// it.
const STRAY_FRAMES: f64 = 0.02;
/// Relative distance within which a rate is rounded to a whole number; 29.97 is twenty times farther from 30.
const SNAP: f64 = 5e-5;

/// The rate to use for a file that states none: the caller's, or 24 with a note.
pub(crate) fn assumed(options: &ReadOptions, notes: &mut Vec<Note>) -> f64 {
    options.frame_rate_hz.unwrap_or_else(|| {
        notes.push(Note::new(format!("the file states no frame rate; {DEFAULT_FRAME_RATE_HZ} is assumed")));
        DEFAULT_FRAME_RATE_HZ
    })
}

/// The rate and the start (in seconds) of frames at `times`, if they are evenly spaced.
pub(crate) fn of_times(times: &[f64]) -> Option<(f64, f64)> {
    let (&first, &last) = (times.first()?, times.last()?);
    let step = (last - first) / (times.len() - 1) as f64;
    if !(step.is_finite() && step > 0.0) {
        return None;
    }
    let on_grid = |(k, time): (usize, &f64)| (time - (first + k as f64 * step)).abs() <= STRAY_FRAMES * step;
    times.iter().enumerate().all(on_grid).then(|| (snapped(1.0 / step), first))
}

/// The rate and start of frames at `times`, or an assumed rate and a note if they are not evenly spaced.
pub(crate) fn of_times_or_assumed(times: &[f64], options: &ReadOptions, notes: &mut Vec<Note>) -> (f64, f64) {
    if let Some((rate, start)) = of_times(times) {
        return (rate, start);
    }
    if times.len() > 1 {
        notes.push(Note::new("the times of the frames are not evenly spaced; even spacing is assumed"));
    }
    (assumed(options, notes), times.first().copied().filter(|start| start.is_finite()).unwrap_or(0.0))
}

/// Rounds a rate that is a whole number up to rounding errors.
pub(crate) fn snapped(rate: f64) -> f64 {
    let whole = rate.round();
    if whole > 0.0 && (rate - whole).abs() <= SNAP * whole { whole } else { rate }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_times_yield_the_exact_whole_rate() {
        for rate in [24.0, 30.0, 59.0] {
            let times: Vec<f64> = (0..5000).map(|k| f64::from((10.0 + k as f64 / rate) as f32)).collect();
            let (found, start) = of_times(&times).unwrap();
            assert_eq!((found, start), (rate, 10.0));
        }
        let (ntsc, _) = of_times(&[0.0, 1001.0 / 30000.0, 2002.0 / 30000.0]).unwrap();
        assert!((ntsc - 30000.0 / 1001.0).abs() < 1e-9);
    }

    #[test]
    fn uneven_or_invalid_times_yield_no_rate() {
        for times in
            [&[0.0, 1.0, 3.0][..], &[0.0], &[], &[0.0, 0.0], &[1.0, 0.0], &[0.0, f64::NAN], &[0.0, f64::INFINITY]]
        {
            assert_eq!(of_times(times), None, "{times:?}");
        }
    }
}
