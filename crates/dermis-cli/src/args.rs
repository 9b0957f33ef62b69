//! The command line as a whole: the commands and the options that all of them share.

use std::num::NonZeroUsize;

use clap::{ColorChoice, Parser, ValueEnum};

use crate::commands::Command;

/// What every help text ends with.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done, 1 a quality that was asked for was missed, 2 an error.";

const EXAMPLES: &str = "Examples:
  dermis inspect sample:gallop            what is inside a built-in sample
  dermis convert sample:gallop horse.glb  write it as glTF, which plays anywhere
  dermis convert walk.abc walk.npz --frames 0:100 --fps 30

Inputs are files (glb gltf obj ply npz pkl pc2 mdd abc usda usd usdc usdz fbx mesh
msh node ele), folders and numbered files of obj and ply, or built-in samples: sample:NAME, see
'dermis sample --list'.";

/// Learns, corrects and simulates the skin of animated characters
#[derive(Debug, Parser)]
#[command(name = "dermis", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"), max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

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
