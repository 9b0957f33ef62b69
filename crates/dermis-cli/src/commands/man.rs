//! `dermis man`: manual pages, generated from the definitions of `--help`.

use std::process::ExitCode;

use clap::Command;
use dermis::names::closest;

use crate::diagnostic::Diagnostic;
use crate::terminal;

const EXAMPLES: &str = "Examples:
  dermis man | man -l -
  dermis man convert > ~/.local/share/man/man1/dermis-convert.1
  dermis man tissue build | man -l -";

/// Print a manual page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Command, such as 'convert' or 'tissue build' [default: dermis]
    command: Vec<String>,
}

/// Prints the page.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Diagnostic> {
    let mut root = super::command();
    root.build();
    let page = args.command.iter().try_fold(&root, |command, name| subcommand(command, name))?;
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone()).render(&mut text)?;
    terminal::print_bytes(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn subcommand<'a>(command: &'a Command, name: &str) -> Result<&'a Command, Diagnostic> {
    command.find_subcommand(name).ok_or_else(|| {
        let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let meant = closest(name, known.iter().copied()).map(|name| format!("did you mean '{name}'?"));
        let of = command.get_bin_name().unwrap_or("dermis");
        let diagnostic = Diagnostic::new(format!("'{of}' has no command '{name}'"));
        if known.is_empty() { diagnostic } else { diagnostic.detail(known.join(", ")).maybe_hint(meant) }
    })
}
