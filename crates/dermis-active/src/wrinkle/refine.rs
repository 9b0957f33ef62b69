//! Refinement of the cloth: all or only the marked triangles are divided into `4^levels` similar ones.
//!
//! An unmarked triangle with two or three divided sides is marked too; one with a single divided side becomes a fan
//! from the opposite corner. The result has no T-junctions and thus no gaps.

use std::collections::{HashMap, HashSet};

use dermis_mesh::{Layout, MeshError, TriMesh};
use glam::Vec2;

use super::surface::SurfacePoint;

/// Refined mesh with the locations of its points on the coarse one.
#[derive(Debug, Clone)]
pub struct Refined {
    /// Refined mesh. Its rest pose is on that of the coarse mesh, whose UVs and materials it has.
    pub mesh: TriMesh,
    /// Location of each point on the coarse mesh.
    pub locations: Vec<SurfacePoint>,
    /// Coarse triangle of each triangle.
    pub origins: Vec<u32>,
}

/// Divides the marked triangles of `mesh`.
pub(super) fn refine(mesh: &TriMesh, marked: &[bool], levels: u32) -> Result<Refined, MeshError> {
    let parts = 1 << levels;
    let marked = closure(mesh, marked);
    let divided = divided_sides(mesh, &marked);
    let mut points = Splitter::new(mesh.triangles(), &marked, &divided, mesh.point_count());
    let layout = mesh.layout();
    let vertex_triangles = layout.map_or(mesh.triangles(), |layout| &layout.triangles);
    let mut vertices = Splitter::new(vertex_triangles, &marked, &divided, mesh.vertex_count());
    let (mut triangles, mut cut, mut origins) = (Vec::new(), Vec::new(), Vec::new());
    for triangle in 0..mesh.triangle_count() {
        let before = triangles.len();
        points.cut(triangle, parts, &mut triangles);
        vertices.cut(triangle, parts, &mut cut);
        origins.resize(origins.len() + triangles.len() - before, triangle as u32);
    }
    let locations = points.locations();
    let positions = locations.iter().map(|location| location.blend(mesh.triangles(), mesh.points())).collect();
    let refined = TriMesh::new(positions, triangles.clone())?;
    let Some(layout) = layout else { return Ok(Refined { mesh: refined, locations, origins }) };
    let vertex_spots = vertices.locations();
    let mut vertex_points = vec![0; vertex_spots.len()];
    for (&point, &vertex) in triangles.as_flattened().iter().zip(cut.as_flattened()) {
        vertex_points[vertex as usize] = point;
    }
    let blend = |uvs: &Vec<Vec2>| vertex_spots.iter().map(|location| location.blend(&layout.triangles, uvs)).collect();
    let layout = Layout {
        vertex_points,
        triangles: cut,
        uvs: layout.uvs.iter().map(blend).collect(),
        materials: layout.materials.clone(),
        triangle_materials: match &layout.triangle_materials[..] {
            [] => Vec::new(),
            materials => origins.iter().map(|&triangle| materials[triangle as usize]).collect(),
        },
        ..Layout::default()
    };
    Ok(Refined { mesh: refined.with_layout(layout)?, locations, origins })
}

/// Adds the triangles with two or three divided sides to the marks.
fn closure(mesh: &TriMesh, marked: &[bool]) -> Vec<bool> {
    let mut marked = marked.to_vec();
    let sides = |triangle: usize| sides_of(mesh.triangles()[triangle]);
    loop {
        let cut: HashSet<[u32; 2]> = (0..marked.len()).filter(|&triangle| marked[triangle]).flat_map(sides).collect();
        let more: Vec<usize> = (0..marked.len())
            .filter(|&triangle| {
                !marked[triangle] && sides(triangle).iter().filter(|side| cut.contains(*side)).count() > 1
            })
            .collect();
        if more.is_empty() {
            return marked;
        }
        for triangle in more {
            marked[triangle] = true;
        }
    }
}

/// First side of each triangle that a marked triangle divides. Sides are compared by points: across a seam the vertices
/// differ.
fn divided_sides(mesh: &TriMesh, marked: &[bool]) -> Vec<Option<usize>> {
    let divided = mesh.triangles().iter().zip(marked).filter(|(_, marked)| **marked);
    let divided: HashSet<[u32; 2]> = divided.flat_map(|(&triangle, _)| sides_of(triangle)).collect();
    let first = |&triangle: &[u32; 3]| sides_of(triangle).iter().position(|side| divided.contains(side));
    mesh.triangles().iter().map(first).collect()
}

fn sides_of([a, b, c]: [u32; 3]) -> [[u32; 2]; 3] {
    [[a, b], [b, c], [c, a]].map(|[from, to]| [from.min(to), from.max(to)])
}

/// Creates the points of the refined mesh: corners, shared points on sides, and points inside.
struct Splitter<'a> {
    triangles: &'a [[u32; 3]],
    marked: &'a [bool],
    /// First divided side of each triangle.
    divided: &'a [Option<usize>],
    on_sides: HashMap<([u32; 2], u32), u32>,
    locations: Vec<Option<SurfacePoint>>,
}

impl<'a> Splitter<'a> {
    fn new(triangles: &'a [[u32; 3]], marked: &'a [bool], divided: &'a [Option<usize>], count: usize) -> Self {
        Self { triangles, marked, divided, on_sides: HashMap::new(), locations: vec![None; count] }
    }

    fn cut(&mut self, triangle: usize, parts: u32, out: &mut Vec<[u32; 3]>) {
        let corners = self.triangles[triangle];
        if self.marked[triangle] {
            return self.cut_evenly(triangle, parts, out);
        }
        let Some(side) = self.divided[triangle] else {
            for corner in 0..3 {
                self.corner(triangle, corner);
            }
            out.push(corners);
            return;
        };
        let on_side = |along: u32| {
            let mut numerators = [0; 3];
            numerators[side] = parts - along;
            numerators[(side + 1) % 3] = along;
            numerators
        };
        let tip = self.corner(triangle, (side + 2) % 3);
        for along in 0..parts {
            let [from, to] = [along, along + 1].map(|along| self.point(triangle, parts, on_side(along)));
            out.push([from, to, tip]);
        }
    }

    fn cut_evenly(&mut self, triangle: usize, parts: u32, out: &mut Vec<[u32; 3]>) {
        let mut row: Vec<u32> = (0..=parts).map(|z| self.point(triangle, parts, [parts - z, 0, z])).collect();
        for y in 0..parts {
            let length = parts - y;
            let next: Vec<u32> = (0..length).map(|z| self.point(triangle, parts, [length - 1 - z, y + 1, z])).collect();
            for z in 0..length as usize {
                out.push([row[z], next[z], row[z + 1]]);
                if let Some(&ahead) = next.get(z + 1) {
                    out.push([next[z], ahead, row[z + 1]]);
                }
            }
            row = next;
        }
    }

    fn corner(&mut self, triangle: usize, corner: usize) -> u32 {
        let point = self.triangles[triangle][corner];
        let mut weights = [0.0; 3];
        weights[corner] = 1.0;
        self.locations[point as usize].get_or_insert(SurfacePoint { triangle: triangle as u32, weights });
        point
    }

    /// Point at the barycentric coordinates `numerators` / `parts`: a corner, a shared point on a side, or a new one.
    fn point(&mut self, triangle: usize, parts: u32, numerators: [u32; 3]) -> u32 {
        if let Some(corner) = (0..3).find(|&corner| numerators[corner] == parts) {
            return self.corner(triangle, corner);
        }
        let next = self.locations.len() as u32;
        if let Some(missing) = (0..3).find(|&corner| numerators[corner] == 0) {
            let corners = self.triangles[triangle];
            let (from, to) = ((missing + 1) % 3, (missing + 2) % 3);
            let (from, to) = if corners[from] < corners[to] { (from, to) } else { (to, from) };
            let point = *self.on_sides.entry(([corners[from], corners[to]], numerators[to])).or_insert(next);
            if point != next {
                return point;
            }
        }
        let weights = numerators.map(|part| part as f32 / parts as f32);
        self.locations.push(Some(SurfacePoint { triangle: triangle as u32, weights }));
        next
    }

    /// Locations of all points; those without a triangle have an arbitrary one.
    fn locations(&self) -> Vec<SurfacePoint> {
        let arbitrary = SurfacePoint { triangle: 0, weights: [1.0, 0.0, 0.0] };
        self.locations.iter().map(|location| location.unwrap_or(arbitrary)).collect()
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    #[test]
    fn a_divided_side_at_a_seam_divides_the_vertices_of_both_triangles() {
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 0.0)];
        let mesh = TriMesh::new(points, vec![[0, 1, 2], [1, 3, 2]]).unwrap();
        let layout = Layout {
            vertex_points: vec![0, 1, 2, 1, 3, 2],
            triangles: vec![[0, 1, 2], [3, 4, 5]],
            uvs: vec![[0.0, 0.1, 0.2, 0.7, 0.8, 0.9].map(Vec2::splat).to_vec()],
            ..Layout::default()
        };
        let mesh = mesh.with_layout(layout).unwrap();
        let refined = refine(&mesh, &[true, false], 2).unwrap().mesh;
        assert_eq!(refined.triangle_count(), 16 + 4);
        let uvs = &refined.layout().unwrap().uvs[0];
        assert!(uvs.iter().all(|uv| uv.x <= 0.2 || uv.x >= 0.7), "no UV is blended across the seam");
    }
}
