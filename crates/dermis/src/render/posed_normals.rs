//! Normals of a deformed mesh that keep the creases of the file.
//!
//! Vertices of one point that have the same normal in the file form a group. The angle-weighted normal of a group uses
//! only its own triangles, so creases stay creases and flat triangles stay flat. The normal of the file is rotated by
//! the rotation of the computed normal of its group since the rest pose, so it is exact in the rest pose.

use std::collections::HashMap;

use dermis_mesh::TriMesh;
use dermis_mesh::geometry::point_normals;
use dermis_mesh::glam::{Quat, Vec3};

use super::options::Normals;

/// Groups of vertices with a common normal.
#[derive(Debug)]
pub(super) struct PosedNormals {
    /// Group of each vertex.
    groups: Vec<u32>,
    /// Point of each group.
    points: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    /// Normal of the file for each group, and the computed normal in the rest pose.
    stored: Option<Vec<[Vec3; 2]>>,
}

/// Vertices of a mesh as they are drawn.
#[derive(Debug)]
pub(super) struct Vertices {
    /// Point of each vertex.
    pub(super) points: Vec<u32>,
    /// Vertex of the layout for each vertex; the same unless the triangles are flat.
    pub(super) sources: Vec<u32>,
    pub(super) triangles: Vec<[u32; 3]>,
}

impl Vertices {
    pub(super) fn new(mesh: &TriMesh, normals: Normals) -> Self {
        let (points, triangles) = match mesh.layout() {
            Some(layout) => (layout.vertex_points.clone(), layout.triangles.clone()),
            None => ((0..mesh.point_count() as u32).collect(), mesh.triangles().to_vec()),
        };
        let sources: Vec<u32> = (0..points.len() as u32).collect();
        if normals != Normals::Flat {
            return Self { points, sources, triangles };
        }
        let corners: Vec<u32> = triangles.iter().flatten().copied().collect();
        let flat = (0..triangles.len() as u32).map(|at| [3 * at, 3 * at + 1, 3 * at + 2]).collect();
        Self {
            points: corners.iter().map(|&corner| points[corner as usize]).collect(),
            sources: corners,
            triangles: flat,
        }
    }
}

impl PosedNormals {
    pub(super) fn new(mesh: &TriMesh, vertices: &Vertices, normals: Normals) -> Self {
        let stored = mesh.layout().and_then(|layout| layout.normals.as_ref()).filter(|_| normals == Normals::File);
        let mut numbers: HashMap<(u32, [u32; 3]), u32> = HashMap::new();
        let (mut groups, mut points, mut of_file) = (Vec::new(), Vec::new(), Vec::new());
        for (vertex, &point) in vertices.points.iter().enumerate() {
            let normal = stored.map_or(Vec3::ZERO, |stored| stored[vertex]);
            // Flat triangles do not share vertices, even if they share points.
            let key = match normals {
                Normals::Flat => [vertex as u32, 0, 0],
                _ => (normal + 0.0).to_array().map(f32::to_bits),
            };
            let group = *numbers.entry((point, key)).or_insert_with(|| {
                points.push(point);
                of_file.push(normal);
                points.len() as u32 - 1
            });
            groups.push(group);
        }
        let triangles: Vec<[u32; 3]> =
            vertices.triangles.iter().map(|corners| corners.map(|corner| groups[corner as usize])).collect();
        let mut made = Self { groups, points, triangles, stored: None };
        if stored.is_some() {
            let rest = made.computed(mesh.points());
            made.stored = Some(of_file.into_iter().zip(rest).map(|(file, rest)| [file, rest]).collect());
        }
        made
    }

    /// Normals of the groups for given positions of the points.
    fn computed(&self, points: &[Vec3]) -> Vec<Vec3> {
        let at: Vec<Vec3> = self.points.iter().map(|&point| points[point as usize]).collect();
        point_normals(&at, &self.triangles)
    }

    /// Normals of the vertices for given positions of the points.
    pub(super) fn at(&self, points: &[Vec3]) -> Vec<Vec3> {
        let mut normals = self.computed(points);
        for (normal, [file, rest]) in normals.iter_mut().zip(self.stored.iter().flatten()) {
            let is_usable = *normal != Vec3::ZERO && *rest != Vec3::ZERO && file.length_squared() > 0.25;
            if is_usable && file.is_finite() {
                *normal = (Quat::from_rotation_arc(*rest, *normal) * *file).normalize_or(*normal);
            }
        }
        self.groups.iter().map(|&group| normals[group as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use dermis_mesh::Layout;

    use super::*;

    /// Two triangles at a right angle along the x axis, whose common points have one vertex or one per triangle.
    fn folded(is_split: bool) -> TriMesh {
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::Z, Vec3::Y];
        let mesh = TriMesh::new(points, vec![[0, 2, 1], [0, 1, 3]]).unwrap();
        let (vertex_points, triangles, normals) = if is_split {
            let normals = [Vec3::Y, Vec3::Y, Vec3::Y, Vec3::Z, Vec3::Z, Vec3::Z];
            (vec![0, 2, 1, 0, 1, 3], vec![[0, 1, 2], [3, 4, 5]], normals.to_vec())
        } else {
            let both = Vec3::new(0.0, 1.0, 1.0).normalize();
            (vec![0, 1, 2, 3], vec![[0, 2, 1], [0, 1, 3]], vec![both, both, Vec3::Y, Vec3::Z])
        };
        mesh.with_layout(Layout { vertex_points, triangles, normals: Some(normals), ..Layout::default() }).unwrap()
    }

    fn normals(mesh: &TriMesh, kind: Normals, points: &[Vec3]) -> Vec<Vec3> {
        PosedNormals::new(mesh, &Vertices::new(mesh, kind), kind).at(points)
    }

    #[test]
    fn normals_of_the_file_are_exact_at_rest_and_turn_with_the_shape() {
        for is_split in [true, false] {
            let mesh = folded(is_split);
            let stored = mesh.layout().unwrap().normals.clone().unwrap();
            let turn = Quat::from_rotation_z(1.1) * Quat::from_rotation_x(0.4);
            let turned: Vec<Vec3> = mesh.points().iter().map(|&point| turn * point).collect();
            for (found, stored) in normals(&mesh, Normals::File, mesh.points()).iter().zip(&stored) {
                assert!(found.distance(*stored) < 1e-5, "{found} {stored}");
            }
            for (found, stored) in normals(&mesh, Normals::File, &turned).iter().zip(&stored) {
                assert!(found.distance(turn * *stored) < 1e-5, "{found} {stored}");
            }
        }
    }

    #[test]
    fn creases_can_be_smoothed_and_smooth_surfaces_be_flat() {
        let creased = folded(true);
        let smooth = normals(&creased, Normals::Smooth, creased.points());
        assert!(smooth[0].distance(smooth[3]) < 1e-6 && smooth[0].y > 0.5 && smooth[0].z > 0.5);
        let round = folded(false);
        assert_eq!(normals(&round, Normals::Flat, round.points()), [[Vec3::Y; 3], [Vec3::Z; 3]].concat());
    }
}
