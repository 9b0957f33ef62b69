//! Compression of the cloth and direction of its folds (§4.1).
//!
//! The map from a rest triangle to the deformed one, `T = [u₁ u₂][ū₁ ū₂]⁻¹`, stretches by the eigenvalues of
//! `U = √(TᵀT)`. If the smaller eigenvalue λ is below 1, the cloth is compressed by `1 − λ` and folds run along the
//! other eigenvector w. Eigenvectors have no sign, so the tensors `(1 − λ) w wᵀ` are averaged at the points, weighted
//! by area, and smoothed.

use glam::{Mat2, Mat3, Vec2, Vec3};
use rayon::prelude::*;

use super::surface::Surface;

/// Number of smoothing passes; the compression of a coarse simulation is noisy from triangle to triangle.
const SMOOTHING_PASSES: usize = 2;

/// Rest triangles, as inverse edge matrices and areas; `None` for a triangle without area.
#[derive(Debug, Clone)]
pub(super) struct RestTriangles {
    inverse_edges: Vec<Option<Mat2>>,
    pub(super) point_areas: Vec<f32>,
    areas: Vec<f32>,
    pub(super) degenerate: usize,
}

/// Compression at each point.
#[derive(Debug, Clone, Default)]
pub(super) struct Compression {
    /// Averaged tensors `(1 − λ) w wᵀ`.
    pub(super) tensors: Vec<Mat3>,
    /// Traces of the tensors: the mean of `1 − λ`.
    pub(super) amounts: Vec<f32>,
    /// Fraction of the area around each point that is lost; negative if the area has grown.
    pub(super) losses: Vec<f32>,
}

impl RestTriangles {
    /// Computes the inverse edge matrices from the corners of each rest triangle.
    pub(super) fn new(corners: impl Iterator<Item = [Vec3; 3]>, surface: &Surface) -> Self {
        let inverse = |[a, b, c]: [Vec3; 3]| {
            let (u, v) = (b - a, c - a);
            let along = u.length();
            let x = u / along;
            let height = v.reject_from(x).length();
            let edges = Mat2::from_cols(Vec2::new(along, 0.0), Vec2::new(v.dot(x), height));
            let sound = along > 0.0 && height > 1e-5 * along.max(v.length()) && edges.inverse().is_finite();
            (sound.then(|| edges.inverse()), if sound { 0.5 * along * height } else { 0.0 })
        };
        let (inverse_edges, areas): (Vec<_>, Vec<f32>) = corners.map(inverse).unzip();
        let mut point_areas = vec![0.0; surface.rest.len()];
        for (triangle, area) in surface.triangles.iter().zip(&areas) {
            for &point in triangle {
                point_areas[point as usize] += area / 3.0;
            }
        }
        let degenerate = inverse_edges.iter().filter(|edges| edges.is_none()).count();
        Self { inverse_edges, point_areas, areas, degenerate }
    }

    /// Area of the rest shape.
    pub(super) fn total_area(&self) -> f64 {
        self.areas.iter().map(|area| f64::from(*area)).sum()
    }
}

/// Compression of `positions` relative to the rest triangles.
pub(super) fn compression(surface: &Surface, rest: &RestTriangles, positions: &[Vec3]) -> Compression {
    let tensors: Vec<Mat3> = (0..surface.triangles.len())
        .into_par_iter()
        .with_min_len(512)
        .map(|triangle| {
            let corners = surface.corners(triangle as u32, positions);
            rest.inverse_edges[triangle].map_or(Mat3::ZERO, |inverse| fold_tensor(corners, inverse))
        })
        .collect();
    let mut sums = vec![Mat3::ZERO; surface.rest.len()];
    for ((triangle, tensor), area) in surface.triangles.iter().zip(&tensors).zip(&rest.areas) {
        for &point in triangle {
            sums[point as usize] += *tensor * (area / 3.0);
        }
    }
    let mut tensors: Vec<Mat3> = sums
        .iter()
        .zip(&rest.point_areas)
        .map(|(sum, &area)| if area > 0.0 { *sum * (1.0 / area) } else { Mat3::ZERO })
        .collect();
    let mut losses = losses(surface, rest, positions);
    for _ in 0..SMOOTHING_PASSES {
        tensors = (0..tensors.len()).map(|point| averaged(&tensors, surface, point)).collect();
        losses = (0..losses.len()).map(|point| averaged(&losses, surface, point)).collect();
    }
    let amounts = tensors.iter().map(trace).collect();
    Compression { tensors, amounts, losses }
}

/// Fraction of the area around each point that is lost.
fn losses(surface: &Surface, rest: &RestTriangles, positions: &[Vec3]) -> Vec<f32> {
    let mut losses = rest.point_areas.clone();
    for (triangle, &area) in surface.triangles.iter().zip(&rest.areas).filter(|(_, area)| **area > 0.0) {
        let [a, b, c] = triangle.map(|point| positions[point as usize]);
        // A triangle of more than twice its rest area is an artefact of the simulation.
        let now = (0.5 * (b - a).cross(c - a).length()).min(2.0 * area);
        for &point in triangle {
            losses[point as usize] -= now / 3.0;
        }
    }
    losses.iter().zip(&rest.point_areas).map(|(lost, &area)| if area > 0.0 { lost / area } else { 0.0 }).collect()
}

/// Mean of the value of a point and those of its neighbours.
pub(super) fn averaged<T>(values: &[T], surface: &Surface, point: usize) -> T
where
    T: Copy + std::ops::Add<Output = T> + std::ops::Mul<f32, Output = T>,
{
    let ring = surface.rings.of(point);
    let Some((&first, others)) = ring.split_first() else { return values[point] };
    let sum = others.iter().fold(values[first as usize], |sum, &other| sum + values[other as usize]);
    values[point] * 0.5 + sum * (0.5 / ring.len() as f32)
}

/// Tensor `(1 − λ) w wᵀ` of one triangle; zero if it is not compressed.
fn fold_tensor([a, b, c]: [Vec3; 3], inverse: Mat2) -> Mat3 {
    let (u, v) = (b - a, c - a);
    let x = u * inverse.x_axis.x + v * inverse.x_axis.y;
    let y = u * inverse.y_axis.x + v * inverse.y_axis.y;
    let (xx, xy, yy) = (x.dot(x), x.dot(y), y.dot(y));
    let (mean, half) = (0.5 * (xx + yy), 0.5 * (xx - yy));
    let apart = half.hypot(xy);
    let lambda = (mean - apart).max(0.0).sqrt();
    let (sine, cosine) = (0.5 * xy.atan2(half)).sin_cos();
    let along = (x * cosine + y * sine).normalize_or_zero();
    outer(along) * (1.0 - lambda).max(0.0)
}

pub(super) fn outer(along: Vec3) -> Mat3 {
    Mat3::from_cols(along * along.x, along * along.y, along * along.z)
}

pub(super) fn trace(tensor: &Mat3) -> f32 {
    tensor.x_axis.x + tensor.y_axis.y + tensor.z_axis.z
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let points = (0..36u32).map(|k| Vec3::new((k % 6) as f32, (k / 6) as f32, 0.0)).collect();
        let cells = (0..25u32).map(|k| (k % 5) + 6 * (k / 5));
        (points, cells.flat_map(|a| [[a, a + 1, a + 7], [a, a + 7, a + 6]]).collect())
    }

    #[test]
    fn folds_run_across_the_compression_by_its_amount() {
        let (points, triangles) = grid();
        let surface = Surface::new(&points, &triangles);
        let rest = RestTriangles::new(triangles.iter().map(|t| t.map(|p| points[p as usize])), &surface);
        let pushed: Vec<Vec3> = points.iter().map(|p| Vec3::new(0.8 * p.x, 1.1 * p.y, 0.0)).collect();
        let found = compression(&surface, &rest, &pushed);
        for (tensor, amount) in found.tensors.iter().zip(&found.amounts) {
            assert!((amount - 0.2).abs() < 1e-5, "{amount}");
            assert!(tensor.abs_diff_eq(outer(Vec3::Y) * 0.2, 1e-5), "{tensor}");
        }
    }

    #[test]
    fn stretched_and_degenerate_triangles_are_not_compressed() {
        let (points, mut triangles) = grid();
        triangles.push([0, 1, 2]);
        let surface = Surface::new(&points, &triangles);
        let rest = RestTriangles::new(triangles.iter().map(|t| t.map(|p| points[p as usize])), &surface);
        assert_eq!(rest.degenerate, 1);
        let pulled: Vec<Vec3> = points.iter().map(|p| *p * 1.3).collect();
        assert!(compression(&surface, &rest, &pulled).amounts.iter().all(|amount| *amount == 0.0));
    }
}
