//! Placement of geometry in the scene.

use glam::{DAffine3, DMat3, DVec3, Vec3, Vec4};

/// Effect of a transform on positions, offsets, normals and tangents.
pub(super) struct Placement {
    affine: DAffine3,
    /// The inverse transpose of the linear part, up to scale.
    normals: DMat3,
    identity: bool,
    pub(super) mirrors: bool,
}

impl Placement {
    pub(super) fn new(affine: DAffine3) -> Self {
        let linear = affine.matrix3;
        let determinant = linear.determinant();
        // The cofactors need no division, so they are also valid for singular transforms.
        let [x, y, z] = [linear.x_axis, linear.y_axis, linear.z_axis];
        let cofactors = DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
        let normals = if determinant < 0.0 { -cofactors } else { cofactors };
        Self { affine, normals, identity: affine == DAffine3::IDENTITY, mirrors: determinant < 0.0 }
    }

    pub(super) fn point(&self, point: Vec3) -> Vec3 {
        if self.identity { point } else { self.affine.transform_point3(point.as_dvec3()).as_vec3() }
    }

    pub(super) fn offset(&self, offset: Vec3) -> Vec3 {
        if self.identity { offset } else { self.affine.transform_vector3(offset.as_dvec3()).as_vec3() }
    }

    pub(super) fn normal(&self, normal: Vec3) -> Vec3 {
        if self.identity {
            return normal;
        }
        let turned = self.normals * normal.as_dvec3();
        turned.try_normalize().map_or(normal, DVec3::as_vec3)
    }

    pub(super) fn normal_offset(&self, normal: Vec3, offset: Vec3) -> Vec3 {
        if self.identity {
            return offset;
        }
        let scale = (self.normals * normal.as_dvec3()).length_recip();
        if scale.is_finite() { (scale * (self.normals * offset.as_dvec3())).as_vec3() } else { offset }
    }

    pub(super) fn tangent(&self, tangent: Vec4) -> Vec4 {
        if self.identity {
            return tangent;
        }
        let turned = self.affine.transform_vector3(tangent.truncate().as_dvec3());
        let sign = if self.mirrors { -tangent.w } else { tangent.w };
        turned.try_normalize().map_or(tangent, |unit| unit.as_vec3().extend(sign))
    }
}
