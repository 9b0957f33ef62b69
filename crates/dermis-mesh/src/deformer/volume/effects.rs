//! Appearance of the volume correction by joint (Active Geometry, §3.3).
//!
//! Rules match joint names with the wildcards `*` and `?`, ignoring case; the first matching rule applies.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::pattern::fits_pattern;

/// Shape of the displacement that restores the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// An even bulge in the region in which the joint blends its bones.
    #[default]
    Plain,
    /// A bulge on the side that faces along the axis.
    Muscle,
    /// Waves along the bone that fade away from the joint.
    Folds,
}

/// Weights along the axes of the joint's frame: lists of coordinate and weight, with coordinates in joint sizes (see
/// `sigma`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// Along the bone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x: Vec<[f64; 2]>,
    /// Across the bone and the axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub y: Vec<[f64; 2]>,
    /// Along the axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub z: Vec<[f64; 2]>,
}

/// Volume correction near a joint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JointEffect {
    /// Shape of the displacement.
    pub effect: Effect,
    /// Direction of a muscle in the joint's own space. `None`: across the bone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// Proportions of the correction along the bone, across it, and along the axis. `None`: in proportion to the volume
    /// gradient, or mostly along the axis for a muscle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mu: Option<[f64; 3]>,
    /// Fraction of the joint's volume change that is restored near the joint, 0 to 1; the rest is distributed over the
    /// whole body.
    pub strength: f64,
    /// Number of folds per joint size; larger values give finer folds.
    pub omega: f64,
    /// Size of the joint in scene units. `None`: the extent of the region in which its bones blend. Larger values
    /// reach farther.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// Weights from curves instead of the skin weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Weights from a painted attribute instead of the skin weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
}

impl Default for JointEffect {
    fn default() -> Self {
        Self {
            effect: Effect::Plain,
            axis: None,
            mu: None,
            strength: 1.0,
            omega: 2.0,
            sigma: None,
            profile: None,
            attribute: None,
        }
    }
}

/// Error for an invalid rule of the effects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid effects: {0}")]
pub struct EffectsError(pub String);

/// Effects by patterns of joint names; joints that match no pattern have the default effect.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Effects {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Rule {
    joints: String,
    settings: JointEffect,
}

impl Effects {
    /// Appends a rule.
    pub fn push(&mut self, joints: impl Into<String>, settings: JointEffect) -> Result<(), EffectsError> {
        let joints = joints.into();
        settings.check().map_err(|why| EffectsError(format!("'{joints}': {why}")))?;
        self.rules.push(Rule { joints, settings });
        Ok(())
    }

    /// Returns the effect of the joint called `name`.
    pub fn of_joint(&self, name: &str) -> JointEffect {
        self.rules.iter().find(|rule| rule.fits(name)).map(|rule| rule.settings.clone()).unwrap_or_default()
    }

    /// Changes all joints: sets `effect`, if given, and multiplies the strength by `part`, 0 to 1.
    pub fn adjust(&mut self, effect: Option<Effect>, part: f64) {
        // Adds an explicit rule for the joints that match no other rule.
        self.rules.push(Rule { joints: "*".to_owned(), settings: JointEffect::default() });
        for Rule { settings, .. } in &mut self.rules {
            settings.effect = effect.unwrap_or(settings.effect);
            settings.strength *= part.clamp(0.0, 1.0);
        }
    }

    /// Validates rules read from a file.
    pub fn check(&self) -> Result<(), EffectsError> {
        let wrong = |rule: &Rule| Some((rule.joints.clone(), rule.settings.check().err()?));
        match self.rules.iter().find_map(wrong) {
            Some((joints, why)) => Err(EffectsError(format!("'{joints}': {why}"))),
            None => Ok(()),
        }
    }

    /// Returns the patterns that match none of `names`.
    pub fn unused<'a>(&'a self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        let unused = |rule: &&Rule| !names.iter().any(|name| rule.fits(name));
        self.rules.iter().filter(unused).map(|rule| rule.joints.as_str()).collect::<Vec<_>>().into_iter()
    }
}

impl Rule {
    fn fits(&self, name: &str) -> bool {
        fits_pattern(&self.joints.to_lowercase(), &name.to_lowercase())
    }
}

impl JointEffect {
    fn check(&self) -> Result<(), String> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if self.axis.is_some_and(|axis| DVec3::from(axis).try_normalize().is_none()) {
            return Err("invalid axis: it must not be zero".to_owned());
        }
        let sensible =
            |mu: [f64; 3]| mu.iter().all(|part| part.is_finite() && *part >= 0.0) && mu.iter().any(|part| *part > 0.0);
        if self.mu.is_some_and(|mu| !sensible(mu)) {
            return Err("invalid mu: the three values must be non-negative and not all 0".to_owned());
        }
        if !(0.0..=1.0).contains(&self.strength) {
            return Err(format!("invalid strength {}: it must be between 0 and 1", self.strength));
        }
        if !positive(self.omega) || self.sigma.is_some_and(|sigma| !positive(sigma)) {
            return Err("invalid omega or sigma: both must be positive".to_owned());
        }
        let curves = self.profile.iter().flat_map(|profile| [&profile.x, &profile.y, &profile.z]);
        for knots in curves {
            let ascending = knots.windows(2).all(|pair| pair[0][0] < pair[1][0]);
            if !ascending
                || !knots.iter().all(|[position, weight]| position.is_finite() && weight.is_finite() && *weight >= 0.0)
            {
                return Err("invalid profile: positions must be ascending and weights non-negative".to_owned());
            }
        }
        Ok(())
    }
}

impl Profile {
    /// Returns the product of the three curves at `position`, in joint sizes.
    pub fn at(&self, position: DVec3) -> f64 {
        curve(&self.x, position.x) * curve(&self.y, position.y) * curve(&self.z, position.z)
    }
}

/// Curve with slope 0 at its knots, which avoids creases; 1 if there are no knots.
fn curve(knots: &[[f64; 2]], position: f64) -> f64 {
    let after = knots.partition_point(|knot| knot[0] <= position);
    match (knots.get(after.wrapping_sub(1)), knots.get(after)) {
        (Some([start, from]), Some([end, to])) => {
            let t = (position - start) / (end - start);
            from + (to - from) * t * t * (3.0 - 2.0 * t)
        }
        (Some([_, weight]), None) | (None, Some([_, weight])) => *weight,
        (None, None) => 1.0,
    }
}
