//! Body model and motions of `sample:body`.

use dermis_body::{BodyModel, BodyMotion, BodyParts, JointPlacement, PoseShape, from_object};

use super::BodySample;

/// Returns the model and the motions of the sample.
///
/// # Panics
/// Never, because the generated sample is valid.
pub fn body_model() -> (BodyModel, Vec<BodyMotion>) {
    let BodySample { object, shapes, pose_shapes, joint_regressor } = super::body();
    let (bare, motions) = from_object(&object).expect("the sample is rigged");
    let parts = BodyParts {
        mesh: object.mesh,
        joints: bare.joints().to_vec(),
        placement: JointPlacement::Regressed(joint_regressor),
        weights: bare.weights().clone(),
        shapes,
        pose_shapes: pose_shapes.into_iter().map(|(number, offsets)| PoseShape { number, offsets }).collect(),
    };
    (BodyModel::new(parts).expect("the parts of the sample are consistent"), motions)
}
