//! List of the files that this process has read, including the files that inputs reference.
//!
//! Programs that repeat work only if its inputs have changed need this list; the names of the inputs alone do not
//! include buffers, caches and layers that they reference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

static RECORDING: AtomicBool = AtomicBool::new(false);
static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Starts to record files; before that, nothing is recorded.
pub fn record() {
    RECORDING.store(true, Ordering::Relaxed);
}

/// Adds a file that is read, if files are recorded.
pub fn add(path: &Path) {
    if RECORDING.load(Ordering::Relaxed) {
        FILES.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf());
    }
}

/// The recorded files, sorted.
pub fn files() -> Vec<PathBuf> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}
