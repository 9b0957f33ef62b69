//! Weighted volume correction of Eq. 2 in closed form, one axis at a time (Eq. 3).
//!
//! The volume is linear in each coordinate separately. Along axis a, the displacement
//! `u_i = μ_a ΔV γ_i g_i / Σ_k γ_k g_k²` with `g_i = e_a · ∇_{p_i} V` changes the volume by exactly `μ_a ΔV`; the
//! gradient is then recomputed for the next axis. On a closed surface, `∇_{p_i} V` is a sixth of the sum of the cross
//! products of the faces at the point, so a face adds the same number to its three corners.
//!
//! The gradient grows with the area around a point, but the bulge must not depend on the resolution of the mesh. The
//! weights are therefore γ divided by the length of the gradient, so that equal γ give equal displacements. If μ is
//! not given, each axis takes its fraction of `Σ γ |g|²`, which gives the smallest correction u.

use std::ops::Range;

use dermis_math::sum::sum;
use glam::{DMat3, DVec3};

use super::Workspace;
use super::region::Region;

/// Gradient of an axis, relative to the largest axis, at which a given μ is halved. A larger correction along an axis
/// with hardly any gradient would produce spikes.
const DAMPED_GRADIENT: f64 = 0.1;

/// Minimum length of a gradient in the denominator, relative to the mean. It limits displacements in creases.
const MIN_GRADIENT: f64 = 0.2;

/// Coordinates and gradients of a region.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    /// Points in the coordinates of the frame.
    pub(super) points: Vec<DVec3>,
    start: Vec<DVec3>,
    gradient: Vec<DVec3>,
    weights: Vec<f64>,
}

/// Volume enclosed by closed `triangles` (Eq. 1), relative to one of the points for accuracy.
pub(super) fn volume(points: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let Some(origin) = triangles.first().map(|triangle| points[triangle[0] as usize]) else { return 0.0 };
    sum(triangles.len(), |triangle| {
        let [a, b, c] = triangles[triangle].map(|point| points[point as usize] - origin);
        a.dot(b.cross(c))
    }) / 6.0 // Eq. 1
}

/// Changes the volume by `change` as far as the displacement bound of the region allows. The gradient is recomputed
/// for each axis, or computed once if `fast` is set. Returns the change achieved.
pub(super) fn solve(region: &Region, frame: &DMat3, change: f64, fast: bool, work: &mut Workspace) -> f64 {
    let scratch = &mut work.scratch;
    scratch.gather(region, frame, &work.positions);
    let squares = scratch.differentiate_all(region);
    let Some(fractions) = fractions(region.mu, squares) else { return 0.0 };
    let mut done = 0.0;
    for axis in 0..3 {
        if fractions[axis] == 0.0 {
            continue;
        }
        let square = if fast || axis == 0 { squares[axis] } else { scratch.differentiate(region, axis) };
        // The last axis includes the rounding errors of the others.
        let is_last = fractions[axis + 1..].iter().all(|part| *part == 0.0);
        let requested = if is_last { change - done } else { fractions[axis] * change };
        if square > 0.0 {
            // A crease can hardly grow; the caller distributes the rest.
            // Eq. 3: u along one axis.
            let displacement = requested / square * scratch.max_displacement(axis);
            let part = (region.max_displacement / displacement.abs()).min(1.0);
            scratch.advance(region, axis, part * requested / square);
            done += part * requested;
        }
    }
    scratch.scatter(region, frame, change.signum(), &mut work.positions, &mut work.inflation);
    done
}

/// Fractions of the correction along the three axes, from the gradient or from the given μ. They are reduced for axes
/// along which the surface has hardly any gradient.
fn fractions(mu: Option<[f64; 3]>, squares: [f64; 3]) -> Option<[f64; 3]> {
    let largest = squares.iter().copied().fold(0.0, f64::max);
    let given = |mu: [f64; 3], axis: usize| mu[axis] * squares[axis] / (squares[axis] + DAMPED_GRADIENT * largest);
    let unscaled: [f64; 3] = std::array::from_fn(|axis| mu.map_or(squares[axis], |mu| given(mu, axis)));
    let total: f64 = unscaled.iter().sum();
    (total > 0.0 && total.is_finite()).then(|| unscaled.map(|part| part / total))
}

impl Scratch {
    fn gather(&mut self, region: &Region, frame: &DMat3, positions: &[DVec3]) {
        let origin = region.points.first().map_or(DVec3::ZERO, |&point| positions[point as usize]);
        let into_frame = frame.transpose();
        self.start.clear();
        self.start.extend(region.points.iter().map(|&point| into_frame * (positions[point as usize] - origin)));
        self.points.clone_from(&self.start);
        self.gradient.clear();
        self.gradient.resize(region.points.len(), DVec3::ZERO);
    }

    /// Computes the gradient along all axes. Returns `Σ γ g²` for each.
    fn differentiate_all(&mut self, region: &Region) -> [f64; 3] {
        for &[a, b, c] in &region.triangles {
            let [a, b, c] = [a as usize, b as usize, c as usize];
            let start = self.points[a];
            let part = (self.points[b] - start).cross(self.points[c] - start);
            self.gradient[a] += part;
            self.gradient[b] += part;
            self.gradient[c] += part;
        }
        self.complete(region, 0..3);
        self.weigh(region);
        [self.square(0), self.square(1), self.square(2)]
    }

    /// Computes the weights γ / |g|.
    fn weigh(&mut self, region: &Region) {
        let lengths = || self.gradient.iter().map(|g| g.length());
        let (sum, total) = lengths()
            .zip(&region.gamma)
            .fold((0.0, 0.0), |(sum, total), (length, gamma)| (sum + gamma * length, total + gamma));
        let min_length = (MIN_GRADIENT * sum / total).max(f64::MIN_POSITIVE);
        self.weights.clear();
        self.weights.extend(lengths().zip(&region.gamma).map(|(length, gamma)| gamma / (length + min_length)));
    }

    /// `Σ γ g²` along `axis`.
    fn square(&self, axis: usize) -> f64 {
        self.gradient.iter().zip(&self.weights).map(|(g, weight)| weight * g[axis] * g[axis]).sum()
    }

    /// Recomputes the gradient along `axis`. Returns `Σ γ g²`.
    fn differentiate(&mut self, region: &Region, axis: usize) -> f64 {
        for gradient in &mut self.gradient {
            gradient[axis] = 0.0;
        }
        let (y, z) = ((axis + 1) % 3, (axis + 2) % 3);
        for &[a, b, c] in &region.triangles {
            let [a, b, c] = [a as usize, b as usize, c as usize];
            let start = self.points[a];
            let (ab, ac) = (self.points[b] - start, self.points[c] - start);
            let part = ab[y] * ac[z] - ab[z] * ac[y];
            self.gradient[a][axis] += part;
            self.gradient[b][axis] += part;
            self.gradient[c][axis] += part;
        }
        self.complete(region, axis..axis + 1);
        self.square(axis)
    }

    /// Divides the gradient by 6 (Eq. 1) and distributes that of cap centers to their loops.
    fn complete(&mut self, region: &Region, axes: Range<usize>) {
        for axis in axes {
            for gradient in &mut self.gradient {
                gradient[axis] /= 6.0;
            }
            for (center, ring) in &region.loops {
                // The center of a cap is the mean of its loop.
                let part = self.gradient[*center as usize][axis] / ring.len() as f64;
                for &point in ring {
                    self.gradient[point as usize][axis] += part;
                }
            }
        }
    }

    /// Largest displacement of a point for a step of 1.
    fn max_displacement(&self, axis: usize) -> f64 {
        self.gradient.iter().zip(&self.weights).map(|(g, weight)| (weight * g[axis]).abs()).fold(0.0, f64::max)
    }

    fn advance(&mut self, region: &Region, axis: usize, step: f64) {
        for (point, (g, weight)) in self.points.iter_mut().zip(self.gradient.iter().zip(&self.weights)) {
            point[axis] += step * weight * g[axis];
        }
        for (center, ring) in &region.loops {
            let mean = ring.iter().map(|&point| self.points[point as usize][axis]).sum::<f64>() / ring.len() as f64;
            self.points[*center as usize][axis] = mean;
        }
    }

    fn scatter(&self, region: &Region, frame: &DMat3, sign: f64, positions: &mut [DVec3], inflation: &mut [f32]) {
        for (&point, (now, start)) in region.points.iter().zip(self.points.iter().zip(&self.start)) {
            let moved = *now - *start;
            if moved != DVec3::ZERO {
                positions[point as usize] += *frame * moved;
                if let Some(inflation) = inflation.get_mut(point as usize) {
                    *inflation += (sign * moved.length()) as f32;
                }
            }
        }
    }
}
