//! The options that all commands share.

use clap::{ColorChoice, ValueEnum};

use crate::parse::{count, memory};

/// Last line of every help text.
pub(crate) const EXIT_CODES: &str =
    "Exit codes: 0 success, 1 a requested quality was not reached or a stopped fit was kept, 2 error or stopped.";

/// Options that every command takes.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Shared {
    /// Print a summary, or one JSON object per line
    #[arg(long, global = true, value_name = "FORMAT", default_value = "pretty")]
    pub(crate) format: Format,
    /// Print results and errors only: no progress, no summary
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Use this many threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<usize>,
    /// Read no file, and inflate no small file, beyond this size: bytes with K, M or G, such as 500M
    #[arg(long, global = true, value_name = "BYTES", default_value = "2G", value_parser = memory)]
    pub(crate) max_memory: u64,
    /// Use colours; `auto` uses them on a terminal unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// Format of the output on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Pretty,
    Json,
}
