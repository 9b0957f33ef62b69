//! Tetrahedra between a point and the faces around it, and optimization of the position of that point.

use std::cell::Cell;

use glam::DVec3;

use super::complex::Complex;

/// Minimum improvement of a step.
const MIN_GAIN: f64 = 2e-5;
/// Number of steps of the search.
const STEPS: usize = 10;

/// Faces around a point, counter-clockwise as seen from it.
#[derive(Debug, Clone, Default)]
pub(super) struct Cone {
    faces: Vec<Base>,
    /// Face of the last worst tetrahedron, which is likely to be the worst again.
    worst_face: Cell<usize>,
}

/// Face of a tetrahedron opposite its point, with quantities that do not depend on that point.
#[derive(Debug, Clone, Copy)]
struct Base {
    corners: [DVec3; 3],
    normal: DVec3,
    /// Squared lengths of the sides opposite the corners, divided by the squared length of the normal.
    sides: [f64; 3],
}

impl Base {
    fn new([a, b, c]: [DVec3; 3]) -> Self {
        let normal = (b - a).cross(c - a);
        let inverse = 1.0 / normal.length_squared();
        let sides = [b.distance_squared(c), c.distance_squared(a), a.distance_squared(b)].map(|side| side * inverse);
        Self { corners: [a, b, c], normal, sides }
    }

    /// Smallest sine of the dihedral angles with the point at `at`, or -1 if the tetrahedron is inverted.
    fn smallest_sine(&self, at: DVec3) -> f64 {
        let [a, b, c] = self.corners.map(|corner| corner - at);
        let volume = -self.normal.dot(a);
        if volume.is_nan() || volume <= 0.0 {
            return -1.0;
        }
        let inverse = [b.cross(c), c.cross(a), a.cross(b)].map(|normal| 1.0 / normal.length_squared());
        let [i, j, k] = inverse;
        let base = (self.sides[0] * i).min(self.sides[1] * j).min(self.sides[2] * k);
        let apex = (a.length_squared() * j * k).min(b.length_squared() * k * i).min(c.length_squared() * i * j);
        let sine = volume * base.min(apex).sqrt();
        if sine.is_finite() { sine } else { -1.0 }
    }
}

impl Cone {
    pub(super) fn new(complex: &Complex, faces: impl Iterator<Item = [u32; 3]>) -> Self {
        let faces = faces.map(|face| Base::new(face.map(|corner| complex.point(corner)))).collect();
        Self { faces, worst_face: Cell::default() }
    }

    /// Creates the cone of the faces of a star that are opposite its centre `point`.
    pub(super) fn of_star(complex: &Complex, star: &[u32], point: u32) -> Self {
        let opposite = |&tet: &u32| complex.corner_of(tet, point).map(|slot| complex.face(tet, slot));
        Self::new(complex, star.iter().filter_map(opposite))
    }

    pub(super) fn push(&mut self, face: [DVec3; 3]) {
        self.faces.push(Base::new(face));
    }

    /// Quality of the worst tetrahedron with the point at `at`. Below `sufficient` the result is only an upper bound.
    pub(super) fn quality(&self, at: DVec3, sufficient: f64) -> f64 {
        let Some(face) = self.faces.get(self.worst_face.get()) else { return f64::MAX };
        let mut worst = face.smallest_sine(at);
        for (index, face) in self.faces.iter().enumerate() {
            if worst < sufficient {
                break;
            }
            let sine = face.smallest_sine(at);
            if sine < worst {
                worst = sine;
                self.worst_face.set(index);
            }
        }
        worst
    }

    fn corners(&self) -> impl Iterator<Item = DVec3> + '_ {
        self.faces.iter().flat_map(|face| face.corners)
    }

    /// Mean distance of the corners from `at`.
    pub(super) fn reach(&self, at: DVec3) -> f64 {
        let total: f64 = self.corners().map(|corner| corner.distance(at)).sum();
        total / (3 * self.faces.len()).max(1) as f64
    }

    /// Improves the position `start` of the given quality by a pattern search; returns the position and its quality.
    ///
    /// The search stops when the quality is `sufficient`.
    pub(super) fn improved(&self, start: DVec3, quality: f64, sufficient: f64) -> (DVec3, f64) {
        let (mut best, mut best_quality) = (start, quality);
        let middle = self.corners().sum::<DVec3>() / (3 * self.faces.len()).max(1) as f64;
        let mut step = 0.3 * self.reach(start);
        let mut last = DVec3::ZERO;
        for _ in 0..STEPS {
            if best_quality >= sufficient {
                break;
            }
            let axes = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y, DVec3::Z, DVec3::NEG_Z];
            // The last successful direction is tried first.
            let directions = [last, self.lift(best), middle - best].into_iter().chain(axes);
            let moved = |direction: DVec3| (direction, rounded(best + direction.normalize_or_zero() * step));
            let better =
                directions.filter(|direction| *direction != DVec3::ZERO).map(moved).find_map(|(direction, at)| {
                    let quality = self.quality(at, best_quality + MIN_GAIN);
                    (quality > best_quality + MIN_GAIN).then_some((direction, at, quality))
                });
            match better {
                Some(found) => (last, best, best_quality) = found,
                None => step /= 2.0,
            }
        }
        (best, best_quality)
    }

    /// Direction away from the face of the worst tetrahedron.
    fn lift(&self, at: DVec3) -> DVec3 {
        let rated = self.faces.iter().map(|face| (face.smallest_sine(at), face.normal));
        rated.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(DVec3::ZERO, |(_, normal)| normal)
    }
}

/// Position rounded to the precision in which it is stored.
pub(super) fn rounded(position: DVec3) -> DVec3 {
    position.as_vec3().as_dvec3()
}

#[cfg(test)]
mod tests {
    use super::super::quality::smallest_sine;
    use super::*;

    #[test]
    fn smallest_sine_of_a_base_matches_its_tetrahedron() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::new(0.3, 2.0, 0.1)];
        let [a, b, c] = corners;
        for at in [DVec3::new(0.2, 0.4, 0.7), DVec3::new(-1.0, 0.1, 0.01), DVec3::new(0.0, 3.0, 5.0)] {
            assert!((Base::new(corners).smallest_sine(at) - smallest_sine([a, b, c, at])).abs() < 1e-12);
        }
        assert!(Base::new(corners).smallest_sine(DVec3::NEG_Z) < 0.0);
    }

    #[test]
    fn improved_point_is_near_the_center_of_a_cone() {
        let [a, b, c, d] =
            [DVec3::ONE, DVec3::new(-1.0, -1.0, 1.0), DVec3::new(-1.0, 1.0, -1.0), DVec3::new(1.0, -1.0, -1.0)];
        let mut cone = Cone::default();
        for face in [[a, b, c], [a, d, b], [a, c, d], [b, d, c]] {
            cone.push(face);
        }
        let start = DVec3::new(0.3, 0.2, -0.1);
        let (at, quality) = cone.improved(start, cone.quality(start, f64::MIN), 1.0);
        assert!(at.length() < start.length() / 5.0 && quality > cone.quality(start, f64::MIN), "{at} {quality}");
    }
}
