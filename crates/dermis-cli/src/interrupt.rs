//! Ctrl-C, SIGTERM and SIGHUP. While an output is written or a page is served, the first Ctrl-C requests the work to stop and clean up, and
//! the second ends the program. At other times the first ends it, since there is nothing to clean up.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::EXIT_ERROR;
use crate::args::Shared;
use crate::diagnostic::{Diagnostic, STOPPED};
use crate::terminal;

static BUSY: AtomicBool = AtomicBool::new(false);
static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);

/// Installs the handler of Ctrl-C and of the signals that end a process.
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
            terminal::tell("stopping; press Ctrl-C again to stop immediately\n");
        }
    };
    ctrlc::set_handler(stop).map_err(|error| Diagnostic::new(format!("cannot install the handler of Ctrl-C: {error}")))
}

/// Returns whether Ctrl-C was pressed.
pub(crate) fn asked_to_stop() -> bool {
    ASKED_TO_STOP.load(Ordering::SeqCst)
}

/// Resets the request to stop after the work has handled it.
pub(crate) fn forget() {
    ASKED_TO_STOP.store(false, Ordering::SeqCst);
}

/// Runs `work`, which writes outputs or serves a page and polls [`asked_to_stop`].
pub(crate) fn while_writing<T>(work: impl FnOnce() -> T) -> T {
    BUSY.store(true, Ordering::SeqCst);
    let result = work();
    BUSY.store(false, Ordering::SeqCst);
    result
}
