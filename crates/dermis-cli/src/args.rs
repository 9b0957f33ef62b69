//! The options that all commands share.

use std::path::PathBuf;

use clap::{ColorChoice, ValueEnum};
use dermis::io::ReadOptions;

use crate::parse::{count, memory};

/// Last line of every help text.
pub(crate) const EXIT_CODES: &str =
    "Exit codes: 0 success, 1 quality target not met, result rejected or fit stopped early, 2 error or interruption.";

/// Options that every command accepts.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Shared {
    /// Print a summary (pretty) or one JSON object per line (json)
    #[arg(long, global = true, value_name = "FORMAT", default_value = "pretty")]
    pub(crate) format: Format,
    /// Print only results and errors: no progress, no summary
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Use this many threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<usize>,
    /// Limit the size of files read into memory and the decompressed size of small files, in bytes; accepts the suffixes K, M, G and T, as in 500M
    #[arg(long, global = true, value_name = "BYTES", default_value = "2G", value_parser = memory)]
    pub(crate) max_memory: u64,
    /// Use colours in the output; auto uses them on a terminal unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// Allow inputs to reference files in this folder and its subfolders [default: the project folder of the input]
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "allow_parent")]
    pub(crate) root: Option<PathBuf>,
    /// Allow inputs to reference files in any folder
    #[arg(long, global = true)]
    pub(crate) allow_parent: bool,
}

impl Shared {
    /// `options` with the folder of the files that inputs can reference.
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
