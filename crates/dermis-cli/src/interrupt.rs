//! Ctrl-C, SIGTERM and SIGHUP.
//!
//! While an output is made or a page is served, the first signal stops the work, which cleans up, and the second
//! ends the program. Work that does not stop within [`MAX_WAIT`] is ended, unless it has a result to keep. At other
//! times the first signal ends the program, since there is nothing to clean up. The exit code is 2, or 1 if a partial
//! result was kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dermis::io::output::remove_unfinished;

use crate::EXIT_ERROR;
use crate::args::Shared;
use crate::diagnostic::Diagnostic;
use crate::terminal;

/// Maximum time for the work to stop by itself.
const MAX_WAIT: Duration = Duration::from_millis(400);

static BUSY: AtomicBool = AtomicBool::new(false);
static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);
/// True if the work has a result that is kept when it stops.
static KEEPS_RESULT: AtomicBool = AtomicBool::new(false);

/// Installs the handler of Ctrl-C and of the signals that end a process.
pub(crate) fn listen(shared: Shared) -> Result<(), Diagnostic> {
    let stop = move || {
        let asked_before = ASKED_TO_STOP.swap(true, Ordering::SeqCst);
        if asked_before || !BUSY.load(Ordering::SeqCst) {
            end(&shared);
        }
        if !shared.quiet {
            let kept = KEEPS_RESULT.load(Ordering::SeqCst);
            let result = if kept { "stopping with the result so far" } else { "stopping" };
            terminal::write_stderr(&format!("{result}; press Ctrl-C again to stop immediately\n"));
        }
        let shared = shared.clone();
        std::thread::spawn(move || {
            std::thread::sleep(MAX_WAIT);
            let is_stuck = BUSY.load(Ordering::SeqCst) && asked_to_stop();
            if is_stuck && !KEEPS_RESULT.load(Ordering::SeqCst) {
                end(&shared);
            }
        });
    };
    ctrlc::set_handler(stop).map_err(|error| Diagnostic::new(format!("cannot install the Ctrl-C handler: {error}")))
}

/// Ends the program without an output.
fn end(shared: &Shared) -> ! {
    remove_unfinished();
    Diagnostic::stopped().show(shared);
    std::process::exit(i32::from(EXIT_ERROR));
}

/// Returns whether Ctrl-C was pressed.
pub(crate) fn asked_to_stop() -> bool {
    ASKED_TO_STOP.load(Ordering::SeqCst)
}

/// Records that the work has a result, which it returns when it is stopped.
pub(crate) fn has_result() {
    KEEPS_RESULT.store(true, Ordering::SeqCst);
}

/// Resets the request to stop after the work has handled it, and returns whether there was one.
pub(crate) fn take() -> bool {
    KEEPS_RESULT.store(false, Ordering::SeqCst);
    ASKED_TO_STOP.swap(false, Ordering::SeqCst)
}

/// Runs `work`, which makes outputs and polls [`asked_to_stop`].
pub(crate) fn while_writing<T>(work: impl FnOnce() -> T) -> T {
    BUSY.store(true, Ordering::SeqCst);
    let result = work();
    BUSY.store(false, Ordering::SeqCst);
    result
}

/// Runs `work`, which polls [`asked_to_stop`] and removes its temporary files when it stops.
pub(crate) fn while_serving<T>(work: impl FnOnce() -> T) -> T {
    KEEPS_RESULT.store(true, Ordering::SeqCst);
    while_writing(work)
}
