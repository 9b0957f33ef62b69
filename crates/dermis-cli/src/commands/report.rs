//! `dermis report`: compares fits with a motion in one HTML file.

use std::path::Path;
use std::process::ExitCode;

use dermis::io::ReadOptions;
use dermis::io::output;
use dermis::mesh::{Note, Scene};
use dermis::{FrameRange, Selection};
use dermis_view::AssetStore;
use dermis_view::report::{Facts as ReportFacts, ReportError, ReportOptions, report};
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::commands::view::{add, no_page};
use crate::diagnostic::{Diagnostic, InFile};
use crate::input_units::InputUnits;
use crate::job::{Facts, Job};
use crate::numbers::measured;
use crate::options::Output;
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis report walk.glb --sequence walk.abc -o walk.html
      one fit
  dermis report 10-bones.glb 20-bones.glb --sequence walk.abc -o bones.html --frames 0:48
      two fits, with 48 frames in the 3D view";

/// Compare fits with a recorded motion in a self-contained HTML file: tables, curves and a 3D view
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(mut_arg("output", |output| output.help("Write the report to this file (.html)")))]
pub(crate) struct Args {
    /// Rigged files with a clip that reproduces the sequence
    #[arg(value_name = "FIT", required = true)]
    fits: Vec<String>,
    /// Compare with this motion: recorded frames, or a clip of a rigged or morphed mesh; --clip and --mesh select it,
    /// and --scale, --units and --up correct its units and axes
    #[arg(long, value_name = "FILE")]
    sequence: String,
    /// Compare with this clip of the sequence: its name, a unique part of its name, or its index from 0 [default: the first]
    #[arg(long, value_name = "CLIP")]
    clip: Option<String>,
    /// Compare with this mesh of the sequence: its name or path, a unique part of its name, or a pattern with * and ?
    /// [default: all]
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
    #[command(flatten)]
    output: Output,
    /// Show these frames in the 3D view: a half-open range from 0 as in Python [default: all, or every nth to limit the file size]
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    frames: Option<FrameRange>,
    /// Set the heading of the report [default: the names of the files]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    title: String,
    #[command(flatten)]
    units: InputUnits,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    report: ReportFacts,
}

/// Writes the report and prints its table.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let Output { output: target, force } = &args.output;
    check_extension(target)?;
    let mut file = output::Output::new(*force);
    let mut job = Job::new(format!("writing {}", target.display()), shared);
    let assets = AssetStore::default();
    let read = args.units.applied(ReadOptions::default());
    let selection = Selection { mesh: args.mesh.clone(), clip: args.clip.clone(), ..Selection::default() };
    let motion = dermis::select(job.read(&args.sequence, &read)?, &selection).in_file(&args.sequence)?;
    job.notes.extend(other_clips(&motion, args));
    assets.add_motion(&args.sequence, motion).in_file(&args.sequence)?;
    for fit in &args.fits {
        add(&assets, fit, &ReadOptions::default(), shared)?;
    }
    job.clock.lap("read");
    let options = ReportOptions { title: args.title.clone(), frames: args.frames };
    let made = job.watch.during("comparing", || report(&assets, &options)).map_err(diagnostic_of)?;
    job.notes.extend(made.notes);
    job.clock.lap("compare");
    let written = job.stoppable(|_| {
        file.write_all(target, made.html.as_bytes())?;
        file.commit()
    })?;
    job.has_written(target, written);
    job.summarize(&Summary { report: made.facts })
}

/// A note if the first of several clips is compared because none is selected.
fn other_clips(scene: &Scene, args: &Args) -> Option<Note> {
    let object = scene.objects.iter().find(|object| object.sequence.is_none() && object.clips.len() > 1)?;
    let (name, count) = (object.clips[0].name(), object.clips.len());
    let note = || Note::new(format!("the clip '{name}' is compared, the first of {count}; --clip selects another"));
    args.clip.is_none().then(note)
}

fn check_extension(output: &Path) -> Result<(), Diagnostic> {
    let extension = output.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    if matches!(extension.as_deref(), Some("html" | "htm")) {
        return Ok(());
    }
    let diagnostic = Diagnostic::new("invalid output: a report is an HTML file").in_file(output.display());
    Err(diagnostic.hint(format!("use the name {}", output.with_extension("html").display())))
}

fn diagnostic_of(error: ReportError) -> Diagnostic {
    match error {
        ReportError::NoPage(reason) => no_page(reason),
        ReportError::NoSequence => Diagnostic::from(error).hint("specify an animated file with --sequence"),
        error => error.into(),
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        for fit in &self.report.fits {
            let m = &fit.measures;
            let (e, max) = (measured(m.distortion_percent), measured(m.max_error_percent));
            let size = format!("{} bones, rank {}", m.bones, m.rank);
            text.title(&fit.label, format!("{size}: distortion {e} %, largest error {max} % of the diagonal"));
        }
    }
}
