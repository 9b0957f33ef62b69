//! The tetrahedra between one point and the faces around it, and where that point is best.

use glam::DVec3;

use super::complex::Complex;
use super::quality::smallest_sine;

/// A gain that is worth a step.
const LEAST_GAIN: f64 = 2e-5;
/// Steps of the search.
const STEPS: usize = 10;

/// Faces around a point, each turning around it.
#[derive(Debug, Clone, Default)]
pub(super) struct Cone {
    faces: Vec<[DVec3; 3]>,
}

impl Cone {
    pub(super) fn new(complex: &Complex, faces: impl Iterator<Item = [u32; 3]>) -> Self {
        Self { faces: faces.map(|face| face.map(|corner| complex.point(corner))).collect() }
    }

    /// The faces of a star that are opposite its centre `point`.
    pub(super) fn of_star(complex: &Complex, star: &[u32], point: u32) -> Self {
        let opposite = |&tet: &u32| complex.corner_of(tet, point).map(|slot| complex.face(tet, slot));
        Self::new(complex, star.iter().filter_map(opposite))
    }

    pub(super) fn push(&mut self, face: [DVec3; 3]) {
        self.faces.push(face);
    }

    /// The quality of the worst tetrahedron with the point at `at`; below `enough` it may be worse in truth.
    pub(super) fn quality(&self, at: DVec3, enough: f64) -> f64 {
        let mut worst = f64::MAX;
        for &[a, b, c] in &self.faces {
            worst = worst.min(smallest_sine([a, b, c, at]));
            if worst < enough {
                break;
            }
        }
        worst
    }

    /// The mean distance of the corners from `at`.
    pub(super) fn reach(&self, at: DVec3) -> f64 {
        let total: f64 = self.faces.iter().flatten().map(|corner| corner.distance(at)).sum();
        total / (3 * self.faces.len()).max(1) as f64
    }

    /// A position that is better than `start`, of the given quality, by a pattern search, and its quality.
    pub(super) fn improved(&self, start: DVec3, quality: f64) -> (DVec3, f64) {
        let (mut best, mut best_quality) = (start, quality);
        let corners = self.faces.iter().flatten();
        let middle = corners.sum::<DVec3>() / (3 * self.faces.len()).max(1) as f64;
        let mut step = 0.3 * self.reach(start);
        for _ in 0..STEPS {
            let axes = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y, DVec3::Z, DVec3::NEG_Z];
            let ways = [middle - best, self.lift(best)].into_iter().chain(axes);
            let better = ways.map(|way| place(best + way.normalize_or_zero() * step)).find_map(|at| {
                let quality = self.quality(at, best_quality + LEAST_GAIN);
                (quality > best_quality + LEAST_GAIN).then_some((at, quality))
            });
            match better {
                Some(found) => (best, best_quality) = found,
                None => step /= 2.0,
            }
        }
        (best, best_quality)
    }

    /// The way off the face of the worst tetrahedron.
    fn lift(&self, at: DVec3) -> DVec3 {
        let rated = self.faces.iter().map(|&[a, b, c]| (smallest_sine([a, b, c, at]), (b - a).cross(c - a)));
        rated.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(DVec3::ZERO, |(_, way)| way)
    }
}

/// A position as it will be stored.
pub(super) fn place(position: DVec3) -> DVec3 {
    position.as_vec3().as_dvec3()
}
