//! The pose in which a mesh was edited: the bind pose of the object, or the stored pose that viewers show.

use dermis_mesh::glam::{DMat3, DVec3, Vec3};
use dermis_mesh::surface_tree::SurfaceTree;
use dermis_mesh::{Object, TriMesh};

use super::anchor::Anchor;
use crate::error::{EditError, Result};

/// Determinant of a linear transform below which it has no inverse.
const SINGULAR: f64 = 1e-9;

/// A pose of an object.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    /// The points in this pose.
    pub(super) points: Vec<Vec3>,
    /// Linear part of the transform of each joint from the bind pose; `None` in the bind pose.
    joints: Option<Vec<DMat3>>,
}

impl Reference {
    fn bind(object: &Object) -> Self {
        Self { points: object.mesh.points().to_vec(), joints: None }
    }

    fn stored(object: &Object) -> Option<Self> {
        let rig = object.rig.as_ref()?;
        let pose = rig.stored_pose()?;
        let joints = rig.joints().iter().zip(pose.transforms.iter());
        let joints = joints.map(|(joint, transform)| (*transform * joint.inverse_bind).matrix3).collect();
        Some(Self { points: object.rest_points().into_owned(), joints: Some(joints) })
    }

    /// The pose whose points are nearest to the corresponding `points`.
    pub(super) fn of_points(object: &Object, points: &[Vec3]) -> Self {
        let distance = |reference: &Self| -> f64 {
            reference.points.iter().zip(points).map(|(a, b)| a.as_dvec3().distance(b.as_dvec3())).sum()
        };
        Self::nearest(object, distance)
    }

    /// The pose whose surface is nearest to `mesh`.
    pub(super) fn of_mesh(object: &Object, mesh: &TriMesh) -> Self {
        let distance = |reference: &Self| -> f64 {
            let points: Vec<DVec3> = reference.points.iter().map(|point| point.as_dvec3()).collect();
            let tree = SurfaceTree::new(&points, object.mesh.triangles());
            let nearest = mesh.points().iter().filter_map(|point| tree.nearest(point.as_dvec3()));
            nearest.map(|nearest| nearest.distance).sum()
        };
        Self::nearest(object, distance)
    }

    fn nearest(object: &Object, distance: impl Fn(&Self) -> f64) -> Self {
        let bind = Self::bind(object);
        match Self::stored(object) {
            Some(stored) if distance(&stored) < distance(&bind) => stored,
            _ => bind,
        }
    }

    /// Returns true if this is the stored pose.
    pub(super) fn is_stored(&self) -> bool {
        self.joints.is_some()
    }

    /// Displacement of each of `points` from its anchor, in the local frame of the bind pose.
    pub(super) fn to_bind(&self, object: &Object, points: &[Vec3], anchors: &[Anchor]) -> Result<Vec<DVec3>> {
        let displacement = |(index, (point, anchor)): (usize, (&Vec3, &Anchor))| {
            let displacement = point.as_dvec3() - anchor.vector(&self.points);
            let linear = self.linear(object, anchor);
            if linear.determinant().abs() < SINGULAR {
                return Err(EditError::Flat { object: object.name.clone(), point: index }.into());
            }
            Ok(if self.is_stored() { linear.inverse() * displacement } else { displacement })
        };
        points.iter().zip(anchors).enumerate().map(displacement).collect()
    }

    /// A normal in the bind pose: normals are transformed by the inverse transpose.
    pub(super) fn normal_to_bind(&self, object: &Object, anchor: &Anchor, normal: Vec3) -> Vec3 {
        if !self.is_stored() {
            return normal;
        }
        let moved = self.linear(object, anchor).transpose() * normal.as_dvec3();
        moved.try_normalize().map_or(normal, dermis_mesh::glam::DVec3::as_vec3)
    }

    /// Linear part of the blended transform at an anchor.
    fn linear(&self, object: &Object, anchor: &Anchor) -> DMat3 {
        let (Some(joints), Some(rig)) = (&self.joints, &object.rig) else { return DMat3::IDENTITY };
        if joints.is_empty() {
            return DMat3::IDENTITY;
        }
        let mut sum = DMat3::ZERO;
        for (point, corner_weight) in anchor.parts() {
            for (joint, weight) in rig.weights().row(point) {
                sum += joints[joint as usize] * (corner_weight * f64::from(weight));
            }
        }
        sum
    }
}
