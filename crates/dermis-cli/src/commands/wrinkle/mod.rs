//! `dermis wrinkle`: adds folds to compressed regions of a coarse cloth.

mod maps;
mod summary;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use dermis::active::wrinkle::{ClothOptions, Folds, MAX_LEVELS, RestShape, WrinkleOptions, rest_points};
use dermis::evaluate::{self, Motion};
use dermis::io::{Format, ReadOptions};
use dermis::mesh::glam::Vec3;
use dermis::mesh::{Note, Object, Scene, TriMesh};
use dermis::wrinkle_files::write_curves;
use dermis::wrinkle_with;

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
      simplified first, refined everywhere, with curves as OBJ lines";

/// Add wrinkles to compressed regions of a coarse cloth animation
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Cloth animation
    input: String,
    #[command(flatten)]
    output: Output,
    /// Use this unstretched shape: a file with the same mesh, or 'uv' for the sewing pattern in the UVs [default: the rest pose]
    #[arg(long, value_name = "FILE")]
    rest: Option<String>,
    /// Select the method that determines the folds
    #[arg(long, value_name = "METHOD", default_value = "buckled")]
    folds: FoldsName,
    /// Set the smallest radius of a fold along curves, in scene units [default: from the size of the triangles]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FoldsName {
    /// Heights that restore the lengths of compressed edges
    Buckled,
    /// Rounded folds along curves, as in the paper; larger and slower
    Curves,
}

impl Args {
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
    check_output(args)?;
    let mut job = Job::new(format!("wrinkling {}", args.input), shared);
    let mut scene = args.part.read(&args.input, &job)?;
    let index = the_cloth(&scene).in_file(&args.input)?;
    let name = scene.objects[index].name.clone();
    let found = evaluate::motion(&scene.objects[index]).in_file(&args.input)?;
    let Motion { sequence: motion, clip, warnings } =
        found.ok_or_else(|| Diagnostic::new("the input has no motion"))?;
    job.notes.extend(clip.and_then(|clip| evaluate::other_clips(&scene.objects[index], &clip)));
    let rest = read_rest(args, motion.mesh(), &job)?;
    job.clock.lap("read");
    let shape = match (&rest, &args.rest) {
        (Some(points), _) => RestShape::Points(points),
        (None, Some(_)) => RestShape::Uvs,
        (None, None) => RestShape::Pose,
    };
    let layer = WrinkleOptions { min_radius: args.min_radius.map(|radius| radius as f32), ..WrinkleOptions::default() };
    let options = ClothOptions { layer, folds: args.folds(), subdivide: args.subdivide, coarsen: args.coarsen };
    let cloth = job.stoppable(|watch| wrinkle_with(&motion, shape, &options, watch)).in_file(&args.input)?;
    job.clock.lap("wrinkle");
    let notes = cloth.notes.iter().map(|note| Note::at(&name, note.message.clone()));
    scene.notes.extend(warnings.into_iter().chain(notes));
    job.notes.append(&mut scene.notes);
    scene.objects[index] = Object::of_sequence(name.clone(), cloth.sequence.clone());
    match args.map {
        Some(format) => write_maps(args, format, &cloth, &mut job)?,
        None => job.write(&args.output.output, &scene, &args.output.options(), &args.input)?,
    }
    let mut curve_count = None;
    if let Some(folder) = &args.curves {
        let curves = cloth.curves().in_file(&args.input)?;
        let written = write_curves(folder, &cloth, &curves, &args.output.options())?;
        job.has_written(folder, written);
        curve_count = curves.iter().map(|curves| curves.lines.len()).max();
    }
    job.summarize(&Summary {
        input: args.input.clone(),
        name,
        frames: cloth.coarse().frame_count(),
        min_radius: cloth.layer().min_radius(),
        map_height: cloth.max_height(),
        triangles_before: cloth.coarse().mesh().triangle_count(),
        triangles_after: cloth.sequence.mesh().triangle_count(),
        curves: curve_count,
        measures: cloth.measures,
    })
}

/// Checks before the work that a mesh sequence can be written, or that the output of maps is a folder.
fn check_output(args: &Args) -> Result<(), Diagnostic> {
    let output = &args.output.output;
    match (args.map, Format::of_path(output)) {
        (None, _) => args.output.check(),
        (Some(_), Ok(format)) => {
            let message = format!("--map writes a folder of maps, but the output has the extension of {}", format.name);
            Err(Diagnostic::new(message).in_file(output.display()).hint("use -o FOLDER, or omit --map"))
        }
        (Some(_), Err(_)) => Ok(()),
    }
}

/// Index of the only object with a motion.
fn the_cloth(scene: &Scene) -> Result<usize, Diagnostic> {
    let moves = |object: &Object| object.sequence.is_some() || !object.clips.is_empty();
    let indices: Vec<usize> = (0..scene.objects.len()).filter(|&at| moves(&scene.objects[at])).collect();
    match indices[..] {
        [] => Err(Diagnostic::new("the input contains no motion").hint("use a cloth with frames or a clip")),
        [index] => Ok(index),
        _ => {
            let names: Vec<&str> = indices.iter().map(|&at| scene.objects[at].name.as_str()).collect();
            let diagnostic =
                Diagnostic::new("several meshes have a motion").detail(format!("meshes: {}", names.join(", ")));
            Err(diagnostic.hint("select the cloth with --mesh"))
        }
    }
}

/// Rest shape from a file with the same mesh; `None` if it is the rest pose or the UVs.
fn read_rest(args: &Args, cloth: &TriMesh, job: &Job<'_>) -> Result<Option<Vec<Vec3>>, Diagnostic> {
    let Some(file) = args.rest.as_deref().filter(|rest| *rest != UVS) else { return Ok(None) };
    let scene = job.read(file, &ReadOptions::default())?;
    let meshes = || scene.objects.iter().map(|object| &object.mesh);
    let fitting = meshes().find(|mesh| mesh.point_count() == cloth.point_count());
    let mesh = fitting.or_else(|| meshes().max_by_key(|mesh| mesh.point_count()));
    let mesh = mesh.ok_or_else(|| Diagnostic::new("the file has no mesh").in_file(file))?;
    Ok(Some(rest_points(cloth, mesh).in_file(file)?.to_vec()))
}
