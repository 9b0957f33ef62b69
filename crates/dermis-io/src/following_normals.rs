//! Normals that follow a moving mesh.
//!
//! A file contains only the normals of the rest pose, but clients need normals for every frame. Let `g` be the
//! area-weighted sum of the faces' normals around a corner, over those faces that share the corner's normal (so that
//! hard edges stay hard). The shortest rotation from `g` at rest to `g` in the frame is applied to the normal: it is
//! unchanged without motion, and keeps its deviation from the face normals.

use std::collections::HashMap;

use dermis_mesh::PolygonMesh;
use glam::{Quat, Vec3};

/// The rest pose, prepared for [`FollowingNormals::of_frame`].
#[derive(Debug)]
pub(crate) struct FollowingNormals {
    normals: Vec<Vec3>,
    /// Groups of faces whose corners share a normal, by index of the normal.
    value_groups: Vec<u32>,
    corner_groups: Vec<u32>,
    rest_directions: Vec<Vec3>,
}

impl FollowingNormals {
    /// `None` if the mesh has no normals.
    pub(crate) fn new(mesh: &PolygonMesh) -> Option<Self> {
        let data = mesh.normals.as_ref()?;
        let mut groups: HashMap<(u32, [u32; 3]), u32> = HashMap::new();
        // Values that no corner uses belong to an additional last group.
        let mut value_groups = vec![u32::MAX; data.values.len()];
        let mut corner_groups = Vec::with_capacity(data.indices.len());
        for (&point, &value) in mesh.polygons.corners.iter().zip(&data.indices) {
            let bits = data.values[value as usize].to_array().map(f32::to_bits);
            let next = groups.len() as u32;
            let group = *groups.entry((point, bits)).or_insert(next);
            value_groups[value as usize] = group;
            corner_groups.push(group);
        }
        let mut following =
            Self { normals: data.values.clone(), value_groups, corner_groups, rest_directions: Vec::new() };
        following.rest_directions = following.directions(mesh, &mesh.points, groups.len());
        Some(following)
    }

    /// The normals, in the order of the mesh's values, when its points are at `points`.
    pub(crate) fn of_frame(&self, mesh: &PolygonMesh, points: &[Vec3]) -> Vec<Vec3> {
        let directions = self.directions(mesh, points, self.rest_directions.len());
        let turned = |(&normal, &group): (&Vec3, &u32)| {
            let ends = self.rest_directions.get(group as usize).zip(directions.get(group as usize));
            match ends {
                Some((&rest, &now)) if rest != now && rest != Vec3::ZERO && now != Vec3::ZERO => {
                    (Quat::from_rotation_arc(rest, now) * normal).normalize_or_zero()
                }
                _ => normal,
            }
        };
        self.normals.iter().zip(&self.value_groups).map(turned).collect()
    }

    fn directions(&self, mesh: &PolygonMesh, points: &[Vec3], groups: usize) -> Vec<Vec3> {
        let mut sums = vec![Vec3::ZERO; groups];
        let mut first = 0;
        for polygon in mesh.polygons.iter() {
            let corner = |k: usize| points[polygon[k] as usize];
            let fan = 1..polygon.len() - 1;
            let area: Vec3 = fan.map(|k| (corner(k) - corner(0)).cross(corner(k + 1) - corner(0))).sum();
            for &group in &self.corner_groups[first..first + polygon.len()] {
                sums[group as usize] += area;
            }
            first += polygon.len();
        }
        sums.into_iter().map(Vec3::normalize_or_zero).collect()
    }
}

#[cfg(test)]
mod tests {
    use dermis_mesh::{CornerData, Polygons};

    use super::*;

    #[test]
    fn normals_rotate_with_their_faces_and_keep_their_deviation() {
        let bent = Vec3::new(0.6, 0.0, 0.8);
        let mesh = PolygonMesh {
            points: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
            polygons: Polygons { sizes: vec![3], corners: vec![0, 1, 2] },
            normals: Some(CornerData { values: vec![Vec3::Z, bent], indices: vec![0, 0, 1] }),
            ..PolygonMesh::default()
        };
        let following = FollowingNormals::new(&mesh).unwrap();
        assert_eq!(following.of_frame(&mesh, &mesh.points), [Vec3::Z, bent]);
        // A rotation by 90° about y maps z to x.
        let rotation = Quat::from_rotation_y(std::f32::consts::FRAC_PI_2);
        let points: Vec<Vec3> = mesh.points.iter().map(|&point| rotation * point).collect();
        let normals = following.of_frame(&mesh, &points);
        assert!(normals[0].distance(Vec3::X) < 1e-6 && normals[1].distance(rotation * bent) < 1e-6, "{normals:?}");
    }
}
