//! Noise of a refined rest pose relative to the given one.

use dermis_mesh::adjacency::Edges;
use dermis_mesh::geometry::triangle_normals;
use glam::{DVec3, Vec3};

/// Roughness of a rest pose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RestNoise {
    /// `Σ_i ‖p_i − mean_j p_j‖²` over the neighbours j of each point, relative to that of the given pose.
    pub rest_energy_ratio: f64,
    /// Number of triangles whose normal is reversed relative to the given pose.
    pub flipped_rest_triangles: usize,
}

/// Compares the points `rest` with the `given` ones.
pub fn rest_noise(given: &[Vec3], rest: &[Vec3], triangles: &[[u32; 3]]) -> RestNoise {
    let neighbours = Edges::new(given.len(), triangles).point_neighbours();
    let energy = |points: &[Vec3]| -> f64 {
        let mean = |around: &[u32]| around.iter().map(|&other| points[other as usize].as_dvec3()).sum::<DVec3>();
        let around = neighbours.iter().enumerate().filter(|(_, around)| !around.is_empty());
        around.map(|(point, list)| (points[point].as_dvec3() - mean(list) / list.len() as f64).length_squared()).sum()
    };
    let (before, after) = (energy(given), energy(rest));
    let normals = triangle_normals(given, triangles).into_iter().zip(triangle_normals(rest, triangles));
    RestNoise {
        rest_energy_ratio: if before > 0.0 { after / before } else { 1.0 },
        flipped_rest_triangles: normals.filter(|(before, after)| before.dot(*after) < 0.0).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_pose_has_no_noise_and_reversed_triangles_are_counted() {
        let given = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 0.0)];
        let triangles = [[0, 1, 2], [1, 3, 2]];
        let moved = given.map(|p| p + Vec3::Z);
        let noise = rest_noise(&given, &moved, &triangles);
        assert!((noise.rest_energy_ratio - 1.0).abs() < 1e-6 && noise.flipped_rest_triangles == 0);
        let turned = [given[0], given[1], given[2], Vec3::new(0.2, 0.2, 0.0)];
        assert_eq!(rest_noise(&given, &turned, &triangles).flipped_rest_triangles, 1);
    }
}
