//! Vertices and triangles of a mesh, as written.
//!
//! Vertices are those of the mesh's layout, or its points if it has none; points without a vertex get one, so that all
//! points are kept. If welding the vertices would not restore the same points (points that coincide at rest, or are in
//! another order), each vertex stores the index of its point in a custom attribute.

use dermis_mesh::geometry::point_normals;
use dermis_mesh::weld::{Column, weld};
use dermis_mesh::{Layout, Material, TriMesh};
use glam::{Vec2, Vec3, Vec4};

/// Largest integer up to which floats are exact.
const MAX_MARKED_POINTS: usize = 1 << 24;

/// A mesh as vertices.
pub(super) struct Surface {
    pub vertex_points: Vec<u32>,
    /// The material and the triangles of each primitive.
    pub primitives: Vec<(Option<Material>, Vec<[u32; 3]>)>,
    /// Unit normals; absent if there are no triangles.
    pub normals: Option<Vec<Vec3>>,
    pub tangents: Option<Vec<Vec4>>,
    pub uvs: Vec<Vec<Vec2>>,
    pub colors: Vec<Vec<Vec4>>,
    /// True if vertices must store the index of their point.
    pub marked: bool,
}

impl Surface {
    /// The vertices of `mesh`.
    pub(super) fn new(mesh: &TriMesh) -> Self {
        let plain = || Layout::plain(mesh);
        let mut layout = mesh.layout().cloned().unwrap_or_else(plain);
        let primitives = primitives(&mut layout);
        let missing = points_without_vertex(mesh, &layout);
        let count = layout.vertex_points.len() + missing.len();
        layout.vertex_points.extend(missing);
        let smooth = point_normals(mesh.points(), mesh.triangles());
        let normals = (mesh.triangle_count() > 0).then(|| unit_normals(&layout, &smooth));
        let tangents = layout.tangents.take().filter(|_| normals.is_some()).map(|tangents| {
            let mut tangents: Vec<Vec4> = tangents.into_iter().map(unit_tangent).collect();
            tangents.resize(count, Vec4::new(1.0, 0.0, 0.0, 1.0));
            tangents
        });
        let marked = mesh.point_count() <= MAX_MARKED_POINTS && !welding_restores(mesh, &layout.vertex_points);
        Self {
            vertex_points: layout.vertex_points,
            primitives,
            normals,
            tangents,
            uvs: layout.uvs.into_iter().map(|set| padded(set, count, finite_uv, Vec2::ZERO)).collect(),
            colors: layout.colors.into_iter().map(|set| padded(set, count, valid_color, Vec4::ONE)).collect(),
            marked,
        }
    }

    /// `values` per point, repeated for each vertex.
    pub(super) fn split<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.vertex_points.iter().map(|&point| values[point as usize]).collect()
    }
}

/// The triangles by material, in the order of the materials' first use.
fn primitives(layout: &mut Layout) -> Vec<(Option<Material>, Vec<[u32; 3]>)> {
    let triangles = std::mem::take(&mut layout.triangles);
    if layout.triangle_materials.is_empty() {
        return vec![(layout.materials.first().cloned(), triangles)];
    }
    const UNUSED: usize = usize::MAX;
    let mut primitive_of = vec![UNUSED; layout.materials.len()];
    let mut primitives: Vec<(Option<Material>, Vec<[u32; 3]>)> = Vec::new();
    for (triangle, &material) in triangles.into_iter().zip(&layout.triangle_materials) {
        let primitive = &mut primitive_of[material as usize];
        if *primitive == UNUSED {
            *primitive = primitives.len();
            primitives.push((Some(layout.materials[material as usize].clone()), Vec::new()));
        }
        primitives[*primitive].1.push(triangle);
    }
    primitives
}

fn points_without_vertex(mesh: &TriMesh, layout: &Layout) -> Vec<u32> {
    let mut has_vertex = vec![false; mesh.point_count()];
    for &point in &layout.vertex_points {
        has_vertex[point as usize] = true;
    }
    (0..mesh.point_count() as u32).filter(|&point| !has_vertex[point as usize]).collect()
}

/// The normals of the layout if they are valid, smooth normals otherwise.
fn unit_normals(layout: &Layout, smooth: &[Vec3]) -> Vec<Vec3> {
    let given = layout.normals.as_deref().unwrap_or_default();
    let normal = |(vertex, &point): (usize, &u32)| {
        let own = given.get(vertex).and_then(|normal| normal.try_normalize());
        own.or_else(|| smooth[point as usize].try_normalize()).unwrap_or(Vec3::Z)
    };
    layout.vertex_points.iter().enumerate().map(normal).collect()
}

fn unit_tangent(tangent: Vec4) -> Vec4 {
    let direction = tangent.truncate().try_normalize().unwrap_or(Vec3::X);
    direction.extend(if tangent.w < 0.0 { -1.0 } else { 1.0 })
}

fn padded<T: Copy>(values: Vec<T>, count: usize, repair: fn(T) -> T, fill: T) -> Vec<T> {
    let mut values: Vec<T> = values.into_iter().map(repair).collect();
    values.resize(count, fill);
    values
}

fn finite_uv(uv: Vec2) -> Vec2 {
    if uv.is_finite() { uv } else { Vec2::ZERO }
}

fn valid_color(color: Vec4) -> Vec4 {
    if color.is_finite() { color.clamp(Vec4::ZERO, Vec4::ONE) } else { Vec4::ONE }
}

/// Returns whether a reader that joins vertices at the same position, numbering points in their order, finds the mesh's
/// points.
fn welding_restores(mesh: &TriMesh, vertex_points: &[u32]) -> bool {
    let mut next = 0;
    for &point in vertex_points {
        if point > next {
            return false;
        }
        next = next.max(point + 1);
    }
    let column = Column { values: bytemuck::cast_slice(mesh.points()), width: 3 };
    weld(mesh.point_count(), &[column]).point_vertices.len() == mesh.point_count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(points: &[[f32; 3]]) -> TriMesh {
        TriMesh::new(points.iter().copied().map(Vec3::from).collect(), vec![[0, 1, 2]]).unwrap()
    }

    #[test]
    fn points_that_coincide_or_change_their_order_are_marked() {
        let plain = mesh(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        assert!(!Surface::new(&plain).marked);
        let coincident = mesh(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]);
        assert!(Surface::new(&coincident).marked);
        let layout = Layout { vertex_points: vec![2, 1, 0], triangles: vec![[2, 1, 0]], ..Layout::default() };
        assert!(Surface::new(&plain.with_layout(layout).unwrap()).marked);
    }

    #[test]
    fn a_point_without_a_vertex_gets_one() {
        let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [5.0, 5.0, 5.0]];
        let layout = Layout { vertex_points: vec![0, 1, 2], triangles: vec![[0, 1, 2]], ..Layout::default() };
        let surface = Surface::new(&mesh(&points).with_layout(layout).unwrap());
        assert_eq!(surface.vertex_points, [0, 1, 2, 3]);
        assert_eq!(surface.normals.unwrap()[..3], [Vec3::Z; 3]);
    }
}
