//! `dermis sample`: built-in inputs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use dermis::io::WriteOptions;
use dermis::samples::SAMPLES;
use serde_json::json;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::commands::convert::convert;
use crate::diagnostic::Diagnostic;
use crate::input::SAMPLE;
use crate::options::Input;
use crate::terminal::{self, Paint};
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis sample --list
  dermis sample gallop -o gallop.npz

'dermis convert sample:gallop gallop.npz' writes the same file and can select frames
and clips. Every command accepts sample:NAME in place of a file.";

/// Write a built-in sample to a file
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Sample
    #[arg(required_unless_present = "list", value_parser = sample_names())]
    name: Option<String>,
    /// Write to this file; its extension selects the format
    #[arg(long, short, value_name = "FILE", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// List the samples
    #[arg(long, conflicts_with_all = ["name", "output", "force"])]
    list: bool,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

fn sample_names() -> PossibleValuesParser {
    PossibleValuesParser::new(SAMPLES.iter().map(|sample| PossibleValue::new(sample.name).help(sample.summary)))
}

/// Writes the sample, or lists all samples.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    if let (Some(name), Some(output)) = (&args.name, &args.output) {
        let options = WriteOptions { force: args.force, ..WriteOptions::default() };
        return convert(&format!("{SAMPLE}{name}"), output, &options, &Input::default(), shared);
    }
    if shared.format == Format::Json {
        let samples = SAMPLES.iter().map(|sample| json!({ "name": sample.name, "summary": sample.summary }));
        terminal::print_json(&json!({ "samples": samples.collect::<Vec<_>>() }))?;
    } else {
        let mut text = Text::new(Paint::for_stdout(shared.color));
        let rows: Vec<_> = SAMPLES.iter().map(|sample| vec![sample.name.into(), sample.summary.into()]).collect();
        text.table(2, &["", ""], &rows);
        terminal::print(&text.finish())?;
    }
    Ok(ExitCode::SUCCESS)
}
