//! Conversion of rigged objects to body models: the bind pose is the template, joints have their bind positions, and
//! there are neither shapes nor pose shapes.

use std::sync::Arc;

use dermis_mesh::Object;

use super::model::{BodyError, BodyJoint, BodyModel, BodyParts, JointPlacement};
use super::motion::{BodyMotion, motion_of_clip};

/// Converts a rigged `object` to a body model, and its clips to motions.
///
/// Weights are normalized. Blend shapes of the object are dropped because they are expressions, not body shapes.
pub fn from_object(object: &Object) -> Result<(BodyModel, Vec<BodyMotion>), BodyError> {
    let rig = object.rig.as_ref().filter(|rig| !rig.joints().is_empty()).ok_or(BodyError::NoJoints)?;
    let max_influences = rig.weights().max_influences().max(1);
    let joint = |joint: &dermis_mesh::Joint| BodyJoint { name: joint.name.clone(), parent: joint.parent };
    let model = BodyModel::new(BodyParts {
        mesh: Arc::clone(&object.mesh),
        joints: rig.joints().iter().map(joint).collect(),
        placement: JointPlacement::Given {
            rest: rig.joints().iter().map(|joint| joint.bind().translation).collect(),
            offsets: Vec::new(),
        },
        weights: rig.weights().normalized(max_influences),
        shapes: Vec::new(),
        pose_shapes: Vec::new(),
    })?;
    let motions = object.clips.iter().map(|clip| motion_of_clip(&model, rig, clip)).collect::<Result<_, _>>()?;
    Ok((model, motions))
}
