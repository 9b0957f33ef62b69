//! Errors as the user sees them: what, where, more about it, and how to fix it.
//!
//! ```text
//! error: the point count changes at frame 37
//!   --> walk.abc:/character/body
//!   frames 0–36 have 18402 points, frame 37 has 18390
//! hint: keep the fixed part with --frames 0:36, or export again with constant topology
//! ```

use std::error::Error as _;
use std::io::ErrorKind;

use dermis::SelectError;
use dermis::active::volume::VolumeError;
use dermis::active::wrinkle::WrinkleError;
use dermis::io::{Error, Problem};
use dermis::keep_volume::KeepVolumeError;
use dermis::mesh::SequenceError;
use dermis::skin::envelope::ExamplesError;
use serde::Serialize;

use crate::args::{Format, Shared};
use crate::terminal::{self, Paint};

/// One error, in parts; the keys of its JSON form are the fields' names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    message: String,
    path: Option<String>,
    place: Option<String>,
    details: Vec<String>,
    hint: Option<String>,
}

/// What is printed instead of a result.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    error: &'a Report,
}

impl Report {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), path: None, place: None, details: Vec::new(), hint: None }
    }

    /// Names the file, unless it is named already.
    pub(crate) fn in_file(mut self, path: impl Into<String>) -> Self {
        self.path.get_or_insert_with(|| path.into());
        self
    }

    /// Names the place inside the file, unless it is named already.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place.get_or_insert_with(|| place.into());
        self
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.maybe_hint(Some(hint.into()))
    }

    /// Says how to fix it, unless that is said already.
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = self.hint.or(hint);
        self
    }

    /// Names the option `from` as `to` in the hint: for a command that calls it otherwise.
    pub(crate) fn with_option(mut self, from: &str, to: &str) -> Self {
        self.hint = self.hint.map(|hint| hint.replace(from, to));
        self
    }

    /// Arguments that make no sense, of the command `command` if there is one.
    pub(crate) fn of_usage(error: &clap::Error, command: Option<&str>) -> Self {
        let text = error.render().to_string();
        let mut report = Self::new("");
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(message) = line.strip_prefix("error: ") {
                message.clone_into(&mut report.message);
            } else if let Some(tip) = line.strip_prefix("tip: ") {
                report = report.hint(tip);
            } else if let Some(usage) = line.strip_prefix("Usage: ") {
                report = report.detail(format!("usage: {usage}"));
            } else if !line.starts_with("For more information") {
                report = report.detail(line);
            }
        }
        report.hint(format!("see {} --help", ["dermis"].into_iter().chain(command).collect::<Vec<_>>().join(" ")))
    }

    /// Puts the error where it belongs: text to stderr, and in JSON mode an object to stdout.
    pub(crate) fn show(&self, shared: &Shared) {
        let paint = Paint::for_stderr(shared.color);
        eprint!("{}", self.text(paint));
        if shared.format == Format::Json {
            // Where stdout is gone too, nobody is left to tell.
            let _ = terminal::print_json(&Answer { error: self });
        }
    }

    fn text(&self, paint: Paint) -> String {
        let place = match (&self.path, &self.place) {
            (Some(path), Some(place)) => Some(format!("{path}:{place}")),
            (path, place) => path.clone().or_else(|| place.clone()),
        };
        let mut lines = vec![format!("{} {}", paint.error("error:"), self.message)];
        lines.extend(place.map(|place| format!("  {} {place}", paint.faint("-->"))));
        lines.extend(self.details.iter().map(|detail| format!("  {detail}")));
        lines.extend(self.hint.iter().map(|hint| format!("{} {hint}", paint.hint("hint:"))));
        lines.join("\n") + "\n"
    }

    /// Takes what the causes of an error add to it.
    pub(crate) fn add_causes(mut self, mut cause: Option<&(dyn std::error::Error + 'static)>) -> Self {
        while let Some(error) = cause {
            let said = error.to_string();
            if said != self.message && !self.details.contains(&said) {
                self.details.push(said);
            }
            if let Some(file) = error.downcast_ref::<Error>() {
                self.add_file_error(file);
            }
            cause = error.source();
        }
        self
    }

    fn add_file_error(&mut self, error: &Error) {
        self.path = self.path.take().or_else(|| error.path().map(|path| path.display().to_string()));
        self.place = self.place.take().or_else(|| error.place().map(ToOwned::to_owned));
        self.details.extend(error.details().iter().cloned());
        self.hint = self.hint.take().or_else(|| error.hint().map(ToOwned::to_owned));
    }
}

impl From<Error> for Report {
    fn from(error: Error) -> Self {
        let message = match error.problem() {
            Problem::Io(cause) => words_of(cause),
            Problem::Stopped => crate::interrupt::STOPPED.to_owned(),
            _ => error.to_string(),
        };
        let mut report = Self::new(message);
        report.add_file_error(&error);
        if let Problem::PointCountChanges { frame, expected, found } = error.problem() {
            report.details.push(format!("frames before it have {expected} points, frame {frame} has {found}"));
        }
        match error.problem() {
            Problem::Io(_) => report,
            _ => report.add_causes(error.source()),
        }
    }
}

impl From<dermis::Error> for Report {
    fn from(error: dermis::Error) -> Self {
        match error {
            dermis::Error::Io(error) => error.into(),
            dermis::Error::Examples(error) => error.into(),
            dermis::Error::KeepVolume(KeepVolumeError::Volume { object, cause }) => Self::from(cause).at(object),
            dermis::Error::KeepVolume(KeepVolumeError::Stopped) => Self::new(crate::interrupt::STOPPED),
            error => {
                let mut report = Self::new(error.to_string()).maybe_hint(error.hint());
                report.details = error.details();
                report.add_causes(error.source())
            }
        }
    }
}

impl From<ExamplesError> for Report {
    fn from(error: ExamplesError) -> Self {
        let hint = match &error {
            ExamplesError::Length { .. } => {
                Some("give one shape per frame of the clip, say when each stands with --pose-times, or choose --clip")
            }
            ExamplesError::OtherMesh { .. } | ExamplesError::OtherTriangles => {
                Some("export shapes and rig from the same mesh, with the same order of points")
            }
            ExamplesError::OtherSkeleton { .. } => Some("give a clip of the same skeleton"),
            _ => None,
        };
        let report = Self::new(error.to_string()).maybe_hint(hint.map(ToOwned::to_owned));
        report.add_causes(error.source())
    }
}

impl From<SequenceError> for Report {
    fn from(error: SequenceError) -> Self {
        Self::new(error.to_string()).add_causes(error.source())
    }
}

impl From<SelectError> for Report {
    fn from(error: SelectError) -> Self {
        let mut report = Self::new(error.to_string()).maybe_hint(error.hint());
        report.details = error.details();
        report.add_causes(error.source())
    }
}

impl From<VolumeError> for Report {
    fn from(error: VolumeError) -> Self {
        let mut report = Self::new(error.to_string()).maybe_hint(error.hint().map(str::to_owned));
        report.details = error.details();
        report
    }
}

impl From<WrinkleError> for Report {
    fn from(error: WrinkleError) -> Self {
        Self::new(error.to_string()).maybe_hint(error.hint().map(str::to_owned))
    }
}

/// What the operating system says, without its number.
fn words_of(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        ErrorKind::IsADirectory => "this is a folder, not a file".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_the_house_style_shows() {
        let error = Error::from(Problem::PointCountChanges { frame: 37, expected: 18402, found: 18390 });
        let error = error.in_file("walk.abc").at("/character/body").with_hint("export again with constant topology");
        let expected = "error: the point count changes at frame 37\n  --> walk.abc:/character/body\n  frames before it \
                        have 18402 points, frame 37 has 18390\nhint: export again with constant topology\n";
        assert_eq!(Report::from(error).text(Paint::plain()), expected);
    }

    #[test]
    fn a_cause_that_failed_in_a_file_lends_its_place_and_hint() {
        let cause = Error::truncated("frame 3", 96, 12).in_file("a.pc2").with_hint("copy the file again");
        let failed = dermis::mesh::SequenceError::Source { frame: 3, cause: Box::new(cause) };
        let report = Report::from(Error::from(failed));
        assert_eq!(report.message, "frame 3 cannot be read");
        assert_eq!(report.path.as_deref(), Some("a.pc2"));
        assert_eq!(report.hint.as_deref(), Some("copy the file again"));
        assert_eq!(report.details, ["the file is truncated: frame 3 needs 96 bytes, 12 are left"]);
    }
}
