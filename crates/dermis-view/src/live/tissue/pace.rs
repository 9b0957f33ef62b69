//! Number of steps that the available time allows, and their speed.

use dermis::tissue::layered::FrameReport;

/// Substeps are counted per this fraction of a second.
pub(super) const DISPLAYED_HZ: f64 = 60.0;
/// Fraction of the elapsed time available for steps.
const BUDGET: f64 = 0.8;
/// Weight of the latest times in the smoothed ones.
const LATEST_WEIGHT: f64 = 0.1;

/// Smoothed speed of a simulation.
#[derive(Debug, Default)]
pub(super) struct Pace {
    posing_s: f64,
    step_s: f64,
    iterations: f64,
    /// Number of steps of the last request, and the requested number.
    steps: usize,
    requested: usize,
}

impl Pace {
    /// Number of steps for `passed_s`: the requested number, unless the time is insufficient.
    pub(super) fn steps_in(&mut self, passed_s: f64, substeps: usize) -> usize {
        self.requested = (passed_s * DISPLAYED_HZ * substeps as f64).ceil() as usize;
        let affordable = (BUDGET * passed_s - self.posing_s) / self.step_s.max(1e-9);
        self.steps = self.requested.min(affordable.max(1.0) as usize).max(1);
        self.steps
    }

    /// Adds the times of a frame of `steps` steps.
    pub(super) fn take(&mut self, report: &FrameReport, steps: usize) {
        let smooth = |old: f64, new: f64| if old == 0.0 { new } else { old + LATEST_WEIGHT * (new - old) };
        self.posing_s = smooth(self.posing_s, report.posing.as_secs_f64());
        self.step_s = smooth(self.step_s, report.stepping.as_secs_f64() / steps as f64);
        self.iterations = smooth(self.iterations, report.steps.iterations as f64 / steps as f64);
    }

    /// Description of the speed for the requested number of `substeps`.
    pub(super) fn words(&self, substeps: usize) -> Vec<String> {
        let factor = 1.0 / DISPLAYED_HZ / (self.posing_s + substeps as f64 * self.step_s).max(1e-9);
        let (step_ms, iterations) = (1000.0 * self.step_s, self.iterations);
        let mut words = vec![
            format!("real-time factor {factor:.1}"),
            format!("{step_ms:.2} ms per step, {iterations:.0} CG iterations"),
        ];
        if self.steps < self.requested {
            words.push(format!("too slow: {} of {} substeps", self.steps, self.requested));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn uses_fewer_steps_if_time_is_insufficient() {
        let mut pace = Pace::default();
        assert_eq!(pace.steps_in(1.0 / 60.0, 4), 4);
        pace.take(&FrameReport { stepping: Duration::from_millis(8), ..FrameReport::default() }, 4);
        assert_eq!(pace.steps_in(1.0 / 60.0, 4), 4);
        assert_eq!(pace.words(4)[0], "real-time factor 2.1");
        let mut slow = Pace::default();
        slow.take(&FrameReport { stepping: Duration::from_millis(80), ..FrameReport::default() }, 4);
        assert_eq!((slow.steps_in(0.1, 4), slow.steps_in(0.001, 4)), (4, 1));
        assert!(slow.words(4).iter().all(|word| !word.contains("too slow")));
    }
}
