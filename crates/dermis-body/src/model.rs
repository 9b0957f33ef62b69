//! Validated data of a body model.
//!
//! Notation of the paper: `S̄_μ` are the points of `mesh`, `S_s` is `shapes`, `P_n` is `pose_shapes`, J is `placement`,
//! and W is `weights`. Pose shapes that are zero are not stored; each stored one has its number n = 9(j − 1) + 3·row +
//! column.

use std::sync::Arc;

use dermis_mesh::{Joint, Rig, RigError, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

/// A joint of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyJoint {
    /// Name of the joint; can be empty.
    pub name: String,
    /// Index of the parent joint.
    pub parent: Option<usize>,
}

/// Positions of the joints as a function of the shape.
#[derive(Debug, Clone, PartialEq)]
pub enum JointPlacement {
    /// Linear regression from the points of the shape: indices and weights for each joint (SMPL's `J_regressor`).
    Regressed(Vec<Vec<(u32, f64)>>),
    /// Given positions in the template, with offsets per shape.
    Given {
        /// Position of each joint in the template.
        rest: Vec<DVec3>,
        /// For each shape, the offset of each joint at coefficient 1. If empty, shapes do not move joints.
        offsets: Vec<Vec<DVec3>>,
    },
}

/// A pose shape: offsets proportional to one element of `R(θ_j) − I`.
#[derive(Debug, Clone, PartialEq)]
pub struct PoseShape {
    /// Number 9(j − 1) + 3·row + column, for joint j ≥ 1.
    pub number: usize,
    /// Offset of each point if the element is 1.
    pub offsets: Vec<Vec3>,
}

impl PoseShape {
    /// Joint whose rotation drives the pose shape, and row and column of the element.
    pub fn element(&self) -> (usize, usize, usize) {
        (self.number / 9 + 1, self.number % 9 / 3, self.number % 3)
    }
}

/// Data of a body model.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyParts {
    /// Template mesh.
    pub mesh: Arc<TriMesh>,
    /// Joints, in any order.
    pub joints: Vec<BodyJoint>,
    /// Positions of the joints.
    pub placement: JointPlacement,
    /// Skin weights, one row per point.
    pub weights: SkinWeights,
    /// Blend shapes of the body shape.
    pub shapes: Vec<Shape>,
    /// Pose blend shapes.
    pub pose_shapes: Vec<PoseShape>,
}

/// A body model. Always valid: see [`BodyModel::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct BodyModel {
    parts: BodyParts,
    /// Joint indices, parents before children.
    order: Vec<usize>,
    rest_joints: Vec<DVec3>,
    /// For each shape, the offset of each joint at coefficient 1.
    joint_offsets: Vec<Vec<DVec3>>,
}

/// Error of invalid parts, shape coefficients or poses.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The body has no joints.
    #[error("the body has no joints; a rig is required")]
    NoJoints,
    /// The joints, weights or shapes are invalid for the mesh.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// A count differs from the expected one.
    #[error("expected {expected} {what}, found {found}")]
    CountMismatch {
        /// Description of the counted items.
        what: &'static str,
        /// Actual count.
        found: usize,
        /// Expected count.
        expected: usize,
    },
    /// A regressor entry has a point index out of range or a weight that is not finite.
    #[error("invalid regressor of joint {joint}: point {point} with weight {weight}; there are {count} points")]
    Regressor {
        /// Joint of the invalid entry.
        joint: usize,
        /// Point index of the entry.
        point: usize,
        /// Weight of the entry.
        weight: f64,
        /// Number of points.
        count: usize,
    },
    /// A pose shape belongs to a joint that does not exist.
    #[error("invalid pose shape {number}: it belongs to joint {joint}, but there are {count} joints")]
    PoseShapeOfNoJoint {
        /// Number of the pose shape.
        number: usize,
        /// Joint that the number refers to.
        joint: usize,
        /// Number of joints.
        count: usize,
    },
    /// A value is not finite.
    #[error("{what} {index} is not finite")]
    NotFinite {
        /// Description of the value.
        what: &'static str,
        /// Index of the value.
        index: usize,
    },
    /// There are more shape coefficients than shapes.
    #[error("too many shape coefficients, {found}: the body has {shapes} shapes")]
    TooManyCoefficients {
        /// Number of coefficients.
        found: usize,
        /// Number of shapes.
        shapes: usize,
    },
}

impl BodyModel {
    /// Creates a body from `parts`, which must be consistent.
    pub fn new(parts: BodyParts) -> Result<Self, BodyError> {
        let joint_count = parts.joints.len();
        if joint_count == 0 {
            return Err(BodyError::NoJoints);
        }
        check_placement(&parts)?;
        check_pose_shapes(&parts)?;
        let rest_joints = joint_vectors(&parts.placement, |point| parts.mesh.points()[point].as_dvec3());
        if let Some(index) = rest_joints.iter().position(|position| !position.is_finite()) {
            return Err(BodyError::NotFinite { what: "the position of joint", index });
        }
        let order = rig(&parts, &rest_joints, parts.shapes.clone())?.parents_first();
        let joint_offsets = match &parts.placement {
            JointPlacement::Regressed(_) => {
                let of_shape = |shape: &Shape| joint_vectors(&parts.placement, |point| shape.offsets[point].as_dvec3());
                parts.shapes.iter().map(of_shape).collect()
            }
            JointPlacement::Given { offsets, .. } if offsets.is_empty() => {
                vec![vec![DVec3::ZERO; joint_count]; parts.shapes.len()]
            }
            JointPlacement::Given { offsets, .. } => offsets.clone(),
        };
        Ok(Self { parts, order, rest_joints, joint_offsets })
    }

    /// Template mesh.
    pub fn mesh(&self) -> &Arc<TriMesh> {
        &self.parts.mesh
    }

    /// Number of points of the skin.
    pub fn point_count(&self) -> usize {
        self.parts.mesh.point_count()
    }

    /// Joints, in the order of weights and poses.
    pub fn joints(&self) -> &[BodyJoint] {
        &self.parts.joints
    }

    /// Joint indices, parents before children.
    pub fn parents_first(&self) -> &[usize] {
        &self.order
    }

    /// Root joint: the first without a parent.
    pub fn root(&self) -> usize {
        self.order[0]
    }

    /// Placement of the joints.
    pub fn placement(&self) -> &JointPlacement {
        &self.parts.placement
    }

    /// Positions of the joints of the template.
    pub fn rest_joints(&self) -> &[DVec3] {
        &self.rest_joints
    }

    /// For each shape, the offset of each joint at coefficient 1.
    pub fn joint_offsets(&self) -> &[Vec<DVec3>] {
        &self.joint_offsets
    }

    /// Skin weights.
    pub fn weights(&self) -> &SkinWeights {
        &self.parts.weights
    }

    /// Blend shapes of the body shape.
    pub fn shapes(&self) -> &[Shape] {
        &self.parts.shapes
    }

    /// Pose shapes that are not zero.
    pub fn pose_shapes(&self) -> &[PoseShape] {
        &self.parts.pose_shapes
    }

    /// Creates the rig of the template: unrotated joints, weights and `shapes`.
    pub fn rig(&self, shapes: Vec<Shape>) -> Result<Rig, BodyError> {
        Ok(rig(&self.parts, &self.rest_joints, shapes)?)
    }
}

/// Rig with the joints of a body, unrotated at `positions`.
pub(super) fn rig(parts: &BodyParts, positions: &[DVec3], shapes: Vec<Shape>) -> Result<Rig, RigError> {
    let joint = |(joint, position): (&BodyJoint, &DVec3)| {
        Joint::at(joint.name.clone(), joint.parent, DAffine3::from_translation(*position))
    };
    let joints = parts.joints.iter().zip(positions).map(joint).collect();
    Rig::new(&parts.mesh, joints, parts.weights.clone(), shapes)
}

impl BodyModel {
    /// Creates a body with a subset of the points, in the given order, the same joints and no triangles.
    ///
    /// # Panics
    /// If a point index is out of range.
    pub fn of_points(&self, points: &[u32]) -> Self {
        let pick = |all: &[Vec3]| -> Vec<Vec3> { points.iter().map(|&point| all[point as usize]).collect() };
        let mesh = TriMesh::new(pick(self.mesh().points()), Vec::new()).expect("points of a valid mesh");
        let shape = |shape: &Shape| Shape { offsets: pick(&shape.offsets), normal_offsets: None, ..shape.clone() };
        let pose_shape = |shape: &PoseShape| PoseShape { number: shape.number, offsets: pick(&shape.offsets) };
        Self::new(BodyParts {
            mesh: Arc::new(mesh),
            joints: self.joints().to_vec(),
            placement: self.given_placement(),
            weights: SkinWeights::from_rows(points.iter().map(|&point| self.weights().row(point as usize))),
            shapes: self.shapes().iter().map(shape).collect(),
            pose_shapes: self.pose_shapes().iter().map(pose_shape).collect(),
        })
        .expect("a part of a valid body is valid")
    }

    /// Creates a body without shapes whose template has the shape coefficients `betas`.
    pub fn fixed_shape(&self, betas: &[f64]) -> Result<Self, BodyError> {
        let shaped = self.shaped(betas)?;
        let points = shaped.points().iter().map(|point| point.as_vec3()).collect();
        let mesh = self.mesh().with_points(points).map_err(|_| BodyError::NotFinite { what: "shape", index: 0 })?;
        Self::new(BodyParts {
            mesh: Arc::new(mesh),
            joints: self.joints().to_vec(),
            placement: JointPlacement::Given { rest: shaped.joints().to_vec(), offsets: Vec::new() },
            weights: self.weights().clone(),
            shapes: Vec::new(),
            pose_shapes: self.pose_shapes().to_vec(),
        })
    }

    /// Placement of the joints as positions and offsets that do not depend on the points.
    pub fn given_placement(&self) -> JointPlacement {
        JointPlacement::Given { rest: self.rest_joints.clone(), offsets: self.joint_offsets.clone() }
    }

    /// Creates a body scaled by `factor`.
    pub fn scaled(&self, factor: f64) -> Result<Self, BodyError> {
        let vectors = |all: &[Vec3]| -> Vec<Vec3> { all.iter().map(|v| (v.as_dvec3() * factor).as_vec3()).collect() };
        let positions = |all: &[DVec3]| -> Vec<DVec3> { all.iter().map(|position| *position * factor).collect() };
        let mesh = self.mesh().with_points(vectors(self.mesh().points()));
        let mesh = mesh.map_err(|_| BodyError::NotFinite { what: "point of the scaled body", index: 0 })?;
        let shape = |shape: &Shape| Shape { offsets: vectors(&shape.offsets), ..shape.clone() };
        let pose_shape = |shape: &PoseShape| PoseShape { number: shape.number, offsets: vectors(&shape.offsets) };
        let placement = match self.placement() {
            JointPlacement::Given { rest, offsets } => JointPlacement::Given {
                rest: positions(rest),
                offsets: offsets.iter().map(|offsets| positions(offsets)).collect(),
            },
            regressed @ JointPlacement::Regressed(_) => regressed.clone(),
        };
        Self::new(BodyParts {
            mesh: Arc::new(mesh),
            joints: self.joints().to_vec(),
            placement,
            weights: self.weights().clone(),
            shapes: self.shapes().iter().map(shape).collect(),
            pose_shapes: self.pose_shapes().iter().map(pose_shape).collect(),
        })
    }

    /// Creates the rig of a body with joints at `positions`, without shapes.
    pub(super) fn rig_at(&self, positions: &[DVec3]) -> Result<Rig, BodyError> {
        Ok(rig(&self.parts, positions, Vec::new())?)
    }
}

/// Joint vectors regressed from a vector per point; given positions are returned unchanged.
fn joint_vectors(placement: &JointPlacement, point: impl Fn(usize) -> DVec3) -> Vec<DVec3> {
    match placement {
        JointPlacement::Regressed(rows) => {
            rows.iter().map(|row| row.iter().map(|&(index, weight)| weight * point(index as usize)).sum()).collect()
        }
        JointPlacement::Given { rest, .. } => rest.clone(),
    }
}

fn check_placement(parts: &BodyParts) -> Result<(), BodyError> {
    let (joints, count) = (parts.joints.len(), parts.mesh.point_count());
    match &parts.placement {
        JointPlacement::Regressed(rows) => {
            expect_count("rows of the joint regressor", rows.len(), joints)?;
            for (joint, row) in rows.iter().enumerate() {
                let is_invalid = |(point, weight): &&(u32, f64)| *point as usize >= count || !weight.is_finite();
                if let Some(&(point, weight)) = row.iter().find(is_invalid) {
                    return Err(BodyError::Regressor { joint, point: point as usize, weight, count });
                }
            }
        }
        JointPlacement::Given { rest, offsets } => {
            expect_count("joint positions", rest.len(), joints)?;
            if !offsets.is_empty() {
                expect_count("joint offset tables", offsets.len(), parts.shapes.len())?;
            }
            for (index, offsets) in offsets.iter().enumerate() {
                expect_count("joint offsets per shape", offsets.len(), joints)?;
                if offsets.iter().any(|offset| !offset.is_finite()) {
                    return Err(BodyError::NotFinite { what: "a joint offset of shape", index });
                }
            }
        }
    }
    Ok(())
}

fn check_pose_shapes(parts: &BodyParts) -> Result<(), BodyError> {
    for shape in &parts.pose_shapes {
        let (joint, ..) = shape.element();
        let (number, count) = (shape.number, parts.joints.len());
        if joint >= count {
            return Err(BodyError::PoseShapeOfNoJoint { number, joint, count });
        }
        expect_count("offsets per pose shape", shape.offsets.len(), parts.mesh.point_count())?;
        if shape.offsets.iter().any(|offset| !offset.is_finite()) {
            return Err(BodyError::NotFinite { what: "pose shape", index: number });
        }
    }
    Ok(())
}

/// Returns an error with the description `what` if `found` differs from `expected`.
pub fn expect_count(what: &'static str, found: usize, expected: usize) -> Result<(), BodyError> {
    if found == expected { Ok(()) } else { Err(BodyError::CountMismatch { what, found, expected }) }
}
