//! `dermis sample`: the inputs that are built in.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use dermis::samples::SAMPLES;
use serde::Serialize;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::commands::convert::{Part, convert};
use crate::input::SAMPLE;
use crate::report::Report;
use crate::terminal::{self, Paint};

const EXAMPLES: &str = "Examples:
  dermis sample --list
  dermis sample gallop -o gallop.npz

It is the same as 'dermis convert sample:gallop gallop.npz', which can also select
frames and clips. Every command takes sample:NAME where it takes a file.";

/// Write a built-in sample to a file
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Which sample
    #[arg(required_unless_present = "list", value_parser = sample_names())]
    name: Option<String>,
    /// The file to write; its ending names the format
    #[arg(long, short, value_name = "FILE", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// List the samples instead
    #[arg(long, conflicts_with_all = ["name", "output", "force"])]
    list: bool,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

fn sample_names() -> PossibleValuesParser {
    PossibleValuesParser::new(SAMPLES.iter().map(|sample| PossibleValue::new(sample.name).help(sample.summary)))
}

/// The list as JSON.
#[derive(Debug, Serialize)]
struct List {
    samples: Vec<Sample>,
}

#[derive(Debug, Serialize)]
struct Sample {
    name: &'static str,
    summary: &'static str,
}

/// Writes the sample, or lists them all.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    match (&args.name, &args.output) {
        (Some(name), Some(output)) => {
            convert(&format!("{SAMPLE}{name}"), output, &Part::default(), None, args.force, shared)
        }
        _ => list(shared),
    }
}

fn list(shared: &Shared) -> Result<ExitCode, Report> {
    match shared.format {
        Format::Json => {
            let samples = SAMPLES.iter().map(|sample| Sample { name: sample.name, summary: sample.summary }).collect();
            terminal::print_json(&List { samples })?;
        }
        Format::Pretty => {
            let paint = Paint::for_stdout(shared.color);
            let width = SAMPLES.iter().map(|sample| sample.name.len()).max().unwrap_or(0);
            let line = |name: &str, summary: &str| format!("{}  {summary}\n", paint.title(&format!("{name:width$}")));
            terminal::print(&SAMPLES.iter().map(|sample| line(sample.name, sample.summary)).collect::<String>())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
