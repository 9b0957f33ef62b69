//! Watching and stopping long work.
//!
//! Libraries print nothing: a function that may take long takes `&dyn Progress`, reports what it has done, and ends
//! early, with a result or an error that says so, when the observer asks it to.

use std::ops::ControlFlow;

/// An observer of long work, which can also stop it.
pub trait Progress: Sync {
    /// Says that `done` of `total` units of the stage called `stage` are finished.
    ///
    /// `ControlFlow::Break` asks the work to stop as soon as it can.
    fn report(&self, stage: &str, done: usize, total: usize) -> ControlFlow<()>;
}

/// Watches nothing and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _stage: &str, _done: usize, _total: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
