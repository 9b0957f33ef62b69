//! Smoothing of values over the skin, `d ← (I + δ L) d` (Kim et al. 2017, Algorithm 2, line 4).
//!
//! L is the cotangent Laplacian of the surface with negative weights left out and each row divided by its diagonal: a step
//! moves each value by δ towards the mean of its neighbours, in the units of no mesh, and leaves no range for 0 ≤ δ ≤ 1.

use dermis_mesh::laplacian::laplacian;
use glam::Vec3;

/// Options of [`smooth`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothOptions {
    /// How far a value moves towards the mean of its neighbours, from 0 to 1.
    pub delta: f64,
    /// How often.
    pub rounds: usize,
}

impl Default for SmoothOptions {
    fn default() -> Self {
        Self { delta: 0.5, rounds: 3 }
    }
}

/// The values of points, smoothed over `triangles`; points in `pinned` keep theirs.
///
/// # Panics
/// If there is not one value and one pin per point, or a triangle names a point that does not exist.
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

    /// A strip of squares along x, a point at each corner.
    fn strip(length: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let points = (0..2 * length + 2).map(|k| Vec3::new((k / 2) as f32, (k % 2) as f32, 0.0)).collect();
        let square = |k: u32| [[2 * k, 2 * k + 2, 2 * k + 3], [2 * k, 2 * k + 3, 2 * k + 1]];
        (points, (0..length).flat_map(square).collect())
    }

    #[test]
    fn a_step_is_softened_within_its_range_and_pins_stay() {
        let (points, triangles) = strip(9);
        let values: Vec<f64> = points.iter().map(|point| if point.x < 4.5 { 1.0 } else { 2.0 }).collect();
        let pinned: Vec<bool> = points.iter().map(|point| point.x == 4.0).collect();
        let found = smooth(&points, &triangles, &values, &pinned, &SmoothOptions::default());
        assert!(found.iter().all(|value| (1.0..=2.0).contains(value)));
        assert_eq!(&found[8..10], [1.0, 1.0]);
        assert!(found[10] < 1.9 && found[10] > 1.0 && found[19] > found[10]);
    }

    #[test]
    fn equal_values_and_lonely_points_stay() {
        let (mut points, triangles) = strip(3);
        points.push(Vec3::splat(9.0));
        let options = SmoothOptions { delta: 1.0, rounds: 5 };
        let found = smooth(&points, &triangles, &vec![1.5; points.len()], &vec![false; points.len()], &options);
        assert!(found.iter().all(|value| (value - 1.5).abs() < 1e-12));
    }
}
