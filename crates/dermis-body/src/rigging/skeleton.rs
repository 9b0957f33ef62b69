//! Joints and their positions.

use dermis_mesh::{Joint, Rig, SkinWeights, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

use super::RiggingError;
use crate::BodyJoint;
use crate::bone::{Bone, bones_between_joints};

/// Joints and their positions. Always valid: see [`Skeleton::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct Skeleton {
    joints: Vec<BodyJoint>,
    positions: Vec<DVec3>,
}

impl Skeleton {
    /// Creates a skeleton. The joint hierarchy must be free of cycles and all positions finite.
    pub fn new(joints: Vec<BodyJoint>, positions: Vec<DVec3>) -> Result<Self, RiggingError> {
        if joints.is_empty() {
            return Err(RiggingError::NoJoints);
        }
        if joints.len() != positions.len() {
            return Err(RiggingError::PositionCount { found: positions.len(), expected: joints.len() });
        }
        let at = |(joint, position): (&BodyJoint, &DVec3)| {
            Joint::at(joint.name.clone(), joint.parent, DAffine3::from_translation(*position))
        };
        let rig_joints = joints.iter().zip(&positions).map(at).collect();
        Rig::new(&TriMesh::default(), rig_joints, SkinWeights::default(), Vec::new())?;
        Ok(Self { joints, positions })
    }

    /// Creates the skeleton of a rig in its bind pose.
    pub fn of_rig(rig: &Rig) -> Result<Self, RiggingError> {
        let joint = |joint: &Joint| BodyJoint { name: joint.name.clone(), parent: joint.parent };
        let positions = rig.joints().iter().map(|joint| joint.bind().translation).collect();
        Self::new(rig.joints().iter().map(joint).collect(), positions)
    }

    /// Joints of the skeleton.
    pub fn joints(&self) -> &[BodyJoint] {
        &self.joints
    }

    /// Position of each joint.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// Bones from joints to their children.
    pub fn bones(&self) -> Vec<Bone> {
        let positions: Vec<Vec3> = self.positions.iter().map(|position| position.as_vec3()).collect();
        bones_between_joints(&positions, &self.parents())
    }

    /// Parent of each joint.
    pub fn parents(&self) -> Vec<Option<usize>> {
        self.joints.iter().map(|joint| joint.parent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joint(parent: Option<usize>) -> BodyJoint {
        BodyJoint { name: "joint".to_owned(), parent }
    }

    #[test]
    fn rejects_cycles_missing_positions_and_non_finite_positions() {
        let cycle = Skeleton::new(vec![joint(Some(1)), joint(Some(0))], vec![DVec3::ZERO; 2]);
        assert!(matches!(cycle, Err(RiggingError::Rig(dermis_mesh::RigError::ParentCycle { .. }))));
        let missing = Skeleton::new(vec![joint(None)], vec![]);
        assert_eq!(missing, Err(RiggingError::PositionCount { found: 0, expected: 1 }));
        let nan = Skeleton::new(vec![joint(None)], vec![DVec3::NAN]);
        assert!(matches!(nan, Err(RiggingError::Rig(dermis_mesh::RigError::JointNotFinite { .. }))));
        assert_eq!(Skeleton::new(vec![], vec![]), Err(RiggingError::NoJoints));
    }

    #[test]
    fn uses_the_bind_positions_of_a_rig() {
        let position = DVec3::new(1.0, 2.0, 3.0);
        let bind = DAffine3::from_rotation_translation(glam::DQuat::from_rotation_x(1.0), position);
        let mesh = TriMesh::default();
        let rig = Rig::new(&mesh, vec![Joint::at("root", None, bind)], SkinWeights::default(), Vec::new()).unwrap();
        let skeleton = Skeleton::of_rig(&rig).unwrap();
        assert!(skeleton.positions()[0].distance(position) < 1e-12);
        assert_eq!((skeleton.joints()[0].name.as_str(), skeleton.parents()), ("root", vec![None]));
    }
}
