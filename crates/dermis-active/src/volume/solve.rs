//! The weighted correction of Eq. 2 in closed form, axis after axis (Eq. 3).
//!
//! The volume is linear in each coordinate alone. Along axis a, `u_i = μ_a ΔV γ_i g_i / Σ_k γ_k g_k²` with
//! `g_i = e_a · ∇_{p_i} V` changes it by exactly `μ_a ΔV`; the gradient is computed again before the next axis. Around a
//! point of a closed surface `∇_{p_i} V` is a sixth of the sum of its faces' cross products, so a face adds one number
//! to its three corners. The gradient grows with the area around a point, and the bulge shall not depend on how finely a
//! place is cut: the weights are γ over the length of the gradient, so that equal γ move equally far. Without given μ each axis takes its part of `Σ γ |g|²`, which makes u the smallest correction.

use std::ops::Range;

use dermis_math::sum::sum;
use glam::{DMat3, DVec3};

use super::Workspace;
use super::region::Region;

/// The part of the largest axis' gradient at which an axis takes half of its share: one that the surface does not look
/// along would be thrown into spikes.
const BLIND_AXIS: f64 = 0.1;

/// The least length of a gradient that divides, as a part of the mean: creases would be thrown out otherwise.
const LEAST_GRADIENT: f64 = 0.2;

/// Coordinates and gradients of a region.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    /// The points in the axes of the frame.
    pub(super) points: Vec<DVec3>,
    start: Vec<DVec3>,
    gradient: Vec<DVec3>,
    weights: Vec<f64>,
}

/// The volume that closed `triangles` enclose (Eq. 1), seen from one of its points.
pub(super) fn volume(points: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let Some(origin) = triangles.first().map(|triangle| points[triangle[0] as usize]) else { return 0.0 };
    sum(triangles.len(), |triangle| {
        let [a, b, c] = triangles[triangle].map(|point| points[point as usize] - origin);
        a.dot(b.cross(c))
    }) / 6.0
}

/// Changes the volume by `share` as far as the region can take it, exactly or (`fast`) with one gradient for all axes; returns the change made.
pub(super) fn solve(region: &Region, frame: &DMat3, share: f64, fast: bool, work: &mut Workspace) -> f64 {
    let scratch = &mut work.scratch;
    scratch.gather(region, frame, &work.positions);
    let squares = scratch.differentiate_all(region);
    let Some(parts) = parts(region.mu, squares) else { return 0.0 };
    let mut done = 0.0;
    for axis in 0..3 {
        if parts[axis] == 0.0 {
            continue;
        }
        let square = if fast || axis == 0 { squares[axis] } else { scratch.differentiate(region, axis) };
        // The last axis that moves takes what rounding has left over.
        let is_last = parts[axis + 1..].iter().all(|part| *part == 0.0);
        let wanted = if is_last { share - done } else { parts[axis] * share };
        if square > 0.0 {
            // A crease can hardly grow: what it cannot take, the caller gives to others.
            let farthest = wanted / square * scratch.reach(axis);
            let part = (region.farthest / farthest.abs()).min(1.0);
            scratch.advance(region, axis, part * wanted / square);
            done += part * wanted;
        }
    }
    scratch.scatter(region, frame, share.signum(), &mut work.positions, &mut work.inflation);
    done
}

/// The part of the correction that each axis takes: by the gradient, or as given, less where the surface does not look
/// along the axis.
fn parts(mu: Option<[f64; 3]>, squares: [f64; 3]) -> Option<[f64; 3]> {
    let largest = squares.iter().copied().fold(0.0, f64::max);
    let given = |mu: [f64; 3], axis: usize| mu[axis] * squares[axis] / (squares[axis] + BLIND_AXIS * largest);
    let wished: [f64; 3] = std::array::from_fn(|axis| mu.map_or(squares[axis], |mu| given(mu, axis)));
    let total: f64 = wished.iter().sum();
    (total > 0.0 && total.is_finite()).then(|| wished.map(|part| part / total))
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

    /// The gradient along all axes and `Σ γ g²` of each.
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

    /// The weights γ / |g|.
    fn weigh(&mut self, region: &Region) {
        let lengths = || self.gradient.iter().map(|g| g.length());
        let (sum, total) = lengths()
            .zip(&region.gamma)
            .fold((0.0, 0.0), |(sum, total), (length, gamma)| (sum + gamma * length, total + gamma));
        let least = (LEAST_GRADIENT * sum / total).max(f64::MIN_POSITIVE);
        self.weights.clear();
        self.weights.extend(lengths().zip(&region.gamma).map(|(length, gamma)| gamma / (length + least)));
    }

    /// `Σ γ g²` along `axis`.
    fn square(&self, axis: usize) -> f64 {
        self.gradient.iter().zip(&self.weights).map(|(g, weight)| weight * g[axis] * g[axis]).sum()
    }

    /// The gradient along `axis`, anew, and `Σ γ g²`.
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

    /// Divides by the 6 of Eq. 1 and lets caps pass their part on to their loops.
    fn complete(&mut self, region: &Region, axes: Range<usize>) {
        for axis in axes {
            for gradient in &mut self.gradient {
                gradient[axis] /= 6.0;
            }
            for (center, ring) in &region.loops {
                // A cap's centre is the mean of its loop.
                let part = self.gradient[*center as usize][axis] / ring.len() as f64;
                for &point in ring {
                    self.gradient[point as usize][axis] += part;
                }
            }
        }
    }

    /// How far a step of 1 moves the farthest point.
    fn reach(&self, axis: usize) -> f64 {
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
