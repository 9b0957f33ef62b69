//! `dermis wrinkle`: folds on a coarse cloth, where it is compressed.

mod cloth;
mod folded;
mod maps;
mod summary;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::ValueEnum;
use dermis::io::output::Output;
use dermis::io::{ReadOptions, WriteOptions, Written, check_target};
use dermis::mesh::{Object, Scene};

use crate::args::{EXIT_CODES, Format, Shared};
use crate::commands::convert::Part;
use crate::input;
use crate::interrupt;
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;
use cloth::{Cloth, failed};
use folded::{Folded, Wrinkled};
use maps::write_maps;
use summary::{Summary, Times};

/// More often would make 4,096 triangles of each.
const MOST_LEVELS: i64 = 6;
/// What `--rest` calls the pattern in the UVs.
const UVS: &str = "uv";

const EXAMPLES: &str = "Examples:
  dermis wrinkle sample:towel -o towel.abc
      a refined mesh sequence with folds
  dermis wrinkle shirt.abc --rest pattern.obj --min-radius 0.01 -o folded.glb
  dermis wrinkle sample:flag --map png -o maps
      displacement maps, one per frame
  dermis wrinkle shirt.npz --coarsen 1500 --subdivide 3 -o folded.npz --curves curves
      made coarse first, refined everywhere, its curves as OBJ lines";

/// Fold a coarse cloth animation where it is compressed
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The input: a cloth animation
    input: String,
    /// The output: a mesh sequence, or with --map a folder
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The shape in which the cloth is not stretched: a file with the same mesh, or uv for the pattern in its UVs
    /// [default: the rest pose]
    #[arg(long, value_name = "FILE")]
    rest: Option<String>,
    /// The smallest radius of a fold, in scene units [default: from the size of the triangles]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    min_radius: Option<f32>,
    /// Cut all triangles this often, each into four [default: twice, only near wrinkles]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST_LEVELS))]
    subdivide: Option<u32>,
    /// Write a displacement map of each frame into the folder OUT instead of a mesh sequence
    #[arg(long, value_name = "FORMAT", conflicts_with = "subdivide")]
    map: Option<MapFormat>,
    /// Texels per side of maps
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(16..=8192))]
    map_size: u32,
    /// Write the curves of each frame as OBJ lines into this folder
    #[arg(long, value_name = "FOLDER")]
    curves: Option<PathBuf>,
    /// Make the cloth coarse first: about this many triangles, the same in all frames
    #[arg(long, value_name = "TRIANGLES")]
    coarsen: Option<usize>,
    #[command(flatten)]
    part: Part,
    /// The mesh whose faces a point cache (pc2, mdd) moves [default: the OBJ of the same name]
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MapFormat {
    /// 16 bits; grey is no height, white that which the summary states, black the same downwards
    Png,
    /// Half floats, in scene units
    Exr,
}

/// Wrinkles, writes, and says what was done.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let write_options = WriteOptions { force: args.force };
    if args.map.is_none() {
        check_target(&args.output, &write_options)?;
    }
    let watch = Watch::new(format!("wrinkling {}", args.input), shared);
    let began = Instant::now();
    let read_options = ReadOptions { frame_rate_hz: args.part.fps, topology: args.topology.clone() };
    let scene = input::read(&args.input, &read_options, &watch)?;
    let named = |report: Report| report.in_file(args.input.as_str());
    let mut scene = dermis::select(scene, &args.part.selection()).map_err(|error| named(Report::from(error)))?;
    let cloth = Cloth::new(args, &mut scene, &watch).map_err(named)?;
    let read = began.elapsed().as_secs_f64();
    let wrinkled = Wrinkled::new(cloth, args, &watch).map_err(named)?;
    scene.notes.extend(wrinkled.notes.iter().cloned());
    let wrinkle = began.elapsed().as_secs_f64() - read;
    let written = interrupt::while_writing(|| write(args, &mut scene, &wrinkled, &watch));
    watch.clear();
    let written = written.map_err(named)?;
    let total = began.elapsed().as_secs_f64();
    let times = Times { read, wrinkle, write: total - read - wrinkle, total };
    let summary = Summary::new(args, &wrinkled, &scene, &written, times);
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts the wrinkled cloth in the place of the coarse one and writes the scene, and the curves if they are wanted.
fn write(args: &Args, scene: &mut Scene, wrinkled: &Wrinkled, watch: &Watch) -> Result<Written, Report> {
    let object = Object::of_sequence(wrinkled.name.clone(), wrinkled.sequence.clone());
    scene.objects[wrinkled.place] = object;
    let mut written = match args.map {
        Some(format) => write_maps(args, format, wrinkled, watch)?,
        None => dermis::io::write(&args.output, scene, &WriteOptions { force: args.force }, watch)?,
    };
    if let Some(folder) = &args.curves {
        let mut output = Output::new(args.force);
        let Folded { layer, motion, curves, .. } = &*wrinkled.cloth;
        for (frame, curves) in curves.iter().enumerate() {
            let positions = motion.frame(frame).map_err(failed)?;
            let lines = layer.polylines(&positions, curves);
            let file = folder.join(format!("curves.{frame:04}.obj"));
            output.write_all(&file, dermis::io::obj::lines(&lines).as_bytes())?;
        }
        let more = output.commit()?;
        written.files.extend(more.files);
        written.bytes += more.bytes;
    }
    Ok(written)
}
