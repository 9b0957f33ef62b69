//! The binary `dermis`: one file per command under `commands`; shared code is next to this file.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod diagnostic;
mod engine_name;
mod hints;
mod input;
mod input_units;
mod interrupt;
mod job;
mod motion;
mod notes;
mod numbers;
mod options;
mod parse;
mod stdout_target;
mod stopwatch;
mod terminal;
mod text;
mod watch;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, FromArgMatches};
use dermis::io::budget::DEFAULT_MAX_MEMORY;

use crate::args::Format;
use crate::commands::Cli;
use crate::diagnostic::Diagnostic;

/// Exit code of a command that did not reach a requested quality.
const EXIT_MISSED: u8 = 1;
/// Exit code of a command that failed, or whose arguments are invalid.
const EXIT_ERROR: u8 = 2;

fn main() -> ExitCode {
    let parsed = commands::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return answer_without_command(&error),
    };
    let shared = cli.shared;
    let done = prepare(&shared).and_then(|()| commands::run(cli.command, &shared));
    done.unwrap_or_else(|diagnostic| diagnostic.show(&shared))
}

fn prepare(shared: &args::Shared) -> Result<(), Diagnostic> {
    interrupt::listen(shared.clone())?;
    dermis::io::budget::set_max_memory(shared.max_memory);
    if shared.format == Format::Json {
        // The summary lists the files that were read.
        dermis::io::reads::record();
    }
    if let Some(threads) = shared.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build_global().map_err(|error| Diagnostic::new(format!("cannot start {threads} threads: {error}")))?;
    }
    Ok(())
}

/// Prints the help, the version, or the error in the arguments.
fn answer_without_command(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A pipe that is closed early, as in `dermis --help | head`, is not an error.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(EXIT_ERROR);
    }
    // The arguments could not be parsed, so the options of the output are looked up in the raw arguments.
    let given: Vec<String> = std::env::args_os().map(|given| given.to_string_lossy().into_owned()).collect();
    let value_of = |flag: &str| {
        let joined = given.iter().find_map(|given| given.strip_prefix(flag)?.strip_prefix('='));
        let apart = given.windows(2).find_map(|pair| (pair[0] == flag).then_some(pair[1].as_str()));
        joined.or(apart)
    };
    let format = if value_of("--format") == Some("json") { Format::Json } else { Format::Pretty };
    let color = match value_of("--color") {
        Some("always") => clap::ColorChoice::Always,
        Some("never") => clap::ColorChoice::Never,
        _ => clap::ColorChoice::Auto,
    };
    let shared = args::Shared {
        format,
        color,
        quiet: false,
        threads: None,
        max_memory: DEFAULT_MAX_MEMORY,
        root: None,
        allow_parent: false,
    };
    Diagnostic::of_usage(error, &words_of_command(&commands::command(), &given[1..])).show(&shared)
}

/// The words of `given` that form the name of a command, such as `tissue build`.
fn words_of_command<'a>(command: &Command, given: &'a [String]) -> Vec<&'a str> {
    let named = given.iter().enumerate().find_map(|(at, word)| Some((at, word, command.find_subcommand(word)?)));
    let Some((at, word, found)) = named else { return Vec::new() };
    [vec![word.as_str()], words_of_command(found, &given[at + 1..])].concat()
}
