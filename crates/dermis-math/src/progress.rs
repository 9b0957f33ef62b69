//! Progress reports and cancellation of long computations.
//!
//! Libraries print nothing: a function that can take long accepts `&dyn Progress`, reports the work done, and ends early,
//! with a result or error that states so, if the observer requests it.

use std::ops::ControlFlow;

/// Observer of a long computation that can also cancel it.
pub trait Progress: Sync {
    /// Reports that `done` of `total` units of the stage `stage` are finished.
    ///
    /// `ControlFlow::Break` requests that the work stops as soon as possible.
    fn report(&self, stage: &str, done: usize, total: usize) -> ControlFlow<()>;
}

/// Observer that ignores all reports and never cancels.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _stage: &str, _done: usize, _total: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
