//! Ctrl-C: while an output is being written or a page served, the first asks the work to stop and clean up, the second
//! ends the program at once; at any other time there is nothing to clean up and the first ends it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::EXIT_ERROR;
use crate::args::Shared;
use crate::diagnostic::{Diagnostic, STOPPED};

static BUSY: AtomicBool = AtomicBool::new(false);
static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);

/// Starts to listen for Ctrl-C.
pub(crate) fn listen(shared: Shared) -> Result<(), Diagnostic> {
    let stop = move || {
        let asked_before = ASKED_TO_STOP.swap(true, Ordering::SeqCst);
        if asked_before {
            std::process::exit(i32::from(EXIT_ERROR));
        }
        if !BUSY.load(Ordering::SeqCst) {
            Diagnostic::new(STOPPED).show(&shared);
            std::process::exit(i32::from(EXIT_ERROR));
        }
        if !shared.quiet {
            eprintln!("stopping; press Ctrl-C again to stop at once");
        }
    };
    ctrlc::set_handler(stop).map_err(|error| Diagnostic::new(format!("Ctrl-C cannot be listened for: {error}")))
}

/// Whether Ctrl-C was pressed.
pub(crate) fn asked_to_stop() -> bool {
    ASKED_TO_STOP.load(Ordering::SeqCst)
}

/// Goes on as if Ctrl-C had not been pressed: the work has heeded it.
pub(crate) fn forget() {
    ASKED_TO_STOP.store(false, Ordering::SeqCst);
}

/// Runs `work`, which writes outputs or serves a page, and heeds [`asked_to_stop`].
pub(crate) fn while_writing<T>(work: impl FnOnce() -> T) -> T {
    BUSY.store(true, Ordering::SeqCst);
    let result = work();
    BUSY.store(false, Ordering::SeqCst);
    result
}
