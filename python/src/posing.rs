//! Models in motion.

use std::collections::BTreeMap;

use dermis::pose_model::PoseOptions;
use dermis::retarget::RetargetOptions;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::exception;
use crate::scene::{Model, scene_of};
use crate::work::run;

#[doc = docs!("pose_model")]
#[pyfunction]
#[pyo3(signature = (model, motion=None, *, mesh=None, clip=None, frames=None, fps=None, base=false, joint_map=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn pose_model(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    motion: Option<&Bound<'_, PyAny>>,
    mesh: Option<String>,
    clip: Option<String>,
    frames: Option<&str>,
    fps: Option<f64>,
    base: bool,
    joint_map: Option<BTreeMap<String, String>>,
) -> PyResult<Model> {
    let scene = scene_of(model)?;
    let motion = motion.map(scene_of).transpose()?;
    let frames = frames.map(str::parse).transpose().map_err(|error: dermis::FrameRangeError| exception(error))?;
    let retarget = RetargetOptions { joint_map: joint_map.unwrap_or_default() };
    let options = PoseOptions { mesh, clip, frames, frame_rate_hz: fps, base, retarget };
    let posed = run(py, None, |_| dermis::pose_model(&scene, motion.as_ref(), &options))?;
    let object = |object: &dermis::pose_model::PosedObject| {
        let clip = object.clip.as_ref();
        json!({
            "name": object.name,
            "points": object.points,
            "joints": object.joints,
            "layers": object.layers,
            "clip": clip.map(|clip| clip.name()),
            "frames": clip.map(|clip| clip.frame_count()),
            "foot_slide": object.foot_slide.as_ref().map(|slide| json!({
                "speed": slide.speed, "source_speed": slide.source_speed, "steps": slide.steps,
            })),
        })
    };
    let objects: Vec<Value> = posed.objects.iter().map(object).collect();
    Ok(Model { scene: posed.scene, metrics: json!({ "objects": objects }), notes: posed.warnings })
}
