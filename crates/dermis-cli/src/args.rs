//! The options that all commands share.

use std::path::PathBuf;

use clap::{ColorChoice, ValueEnum};
use dermis::io::ReadOptions;

use crate::parse::{count, memory};

/// Last line of every help text.
pub(crate) const EXIT_CODES: &str =
    "Exit codes: 0 success, 1 a requested quality was not reached or a stopped fit was kept, 2 error or stopped.";

/// Options that every command takes.
#[derive(Debug, Clone, clap::Args)]
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
    /// Let inputs name files below this folder [default: the folder of their project]
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "allow_parent")]
    pub(crate) root: Option<PathBuf>,
    /// Let inputs name files in any folder
    #[arg(long, global = true)]
    pub(crate) allow_parent: bool,
}

impl Shared {
    /// `options` with the folder of the files that inputs name.
    pub(crate) fn applied(&self, options: &ReadOptions) -> ReadOptions {
        ReadOptions { root: self.root.clone(), allow_parent: self.allow_parent, ..options.clone() }
    }
}

/// Format of the output on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Pretty,
    Json,
}
