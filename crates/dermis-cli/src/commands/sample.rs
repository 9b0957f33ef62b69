//! `dermis sample`: built-in inputs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use dermis::fit_tissue::SampleScansOptions;
use dermis::io::{WriteOptions, Written};
use dermis::samples::SAMPLES;
use dermis::tissue::fit::SubjectKind;
use serde::Serialize;
use serde_json::json;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::commands::convert::convert;
use crate::diagnostic::{Diagnostic, InFile};
use crate::input::SAMPLE;
use crate::job::{Facts, Job};
use crate::options::{Input, expect_effect};
use crate::terminal::{self, Paint};
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis sample --list
  dermis sample gallop -o gallop.npz
  dermis sample scans --subject heavy --seed 7 -o scans
      a folder of generated 4D scans of a subject with hidden flesh

'dermis convert sample:gallop gallop.npz' writes the same file and can select frames
and clips. Every command accepts sample:NAME in place of a file.";

/// Name and summary of the generated scans.
const SCANS: &str = "scans";
const SCANS_SUMMARY: &str = "4D scans of a subject with hidden flesh, written to a folder";

/// Write a built-in sample to a file
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Name of the sample
    #[arg(required_unless_present = "list", value_parser = sample_names())]
    name: Option<String>,
    /// Write to this file, whose extension selects the format, or, for scans, to this folder
    #[arg(long, short, value_name = "FILE", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// List the samples
    #[arg(long, conflicts_with_all = ["name", "output", "force"])]
    list: bool,
    /// Select the subject of the scans [default: heavy]
    #[arg(long, conflicts_with = "list", value_parser = PossibleValuesParser::new(SubjectKind::ALL.map(|(name, _)| name)))]
    subject: Option<String>,
    /// Set the random seed of the hidden flesh of the scans [default: 1]
    #[arg(long, conflicts_with = "list")]
    seed: Option<u64>,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
}

fn sample_names() -> PossibleValuesParser {
    let samples = SAMPLES.iter().map(|sample| PossibleValue::new(sample.name).help(sample.summary));
    PossibleValuesParser::new(samples.chain([PossibleValue::new(SCANS).help(SCANS_SUMMARY)]))
}

/// JSON summary of generated scans.
#[derive(Debug, Serialize)]
struct Scans {
    subject: String,
    seed: u64,
}

impl Facts for Scans {
    fn write(&self, text: &mut Text) {
        text.row("subject", format!("{}, seed {}; the hidden flesh is in the folder 'truth'", self.subject, self.seed));
    }
}

fn scans(args: &Args, folder: &Path, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let mut job = Job::new("generating scans", shared);
    let mut options = SampleScansOptions::default();
    let mut kinds = SubjectKind::ALL.iter();
    if let Some((_, kind)) = kinds.find(|(name, _)| args.subject.as_deref() == Some(name)) {
        options.subject = *kind;
    }
    options.seed = args.seed.unwrap_or(options.seed);
    options.write.force = args.force;
    let files = job.stoppable(|watch| dermis::sample_scans_with(folder, &options, watch)).in_file(folder.display())?;
    let bytes = files.iter().filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum();
    job.has_written(folder, Written { files, bytes, ..Written::default() });
    let name = SubjectKind::ALL.iter().find(|(_, kind)| *kind == options.subject).map_or("", |(name, _)| name);
    job.summarize(&Scans { subject: name.to_owned(), seed: options.seed })
}

/// Writes the sample, or lists all samples.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    if let (Some(SCANS), Some(folder)) = (args.name.as_deref(), &args.output) {
        return scans(args, folder, shared);
    }
    expect_effect([
        (args.subject.is_some(), false, "--subject", "with 'dermis sample scans'"),
        (args.seed.is_some(), false, "--seed", "with 'dermis sample scans'"),
    ])?;
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
