//! Volume preservation of a motion, with the settings of the volume layer as parameters.

use std::sync::Arc;

use dermis::active::volume::{Effect, MAX_PLAUSIBLE_DRIFT, Mode, VolumeError, VolumeLayer, VolumeOptions, Workspace};
use dermis::evaluate::{self, Motion};
use dermis::mesh::{Clip, Deformer, MeshSequence, Object, SequenceError};

use super::{LiveDeformer, LiveFrame, Parameter, Scalar};

const SWITCH: [&str; 2] = ["off", "on"];
const MODES: [(&str, Mode); 3] =
    [("near joints, exact", Mode::Exact), ("near joints, fast", Mode::Fast), ("whole body", Mode::Global)];
const MODE_NAMES: [&str; 3] = [MODES[0].0, MODES[1].0, MODES[2].0];
const EFFECTS: [&str; 4] = ["as in the file", "plain", "muscle", "folds"];
const STRENGTHS: [f64; 2] = [0.0, 1.0];
const TARGETS: [f64; 2] = [0.5, 2.0];

/// Number of frames whose volume is checked before the correction is offered.
const CHECKED_FRAMES: usize = 16;

/// Preserves the volume of one motion of an object.
#[derive(Debug)]
pub struct VolumeDeformer {
    object: Object,
    clip: Option<Arc<Clip>>,
    motion: MeshSequence,
    /// Options of the file, or the defaults.
    given: VolumeOptions,
    layer: VolumeLayer,
    work: Workspace,
    on: bool,
    mode: usize,
    effect: usize,
    strength: f64,
    target: f64,
    unit: String,
}

impl VolumeDeformer {
    /// Creates the deformer for clip number `clip` of `object` with its layers, or for its recorded frames if it has no
    /// rig; `unit` is the unit of length. The settings are those of the object's last volume layer, which is evaluated
    /// here. Rejects the same inputs as `dermis volume`: an open mesh whose layer does not cap it, and motions whose
    /// extent or volume cannot be that of the rest pose.
    pub fn new(object: &Object, clip: usize, unit: &str) -> Result<Self, String> {
        let mut object = object.clone();
        let last = object.deformers.iter().rposition(|layer| matches!(layer, Deformer::Volume(_)));
        let given = match last.map(|layer| object.deformers.remove(layer)) {
            Some(Deformer::Volume(options)) => VolumeOptions::clone(&options),
            _ => VolumeOptions::default(),
        };
        let motion = evaluate::motion_of_clip(&object, clip).map_err(|error| error.to_string())?;
        evaluate::check_extent(&object, &motion).map_err(|error| error.to_string())?;
        let Motion { sequence: motion, clip, .. } = motion;
        let explained = |error: VolumeError| match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        let layer = VolumeLayer::new(&object, &given).map_err(explained)?;
        check_volumes(&layer, &motion)?;
        let mode = MODES.iter().position(|(_, mode)| *mode == given.mode).unwrap_or(0);
        Ok(Self {
            object,
            clip,
            motion,
            given,
            layer,
            work: Workspace::default(),
            on: true,
            mode,
            effect: 0,
            strength: 1.0,
            target: 1.0,
            unit: unit.to_owned(),
        })
    }

    /// Prepares the layer again; it is unchanged if the settings are invalid.
    fn prepare(&mut self) {
        let mut options = self.given.clone();
        options.mode = MODES[self.mode].1;
        let effect = match self.effect {
            1 => Some(Effect::Plain),
            2 => Some(Effect::Muscle),
            3 => Some(Effect::Folds),
            _ => None,
        };
        options.effects.adjust(effect, self.strength);
        if let Ok(layer) = VolumeLayer::new(&self.object, &options) {
            self.layer = layer;
        }
    }
}

impl LiveDeformer for VolumeDeformer {
    fn parameters(&self) -> Vec<Parameter> {
        let mut all = vec![
            Parameter::choice("on", "Preserve volume", &SWITCH, usize::from(self.on)),
            Parameter::slider("target", "Volume / rest volume", TARGETS, 0.01, self.target),
        ];
        if self.clip.is_some() {
            all.extend([
                Parameter::slider("strength", "Strength at joints", STRENGTHS, 0.05, self.strength),
                Parameter::choice("effect", "Effect", &EFFECTS, self.effect),
                Parameter::choice("mode", "Region", &MODE_NAMES, self.mode),
            ]);
        }
        all
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        let chosen = |count: usize| (value.max(0.0) as usize).min(count - 1);
        match name {
            "on" => self.on = value > 0.5,
            "target" => self.target = value.clamp(TARGETS[0], TARGETS[1]),
            "strength" => self.strength = value.clamp(STRENGTHS[0], STRENGTHS[1]),
            "effect" => self.effect = chosen(EFFECTS.len()),
            "mode" => self.mode = chosen(MODES.len()),
            _ => return false,
        }
        if matches!(name, "strength" | "effect" | "mode") {
            self.prepare();
        }
        true
    }

    fn frame_count(&self) -> usize {
        self.motion.frame_count()
    }

    fn scalar(&self) -> Option<Scalar> {
        Some(Scalar { label: "outward displacement", unit: self.unit.clone(), signed: true, range: None })
    }

    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError> {
        let mut positions = self.motion.frame(frame)?.into_owned();
        let rest = self.layer.rest_volume();
        let before = self.layer.volume_of(&positions) / rest;
        let mut scalars = vec![0.0; positions.len()];
        let target = self.given.target.at(frame as f64 / self.motion.frame_rate_hz()) * self.target;
        if let Some(reason) = rejection(before / target).filter(|_| self.on) {
            return Ok(LiveFrame { positions, scalars, status: reason, ..LiveFrame::default() });
        }
        if self.on {
            let transforms = self.clip.as_ref().map(|clip| clip.transforms(frame));
            self.layer.apply(&mut positions, transforms, target, &mut self.work);
            scalars = self.work.inflation().to_vec();
        }
        let after = self.layer.volume_of(&positions) / rest;
        let percent = |fraction: f64| format!("{:.3} %", 100.0 * fraction);
        let status = format!("volume relative to rest: {} before, {} after", percent(before), percent(after));
        Ok(LiveFrame { positions, scalars, status, ..LiveFrame::default() })
    }
}

/// Rejects a motion with a frame whose volume cannot be that of the rest pose.
fn check_volumes(layer: &VolumeLayer, motion: &MeshSequence) -> Result<(), String> {
    let count = motion.frame_count();
    let checked = count.min(CHECKED_FRAMES);
    for frame in (0..checked).map(|k| k * (count - 1) / (checked - 1).max(1)) {
        let positions = motion.frame(frame).map_err(|error| error.to_string())?;
        if let Some(reason) = rejection(layer.volume_of(&positions) / layer.rest_volume()) {
            return Err(format!("frame {frame}: {reason}"));
        }
    }
    Ok(())
}

/// Reason why a volume, relative to its target, is not corrected.
fn rejection(relative: f64) -> Option<String> {
    let drift = (relative - 1.0).abs();
    let is_plausible = drift <= MAX_PLAUSIBLE_DRIFT;
    (!is_plausible).then(|| {
        let percent = 100.0 * drift;
        format!("not corrected: the volume of the motion differs by {percent:.0} % from that of the rest pose")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis::samples;

    #[test]
    fn preserves_the_volume_of_the_arm_when_enabled() {
        let arm = samples::build("arm").unwrap().objects.remove(0);
        let mut live = VolumeDeformer::new(&arm, 0, "m").unwrap();
        let rest = live.layer.rest_volume();
        let drift = |frame: usize| (live.layer.volume_of(&live.motion.frame(frame).unwrap()) / rest - 1.0).abs();
        let worst = (0..live.frame_count()).max_by(|a, b| drift(*a).total_cmp(&drift(*b))).unwrap();
        let volume_with = |live: &mut VolumeDeformer, settings: &[(&str, f64)]| {
            for (name, value) in settings {
                assert!(live.set(name, *value));
            }
            let posed = live.pose(worst).unwrap();
            live.layer.volume_of(&posed.positions) / rest
        };
        assert!((volume_with(&mut live, &[]) - 1.0).abs() < 1e-6);
        assert!(volume_with(&mut live, &[("on", 0.0)]) < 0.97);
        assert!((volume_with(&mut live, &[("on", 1.0), ("target", 1.2)]) - 1.2).abs() < 1e-6);
        assert!((volume_with(&mut live, &[("target", 1.0), ("effect", 2.0), ("strength", 0.5)]) - 1.0).abs() < 1e-6);
        assert!(!live.set("nonsense", 1.0));
    }
}
