//! Appearance of the volume correction by joint (Active Geometry, §3.3).
//!
//! Rules have patterns with `*` and `?` for joint names, upper and lower case alike; the first that fits applies.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::pattern::fits_pattern;

/// How the volume comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// An even bulge where the joint blends its bones.
    #[default]
    Plain,
    /// A bulge on the side that looks along the axis.
    Muscle,
    /// Waves along the bone that fade away from the joint.
    Folds,
}

/// Weights along the axes of the joint's frame: lists of place and weight, places in joint sizes (see `sigma`).
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

/// What happens near a joint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JointEffect {
    /// How the volume comes back.
    pub effect: Effect,
    /// The direction of a muscle in the joint's own space. `None`: across the bone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// The parts of the correction along the bone, across, and along the axis. `None`: as the surface looks, or mostly
    /// along the axis for a muscle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mu: Option<[f64; 3]>,
    /// The part of the joint's change that comes back here, 0 to 1; the rest goes to the whole body.
    pub strength: f64,
    /// Waves per joint size of folds; larger is finer.
    pub omega: f64,
    /// The size of the joint, in scene units. `None`: as far as its bones blend. Larger reaches farther.
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

/// Reason why a rule of the effects is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid effects: {0}")]
pub struct EffectsError(pub String);

/// Effects by patterns of joint names; joints that no pattern fits have the default effect.
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
    /// Adds a rule after the others.
    pub fn push(&mut self, joints: impl Into<String>, settings: JointEffect) -> Result<(), EffectsError> {
        let joints = joints.into();
        settings.check().map_err(|why| EffectsError(format!("'{joints}': {why}")))?;
        self.rules.push(Rule { joints, settings });
        Ok(())
    }

    /// What happens near the joint called `name`.
    pub fn of_joint(&self, name: &str) -> JointEffect {
        self.rules.iter().find(|rule| rule.fits(name)).map(|rule| rule.settings.clone()).unwrap_or_default()
    }

    /// The same for all joints: another effect, where one is given, and `part` of the strength, 0 to 1.
    pub fn adjust(&mut self, effect: Option<Effect>, part: f64) {
        // Joints that no rule fits have a rule of their own from here on.
        self.rules.push(Rule { joints: "*".to_owned(), settings: JointEffect::default() });
        for Rule { settings, .. } in &mut self.rules {
            settings.effect = effect.unwrap_or(settings.effect);
            settings.strength *= part.clamp(0.0, 1.0);
        }
    }

    /// Checks rules that came from a file.
    pub fn check(&self) -> Result<(), EffectsError> {
        let wrong = |rule: &Rule| Some((rule.joints.clone(), rule.settings.check().err()?));
        match self.rules.iter().find_map(wrong) {
            Some((joints, why)) => Err(EffectsError(format!("'{joints}': {why}"))),
            None => Ok(()),
        }
    }

    /// The patterns that fit none of `names`.
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
            return Err("the axis has no direction".to_owned());
        }
        let sensible =
            |mu: [f64; 3]| mu.iter().all(|part| part.is_finite() && *part >= 0.0) && mu.iter().any(|part| *part > 0.0);
        if self.mu.is_some_and(|mu| !sensible(mu)) {
            return Err("mu must be three parts that are not negative and not all 0".to_owned());
        }
        if !(0.0..=1.0).contains(&self.strength) {
            return Err(format!("a strength of {} is not between 0 and 1", self.strength));
        }
        if !positive(self.omega) || self.sigma.is_some_and(|sigma| !positive(sigma)) {
            return Err("omega and sigma must be positive".to_owned());
        }
        let curves = self.profile.iter().flat_map(|profile| [&profile.x, &profile.y, &profile.z]);
        for knots in curves {
            let ascending = knots.windows(2).all(|pair| pair[0][0] < pair[1][0]);
            if !ascending
                || !knots.iter().all(|[place, weight]| place.is_finite() && weight.is_finite() && *weight >= 0.0)
            {
                return Err("the knots of a profile must ascend and their weights not be negative".to_owned());
            }
        }
        Ok(())
    }
}

impl Profile {
    /// The product of the curves at `place`, in joint sizes.
    pub fn at(&self, place: DVec3) -> f64 {
        curve(&self.x, place.x) * curve(&self.y, place.y) * curve(&self.z, place.z)
    }
}

/// A curve that is level at its knots, so that it leaves no crease; 1 where there are no knots.
fn curve(knots: &[[f64; 2]], place: f64) -> f64 {
    let after = knots.partition_point(|knot| knot[0] <= place);
    match (knots.get(after.wrapping_sub(1)), knots.get(after)) {
        (Some([start, from]), Some([end, to])) => {
            let t = (place - start) / (end - start);
            from + (to - from) * t * t * (3.0 - 2.0 * t)
        }
        (Some([_, weight]), None) | (None, Some([_, weight])) => *weight,
        (None, None) => 1.0,
    }
}
