//! Binding of a surface to bones: skin weights from the cones of the shape, and dual quaternion skinning.
//!
//! A point is weighted to the bones of the cones near its surface in proportion to their proximity. The weights are then
//! diffused over the mesh, so that they blend over a few rings of triangles at each joint; the blend is wider in thick
//! parts, which have larger triangles. Limbs that are close in space but distant along the skin do not mix.
//!
//! [`blend_dual`] is dual quaternion skinning (Kavan et al. 2007), which preserves the thickness at joints.

use glam::{DAffine3, DMat3, DQuat, DVec3};
use rayon::prelude::*;

use super::implicit::{Implicit, PruningGrid};
use super::polygonize::Surface;

/// Dense skin weights, one row of `bones` values per point.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    pub(super) bones: usize,
    pub(super) dense: Vec<f64>,
}

impl Weights {
    pub(super) fn row(&self, point: usize) -> &[f64] {
        &self.dense[point * self.bones..(point + 1) * self.bones]
    }

    /// The `max_influences` largest weights of each point, in descending order and normalized.
    pub(super) fn strongest(&self, max_influences: usize) -> Vec<Vec<(u32, f32)>> {
        let strongest = |row: &[f64]| {
            let mut row: Vec<(u32, f64)> = row.iter().enumerate().map(|(bone, w)| (bone as u32, *w)).collect();
            row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            row.truncate(max_influences);
            row.retain(|(_, weight)| *weight > 1e-3);
            let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
            row.into_iter().map(|(bone, weight)| (bone, (weight / sum) as f32)).collect()
        };
        self.dense.chunks_exact(self.bones).map(strongest).collect()
    }
}

/// Weights of `bones` bones for the points of `surface`, diffused over about `√rounds` rings of triangles.
pub(super) fn bind(shape: &Implicit, surface: &Surface, bones: usize, rounds: usize) -> Weights {
    let nearby = PruningGrid::coarse(shape);
    let row = |&point: &DVec3| closeness(nearby.at(point), point, bones);
    let rows: Vec<Vec<f64>> = surface.points.par_iter().map(row).collect();
    let mut weights = Weights { bones, dense: rows.concat() };
    let rings = neighbours(surface);
    for _ in 0..rounds {
        weights.dense = diffused(&weights, &rings);
    }
    weights
}

fn closeness(shape: &Implicit, point: DVec3, bones: usize) -> Vec<f64> {
    let cones = || shape.limbs.iter().flat_map(|limb| limb.cones.iter().map(|cone| (cone, limb.blend)));
    let distances: Vec<f64> = cones().map(|(cone, _)| cone.distance(point).abs()).collect();
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let mut row = vec![0.0; bones];
    for ((cone, blend), distance) in cones().zip(distances) {
        let weight = (1.0 - (distance - nearest) / (0.5 * blend)).max(0.0);
        // Several cones of one bone count once.
        row[cone.bone] = f64::max(row[cone.bone], weight * weight);
    }
    let sum: f64 = row.iter().sum();
    row.into_iter().map(|weight| weight / sum).collect()
}

/// Points connected to each point by an edge.
pub(super) fn neighbours(surface: &Surface) -> Vec<Vec<u32>> {
    let mut rings = vec![Vec::new(); surface.points.len()];
    for &[a, b, c] in &surface.triangles {
        // On a closed manifold each edge occurs once in each direction.
        for (from, to) in [(a, b), (b, c), (c, a)] {
            rings[from as usize].push(to);
        }
    }
    rings
}

fn diffused(weights: &Weights, rings: &[Vec<u32>]) -> Vec<f64> {
    let mut result = weights.dense.clone();
    for (row, ring) in result.chunks_exact_mut(weights.bones).zip(rings) {
        let fraction = 0.5 / ring.len() as f64;
        for (bone, weight) in row.iter_mut().enumerate() {
            let sum: f64 = ring.iter().map(|&other| weights.dense[other as usize * weights.bones + bone]).sum();
            *weight = 0.5 * *weight + fraction * sum;
        }
    }
    result
}

/// Rigid transform as a unit dual quaternion.
#[derive(Debug, Clone, Copy)]
pub(super) struct DualQuat {
    real: DQuat,
    dual: DQuat,
}

impl DualQuat {
    pub(super) fn new(transform: &DAffine3) -> Self {
        let real = DQuat::from_mat3(&transform.matrix3);
        let shift = transform.translation * 0.5;
        Self { real, dual: DQuat::from_xyzw(shift.x, shift.y, shift.z, 0.0) * real }
    }
}

/// Weighted mean of `bones`, as a rotation and a translation.
pub(super) fn blend_dual(bones: &[DualQuat], weights: &[f64]) -> DAffine3 {
    let zero = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    let (mut real, mut dual) = (zero, zero);
    for (bone, &weight) in bones.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        // q and −q are the same rotation: the sign is chosen to agree with the running sum.
        let sign = if real.dot(bone.real) < 0.0 { -weight } else { weight };
        real += bone.real * sign;
        dual += bone.dual * sign;
    }
    let scale = 1.0 / real.length();
    let (real, dual) = (real * scale, dual * scale);
    let shift = dual * real.conjugate();
    DAffine3 { matrix3: DMat3::from_quat(real), translation: 2.0 * DVec3::new(shift.x, shift.y, shift.z) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::rotation_about;

    #[test]
    fn blending_one_bone_yields_its_transform() {
        let transform = DAffine3::from_rotation_translation(rotation_about(DVec3::Y, 2.5), DVec3::new(1.0, -2.0, 0.5));
        let blended = blend_dual(&[DualQuat::new(&transform), DualQuat::new(&DAffine3::IDENTITY)], &[1.0, 0.0]);
        assert!(blended.abs_diff_eq(transform, 1e-12));
    }

    #[test]
    fn blending_two_rotations_about_a_point_yields_the_mean_rotation_about_it() {
        let centre = DVec3::new(0.3, 1.0, 0.0);
        let about = |angle: f64| {
            let rotation = rotation_about(DVec3::Z, angle);
            DAffine3::from_rotation_translation(rotation, centre - rotation * centre)
        };
        let bones = [about(0.0), about(2.0)].map(|transform| DualQuat::new(&transform));
        assert!(blend_dual(&bones, &[0.5, 0.5]).abs_diff_eq(about(1.0), 1e-12));
    }
}
