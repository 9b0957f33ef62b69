//! `dermis edit`: edits the rest pose of an animated asset.

use std::path::Path;
use std::process::ExitCode;

use dermis::edit::{DisplacementMap, EditMeasures, EditOptions, RestEdit, edit_with, rest_shape};
use dermis::io::ReadOptions;
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::grouped;
use crate::options::{Output, expect_effect};
use crate::text::Text;

/// Grey value without displacement if `--mid-level` is not given.
const DEFAULT_MID_LEVEL: f64 = 0.0;

const EXAMPLES: &str = "Examples:
  dermis edit hero.glb --displace heights.png --scale 0.02 -o out.glb
      raise the skin by 2 cm at white pixels, in all clips
  dermis edit hero.glb --rest -o rest.obj
      write the rest pose, for editing in another program
  dermis edit hero.glb --displace edited.obj -o out.glb
      use the edited rest pose; new points take their weights from the nearest skin";

/// Edit the rest pose of an animated asset; all frames and clips follow
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Rigged character, such as an output of 'dermis skin'
    input: String,
    #[command(flatten)]
    output: Output,
    /// Apply this displacement map (.png, grey, 8 or 16 bits) or edited mesh (.obj or another mesh format)
    #[arg(long, value_name = "FILE", required_unless_present = "rest")]
    displace: Option<String>,
    /// Write the rest pose of the mesh, for editing in another program, instead of editing it
    #[arg(long, conflicts_with_all = ["displace", "scale", "mid_level"])]
    rest: bool,
    /// Displace white pixels by this distance along the normal, in metres; negative values displace inwards
    #[arg(long, value_name = "METRES", allow_hyphen_values = true)]
    scale: Option<f64>,
    /// Set the grey value without displacement, at least 0 and below 1; darker pixels are displaced in the opposite direction [default: 0]
    #[arg(long, value_name = "GREY")]
    mid_level: Option<f64>,
    /// Edit this mesh: its name or path, a unique part of its name, or a pattern with * and ? [default: for a map, all meshes with texture coordinates; otherwise the mesh with the topology of the edited one]
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    objects: Vec<EditMeasures>,
}

/// Edits the asset, writes it and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let Some(displace) = &args.displace else { return write_rest(args, shared) };
    let is_map = Path::new(displace).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"));
    expect_effect([
        (args.scale.is_some(), is_map, "--scale", "with a displacement map (.png)"),
        (args.mid_level.is_some(), is_map, "--mid-level", "with a displacement map (.png)"),
    ])?;
    args.output.check_apart_from(&args.input)?;
    let mut job = Job::new(format!("editing {}", args.input), shared);
    let mut scene = job.read(&args.input, &ReadOptions::default())?;
    job.notes.append(&mut scene.notes);
    let change = if is_map { read_map(args, displace)? } else { read_mesh(displace, &mut job)? };
    job.clock.lap("read");
    let options = EditOptions { mesh: args.mesh.clone() };
    let mut edited = job.stoppable(|watch| edit_with(&scene, &change, &options, watch)).in_file(&args.input)?;
    job.notes.append(&mut edited.warnings);
    job.clock.lap("edit");
    job.write(&args.output.output, &edited, &args.output.options(), &args.input)?;
    job.summarize(&Summary { input: args.input.clone(), objects: edited.objects })
}

/// Writes the rest pose of the mesh.
fn write_rest(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    args.output.check_apart_from(&args.input)?;
    let mut job = Job::new(format!("reading {}", args.input), shared);
    let mut scene = job.read(&args.input, &ReadOptions::default())?;
    job.notes.append(&mut scene.notes);
    job.clock.lap("read");
    let options = EditOptions { mesh: args.mesh.clone() };
    let rest = rest_shape(&scene, &options).in_file(&args.input)?;
    job.write(&args.output.output, &rest, &args.output.options(), &args.input)?;
    job.summarize(&Summary { input: args.input.clone(), objects: Vec::new() })
}

fn read_map(args: &Args, displace: &str) -> Result<RestEdit, Diagnostic> {
    let Some(scale) = args.scale else {
        let missing = Diagnostic::new("a displacement map requires --scale, the displacement of white in metres");
        return Err(missing.in_file(displace).hint("--scale 0.01 raises the skin by a centimetre at white pixels"));
    };
    let bytes = std::fs::read(displace)
        .map_err(|error| Diagnostic::new(format!("cannot read the displacement map: {error}")).in_file(displace))?;
    let map = DisplacementMap::from_png(&bytes, scale, args.mid_level.unwrap_or(DEFAULT_MID_LEVEL));
    Ok(RestEdit::Map(map.map_err(dermis::Error::from).in_file(displace)?))
}

fn read_mesh(displace: &str, job: &mut Job<'_>) -> Result<RestEdit, Diagnostic> {
    let mut scene = job.read(displace, &ReadOptions::default())?;
    job.notes.append(&mut scene.notes);
    let (object, mut notes) =
        dermis::mesh::merge::single(&scene).map_err(|error| Diagnostic::new(error.to_string()).in_file(displace))?;
    job.notes.append(&mut notes);
    Ok(RestEdit::Mesh(object.mesh))
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        for object in &self.objects {
            let size = format!("{} points, {} triangles", grouped(object.points), grouped(object.triangles));
            text.title(&object.name, size);
            if object.points != object.old_points || object.triangles != object.old_triangles {
                let old = format!("{} points, {} triangles", grouped(object.old_points), grouped(object.old_triangles));
                text.row("before", old);
            }
            let displaced = grouped(object.displaced_points);
            text.row("displaced", format!("{displaced} points, by up to {:.4}", object.max_displacement));
            text.row(
                "in motion",
                format!("displacements are at most {:.3} times as long as at rest", object.max_growth),
            );
        }
    }
}
