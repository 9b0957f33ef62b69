//! Wrinkles of compressed cloth on a refined surface, with the settings of the wrinkle layer as parameters.
//!
//! Curves are tracked from frame to frame by [`Follower`].

use std::sync::Arc;

use dermis::active::wrinkle::{Curves, Follower, RestShape, Samples, WrinkleLayer, WrinkleOptions};
use dermis::evaluate;
use dermis::mesh::glam::Vec3;
use dermis::mesh::{MeshSequence, Object, SequenceError, TriMesh};

use super::{LiveDeformer, LiveFrame, Parameter, Scalar};

const SWITCH: [&str; 2] = ["off", "on"];
/// Maximum number of triangles of the refined surface.
const MAX_TRIANGLES: usize = 100_000;
const MAX_LEVELS: u32 = 3;
const STRENGTHS: [f64; 2] = [0.0, 2.0];
const THRESHOLDS: [f64; 2] = [0.0, 0.1];

/// Adds wrinkles to the motion of an object.
#[derive(Debug)]
pub struct WrinkleDeformer {
    motion: MeshSequence,
    options: WrinkleOptions,
    /// Default of the minimum radius for this mesh.
    default_radius: f32,
    layer: WrinkleLayer,
    fine: Arc<TriMesh>,
    samples: Samples,
    follower: Follower,
    on: bool,
    /// Factor of the heights of the folds.
    strength: f32,
    shows_curves: bool,
}

impl WrinkleDeformer {
    /// Creates the deformer for clip number `clip` of `object` with its layers, or for its recorded frames if it has
    /// no rig.
    pub fn new(object: &Object, clip: usize) -> Result<Self, String> {
        let motion = evaluate::motion_of_clip(object, clip).map_err(|error| error.to_string())?.sequence;
        let options = WrinkleOptions::default();
        let mesh = motion.mesh();
        let layer = WrinkleLayer::new(mesh, RestShape::Pose, &options).map_err(|error| error.to_string())?;
        let everywhere = vec![true; mesh.triangle_count()];
        let refined =
            layer.refine(mesh, &everywhere, levels(mesh.triangle_count())).map_err(|error| error.to_string())?;
        let samples = layer.samples(refined.locations);
        Ok(Self {
            motion,
            options,
            default_radius: layer.min_radius(),
            fine: Arc::new(refined.mesh),
            samples,
            follower: Follower::new(&layer),
            layer,
            on: true,
            strength: 1.0,
            shows_curves: true,
        })
    }

    /// Prepares the layer again; it is unchanged if the settings are invalid.
    fn prepare(&mut self) {
        if let Ok(layer) = WrinkleLayer::new(self.motion.mesh(), RestShape::Pose, &self.options) {
            self.layer = layer;
            self.samples = self.layer.samples(self.samples.locations().to_vec());
            self.follower = Follower::new(&self.layer);
        }
    }
}

impl LiveDeformer for WrinkleDeformer {
    fn parameters(&self) -> Vec<Parameter> {
        let usual = f64::from(self.default_radius);
        let radius = f64::from(self.layer.min_radius());
        vec![
            Parameter::choice("on", "Wrinkles", &SWITCH, usize::from(self.on)),
            Parameter::choice("curves", "Curves", &SWITCH, usize::from(self.shows_curves)),
            Parameter::slider("min_radius", "Minimum radius", [0.25 * usual, 4.0 * usual], 0.05 * usual, radius),
            Parameter::slider("strength", "Strength", STRENGTHS, 0.05, f64::from(self.strength)),
            Parameter::slider("threshold", "Threshold", THRESHOLDS, 0.001, f64::from(self.options.threshold)),
        ]
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        let within = |[low, high]: [f64; 2]| value.clamp(low, high) as f32;
        let usual = f64::from(self.default_radius);
        match name {
            "on" => self.on = value > 0.5,
            "curves" => self.shows_curves = value > 0.5,
            "min_radius" => self.options.min_radius = Some(within([0.25 * usual, 4.0 * usual])),
            "strength" => self.strength = within(STRENGTHS),
            "threshold" => self.options.threshold = within(THRESHOLDS),
            _ => return false,
        }
        if matches!(name, "min_radius" | "threshold") {
            self.prepare();
        }
        true
    }

    fn frame_count(&self) -> usize {
        self.motion.frame_count()
    }

    fn surface(&self) -> Option<Arc<TriMesh>> {
        Some(Arc::clone(&self.fine))
    }

    fn scalar(&self) -> Option<Scalar> {
        Some(Scalar { label: "compression", unit: String::new(), signed: false, range: None })
    }

    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError> {
        let fine = self.fine.triangles();
        let (cloth, mut curves) = self.follower.fit(&self.layer, &self.motion, frame, &self.samples, fine)?;
        curves.amplitude *= if self.on { self.strength } else { 0.0 };
        let positions = self.layer.apply(&cloth, &curves, &self.samples).positions;
        let triangles = self.motion.mesh().triangles();
        let scalars =
            self.samples.locations().iter().map(|location| location.blend(triangles, &curves.compression)).collect();
        let segments = if self.on && self.shows_curves { self.segments(&cloth, &curves) } else { Vec::new() };
        let status = format!(
            "area lost: {:.2} % before, {:.2} % after; {} curves",
            100.0 * self.layer.area_lost(&cloth, triangles),
            100.0 * self.layer.area_lost(&positions, fine),
            if self.on { curves.lines.len() } else { 0 },
        );
        Ok(LiveFrame { positions, scalars, segments, status })
    }
}

impl WrinkleDeformer {
    fn segments(&self, cloth: &[Vec3], curves: &Curves) -> Vec<[Vec3; 2]> {
        let lines = self.layer.polylines(cloth, curves);
        lines.iter().flat_map(|line| line.windows(2).map(|ends| [ends[0], ends[1]])).collect()
    }
}

/// Number of refinement levels for a mesh with the given number of triangles.
fn levels(triangles: usize) -> u32 {
    (1..=MAX_LEVELS).take_while(|level| triangles << (2 * level) <= MAX_TRIANGLES).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis::samples;

    #[test]
    fn wrinkles_the_towel_when_enabled() {
        let towel = samples::build("towel").unwrap().objects.remove(0);
        let mut live = WrinkleDeformer::new(&towel, 0).unwrap();
        let last = live.frame_count() - 1;
        let folded = live.pose(last).unwrap();
        assert_eq!(folded.positions.len(), live.surface().unwrap().point_count());
        assert!(!folded.segments.is_empty());
        assert!(folded.scalars.iter().any(|&compression| compression > 0.0));
        assert!(live.set("on", 0.0) && live.set("curves", 0.0));
        let plain = live.pose(last).unwrap();
        assert!(plain.segments.is_empty());
        assert_ne!(plain.positions, folded.positions);
    }

    #[test]
    fn does_not_refine_fine_cloth() {
        assert_eq!([10, 5_000, 30_000, 200_000].map(levels), [3, 2, 0, 0]);
    }
}
