//! Time per stage of a long computation, in seconds.

use std::time::Instant;

/// A stopwatch that is read at the end of each stage.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    last: Instant,
    /// The stages so far, in order.
    pub(crate) stages: Vec<(&'static str, f64)>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { last: Instant::now(), stages: Vec::new() }
    }

    /// Ends a stage; the time is added to any earlier stage of the same name.
    pub(crate) fn stage(&mut self, name: &'static str) {
        let seconds = self.last.elapsed().as_secs_f64();
        match self.stages.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total)) => *total += seconds,
            None => self.stages.push((name, seconds)),
        }
        self.last = Instant::now();
    }
}
