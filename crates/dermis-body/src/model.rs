//! The data of a body model, checked once.
//!
//! Paper letter → name: `S̄_μ` → the points of `mesh`; `S_s` → `shapes`; `P_n` → `pose_shapes`; J → `placement`;
//! W → `weights`.
//! Pose shapes that are zero are not stored: those that are know their number n = 9(j − 1) + 3·row + column.

use std::sync::Arc;

use dermis_mesh::{Joint, Rig, RigError, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

/// A joint of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyJoint {
    /// The joint's name; may be empty.
    pub name: String,
    /// The joint that it hangs from.
    pub parent: Option<usize>,
}

/// What says where the joints of a shape stand.
#[derive(Debug, Clone, PartialEq)]
pub enum JointPlacement {
    /// For each joint, points of the shape and their weights (SMPL's `J_regressor`).
    Regressed(Vec<Vec<(u32, f64)>>),
    /// Where they stand in the template, and for each shape how far coefficient 1 moves them; no offsets: not at all.
    Given {
        /// A place per joint.
        rest: Vec<DVec3>,
        /// For each shape an offset per joint, or nothing.
        offsets: Vec<Vec<DVec3>>,
    },
}

/// A pose shape: offsets in proportion to one element of `R(θ_j) − I`.
#[derive(Debug, Clone, PartialEq)]
pub struct PoseShape {
    /// 9(j − 1) + 3·row + column, for joint j ≥ 1.
    pub number: usize,
    /// The offset of each point where that element is 1.
    pub offsets: Vec<Vec3>,
}

impl PoseShape {
    /// The joint whose turn drives it, and the row and column of the element.
    pub fn element(&self) -> (usize, usize, usize) {
        (self.number / 9 + 1, self.number % 9 / 3, self.number % 3)
    }
}

/// All that a body model is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyParts {
    /// The template.
    pub mesh: Arc<TriMesh>,
    /// The joints, in any order.
    pub joints: Vec<BodyJoint>,
    /// Where they stand.
    pub placement: JointPlacement,
    /// Skin weights, a row per point.
    pub weights: SkinWeights,
    /// The ways in which bodies differ.
    pub shapes: Vec<Shape>,
    /// What poses do to the skin.
    pub pose_shapes: Vec<PoseShape>,
}

/// A body model. Always valid: see [`BodyModel::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct BodyModel {
    parts: BodyParts,
    /// Each joint after its parent.
    order: Vec<usize>,
    rest_joints: Vec<DVec3>,
    /// For each shape, how far coefficient 1 moves each joint.
    joint_offsets: Vec<Vec<DVec3>>,
}

/// Why parts do not make a body, or coefficients and angles not a pose of it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// There is nothing to pose by.
    #[error("the body has no joints; it needs a rig")]
    NoJoints,
    /// The joints, weights or shapes do not fit the mesh.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// Two things that must be equally many are not.
    #[error("there are {found} {what}, but there should be {expected}")]
    CountMismatch {
        /// What was counted, in words.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The regressor of a joint names a point that does not exist or has a weight that is not finite.
    #[error("joint {joint} is placed by point {point} with weight {weight}, but there are {count} points")]
    Regressor {
        /// The offending joint.
        joint: usize,
        /// The point that it names.
        point: usize,
        /// Its weight.
        weight: f64,
        /// The number of points.
        count: usize,
    },
    /// A pose shape of an element that no joint has.
    #[error("pose shape {number} belongs to joint {joint}, but there are only {count} joints")]
    PoseShapeOfNoJoint {
        /// Its number.
        number: usize,
        /// The joint that it would belong to.
        joint: usize,
        /// The number of joints.
        count: usize,
    },
    /// A number that must be finite is not.
    #[error("{what} {index} is not finite")]
    NotFinite {
        /// What it is.
        what: &'static str,
        /// Which one.
        index: usize,
    },
    /// More shape coefficients than shapes.
    #[error("there are {found} shape coefficients, but the body has only {shapes} shapes")]
    TooManyCoefficients {
        /// How many were given.
        found: usize,
        /// How many shapes there are.
        shapes: usize,
    },
}

impl BodyModel {
    /// A body of `parts`, which must fit each other.
    pub fn new(parts: BodyParts) -> Result<Self, BodyError> {
        let joint_count = parts.joints.len();
        if joint_count == 0 {
            return Err(BodyError::NoJoints);
        }
        check_placement(&parts)?;
        check_pose_shapes(&parts)?;
        let rest_joints = placed(&parts.placement, |point| parts.mesh.points()[point].as_dvec3());
        if let Some(index) = rest_joints.iter().position(|place| !place.is_finite()) {
            return Err(BodyError::NotFinite { what: "the place of joint", index });
        }
        let order = rig(&parts, &rest_joints, parts.shapes.clone())?.parents_first();
        let joint_offsets = match &parts.placement {
            JointPlacement::Regressed(_) => {
                let of_shape = |shape: &Shape| placed(&parts.placement, |point| shape.offsets[point].as_dvec3());
                parts.shapes.iter().map(of_shape).collect()
            }
            JointPlacement::Given { offsets, .. } if offsets.is_empty() => {
                vec![vec![DVec3::ZERO; joint_count]; parts.shapes.len()]
            }
            JointPlacement::Given { offsets, .. } => offsets.clone(),
        };
        Ok(Self { parts, order, rest_joints, joint_offsets })
    }

    /// The template.
    pub fn mesh(&self) -> &Arc<TriMesh> {
        &self.parts.mesh
    }

    /// The number of points of the skin.
    pub fn point_count(&self) -> usize {
        self.parts.mesh.point_count()
    }

    /// The joints, in the order of weights and poses.
    pub fn joints(&self) -> &[BodyJoint] {
        &self.parts.joints
    }

    /// The joints ordered so that each comes after its parent.
    pub fn parents_first(&self) -> &[usize] {
        &self.order
    }

    /// The joint that carries the body: the first without a parent.
    pub fn root(&self) -> usize {
        self.order[0]
    }

    /// What places the joints.
    pub fn placement(&self) -> &JointPlacement {
        &self.parts.placement
    }

    /// Where the joints of the template stand.
    pub fn rest_joints(&self) -> &[DVec3] {
        &self.rest_joints
    }

    /// For each shape, how far coefficient 1 moves each joint.
    pub fn joint_offsets(&self) -> &[Vec<DVec3>] {
        &self.joint_offsets
    }

    /// The skin weights.
    pub fn weights(&self) -> &SkinWeights {
        &self.parts.weights
    }

    /// The ways in which bodies differ.
    pub fn shapes(&self) -> &[Shape] {
        &self.parts.shapes
    }

    /// The pose shapes that are not zero.
    pub fn pose_shapes(&self) -> &[PoseShape] {
        &self.parts.pose_shapes
    }

    /// The template's rig: joints that stand unrotated, weights, and `shapes`.
    pub fn rig(&self, shapes: Vec<Shape>) -> Result<Rig, BodyError> {
        Ok(rig(&self.parts, &self.rest_joints, shapes)?)
    }
}

/// The joints of a body as those of a rig, standing unrotated at `places`.
pub(super) fn rig(parts: &BodyParts, places: &[DVec3], shapes: Vec<Shape>) -> Result<Rig, RigError> {
    let joint = |(joint, place): (&BodyJoint, &DVec3)| {
        Joint::at(joint.name.clone(), joint.parent, DAffine3::from_translation(*place))
    };
    let joints = parts.joints.iter().zip(places).map(joint).collect();
    Rig::new(&parts.mesh, joints, parts.weights.clone(), shapes)
}

impl BodyModel {
    /// The same joints with only some of the points, in the order given, and no triangles.
    ///
    /// # Panics
    /// If there is no such point.
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

    /// The body of the shape coefficients `betas` as a template of its own, without shapes.
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

    /// The places of the joints, and how shapes move them, as numbers that need no points.
    pub fn given_placement(&self) -> JointPlacement {
        JointPlacement::Given { rest: self.rest_joints.clone(), offsets: self.joint_offsets.clone() }
    }

    /// The same body `factor` times as large.
    pub fn scaled(&self, factor: f64) -> Result<Self, BodyError> {
        let vectors = |all: &[Vec3]| -> Vec<Vec3> { all.iter().map(|v| (v.as_dvec3() * factor).as_vec3()).collect() };
        let places = |all: &[DVec3]| -> Vec<DVec3> { all.iter().map(|place| *place * factor).collect() };
        let mesh = self.mesh().with_points(vectors(self.mesh().points()));
        let mesh = mesh.map_err(|_| BodyError::NotFinite { what: "a point of the body scaled by factor", index: 0 })?;
        let shape = |shape: &Shape| Shape { offsets: vectors(&shape.offsets), ..shape.clone() };
        let pose_shape = |shape: &PoseShape| PoseShape { number: shape.number, offsets: vectors(&shape.offsets) };
        let placement = match self.placement() {
            JointPlacement::Given { rest, offsets } => JointPlacement::Given {
                rest: places(rest),
                offsets: offsets.iter().map(|offsets| places(offsets)).collect(),
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

    /// As [`BodyModel::rig`], for a body whose joints stand at `places`.
    pub(super) fn rig_at(&self, places: &[DVec3]) -> Result<Rig, BodyError> {
        Ok(rig(&self.parts, places, Vec::new())?)
    }
}

/// What the placement makes of a vector per point; joints that are given stand where they are.
fn placed(placement: &JointPlacement, point: impl Fn(usize) -> DVec3) -> Vec<DVec3> {
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
                let is_wrong = |(point, weight): &&(u32, f64)| *point as usize >= count || !weight.is_finite();
                if let Some(&(point, weight)) = row.iter().find(is_wrong) {
                    return Err(BodyError::Regressor { joint, point: point as usize, weight, count });
                }
            }
        }
        JointPlacement::Given { rest, offsets } => {
            expect_count("places of joints", rest.len(), joints)?;
            if !offsets.is_empty() {
                expect_count("shapes of the joints", offsets.len(), parts.shapes.len())?;
            }
            for (index, offsets) in offsets.iter().enumerate() {
                expect_count("offsets of a shape's joints", offsets.len(), joints)?;
                if offsets.iter().any(|offset| !offset.is_finite()) {
                    return Err(BodyError::NotFinite { what: "the joints' part of shape", index });
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
        expect_count("offsets of a pose shape", shape.offsets.len(), parts.mesh.point_count())?;
        if shape.offsets.iter().any(|offset| !offset.is_finite()) {
            return Err(BodyError::NotFinite { what: "pose shape", index: number });
        }
    }
    Ok(())
}

/// Returns an error that names `what` if `found` is not `expected`.
pub fn expect_count(what: &'static str, found: usize, expected: usize) -> Result<(), BodyError> {
    if found == expected { Ok(()) } else { Err(BodyError::CountMismatch { what, found, expected }) }
}
