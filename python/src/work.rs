//! Long work, which runs in its own thread without the interpreter lock while the calling thread handles signals and
//! calls the observer.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dermis::math::progress::Progress;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::errors::{exception, invalid};

/// Interval at which signals and progress are polled.
const PERIOD: Duration = Duration::from_millis(40);

/// Process in which the thread pool was started; 0 before the start.
static PROCESS: AtomicU32 = AtomicU32::new(0);

#[derive(Debug, Default)]
struct Watch {
    stop: AtomicBool,
    latest: Mutex<Option<(String, usize, usize)>>,
}

impl Progress for Watch {
    fn report(&self, stage: &str, done: usize, total: usize) -> ControlFlow<()> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((stage.to_owned(), done, total));
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The observer of the argument `progress`: none, a bar for `True`, or a function.
pub(crate) fn observer(py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    let Some(progress) = progress else { return Ok(None) };
    if let Ok(wanted) = progress.cast::<PyBool>() {
        let bar = || Ok(py.import("dermis._progress")?.getattr("Bar")?.call0()?.unbind());
        return wanted.is_true().then(bar).transpose();
    }
    if !progress.is_callable() {
        return Err(PyTypeError::new_err("progress must be True, False or a function of (stage, done, total)"));
    }
    Ok(Some(progress.unbind()))
}

/// Runs `work`. An exception of the observer, a returned `False` and Ctrl-C stop it.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress) -> dermis::Result<T> + Send,
) -> PyResult<T> {
    check_process()?;
    let observer = observer(py, progress)?;
    let watch = Watch::default();
    let (result, failure) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, finished) = mpsc::channel();
            let watch = &watch;
            let worker = scope.spawn(move || {
                let result = work(watch);
                // The receiver lives until the thread has ended.
                let _ = done.send(());
                result
            });
            let mut failure = None;
            while finished.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                if failure.is_none() && !watch.stop.load(Ordering::Relaxed) {
                    failure = Python::attach(|py| look(py, watch, observer.as_ref())).err();
                    if failure.is_some() {
                        watch.stop.store(true, Ordering::Relaxed);
                    }
                }
            }
            (worker.join(), failure)
        })
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let Some(observer) = &observer
        && observer.bind(py).hasattr("close")?
    {
        observer.bind(py).call_method0("close")?;
    }
    result.map_err(|_| PyRuntimeError::new_err("internal error of dermis"))?.map_err(exception)
}

/// Handles signals and reports the latest progress to the observer.
fn look(py: Python<'_>, watch: &Watch, observer: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let latest = watch.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (Some(observer), Some((stage, done, total))) = (observer, latest) else { return Ok(()) };
    let answer = observer.call1(py, (stage, done, total))?;
    if answer.bind(py).cast::<PyBool>().is_ok_and(|answer| !answer.is_true()) {
        watch.stop.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Rejects work in a forked process: threads do not survive a fork, so the work would wait forever.
fn check_process() -> PyResult<()> {
    let process = std::process::id();
    match PROCESS.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if first != process => Err(invalid(
            "dermis was used before this process was forked\nhint: use the start method 'spawn' of multiprocessing",
        )),
        _ => Ok(()),
    }
}
