//! `dermis report`: fits beside the motion they were made from, as one HTML file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use dermis::FrameRange;
use dermis::io::ReadOptions;
use dermis::io::output::Output;
use dermis_view::Gallery;
use dermis_view::report::{Facts, ReportError, ReportOptions, report};
use serde::Serialize;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::commands::view::{add, no_page};
use crate::input;
use crate::interrupt;
use crate::notes::NoteFacts;
use crate::numbers::{bytes, measured, seconds};
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis report walk.glb --sequence walk.abc -o walk.html
      one fit beside the motion it was made from
  dermis report 10-bones.glb 20-bones.glb --sequence walk.abc -o bones.html --frames 0:48
      two fits, with 48 frames to play";

/// Write one HTML file that shows how well fits play a motion: tables, curves and a 3D view, without a network
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The fits: rigged files with a clip that plays the sequence
    #[arg(value_name = "FIT", required = true)]
    fits: Vec<String>,
    /// The recorded motion that they were made from
    #[arg(long, value_name = "FILE")]
    sequence: String,
    /// The file to write
    #[arg(long, short, value_name = "FILE.html")]
    output: PathBuf,
    /// The frames of the 3D view: half-open and from 0, as a slice in Python [default: all, as far as they fit]
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    frames: Option<FrameRange>,
    /// The heading
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    title: String,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
}

/// What was found, as JSON.
#[derive(Debug, Serialize)]
struct Summary {
    output: String,
    bytes: u64,
    report: Facts,
    notes: Vec<NoteFacts>,
    seconds: f64,
}

/// Writes the report and prints its table.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let began = Instant::now();
    check_ending(&args.output)?;
    let mut output = Output::new(args.force);
    let gallery = Gallery::default();
    let watch = Watch::new(format!("reading {}", args.sequence), shared);
    let scene = input::read(&args.sequence, &ReadOptions::default(), &watch)?;
    gallery
        .add_motion(&args.sequence, scene)
        .map_err(|error| Report::new(error.to_string()).in_file(&args.sequence))?;
    for fit in &args.fits {
        add(&gallery, fit, shared)?;
    }
    let options = ReportOptions { title: args.title.clone(), frames: args.frames };
    let watch = Watch::new(format!("writing {}", args.output.display()), shared);
    let made = watch.during("comparing", || report(&gallery, &options)).map_err(report_of)?;
    let written = interrupt::while_writing(|| {
        output.write_all(&args.output, made.html.as_bytes())?;
        output.commit()
    })?;
    let summary = Summary {
        output: args.output.display().to_string(),
        bytes: written.bytes,
        report: made.facts,
        notes: made.notes.iter().map(NoteFacts::from).collect(),
        seconds: began.elapsed().as_secs_f64(),
    };
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn check_ending(output: &Path) -> Result<(), Report> {
    let ending = output.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if matches!(ending.as_deref(), Some("html" | "htm")) {
        return Ok(());
    }
    let report = Report::new("a report is an HTML file").in_file(output.to_string_lossy());
    Err(report.hint(format!("name it {}", output.with_extension("html").display())))
}

fn report_of(error: ReportError) -> Report {
    match error {
        ReportError::NoPage(reason) => no_page(reason),
        ReportError::Select(error) => error.into(),
        ReportError::NoSequence => Report::new(error.to_string())
            .hint("name the motion with --sequence: recorded frames such as .abc, .npz or numbered .obj"),
        error => Report::new(error.to_string()),
    }
}

impl Summary {
    fn text(&self, paint: Paint) -> String {
        let width = self.report.fits.iter().map(|fit| fit.label.len()).max().unwrap_or(0);
        let fit = |fit: &dermis_view::report::FitFacts| {
            let m = &fit.measures;
            let label = paint.title(&format!("{:width$}", fit.label));
            let (e, max) = (measured(m.distortion_percent), measured(m.max_error_percent));
            format!("{label}  {} bones, rank {}: distortion {e} %, largest error {max} % of the box\n", m.bones, m.rank)
        };
        let fits: String = self.report.fits.iter().map(fit).collect();
        let notes: String = self.notes.iter().map(|note| note.line(paint)).collect();
        let (output, size, time) = (paint.title(&self.output), bytes(self.bytes), seconds(self.seconds));
        format!("{fits}wrote {output} ({size}) in {time}\n{notes}")
    }
}
