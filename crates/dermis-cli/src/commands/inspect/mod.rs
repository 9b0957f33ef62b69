//! `dermis inspect`: contents and problems of files.

mod object;

use std::process::ExitCode;
use std::time::Instant;

use dermis::inspect::{MotionFacts, SceneFacts, UnitFacts, inspect};
use dermis::io::ReadOptions;
use serde::Serialize;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::input::{self, format_name};
use crate::input_units::InputUnits;
use crate::notes::NoteFacts;
use crate::numbers::{grouped, seconds, short};
use crate::options::InputPart;
use crate::terminal::{self, Paint};
use crate::text::Text;
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis inspect hero.glb walk.abc
  dermis inspect sample:arm --format json | jq '.objects[0].joints'";

/// Show the contents of files: meshes, frames, rigs, clips and problems
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Files, folders, numbered files, or sample:NAME
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Read the faces of a point cache (pc2, mdd) from this mesh [default: the OBJ file of the same name]
    #[arg(long, value_name = "FILE")]
    topology: Option<std::path::PathBuf>,
    #[command(flatten)]
    units: InputUnits,
}

/// JSON summary of a file.
#[derive(Debug, Serialize)]
struct FileFacts {
    file: String,
    format: &'static str,
    #[serde(flatten)]
    scene: SceneFacts,
    notes: Vec<NoteFacts>,
    /// Duration of the inspection.
    seconds: f64,
}

/// Shows each file; files that cannot be read are reported and the others are shown.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let (topology, units) = (args.topology.clone(), args.units.clone());
    let part = InputPart { topology, units, ..InputPart::default() };
    part.expect_point_cache(args.files.iter().map(String::as_str))?;
    let mut code = ExitCode::SUCCESS;
    for (at, file) in args.files.iter().enumerate() {
        match facts(file, &part.read_options(), shared) {
            Ok(facts) if shared.format == Format::Json => terminal::print_json(&facts)?,
            Ok(facts) => {
                let between = if at > 0 { "\n" } else { "" };
                terminal::print(&format!("{between}{}", facts.text(Paint::for_stdout(shared.color))))?;
            }
            Err(diagnostic) => code = diagnostic.show(shared),
        }
    }
    Ok(code)
}

fn facts(file: &str, options: &ReadOptions, shared: &Shared) -> Result<FileFacts, Diagnostic> {
    let watch = Watch::new(format!("inspecting {file}"), shared);
    let began = Instant::now();
    let scene = input::read(file, &shared.applied(options), &watch)?;
    let facts = inspect(&scene, &watch);
    watch.clear();
    Ok(FileFacts {
        file: file.to_owned(),
        format: format_name(file),
        scene: facts.in_file(file)?,
        notes: NoteFacts::each_once(&scene.notes),
        seconds: began.elapsed().as_secs_f64(),
    })
}

impl FileFacts {
    /// The clips if several objects have the same ones.
    fn shared_clips(&self) -> &[MotionFacts] {
        match &self.scene.objects[..] {
            [first, others @ ..] if !others.is_empty() && others.iter().all(|other| other.clips == first.clips) => {
                &first.clips
            }
            _ => &[],
        }
    }

    fn text(&self, paint: Paint) -> String {
        let mut text = Text::new(paint);
        text.title(&self.file, "");
        text.row("format", self.format);
        text.row("units", units(self.scene.units));
        text.row("objects", grouped(self.scene.objects.len()));
        text.row("inspected in", seconds(self.seconds));
        let shared = self.shared_clips();
        object::write_clips(shared, 1, &mut text);
        for line in NoteFacts::lines(&self.notes, paint) {
            text.line(format!("  {line}"));
        }
        for object in &self.scene.objects {
            text.line("");
            let clips = if shared.is_empty() { &object.clips[..] } else { &[] };
            object::write(object, clips, &mut text);
        }
        text.finish()
    }
}

fn units(units: UnitFacts) -> String {
    let length =
        units.metres_per_unit.map_or("not stated".to_owned(), |metres| format!("1 unit is {} m", short(metres)));
    units.up_axis.map_or(length.clone(), |axis| format!("{length}, {axis} is up"))
}
