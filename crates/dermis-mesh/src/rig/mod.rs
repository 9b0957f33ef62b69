//! Rig: joints with parents and a bind pose, skin weights, blend shapes, and the pose that the file stores.

mod skin_weights;

use std::sync::Arc;

use glam::{DAffine3, Vec3};

use crate::tri_mesh::TriMesh;

pub use skin_weights::SkinWeights;

/// Maximum absolute value of a number in a transform, so that products of four such numbers in solvers stay finite.
const MAX_NUMBER: f64 = 1e60;

/// One joint of a [`Rig`].
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// Name of the joint; possibly empty and not necessarily unique.
    pub name: String,
    /// Index of the parent joint.
    pub parent: Option<usize>,
    /// Maps points of the rest mesh to joint space: the inverse of the bind transform.
    ///
    /// Skinning uses the inverse, and files store it. It can be singular in files, which is harmless.
    pub inverse_bind: DAffine3,
}

impl Joint {
    /// Creates a joint with the transform `bind` in the space of the rest mesh.
    pub fn at(name: impl Into<String>, parent: Option<usize>, bind: DAffine3) -> Self {
        Self { name: name.into(), parent, inverse_bind: bind.inverse() }
    }

    /// Bind transform in the space of the rest mesh; not finite if `inverse_bind` is singular.
    pub fn bind(&self) -> DAffine3 {
        self.inverse_bind.inverse()
    }
}

/// A blend shape (morph target): offsets from the rest pose.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shape {
    /// Name of the shape; possibly empty.
    pub name: String,
    /// Offset of each point at weight 1.
    pub offsets: Vec<Vec3>,
    /// Change of each *vertex* normal at weight 1, if the file contains it.
    pub normal_offsets: Option<Vec<Vec3>>,
}

/// Joint transforms and shape weights at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RigPose {
    /// Transform of each joint to scene space. Rigs on one skeleton share the list.
    pub transforms: Arc<Vec<DAffine3>>,
    /// Weight of each shape.
    pub shape_weights: Vec<f32>,
}

/// Joints, the weights that bind the points of a mesh to them, and blend shapes. Without joints, only shapes deform the
/// mesh.
///
/// Rigs on one skeleton have the same list of joints and share it in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rig {
    joints: Arc<Vec<Joint>>,
    weights: SkinWeights,
    shapes: Vec<Shape>,
    /// `None` if it is the bind pose.
    stored_pose: Option<RigPose>,
}

/// Deviation of a joint from its bind pose up to which the stored pose is the bind pose: matrices are rounded to f32,
/// and rotations are stored as quaternions. Translations are compared relative to the extent of the joints.
const SAME_POSE: f64 = 1e-5;

/// Invalid joints, weights, shapes or clip.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RigError {
    /// A joint's parent does not exist.
    #[error("joint {joint} ('{name}') has the parent {parent}, but there are only {count} joints")]
    NoSuchParent {
        /// The offending joint.
        joint: usize,
        /// Its name.
        name: String,
        /// The missing parent.
        parent: usize,
        /// The number of joints.
        count: usize,
    },
    /// The joint hierarchy has a cycle.
    #[error("the joint hierarchy has a cycle at joint {joint} ('{name}')")]
    ParentCycle {
        /// A joint of the cycle.
        joint: usize,
        /// Its name.
        name: String,
    },
    /// The bind transform of a joint is not finite.
    #[error("the transform of joint {joint} ('{name}') is not finite, or larger than 1e60")]
    JointNotFinite {
        /// The offending joint.
        joint: usize,
        /// Its name.
        name: String,
    },
    /// A weight refers to a joint that does not exist.
    #[error("point {point} is bound to joint {joint}, but there are only {count} joints")]
    NoSuchJoint {
        /// The offending point.
        point: usize,
        /// The missing joint.
        joint: usize,
        /// The number of joints.
        count: usize,
    },
    /// A weight is not finite.
    #[error("point {point} has a non-finite weight")]
    WeightNotFinite {
        /// The offending point.
        point: usize,
    },
    /// Two arrays that must have the same length differ in length.
    #[error("expected {expected} {what}, found {found}")]
    CountMismatch {
        /// Description of the counted elements.
        what: &'static str,
        /// Actual number.
        found: usize,
        /// Required number.
        expected: usize,
    },
    /// An offset of a shape is not finite.
    #[error("shape {shape} ('{name}') has a non-finite offset at point {point}")]
    ShapeNotFinite {
        /// The offending shape.
        shape: usize,
        /// Its name.
        name: String,
        /// The offending point.
        point: usize,
    },
    /// A clip has no frames.
    #[error("the clip '{0}' has no frames")]
    NoFrames(String),
    /// The frame rate of a clip is not positive and finite.
    #[error("invalid frame rate {0} fps: it must be positive and finite")]
    FrameRate(f64),
    /// A transform or shape weight of a clip is not finite.
    #[error("clip '{clip}', frame {frame}: {what} {index} is not finite, or larger than 1e60")]
    ClipNotFinite {
        /// Name of the clip.
        clip: String,
        /// The offending frame.
        frame: usize,
        /// `"joint transform"` or `"shape weight"`.
        what: &'static str,
        /// Index of the joint or shape.
        index: usize,
    },
}

impl Rig {
    /// Creates a rig for `mesh`. `weights` must have a row for each point; it can be empty if there are no joints.
    pub fn new(mesh: &TriMesh, joints: Vec<Joint>, weights: SkinWeights, shapes: Vec<Shape>) -> Result<Self, RigError> {
        Self::sharing(mesh, Arc::new(joints), weights, shapes)
    }

    /// Like [`Rig::new`], with joints that other rigs share.
    pub fn sharing(
        mesh: &TriMesh,
        joints: Arc<Vec<Joint>>,
        weights: SkinWeights,
        shapes: Vec<Shape>,
    ) -> Result<Self, RigError> {
        check_joints(&joints)?;
        if !joints.is_empty() {
            expect_length("rows of skin weights", weights.point_count(), mesh.point_count())?;
        }
        weights.check_joints(joints.len())?;
        for (index, shape) in shapes.iter().enumerate() {
            expect_length("offsets of a shape", shape.offsets.len(), mesh.point_count())?;
            if let Some(normals) = &shape.normal_offsets {
                expect_length("normal offsets of a shape", normals.len(), mesh.vertex_count())?;
            }
            if let Some(point) = crate::tri_mesh::first_not_finite(&shape.offsets) {
                return Err(RigError::ShapeNotFinite { shape: index, name: shape.name.clone(), point });
            }
        }
        Ok(Self { joints, weights, shapes, stored_pose: None })
    }

    /// Sets the pose in which the file stores the object; a pose that is the bind pose up to rounding is not kept. Joints at
    /// their bind pose up to rounding get exactly this pose, so that meshes with and without shapes share one skeleton.
    pub fn with_stored_pose(mut self, mut pose: RigPose) -> Result<Self, RigError> {
        expect_length("joint transforms", pose.transforms.len(), self.joints.len())?;
        expect_length("shape weights", pose.shape_weights.len(), self.shapes.len())?;
        let not_finite = |what, index| RigError::ClipNotFinite { clip: "stored pose".into(), frame: 0, what, index };
        if let Some(joint) = pose.transforms.iter().position(|transform| !is_usable(transform)) {
            return Err(not_finite("joint transform", joint));
        }
        if let Some(shape) = pose.shape_weights.iter().position(|weight| !weight.is_finite()) {
            return Err(not_finite("shape weight", shape));
        }
        let is_bound = self.is_bind_pose(&pose.transforms);
        if is_bound {
            pose.transforms = self.bind_pose().transforms;
        }
        let is_shaped = pose.shape_weights.iter().any(|&weight| weight != 0.0);
        self.stored_pose = (!is_bound || is_shaped).then_some(pose);
        Ok(self)
    }

    /// Returns true if joints with `transforms` are in their bind pose up to rounding.
    fn is_bind_pose(&self, transforms: &[DAffine3]) -> bool {
        let extent = transforms.iter().map(|transform| transform.translation.length()).fold(1e-3, f64::max);
        let bound = |(joint, transform): (&Joint, &DAffine3)| {
            let moved = *transform * joint.inverse_bind;
            let linear = (moved.matrix3 - glam::DMat3::IDENTITY).to_cols_array();
            // Compared at the joint itself: a rotation about the origin moves a joint in proportion to its distance.
            let at = moved.transform_point3(joint.bind().translation) - joint.bind().translation;
            linear.iter().all(|number| number.abs() <= SAME_POSE) && at.length() <= SAME_POSE * extent
        };
        self.joints.iter().zip(transforms).all(bound)
    }

    /// The pose in which the file stores the object; `None` if it is the bind pose.
    pub fn stored_pose(&self) -> Option<&RigPose> {
        self.stored_pose.as_ref()
    }

    /// The bind pose, with all shapes at 0. Joints with a singular inverse bind are at the origin.
    pub fn bind_pose(&self) -> RigPose {
        let bind = |joint: &Joint| Some(joint.bind()).filter(DAffine3::is_finite).unwrap_or(DAffine3::IDENTITY);
        RigPose {
            transforms: Arc::new(self.joints.iter().map(bind).collect()),
            shape_weights: vec![0.0; self.shapes.len()],
        }
    }

    /// The pose that a viewer shows when no clip plays: the stored pose, or the bind pose.
    pub fn rest_pose(&self) -> RigPose {
        self.stored_pose.clone().unwrap_or_else(|| self.bind_pose())
    }

    /// Joint that alone moves all points, with weight 1; the mesh is then a rigid part of it.
    pub fn rigid_joint(&self) -> Option<usize> {
        let mut first = None;
        for row in self.weights.rows() {
            let mut row = row.filter(|(_, weight)| *weight != 0.0);
            let (Some((joint, 1.0)), None) = (row.next(), row.next()) else { return None };
            if *first.get_or_insert(joint) != joint {
                return None;
            }
        }
        first.map(|joint| joint as usize)
    }

    /// Joints, in the order used by weights and clips.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// The list of joints, which rigs on one skeleton share.
    pub fn shared_joints(&self) -> &Arc<Vec<Joint>> {
        &self.joints
    }

    /// Returns true if `other` has the same skeleton: joints of the same names and parents with the same stored pose.
    /// The bind poses can differ if the meshes were bound in different poses.
    pub fn has_skeleton_of(&self, other: &Self) -> bool {
        let same_joints = Arc::ptr_eq(&self.joints, &other.joints)
            || self.joints.len() == other.joints.len()
                && self.joints.iter().zip(&*other.joints).all(|(a, b)| a.name == b.name && a.parent == b.parent);
        let transforms = |rig: &Self| match &rig.stored_pose {
            Some(pose) => Arc::clone(&pose.transforms),
            None => rig.bind_pose().transforms,
        };
        same_joints && transforms(self) == transforms(other)
    }

    /// Shares the joints and the stored joint transforms of `other`, which are equal.
    pub(crate) fn share_joints_of(&mut self, other: &Self) {
        self.joints = Arc::clone(&other.joints);
        if let (Some(own), Some(other)) = (&mut self.stored_pose, &other.stored_pose) {
            own.transforms = Arc::clone(&other.transforms);
        }
    }

    /// Skin weights.
    pub fn weights(&self) -> &SkinWeights {
        &self.weights
    }

    /// Blend shapes.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Joint indices, each after its parent; joints of equal depth keep their order.
    pub fn parents_first(&self) -> Vec<usize> {
        const UNKNOWN: usize = usize::MAX;
        let mut depths = vec![UNKNOWN; self.joints.len()];
        for start in 0..self.joints.len() {
            let mut path = Vec::new();
            let mut at = Some(start);
            while let Some(joint) = at.filter(|&joint| depths[joint] == UNKNOWN) {
                path.push(joint);
                at = self.joints[joint].parent;
            }
            let above = at.map_or(0, |known| depths[known] + 1);
            for (below, joint) in path.into_iter().rev().enumerate() {
                depths[joint] = above + below;
            }
        }
        let mut order: Vec<usize> = (0..self.joints.len()).collect();
        order.sort_by_key(|&joint| depths[joint]);
        order
    }
}

/// Returns true if all numbers of a transform are finite and small enough for solvers.
pub(crate) fn is_usable(transform: &DAffine3) -> bool {
    transform.to_cols_array().iter().all(|number| number.abs() <= MAX_NUMBER)
}

fn check_joints(joints: &[Joint]) -> Result<(), RigError> {
    let count = joints.len();
    for (index, joint) in joints.iter().enumerate() {
        if let Some(parent) = joint.parent.filter(|&parent| parent >= count) {
            return Err(RigError::NoSuchParent { joint: index, name: joint.name.clone(), parent, count });
        }
        if !is_usable(&joint.inverse_bind) {
            return Err(RigError::JointNotFinite { joint: index, name: joint.name.clone() });
        }
    }
    // Each traversal stops at joints already checked, so the total time is linear.
    let mut checked = vec![false; count];
    for start in 0..count {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(joint) = at.filter(|&joint| !checked[joint]) {
            if path.len() > count {
                return Err(RigError::ParentCycle { joint, name: joints[joint].name.clone() });
            }
            path.push(joint);
            at = joints[joint].parent;
        }
        for joint in path {
            checked[joint] = true;
        }
    }
    Ok(())
}

pub(crate) fn expect_length(what: &'static str, found: usize, expected: usize) -> Result<(), RigError> {
    if found == expected { Ok(()) } else { Err(RigError::CountMismatch { what, found, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(parents: &[Option<usize>]) -> Vec<Joint> {
        parents.iter().map(|&parent| Joint::at("joint", parent, DAffine3::IDENTITY)).collect()
    }

    fn on_one_joint(inverse_bind: DAffine3, shapes: usize) -> Rig {
        let mesh = TriMesh::new(vec![Vec3::X], vec![]).unwrap();
        let shape = Shape { name: "up".into(), offsets: vec![Vec3::Y], normal_offsets: None };
        let joints = vec![Joint { name: "joint".into(), parent: None, inverse_bind }];
        Rig::new(&mesh, joints, SkinWeights::from_rows([[(0, 1.0)]]), vec![shape; shapes]).unwrap()
    }

    #[test]
    fn the_bind_pose_is_not_kept_as_a_stored_pose() {
        let bind = DAffine3::from_scale_rotation_translation(
            glam::DVec3::splat(0.01),
            glam::DQuat::from_rotation_x(0.3),
            glam::DVec3::new(3.0, 1.0, 200.0),
        );
        let rig = on_one_joint(bind.inverse(), 1);
        let rounded = DAffine3::from_mat4(glam::DMat4::from(bind).as_mat4().as_dmat4());
        let pose = |transform, weight| RigPose { transforms: Arc::new(vec![transform]), shape_weights: vec![weight] };
        assert!(rig.clone().with_stored_pose(pose(rounded, 0.0)).unwrap().stored_pose().is_none());
        let shaped = rig.clone().with_stored_pose(pose(rounded, 0.5)).unwrap();
        assert_eq!(shaped.stored_pose().unwrap().shape_weights, [0.5]);
        assert!(shaped.has_skeleton_of(&rig));
        let moved = DAffine3::from_translation(glam::DVec3::X) * bind;
        let stored = rig.clone().with_stored_pose(pose(moved, 0.0)).unwrap();
        assert_eq!(stored.rest_pose().transforms[0], moved);
        assert!(!stored.has_skeleton_of(&rig) && rig.has_skeleton_of(&rig.clone()));
        let error = rig.with_stored_pose(pose(DAffine3::from_translation(glam::DVec3::NAN), 0.0)).unwrap_err();
        assert!(error.to_string().contains("stored pose"), "{error}");
    }

    #[test]
    fn a_mesh_on_one_joint_is_a_rigid_part() {
        assert_eq!(on_one_joint(DAffine3::IDENTITY, 0).rigid_joint(), Some(0));
        let mesh = TriMesh::new(vec![Vec3::X; 2], vec![]).unwrap();
        let rows = |second: f32| SkinWeights::from_rows([vec![(1, 1.0)], vec![(1, second), (0, 1.0 - second)]]);
        let rig = |second| Rig::new(&mesh, chain(&[None, Some(0)]), rows(second), vec![]).unwrap();
        assert_eq!([rig(1.0).rigid_joint(), rig(0.5).rigid_joint(), rig(0.0).rigid_joint()], [Some(1), None, None]);
    }

    #[test]
    fn rejects_a_cycle_of_joints() {
        let mesh = TriMesh::default();
        let joints = chain(&[None, Some(3), Some(1), Some(2)]);
        let weights = SkinWeights::from_rows(Vec::<Vec<(u32, f32)>>::new());
        assert!(matches!(Rig::new(&mesh, joints, weights, vec![]), Err(RigError::ParentCycle { .. })));
    }

    #[test]
    fn rejects_a_weight_on_a_missing_joint() {
        let mesh = TriMesh::new(vec![Vec3::ZERO; 2], vec![]).unwrap();
        let weights = SkinWeights::from_rows([[(0, 1.0)], [(5, 1.0)]]);
        let error = Rig::new(&mesh, chain(&[None]), weights, vec![]).unwrap_err();
        assert_eq!(error, RigError::NoSuchJoint { point: 1, joint: 5, count: 1 });
    }

    #[test]
    fn rejects_non_finite_weights_and_offsets() {
        let mesh = TriMesh::new(vec![Vec3::ZERO], vec![]).unwrap();
        let nan = SkinWeights::from_rows([[(0, f32::NAN)]]);
        assert_eq!(Rig::new(&mesh, chain(&[None]), nan, vec![]), Err(RigError::WeightNotFinite { point: 0 }));
        let shape = Shape { name: "smile".into(), offsets: vec![Vec3::INFINITY], normal_offsets: None };
        let error = Rig::new(&mesh, vec![], SkinWeights::default(), vec![shape]).unwrap_err();
        assert_eq!(error.to_string(), "shape 0 ('smile') has a non-finite offset at point 0");
    }

    #[test]
    fn parents_precede_their_children() {
        let mesh = TriMesh::default();
        let joints = chain(&[Some(2), Some(0), None]);
        let weights = SkinWeights::from_rows(Vec::<Vec<(u32, f32)>>::new());
        assert_eq!(Rig::new(&mesh, joints, weights, vec![]).unwrap().parents_first(), [2, 0, 1]);
    }
}
