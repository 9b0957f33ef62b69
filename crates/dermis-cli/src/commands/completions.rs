//! `dermis completions`: a script that teaches a shell to complete dermis' arguments.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::diagnostic::Diagnostic;
use crate::terminal;

const EXAMPLES: &str = "Examples:
  dermis completions bash > ~/.local/share/bash-completion/completions/dermis
  dermis completions fish > ~/.config/fish/completions/dermis.fish
  dermis completions zsh > ~/.zfunc/_dermis";

/// Print a script that completes dermis' arguments in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Diagnostic> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "dermis", &mut script);
    terminal::print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}
