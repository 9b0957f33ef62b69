//! The cloth as a surface to walk on: triangles with their neighbours, and places on them.
//!
//! A place is a triangle and barycentric coordinates, so it stays on the same thread of the cloth while that moves.
//! Distances between wrinkles are measured on the rest shape, where no two layers lie on each other.

use dermis_mesh::adjacency::{Edges, Lists, is_collapsed};
use dermis_mesh::geometry::point_normals;
use glam::Vec3;

use super::stretch::averaged;

/// No neighbour: the cloth ends there, or more than two triangles meet.
pub(super) const NONE: u32 = u32::MAX;
/// Triangles that a walk crosses at most; longer ones come from broken input.
const LONGEST_WALK: usize = 64;

/// How far points sink, as a part of their distance to the mean of their neighbours: an eighth on a sphere, a sixth on a
/// cylinder, keeps the area (equilateral triangles of side e deviate from radius R by e²/16R and e²/24R).
const SINK: f32 = 1.0 / 7.0;

/// The mean bend, in radii of folds, from which on folds have gone to the other side.
const HOLLOW: f32 = 0.3;
/// Averages over neighbours of the bend.
const SIDE_SMOOTHINGS: usize = 2;

/// A place on the cloth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    /// The triangle.
    pub triangle: u32,
    /// How near it is to each corner.
    pub weights: [f32; 3],
}

impl Spot {
    /// The value at this place of something that is known at the points.
    pub fn blend<T>(&self, triangles: &[[u32; 3]], values: &[T]) -> T
    where
        T: Copy + std::ops::Mul<f32, Output = T> + std::ops::Add<Output = T>,
    {
        let [a, b, c] = triangles[self.triangle as usize].map(|point| values[point as usize]);
        a * self.weights[0] + b * self.weights[1] + c * self.weights[2]
    }
}

/// A cubic patch over a triangle whose sides leave the corners along their tangent planes, so that the cloth is round
/// between its points (Vlachos et al. 2001).
#[derive(Debug, Clone, Copy)]
pub(super) struct Patch {
    corners: [Vec3; 3],
    /// Three times the two control points of each side, from the corner on at which it starts.
    sides: [[Vec3; 2]; 3],
    /// Six times the control point in the middle.
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

    /// The place at barycentric coordinates.
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
    /// The triangle across the side that starts at each corner.
    neighbours: Vec<[u32; 3]>,
    pub(super) rest: Vec<Vec3>,
    pub(super) rings: Lists,
    /// How far each point lies inside where the rest shape is round, so that patches over it are as large as its triangles:
    /// patches over points of a ball, or a tube, lie outside the triangles.
    sinks: Vec<f32>,
    /// The triangle in which each point is found, and which corner it is; `NONE` where it has none.
    pub(super) homes: Vec<(u32, u8)>,
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
        let mut homes = vec![(NONE, 0); rest.len()];
        for (index, triangle) in triangles.iter().enumerate().filter(|(_, triangle)| !is_collapsed(**triangle)) {
            for (corner, &point) in triangle.iter().enumerate() {
                homes[point as usize] = (index as u32, corner as u8);
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
        let sinks = sinks(&rest, &triangles, &rings, &is_border);
        Self { triangles, neighbours, rest, rings, sinks, homes, non_manifold }
    }

    /// The corners of a triangle.
    pub(super) fn corners(&self, triangle: u32, points: &[Vec3]) -> [Vec3; 3] {
        self.triangles[triangle as usize].map(|point| points[point as usize])
    }

    /// The points, each as far inside as it sinks.
    pub(super) fn sunk(&self, positions: &[Vec3], normals: &[Vec3]) -> Vec<Vec3> {
        let points = positions.iter().zip(normals).zip(&self.sinks);
        points.map(|((&position, &normal), &sink)| position - normal * sink).collect()
    }

    /// To which side folds of `radius` go at each point: 1 along the normal, −1 where the cloth is hollow, since in the
    /// inside of a bend they would make it smaller instead of larger, and run into each other.
    pub(super) fn sides(&self, positions: &[Vec3], normals: &[Vec3], radius: f32) -> Vec<f32> {
        let bend = |point: usize| {
            let to = |&other: &u32| {
                let way = positions[other as usize] - positions[point];
                (normals[other as usize] - normals[point]).dot(way) / way.length_squared().max(f32::MIN_POSITIVE)
            };
            let ring = self.rings.of(point);
            ring.iter().map(to).sum::<f32>() / ring.len().max(1) as f32
        };
        let mut bends: Vec<f32> = (0..positions.len()).map(bend).collect();
        for _ in 0..SIDE_SMOOTHINGS {
            bends = (0..bends.len()).map(|point| averaged(&bends, self, point)).collect();
        }
        let side = |bend: f32| {
            let t = (bend * radius / HOLLOW + 1.0).clamp(0.0, 1.0);
            2.0 * t * t * (3.0 - 2.0 * t) - 1.0
        };
        bends.into_iter().map(side).collect()
    }

    /// Where a place lies on the rest shape.
    pub(super) fn rest_of(&self, spot: Spot) -> Vec3 {
        spot.blend(&self.triangles, &self.rest)
    }

    /// The place at a point; `None` where no triangle has it.
    pub(super) fn spot_of(&self, point: usize) -> Option<Spot> {
        let (triangle, corner) = self.homes[point];
        let mut weights = [0.0; 3];
        weights[corner as usize] = 1.0;
        (triangle != NONE).then_some(Spot { triangle, weights })
    }

    /// Crosses the side of `spot` whose opposite weight has run out; `None` at the cloth's end.
    pub(super) fn cross(&self, spot: Spot, corner: usize) -> Option<Spot> {
        let side = (corner + 1) % 3;
        let next = self.neighbours[spot.triangle as usize][side];
        let from = self.triangles[spot.triangle as usize];
        let to = self.triangles.get(next as usize)?;
        let weight_of = |point: u32| (0..3).find(|&k| k != corner && from[k] == point).map_or(0.0, |k| spot.weights[k]);
        Some(Spot { triangle: next, weights: to.map(weight_of) })
    }

    /// Walks from `spot` over the rest shape towards `target`; ends at it, or where the cloth ends.
    pub(super) fn walk_to(&self, mut spot: Spot, target: Vec3) -> Spot {
        for _ in 0..LONGEST_WALK {
            let Some(wanted) = barycentric(self.corners(spot.triangle, &self.rest), target) else { return spot };
            let change: [f32; 3] = std::array::from_fn(|k| wanted[k] - spot.weights[k]);
            let (part, corner) = exit(spot.weights, change);
            if part >= 1.0 {
                return Spot { weights: wanted.map(|weight| weight.max(0.0)), ..spot };
            }
            spot = advance(spot, change, part, corner);
            let Some(next) = self.cross(spot, corner) else { return spot };
            // Coming back at once would be a standstill on an edge between steep triangles.
            let ahead = barycentric(self.corners(next.triangle, &self.rest), target);
            let opposite = (0..3).find(|&k| next.weights[k] == 0.0);
            if ahead.zip(opposite).is_some_and(|(ahead, opposite)| ahead[opposite] <= 0.0) {
                return next;
            }
            spot = next;
        }
        spot
    }
}

fn sinks(rest: &[Vec3], triangles: &[[u32; 3]], rings: &Lists, is_border: &[bool]) -> Vec<f32> {
    let normals = point_normals(rest, triangles);
    let sink = |point: usize| {
        let ring = rings.of(point);
        if is_border[point] || ring.is_empty() {
            return 0.0;
        }
        let around = ring.iter().map(|&other| rest[other as usize]).sum::<Vec3>() / ring.len() as f32;
        SINK * (rest[point] - around).dot(normals[point])
    };
    (0..rest.len()).map(sink).collect()
}

/// How far `weights` go along `change` before one runs out, and which.
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

/// `spot` moved along `change` until the weight of `corner` is 0.
pub(super) fn advance(spot: Spot, change: [f32; 3], part: f32, corner: usize) -> Spot {
    let mut weights: [f32; 3] = std::array::from_fn(|k| (spot.weights[k] + part * change[k]).max(0.0));
    weights[corner] = 0.0;
    let sum: f32 = weights.iter().sum();
    Spot { weights: weights.map(|weight| if sum > 0.0 { weight / sum } else { 1.0 / 3.0 }), ..spot }
}

/// The coordinates of the point of a triangle's plane that is nearest to `point`; `None` where it is degenerate.
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
