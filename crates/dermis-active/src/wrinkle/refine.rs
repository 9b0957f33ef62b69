//! A finer mesh over the cloth: triangles are cut into `4^levels` equal ones, all of them or only those that are marked.
//!
//! An unmarked triangle with two or three cut sides is marked too; one with a single cut side becomes a fan from the
//! opposite corner. So no vertex lies in the middle of a side, and no gap can open.

use std::collections::HashMap;
use std::hash::Hash;

use dermis_mesh::{Layout, MeshError, TriMesh};
use glam::Vec2;

use super::surface::Spot;

/// A finer mesh and where its points lie on the coarse one.
#[derive(Debug, Clone)]
pub struct Refined {
    /// Its rest pose lies on the coarse one's; UVs and materials are those of the coarse mesh.
    pub mesh: TriMesh,
    /// The place of each of its points.
    pub spots: Vec<Spot>,
}

/// Cuts the triangles of `mesh` that are marked.
pub(super) fn refine(mesh: &TriMesh, marked: &[bool], levels: u32) -> Result<Refined, MeshError> {
    let parts = 1 << levels;
    let marked = closure(mesh, marked);
    let mut points = Splitter::new(mesh.triangles(), &marked, mesh.point_count());
    let layout = mesh.layout();
    let vertex_triangles = layout.map_or(mesh.triangles(), |layout| &layout.triangles);
    let mut vertices = Splitter::new(vertex_triangles, &marked, mesh.vertex_count());
    let (mut triangles, mut cut, mut origins) = (Vec::new(), Vec::new(), Vec::new());
    for triangle in 0..mesh.triangle_count() {
        let before = triangles.len();
        points.cut(triangle, parts, &mut triangles);
        vertices.cut(triangle, parts, &mut cut);
        origins.resize(origins.len() + triangles.len() - before, triangle);
    }
    let spots = points.spots();
    let positions = spots.iter().map(|spot| spot.blend(mesh.triangles(), mesh.points())).collect();
    let refined = TriMesh::new(positions, triangles.clone())?;
    let Some(layout) = layout else { return Ok(Refined { mesh: refined, spots }) };
    let vertex_spots = vertices.spots();
    let mut vertex_points = vec![0; vertex_spots.len()];
    for (&point, &vertex) in triangles.as_flattened().iter().zip(cut.as_flattened()) {
        vertex_points[vertex as usize] = point;
    }
    let blend = |uvs: &Vec<Vec2>| vertex_spots.iter().map(|spot| spot.blend(&layout.triangles, uvs)).collect();
    let layout = Layout {
        vertex_points,
        triangles: cut,
        uvs: layout.uvs.iter().map(blend).collect(),
        materials: layout.materials.clone(),
        triangle_materials: match &layout.triangle_materials[..] {
            [] => Vec::new(),
            materials => origins.iter().map(|&triangle| materials[triangle]).collect(),
        },
        ..Layout::default()
    };
    Ok(Refined { mesh: refined.with_layout(layout)?, spots })
}

/// The marks, and those that no fan can serve.
fn closure(mesh: &TriMesh, marked: &[bool]) -> Vec<bool> {
    let mut marked = marked.to_vec();
    let sides = |triangle: usize| sides_of(mesh.triangles()[triangle]);
    loop {
        let cut: std::collections::HashSet<[u32; 2]> =
            (0..marked.len()).filter(|&triangle| marked[triangle]).flat_map(sides).collect();
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

fn sides_of([a, b, c]: [u32; 3]) -> [[u32; 2]; 3] {
    [[a, b], [b, c], [c, a]].map(|[from, to]| [from.min(to), from.max(to)])
}

/// Hands out the points of the finer mesh: corners, then those on sides, shared, and inside.
struct Splitter<'a> {
    triangles: &'a [[u32; 3]],
    marked: &'a [bool],
    cut_sides: std::collections::HashSet<[u32; 2]>,
    on_sides: HashMap<(SideKey, u32), u32>,
    spots: Vec<Option<Spot>>,
}

#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct SideKey([u32; 2]);

impl<'a> Splitter<'a> {
    fn new(triangles: &'a [[u32; 3]], marked: &'a [bool], count: usize) -> Self {
        let cut = triangles.iter().zip(marked).filter(|(_, marked)| **marked);
        let cut_sides = cut.flat_map(|(&triangle, _)| sides_of(triangle)).collect();
        Self { triangles, marked, cut_sides, on_sides: HashMap::new(), spots: vec![None; count] }
    }

    fn cut(&mut self, triangle: usize, parts: u32, out: &mut Vec<[u32; 3]>) {
        let corners = self.triangles[triangle];
        if self.marked[triangle] {
            return self.cut_evenly(triangle, parts, out);
        }
        let cut = (0..3).find(|&side| self.cut_sides.contains(&sides_of(corners)[side]));
        let Some(side) = cut else {
            let place = |corner: usize| {
                self.point(triangle, parts, [corner == 0, corner == 1, corner == 2].map(|at| u32::from(at) * parts))
            };
            out.push([0, 1, 2].map(place));
            return;
        };
        let on_side = |along: u32| {
            let mut place = [0; 3];
            place[side] = parts - along;
            place[(side + 1) % 3] = along;
            place
        };
        let mut tip = [0; 3];
        tip[(side + 2) % 3] = parts;
        for along in 0..parts {
            out.push([on_side(along), on_side(along + 1), tip].map(|place| self.point(triangle, parts, place)));
        }
    }

    fn cut_evenly(&mut self, triangle: usize, parts: u32, out: &mut Vec<[u32; 3]>) {
        for y in 0..parts {
            for z in 0..parts - y {
                let x = parts - y - z;
                let mut push = |places: [[u32; 3]; 3]| out.push(places.map(|place| self.point(triangle, parts, place)));
                push([[x, y, z], [x - 1, y + 1, z], [x - 1, y, z + 1]]);
                if x > 1 {
                    push([[x - 1, y + 1, z], [x - 2, y + 1, z + 1], [x - 1, y, z + 1]]);
                }
            }
        }
    }

    /// The point at `place`, barycentric coordinates in parts.
    fn point(&mut self, triangle: usize, parts: u32, place: [u32; 3]) -> u32 {
        let corners = self.triangles[triangle];
        let spot = Spot { triangle: triangle as u32, weights: place.map(|part| part as f32 / parts as f32) };
        if let Some(corner) = (0..3).find(|&corner| place[corner] == parts) {
            let point = corners[corner];
            self.spots[point as usize].get_or_insert(spot);
            return point;
        }
        let next = self.spots.len() as u32;
        if let Some(missing) = (0..3).find(|&corner| place[corner] == 0) {
            let (from, to) = ((missing + 1) % 3, (missing + 2) % 3);
            let (from, to) = if corners[from] < corners[to] { (from, to) } else { (to, from) };
            let point = *self.on_sides.entry((SideKey([corners[from], corners[to]]), place[to])).or_insert(next);
            if point != next {
                return point;
            }
        }
        self.spots.push(Some(spot));
        next
    }

    /// The places of all points; those that no triangle has lie anywhere.
    fn spots(&self) -> Vec<Spot> {
        let nowhere = Spot { triangle: 0, weights: [1.0, 0.0, 0.0] };
        self.spots.iter().map(|spot| spot.unwrap_or(nowhere)).collect()
    }
}
