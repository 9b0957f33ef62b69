//! `dermis inspect`: what is inside a file, and what is suspicious about it.

mod facts;
mod table;

use std::process::ExitCode;
use std::time::Instant;

use dermis::io::ReadOptions;

use crate::EXIT_ERROR;
use crate::args::{EXIT_CODES, Format, Shared};
use crate::input;
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

use facts::FileFacts;

const EXAMPLES: &str = "Examples:
  dermis inspect hero.glb walk.abc
  dermis inspect sample:arm --format json | jq '.objects[0].joints'";

/// Show what is inside files: meshes, frames, rigs, clips, and problems
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The inputs: files, folders or numbered files, or sample:NAME
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The mesh whose faces a point cache (pc2, mdd) moves [default: the OBJ of the same name]
    #[arg(long, value_name = "FILE")]
    topology: Option<std::path::PathBuf>,
}

/// Shows each file; one that cannot be read does not keep the others from being shown.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let options = ReadOptions { topology: args.topology.clone(), ..ReadOptions::default() };
    let mut failed = false;
    for (at, file) in args.files.iter().enumerate() {
        match inspect(file, &options, shared) {
            Ok(facts) => show(&facts, at > 0, shared)?,
            Err(report) => {
                failed = true;
                report.show(shared);
            }
        }
    }
    Ok(if failed { ExitCode::from(EXIT_ERROR) } else { ExitCode::SUCCESS })
}

fn inspect(file: &str, options: &ReadOptions, shared: &Shared) -> Result<FileFacts, Report> {
    let watch = Watch::new(format!("inspecting {file}"), shared);
    let began = Instant::now();
    let scene = input::read(file, options, &watch)?;
    let facts = FileFacts::of(file, &scene, &watch);
    watch.clear();
    let mut facts = facts.map_err(|error| Report::from(dermis::io::Error::from(error)).in_file(file))?;
    facts.seconds = began.elapsed().as_secs_f64();
    Ok(facts)
}

fn show(facts: &FileFacts, is_further: bool, shared: &Shared) -> Result<(), Report> {
    match shared.format {
        Format::Json => terminal::print_json(facts),
        Format::Pretty => {
            let between = if is_further { "\n" } else { "" };
            terminal::print(&format!("{between}{}", table::text(facts, Paint::for_stdout(shared.color))))
        }
    }
}
