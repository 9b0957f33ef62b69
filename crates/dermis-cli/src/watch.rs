//! Progress of long work: a bar with an estimate on a terminal, a plain line now and then elsewhere, nothing where the
//! work is quick. It also passes Ctrl-C on to the work.

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

/// Work that is done sooner shows nothing.
const QUICK: Duration = Duration::from_millis(500);
/// Plain lines are at least so far apart.
const BETWEEN_LINES: Duration = Duration::from_secs(3);
/// Before this share of the work is done, an estimate would be a guess.
const LEAST_SHARE_FOR_ESTIMATE: f64 = 0.02;

/// Shows how far the work is.
#[derive(Debug)]
pub(crate) struct Watch {
    quiet: bool,
    on_terminal: bool,
    stage: Mutex<Option<Stage>>,
}

#[derive(Debug)]
struct Stage {
    name: String,
    began: Instant,
    last_line: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Watch {
    pub(crate) fn new(shared: &Shared) -> Self {
        Self { quiet: shared.quiet, on_terminal: std::io::stderr().is_terminal(), stage: Mutex::new(None) }
    }

    /// Runs `work`, which cannot say how far it is; `what` is shown if it takes long.
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
                    return eprintln!("{what} …");
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

    /// Takes the bar away, before anything else is printed.
    pub(crate) fn clear(&self) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = stage.take().and_then(|stage| stage.bar) {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Watch {
    fn report(&self, stage: &str, done: usize, total: usize) -> ControlFlow<()> {
        if interrupt::asked_to_stop() {
            return ControlFlow::Break(());
        }
        if self.quiet {
            return ControlFlow::Continue(());
        }
        let mut current = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_none_or(|current| current.name != stage) {
            if let Some(bar) = current.take().and_then(|before| before.bar) {
                bar.finish_and_clear();
            }
            *current = Some(Stage { name: stage.to_owned(), began: Instant::now(), last_line: None, bar: None });
        }
        if let Some(current) = current.as_mut().filter(|current| current.began.elapsed() >= QUICK) {
            if self.on_terminal { current.draw(done, total) } else { current.say(done, total) }
        }
        ControlFlow::Continue(())
    }
}

impl Stage {
    fn draw(&mut self, done: usize, total: usize) {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(total as u64).with_message(self.name.clone()).with_elapsed(self.began.elapsed());
            bar.set_style(style("{msg} {wide_bar} {pos}/{len}{prefix}"));
            bar
        });
        bar.set_length(total as u64);
        bar.set_prefix(left(self.began.elapsed(), done, total));
        bar.set_position(done as u64);
    }

    fn say(&mut self, done: usize, total: usize) {
        if self.last_line.is_some_and(|last| last.elapsed() < BETWEEN_LINES) {
            return;
        }
        self.last_line = Some(Instant::now());
        eprintln!("{}: {done} of {total}{}", self.name, left(self.began.elapsed(), done, total));
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template that does not parse would only cost the bar its looks.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// `, about 12 s left`, at the pace so far; nothing while that is unknown.
fn left(elapsed: Duration, done: usize, total: usize) -> String {
    let share = done as f64 / total.max(1) as f64;
    if share < LEAST_SHARE_FOR_ESTIMATE || done >= total {
        return String::new();
    }
    let rest = elapsed.as_secs_f64() * (1.0 - share) / share;
    format!(", about {} left", seconds(rest.max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_given_only_when_it_means_something() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(left(elapsed, 0, 100), "");
        assert_eq!(left(elapsed, 25, 100), ", about 30.0 s left");
        assert_eq!(left(elapsed, 100, 100), "");
        assert_eq!(left(elapsed, 0, 0), "");
    }
}
