//! Options of readers and writers.

use std::path::PathBuf;

/// Options of [`crate::read`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// The rate at which animation curves are sampled, in frames per second. It is also taken as the rate of files that
    /// do not state theirs. `None`: the rate of the file's keys where they lie on a grid, 24 otherwise.
    pub frame_rate_hz: Option<f64>,
    /// The mesh whose faces a point cache (PC2, MDD) moves. `None`: a file of the same name with the extension `.obj`,
    /// and bare points if there is none.
    pub topology: Option<PathBuf>,
}

/// Options of [`crate::write`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteOptions {
    /// Replace what is there already.
    pub force: bool,
}
