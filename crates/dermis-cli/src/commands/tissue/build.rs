//! `dermis tissue build`: from a body to a layered body.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum;
use dermis::bodies::{Body, BodyOptions, read_body};
use dermis::body::rigging::Skeleton;
use dermis::build_body::{BuildBodyOptions, RigChoice, Tetgen, build_body_with};
use dermis::io::tetgen::TetgenOptions;
use dermis::io::{ReadOptions, check_target};
use dermis::mesh::{Object, Scene, TetMesh, TriMesh, Units};
use dermis::tet::tetrahedra::TetOptions;
use dermis::tet::tetrahedra::lattice::LatticeOptions;
use dermis::tissue::layered::{LayerFacts, Mesher};
use serde::Serialize;

use super::flesh::{FleshArgs, LayerArgs};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::options::{Output, positive};
use crate::text::Text;

/// The value of `--rig` for the skeleton of a person.
const HUMAN: &str = "human";

const EXAMPLES: &str = "Examples:
  dermis tissue build sample:body -o model.npz
  dermis tissue build SMPL_NEUTRAL.pkl --layer 0.4 --stiffness 6000 -o model.npz
      a body in SMPL's layout
  dermis tissue build hero.glb --thickness painted.glb:fat --thickness-range 1:2 -o model.npz
      a rigged character, with flesh as it was painted
  dermis tissue build scan.obj --rig human -o model.npz
      a skin without a rig: the skeleton is fitted, the weights found";

/// Build a layered body: tetrahedra, the body extended to its inside, layers
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Args {
    /// The body: SMPL's layout (.npz, .pkl), a rigged character, or sample:body
    body: String,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    flesh: FleshArgs,
    #[command(flatten)]
    layer: LayerArgs,
    #[command(flatten)]
    tets: TetArgs,
    /// The source of the joints: 'human' fits a skeleton to a skin that has none, a FILE gives its own
    #[arg(long, value_name = "human|FILE")]
    rig: Option<String>,
    /// Use this mesh: its name or path, or a part that no other name has [default: the rigged one with the most points]
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
    /// The length of a unit of the file in metres [default: as the file states, else 1]
    #[arg(long, value_name = "M", value_parser = positive)]
    metres_per_unit: Option<f64>,
}

/// The source of the tetrahedra
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tetrahedra")]
struct TetArgs {
    /// The mesher [default: built-in]
    #[arg(long, value_name = "NAME")]
    mesher: Option<MesherName>,
    /// Take the tetrahedra of this file (.node/.ele, .mesh, .msh); points of the skin must be nodes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mesher", "spacing", "separate"])]
    tets: Option<String>,
    /// The distance of nodes inside, in metres [default: so that there are 0.43 of them per point of the skin]
    #[arg(long, value_name = "M", value_parser = positive)]
    spacing: Option<f64>,
    /// Let points move by at most this, in metres, to part a skin that meets itself; with --mesher built-in
    #[arg(long, value_name = "M", value_parser = positive)]
    separate: Option<f64>,
    /// The program that --mesher tetgen runs [default: tetgen]
    #[arg(long, value_name = "PROGRAM", requires = "mesher")]
    tetgen: Option<PathBuf>,
    /// Write the tetrahedra to this file too (.node/.ele, .mesh, .msh, .npz)
    #[arg(long, value_name = "FILE")]
    save_tets: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MesherName {
    /// Every face of the skin is one of the boundary
    BuiltIn,
    /// Cells of a lattice around the skin, also around one that is open or meets itself
    Lattice,
    /// The program of that name, which must be installed
    Tetgen,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Summary {
    body: String,
    #[serde(flatten)]
    facts: LayerFacts,
    /// The fraction of the skin's triangles that are faces of the boundary; null if the skin is embedded.
    recovered_faces: Option<f64>,
    volume_error: f64,
    weight_steps: usize,
}

/// Builds, writes, and prints what was made.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    super::check(&args.output)?;
    if let Some(tets) = &args.tets.save_tets {
        check_target(tets, &args.output.options())?;
    }
    let mut job = Job::new(format!("building {}", args.body), shared);
    let options = BodyOptions { mesh: args.mesh.clone(), metres_per_unit: args.metres_per_unit };
    let body = job.watch.during(&format!("reading {}", args.body), || read_body(&args.body, &options));
    let body = body.in_file(&args.body)?;
    let options = build_options(args, &body, &job).in_file(&args.body)?;
    job.clock.lap("read");
    let built = job.stoppable(|watch| build_body_with(body, &options, watch)).in_file(&args.body)?;
    let report = &built.report;
    let (tetrahedra, weights, layers) = (report.tetrahedra_s, report.volume_s, report.layers_s);
    job.clock.lap_in_parts(&[("tetrahedra", tetrahedra), ("weights", weights), ("layers", layers)]);
    job.notes.extend(built.notes);
    let facts = super::write(&built.body, &args.output, &mut job).in_file(&args.body)?;
    if let Some(target) = &args.tets.save_tets {
        job.write(target, &scene_of(&built.body.parts().tets)?, &args.output.options(), &args.body)?;
    }
    let mesh = &report.mesh;
    job.summarize(&Summary {
        body: args.body.clone(),
        facts,
        recovered_faces: mesh.recovered_faces.map(|faces| faces as f64 / mesh.skin_faces.max(1) as f64),
        volume_error: mesh.volume_error,
        weight_steps: report.weight_steps,
    })
}

fn build_options(args: &Args, body: &Body, job: &Job<'_>) -> Result<BuildBodyOptions, Diagnostic> {
    let mut options = BuildBodyOptions { rig: rig(args)?, ..BuildBodyOptions::default() };
    args.layer.apply(&args.flesh, &mut options.build, &body.attributes)?;
    let TetArgs { mesher, tets, spacing, separate, tetgen, .. } = &args.tets;
    let mesher = mesher.unwrap_or(MesherName::BuiltIn);
    for (given, acts, option, name) in [
        (separate.is_some(), mesher == MesherName::BuiltIn, "--separate", "built-in"),
        (tetgen.is_some(), mesher == MesherName::Tetgen, "--tetgen", "tetgen"),
    ] {
        if given && !acts {
            let message = format!("{option} has an effect only with --mesher {name}");
            return Err(Diagnostic::new(message).hint(format!("omit {option}")));
        }
    }
    options.build.mesher = match (tets, mesher) {
        (Some(file), _) => Mesher::Given(given_tets(file, job)?),
        (None, MesherName::Lattice) => {
            Mesher::Lattice(LatticeOptions { spacing: *spacing, ..LatticeOptions::default() })
        }
        (None, _) => {
            let separate = separate.unwrap_or(0.0);
            Mesher::Delaunay(TetOptions { spacing: *spacing, separate, ..TetOptions::default() })
        }
    };
    if mesher == MesherName::Tetgen {
        let program = tetgen.clone().unwrap_or_else(|| TetgenOptions::default().program);
        let options_of_program = TetgenOptions { program, ..TetgenOptions::default() };
        options.tetgen = Some(Tetgen { options: options_of_program, spacing: *spacing });
    }
    Ok(options)
}

fn rig(args: &Args) -> Result<RigChoice, Diagnostic> {
    match args.rig.as_deref() {
        None => Ok(RigChoice::Own),
        Some(HUMAN) => Ok(RigChoice::Human),
        Some(file) => {
            let other = read_body(file, &BodyOptions::default()).in_file(file)?;
            let model = other.model.ok_or_else(|| Diagnostic::new("this file has no joints").in_file(file))?;
            let skeleton = Skeleton::new(model.joints().to_vec(), model.rest_joints().to_vec());
            Ok(RigChoice::Skeleton(skeleton.in_file(file)?))
        }
    }
}

fn given_tets(file: &str, job: &Job<'_>) -> Result<TetMesh, Diagnostic> {
    let scene = job.read(file, &ReadOptions::default())?;
    let tets = scene.objects.into_iter().find_map(|object| object.tets);
    Ok(Arc::unwrap_or_clone(tets.ok_or_else(|| Diagnostic::new("this file has no tetrahedra").in_file(file))?))
}

fn scene_of(tets: &TetMesh) -> Result<Scene, Diagnostic> {
    let mesh = Arc::new(TriMesh::new(tets.nodes().to_vec(), tets.boundary())?);
    let object = Object { tets: Some(Arc::new(tets.clone())), ..Object::of_mesh("inside", mesh) };
    let units = Units { metres_per_unit: Some(1.0), up_axis: None };
    Ok(Scene { objects: vec![object], units, ..Scene::default() })
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        self.facts.write(text);
        let faces = match self.recovered_faces {
            Some(fraction) => format!("{:.2} % of the skin's faces are faces of the boundary", 100.0 * fraction),
            None => "the skin is embedded".to_owned(),
        };
        text.row("skin", format!("{faces}, volume {:+.3} %", 100.0 * self.volume_error));
    }
}
