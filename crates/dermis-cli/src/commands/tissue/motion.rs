//! Which motion a body makes, and what acts on it.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use dermis::bodies::read_motions;
use dermis::body::{BodyModel, BodyMotion, BodyPose};
use dermis::find_clip;
use dermis::mesh::{Note, UpAxis};
use dermis::names::{self, Found};
use dermis::tissue::dynamics::{Force, PathKey, Shape, TimedForce};
use dermis::tissue::layered::LayeredBody;

use super::layers::gravity;
use crate::report::Report;

/// The frame rate of a body that only stands.
const STANDING_HZ: f64 = 60.0;

/// What moves the body and what acts on it
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Motion")]
pub(super) struct MotionArgs {
    /// The clip: its name or its number from 0 [default: the first]
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Take the clip from this file: a rig with the same joint names, or an .npz with poses (and trans) as SMPL's
    #[arg(long, value_name = "FILE")]
    motion: Option<String>,
    /// Stand in the rest pose for this long instead
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["clip", "motion"], value_parser = seconds)]
    stand: Option<f64>,
    /// Another shape: NAME=VALUE, or NUMBER=VALUE from 0; may be repeated
    #[arg(long, value_name = "SHAPE=VALUE")]
    shape: Vec<ShapeValue>,
    /// Gravity in m/s²: downwards, or X,Y,Z in any direction [default: 0, since a sculpted shape hangs already]
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    gravity: Option<Gravity>,
    /// Forces over time, a JSON file: pulls, colliders, spinning, gravity
    #[arg(long, value_name = "FILE")]
    forces: Option<PathBuf>,
}

/// A shape coefficient.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShapeValue {
    shape: String,
    value: f64,
}

/// A size downwards, or a vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Gravity {
    Down(f32),
    Along([f32; 3]),
}

impl FromStr for ShapeValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('=').and_then(|(shape, value)| Some((shape, value.parse::<f64>().ok()?)));
        match parsed {
            Some((shape, value)) if value.is_finite() => Ok(Self { shape: shape.trim().to_owned(), value }),
            _ => Err("this is not a shape and a number, such as heavier=1.5".to_owned()),
        }
    }
}

impl FromStr for Gravity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<f32>, _> = text.split(',').map(|part| part.trim().parse::<f32>()).collect();
        match numbers.as_deref() {
            Ok(&[size]) if size.is_finite() => Ok(Self::Down(size)),
            Ok(&[x, y, z]) if x.is_finite() && y.is_finite() && z.is_finite() => Ok(Self::Along([x, y, z])),
            _ => Err("this is neither a number, such as 9.81, nor X,Y,Z".to_owned()),
        }
    }
}

impl MotionArgs {
    /// The motion that is asked for.
    pub(super) fn motion(&self, body: &LayeredBody, notes: &mut Vec<Note>) -> Result<BodyMotion, Report> {
        let parts = body.parts();
        if let Some(seconds) = self.stand {
            return Ok(standing(&parts.body, seconds));
        }
        match &self.motion {
            Some(source) => {
                let named = |report: Report| report.in_file(source.as_str());
                let (motions, said) =
                    read_motions(source, &parts.body, parts.up).map_err(|error| named(Report::from(error)))?;
                notes.extend(said);
                let motion = chosen(&motions, self.clip.as_deref()).map_err(named)?.clone();
                notes.extend(motion.notes.iter().cloned());
                Ok(motion)
            }
            None if parts.motions.is_empty() => Err(Report::new("the body has no clip")
                .hint("give a file that has one with --motion FILE, or let it stand with --stand SECONDS")),
            None => chosen(&parts.motions, self.clip.as_deref()).cloned(),
        }
    }

    /// The shape coefficients that are asked for.
    pub(super) fn betas(&self, model: &BodyModel) -> Result<Vec<f64>, Report> {
        let mut betas = vec![0.0; model.shapes().len()];
        for ShapeValue { shape, value } in &self.shape {
            let known: Vec<&str> = model.shapes().iter().map(|shape| shape.name.as_str()).collect();
            let by_number = shape.parse::<usize>().ok().filter(|&number| number < betas.len());
            let found = match names::find(shape, known.iter().copied()) {
                Found::At(places) => places.first().copied(),
                _ => by_number,
            };
            let Some(index) = found else {
                let report = Report::new(format!("there is no shape called '{shape}'"));
                let listed = if known.is_empty() {
                    "the body has none".to_owned()
                } else {
                    format!("it has: {}", known.join(", "))
                };
                return Err(report.detail(listed));
            };
            betas[index] = *value;
        }
        Ok(betas)
    }

    /// What acts on the body: gravity, and the forces of a file.
    pub(super) fn forces(&self, up: UpAxis) -> Result<Vec<TimedForce>, Report> {
        let mut forces = self.forces.as_deref().map(read_forces).transpose()?.unwrap_or_default();
        let gravity = self.gravity.map(|asked| match asked {
            Gravity::Down(size) => gravity(up, size),
            Gravity::Along(acceleration) => Force::Gravity { acceleration },
        });
        forces.extend(gravity.map(|force| TimedForce { force, from_s: 0.0, until_s: None }));
        Ok(forces)
    }
}

fn read_forces(path: &Path) -> Result<Vec<TimedForce>, Report> {
    let named = |report: Report| report.in_file(path.display().to_string());
    let text = std::fs::read_to_string(path).map_err(|error| named(Report::from(dermis::io::Error::from(error))))?;
    let forces: Vec<TimedForce> = serde_json::from_str(&text).map_err(|error| {
        let report = Report::new("this is not a list of forces").detail(error.to_string());
        named(report.hint("see 'Forces' in docs/tissue.md: [{\"kind\": \"pull\", \"center\": [0, 1, 0.1], …}]"))
    })?;
    match forces.iter().enumerate().find_map(|(index, force)| Some((index, wrong(force)?))) {
        Some((index, what)) => Err(named(Report::new(format!("force {index}, counted from 0: {what}")))),
        None => Ok(forces),
    }
}

/// What makes no sense about a force.
fn wrong(timed: &TimedForce) -> Option<&'static str> {
    let is_size = |size: f32| size.is_finite() && size > 0.0;
    let shape = |shape: &Shape| match shape {
        Shape::Sphere { radius, .. } | Shape::Capsule { radius, .. } if !is_size(*radius) => {
            Some("the radius of its solid must be above 0")
        }
        Shape::Plane { normal, .. } if *normal == [0.0; 3] => Some("the normal of its plane has no direction"),
        _ => None,
    };
    let path = |keys: &[PathKey]| {
        let falls = keys.windows(2).any(|pair| pair[1].time_s < pair[0].time_s);
        falls.then_some("the times of its path must not go back")
    };
    if timed.until_s.is_some_and(|until| until <= timed.from_s) {
        return Some("it ends before it begins");
    }
    match &timed.force {
        Force::Pull(pull) if !is_size(pull.radius) => Some("the radius of a pull must be above 0"),
        Force::Pull(pull) if !is_size(pull.stiffness_n_per_m) => Some("the stiffness of a pull must be above 0"),
        Force::Pull(pull) => path(&pull.path),
        Force::Collider(collider) => shape(&collider.shape).or_else(|| path(&collider.path)),
        _ => None,
    }
}

fn standing(model: &BodyModel, seconds: f64) -> BodyMotion {
    let frames = (seconds * STANDING_HZ).round().max(1.0) as usize;
    BodyMotion {
        name: "standing".to_owned(),
        frame_rate_hz: STANDING_HZ,
        poses: vec![BodyPose::rest(model.joints().len()); frames],
        notes: Vec::new(),
    }
}

/// The motion of a name or number; the first where none is asked for.
fn chosen<'a>(motions: &'a [BodyMotion], wanted: Option<&str>) -> Result<&'a BodyMotion, Report> {
    let names: Vec<&str> = motions.iter().map(|motion| motion.name.as_str()).collect();
    let at = wanted.map_or(Ok(0), |wanted| find_clip(wanted, &names))?;
    motions.get(at).ok_or_else(|| Report::new("there is no clip"))
}

fn seconds(text: &str) -> Result<f64, String> {
    const LONGEST: f64 = 3600.0;
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(seconds),
        _ => Err("this is not a time in seconds, above 0 and at most 3600".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gravity_is_a_size_or_a_vector() {
        assert_eq!("9.81".parse(), Ok(Gravity::Down(9.81)));
        assert_eq!("-1".parse(), Ok(Gravity::Down(-1.0)));
        assert_eq!("0, -9.81,0".parse(), Ok(Gravity::Along([0.0, -9.81, 0.0])));
        assert!("1,2".parse::<Gravity>().is_err());
        assert!("nan".parse::<Gravity>().is_err());
    }

    #[test]
    fn shapes_have_values() {
        assert_eq!("tall=1.5".parse(), Ok(ShapeValue { shape: "tall".into(), value: 1.5 }));
        assert!("tall".parse::<ShapeValue>().is_err());
        assert!("tall=x".parse::<ShapeValue>().is_err());
    }
}
