//! UVs for a cloth that has none: pieces of the rest shape that look about the same way, laid flat side by side.
//!
//! A piece grows from its first triangle over edges as long as triangles look within [`WIDEST`] of the first, and is
//! projected along that normal, so it cannot fold over locally. Triangles that would lie over others of the piece, as on
//! a spiral, are left for another. Pieces are packed in rows by height.

use std::collections::VecDeque;

use dermis_mesh::adjacency::Edges;
use dermis_mesh::geometry::triangle_normals;
use dermis_mesh::{Layout, MeshError, TriMesh};
use glam::{Vec2, Vec3};

use super::grid::{CellMap, cell_of, cells_between};

/// The cosine of the largest angle between the normals of a piece.
const WIDEST: f32 = 0.5;
/// The room around a piece, as a part of the whole width.
const MARGIN: f32 = 0.01;

/// Triangles that overlap by less, as a part of their size, touch.
const TOUCHING: f32 = 1e-3;

/// The same mesh with UVs.
pub fn with_atlas(mesh: &TriMesh) -> Result<TriMesh, MeshError> {
    let pieces = pieces(mesh);
    let (placed, width) = pack(&pieces);
    let mut layout = Layout { triangles: vec![[0; 3]; mesh.triangle_count()], ..Layout::default() };
    let mut uvs = Vec::new();
    for (piece, offset) in pieces.iter().zip(placed) {
        let first = layout.vertex_points.len() as u32;
        layout.vertex_points.extend(&piece.points);
        uvs.extend(piece.places.iter().map(|place| (*place + offset) / width));
        for (&triangle, corners) in piece.triangles.iter().zip(&piece.corners) {
            layout.triangles[triangle as usize] = corners.map(|corner| first + corner);
        }
    }
    layout.uvs = vec![uvs];
    mesh.without_layout().with_layout(layout)
}

/// A piece, laid flat with its lower corner at the origin.
struct Piece {
    triangles: Vec<u32>,
    corners: Vec<[u32; 3]>,
    points: Vec<u32>,
    places: Vec<Vec2>,
    size: Vec2,
}

fn pieces(mesh: &TriMesh) -> Vec<Piece> {
    let normals = triangle_normals(mesh.points(), mesh.triangles());
    let neighbours = Edges::new(mesh.point_count(), mesh.triangles()).triangle_neighbours();
    let mut taken = vec![false; mesh.triangle_count()];
    let mut pieces = Vec::new();
    let mut starts: VecDeque<usize> = (0..taken.len()).collect();
    while let Some(start) = starts.pop_front() {
        if std::mem::replace(&mut taken[start], true) {
            continue;
        }
        let mut triangles = vec![start as u32];
        let mut at = 0;
        while at < triangles.len() {
            for &next in neighbours.of(triangles[at] as usize) {
                let alike = normals[next as usize].dot(normals[start]) > WIDEST;
                if alike && !std::mem::replace(&mut taken[next as usize], true) {
                    triangles.push(next);
                }
            }
            at += 1;
        }
        let piece = Piece::new(mesh, triangles, normals[start]);
        let is_over = piece.over_others();
        let pick = |over: bool| {
            let triangles = piece.triangles.iter().zip(&is_over).filter(move |(_, is_over)| **is_over == over);
            triangles.map(|(triangle, _)| *triangle).collect::<Vec<u32>>()
        };
        let (over, kept) = (pick(true), pick(false));
        for &triangle in &over {
            taken[triangle as usize] = false;
            starts.push_back(triangle as usize);
        }
        pieces.push(if over.is_empty() { piece } else { Piece::new(mesh, kept, normals[start]) });
    }
    pieces
}

impl Piece {
    fn new(mesh: &TriMesh, triangles: Vec<u32>, normal: Vec3) -> Self {
        let x = normal.try_normalize().map_or(Vec3::X, |normal| normal.any_orthonormal_vector());
        let y = normal.cross(x);
        let mut points: Vec<u32> = triangles.iter().flat_map(|&triangle| mesh.triangles()[triangle as usize]).collect();
        points.sort_unstable();
        points.dedup();
        let flat = |&point: &u32| Vec2::new(mesh.points()[point as usize].dot(x), mesh.points()[point as usize].dot(y));
        let places: Vec<Vec2> = points.iter().map(flat).collect();
        let low = places.iter().fold(Vec2::INFINITY, |low, place| low.min(*place));
        let high = places.iter().fold(Vec2::NEG_INFINITY, |high, place| high.max(*place));
        let index = |point: u32| points.partition_point(|&other| other < point) as u32;
        let corners = triangles.iter().map(|&triangle| mesh.triangles()[triangle as usize].map(index)).collect();
        let places = places.iter().map(|place| *place - low).collect();
        Self { triangles, corners, points, places, size: high - low }
    }

    /// For each triangle, in order, whether it lies over one before it that does not.
    fn over_others(&self) -> Vec<bool> {
        // Cells about as large as a triangle keep the number of pairs small; a piece without area has few cells.
        let side = (self.size.x * self.size.y / self.triangles.len() as f32).sqrt();
        let cell = side.max(1e-3 * self.size.max_element()).max(f32::MIN_POSITIVE);
        let mut kept: Vec<[Vec2; 3]> = Vec::new();
        let mut cells: CellMap<Vec<usize>> = CellMap::default();
        let mut is_over = Vec::with_capacity(self.triangles.len());
        for corners in &self.corners {
            let corners = corners.map(|corner| self.places[corner as usize]);
            let low = cell_of(corners[0].min(corners[1]).min(corners[2]).extend(0.0), cell);
            let high = cell_of(corners[0].max(corners[1]).max(corners[2]).extend(0.0), cell);
            let mut near = cells_between(low, high).filter_map(|cell| cells.get(&cell)).flatten();
            let over = near.any(|&other| overlap(&corners, &kept[other], TOUCHING * cell));
            if !over {
                for cell in cells_between(low, high) {
                    cells.entry(cell).or_default().push(kept.len());
                }
                kept.push(corners);
            }
            is_over.push(over);
        }
        is_over
    }
}

/// Whether two triangles overlap by more than `touching`: no side of either has them on different sides.
fn overlap(a: &[Vec2; 3], b: &[Vec2; 3], touching: f32) -> bool {
    let separates = |axis: Vec2| {
        let range = |triangle: &[Vec2; 3]| {
            let places = triangle.map(|corner| corner.dot(axis));
            (places[0].min(places[1]).min(places[2]), places[0].max(places[1]).max(places[2]))
        };
        let ((low_a, high_a), (low_b, high_b)) = (range(a), range(b));
        high_a <= low_b + touching || high_b <= low_a + touching
    };
    let sides = |t: &[Vec2; 3]| [t[1] - t[0], t[2] - t[1], t[0] - t[2]];
    let axes = sides(a).into_iter().chain(sides(b)).map(|side| side.perp().normalize_or_zero());
    !axes.into_iter().any(separates)
}

/// Where each piece goes, and the side of the square that holds all.
fn pack(pieces: &[Piece]) -> (Vec<Vec2>, f32) {
    let area: f32 = pieces.iter().map(|piece| piece.size.x * piece.size.y).sum();
    let widest = pieces.iter().map(|piece| piece.size.x).fold(0.0, f32::max);
    let width = (1.3 * area.sqrt()).max(widest * (1.0 + 4.0 * MARGIN)).max(f32::MIN_POSITIVE);
    let margin = MARGIN * width;
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by(|&a, &b| pieces[b].size.y.total_cmp(&pieces[a].size.y).then(a.cmp(&b)));
    let mut places = vec![Vec2::ZERO; pieces.len()];
    let (mut pen, mut row) = (Vec2::splat(margin), 0.0f32);
    for index in order {
        let size = pieces[index].size;
        if pen.x + size.x + margin > width {
            pen = Vec2::new(margin, pen.y + row + margin);
            row = 0.0;
        }
        places[index] = pen;
        pen.x += size.x + margin;
        row = row.max(size.y);
    }
    (places, width.max(pen.y + row + margin))
}
