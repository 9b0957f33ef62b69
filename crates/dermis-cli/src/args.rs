//! The options that all commands share.

use std::num::NonZeroUsize;

use clap::{ColorChoice, ValueEnum};

/// What every help text ends with.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done, 1 a quality that was asked for was missed, 2 an error.";

/// Options that every command takes.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Shared {
    /// How to answer: for people, or for programs as one JSON object per line
    #[arg(long, global = true, value_name = "FORMAT", default_value = "pretty")]
    pub(crate) format: Format,
    /// Say nothing but results and errors: no progress, no summary
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// How many threads to use [default: one per core]
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// When to use colours; `auto` is on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// How to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Pretty,
    Json,
}
