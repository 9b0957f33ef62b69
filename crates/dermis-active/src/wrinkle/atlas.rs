//! UV atlas for a cloth without UVs: charts of the rest shape with similar normals, flattened and packed.
//!
//! A chart grows from its first triangle across edges while the normals are within 60° of the first one
//! ([`MIN_COSINE`]). It is projected along that normal, so it does not fold over locally. Triangles that would overlap
//! others of the chart, as on a spiral, are assigned to another chart. Charts are packed in rows by height.

use std::collections::VecDeque;

use dermis_mesh::adjacency::Edges;
use dermis_mesh::geometry::triangle_normals;
use dermis_mesh::{Layout, MeshError, TriMesh};
use glam::{Vec2, Vec3};

use super::grid::{CellMap, cell_of, cells_between};

/// Minimum cosine of the angle between the normals of a chart and that of its first triangle.
const MIN_COSINE: f32 = 0.5;
/// Margin around a chart, relative to the total width.
const MARGIN: f32 = 0.01;

/// Maximum overlap of triangles that only touch, relative to their size.
const MAX_TOUCHING_OVERLAP: f32 = 1e-3;

/// Returns the mesh with a UV atlas.
pub fn with_atlas(mesh: &TriMesh) -> Result<TriMesh, MeshError> {
    let charts = charts(mesh);
    let (placed, width) = pack(&charts);
    let mut layout = Layout { triangles: vec![[0; 3]; mesh.triangle_count()], ..Layout::default() };
    let mut uvs = Vec::new();
    for (chart, offset) in charts.iter().zip(placed) {
        let first = layout.vertex_points.len() as u32;
        layout.vertex_points.extend(&chart.points);
        uvs.extend(chart.positions.iter().map(|position| (*position + offset) / width));
        for (&triangle, corners) in chart.triangles.iter().zip(&chart.corners) {
            layout.triangles[triangle as usize] = corners.map(|corner| first + corner);
        }
    }
    layout.uvs = vec![uvs];
    mesh.without_layout().with_layout(layout)
}

/// Chart, flattened with its lower corner at the origin.
struct Chart {
    triangles: Vec<u32>,
    corners: Vec<[u32; 3]>,
    points: Vec<u32>,
    positions: Vec<Vec2>,
    size: Vec2,
}

fn charts(mesh: &TriMesh) -> Vec<Chart> {
    let normals = triangle_normals(mesh.points(), mesh.triangles());
    let neighbours = Edges::new(mesh.point_count(), mesh.triangles()).triangle_neighbours();
    let mut taken = vec![false; mesh.triangle_count()];
    let mut charts = Vec::new();
    let mut starts: VecDeque<usize> = (0..taken.len()).collect();
    while let Some(start) = starts.pop_front() {
        if std::mem::replace(&mut taken[start], true) {
            continue;
        }
        let mut triangles = vec![start as u32];
        let mut at = 0;
        while at < triangles.len() {
            for &next in neighbours.of(triangles[at] as usize) {
                let alike = normals[next as usize].dot(normals[start]) > MIN_COSINE;
                if alike && !std::mem::replace(&mut taken[next as usize], true) {
                    triangles.push(next);
                }
            }
            at += 1;
        }
        let chart = Chart::new(mesh, triangles, normals[start]);
        let is_over = chart.overlaps();
        let pick = |over: bool| {
            let triangles = chart.triangles.iter().zip(&is_over).filter(move |(_, is_over)| **is_over == over);
            triangles.map(|(triangle, _)| *triangle).collect::<Vec<u32>>()
        };
        let (over, kept) = (pick(true), pick(false));
        for &triangle in &over {
            taken[triangle as usize] = false;
            starts.push_back(triangle as usize);
        }
        charts.push(if over.is_empty() { chart } else { Chart::new(mesh, kept, normals[start]) });
    }
    charts
}

impl Chart {
    fn new(mesh: &TriMesh, triangles: Vec<u32>, normal: Vec3) -> Self {
        let x = normal.try_normalize().map_or(Vec3::X, |normal| normal.any_orthonormal_vector());
        let y = normal.cross(x);
        let mut points: Vec<u32> = triangles.iter().flat_map(|&triangle| mesh.triangles()[triangle as usize]).collect();
        points.sort_unstable();
        points.dedup();
        let flat = |&point: &u32| Vec2::new(mesh.points()[point as usize].dot(x), mesh.points()[point as usize].dot(y));
        let positions: Vec<Vec2> = points.iter().map(flat).collect();
        let low = positions.iter().fold(Vec2::INFINITY, |low, position| low.min(*position));
        let high = positions.iter().fold(Vec2::NEG_INFINITY, |high, position| high.max(*position));
        let index = |point: u32| points.partition_point(|&other| other < point) as u32;
        let corners = triangles.iter().map(|&triangle| mesh.triangles()[triangle as usize].map(index)).collect();
        let positions = positions.iter().map(|position| *position - low).collect();
        Self { triangles, corners, points, positions, size: high - low }
    }

    /// Marks triangles that overlap an earlier, unmarked triangle.
    fn overlaps(&self) -> Vec<bool> {
        // Cells about as large as a triangle keep the number of pairs small; a chart without area has few cells.
        let side = (self.size.x * self.size.y / self.triangles.len() as f32).sqrt();
        let cell = side.max(1e-3 * self.size.max_element()).max(f32::MIN_POSITIVE);
        let mut kept: Vec<[Vec2; 3]> = Vec::new();
        let mut cells: CellMap<Vec<usize>> = CellMap::default();
        let mut is_over = Vec::with_capacity(self.triangles.len());
        for corners in &self.corners {
            let corners = corners.map(|corner| self.positions[corner as usize]);
            let low = cell_of(corners[0].min(corners[1]).min(corners[2]).extend(0.0), cell);
            let high = cell_of(corners[0].max(corners[1]).max(corners[2]).extend(0.0), cell);
            let mut near = cells_between(low, high).filter_map(|cell| cells.get(&cell)).flatten();
            let over = near.any(|&other| overlap(&corners, &kept[other], MAX_TOUCHING_OVERLAP * cell));
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

/// Returns true if two triangles overlap by more than `touching`: no side of either separates them.
fn overlap(a: &[Vec2; 3], b: &[Vec2; 3], touching: f32) -> bool {
    let separates = |axis: Vec2| {
        let range = |triangle: &[Vec2; 3]| {
            let projections = triangle.map(|corner| corner.dot(axis));
            (
                projections[0].min(projections[1]).min(projections[2]),
                projections[0].max(projections[1]).max(projections[2]),
            )
        };
        let ((low_a, high_a), (low_b, high_b)) = (range(a), range(b));
        high_a <= low_b + touching || high_b <= low_a + touching
    };
    let sides = |t: &[Vec2; 3]| [t[1] - t[0], t[2] - t[1], t[0] - t[2]];
    let axes = sides(a).into_iter().chain(sides(b)).map(|side| side.perp().normalize_or_zero());
    !axes.into_iter().any(separates)
}

/// Offset of each chart, and the side of the square that contains all charts.
fn pack(charts: &[Chart]) -> (Vec<Vec2>, f32) {
    let area: f32 = charts.iter().map(|chart| chart.size.x * chart.size.y).sum();
    let widest = charts.iter().map(|chart| chart.size.x).fold(0.0, f32::max);
    let width = (1.3 * area.sqrt()).max(widest * (1.0 + 4.0 * MARGIN)).max(f32::MIN_POSITIVE);
    let margin = MARGIN * width;
    let mut order: Vec<usize> = (0..charts.len()).collect();
    order.sort_by(|&a, &b| charts[b].size.y.total_cmp(&charts[a].size.y).then(a.cmp(&b)));
    let mut offsets = vec![Vec2::ZERO; charts.len()];
    let (mut pen, mut row) = (Vec2::splat(margin), 0.0f32);
    for index in order {
        let size = charts[index].size;
        if pen.x + size.x + margin > width {
            pen = Vec2::new(margin, pen.y + row + margin);
            row = 0.0;
        }
        offsets[index] = pen;
        pen.x += size.x + margin;
        row = row.max(size.y);
    }
    (offsets, width.max(pen.y + row + margin))
}
