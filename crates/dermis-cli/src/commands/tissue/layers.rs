//! A layered body in numbers, for people and for programs.

use dermis::body::BodyPose;
use dermis::mesh::UpAxis;
use dermis::tet::tetrahedra::quality::measure_quality;
use dermis::tissue::dynamics::Force;
use dermis::tissue::layered::{BodySimulation, BodySimulationOptions, LayeredBody, LayeredError};
use dermis::tissue::layers::NodeRole;
use serde::Serialize;

use crate::numbers::{counted, grouped, measured};
use crate::terminal::Paint;

/// The step that conditioning is told by, in seconds.
const STEP_S: f32 = 0.004;
/// Steps over which iterations are counted.
const STEPS: usize = 5;
/// Earth's gravity, in m/s².
pub(super) const GRAVITY: f32 = 9.81;

/// The layers of a body and how good its tetrahedra are.
#[derive(Debug, Serialize)]
pub(super) struct LayerFacts {
    pub(super) points: usize,
    pub(super) joints: usize,
    pub(super) shapes: usize,
    pub(super) pose_shapes: usize,
    pub(super) clips: Vec<String>,
    pub(super) nodes: usize,
    pub(super) free_nodes: usize,
    pub(super) driven_nodes: usize,
    pub(super) fem_elements: usize,
    pub(super) all_elements: usize,
    pub(super) element_fraction: f64,
    pub(super) smallest_dihedral_degrees: f64,
    pub(super) largest_dihedral_degrees: f64,
    pub(super) slivers: usize,
    pub(super) worst_conditioning: f64,
    /// Of a step of 4 ms under gravity, to a relative residual of 1e-6; null where nothing is simulated.
    pub(super) cg_iterations: Option<usize>,
    pub(super) thickness: [f32; 2],
    pub(super) young_modulus_pa: [f32; 2],
    pub(super) poisson_ratio: f32,
    pub(super) density_kg_per_m3: f32,
    pub(super) damping_rate_per_s: f32,
}

impl LayerFacts {
    pub(super) fn new(body: &LayeredBody) -> Result<Self, LayeredError> {
        let (parts, layers, flesh) = (body.parts(), body.layers(), body.flesh());
        let quality = measure_quality(parts.tets.nodes(), parts.tets.tetrahedra());
        let bounds = |values: &[f32]| {
            let start = [f32::INFINITY, f32::NEG_INFINITY];
            values.iter().fold(start, |[low, high], &value| [low.min(value), high.max(value)])
        };
        Ok(Self {
            points: parts.body.point_count(),
            joints: parts.body.joints().len(),
            shapes: parts.body.shapes().len(),
            pose_shapes: parts.body.pose_shapes().len(),
            clips: parts.motions.iter().map(|motion| motion.name.clone()).collect(),
            nodes: parts.tets.nodes().len(),
            free_nodes: layers.count(NodeRole::Free),
            driven_nodes: layers.count(NodeRole::Driven),
            fem_elements: layers.elements.len(),
            all_elements: layers.all_elements,
            element_fraction: layers.element_fraction(),
            smallest_dihedral_degrees: quality.smallest_dihedral_degrees,
            largest_dihedral_degrees: quality.largest_dihedral_degrees,
            slivers: quality.slivers,
            worst_conditioning: quality.worst_conditioning,
            cg_iterations: iterations(body)?,
            thickness: bounds(&flesh.thickness),
            young_modulus_pa: bounds(&flesh.young_modulus_pa),
            poisson_ratio: flesh.poisson_ratio,
            density_kg_per_m3: flesh.density_kg_per_m3,
            damping_rate_per_s: flesh.damping_rate_per_s,
        })
    }

    pub(super) fn text(&self, paint: Paint) -> String {
        let mut lines = vec![format!(
            "{}  {}, {}, {}, {}",
            paint.title("body"),
            counted(self.points, "point", "points"),
            counted(self.joints, "joint", "joints"),
            counted(self.shapes, "shape", "shapes"),
            counted(self.pose_shapes, "pose shape", "pose shapes"),
        )];
        if !self.clips.is_empty() {
            lines.push(format!("  clips: {}", self.clips.join(", ")));
        }
        lines.push(format!(
            "{}  {}, {}; dihedral angles {:.1}° to {:.1}°, {}",
            paint.title("inside"),
            counted(self.nodes, "node", "nodes"),
            counted(self.all_elements, "element", "elements"),
            self.smallest_dihedral_degrees,
            self.largest_dihedral_degrees,
            counted(self.slivers, "sliver", "slivers"),
        ));
        let iterations = self.cg_iterations.map_or("nothing".to_owned(), |count| format!("{count} CG iterations"));
        lines.push(format!(
            "{}  {} of the elements ({:.0} %), {} free and {} driven nodes; {iterations} to 1e-6",
            paint.title("layer"),
            grouped(self.fem_elements),
            100.0 * self.element_fraction,
            grouped(self.free_nodes),
            grouped(self.driven_nodes),
        ));
        let [low, high] = self.young_modulus_pa.map(|modulus| measured(f64::from(modulus)));
        let stiffness = if low == high { low } else { format!("{low} to {high}") };
        let [thin, thick] = self.thickness;
        lines.push(format!(
            "{}  {stiffness} Pa, Poisson's ratio {}, {} kg/m³, damping {}/s, thickness d {thin:.2} to {thick:.2}",
            paint.title("flesh"),
            self.poisson_ratio,
            self.density_kg_per_m3,
            self.damping_rate_per_s,
        ));
        lines.join("\n") + "\n"
    }
}

/// The most iterations of a few steps from rest under gravity.
fn iterations(body: &LayeredBody) -> Result<Option<usize>, LayeredError> {
    if body.layers().elements.is_empty() {
        return Ok(None);
    }
    let parts = body.parts();
    let options = BodySimulationOptions { tolerance: 1e-6, ..BodySimulationOptions::default() };
    let mut simulation = BodySimulation::new(body.clone(), options)?;
    let rest = BodyPose::rest(parts.body.joints().len());
    let gravity = [gravity(parts.up, GRAVITY)];
    let mut most = 0;
    for _ in 0..STEPS {
        most = most.max(simulation.advance(&rest, STEP_S, 1, &gravity)?.steps.solve.iterations);
    }
    Ok(Some(most))
}

/// Gravity of a size, against what is up.
pub(super) fn gravity(up: UpAxis, size: f32) -> Force {
    let acceleration = match up {
        UpAxis::X => [-size, 0.0, 0.0],
        UpAxis::Y => [0.0, -size, 0.0],
        UpAxis::Z => [0.0, 0.0, -size],
    };
    Force::Gravity { acceleration }
}
