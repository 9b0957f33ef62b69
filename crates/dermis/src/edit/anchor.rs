//! Anchors: the locations on the old surface from which new points take their values.
//!
//! A new point takes the values at the nearest location on the old surface, interpolated linearly in its triangle. If
//! several triangles are equally near, such as both sides of closed lips, the one whose normal agrees best is used.

use dermis_mesh::SkinWeights;
use dermis_mesh::geometry::triangle_normals;
use dermis_mesh::glam::{DVec3, Vec3};
use dermis_mesh::surface_tree::{SurfaceTree, barycentric, closest_point};

/// Difference of distances, relative to the diagonal, within which two triangles count as equally near.
const SAME_DISTANCE: f64 = 1e-5;

/// A location on a surface: convex weights of three of its points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Anchor {
    /// The triangle; `u32::MAX` if the location is a point.
    pub(super) triangle: u32,
    /// Corners of the triangle.
    pub(super) points: [u32; 3],
    /// Weights of the corners: non-negative, with a sum of 1.
    pub(super) weights: [f64; 3],
}

impl Anchor {
    /// The location of a point.
    pub(super) fn at(point: usize) -> Self {
        Self { triangle: u32::MAX, points: [point as u32; 3], weights: [1.0, 0.0, 0.0] }
    }

    /// Interpolates vectors.
    pub(super) fn vector(&self, values: &[Vec3]) -> DVec3 {
        self.blend(|point| values[point].as_dvec3())
    }

    /// Interpolates numbers.
    pub(super) fn number(&self, values: &[f32]) -> f32 {
        self.parts().map(|(point, weight)| weight * f64::from(values[point])).sum::<f64>() as f32
    }

    /// Interpolates vectors that a function returns.
    pub(super) fn blend(&self, value: impl Fn(usize) -> DVec3) -> DVec3 {
        self.parts().map(|(point, weight)| weight * value(point)).sum()
    }

    /// Points with a weight above 0, and their weights.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let parts = self.points.iter().zip(self.weights);
        parts.filter(|(_, weight)| *weight > 0.0).map(|(&point, weight)| (point as usize, weight))
    }

    /// Interpolates skin weights, limited to the `max_influences` largest; their sum is preserved.
    pub(super) fn row(&self, weights: &SkinWeights, max_influences: usize) -> Vec<(u32, f32)> {
        let mut row: Vec<(u32, f64)> = Vec::new();
        for (point, corner_weight) in self.parts() {
            row.extend(weights.row(point).map(|(joint, weight)| (joint, corner_weight * f64::from(weight))));
        }
        row.sort_by_key(|(joint, _)| *joint);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        row.retain(|(_, weight)| *weight != 0.0);
        let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
        row.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        row.truncate(max_influences);
        let kept: f64 = row.iter().map(|(_, weight)| weight).sum();
        let scale = if kept == 0.0 { 1.0 } else { sum / kept };
        row.into_iter().map(|(joint, weight)| (joint, (weight * scale) as f32)).collect()
    }
}

/// A surface on which anchors are found.
pub(super) struct Surface<'a> {
    points: Vec<DVec3>,
    triangles: &'a [[u32; 3]],
    normals: Vec<Vec3>,
    tree: SurfaceTree,
    tolerance: f64,
}

impl<'a> Surface<'a> {
    pub(super) fn new(points: &[Vec3], triangles: &'a [[u32; 3]]) -> Self {
        let normals = triangle_normals(points, triangles);
        let points: Vec<DVec3> = points.iter().map(|point| point.as_dvec3()).collect();
        let tree = SurfaceTree::new(&points, triangles);
        let (low, high) = tree.bounds();
        Self { tolerance: SAME_DISTANCE * low.distance(high), points, triangles, normals, tree }
    }

    /// Anchor nearest to `p`, on the side of `normal`, and its distance; `None` without triangles.
    pub(super) fn anchor(&self, p: DVec3, normal: Vec3) -> Option<(Anchor, f64)> {
        let nearest = self.tree.nearest(p)?;
        let reach = DVec3::splat(nearest.distance + self.tolerance);
        let mut near = Vec::new();
        self.tree.in_box(p - reach, p + reach, &mut near);
        near.sort_unstable();
        let distance = |triangle: u32| closest_point(self.corners(triangle), p).distance(p);
        let agreement = |triangle: u32| self.normals[triangle as usize].dot(normal);
        let equally_near = near.into_iter().filter(|&triangle| distance(triangle) <= reach.x);
        let best = equally_near
            .fold(nearest.triangle, |best, other| if agreement(other) > agreement(best) + 1e-3 { other } else { best });
        Some((self.on(best, p), distance(best)))
    }

    /// Anchor in a given triangle nearest to `p`.
    pub(super) fn on(&self, triangle: u32, p: DVec3) -> Anchor {
        let corners = self.corners(triangle);
        let weights = barycentric(corners, closest_point(corners, p));
        Anchor { triangle, points: self.triangles[triangle as usize], weights }
    }

    fn corners(&self, triangle: u32) -> [DVec3; 3] {
        self.triangles[triangle as usize].map(|point| self.points[point as usize])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn coincident_sheets_are_told_apart_by_their_normals() {
        let points = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let triangles = [[0, 1, 2], [0, 2, 1]];
        let surface = Surface::new(&points, &triangles);
        let p = DVec3::new(0.2, 0.2, 0.0);
        assert_eq!(surface.anchor(p, Vec3::Z).unwrap().0.triangle, 0);
        assert_eq!(surface.anchor(p, Vec3::NEG_Z).unwrap().0.triangle, 1);
    }

    proptest! {
        #[test]
        fn convex_weights_stay_convex(
            rows in proptest::collection::vec(proptest::collection::vec((0..9_u32, 0.01..1.0_f32), 1..5), 3),
            corner_weights in proptest::array::uniform3(0.01..1.0_f64), most in 1..6_usize,
        ) {
            let weights = SkinWeights::from_rows(rows).normalized(4);
            let sum: f64 = corner_weights.iter().sum();
            let anchor = Anchor { triangle: 0, points: [0, 1, 2], weights: corner_weights.map(|weight| weight / sum) };
            let row = anchor.row(&weights, most);
            prop_assert!(row.len() <= most && row.iter().all(|(_, weight)| *weight > 0.0));
            prop_assert!((row.iter().map(|(_, weight)| weight).sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}
