//! Simulation of layered bodies in motion.

use dermis_body::BodyMotion;
use dermis_mesh::{Object, Scene, Units};
use dermis_tissue::layered::{self, LayeredBody, Recording, SimulateOptions};

use crate::error::Result;
use crate::files::ToScene;

/// Simulates the flesh of a layered body in `motion`. Frames are simulated when they are read or written.
pub fn simulate(body: &LayeredBody, motion: &BodyMotion, options: &SimulateOptions) -> Result<Recording> {
    let mut recording = layered::simulate(body.clone(), motion.clone(), options.clone())?;
    recording.sequence = recording.sequence.named(motion.name.as_str());
    Ok(recording)
}

impl ToScene for Recording {
    fn to_scene(&self) -> Scene {
        let object = Object::of_sequence(self.sequence.name(), self.sequence.clone());
        let units = Units { metres_per_unit: Some(1.0), up_axis: Some(self.up_axis()) };
        Scene { objects: vec![object], units, notes: Vec::new() }
    }
}
