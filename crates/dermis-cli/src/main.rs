//! The binary `dermis`: one file per command under `commands`, everything they share beside this file.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod input;
mod interrupt;
mod motion;
mod notes;
mod numbers;
mod report;
mod terminal;
mod watch;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::args::{Cli, Format};
use crate::report::Report;

/// The command did its job, but not as well as was asked for.
const EXIT_MISSED: u8 = 1;
/// The command could not do its job, or was not understood.
const EXIT_ERROR: u8 = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return answer_without_command(&error),
    };
    let shared = cli.shared;
    match prepare(&shared).and_then(|()| commands::run(cli.command, &shared)) {
        Ok(code) => code,
        Err(report) => {
            report.show(&shared);
            ExitCode::from(EXIT_ERROR)
        }
    }
}

fn prepare(shared: &args::Shared) -> Result<(), Report> {
    interrupt::listen(*shared)?;
    if let Some(threads) = shared.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get());
        pool.build_global().map_err(|error| Report::new(format!("{threads} threads cannot be started: {error}")))?;
    }
    Ok(())
}

/// Help and version were asked for, or the arguments make no sense.
fn answer_without_command(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A reader that has seen enough, as in `dermis --help | head`, is no error.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(EXIT_ERROR);
    }
    // The arguments were not understood, so the two that say how to answer are looked up in the raw ones.
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
    let commands = Cli::command();
    let command = given.iter().skip(1).find(|given| commands.find_subcommand(given).is_some());
    Report::of_usage(error, command.map(String::as_str)).show(&args::Shared {
        format,
        color,
        quiet: false,
        threads: None,
    });
    ExitCode::from(EXIT_ERROR)
}
