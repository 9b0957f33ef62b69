//! `dermis wrinkle`: adds folds to compressed regions of a coarse cloth.

mod cloth;
mod learned;
mod maps;
mod summary;
mod train;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use dermis::active::wrinkle::{ClothOptions, Folds, MAX_LEVELS, RestShape, WrinkleOptions};
use dermis::evaluate::Motion;
use dermis::io::Format;
use dermis::mesh::{Note, Object};
use dermis::wrinkle_files::write_curves;
use dermis::wrinkle_with;

use cloth::{cloth_of, read_rest};
use maps::{MAP_SIZE, MapFormat, write_maps};
use summary::Summary;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::{Input, Output, count, map_size, positive};

/// Value of `--rest` for the pattern in the UVs.
const UVS: &str = "uv";
const EXAMPLES: &str = "Examples:
  dermis wrinkle sample:towel -o towel.abc
      a refined mesh sequence with folds
  dermis wrinkle shirt.abc --rest pattern.obj --min-radius 0.01 -o folded.glb
  dermis wrinkle sample:flag --map png -o maps
      displacement maps, one per frame
  dermis wrinkle shirt.npz --coarsen 1500 --subdivide 3 -o folded.npz --curves curves
      simplified first, refined everywhere, with curves as OBJ lines
  dermis wrinkle train coarse.abc fine.abc -o folds.npz
      learn folds from two simulations of the same motion
  dermis wrinkle dance.abc --model folds.npz -o folded.abc
      add the learned folds to a new motion";

/// Add wrinkles to compressed regions of a coarse cloth animation
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Cloth animation
    #[arg(required = true)]
    input: Option<String>,
    /// Write to this file; its extension selects the format. `-` writes GLB to stdout, `--output=-.EXT` another format
    #[arg(long, short, value_name = "FILE", required = true)]
    output: Option<PathBuf>,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    /// Add the folds learned by 'dermis wrinkle train' instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["folds", "min_radius", "subdivide", "map", "curves"])]
    model: Option<PathBuf>,
    /// Use this unstretched shape: a file with the same mesh, or 'uv' for the sewing pattern in the UVs [default: the rest pose]
    #[arg(long, value_name = "FILE")]
    rest: Option<String>,
    /// Select the method that determines the folds
    #[arg(long, value_name = "METHOD", default_value = "buckled")]
    folds: FoldsName,
    /// Set the smallest radius of a fold along curves, in scene units; implies --folds curves [default: from the size of the triangles]
    #[arg(long, value_name = "R", value_parser = positive)]
    min_radius: Option<f64>,
    /// Subdivide all triangles N times, each into four [default: twice; with --folds curves only near wrinkles]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_LEVELS)))]
    subdivide: Option<u32>,
    /// Write one displacement map per frame to the folder given by --output instead of a mesh sequence
    #[arg(long, value_name = "FORMAT", conflicts_with = "subdivide")]
    map: Option<MapFormat>,
    #[arg(long, value_name = "N", requires = "map", value_parser = map_size, help = format!("Set the size of the maps, in texels per side [default: {MAP_SIZE}]"))]
    map_size: Option<usize>,
    /// Write the wrinkle curves of each frame to this folder as OBJ lines
    #[arg(long, value_name = "FOLDER")]
    curves: Option<PathBuf>,
    /// First simplify the cloth to about this many triangles, the same in all frames [default: no simplification]
    #[arg(long, value_name = "TRIANGLES", value_parser = count)]
    coarsen: Option<usize>,
    #[command(flatten)]
    part: Input,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Train(Box<train::Args>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FoldsName {
    /// Heights that restore the lengths of compressed edges
    Buckled,
    /// Rounded folds along curves, as in the paper; larger and slower
    Curves,
}

impl Args {
    fn rest_is_uv(&self) -> bool {
        self.rest.as_deref() == Some(UVS)
    }

    /// The method. A radius is an option of folds along curves.
    fn folds(&self) -> Folds {
        match self.folds {
            FoldsName::Buckled if self.min_radius.is_none() => Folds::Buckled,
            _ => Folds::Curves,
        }
    }
}

/// Adds wrinkles, writes the result and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    if let Some(Action::Train(args)) = &args.action {
        return train::run(args, shared);
    }
    let output = Output { output: args.output.clone().unwrap_or_default(), force: args.force };
    let input = args.input.clone().unwrap_or_default();
    check_output(args.map, &output)?;
    let mut job = Job::new(format!("wrinkling {input}"), shared);
    let mut scene = args.part.read(&input, &job)?;
    let (index, Motion { sequence: motion, warnings, .. }) = cloth_of(&scene, &input, &mut job)?;
    scene.notes.extend(warnings);
    let name = scene.objects[index].name.clone();
    let rest = read_rest(args.rest.as_deref(), motion.mesh(), &job)?;
    job.clock.lap("read");
    if let Some(model) = &args.model {
        let cloth = learned::Cloth { input, name, motion, rest, coarsen: args.coarsen, is_pattern: args.rest_is_uv() };
        return learned::run(model, cloth, (scene, index), &output, job);
    }
    let shape = match &rest {
        Some(points) => RestShape::Points(points),
        None if args.rest_is_uv() => RestShape::Uvs,
        None => RestShape::Pose,
    };
    let layer = WrinkleOptions { min_radius: args.min_radius.map(|radius| radius as f32), ..WrinkleOptions::default() };
    let options = ClothOptions { layer, folds: args.folds(), subdivide: args.subdivide, coarsen: args.coarsen };
    let cloth = job.stoppable(|watch| wrinkle_with(&motion, shape, &options, watch)).in_file(&input)?;
    job.clock.lap("wrinkle");
    scene.notes.extend(cloth.notes.iter().map(|note| Note::at(&name, note.message.clone())));
    job.notes.append(&mut scene.notes);
    scene.objects[index] = Object::of_sequence(name.clone(), cloth.sequence.clone());
    match args.map {
        Some(format) => write_maps(args, &output, format, &cloth, &mut job)?,
        None => job.write(&output.output, &scene, &output.options(), &input)?,
    }
    let mut curve_count = None;
    if let Some(folder) = &args.curves {
        let curves = cloth.curves().in_file(&input)?;
        let written = write_curves(folder, &cloth, &curves, &output.options())?;
        job.has_written(folder, written);
        curve_count = curves.iter().map(|curves| curves.lines.len()).max();
    }
    job.summarize(&Summary {
        input,
        name,
        frames: cloth.coarse().frame_count(),
        min_radius: Some(cloth.layer().min_radius()),
        map_height: cloth.max_height(),
        triangles_before: cloth.coarse().mesh().triangle_count(),
        triangles_after: cloth.sequence.mesh().triangle_count(),
        curves: curve_count,
        measures: cloth.measures,
    })
}

/// Checks before the work that a mesh sequence can be written, or that the output of maps is a folder.
fn check_output(map: Option<MapFormat>, target: &Output) -> Result<(), Diagnostic> {
    let output = &target.output;
    match (map, Format::of_path(output)) {
        (None, _) => target.check(),
        (Some(_), Ok(format)) => {
            let message = format!("--map writes a folder of maps, but the output has the extension of {}", format.name);
            Err(Diagnostic::new(message).in_file(output.display()).hint("use -o FOLDER, or omit --map"))
        }
        (Some(_), Err(_)) => Ok(()),
    }
}
