//! Error reports of the command line: message, location, details and hint.
//!
//! ```text
//! error: the point count changes at frame 37
//!   --> walk.abc:/character/body
//!   frames 0–36 have 18402 points, frame 37 has 18390
//! hint: keep the fixed part with --frames 0:36, or export again with constant topology
//! ```
//!
//! [`Diagnostic::of`] converts every library error: its message is the headline, the messages of its causes are
//! details, and [`crate::hints`] adds the option that avoids it.

use std::error::Error;
use std::fmt::Display;
use std::process::ExitCode;

use dermis::io;
use serde::Serialize;

use crate::args::{Format, Shared};
use crate::terminal::{self, Paint};
use crate::{EXIT_ERROR, EXIT_MISSED, hints};

mod usage;

#[cfg(test)]
mod tests;

/// Message after Ctrl-C.
const STOPPED: &str = "stopped; nothing was written";

/// An error report; the names of the fields are the keys of the JSON form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Diagnostic {
    message: String,
    path: Option<String>,
    location: Option<String>,
    details: Vec<String>,
    hint: Option<Box<str>>,
    #[serde(skip)]
    exit_code: u8,
}

/// JSON output of a failed command.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    error: &'a Diagnostic,
}

/// Converts library errors, for use with `?`.
impl<E: Error + 'static> From<E> for Diagnostic {
    fn from(error: E) -> Self {
        Self::of(&error)
    }
}

/// Adds the file to an error.
pub(crate) trait InFile<T> {
    fn in_file(self, path: impl Display) -> Result<T, Diagnostic>;
}

impl<T, E: Into<Diagnostic>> InFile<T> for Result<T, E> {
    fn in_file(self, path: impl Display) -> Result<T, Diagnostic> {
        self.map_err(|error| error.into().in_file(path))
    }
}

impl Diagnostic {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            path: None,
            location: None,
            details: Vec::new(),
            hint: None,
            exit_code: EXIT_ERROR,
        }
    }

    /// Error after Ctrl-C.
    pub(crate) fn stopped() -> Self {
        Self::new(STOPPED)
    }

    /// Report of `error` and its causes.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        let chain = || std::iter::successors(Some(error), |error| cause_of(*error)).map(hints::unwrapped);
        if chain().any(hints::is_stop) {
            return Self::stopped();
        }
        if let Some(wrong) = chain().find(|error| hints::is_wrong_result(*error)) {
            let details = hints::details(wrong);
            let diagnostic = Self { exit_code: EXIT_MISSED, details, ..Self::new(wrong.to_string()) };
            return diagnostic.maybe_hint(hints::hint(wrong));
        }
        let mut diagnostic = Self::new(headline(hints::unwrapped(error)));
        chain().for_each(|error| diagnostic.add(error));
        diagnostic
    }

    /// Adds the message, location and hint of one error of the chain, without duplicates.
    fn add(&mut self, error: &(dyn Error + 'static)) {
        let message = headline(error);
        if message != self.message && !self.details.contains(&message) {
            self.details.push(message);
        }
        if let Some(file) = error.downcast_ref::<io::Error>() {
            self.path = self.path.take().or_else(|| file.path().map(|path| path.display().to_string()));
            self.location = self.location.take().or_else(|| file.location().map(ToOwned::to_owned));
            self.details.extend(file.details().iter().cloned());
        }
        self.details.extend(hints::details(error));
        self.hint = self.hint.take().or_else(|| hints::hint(error).map(Into::into));
    }

    /// Adds the file, unless there is one.
    pub(crate) fn in_file(mut self, path: impl Display) -> Self {
        self.path.get_or_insert_with(|| path.to_string());
        self
    }

    /// Adds the location inside the file, unless there is one.
    pub(crate) fn at(mut self, location: impl Into<String>) -> Self {
        self.location.get_or_insert_with(|| location.into());
        self
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.maybe_hint(Some(hint.into()))
    }

    /// Adds a hint, unless there is one.
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = self.hint.or(hint.map(Into::into));
        self
    }

    /// Prints the error to stderr, and as JSON to stdout with `--format json`.
    pub(crate) fn show(&self, shared: &Shared) -> ExitCode {
        terminal::write_stderr(&self.text(Paint::for_stderr(shared.color)));
        if shared.format == Format::Json {
            // A failure to print the error cannot be reported.
            let _ = terminal::print_json(&Answer { error: self });
        }
        ExitCode::from(self.exit_code)
    }

    fn text(&self, paint: Paint) -> String {
        let location = match (&self.path, &self.location) {
            (Some(path), Some(location)) => Some(format!("{path}:{location}")),
            (path, location) => path.clone().or_else(|| location.clone()),
        };
        let mut lines = vec![format!("{} {}", paint.error("error:"), self.message)];
        lines.extend(location.map(|location| format!("  {} {location}", paint.faint("-->"))));
        lines.extend(self.details.iter().map(|detail| format!("  {detail}")));
        lines.extend(self.hint.iter().map(|hint| format!("{} {hint}", paint.hint("hint:"))));
        terminal::printable(&(lines.join("\n") + "\n"))
    }
}

/// Cause of an error, except of system errors, whose error number is not helpful.
fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    error.source().filter(|_| system_error(error).is_none())
}

/// Message of an error; system errors are described without their number.
fn headline(error: &(dyn Error + 'static)) -> String {
    match system_error(error).map(std::io::Error::kind) {
        Some(std::io::ErrorKind::NotFound) => "there is no such file or folder".to_owned(),
        Some(std::io::ErrorKind::PermissionDenied) => "permission denied".to_owned(),
        Some(std::io::ErrorKind::StorageFull) => "the disk is full".to_owned(),
        Some(std::io::ErrorKind::IsADirectory) => "this is a folder, not a file".to_owned(),
        _ => hints::message(error).unwrap_or_else(|| error.to_string()),
    }
}

fn system_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a std::io::Error> {
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::Io(cause)) => Some(cause),
        _ => error.downcast_ref::<std::io::Error>(),
    }
}
