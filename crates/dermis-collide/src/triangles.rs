//! Intersection of two triangles by the separating axis theorem (Gottschalk, Lin & Manocha 1996).
//!
//! Two triangles are disjoint if and only if their projections onto one of these axes are disjoint: the normals, the
//! cross products of their edges, and, for parallel triangles, the normals of the edges in the plane. The axis with the
//! smallest overlap is the direction of the shortest translation that separates the two.

use glam::DVec3;

/// Sine of an angle below which two directions count as parallel.
const PARALLEL: f64 = 1e-9;

/// Shortest translation that separates two triangles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Overlap {
    /// Unit vector from the second to the first triangle.
    pub(crate) normal: DVec3,
    /// Length of the translation of the first triangle.
    pub(crate) depth: f64,
}

/// Overlap of two triangles; `None` if they are disjoint.
pub(crate) fn overlap(a: &[DVec3; 3], b: &[DVec3; 3]) -> Option<Overlap> {
    let edges = |t: &[DVec3; 3]| [t[1] - t[0], t[2] - t[1], t[0] - t[2]];
    let (of_a, of_b) = (edges(a), edges(b));
    let (normal_a, normal_b) = (of_a[0].cross(of_a[1]), of_b[0].cross(of_b[1]));
    let (squares_a, squares_b) = (of_a.map(DVec3::length_squared), of_b.map(DVec3::length_squared));
    let mut best = Shortest { axis: DVec3::Y, square: f64::INFINITY };
    if !best.test(a, b, normal_a, squares_a[0] * squares_a[1])
        || !best.test(a, b, normal_b, squares_b[0] * squares_b[1])
    {
        return None;
    }
    for (x, square_x) in of_a.into_iter().zip(squares_a) {
        for (y, square_y) in of_b.into_iter().zip(squares_b) {
            if !best.test(a, b, x.cross(y), square_x * square_y) {
                return None;
            }
        }
    }
    let (normal_square_a, normal_square_b) = (normal_a.length_squared(), normal_b.length_squared());
    if normal_a.cross(normal_b).length_squared() <= PARALLEL * normal_square_a * normal_square_b {
        for (normal, normal_square, edges, squares) in
            [(normal_a, normal_square_a, of_a, squares_a), (normal_b, normal_square_b, of_b, squares_b)]
        {
            for (edge, square) in edges.into_iter().zip(squares) {
                if !best.test(a, b, normal.cross(edge), normal_square * square) {
                    return None;
                }
            }
        }
    }
    best.square.is_finite().then(|| Overlap { normal: best.axis.normalize_or(DVec3::Y), depth: best.square.sqrt() })
}

/// Axis with the smallest overlap so far. Axes are normalized only at the end: most pairs are disjoint.
struct Shortest {
    axis: DVec3,
    /// Square of the overlap along the unit axis.
    square: f64,
}

impl Shortest {
    /// Returns false if the projections of the triangles onto `axis` are disjoint. An axis whose square is close to 0,
    /// relative to `scale`, is ignored.
    fn test(&mut self, a: &[DVec3; 3], b: &[DVec3; 3], axis: DVec3, scale: f64) -> bool {
        let length_squared = axis.length_squared();
        if length_squared <= PARALLEL * PARALLEL * scale {
            return true;
        }
        let [from, to] = [a, b].map(|t| {
            let along = t.map(|corner| corner.dot(axis));
            (along[0].min(along[1]).min(along[2]), along[0].max(along[1]).max(along[2]))
        });
        let (up, down) = (to.1 - from.0, from.1 - to.0);
        let depth = up.min(down);
        if depth < 0.0 {
            return false;
        }
        let square = depth * depth / length_squared;
        if square < self.square {
            *self = Self { axis: if up <= down { axis } else { -axis }, square };
        }
        true
    }
}

/// Middle of the intersection of two triangles that overlap: the mean of the points at which edges of one cross the
/// other, or the mean of all corners if they only touch.
pub(crate) fn middle(a: &[DVec3; 3], b: &[DVec3; 3]) -> DVec3 {
    let (mut sum, mut count) = (DVec3::ZERO, 0.0);
    for (edges, triangle) in [(a, b), (b, a)] {
        for corner in 0..3 {
            let (from, to) = (edges[corner], edges[(corner + 1) % 3]);
            if let Some(t) = crossing(from, to - from, triangle, 1.0) {
                sum += from.lerp(to, t);
                count += 1.0;
            }
        }
    }
    if count > 0.0 { sum / count } else { (a.iter().sum::<DVec3>() + b.iter().sum::<DVec3>()) / 6.0 }
}

/// Multiple of `direction`, from 0 to `limit`, at which the ray from `origin` hits a triangle (Möller & Trumbore 1997).
pub(crate) fn crossing(origin: DVec3, direction: DVec3, [a, b, c]: &[DVec3; 3], limit: f64) -> Option<f64> {
    let (ab, ac) = (*b - *a, *c - *a);
    let across = direction.cross(ac);
    let determinant = ab.dot(across);
    let from = origin - *a;
    let u = from.dot(across) / determinant;
    let over = from.cross(ab);
    let v = direction.dot(over) / determinant;
    let t = ac.dot(over) / determinant;
    // If the ray is in the plane of the triangle, the values are NaN and the comparisons are false.
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t >= 0.0 && t <= limit).then_some(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAT: [DVec3; 3] = [DVec3::ZERO, DVec3::X, DVec3::Y];

    fn moved(by: DVec3) -> [DVec3; 3] {
        FLAT.map(|corner| corner + by)
    }

    #[test]
    fn a_triangle_that_pokes_through_another_is_separated_along_the_shortest_way() {
        let poking = [DVec3::new(0.2, 0.2, -0.1), DVec3::new(0.3, 0.2, 1.0), DVec3::new(0.2, 0.3, 1.0)];
        let found = overlap(&poking, &FLAT).unwrap();
        assert!((found.depth - 0.1).abs() < 1e-12 && found.normal.distance(DVec3::Z) < 1e-12, "{found:?}");
        let reversed = overlap(&FLAT, &poking).unwrap();
        assert!(reversed.normal.distance(-found.normal) < 1e-12);
        assert!(middle(&poking, &FLAT).z.abs() < 1e-12);
    }

    #[test]
    fn coplanar_triangles_meet_only_if_they_overlap() {
        assert!(overlap(&FLAT, &moved(DVec3::new(0.2, 0.2, 0.0))).is_some());
        assert!(overlap(&FLAT, &moved(DVec3::new(0.8, 0.8, 0.0))).is_none());
        assert!(overlap(&FLAT, &moved(DVec3::Z * 1e-6)).is_none());
    }

    #[test]
    fn degenerate_triangles_do_not_fail() {
        let point = [DVec3::splat(0.2); 3];
        assert!(overlap(&point, &moved(DVec3::splat(5.0))).is_none());
        let _ = overlap(&point, &point);
    }
}
