//! `dermis completions`: scripts that complete arguments in a shell.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::diagnostic::Diagnostic;
use crate::terminal;

const EXAMPLES: &str = "Examples:
  dermis completions bash > ~/.local/share/bash-completion/completions/dermis
  dermis completions fish > ~/.config/fish/completions/dermis.fish
  dermis completions zsh > ~/.zfunc/_dermis";

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Diagnostic> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "dermis", &mut script);
    terminal::print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}
