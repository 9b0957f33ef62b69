//! Joints and where they stand.

use dermis_mesh::{Joint, Rig, SkinWeights, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

use super::RiggingError;
use crate::BodyJoint;
use crate::bone::{Bone, bones_between_joints};

/// Joints and where they stand. Always valid: see [`Skeleton::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct Skeleton {
    joints: Vec<BodyJoint>,
    places: Vec<DVec3>,
}

impl Skeleton {
    /// A skeleton of joints that form trees, each with a finite place.
    pub fn new(joints: Vec<BodyJoint>, places: Vec<DVec3>) -> Result<Self, RiggingError> {
        if joints.is_empty() {
            return Err(RiggingError::NoJoints);
        }
        if joints.len() != places.len() {
            return Err(RiggingError::Places { found: places.len(), expected: joints.len() });
        }
        let at = |(joint, place): (&BodyJoint, &DVec3)| {
            Joint::at(joint.name.clone(), joint.parent, DAffine3::from_translation(*place))
        };
        let rig_joints = joints.iter().zip(&places).map(at).collect();
        Rig::new(&TriMesh::default(), rig_joints, SkinWeights::default(), Vec::new())?;
        Ok(Self { joints, places })
    }

    /// The joints of any rig, where they are bound.
    pub fn of_rig(rig: &Rig) -> Result<Self, RiggingError> {
        let joint = |joint: &Joint| BodyJoint { name: joint.name.clone(), parent: joint.parent };
        let places = rig.joints().iter().map(|joint| joint.bind().translation).collect();
        Self::new(rig.joints().iter().map(joint).collect(), places)
    }

    /// The joints.
    pub fn joints(&self) -> &[BodyJoint] {
        &self.joints
    }

    /// Where each joint stands.
    pub fn places(&self) -> &[DVec3] {
        &self.places
    }

    /// Its bones: joints to their children.
    pub fn bones(&self) -> Vec<Bone> {
        let places: Vec<Vec3> = self.places.iter().map(|place| place.as_vec3()).collect();
        bones_between_joints(&places, &self.parents())
    }

    /// The parent of each joint.
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
    fn rejects_circles_missing_places_and_places_that_are_not_finite() {
        let circle = Skeleton::new(vec![joint(Some(1)), joint(Some(0))], vec![DVec3::ZERO; 2]);
        assert!(matches!(circle, Err(RiggingError::Rig(dermis_mesh::RigError::ParentCycle { .. }))));
        let missing = Skeleton::new(vec![joint(None)], vec![]);
        assert_eq!(missing, Err(RiggingError::Places { found: 0, expected: 1 }));
        let nan = Skeleton::new(vec![joint(None)], vec![DVec3::NAN]);
        assert!(matches!(nan, Err(RiggingError::Rig(dermis_mesh::RigError::JointNotFinite { .. }))));
        assert_eq!(Skeleton::new(vec![], vec![]), Err(RiggingError::NoJoints));
    }

    #[test]
    fn takes_the_joints_of_a_rig_where_they_are_bound() {
        let place = DVec3::new(1.0, 2.0, 3.0);
        let turned = DAffine3::from_rotation_translation(glam::DQuat::from_rotation_x(1.0), place);
        let mesh = TriMesh::default();
        let rig = Rig::new(&mesh, vec![Joint::at("root", None, turned)], SkinWeights::default(), Vec::new()).unwrap();
        let skeleton = Skeleton::of_rig(&rig).unwrap();
        assert!(skeleton.places()[0].distance(place) < 1e-12);
        assert_eq!((skeleton.joints()[0].name.as_str(), skeleton.parents()), ("root", vec![None]));
    }
}
