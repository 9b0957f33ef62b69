//! Quadrics: sums of squared distances to planes (Garland & Heckbert 1997), `f(x) = xᵀ A x + 2 bᵀ x + c`.

use std::ops::AddAssign;

use glam::{DMat3, DVec3};

/// Weighted sum of squared distances to planes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Quadric {
    /// Upper triangle of A: xx, xy, xz, yy, yz, zz.
    a: [f64; 6],
    b: DVec3,
    c: f64,
}

impl Quadric {
    /// `weight` times the squared distance to the plane through `origin` with the unit normal `n`.
    pub(crate) fn plane(origin: DVec3, n: DVec3, weight: f64) -> Self {
        let d = -n.dot(origin);
        let a = [n.x * n.x, n.x * n.y, n.x * n.z, n.y * n.y, n.y * n.z, n.z * n.z].map(|entry| weight * entry);
        Self { a, b: weight * d * n, c: weight * d * d }
    }

    /// The matrix A.
    pub(crate) fn matrix(&self) -> DMat3 {
        let [xx, xy, xz, yy, yz, zz] = self.a;
        DMat3::from_cols_array(&[xx, xy, xz, xy, yy, yz, xz, yz, zz])
    }

    /// `A x + b`, half of the gradient.
    pub(crate) fn half_gradient(&self, x: DVec3) -> DVec3 {
        let [xx, xy, xz, yy, yz, zz] = self.a;
        let product =
            DVec3::new(xx * x.x + xy * x.y + xz * x.z, xy * x.x + yy * x.y + yz * x.z, xz * x.x + yz * x.y + zz * x.z);
        product + self.b
    }

    /// Value at `x`; negative values due to rounding are replaced by 0.
    pub(crate) fn at(&self, x: DVec3) -> f64 {
        (x.dot(self.half_gradient(x)) + self.b.dot(x) + self.c).max(0.0)
    }
}

impl AddAssign<&Self> for Quadric {
    fn add_assign(&mut self, other: &Self) {
        self.a.iter_mut().zip(other.a).for_each(|(mine, its)| *mine += its);
        self.b += other.b;
        self.c += other.c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_the_weighted_squared_distance_to_the_planes() {
        let mut quadric = Quadric::plane(DVec3::new(0.0, 0.0, 2.0), DVec3::Z, 3.0);
        quadric += &Quadric::plane(DVec3::X, DVec3::X, 0.5);
        let found = quadric.at(DVec3::new(4.0, 9.0, 1.0));
        assert!((found - (3.0 * 1.0 + 0.5 * 9.0)).abs() < 1e-12, "{found}");
        let expected = DVec3::new(0.5 * 3.0, 0.0, -3.0);
        assert!(quadric.half_gradient(DVec3::new(4.0, 9.0, 1.0)).distance(expected) < 1e-12);
    }
}
