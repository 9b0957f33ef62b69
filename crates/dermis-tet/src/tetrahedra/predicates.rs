//! Exact geometric predicates: correct signs for every input by adaptive precision (Shewchuk 1997).

use glam::DVec3;
use robust::Coord3D;

fn coordinates(p: DVec3) -> Coord3D<f64> {
    Coord3D { x: p.x, y: p.y, z: p.z }
}

/// Six times the volume of a tetrahedron, with the exact sign: positive if `a`, `b`, `c` are counter-clockwise as seen
/// from `d`.
pub(super) fn orient(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> f64 {
    // The floating-point determinant is used if it exceeds its error bound.
    let (u, v, w) = (a - d, b - d, c - d);
    let (vw, wu, uv) = (v.x * w.y - w.x * v.y, w.x * u.y - u.x * w.y, u.x * v.y - v.x * u.y);
    let determinant = u.z * vw + v.z * wu + w.z * uv;
    let permanent = ((v.x * w.y).abs() + (w.x * v.y).abs()) * u.z.abs()
        + ((w.x * u.y).abs() + (u.x * w.y).abs()) * v.z.abs()
        + ((u.x * v.y).abs() + (v.x * u.y).abs()) * w.z.abs();
    const ERROR_BOUND: f64 = 7.771_561_172_376_103e-16;
    if determinant.abs() > ERROR_BOUND * permanent {
        return -determinant;
    }
    -robust::orient3d(coordinates(a), coordinates(b), coordinates(c), coordinates(d))
}

/// Positive if `e` is strictly inside the sphere through `a`, `b`, `c`, `d`, for which [`orient`] must be positive.
pub(super) fn in_sphere(a: DVec3, b: DVec3, c: DVec3, d: DVec3, e: DVec3) -> f64 {
    robust::insphere(coordinates(b), coordinates(a), coordinates(c), coordinates(d), coordinates(e))
}

/// Twice the area of the triangle `a`, `b`, `c` projected along the axis `dropped`, with the exact sign: positive if
/// counter-clockwise, 0 if degenerate.
pub(super) fn orient_2d(a: DVec3, b: DVec3, c: DVec3, dropped: usize) -> f64 {
    let flat = |p: DVec3| {
        let [x, y] = [[p.y, p.z], [p.z, p.x], [p.x, p.y]][dropped];
        robust::Coord { x, y }
    };
    robust::orient2d(flat(a), flat(b), flat(c))
}

/// Returns true if three points are exactly collinear.
pub(super) fn collinear(a: DVec3, b: DVec3, c: DVec3) -> bool {
    (0..3).all(|dropped| orient_2d(a, b, c, dropped) == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_follow_the_right_hand_rule() {
        let [o, x, y, z] = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        assert!(orient(o, x, y, z) > 0.0 && orient(x, o, y, z) < 0.0);
        assert!(in_sphere(o, x, y, z, DVec3::splat(0.5)) > 0.0);
        assert!(in_sphere(o, x, y, z, DVec3::splat(1.1)) < 0.0);
        assert_eq!(in_sphere(o, x, y, z, DVec3::ONE), 0.0);
    }

    #[test]
    fn coplanar_points_far_from_the_origin_are_exactly_coplanar() {
        let by = DVec3::new(1e5, 0.1, -3e4);
        let [a, b, c] = [DVec3::ZERO, DVec3::X, DVec3::Y].map(|p| p + by);
        assert_eq!(orient(a, b, c, DVec3::new(a.x + 0.5, a.y + 0.25, a.z)), 0.0);
        assert!(orient(a, b, c, DVec3::new(a.x, a.y, a.z.next_up())) > 0.0);
        assert!(collinear(a, DVec3::new(a.x + 0.5, a.y, a.z), b) && !collinear(a, b, c));
    }
}
