//! Smoothing of values over the skin, `d ← (I + δ L) d` (Kim et al. 2017, Algorithm 2, line 4).
//!
//! L is the cotangent Laplacian of the surface without negative weights, each row divided by its diagonal. A step moves
//! each value by the fraction δ towards the weighted mean of its neighbours, independently of the scale of the mesh.
//! Values stay within their range for 0 ≤ δ ≤ 1.

use dermis_mesh::laplacian::laplacian;
use glam::Vec3;

/// Options of [`smooth`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothOptions {
    /// Fraction δ by which a value moves towards the mean of its neighbours, from 0 to 1. Larger smooths more.
    pub delta: f64,
    /// Number of smoothing steps.
    pub rounds: usize,
}

impl Default for SmoothOptions {
    fn default() -> Self {
        Self { delta: 0.5, rounds: 3 }
    }
}

/// Smooths the values of points over `triangles`; `pinned` points keep their values.
///
/// # Panics
/// If the numbers of points, values and pins differ, or a triangle index is out of range.
pub fn smooth(
    points: &[Vec3],
    triangles: &[[u32; 3]],
    values: &[f64],
    pinned: &[bool],
    options: &SmoothOptions,
) -> Vec<f64> {
    assert!(values.len() == points.len() && pinned.len() == points.len(), "one value and one pin per point");
    let stiffness = laplacian(points, triangles).stiffness;
    let mut current = values.to_vec();
    for _ in 0..options.rounds {
        let step = |(point, &value): (usize, &f64)| {
            let neighbours = stiffness.row(point).filter(|&(other, weight)| other as usize != point && weight < 0.0);
            let (sum, size) = neighbours.fold((0.0, 0.0), |(sum, size), (other, weight)| {
                (sum - weight * current[other as usize], size - weight)
            });
            if pinned[point] || size == 0.0 { value } else { value + options.delta * (sum / size - value) }
        };
        current = current.iter().enumerate().map(step).collect();
    }
    current
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of squares along x with a point at each corner.
    fn strip(length: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let points = (0..2 * length + 2).map(|k| Vec3::new((k / 2) as f32, (k % 2) as f32, 0.0)).collect();
        let square = |k: u32| [[2 * k, 2 * k + 2, 2 * k + 3], [2 * k, 2 * k + 3, 2 * k + 1]];
        (points, (0..length).flat_map(square).collect())
    }

    #[test]
    fn smooths_a_step_within_its_range_and_keeps_pinned_values() {
        let (points, triangles) = strip(9);
        let values: Vec<f64> = points.iter().map(|point| if point.x < 4.5 { 1.0 } else { 2.0 }).collect();
        let pinned: Vec<bool> = points.iter().map(|point| point.x == 4.0).collect();
        let found = smooth(&points, &triangles, &values, &pinned, &SmoothOptions::default());
        assert!(found.iter().all(|value| (1.0..=2.0).contains(value)));
        assert_eq!(&found[8..10], [1.0, 1.0]);
        assert!(found[10] < 1.9 && found[10] > 1.0 && found[19] > found[10]);
    }

    #[test]
    fn keeps_equal_values_and_isolated_points() {
        let (mut points, triangles) = strip(3);
        points.push(Vec3::splat(9.0));
        let options = SmoothOptions { delta: 1.0, rounds: 5 };
        let found = smooth(&points, &triangles, &vec![1.5; points.len()], &vec![false; points.len()], &options);
        assert!(found.iter().all(|value| (value - 1.5).abs() < 1e-12));
    }
}
