//! Interaction with a soft body: pulling, poking with a ball, painting.

use serde::Deserialize;

/// Interaction with a soft body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Touch {
    /// Pulls, or releases.
    Pull(Option<Grip>),
    /// Pokes, or removes the ball.
    Poke(Option<Ball>),
    /// Paints the thickness of the simulated layer.
    Paint(Dab),
    /// Discards all painted changes.
    Restore,
    /// Restarts the simulation.
    Reset,
}

/// Point of the surface and the target to which it is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct Grip {
    pub point: usize,
    pub target: [f32; 3],
}

/// Ball that pokes.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct Ball {
    pub center: [f32; 3],
    pub radius: f32,
}

/// Brush dab: a point, a radius on the rest shape, and a target value.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct Dab {
    pub point: usize,
    pub radius: f32,
    pub value: f32,
}
