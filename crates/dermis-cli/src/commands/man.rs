//! `dermis man`: manual pages, generated from the same definitions as `--help`.

use std::process::ExitCode;

use clap::CommandFactory;
use dermis::names::closest;

use crate::args::Cli;
use crate::report::Report;
use crate::terminal;

const EXAMPLES: &str = "Examples:
  dermis man | man -l -
  dermis man convert > ~/.local/share/man/man1/dermis-convert.1";

/// Print a manual page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The command whose page is wanted; without it, that of dermis itself
    command: Option<String>,
}

/// Prints the page.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Report> {
    let mut root = Cli::command();
    root.build();
    let page = match &args.command {
        None => root,
        Some(name) => {
            let known: Vec<&str> = root.get_subcommands().map(clap::Command::get_name).collect();
            let meant = closest(name, known.iter().copied());
            let unknown = || Report::new(format!("there is no command '{name}'")).detail(known.join(", "));
            let found = root.find_subcommand(name).cloned();
            found.ok_or_else(|| unknown().maybe_hint(meant.map(|name| format!("did you mean '{name}'?"))))?
        }
    };
    let mut text = Vec::new();
    let written = clap_mangen::Man::new(page).render(&mut text);
    written.map_err(|error| Report::new(format!("the page cannot be made: {error}")))?;
    terminal::print_bytes(&text)?;
    Ok(ExitCode::SUCCESS)
}
