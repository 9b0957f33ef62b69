//! Options of the motion of a body and the forces on it.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use dermis::bodies::{read_motions, shape_coefficients};
use dermis::body::{BodyModel, BodyMotion};
use dermis::find_clip;
use dermis::mesh::UpAxis;
use dermis::tissue::dynamics::{Force, TimedForce};
use dermis::tissue::layered::{LayeredBody, check_forces, standing};

use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::duration;

/// Motion of the body and forces
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Motion")]
pub(super) struct MotionArgs {
    /// Use this clip: its name, a unique part of its name, or its index from 0 [default: the first]
    #[arg(long, value_name = "CLIP")]
    clip: Option<String>,
    /// Read the clip from this file: a rig with the same joint names, or an .npz file with poses and trans as in SMPL
    #[arg(long, value_name = "FILE")]
    motion: Option<String>,
    /// Hold the rest pose for this many seconds instead of playing a clip
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["clip", "motion"], value_parser = duration)]
    stand: Option<f64>,
    /// Set a shape coefficient: NAME=VALUE, or INDEX=VALUE from 0; repeatable
    #[arg(long, value_name = "SHAPE=VALUE")]
    shape: Vec<ShapeValue>,
    /// Set gravity in m/s²: a number for downward gravity, or a vector X,Y,Z [default: 0, since sculpted shapes already include gravity]
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    gravity: Option<Gravity>,
    /// Read forces over time from this JSON file: pulls, colliders, spin, gravity
    #[arg(long, value_name = "FILE")]
    forces: Option<PathBuf>,
}

/// A shape coefficient.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShapeValue {
    shape: String,
    value: f64,
}

/// Gravity downwards, or along a vector, in m/s².
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
            _ => Err("it must be a shape and a number, such as heavier=1.5".to_owned()),
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
            _ => Err("it must be a number such as 9.81, or X,Y,Z".to_owned()),
        }
    }
}

impl MotionArgs {
    /// The selected motion.
    pub(super) fn motion(&self, body: &LayeredBody, job: &mut Job<'_>) -> Result<BodyMotion, Diagnostic> {
        let parts = body.parts();
        if let Some(seconds) = self.stand {
            return Ok(standing(parts.body.joints().len(), seconds));
        }
        match &self.motion {
            Some(source) => {
                let (motions, notes) = read_motions(source, &parts.body, parts.up).in_file(source)?;
                job.notes.extend(notes);
                chosen(&motions, self.clip.as_deref()).in_file(source)
            }
            None => chosen(&parts.motions, self.clip.as_deref()),
        }
    }

    /// Shape coefficients of the body.
    pub(super) fn betas(&self, model: &BodyModel) -> Result<Vec<f64>, Diagnostic> {
        let values: Vec<_> = self.shape.iter().map(|ShapeValue { shape, value }| (shape.clone(), *value)).collect();
        Ok(shape_coefficients(model, &values)?)
    }

    /// Gravity and the forces of a file.
    pub(super) fn forces(&self, up: UpAxis) -> Result<Vec<TimedForce>, Diagnostic> {
        let mut forces = self.forces.as_deref().map(read_forces).transpose()?.unwrap_or_default();
        let gravity = self.gravity.map(|asked| match asked {
            Gravity::Down(size) => Force::gravity_down(up, size),
            Gravity::Along(acceleration) => Force::Gravity { acceleration },
        });
        forces.extend(gravity.map(|force| TimedForce { force, from_s: 0.0, until_s: None }));
        Ok(forces)
    }
}

fn read_forces(path: &Path) -> Result<Vec<TimedForce>, Diagnostic> {
    let text = std::fs::read_to_string(path).in_file(path.display())?;
    let forces: Vec<TimedForce> = serde_json::from_str(&text).map_err(|error| {
        let diagnostic = Diagnostic::new("invalid file: it must be a list of forces").detail(error.to_string());
        let hint = "see 'Forces' in docs/tissue.md: [{\"kind\": \"pull\", \"center\": [0, 1, 0.1], …}]";
        diagnostic.in_file(path.display()).hint(hint)
    })?;
    check_forces(&forces).in_file(path.display())?;
    Ok(forces)
}

/// The motion with the name or index `wanted`; the first without one.
fn chosen(motions: &[BodyMotion], wanted: Option<&str>) -> Result<BodyMotion, Diagnostic> {
    let names: Vec<&str> = motions.iter().map(|motion| motion.name.as_str()).collect();
    let at = wanted.map_or(Ok(0), |wanted| find_clip(wanted, &names))?;
    motions.get(at).cloned().ok_or_else(|| {
        Diagnostic::new("the body has no clip")
            .hint("specify a file that contains a clip with --motion FILE, or hold the rest pose with --stand SECONDS")
    })
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
