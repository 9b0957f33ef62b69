//! Transfer of joint transforms between matched skeletons.

use std::sync::Arc;

use dermis_math::polar::{polar, polar_rotation};
use dermis_math::svd3::svd3;
use dermis_mesh::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_mesh::{Clip, Joint, Rig, RigPose};

/// Deviation of bind transforms, relative to the skeleton, within which two joints have the same bind transform.
const SAME_BIND: f64 = 1e-4;
/// Shear and differences of scales of bind matrices, relative to the scales, that are due to rounding.
const ROUNDING: f64 = 1e-4;
/// Preference for skeletons with the same facing direction, since bind poses differ by some degrees.
const SAME_FACING: f64 = 0.5;

/// Transforms that deform the mesh of `to` as those of the clip deform the mesh of `from`. `sources` are the joints of
/// `from` that move the joints of `to`.
pub(super) fn with_deformations(clip: &Clip, from: &Rig, to: &Rig, sources: &[usize]) -> Vec<DAffine3> {
    let offset = |(joint, &source): (&Joint, &usize)| {
        let other = &from.joints()[source];
        let offset = other.inverse_bind * joint.bind();
        (other.inverse_bind != joint.inverse_bind && offset.is_finite()).then_some(offset)
    };
    let offsets: Vec<Option<DAffine3>> = to.joints().iter().zip(sources).map(offset).collect();
    let frame = |frame: usize| {
        let moved = move |(&source, offset): (&usize, &Option<DAffine3>)| {
            let transform = clip.transforms(frame)[source];
            offset.map_or(transform, |offset| transform * offset)
        };
        sources.iter().zip(&offsets).map(moved)
    };
    (0..clip.frame_count()).flat_map(frame).collect()
}

/// Returns whether all matched joints have the same bind transforms.
pub(super) fn same_binds(from: &Rig, to: &Rig, sources: &[usize]) -> bool {
    let size = to.joints().iter().map(|joint| joint.bind().translation.length()).fold(1e-9, f64::max);
    to.joints().iter().zip(sources).all(|(joint, &source)| {
        let (a, b) = (joint.bind(), from.joints()[source].bind());
        let linear = (a.matrix3 - b.matrix3).to_cols_array().iter().all(|x| x.abs() <= SAME_BIND);
        linear && a.translation.distance(b.translation) <= SAME_BIND * size
    })
}

/// Bind poses of two skeletons and the relation between them.
pub(super) struct Skeletons<'a> {
    target: &'a Rig,
    sources: &'a [Option<usize>],
    /// Bind rotations of the source, inverted.
    from_rotations: Vec<DQuat>,
    from: Arc<Vec<DAffine3>>,
    to: Vec<DAffine3>,
    /// Size of the target relative to the source.
    pub(super) scale: f64,
    /// Rotation Q from the facing of the source to that of the target.
    facing: DQuat,
}

impl<'a> Skeletons<'a> {
    pub(super) fn new(source: &Rig, target: &'a Rig, sources: &'a [Option<usize>]) -> Self {
        let RigPose { transforms: from, .. } = source.bind_pose();
        let to: Vec<DAffine3> = target.bind_pose().transforms.iter().map(|bind| without_rounding(*bind)).collect();
        let pairs: Vec<(DVec3, DVec3)> = sources
            .iter()
            .enumerate()
            .filter_map(|(joint, source)| Some((from[(*source)?].translation, to[joint].translation)))
            .collect();
        let count = pairs.len().max(1) as f64;
        let sum = pairs.iter().fold((DVec3::ZERO, DVec3::ZERO), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let (a, b) = (sum.0 / count, sum.1 / count);
        let (mut spread_from, mut spread_to, mut covariance) = (0.0, 0.0, DMat3::ZERO);
        for (p, q) in &pairs {
            let (p, q) = (*p - a, *q - b);
            spread_from += p.length_squared();
            spread_to += q.length_squared();
            covariance += DMat3::from_cols(q * p.x, q * p.y, q * p.z);
        }
        let scale = (spread_to / spread_from).sqrt();
        let from_rotations = from.iter().map(|bind| rotation(*bind).inverse()).collect();
        let scale = if scale.is_finite() && scale > 0.0 { scale } else { 1.0 };
        Self { target, sources, from_rotations, from, to, scale, facing: axis_rotation(covariance) }
    }

    /// Transforms of the target's joints in all frames of `clip`.
    pub(super) fn transfer(&self, clip: &Clip) -> Vec<DAffine3> {
        let order = self.target.parents_first();
        let topmost: Vec<bool> = (0..self.sources.len()).map(|joint| self.is_topmost(joint)).collect();
        let mut all = Vec::with_capacity(clip.frame_count() * self.sources.len());
        for frame in 0..clip.frame_count() {
            let mut posed = vec![DAffine3::IDENTITY; self.sources.len()];
            for &joint in &order {
                let bind = self.to[joint];
                let from_parent = match self.target.joints()[joint].parent {
                    Some(parent) => posed[parent] * (self.to[parent].inverse() * bind),
                    None => bind,
                };
                posed[joint] = match self.sources[joint] {
                    Some(source) => {
                        self.posed(clip.transforms(frame)[source], source, bind, from_parent, topmost[joint])
                    }
                    None => from_parent,
                };
            }
            all.extend(posed);
        }
        all
    }

    /// `R_to = Q R_from R_from,bind⁻¹ Qᵀ R_to,bind`. The topmost joint has the scaled translation of its source, the
    /// others keep the lengths of their bones.
    fn posed(&self, from: DAffine3, source: usize, bind: DAffine3, from_parent: DAffine3, topmost: bool) -> DAffine3 {
        let rotated = self.facing * rotation(from) * self.from_rotations[source] * self.facing.inverse();
        let translation = if topmost {
            bind.translation + self.scale * (self.facing * (from.translation - self.from[source].translation))
        } else {
            from_parent.translation
        };
        DAffine3::from_mat3_translation(DMat3::from_quat(rotated) * bind.matrix3, translation)
    }

    /// Returns whether no joint above has a match and at least half of the matched joints are below `joint`. If only a
    /// hand has a match, applying the translation of a body to it would detach it.
    fn is_topmost(&self, joint: usize) -> bool {
        let above = |joint: usize| self.target.joints()[joint].parent;
        let path = |joint: usize| std::iter::successors(Some(joint), move |&joint| above(joint));
        let matched = || (0..self.sources.len()).filter(|&joint| self.sources[joint].is_some());
        let below = matched().filter(|&other| path(other).any(|above| above == joint)).count();
        path(joint).skip(1).all(|joint| self.sources[joint].is_none()) && 2 * below >= matched().count()
    }
}

/// The transform without shear and differences of scales that are due to rounding: the bind matrices of files are rounded
/// to f32, and joints that shear could not be written as plain nodes.
fn without_rounding(transform: DAffine3) -> DAffine3 {
    let (rotation, stretch) = polar(transform.matrix3);
    let scales = DVec3::new(stretch.x_axis.x, stretch.y_axis.y, stretch.z_axis.z);
    let size = scales.abs().max_element();
    let is_small = |difference: f64| difference.abs() <= ROUNDING * size;
    let shear = stretch - DMat3::from_diagonal(scales);
    if !shear.to_cols_array().into_iter().all(is_small) {
        return transform;
    }
    let is_uniform = is_small(scales.max_element() - scales.min_element());
    let scales = if is_uniform { DVec3::splat(scales.element_sum() / 3.0) } else { scales };
    DAffine3::from_mat3_translation(rotation * DMat3::from_diagonal(scales), transform.translation)
}

fn rotation(transform: DAffine3) -> DQuat {
    let rotation = DQuat::from_mat3(&polar_rotation(transform.matrix3)).normalize();
    if rotation.is_finite() { rotation } else { DQuat::IDENTITY }
}

/// The rotation between coordinate axes that is nearest to the rotation of a covariance; the identity unless another is
/// clearly nearer.
fn axis_rotation(covariance: DMat3) -> DQuat {
    let mut svd = svd3(covariance);
    if svd.sigma.y <= 1e-6 * svd.sigma.x {
        return DQuat::IDENTITY;
    }
    if svd.u.determinant() * svd.v.determinant() < 0.0 {
        svd.u.z_axis = -svd.u.z_axis;
    }
    let rotation = svd.u * svd.v.transpose();
    let axes = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z];
    let mut best = (f64::NEG_INFINITY, DMat3::IDENTITY);
    for x in axes {
        for y in axes.into_iter().filter(|y| x.dot(*y) == 0.0) {
            let candidate = DMat3::from_cols(x, y, x.cross(y));
            let overlap: f64 = (0..3).map(|axis| candidate.col(axis).dot(rotation.col(axis))).sum();
            let overlap = if candidate == DMat3::IDENTITY { overlap + SAME_FACING } else { overlap };
            if overlap > best.0 {
                best = (overlap, candidate);
            }
        }
    }
    DQuat::from_mat3(&best.1)
}
