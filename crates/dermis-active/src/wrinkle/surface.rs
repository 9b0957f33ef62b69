//! The cloth as a surface: triangles with their neighbours, and locations on them.
//!
//! A location is a triangle with barycentric coordinates, so it refers to the same material point while the cloth
//! moves. Distances between wrinkles are measured on the rest shape, in which no layers of cloth overlap.

use dermis_mesh::adjacency::{Edges, Lists, is_collapsed};
use dermis_mesh::geometry::point_normals;
use glam::Vec3;

use super::stretch::averaged;

/// No neighbour: the edge is a boundary, or more than two triangles meet there.
pub(super) const NONE: u32 = u32::MAX;
/// Maximum number of triangles that a walk crosses; longer walks result from invalid input.
const MAX_WALK: usize = 64;

/// Displacement of points inwards, as a fraction of their distance to the mean of their neighbours. The area is
/// preserved with an eighth on a sphere and a sixth on a cylinder (equilateral triangles of side e deviate from radius
/// R by e²/16R and e²/24R).
const INSET: f32 = 1.0 / 7.0;

/// Mean curvature, in inverse radii of folds, at which folds are entirely on the other side.
const CONCAVE_CURVATURE: f32 = 0.3;
/// Number of smoothing passes of the curvature.
const CURVATURE_SMOOTHING_PASSES: usize = 2;

/// Location on the cloth: a triangle with barycentric coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurfacePoint {
    /// Index of the triangle.
    pub triangle: u32,
    /// Barycentric coordinates.
    pub weights: [f32; 3],
}

impl SurfacePoint {
    /// Interpolates `values`, which are given at the points.
    pub fn blend<T>(&self, triangles: &[[u32; 3]], values: &[T]) -> T
    where
        T: Copy + std::ops::Mul<f32, Output = T> + std::ops::Add<Output = T>,
    {
        let [a, b, c] = triangles[self.triangle as usize].map(|point| values[point as usize]);
        a * self.weights[0] + b * self.weights[1] + c * self.weights[2]
    }
}

/// Cubic patch over a triangle whose sides are tangent to the tangent planes at the corners, so that the cloth is
/// smooth between its points (Vlachos et al. 2001).
#[derive(Debug, Clone, Copy)]
pub(super) struct Patch {
    corners: [Vec3; 3],
    /// Three times the two control points of each side, starting at its first corner.
    sides: [[Vec3; 2]; 3],
    /// Six times the centre control point.
    middle: Vec3,
}

impl Patch {
    pub(super) fn new(corners: [u32; 3], positions: &[Vec3], normals: &[Vec3]) -> Self {
        let p = corners.map(|corner| positions[corner as usize]);
        let n = corners.map(|corner| normals[corner as usize]);
        let control = |from: usize, to: usize| {
            let side = p[to] - p[from];
            p[from] * 3.0 + (side - n[from] * side.dot(n[from]))
        };
        let sides = [[control(0, 1), control(1, 0)], [control(1, 2), control(2, 1)], [control(2, 0), control(0, 2)]];
        let inner = sides.as_flattened().iter().sum::<Vec3>() / 18.0;
        let middle = inner + (inner - (p[0] + p[1] + p[2]) / 3.0) * 0.5;
        Self { corners: p, sides, middle: middle * 6.0 }
    }

    /// Position at barycentric coordinates.
    pub(super) fn at(&self, [x, y, z]: [f32; 3]) -> Vec3 {
        let [a, b, c] = self.corners;
        let [ab, bc, ca] = self.sides;
        a * (x * x * x)
            + b * (y * y * y)
            + c * (z * z * z)
            + (ab[0] * x + ab[1] * y) * (x * y)
            + (bc[0] * y + bc[1] * z) * (y * z)
            + (ca[0] * z + ca[1] * x) * (z * x)
            + self.middle * (x * y * z)
    }
}

/// Triangles, their neighbours, and the rest shape.
#[derive(Debug, Clone)]
pub(super) struct Surface {
    pub(super) triangles: Vec<[u32; 3]>,
    /// Triangle across the side that starts at each corner.
    neighbours: Vec<[u32; 3]>,
    pub(super) rest: Vec<Vec3>,
    pub(super) rings: Lists,
    /// Displacement of each point inwards if the rest shape is curved. Patches over the points of a sphere or a tube
    /// are outside of the triangles; after the displacement, their area equals that of the triangles.
    insets: Vec<f32>,
    /// A triangle at each point and the index of the point's corner in it; `NONE` for a point without triangles.
    pub(super) corners_of_points: Vec<(u32, u8)>,
    pub(super) non_manifold: usize,
}

impl Surface {
    pub(super) fn new(rest: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let edges = Edges::new(rest.len(), triangles);
        let mut neighbours = vec![[NONE; 3]; triangles.len()];
        let mut non_manifold = 0;
        for (ends, uses) in edges.iter() {
            let &[first, second] = uses else {
                non_manifold += usize::from(uses.len() > 2);
                continue;
            };
            for (here, there) in [(first.triangle, second.triangle), (second.triangle, first.triangle)] {
                let triangle = triangles[here as usize];
                let side = (0..3).find(|&side| {
                    let (from, to) = (triangle[side], triangle[(side + 1) % 3]);
                    [from.min(to), from.max(to)] == ends
                });
                if let Some(side) = side {
                    neighbours[here as usize][side] = there;
                }
            }
        }
        let mut corners_of_points = vec![(NONE, 0); rest.len()];
        for (index, triangle) in triangles.iter().enumerate().filter(|(_, triangle)| !is_collapsed(**triangle)) {
            for (corner, &point) in triangle.iter().enumerate() {
                corners_of_points[point as usize] = (index as u32, corner as u8);
            }
        }
        let mut is_border = vec![false; rest.len()];
        for (triangle, neighbours) in triangles.iter().zip(&neighbours) {
            for side in (0..3).filter(|&side| neighbours[side] == NONE) {
                is_border[triangle[side] as usize] = true;
                is_border[triangle[(side + 1) % 3] as usize] = true;
            }
        }
        let (triangles, rest, rings) = (triangles.to_vec(), rest.to_vec(), edges.point_neighbours());
        let insets = insets(&rest, &triangles, &rings, &is_border);
        Self { triangles, neighbours, rest, rings, insets, corners_of_points, non_manifold }
    }

    /// Corners of a triangle.
    pub(super) fn corners(&self, triangle: u32, points: &[Vec3]) -> [Vec3; 3] {
        self.triangles[triangle as usize].map(|point| points[point as usize])
    }

    /// Positions, each displaced inwards by its offset.
    pub(super) fn inset(&self, positions: &[Vec3], normals: &[Vec3]) -> Vec<Vec3> {
        let points = positions.iter().zip(normals).zip(&self.insets);
        points.map(|((&position, &normal), &inset)| position - normal * inset).collect()
    }

    /// Side of folds of `radius` at each point: 1 along the normal, −1 if the cloth is concave. On the inner side of a
    /// bend folds would reduce the area and intersect each other.
    pub(super) fn sides(&self, positions: &[Vec3], normals: &[Vec3], radius: f32) -> Vec<f32> {
        let curvature = |point: usize| {
            let to = |&other: &u32| {
                let way = positions[other as usize] - positions[point];
                (normals[other as usize] - normals[point]).dot(way) / way.length_squared().max(f32::MIN_POSITIVE)
            };
            let ring = self.rings.of(point);
            ring.iter().map(to).sum::<f32>() / ring.len().max(1) as f32
        };
        let mut curvatures: Vec<f32> = (0..positions.len()).map(curvature).collect();
        for _ in 0..CURVATURE_SMOOTHING_PASSES {
            curvatures = (0..curvatures.len()).map(|point| averaged(&curvatures, self, point)).collect();
        }
        let side = |curvature: f32| {
            let t = (curvature * radius / CONCAVE_CURVATURE + 1.0).clamp(0.0, 1.0);
            2.0 * t * t * (3.0 - 2.0 * t) - 1.0
        };
        curvatures.into_iter().map(side).collect()
    }

    /// Position of a location on the rest shape.
    pub(super) fn rest_of(&self, location: SurfacePoint) -> Vec3 {
        location.blend(&self.triangles, &self.rest)
    }

    /// Location of a point; `None` if it has no triangle.
    pub(super) fn location_of(&self, point: usize) -> Option<SurfacePoint> {
        let (triangle, corner) = self.corners_of_points[point];
        let mut weights = [0.0; 3];
        weights[corner as usize] = 1.0;
        (triangle != NONE).then_some(SurfacePoint { triangle, weights })
    }

    /// Crosses the side of `location` opposite to `corner`; `None` at the boundary of the cloth.
    pub(super) fn cross(&self, location: SurfacePoint, corner: usize) -> Option<SurfacePoint> {
        let side = (corner + 1) % 3;
        let next = self.neighbours[location.triangle as usize][side];
        let from = self.triangles[location.triangle as usize];
        let to = self.triangles.get(next as usize)?;
        let weight_of =
            |point: u32| (0..3).find(|&k| k != corner && from[k] == point).map_or(0.0, |k| location.weights[k]);
        Some(SurfacePoint { triangle: next, weights: to.map(weight_of) })
    }

    /// Walks from `location` over the rest shape towards `target`. Stops at the target or at the boundary of the
    /// cloth.
    pub(super) fn walk_to(&self, mut location: SurfacePoint, target: Vec3) -> SurfacePoint {
        for _ in 0..MAX_WALK {
            let Some(wanted) = barycentric(self.corners(location.triangle, &self.rest), target) else {
                return location;
            };
            let change: [f32; 3] = std::array::from_fn(|k| wanted[k] - location.weights[k]);
            let (part, corner) = exit(location.weights, change);
            if part >= 1.0 {
                return SurfacePoint { weights: wanted.map(|weight| weight.max(0.0)), ..location };
            }
            location = advance(location, change, part, corner);
            let Some(next) = self.cross(location, corner) else { return location };
            // Returning immediately would alternate across the edge between two steep triangles.
            let ahead = barycentric(self.corners(next.triangle, &self.rest), target);
            let opposite = (0..3).find(|&k| next.weights[k] == 0.0);
            if ahead.zip(opposite).is_some_and(|(ahead, opposite)| ahead[opposite] <= 0.0) {
                return next;
            }
            location = next;
        }
        location
    }
}

fn insets(rest: &[Vec3], triangles: &[[u32; 3]], rings: &Lists, is_border: &[bool]) -> Vec<f32> {
    let normals = point_normals(rest, triangles);
    let inset = |point: usize| {
        let ring = rings.of(point);
        if is_border[point] || ring.is_empty() {
            return 0.0;
        }
        let around = ring.iter().map(|&other| rest[other as usize]).sum::<Vec3>() / ring.len() as f32;
        INSET * (rest[point] - around).dot(normals[point])
    };
    (0..rest.len()).map(inset).collect()
}

/// Step along `change` at which a barycentric coordinate becomes 0, and the corner of that coordinate.
pub(super) fn exit(weights: [f32; 3], change: [f32; 3]) -> (f32, usize) {
    let mut first = (f32::INFINITY, 0);
    for corner in 0..3 {
        if change[corner] < 0.0 {
            let part = (weights[corner] / -change[corner]).max(0.0);
            if part < first.0 {
                first = (part, corner);
            }
        }
    }
    first
}

/// Moves `location` along `change` until the coordinate of `corner` is 0.
pub(super) fn advance(location: SurfacePoint, change: [f32; 3], part: f32, corner: usize) -> SurfacePoint {
    let mut weights: [f32; 3] = std::array::from_fn(|k| (location.weights[k] + part * change[k]).max(0.0));
    weights[corner] = 0.0;
    let sum: f32 = weights.iter().sum();
    SurfacePoint { weights: weights.map(|weight| if sum > 0.0 { weight / sum } else { 1.0 / 3.0 }), ..location }
}

/// Barycentric coordinates of the projection of `point` onto the plane of a triangle; `None` if it is degenerate.
pub(super) fn barycentric([a, b, c]: [Vec3; 3], point: Vec3) -> Option<[f32; 3]> {
    let (u, v, w) = (b - a, c - a, point - a);
    let (uu, uv, vv, wu, wv) = (u.dot(u), u.dot(v), v.dot(v), w.dot(u), w.dot(v));
    let determinant = uu * vv - uv * uv;
    if determinant <= 1e-10 * uu * vv {
        return None;
    }
    let (y, z) = ((wu * vv - wv * uv) / determinant, (wv * uu - wu * uv) / determinant);
    Some([1.0 - y - z, y, z])
}
