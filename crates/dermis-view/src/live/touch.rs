//! What a hand does to something soft: pulls it, pokes it with a ball, paints it.

use serde::Deserialize;

/// What a hand does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Touch {
    /// Pulls, or lets go.
    Pull(Option<Grip>),
    /// Pokes, or takes the ball away.
    Poke(Option<Ball>),
    /// Paints how thick the simulated layer is.
    Paint(Dab),
    /// Lets all motion begin anew.
    Reset,
}

/// A point of the surface and where it is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
pub struct Grip {
    pub point: usize,
    pub target: [f32; 3],
}

/// A ball that pokes.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
pub struct Ball {
    pub center: [f32; 3],
    pub radius: f32,
}

/// A dab of a brush: around a point, within a radius in the rest shape, towards a value.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
pub struct Dab {
    pub point: usize,
    pub radius: f32,
    pub value: f32,
}
