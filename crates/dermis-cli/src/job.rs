//! One run of a command: reading, writing, timing and the summary.

use std::path::Path;
use std::process::ExitCode;

use dermis::ToScene;
use dermis::io::{ReadOptions, WriteOptions, Written, reads};
use dermis::mesh::{Note, Scene};
use serde::Serialize;

use crate::args::{Format, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::notes::NoteFacts;
use crate::numbers::bytes;
use crate::stdout_target::Spool;
use crate::stopwatch::Stopwatch;
use crate::terminal::{self, Paint};
use crate::text::Text;
use crate::watch::Watch;
use crate::{EXIT_MISSED, input, interrupt};

/// One run of a command.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    shared: &'a Shared,
    pub(crate) watch: Watch,
    pub(crate) clock: Stopwatch,
    /// Notes of readers, algorithms and writers.
    pub(crate) notes: Vec<Note>,
    /// Requested qualities that were not reached.
    missed: Vec<String>,
    written: Written,
    output: Option<String>,
    /// True if the output was written to stdout; the summary then goes to stderr.
    is_on_stdout: bool,
}

/// Result of a command: the keys of its JSON summary, and its text.
pub(crate) trait Facts: Serialize {
    fn write(&self, text: &mut Text);
}

/// JSON summary: the facts, and the keys shared by all commands.
#[derive(Debug, Serialize)]
struct Summary<'a, F> {
    #[serde(flatten)]
    facts: &'a F,
    #[serde(flatten)]
    written: Option<WrittenFacts<'a>>,
    missed: &'a [String],
    notes: Vec<NoteFacts>,
    read: Vec<String>,
    seconds: &'a Stopwatch,
}

/// Written files; null, empty and 0 without an output.
#[derive(Debug, Serialize)]
struct WrittenFacts<'a> {
    output: Option<&'a str>,
    files: Vec<String>,
    bytes: u64,
}

impl<'a> Job<'a> {
    /// Starts the clock; `work` is the label of the progress.
    pub(crate) fn new(work: impl Into<String>, shared: &'a Shared) -> Self {
        Self {
            shared,
            watch: Watch::new(work.into(), shared),
            clock: Stopwatch::start(),
            notes: Vec::new(),
            missed: Vec::new(),
            written: Written::default(),
            output: None,
            is_on_stdout: false,
        }
    }

    /// Reads `source`, a file or `sample:NAME`.
    pub(crate) fn read(&self, source: &str, options: &ReadOptions) -> Result<Scene, Diagnostic> {
        input::read(source, &self.shared.applied(options), &self.watch)
    }

    /// Runs `work`, which stops on Ctrl-C through its observer.
    pub(crate) fn stoppable<T>(&self, work: impl FnOnce(&Watch) -> T) -> T {
        let result = interrupt::while_writing(|| work(&self.watch));
        self.watch.clear();
        result
    }

    /// Writes `contents` to `target`; frames that cannot be read are reported as errors of `source`.
    pub(crate) fn write(
        &mut self,
        target: &Path,
        contents: &impl ToScene,
        options: &WriteOptions,
        source: &str,
    ) -> Result<(), Diagnostic> {
        self.write_by(target, |target, watch| dermis::write_with(target, contents, options, watch).in_file(source))
    }

    /// Calls `write` with the file to write: `target`, or a temporary file whose contents are copied to stdout.
    pub(crate) fn write_by(
        &mut self,
        target: &Path,
        write: impl FnOnce(&Path, &Watch) -> Result<Written, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let spool = Spool::of(target)?;
        let file = spool.as_ref().map_or(target, |spool| spool.path.as_path());
        let mut written = self.stoppable(|watch| write(file, watch))?;
        if let Some(spool) = spool {
            written = spool.print(written)?;
            self.is_on_stdout = true;
        }
        self.has_written(target, written);
        Ok(())
    }

    /// Records written files; the first target is the output of the summary.
    pub(crate) fn has_written(&mut self, target: &Path, written: Written) {
        self.output.get_or_insert_with(|| target.display().to_string());
        self.written.files.extend(written.files);
        self.written.bytes += written.bytes;
        self.notes.extend(written.notes);
        self.clock.lap("write");
    }

    /// Total size of the written files.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written.bytes
    }

    /// Records a requested quality that was not reached; the command then exits with 1.
    pub(crate) fn expect(&mut self, reached: bool, missed: impl FnOnce() -> String) {
        if !reached {
            self.missed.push(missed());
        }
    }

    /// Prints the summary of a command without an output file.
    pub(crate) fn answer(self, facts: &impl Facts) -> Result<ExitCode, Diagnostic> {
        self.print(facts, None)
    }

    /// Prints the summary of a command with an output file, unless `--quiet` is given.
    pub(crate) fn summarize(self, facts: &impl Facts) -> Result<ExitCode, Diagnostic> {
        let written = WrittenFacts {
            output: self.output.as_deref(),
            files: self.written.files.iter().map(|file| file.display().to_string()).collect(),
            bytes: self.written.bytes,
        };
        self.print(facts, Some(written))
    }

    fn print(&self, facts: &impl Facts, written: Option<WrittenFacts<'_>>) -> Result<ExitCode, Diagnostic> {
        self.watch.clear();
        let is_silent = written.is_some() && self.shared.quiet;
        let summary = Summary {
            facts,
            written,
            missed: &self.missed,
            notes: NoteFacts::each_once(&self.notes),
            read: reads::files().iter().map(|file| file.display().to_string()).collect(),
            seconds: &self.clock,
        };
        match self.shared.format {
            Format::Json if self.is_on_stdout => terminal::write_stderr(&(serde_json::to_string(&summary)? + "\n")),
            Format::Json => terminal::print_json(&summary)?,
            Format::Pretty if is_silent => {}
            Format::Pretty if self.is_on_stdout => {
                terminal::write_stderr(&summary.text(Paint::for_stderr(self.shared.color)));
            }
            Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(self.shared.color)))?,
        }
        if !self.shared.quiet {
            self.missed.iter().for_each(|missed| terminal::write_stderr(&format!("not reached: {missed}\n")));
        }
        Ok(if self.missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_MISSED) })
    }
}

impl<F: Facts> Summary<'_, F> {
    fn text(&self, paint: Paint) -> String {
        let mut text = Text::new(paint);
        self.facts.write(&mut text);
        let time = self.seconds.words();
        match &self.written {
            Some(WrittenFacts { output: Some(output), files, bytes: size }) => {
                let count = if files.len() > 1 { format!("{} files, ", files.len()) } else { String::new() };
                text.line(format!("wrote {} ({count}{}) in {time}", paint.title(output), bytes(*size)));
            }
            _ => text.line(format!("done in {time}")),
        }
        for line in NoteFacts::lines(&self.notes, paint) {
            text.line(line);
        }
        text.finish()
    }
}
