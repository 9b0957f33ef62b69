//! Choice of the training sequences by the histograms of their mean amplitudes (Kim et al. 2017, §5.1, Figure 6).

use rayon::prelude::*;

use super::SubjectError;
use super::track::{Tracked, Unposer};
use crate::fit::scans::Scan;
use crate::layered::LayeredBody;

/// Mean amplitude of the scans, relative to the size of the body, below which they are still.
const STILL_AMPLITUDE: f64 = 3e-4;
/// Number of training sequences if none are named.
const CHOSEN: usize = 2;
/// Width of the bins of a histogram, in metres, and their number; the last is open.
pub const HISTOGRAM_BIN_M: f64 = 2e-3;
/// Number of bins of a histogram.
pub const HISTOGRAM_BINS: usize = 16;

/// Motion of the flesh in one scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanMotion {
    /// Name of the scan.
    pub name: String,
    /// Mean over all points of the mean amplitude (Eq. 18), in metres.
    pub mean_amplitude_m: f64,
    /// Number of points by mean amplitude, in bins of [`HISTOGRAM_BIN_M`] (Figure 6).
    pub histogram: [usize; HISTOGRAM_BINS],
    /// Mean amplitude of each point, in metres.
    pub of_points: Vec<f64>,
}

/// Motion of the flesh in every scan of the tracked `body`.
pub(super) fn scan_motions(
    body: &LayeredBody,
    scans: &[Scan],
    tracked: &Tracked,
) -> Result<Vec<ScanMotion>, SubjectError> {
    let of = |(scan, poses): (&Scan, &Vec<_>)| -> Result<ScanMotion, SubjectError> {
        let of_points = Unposer::new(body.body(), poses)?.amplitudes(&scan.frames);
        let mut histogram = [0; HISTOGRAM_BINS];
        for amplitude in &of_points {
            histogram[((amplitude / HISTOGRAM_BIN_M) as usize).min(HISTOGRAM_BINS - 1)] += 1;
        }
        let mean_amplitude_m = of_points.iter().sum::<f64>() / of_points.len().max(1) as f64;
        Ok(ScanMotion { name: scan.name.clone(), mean_amplitude_m, histogram, of_points })
    };
    scans.par_iter().zip(&tracked.poses).map(of).collect()
}

/// Training scans: the named ones, or the two with the highest mean amplitudes.
pub(super) fn training_scans(
    motions: &[ScanMotion],
    names: &[String],
    size_m: f64,
) -> Result<Vec<usize>, SubjectError> {
    let mut chosen: Vec<usize> = (0..motions.len()).collect();
    if names.is_empty() {
        let amplitude = |index: usize| motions[index].mean_amplitude_m;
        chosen.sort_by(|&a, &b| amplitude(b).total_cmp(&amplitude(a)).then(a.cmp(&b)));
        chosen.truncate(CHOSEN);
    } else {
        let find = |name: &String| {
            let found = motions.iter().position(|motion| motion.name == *name);
            found.ok_or(SubjectError::NoSuchScan { name: name.clone() })
        };
        chosen = names.iter().map(find).collect::<Result<_, _>>()?;
    }
    for &index in &chosen {
        let ScanMotion { name, mean_amplitude_m, .. } = &motions[index];
        if *mean_amplitude_m < STILL_AMPLITUDE * size_m {
            return Err(SubjectError::Still { scan: name.clone(), amplitude_mm: 1e3 * mean_amplitude_m });
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motion(name: &str, mean_amplitude_m: f64) -> ScanMotion {
        let histogram = [0; HISTOGRAM_BINS];
        ScanMotion { name: name.to_owned(), mean_amplitude_m, histogram, of_points: Vec::new() }
    }

    #[test]
    fn chooses_the_two_most_vigorous_or_the_named_scans() {
        let motions = [motion("walk", 2e-3), motion("run", 9e-3), motion("stand", 1e-5), motion("jump", 7e-3)];
        assert_eq!(training_scans(&motions, &[], 2.0), Ok(vec![1, 3]));
        assert_eq!(training_scans(&motions, &["walk".to_owned()], 2.0), Ok(vec![0]));
        let still = training_scans(&motions, &["stand".to_owned()], 2.0);
        assert!(matches!(still, Err(SubjectError::Still { .. })), "{still:?}");
        let missing = training_scans(&motions, &["fly".to_owned()], 2.0);
        assert_eq!(missing, Err(SubjectError::NoSuchScan { name: "fly".to_owned() }));
    }
}
