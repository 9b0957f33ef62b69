//! Volume enclosed by a closed surface: `V = 1/6 Σ a · (b × c)` over its triangles, by the divergence theorem.
//!
//! Positions are taken relative to a point of the shape, in f64, to avoid cancellation far from the origin. The order of
//! summation is fixed. If the surface is not closed, the value depends on that point and is not meaningful; see
//! [`crate::boundary::is_closed`]. Surfaces that face inwards have a negative volume.

use dermis_math::sum::sum;
use glam::{DVec3, DVec4, Vec3};

use crate::geometry::corners;
use crate::shells::Shells;

/// Volume and centroid of a solid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solid {
    /// Enclosed volume; negative if the surface faces inwards.
    pub volume: f64,
    /// Centroid; `None` if the volume is zero.
    pub centroid: Option<DVec3>,
}

/// Volume enclosed by `triangles`.
pub fn volume(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    solid(points, triangles).volume
}

/// Volume enclosed by `triangles`, and its centroid.
pub fn solid(points: &[Vec3], triangles: &[[u32; 3]]) -> Solid {
    let reference = reference(points, triangles);
    let moments = sum(triangles.len(), |triangle| moments(points, triangles[triangle], reference));
    // Divided once, so that a unit cube has the volume 1.
    let volume = moments.w / 6.0;
    let centroid = reference + moments.truncate() / (4.0 * moments.w);
    Solid { volume, centroid: (volume != 0.0 && centroid.is_finite()).then_some(centroid) }
}

/// Volume enclosed by each shell.
pub fn shell_volumes(points: &[Vec3], triangles: &[[u32; 3]], shells: &Shells) -> Vec<f64> {
    let mut references = vec![None; shells.count];
    let mut volumes = vec![0.0; shells.count];
    for (&triangle, &shell) in triangles.iter().zip(&shells.of_triangles) {
        let reference = references[shell as usize].get_or_insert_with(|| corners(points, triangle)[0]);
        volumes[shell as usize] += moments(points, triangle, *reference).w;
    }
    volumes.into_iter().map(|volume: f64| volume / 6.0).collect()
}

fn reference(points: &[Vec3], triangles: &[[u32; 3]]) -> DVec3 {
    triangles.first().map_or(DVec3::ZERO, |&triangle| corners(points, triangle)[0])
}

/// Six times the signed volume of the tetrahedron between `reference` and a triangle (w), and its product with the sum of
/// the corners (xyz).
fn moments(points: &[Vec3], triangle: [u32; 3], reference: DVec3) -> DVec4 {
    let [a, b, c] = corners(points, triangle).map(|corner| corner - reference);
    let volume = a.dot(b.cross(c));
    ((a + b + c) * volume).extend(volume)
}

#[cfg(test)]
mod tests {
    use glam::Quat;
    use proptest::prelude::*;

    use super::*;
    use crate::shells::shells;
    use crate::test_shapes::{beside, cube, sphere};

    fn moved((points, triangles): (Vec<Vec3>, Vec<[u32; 3]>), by: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        (points.into_iter().map(|point| point + by).collect(), triangles)
    }

    #[test]
    fn a_unit_cube_has_volume_one() {
        let (points, triangles) = moved(cube(), Vec3::new(3.0, -2.0, 1.0));
        let solid = solid(&points, &triangles);
        assert!((solid.volume - 1.0).abs() < 1e-15);
        assert!(solid.centroid.unwrap().distance(DVec3::new(3.0, -2.0, 1.0)) < 1e-14);
    }

    #[test]
    fn a_shape_far_from_the_origin_keeps_its_volume() {
        let (points, triangles) = moved(cube(), Vec3::splat(1e6));
        assert!((volume(&points, &triangles) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_volume_of_a_fine_sphere_approaches_that_of_the_ball() {
        let (points, triangles) = sphere(5);
        let ball = 4.0 / 3.0 * std::f64::consts::PI;
        // The inscribed polyhedron is smaller by about the square of the edge length, 1/32 of a right angle.
        assert!((volume(&points, &triangles) / ball - 1.0).abs() < 2e-3);
    }

    #[test]
    fn surfaces_that_face_inwards_have_negative_volume() {
        let (points, mut triangles) = cube();
        for triangle in &mut triangles {
            triangle.swap(1, 2);
        }
        assert!((volume(&points, &triangles) + 1.0).abs() < 1e-15);
    }

    #[test]
    fn shells_are_measured_separately() {
        let (points, triangles) = beside(cube(), moved(sphere(0), Vec3::splat(9.0)));
        let volumes = shell_volumes(&points, &triangles, &shells(points.len(), &triangles));
        assert!((volumes[0] - 1.0).abs() < 1e-15 && (volumes[1] - 4.0 / 3.0).abs() < 1e-14, "{volumes:?}");
    }

    #[test]
    fn shapes_without_volume_have_no_centroid() {
        assert_eq!(solid(&[], &[]), Solid { volume: 0.0, centroid: None });
        assert_eq!(solid(&[Vec3::ZERO, Vec3::X, Vec3::Y], &[[0, 1, 2]]).centroid, None);
    }

    proptest! {
        #[test]
        fn volume_is_invariant_under_rigid_motion(
            angles in proptest::array::uniform3(-3.0..3.0_f32), by in proptest::array::uniform3(-10.0..10.0_f32)
        ) {
            let (mut points, triangles) = sphere(2);
            let before = volume(&points, &triangles);
            let rotation = Quat::from_rotation_x(angles[0]) * Quat::from_rotation_y(angles[1]) * Quat::from_rotation_z(angles[2]);
            for point in &mut points {
                *point = rotation * *point + Vec3::from(by);
            }
            // f32 positions near 10 have a rounding error of 1e-6; the radius is 1.
            prop_assert!((volume(&points, &triangles) / before - 1.0).abs() < 1e-5);
        }

        #[test]
        fn volume_scales_with_the_cube_of_size(scale in 0.01..100.0_f32) {
            let (mut points, triangles) = sphere(2);
            let before = volume(&points, &triangles);
            for point in &mut points {
                *point *= scale;
            }
            prop_assert!((volume(&points, &triangles) / (before * f64::from(scale).powi(3)) - 1.0).abs() < 1e-5);
        }
    }
}
