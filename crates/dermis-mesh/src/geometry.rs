//! Areas and normals of triangles and points.
//!
//! Computed in f64 from f32 positions. The normal of a point is the sum of the unit normals of its triangles, weighted by
//! the angle at the point (Thürmer & Wüthrich 1998): unlike weighting by area, it does not depend on the triangulation of
//! flat regions. Degenerate triangles have no normal and are skipped.

use dermis_math::sum::sum;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Twice the area, relative to the square of the longest side, at or below which a triangle is degenerate: f32
/// coordinates resolve 6e-8 of their size, so the normal of a thinner triangle is rounding noise.
const DEGENERATE: f64 = 1e-8;
/// Triangles per block of weighted corner normals, which bounds the memory.
const BLOCK: usize = 1 << 14;

/// Area of each triangle.
pub fn triangle_areas(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    triangles.par_iter().with_min_len(1024).map(|&triangle| area_vector(points, triangle).length()).collect()
}

/// Total area of all triangles.
pub fn total_area(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    sum(triangles.len(), |triangle| area_vector(points, triangles[triangle]).length())
}

/// Unit normal of each triangle, for counter-clockwise front faces; zero if the triangle is degenerate.
pub fn triangle_normals(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let normal = |&triangle: &[u32; 3]| unit_normal(corners(points, triangle)).map_or(Vec3::ZERO, DVec3::as_vec3);
    triangles.par_iter().with_min_len(1024).map(normal).collect()
}

/// Unit normal of each point, weighted by the angles of its triangles; zero if all of them are degenerate.
pub fn point_normals(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let mut sums = vec![DVec3::ZERO; points.len()];
    let mut weighted = Vec::new();
    for block in triangles.chunks(BLOCK) {
        block.par_iter().map(|&triangle| corner_normals(corners(points, triangle))).collect_into_vec(&mut weighted);
        for (triangle, normals) in block.iter().zip(&weighted) {
            for (&point, normal) in triangle.iter().zip(normals) {
                sums[point as usize] += normal;
            }
        }
    }
    sums.into_par_iter().with_min_len(1024).map(|sum| sum.normalize_or_zero().as_vec3()).collect()
}

/// Returns true if the corners are collinear within the precision of f32 coordinates.
pub fn is_degenerate([a, b, c]: [Vec3; 3]) -> bool {
    unit_normal([a, b, c].map(Vec3::as_dvec3)).is_none()
}

pub(crate) fn corners(points: &[Vec3], triangle: [u32; 3]) -> [DVec3; 3] {
    triangle.map(|point| points[point as usize].as_dvec3())
}

/// Normal whose length is the area of the triangle.
fn area_vector(points: &[Vec3], triangle: [u32; 3]) -> DVec3 {
    let [a, b, c] = corners(points, triangle);
    (b - a).cross(c - a) * 0.5
}

/// Unit normal; `None` if the triangle is degenerate.
pub(crate) fn unit_normal([a, b, c]: [DVec3; 3]) -> Option<DVec3> {
    let cross = (b - a).cross(c - a);
    let longest = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
    let length = cross.length();
    (length > DEGENERATE * longest).then(|| cross / length)
}

/// Unit normal times the angle at each corner; zero if the triangle is degenerate.
fn corner_normals([a, b, c]: [DVec3; 3]) -> [DVec3; 3] {
    let Some(normal) = unit_normal([a, b, c]) else {
        return [DVec3::ZERO; 3];
    };
    // atan2 is accurate near 0° and 180°, while the arc cosine loses half its digits there.
    let angle = |u: DVec3, v: DVec3| u.cross(v).length().atan2(u.dot(v));
    [angle(b - a, c - a), angle(c - b, a - b), angle(a - c, b - c)].map(|angle| normal * angle)
}

#[cfg(test)]
mod tests {
    use glam::Quat;
    use proptest::prelude::*;

    use super::*;
    use crate::test_shapes::{cube, grid, sphere};

    #[test]
    fn areas_of_a_cube_and_a_grid_are_exact() {
        let (points, triangles) = cube();
        assert_eq!(triangle_areas(&points, &triangles), [0.5; 12]);
        assert_eq!(total_area(&points, &triangles), 6.0);
        let (points, triangles) = grid(70);
        assert_eq!(total_area(&points, &triangles), 4900.0);
    }

    #[test]
    fn corner_normals_of_a_cube_follow_its_diagonals_for_any_triangulation() {
        let (points, triangles) = cube();
        for (point, normal) in points.iter().zip(point_normals(&points, &triangles)) {
            assert!(normal.distance(point.normalize()) < 1e-6, "{normal} at {point}");
        }
    }

    #[test]
    fn normals_of_a_sphere_are_radial() {
        let (points, triangles) = sphere(5);
        // Along the edges of the octahedron triangles change size abruptly: the error is a tenth of their size.
        for (point, normal) in points.iter().zip(point_normals(&points, &triangles)) {
            assert!(normal.distance(*point) < 1e-2, "{normal} at {point}");
        }
    }

    #[test]
    fn degenerate_triangles_have_no_area_and_do_not_affect_normals() {
        let points = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X * 2.0, Vec3::ONE * 7.0];
        let triangles = [[0, 1, 2], [0, 1, 3], [1, 1, 2], [4, 4, 4]];
        assert_eq!(triangle_areas(&points, &triangles), [0.5, 0.0, 0.0, 0.0]);
        assert_eq!(triangle_normals(&points, &triangles), [Vec3::Z, Vec3::ZERO, Vec3::ZERO, Vec3::ZERO]);
        assert_eq!(point_normals(&points, &triangles), [Vec3::Z, Vec3::Z, Vec3::Z, Vec3::ZERO, Vec3::ZERO]);
    }

    #[test]
    fn tiny_and_huge_triangles_have_normals() {
        for scale in [1e-38, 1e-20, 1e18, 1e38] {
            let points = [Vec3::ZERO, Vec3::X * scale, Vec3::Y * scale];
            assert_eq!(point_normals(&points, &[[0, 1, 2]]), [Vec3::Z; 3], "at {scale:e}");
        }
    }

    proptest! {
        #[test]
        fn area_is_invariant_under_rotation(angles in proptest::array::uniform3(-3.0..3.0_f32)) {
            let (mut points, triangles) = sphere(2);
            let area = total_area(&points, &triangles);
            let rotation = Quat::from_rotation_x(angles[0]) * Quat::from_rotation_y(angles[1]) * Quat::from_rotation_z(angles[2]);
            for point in &mut points {
                *point = rotation * *point;
            }
            prop_assert!((total_area(&points, &triangles) / area - 1.0).abs() < 1e-6);
        }

        #[test]
        fn normals_are_unit_or_zero(
            points in proptest::collection::vec(proptest::array::uniform3(-2..2_i8), 6..7),
            triangles in proptest::collection::vec(proptest::array::uniform3(0..6_u32), 0..20),
        ) {
            let points: Vec<Vec3> = points.iter().map(|p| Vec3::from(p.map(f32::from))).collect();
            for normal in point_normals(&points, &triangles).into_iter().chain(triangle_normals(&points, &triangles)) {
                prop_assert!(normal == Vec3::ZERO || (normal.length() - 1.0).abs() < 1e-6, "{normal}");
            }
        }
    }
}
