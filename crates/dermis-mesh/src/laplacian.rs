//! Cotangent Laplacian and Voronoi areas of points.
//!
//! `L` is the stiffness matrix of linear finite elements (Pinkall & Polthier 1993): `L_ij = −½ (cot α + cot β)` for an
//! edge with opposite angles α and β, and rows sum to 0. It is symmetric and **positive** semi-definite: `xᵀ L x` is the
//! Dirichlet energy `∫ |∇x|²`, so `−M⁻¹ L` is the Laplace operator and `M⁻¹ L p = 2 H n` is the mean curvature normal.
//! `M` is the diagonal matrix of mixed Voronoi areas (Meyer et al. 2003, section 3.3), which sum to the surface area.
//!
//! Cotangents are computed as `dot / |cross|` in f64. Degenerate triangles are skipped and counted. Entries are added in
//! the order of the triangles, so `L` is exactly symmetric.

use dermis_math::sparse::SparseMatrix;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::geometry::{corners, unit_normal};

/// Discrete Laplacian of a surface; see [`laplacian`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Laplacian {
    /// Stiffness matrix `L`: symmetric, positive semi-definite, rows sum to 0.
    pub stiffness: SparseMatrix,
    /// Area of each point, the diagonal of `M`; zero for points without a proper triangle.
    pub mass: Vec<f64>,
    /// Number of triangles skipped because they are degenerate.
    pub skipped_triangles: usize,
}

/// Cotangent Laplacian of `triangles`.
pub fn laplacian(points: &[Vec3], triangles: &[[u32; 3]]) -> Laplacian {
    let elements: Vec<Option<Element>> =
        triangles.par_iter().with_min_len(1024).map(|&triangle| Element::of(corners(points, triangle))).collect();
    let mut diagonal = vec![0.0; points.len()];
    let mut mass = vec![0.0; points.len()];
    let mut entries = Vec::with_capacity(6 * triangles.len() + points.len());
    for (triangle, element) in triangles.iter().zip(&elements) {
        let Some(element) = element else { continue };
        for k in 0..3 {
            let [at, i, j] = [0, 1, 2].map(|step| triangle[(k + step) % 3]);
            let weight = 0.5 * element.cotangents[k]; // ½ cot α
            entries.extend([(i, j, -weight), (j, i, -weight)]);
            diagonal[i as usize] += weight;
            diagonal[j as usize] += weight;
            mass[at as usize] += element.areas[k];
        }
    }
    entries.extend(diagonal.iter().enumerate().map(|(point, &value)| (point as u32, point as u32, value)));
    Laplacian {
        stiffness: SparseMatrix::from_triplets(points.len(), points.len(), &entries),
        mass,
        skipped_triangles: elements.iter().filter(|element| element.is_none()).count(),
    }
}

/// Contribution of one triangle at its corners.
struct Element {
    cotangents: [f64; 3],
    areas: [f64; 3],
}

impl Element {
    fn of([a, b, c]: [DVec3; 3]) -> Option<Self> {
        unit_normal([a, b, c])?;
        let double_area = (b - a).cross(c - a).length();
        let sides = [c - b, a - c, b - a];
        let dots = [0, 1, 2].map(|k| -sides[(k + 1) % 3].dot(sides[(k + 2) % 3]));
        let cotangents = dots.map(|dot| dot / double_area);
        let areas = match dots.iter().position(|&dot| dot < 0.0) {
            Some(obtuse) => [0, 1, 2].map(|k| if k == obtuse { double_area / 4.0 } else { double_area / 8.0 }),
            // Meyer et al., Eq. 7: each side contributes half to both ends, weighted by its opposite cotangent.
            None => [(1, 2), (2, 0), (0, 1)].map(|(j, k)| {
                (sides[j].length_squared() * cotangents[j] + sides[k].length_squared() * cotangents[k]) / 8.0
            }),
        };
        Some(Self { cotangents, areas })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::geometry::total_area;
    use crate::test_shapes::{cube, grid, sphere};

    fn positions(points: &[Vec3]) -> Vec<DVec3> {
        points.iter().map(|point| point.as_dvec3()).collect()
    }

    #[test]
    fn linear_functions_are_harmonic_in_a_plane() {
        let (mut points, triangles) = grid(9);
        // Uneven cells and a tilted plane: harmonicity must not depend on either.
        for point in &mut points {
            point.x += 0.3 * (point.y * 2.0).sin() * (point.x * 0.7).sin();
            point.z = 0.5 * point.x - 0.25 * point.y;
        }
        let laplace = laplacian(&points, &triangles);
        let image = laplace.stiffness.multiply(&positions(&points));
        let inside = |point: usize| (1..9).contains(&(point % 10)) && (1..9).contains(&(point / 10));
        for point in (0..100).filter(|&point| inside(point)) {
            // f32 rounding leaves the points 1e-6 off their plane.
            assert!(image[point].length() < 1e-5, "{} at {point}", image[point]);
        }
    }

    #[test]
    fn the_mean_curvature_normal_of_a_unit_sphere_is_twice_its_normal() {
        let (points, triangles) = sphere(4);
        let laplace = laplacian(&points, &triangles);
        let image = laplace.stiffness.multiply(&positions(&points));
        for (point, (value, mass)) in points.iter().zip(image.iter().zip(&laplace.mass)) {
            let found = *value / *mass;
            assert!(found.distance(2.0 * point.as_dvec3()) < 0.05, "{found} at {point}");
        }
    }

    #[test]
    fn degenerate_triangles_are_skipped_and_counted() {
        let (points, mut triangles) = cube();
        let clean = laplacian(&points, &triangles);
        triangles.extend([[0, 0, 1], [2, 2, 2]]);
        let laplace = laplacian(&points, &triangles);
        assert_eq!(laplace.skipped_triangles, 2);
        assert_eq!((laplace.stiffness, laplace.mass), (clean.stiffness, clean.mass));
    }

    #[test]
    fn points_without_triangles_have_empty_rows() {
        let laplace = laplacian(&[Vec3::ZERO, Vec3::ONE], &[]);
        assert_eq!(laplace.mass, [0.0, 0.0]);
        assert_eq!(laplace.stiffness.diagonal(), [0.0, 0.0]);
    }

    fn soup() -> impl Strategy<Value = (Vec<Vec3>, Vec<[u32; 3]>)> {
        let points = proptest::collection::vec(proptest::array::uniform3(-4.0..4.0_f32).prop_map(Vec3::from), 8);
        (points, proptest::collection::vec(proptest::array::uniform3(0..8_u32), 1..20))
    }

    proptest! {
        #[test]
        fn rows_sum_to_zero_and_the_matrix_is_symmetric((points, triangles) in soup()) {
            let stiffness = laplacian(&points, &triangles).stiffness;
            let largest = stiffness.diagonal().into_iter().fold(1.0, f64::max);
            for sum in stiffness.multiply(&[1.0; 8]) {
                prop_assert!(sum.abs() <= 1e-13 * largest);
            }
            prop_assert_eq!(stiffness.transpose(), stiffness);
        }

        #[test]
        fn the_energy_is_non_negative(
            (points, triangles) in soup(), x in proptest::collection::vec(-1.0..1.0_f64, 8)
        ) {
            let stiffness = laplacian(&points, &triangles).stiffness;
            let energy: f64 = stiffness.multiply(&x).iter().zip(&x).map(|(y, x)| x * y).sum();
            let largest = stiffness.diagonal().into_iter().fold(1.0, f64::max);
            prop_assert!(energy >= -1e-13 * largest);
        }

        #[test]
        fn the_energy_of_positions_is_twice_the_area_and_the_masses_sum_to_the_area((points, triangles) in soup()) {
            let laplace = laplacian(&points, &triangles);
            let area = total_area(&points, &triangles);
            let x = positions(&points);
            let energy: f64 = laplace.stiffness.multiply(&x).iter().zip(&x).map(|(y, x)| x.dot(*y)).sum();
            let largest = laplace.stiffness.diagonal().into_iter().fold(1.0, f64::max);
            // Slivers have large cotangents, whose rounding error propagates to the energy.
            prop_assert!((energy - 2.0 * area).abs() <= 1e-10 * (largest + area));
            prop_assert!((laplace.mass.iter().sum::<f64>() - area).abs() <= 1e-10 * (largest + area));
            prop_assert!(laplace.mass.iter().all(|&mass| mass >= 0.0));
        }
    }
}
