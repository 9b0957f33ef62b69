//! Export of bones: their motion as nodes of a scene, each with translation, rotation and scale.

mod end_joints;
mod keyframe_refinement;
mod node_motion;
mod node_transform;
mod polar_nodes;
mod rig_nodes;
mod rigid_bones;

use std::sync::Arc;

use dermis_mesh::{Clip, Rig, RigError, TriMesh};

pub use end_joints::{end_joints, with_end_joints, without_end_joints};
pub use node_motion::NodeMotion;
pub use node_transform::NodeTransform;
pub use polar_nodes::{PolarFactors, polar_factors};
pub use rig_nodes::Nodes;
pub use rigid_bones::{RigidBones, rigid_bones};

/// Returns the nodes that play `clips` of `rig`: the rig's hierarchy if its joints do not shear, otherwise three nested
/// nodes per bone with as many keys as the motion of `mesh` between frames requires.
pub fn bone_nodes(mesh: &TriMesh, rig: &Rig, clips: &[Arc<Clip>]) -> Result<Nodes, RigError> {
    keyframe_refinement::refine_keyframes(rig_nodes::node_motions(rig, clips), mesh, rig, clips)
}
