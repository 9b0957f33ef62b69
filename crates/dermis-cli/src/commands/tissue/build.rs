//! `dermis tissue build`: builds a layered body from a body model or a character.

use std::process::ExitCode;

use dermis::bodies::{Body, BodyOptions, read_body};
use dermis::body::rigging::Skeleton;
use dermis::build_body::{BuildBodyOptions, RigChoice, build_body_with};
use dermis::io::{ReadOptions, check_target};
use dermis::tissue::layered::LayerFacts;
use serde::Serialize;

use super::flesh::{FleshArgs, LayerArgs};
use super::tets::{self, TetArgs};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::input_units::InputUnits;
use crate::job::{Facts, Job};
use crate::options::Output;
use crate::text::Text;

/// Value of `--rig` that fits a human skeleton.
const HUMAN: &str = "human";

const EXAMPLES: &str = "Examples:
  dermis tissue build sample:body -o model.npz
  dermis tissue build SMPL_NEUTRAL.pkl --layer 0.4 --stiffness 6000 -o model.npz
      a body in SMPL's layout
  dermis tissue build hero.glb --thickness painted.glb:fat --thickness-range 1:2 -o model.npz
      a rigged character with painted thickness
  dermis tissue build scan.obj --rig human -o model.npz
      a skin without a rig: a skeleton is fitted and weights are solved";

/// Build a layered body: tetrahedra, inner weights and layers
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(mut_arg("output", |output| output.help(super::OUTPUT_HELP)))]
pub(super) struct Args {
    /// Body model in SMPL's layout (.npz, .pkl), rigged character, or sample:body
    body: String,
    #[command(flatten)]
    output: Output,
    /// Add joints to a skin without a rig: 'human' fits a human skeleton, FILE provides one
    #[arg(long, value_name = "human|FILE")]
    rig: Option<String>,
    /// Use this mesh: its name or path, or a unique part of its name [default: the rigged mesh with the most points]
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
    #[command(flatten)]
    flesh: FleshArgs,
    #[command(flatten)]
    layer: LayerArgs,
    #[command(flatten)]
    tets: TetArgs,
    #[command(flatten)]
    units: InputUnits,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    body: String,
    #[serde(flatten)]
    facts: LayerFacts,
    /// Fraction of the skin's triangles that are faces of the boundary; null if the skin is embedded.
    recovered_faces: Option<f64>,
    volume_error: f64,
    weight_steps: usize,
}

/// Builds the body, writes it and prints its facts.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    super::check(&args.output)?;
    if let Some(tets) = &args.tets.save_tets {
        check_target(tets, &args.output.options())?;
    }
    let mut job = Job::new(format!("building {}", args.body), shared);
    let options = BodyOptions { mesh: args.mesh.clone(), read: args.units.applied(ReadOptions::default()) };
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
        job.write(target, &tets::scene_of(&built.body.parts().tets)?, &args.output.options(), &args.body)?;
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
    args.tets.apply(&mut options, job)?;
    Ok(options)
}

fn rig(args: &Args) -> Result<RigChoice, Diagnostic> {
    match args.rig.as_deref() {
        None => Ok(RigChoice::Own),
        Some(HUMAN) => Ok(RigChoice::Human),
        Some(file) => {
            let other = read_body(file, &BodyOptions::default()).in_file(file)?;
            let model = other.model.ok_or_else(|| Diagnostic::new("the file has no joints").in_file(file))?;
            let skeleton = Skeleton::new(model.joints().to_vec(), model.rest_joints().to_vec());
            Ok(RigChoice::Skeleton(skeleton.in_file(file)?))
        }
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        self.facts.write(text);
        let faces = match self.recovered_faces {
            Some(fraction) => format!("{:.2} % of the faces are on the boundary of the tetrahedra", 100.0 * fraction),
            None => "embedded in the tetrahedra".to_owned(),
        };
        text.row("skin", format!("{faces}, volume error {:+.3} %", 100.0 * self.volume_error));
    }
}
