//! `dermis tissue build`: from a body to a layered body.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use dermis::bodies::{Body, BodyOptions, read_body};
use dermis::body::BodyModel;
use dermis::body::rigging::{Skeleton, fit_human};
use dermis::io::tetgen::{self, TetgenOptions};
use dermis::io::{ReadOptions, WriteOptions, check_target};
use dermis::mesh::glam::Vec3;
use dermis::mesh::{Note, Object, Scene, TetMesh, TriMesh, Units};
use dermis::tet::bone_weights::BoneWeightsOptions;
use dermis::tet::tetrahedra::lattice::LatticeOptions;
use dermis::tet::tetrahedra::{TetOptions, points_along_bones};
use dermis::tissue::layered::{
    BuildOptions, BuildReport, LayeredError, Mesher, build, rest_bones, rigged as layered_rig,
};
use serde::Serialize;

use super::flesh::FleshArgs;
use super::layers::LayerFacts;
use crate::args::{EXIT_CODES, Format, Shared};
use crate::input;
use crate::interrupt;
use crate::notes::NoteFacts;
use crate::numbers::{bytes, seconds};
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis tissue build sample:body -o model.npz
  dermis tissue build SMPL_NEUTRAL.pkl --layer 0.4 --stiffness 6000 -o model.npz
      a body in SMPL's layout
  dermis tissue build hero.glb --thickness painted.glb:fat --thickness-range 1:2 -o model.npz
      a rigged character, flesh where it was painted
  dermis tissue build scan.obj --rig human -o model.npz
      a skin without a rig: the skeleton is fitted, the weights found";

/// Build a layered body: tetrahedra, the body extended to its inside, layers
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"), allow_negative_numbers = true)]
pub(super) struct Args {
    /// The body: SMPL's layout (.npz, .pkl), a rigged character, or sample:body
    body: String,
    /// The model, an .npz file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    flesh: FleshArgs,
    #[command(flatten)]
    mesh: MeshArgs,
    /// Where the joints come from: 'human' fits a skeleton to a skin that has none, a FILE gives its own
    #[arg(long, value_name = "human|FILE")]
    rig: Option<String>,
    /// Which mesh of the file is the body [default: the rigged one with the most points]
    #[arg(long = "mesh", value_name = "NAME")]
    mesh_name: Option<String>,
    /// How many metres a unit of the file is [default: as it says, else 1]
    #[arg(long, value_name = "M", value_parser = positive)]
    metres_per_unit: Option<f64>,
    /// Write the tetrahedra to this file too (.node/.ele, .mesh, .msh, .npz)
    #[arg(long, value_name = "FILE")]
    save_tets: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

/// Where the tetrahedra come from
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tetrahedra")]
struct MeshArgs {
    /// What fills the skin
    #[arg(long, value_name = "NAME", default_value = "built-in")]
    mesher: MesherName,
    /// Take the tetrahedra of this file (.node/.ele, .mesh, .msh); points of the skin must be nodes
    #[arg(long, value_name = "FILE", conflicts_with = "mesher")]
    tets: Option<String>,
    /// The distance of nodes inside, in metres [default: so that there are 0.43 of them per point of the skin]
    #[arg(long, value_name = "M", value_parser = positive)]
    spacing: Option<f64>,
    /// Where the skin meets itself, let points move by at most this, in metres
    #[arg(long, value_name = "M", value_parser = positive)]
    separate: Option<f64>,
    /// The program that --mesher tetgen runs
    #[arg(long, value_name = "PROGRAM", default_value = "tetgen")]
    tetgen: PathBuf,
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
    output: String,
    bytes: u64,
    #[serde(flatten)]
    facts: LayerFacts,
    /// The part of the skin's triangles that are faces of the boundary; null where the skin is embedded.
    recovered_faces: Option<f64>,
    volume_error: f64,
    weight_steps: usize,
    notes: Vec<NoteFacts>,
    seconds: Times,
}

#[derive(Debug, Serialize)]
struct Times {
    read: f64,
    tetrahedra: f64,
    weights: f64,
    layers: f64,
    write: f64,
    total: f64,
}

/// Builds, writes, and says what was made.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let write_options = WriteOptions { force: args.force };
    if args.output.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("npz")) {
        let report = Report::new("a layered body is an .npz file").in_file(args.output.display().to_string());
        return Err(report.hint("name it MODEL.npz; 'simulate' writes every other format"));
    }
    check_target(&args.output, &write_options)?;
    if let Some(tets) = &args.save_tets {
        check_target(tets, &write_options)?;
    }
    let named = |report: Report| report.in_file(args.body.as_str());
    let watch = Watch::new(format!("building {}", args.body), shared);
    let began = Instant::now();
    let options = BodyOptions { mesh: args.mesh_name.clone(), metres_per_unit: args.metres_per_unit };
    let body = watch.during(&format!("reading {}", args.body), || read_body(&args.body, &options));
    let mut body = body.map_err(|error| named(Report::from(error)))?;
    let mut build_options = BuildOptions::default();
    args.flesh.apply(&mut build_options, &body.attributes).map_err(named)?;
    let read = began.elapsed().as_secs_f64();
    let (model, mesher) = rigged(args, &mut body, &watch).map_err(named)?;
    build_options.mesher = mesher;
    let meshed = began.elapsed().as_secs_f64() - read;
    let (layered, report) =
        build(model, body.motions, body.up, &build_options, &watch).map_err(|error| named(Report::from(error)))?;
    let facts = LayerFacts::new(&layered).map_err(|error| named(Report::from(error)))?;
    let write_began = Instant::now();
    if let Some(target) = &args.save_tets {
        save_tets(target, &layered.parts().tets, &write_options, &watch).map_err(|error| named(error.into()))?;
    }
    let written = interrupt::while_writing(|| dermis::layered_file::write(&args.output, &layered, &write_options));
    watch.clear();
    let written = written.map_err(|error| named(Report::from(error)))?;
    let seconds = Times {
        read,
        tetrahedra: meshed + report.tetrahedra_s,
        weights: report.volume_s,
        layers: report.layers_s,
        write: write_began.elapsed().as_secs_f64(),
        total: began.elapsed().as_secs_f64(),
    };
    let summary = Summary::new(args, facts, &report, &body.notes, written.bytes, seconds);
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl MeshArgs {
    fn mesher(&self, skin: &TriMesh, bones: &[(Vec3, Vec3)], watch: &Watch) -> Result<Mesher, Report> {
        if let Some(file) = &self.tets {
            return Ok(Mesher::Given(given_tets(file, watch)?));
        }
        Ok(match self.mesher {
            MesherName::BuiltIn => Mesher::Delaunay(TetOptions {
                spacing: self.spacing,
                separate: self.separate.unwrap_or(0.0),
                ..TetOptions::default()
            }),
            MesherName::Lattice => {
                Mesher::Lattice(LatticeOptions { spacing: self.spacing, ..LatticeOptions::default() })
            }
            MesherName::Tetgen => {
                let options = TetgenOptions { program: self.tetgen.clone(), ..TetgenOptions::default() };
                let inner = points_along_bones(skin, bones, self.spacing).map_err(LayeredError::from)?;
                let tets = watch.during("running TetGen", || tetgen::run(skin, &inner, &options));
                Mesher::Given(tets.map_err(Report::from)?)
            }
        })
    }
}

fn save_tets(target: &Path, tets: &TetMesh, options: &WriteOptions, watch: &Watch) -> Result<(), dermis::io::Error> {
    let mesh = Arc::new(TriMesh::new(tets.nodes().to_vec(), tets.boundary())?);
    let object = Object { tets: Some(Arc::new(tets.clone())), ..Object::of_mesh("inside", mesh) };
    let units = Units { metres_per_unit: Some(1.0), up_axis: None };
    let scene = Scene { objects: vec![object], units, ..Scene::default() };
    interrupt::while_writing(|| dermis::io::write(target, &scene, options, watch)).map(|_| ())
}

fn given_tets(file: &str, watch: &Watch) -> Result<TetMesh, Report> {
    let scene = input::read(file, &ReadOptions::default(), watch)?;
    let tets = scene.objects.into_iter().find_map(|object| object.tets);
    let tets = tets.ok_or_else(|| Report::new("this file has no tetrahedra").in_file(file))?;
    Ok(TetMesh::clone(&tets))
}

impl Summary {
    fn new(args: &Args, facts: LayerFacts, report: &BuildReport, notes: &[Note], bytes: u64, seconds: Times) -> Self {
        let mesh = &report.mesh;
        Self {
            body: args.body.clone(),
            output: args.output.display().to_string(),
            bytes,
            facts,
            recovered_faces: mesh.recovered_faces.map(|faces| faces as f64 / mesh.skin_faces.max(1) as f64),
            volume_error: mesh.volume_error,
            weight_steps: report.weight_steps,
            notes: NoteFacts::each_once(notes.iter().chain(&report.notes)),
            seconds,
        }
    }

    fn text(&self, paint: Paint) -> String {
        let mut lines = vec![self.facts.text(paint)];
        let faces = match self.recovered_faces {
            Some(part) => format!("{:.2} % of the skin's faces are faces of the boundary", 100.0 * part),
            None => "the skin is embedded".to_owned(),
        };
        lines.push(format!("{}  {faces}, volume {:+.3} %\n", paint.title("skin"), 100.0 * self.volume_error));
        let Times { read, tetrahedra, weights, layers, write, total } = &self.seconds;
        let [read, tetrahedra, weights] = [read, tetrahedra, weights].map(|time| seconds(*time));
        let [layers, write, total] = [layers, write, total].map(|time| seconds(*time));
        lines.push(format!(
            "wrote {} ({}) in {total}: read {read}, tetrahedra {tetrahedra}, weights {weights}, layers {layers}, written {write}\n",
            paint.title(&self.output),
            bytes(self.bytes),
        ));
        lines.extend(self.notes.iter().map(|note| note.line(paint)));
        lines.concat()
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("this is not a number above 0".to_owned()),
    }
}

/// The body's model and what fills it; where it has no rig of its own or another is asked for, that.
fn rigged(args: &Args, body: &mut Body, watch: &Watch) -> Result<(BodyModel, Mesher), Report> {
    let skeleton = match (&args.rig, body.model.take()) {
        (None, Some(model)) => {
            let mesher = args.mesh.mesher(model.mesh(), &rest_bones(&model), watch)?;
            return Ok((model, mesher));
        }
        (None, None) => return Err(super::no_rig()),
        (Some(asked), _) if asked == "human" => {
            let fitted = fit_human(&body.skin, body.up).map_err(|error| Report::from(LayeredError::from(error)))?;
            body.notes.extend(fitted.notes);
            fitted.skeleton
        }
        (Some(file), _) => {
            let named = |report: Report| report.in_file(file.as_str());
            let other = read_body(file, &BodyOptions::default()).map_err(|error| named(error.into()))?;
            let model = other.model.ok_or_else(|| named(Report::new("this file has no joints")))?;
            Skeleton::new(model.joints().to_vec(), model.rest_joints().to_vec())
                .map_err(|error| named(LayeredError::from(error).into()))?
        }
    };
    body.motions.clear();
    let bones: Vec<(Vec3, Vec3)> = skeleton.bones().iter().map(|bone| (bone.start, bone.end)).collect();
    let mesher = args.mesh.mesher(&body.skin, &bones, watch)?;
    let rigged = layered_rig(&body.skin, &skeleton, mesher, &BoneWeightsOptions::default(), watch)?;
    body.notes.extend(rigged.notes);
    Ok((rigged.body, rigged.mesher))
}
