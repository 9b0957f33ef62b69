//! Smallest number of bones that reaches a given distortion.

use dermis_mesh::Note;

use super::sma::cluster_bones::Cores;
use super::sma::mean_shift_clusters::{TOLERANCES, find_clusters};
use super::state::State;
use super::{FitError, Found, Work};

/// Maximum number of bones in the search for a given distortion; engines support no more.
const MAX_SEARCHED_BONES: usize = 256;

impl Work<'_> {
    /// Smallest number of bones whose refined skin reaches the distortion. It is doubled until it does, then bisected.
    pub(super) fn fewest_bones(&mut self, percent: f64) -> (State, Found) {
        let most = (self.trajectories.point_count() / 4).clamp(1, MAX_SEARCHED_BONES);
        let mut try_bones = |count: usize| {
            let result = self.refined_count(count);
            let reached = self.trajectories.distortion_percent(result.0.squared_error()) <= percent;
            let done = reached || result.1.refinement.stopped;
            (result, done)
        };
        let (mut low, mut count) = (0, 1);
        let mut best = loop {
            let (result, reached) = try_bones(count);
            let exhausted = count == most || result.0.bone_count() < count;
            if reached || exhausted {
                if !reached {
                    low = count - 1;
                }
                break result;
            }
            low = count;
            count = (2 * count).min(most);
        };
        let mut high = count;
        while high - low > 1 {
            let middle = low.midpoint(high);
            let (result, reached) = try_bones(middle);
            if reached {
                (high, best) = (middle, result);
            } else {
                low = middle;
            }
        }
        self.note_distortion(&best.0, percent);
        best
    }

    /// Largest tolerance, and thus smallest number of bones, at which the paper's skin reaches the distortion.
    pub(super) fn fewest_clusters(&mut self, percent: f64) -> Result<(State, Found), FitError> {
        const ROUNDS: usize = 10;
        let rotations = self.rotations()?;
        let cores = Cores::new(self.rest, self.trajectories, &rotations);
        let (mut low, mut high) = (TOLERANCES.0.ln(), TOLERANCES.1.ln());
        let mut best: Option<(State, Found)> = None;
        for _ in 0..ROUNDS {
            let middle = f64::midpoint(low, high);
            let clusters = find_clusters(&cores, middle.exp(), self.progress).ok_or(FitError::Stopped)?;
            let result = self.skin_of(&cores, clusters);
            let reached = self.trajectories.distortion_percent(result.0.squared_error()) <= percent;
            if reached {
                low = middle;
            } else {
                high = middle;
            }
            if reached || best.is_none() {
                best = Some(result);
            }
        }
        let best = best.ok_or(FitError::Stopped)?;
        self.note_distortion(&best.0, percent);
        Ok(best)
    }

    fn note_distortion(&mut self, state: &State, percent: f64) {
        let reached = self.trajectories.distortion_percent(state.squared_error());
        if reached > percent {
            self.notes.push(Note::new(format!(
                "a distortion of {percent} % was not reached: {reached:.3} % with {} bones",
                state.bone_count()
            )));
        }
    }
}
