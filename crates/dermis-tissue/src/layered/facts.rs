//! Statistics of a layered body: its parts, the quality of its tetrahedra, and the cost of a step.

use dermis_body::BodyPose;
use dermis_tet::tetrahedra::quality::measure_quality;
use serde::Serialize;

use super::{BodySimulation, BodySimulationOptions, LayeredBody, LayeredError, STEP_S};
use crate::dynamics::{EARTH_GRAVITY, Force};
use crate::layers::NodeRole;

/// Relative residual at which iterations are counted.
const TOLERANCE: f64 = 1e-6;
/// Number of steps over which iterations are counted.
const COUNTED_STEPS: usize = 5;
/// Number of timed windows, of which the fastest is reported, and steps per window.
const WINDOWS: usize = 8;
const STEPS: usize = 25;
/// Time for the flesh to settle before steps are timed, in seconds.
const SETTLE_S: f32 = 0.2;

/// Layers of a body and quality of its tetrahedra; field names are the keys of the JSON form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub struct LayerFacts {
    pub points: usize,
    pub joints: usize,
    pub shapes: usize,
    pub pose_shapes: usize,
    pub clips: Vec<String>,
    pub nodes: usize,
    pub free_nodes: usize,
    pub driven_nodes: usize,
    pub fem_elements: usize,
    pub all_elements: usize,
    pub element_fraction: f64,
    pub smallest_dihedral_degrees: f64,
    pub largest_dihedral_degrees: f64,
    pub slivers: usize,
    pub worst_conditioning: f64,
    /// Iterations of a step of 4 ms under gravity, to a relative residual of 1e-6; `None` if nothing is simulated.
    pub cg_iterations: Option<usize>,
    /// Minimum and maximum.
    pub thickness: [f32; 2],
    /// Minimum and maximum.
    pub young_modulus_pa: [f32; 2],
    pub poisson_ratio: f32,
    pub density_kg_per_m3: f32,
    pub damping_rate_per_s: f32,
}

/// Computing time per step of 4 ms during the first clip, fastest of several windows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StepTimes {
    /// With the simulated layer only.
    pub layer_milliseconds_per_step: f64,
    /// With every element.
    pub all_elements_milliseconds_per_step: f64,
    /// Ratio of the second to the first.
    pub speed_up: f64,
}

impl LayeredBody {
    /// Computes the statistics of the body.
    pub fn facts(&self) -> Result<LayerFacts, LayeredError> {
        let (parts, layers, flesh) = (self.parts(), self.layers(), self.flesh());
        let quality = measure_quality(parts.tets.nodes(), parts.tets.tetrahedra());
        let bounds = |values: &[f32]| {
            let start = [f32::INFINITY, f32::NEG_INFINITY];
            values.iter().fold(start, |[low, high], &value| [low.min(value), high.max(value)])
        };
        Ok(LayerFacts {
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
            cg_iterations: self.iterations()?,
            thickness: bounds(&flesh.thickness),
            young_modulus_pa: bounds(&flesh.young_modulus_pa),
            poisson_ratio: flesh.poisson_ratio,
            density_kg_per_m3: flesh.density_kg_per_m3,
            damping_rate_per_s: flesh.damping_rate_per_s,
        })
    }

    /// Maximum number of iterations over a few steps from rest under gravity.
    fn iterations(&self) -> Result<Option<usize>, LayeredError> {
        if self.layers().elements.is_empty() {
            return Ok(None);
        }
        let options = BodySimulationOptions { tolerance: TOLERANCE, ..BodySimulationOptions::default() };
        let mut simulation = BodySimulation::new(self.clone(), options)?;
        let rest = BodyPose::rest(self.body().joints().len());
        let gravity = [Force::gravity_down(self.parts().up, EARTH_GRAVITY)];
        let mut most = 0;
        for _ in 0..COUNTED_STEPS {
            most = most.max(simulation.advance(&rest, STEP_S as f32, 1, &gravity)?.steps.solve.iterations);
        }
        Ok(Some(most))
    }

    /// Measures the time per step with and without layers.
    pub fn time_steps(&self) -> Result<StepTimes, LayeredError> {
        let [layer, all] = [self.milliseconds(false)?, self.milliseconds(true)?];
        Ok(StepTimes {
            layer_milliseconds_per_step: layer,
            all_elements_milliseconds_per_step: all,
            speed_up: all / layer.max(1e-9),
        })
    }

    fn milliseconds(&self, all_elements: bool) -> Result<f64, LayeredError> {
        let options = BodySimulationOptions { all_elements, ..BodySimulationOptions::default() };
        let rest = [BodyPose::rest(self.body().joints().len())];
        let poses = self.parts().motions.first().map_or(&rest[..], |motion| &motion.poses);
        let gravity = [Force::gravity_down(self.parts().up, EARTH_GRAVITY)];
        let mut simulation = BodySimulation::new(self.clone(), options)?;
        simulation.start(&poses[0], SETTLE_S, &gravity)?;
        let mut best = f64::INFINITY;
        let mut frames = poses.iter().cycle();
        for _ in 0..WINDOWS {
            let mut sum = 0.0;
            for pose in frames.by_ref().take(STEPS) {
                sum += simulation.advance(pose, STEP_S as f32, 1, &gravity)?.stepping.as_secs_f64();
            }
            best = best.min(1e3 * sum / STEPS as f64);
        }
        Ok(best)
    }
}
