//! Progress of long work: a bar with an estimate on a terminal, lines of text elsewhere, nothing for short work. It
//! also forwards Ctrl-C to the work.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dermis::math::progress::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::Shared;
use crate::interrupt;
use crate::numbers::seconds;
use crate::terminal::write_stderr;

/// Duration below which no progress is shown.
const QUICK: Duration = Duration::from_millis(500);
/// Minimum time between lines of text.
const BETWEEN_LINES: Duration = Duration::from_secs(3);
/// Fraction of the work below which the remaining time is not estimated.
const MIN_FRACTION_FOR_ESTIMATE: f64 = 0.02;

/// Stage of a fit that returns the best result so far when it is stopped.
const KEPT_STAGE: &str = "refining";

/// Shows the progress of the work.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Label of the work, such as `reading walk.abc`.
    work: String,
    quiet: bool,
    on_terminal: bool,
    stages: Mutex<Stages>,
}

/// Stages of the work: the current one, and the number of runs of each.
#[derive(Debug, Default)]
struct Stages {
    current: Option<Stage>,
    begun: BTreeMap<String, usize>,
}

/// One stage of the work, from 0 to 100 %.
#[derive(Debug)]
struct Stage {
    name: String,
    /// The name, with a number if the stage is repeated, so that percentages never decrease under one label.
    label: String,
    done: usize,
    began: Instant,
    last_line: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Watch {
    pub(crate) fn new(work: String, shared: &Shared) -> Self {
        Self { work, quiet: shared.quiet, on_terminal: std::io::stderr().is_terminal(), stages: Mutex::default() }
    }

    /// Runs `work`, which does not report progress; `what` is shown if it takes a long time.
    pub(crate) fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        if self.quiet {
            return work();
        }
        std::thread::scope(|scope| {
            let (done, is_done) = channel::<()>();
            scope.spawn(move || {
                if is_done.recv_timeout(QUICK) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                if !self.on_terminal {
                    return write_stderr(&format!("{what} …\n"));
                }
                let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
                spinner.set_style(style("{spinner} {msg} {elapsed}"));
                spinner.enable_steady_tick(Duration::from_millis(100));
                let _ = is_done.recv();
                spinner.finish_and_clear();
            });
            let result = work();
            drop(done);
            result
        })
    }

    /// Removes the bar, before anything else is printed.
    pub(crate) fn clear(&self) {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).end();
    }
}

impl Stages {
    fn end(&mut self) {
        if let Some(bar) = self.current.take().and_then(|stage| stage.bar) {
            bar.finish_and_clear();
        }
    }

    fn begin(&mut self, name: &str) -> &mut Stage {
        self.end();
        let runs = self.begun.entry(name.to_owned()).or_default();
        *runs += 1;
        let label = if *runs == 1 { name.to_owned() } else { format!("{name}, round {runs}") };
        let stage = Stage { name: name.to_owned(), label, done: 0, began: Instant::now(), last_line: None, bar: None };
        self.current.insert(stage)
    }
}

impl Progress for Watch {
    fn report(&self, stage: &str, done: usize, total: usize) -> ControlFlow<()> {
        if stage == KEPT_STAGE && done > 1 {
            interrupt::has_result();
        }
        if interrupt::asked_to_stop() {
            return ControlFlow::Break(());
        }
        if self.quiet {
            return ControlFlow::Continue(());
        }
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = stages.current.as_ref().is_some_and(|current| current.name == stage && current.done <= done);
        let current = match &mut stages.current {
            Some(current) if goes_on => current,
            _ => stages.begin(stage),
        };
        current.done = done;
        if current.began.elapsed() >= QUICK {
            current.show(&self.work, self.on_terminal, total);
        }
        ControlFlow::Continue(())
    }
}

impl Stage {
    fn show(&mut self, work: &str, on_terminal: bool, total: usize) {
        let words = how_far(self.began.elapsed(), self.done, total);
        if on_terminal {
            let bar = self.bar.get_or_insert_with(|| {
                let bar = ProgressBar::new(total as u64);
                bar.set_style(style("{msg} {wide_bar} {prefix}"));
                bar.with_message(format!("{work}: {}", self.label))
            });
            bar.set_length(total as u64);
            bar.set_prefix(words);
            bar.set_position(self.done as u64);
        } else if self.last_line.is_none_or(|last| last.elapsed() >= BETWEEN_LINES) {
            self.last_line = Some(Instant::now());
            write_stderr(&format!("{work}: {}, {words}\n", self.label));
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // An invalid template falls back to the default style.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// `40 %, about 12 s left`; without the estimate at the beginning and at the end.
fn how_far(elapsed: Duration, done: usize, total: usize) -> String {
    let fraction = (done as f64 / total.max(1) as f64).min(1.0);
    let percent = (100.0 * fraction).floor();
    if fraction < MIN_FRACTION_FOR_ESTIMATE || done >= total {
        return format!("{percent} %");
    }
    let left = (elapsed.as_secs_f64() * (1.0 - fraction) / fraction).ceil();
    let left = if left < 60.0 { format!("{left} s") } else { seconds(left) };
    format!("{percent} %, about {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_runs_again_has_another_label() {
        let mut stages = Stages::default();
        let labels: Vec<String> =
            ["search", "refine", "search", "search"].iter().map(|name| stages.begin(name).label.clone()).collect();
        assert_eq!(labels, ["search", "refine", "search, round 2", "search, round 3"]);
    }

    #[test]
    fn an_estimate_is_given_only_after_a_minimum_of_work() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(how_far(elapsed, 0, 100), "0 %");
        assert_eq!(how_far(elapsed, 25, 100), "25 %, about 30 s left");
        assert_eq!(how_far(elapsed, 5, 100), "5 %, about 3 min 10 s left");
        assert_eq!(how_far(elapsed, 100, 100), "100 %");
        assert_eq!(how_far(elapsed, 0, 0), "0 %");
    }
}
