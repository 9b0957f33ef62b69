//! Quality of tetrahedra: dihedral angles and conditioning.
//!
//! The sine of the dihedral angle at the edge between faces k and l is `3/2 · V · length / (Aₖ Aₗ)`. The smallest of
//! the six sines rates a tetrahedron because it penalizes small and large angles alike (Shewchuk 2002: 0 is flat, 0.94
//! regular). Conditioning is `κ = Σ Aᵢ² / V^(4/3)`, scaled to 1 for the regular tetrahedron. The trace of a Laplace
//! element grows with it, and so does the number of conjugate-gradient iterations.

use glam::DVec3;

/// Number of bins of the histogram of dihedral angles, 10° each.
pub const ANGLE_BINS: usize = 18;

/// Quality of a tetrahedral mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TetQuality {
    /// Smallest dihedral angle, in degrees.
    pub smallest_dihedral_degrees: f64,
    /// Largest dihedral angle, in degrees.
    pub largest_dihedral_degrees: f64,
    /// Mean over all tetrahedra of the smallest dihedral angle, in degrees.
    pub mean_smallest_dihedral_degrees: f64,
    /// Number of tetrahedra per 10° of their smallest dihedral angle.
    pub histogram: [usize; ANGLE_BINS],
    /// Number of tetrahedra with a dihedral angle below 10° or above 170°.
    pub slivers: usize,
    /// Largest conditioning: 1 for a regular tetrahedron, unbounded for a flat one.
    pub worst_conditioning: f64,
    /// Mean conditioning.
    pub mean_conditioning: f64,
}

/// Measures the quality of `tetrahedra`. All angles are 0 if there are none.
pub fn measure_quality(nodes: &[glam::Vec3], tetrahedra: &[[u32; 4]]) -> TetQuality {
    let mut quality = TetQuality {
        smallest_dihedral_degrees: if tetrahedra.is_empty() { 0.0 } else { 180.0 },
        largest_dihedral_degrees: 0.0,
        mean_smallest_dihedral_degrees: 0.0,
        histogram: [0; ANGLE_BINS],
        slivers: 0,
        worst_conditioning: 0.0,
        mean_conditioning: 0.0,
    };
    for tet in tetrahedra {
        let corners = tet.map(|node| nodes[node as usize].as_dvec3());
        let angles = dihedral_angles(corners);
        let smallest = angles.iter().copied().fold(180.0, f64::min);
        let largest = angles.iter().copied().fold(0.0, f64::max);
        quality.smallest_dihedral_degrees = quality.smallest_dihedral_degrees.min(smallest);
        quality.largest_dihedral_degrees = quality.largest_dihedral_degrees.max(largest);
        quality.mean_smallest_dihedral_degrees += smallest / tetrahedra.len() as f64;
        quality.histogram[((smallest / 10.0) as usize).min(ANGLE_BINS - 1)] += 1;
        quality.slivers += usize::from(smallest < 10.0 || largest > 170.0);
        let conditioning = conditioning(corners);
        quality.worst_conditioning = quality.worst_conditioning.max(conditioning);
        quality.mean_conditioning += conditioning / tetrahedra.len() as f64;
    }
    quality
}

/// The six dihedral angles, in degrees.
fn dihedral_angles(corners: [DVec3; 4]) -> [f64; 6] {
    let normals = face_normals(corners);
    PAIRS.map(|[k, l]| {
        let (sine, cosine) = (normals[k].cross(normals[l]).length(), -normals[k].dot(normals[l]));
        sine.atan2(cosine).to_degrees()
    })
}

/// Pairs of faces. Each pair has the indices of the corners opposite to its faces.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// Twice the outward area vector of the face opposite each corner.
fn face_normals([a, b, c, d]: [DVec3; 4]) -> [DVec3; 4] {
    [(c - b).cross(d - b), (d - a).cross(c - a), (b - a).cross(d - a), (c - a).cross(b - a)]
}

/// Sum of squared face areas over `V^(4/3)`, scaled to 1 for the regular tetrahedron.
fn conditioning(corners: [DVec3; 4]) -> f64 {
    let areas: f64 = face_normals(corners).iter().map(|n| n.length_squared() / 4.0).sum();
    let volume = six_volumes(corners).abs() / 6.0;
    // Edge length 1 gives four faces of area √3/4 and the volume √2/12.
    let regular = 0.75 / (2.0_f64.sqrt() / 12.0).powf(4.0 / 3.0);
    if volume > 0.0 { areas / volume.powf(4.0 / 3.0) / regular } else { f64::INFINITY }
}

fn six_volumes([a, b, c, d]: [DVec3; 4]) -> f64 {
    (b - a).cross(c - a).dot(d - a)
}

/// Smallest sine of the dihedral angles; negative if the tetrahedron is inverted.
pub(super) fn smallest_sine(corners: [DVec3; 4]) -> f64 {
    let volume = six_volumes(corners);
    let normals = face_normals(corners);
    let inverse = normals.map(|n| 1.0 / n.length_squared());
    // Faces k and l share the edge between the other two corners.
    const EDGES: [[usize; 2]; 6] = [[2, 3], [1, 3], [1, 2], [0, 3], [0, 2], [0, 1]];
    let mut smallest = f64::MAX;
    for ([k, l], [i, j]) in PAIRS.into_iter().zip(EDGES) {
        smallest = smallest.min(corners[i].distance_squared(corners[j]) * inverse[k] * inverse[l]);
    }
    let sine = volume * smallest.sqrt();
    if sine.is_finite() { sine } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regular() -> [DVec3; 4] {
        [DVec3::ONE, DVec3::new(-1.0, -1.0, 1.0), DVec3::new(-1.0, 1.0, -1.0), DVec3::new(1.0, -1.0, -1.0)]
    }

    #[test]
    fn regular_tetrahedron_has_known_angles_and_conditioning_one() {
        let corners = regular();
        let expected = (1.0_f64 / 3.0).acos().to_degrees();
        assert!(dihedral_angles(corners).iter().all(|angle| (angle - expected).abs() < 1e-12));
        assert!((conditioning(corners) - 1.0).abs() < 1e-12);
        let sine = smallest_sine(corners).abs();
        assert!((sine - expected.to_radians().sin()).abs() < 1e-12, "{sine}");
    }

    #[test]
    fn smallest_sine_matches_the_dihedral_angles() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::new(0.3, 2.0, 0.1), DVec3::new(0.2, 0.4, 0.7)];
        let smallest = dihedral_angles(corners).iter().map(|a| a.to_radians().sin()).fold(1.0, f64::min);
        assert!((smallest_sine(corners) - smallest).abs() < 1e-12);
        let [a, b, c, d] = corners;
        assert!((smallest_sine([b, a, c, d]) + smallest).abs() < 1e-12);
    }
}
