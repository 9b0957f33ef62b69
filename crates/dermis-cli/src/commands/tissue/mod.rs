//! `dermis tissue`: layered bodies with simulated flesh.

mod build;
mod edit;
mod fit;
mod fit_beam;
mod flesh;
mod inspect;
mod motion;
mod scans;
mod simulate;
mod tets;
mod transfer;
mod validate;
mod validation;

use std::process::ExitCode;

use clap::Subcommand;
use dermis::build_body::read_layered;
use dermis::io::Format;
use dermis::layered_file::{self, LayeredFile};
use dermis::tissue::layered::{LayerFacts, LayeredBody};
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::{counted, grouped, measured};
use crate::options::Output;
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis tissue build sample:body -o model.npz
      tetrahedra, inner weights, layers
  dermis tissue simulate model.npz --clip jumping_jacks -o jacks.abc
      simulated flesh, as frames
  dermis tissue simulate model.npz --gravity 70 --forces pull.json -o heavy.glb
      seven times the Earth's gravity, with additional forces
  dermis view model.npz
      interactive simulation";

/// Build and simulate layered bodies: an inner layer that follows the pose, and dynamic flesh
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Build(Box<build::Args>),
    Simulate(Box<simulate::Args>),
    Edit(edit::Args),
    Transfer(transfer::Args),
    Inspect(inspect::Args),
    Fit(Box<fit::Args>),
    Validate(validate::Args),
    FitBeam(fit_beam::Args),
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    match &args.action {
        Action::Build(args) => build::run(args, shared),
        Action::Simulate(args) => simulate::run(args, shared),
        Action::Edit(args) => edit::run(args, shared),
        Action::Transfer(args) => transfer::run(args, shared),
        Action::Inspect(args) => inspect::run(args, shared),
        Action::Fit(args) => fit::run(args, shared),
        Action::Validate(args) => validate::run(args, shared),
        Action::FitBeam(args) => fit_beam::run(args, shared),
    }
}

/// Help of the output of commands that write layered bodies.
const OUTPUT_HELP: &str = "Write the layered body to this file (.npz)";

/// Reads the layered body in `source`; other bodies are built with the default options.
fn read(source: &str, job: &mut Job<'_>) -> Result<LayeredFile, Diagnostic> {
    let mut file =
        job.watch.during(&format!("reading {source}"), || read_layered(source, &job.watch)).in_file(source)?;
    job.notes.append(&mut file.notes);
    Ok(file)
}

/// Rejects an output whose format cannot store a layered body.
fn check(output: &Output) -> Result<(), Diagnostic> {
    if !Format::is_path_of("npz", &output.output) {
        let diagnostic =
            Diagnostic::new("invalid output: a layered body is stored as .npz").in_file(output.output.display());
        return Err(
            diagnostic.hint("use the extension .npz; 'dermis tissue simulate' writes mesh sequences in other formats")
        );
    }
    output.check()
}

/// Writes `body` and returns its facts.
fn write(body: &LayeredBody, output: &Output, job: &mut Job<'_>) -> Result<LayerFacts, Diagnostic> {
    let facts = body.facts()?;
    job.clock.lap("measure");
    let options = output.options();
    job.write_by(&output.output, |target, _| Ok(layered_file::write(target, body, &options)?))?;
    Ok(facts)
}

/// JSON summary of a changed model.
#[derive(Debug, Serialize)]
struct Changed {
    model: String,
    #[serde(flatten)]
    facts: LayerFacts,
}

impl Facts for Changed {
    fn write(&self, text: &mut Text) {
        self.facts.write(text);
    }
}

impl Facts for LayerFacts {
    fn write(&self, text: &mut Text) {
        let points = counted(self.points, "point", "points");
        let joints = counted(self.joints, "joint", "joints");
        let shapes = counted(self.shapes, "shape", "shapes");
        let pose_shapes = counted(self.pose_shapes, "pose shape", "pose shapes");
        text.row("body", format!("{points}, {joints}, {shapes}, {pose_shapes}"));
        if !self.clips.is_empty() {
            text.row("clips", self.clips.join(", "));
        }
        let (nodes, elements) =
            (counted(self.nodes, "node", "nodes"), counted(self.all_elements, "element", "elements"));
        let (low, high) = (self.smallest_dihedral_degrees, self.largest_dihedral_degrees);
        let slivers = counted(self.slivers, "sliver", "slivers");
        text.row("inside", format!("{nodes}, {elements}; dihedral angles {low:.1}° to {high:.1}°, {slivers}"));
        let (fem, percent) = (grouped(self.fem_elements), 100.0 * self.element_fraction);
        let (free, driven) = (grouped(self.free_nodes), grouped(self.driven_nodes));
        let solve = self.cg_iterations.map(|count| format!("; {count} CG iterations to 1e-6")).unwrap_or_default();
        text.row("layer", format!("{fem} elements ({percent:.0} %), {free} free and {driven} driven nodes{solve}"));
        let [low, high] = self.young_modulus_pa.map(|modulus| measured(f64::from(modulus)));
        let stiffness = if low == high { low } else { format!("{low} to {high}") };
        let [thin, thick] = self.thickness;
        let Self { poisson_ratio, density_kg_per_m3: density, damping_rate_per_s: damping, .. } = self;
        text.row("flesh", format!("{stiffness} Pa, Poisson's ratio {poisson_ratio}, {density} kg/m³, damping {damping}/s, thickness d {thin:.2} to {thick:.2}"));
    }
}
