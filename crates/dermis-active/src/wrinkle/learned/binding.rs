//! Correspondence between a coarse cloth and the fine cloth of learned folds, by their rest shapes.

use dermis_math::polar::polar_rotation;
use dermis_mesh::adjacency::{Edges, Lists};
use dermis_mesh::geometry::point_normals;
use dermis_mesh::surface_tree::{SurfaceTree, barycentric};
use glam::{DMat3, DQuat, DVec3, Vec3};

use super::FoldsError;

/// Mean distance between the rest shapes, relative to the diagonal, above which they are different garments.
const MAX_DISTANCE: f64 = 0.03;
/// Smoothing passes of the rotations of the coarse cloth.
const ROTATION_PASSES: usize = 2;

/// Point of a triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Location {
    pub(super) corners: [u32; 3],
    pub(super) weights: [f64; 3],
}

impl Location {
    pub(super) fn blend(&self, points: &[DVec3]) -> DVec3 {
        (0..3).map(|k| points[self.corners[k] as usize] * self.weights[k]).sum()
    }
}

/// Locations of the fine cloth on a coarse one, and the reverse.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    /// Locations of the points of the fine cloth on the coarse one.
    pub(super) points: Vec<Location>,
    /// Locations of the control points on the coarse cloth.
    pub(super) controls: Vec<Location>,
    /// Locations of the points of the coarse cloth on the fine one; `None` for points without triangles.
    pub(super) anchors: Vec<Option<Location>>,
    rest: Vec<DVec3>,
    rest_normals: Vec<DVec3>,
    neighbours: Lists,
    triangles: Vec<[u32; 3]>,
}

/// A frame of the coarse cloth, transferred to the fine one.
#[derive(Debug, Clone)]
pub(super) struct Posed {
    /// Points of the coarse cloth.
    pub(super) coarse: Vec<DVec3>,
    /// Points of the fine cloth on the triangles of the coarse one.
    pub(super) points: Vec<DVec3>,
    /// Rotation of the coarse cloth at each point of the fine one.
    pub(super) rotations: Vec<DQuat>,
    /// Control points.
    pub(super) controls: Vec<DVec3>,
}

/// Rest shape of a cloth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cloth<'a> {
    pub(super) rest: &'a [Vec3],
    pub(super) triangles: &'a [[u32; 3]],
}

impl Binding {
    pub(super) fn new(coarse: Cloth<'_>, fine: Cloth<'_>, controls: &[Vec3]) -> Result<Self, FoldsError> {
        if coarse.triangles.is_empty() || fine.triangles.is_empty() {
            return Err(FoldsError::NoTriangles);
        }
        let (on_coarse, on_fine) = (Locator::new(coarse), Locator::new(fine));
        let mut used = vec![false; coarse.rest.len()];
        coarse.triangles.iter().flatten().for_each(|&point| used[point as usize] = true);
        let points: Vec<(Location, f64)> = fine.rest.iter().filter_map(|&point| on_coarse.locate(point)).collect();
        let mean_of = |found: &[(Location, f64)]| {
            found.iter().map(|(_, distance)| distance).sum::<f64>() / found.len().max(1) as f64
        };
        // In both directions: a small sheet is near to every larger one of the same plane.
        let used_points = coarse.rest.iter().zip(&used).filter(|(_, used)| **used);
        let back: Vec<(Location, f64)> = used_points.filter_map(|(point, _)| on_fine.locate(*point)).collect();
        let mean = mean_of(&points).max(mean_of(&back));
        let diagonal = diagonal(fine.rest);
        // A distance that is not a number is not near.
        let is_near = mean <= MAX_DISTANCE * diagonal;
        if !is_near || points.len() != fine.rest.len() {
            return Err(FoldsError::OtherCloth { percent: 100.0 * mean / diagonal });
        }
        let anchor =
            |(point, used): (&Vec3, &bool)| used.then(|| on_fine.locate(*point)).flatten().map(|found| found.0);
        let normals = point_normals(coarse.rest, coarse.triangles);
        Ok(Self {
            points: points.into_iter().map(|(location, _)| location).collect(),
            controls: controls.iter().filter_map(|&point| on_coarse.locate(point)).map(|found| found.0).collect(),
            anchors: coarse.rest.iter().zip(&used).map(anchor).collect(),
            rest: on_coarse.points,
            rest_normals: normals.iter().map(|normal| normal.as_dvec3()).collect(),
            neighbours: Edges::new(coarse.rest.len(), coarse.triangles).point_neighbours(),
            triangles: coarse.triangles.to_vec(),
        })
    }

    /// Transfers a frame of the coarse cloth to the fine one.
    pub(super) fn pose(&self, positions: &[Vec3]) -> Posed {
        let coarse: Vec<DVec3> = positions.iter().map(|point| point.as_dvec3()).collect();
        let rotations = self.rotations(positions, &coarse);
        let blend = |location: &Location| {
            let [first, second, third] = location.corners.map(|corner| rotations[corner as usize]);
            let aligned = |other: DQuat| if first.dot(other) < 0.0 { -other } else { other };
            let [a, b, c] = location.weights;
            (first * a + aligned(second) * b + aligned(third) * c).normalize()
        };
        Posed {
            points: self.points.iter().map(|location| location.blend(&coarse)).collect(),
            controls: self.controls.iter().map(|location| location.blend(&coarse)).collect(),
            rotations: self.points.iter().map(blend).collect(),
            coarse,
        }
    }

    /// Smoothed rotation of the coarse cloth at its points, relative to the rest shape.
    fn rotations(&self, positions: &[Vec3], coarse: &[DVec3]) -> Vec<DQuat> {
        let normals = point_normals(positions, &self.triangles);
        let of_point = |point: usize| {
            let (mut sum, mut size) = (DMat3::ZERO, 0.0);
            for &other in self.neighbours.of(point) {
                let (now, rest) =
                    (coarse[other as usize] - coarse[point], self.rest[other as usize] - self.rest[point]);
                sum += outer(now, rest);
                size += rest.length_squared();
            }
            // The edges alone do not determine the side of flat cloth.
            polar_rotation(sum + outer(normals[point].as_dvec3(), self.rest_normals[point]) * (0.5 * size))
        };
        let mut rotations: Vec<DMat3> = (0..coarse.len()).map(of_point).collect();
        for _ in 0..ROTATION_PASSES {
            let mean = |point: usize| {
                let ring = self.neighbours.of(point).iter();
                polar_rotation(ring.fold(rotations[point], |sum, &other| sum + rotations[other as usize]))
            };
            rotations = (0..coarse.len()).map(mean).collect();
        }
        rotations.iter().map(DQuat::from_mat3).collect()
    }
}

/// Finds the triangle nearest to a point.
struct Locator<'a> {
    tree: SurfaceTree,
    points: Vec<DVec3>,
    triangles: &'a [[u32; 3]],
}

impl<'a> Locator<'a> {
    fn new(cloth: Cloth<'a>) -> Self {
        let points: Vec<DVec3> = cloth.rest.iter().map(|point| point.as_dvec3()).collect();
        Self { tree: SurfaceTree::new(&points, cloth.triangles), points, triangles: cloth.triangles }
    }

    /// Location nearest to `point`, and its distance.
    fn locate(&self, point: Vec3) -> Option<(Location, f64)> {
        let nearest = self.tree.nearest(point.as_dvec3())?;
        let corners = self.triangles[nearest.triangle as usize];
        let weights = barycentric(corners.map(|corner| self.points[corner as usize]), nearest.point);
        Some((Location { corners, weights }, nearest.distance))
    }
}

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Length of the diagonal of the bounding box.
fn diagonal(points: &[Vec3]) -> f64 {
    let start = (Vec3::splat(f32::INFINITY), Vec3::splat(f32::NEG_INFINITY));
    let (low, high) = points.iter().fold(start, |(low, high), &point| (low.min(point), high.max(point)));
    f64::from((high - low).length())
}
