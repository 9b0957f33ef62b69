//! Displacement that restores volume, smooth by construction.
//!
//! Along axis a of a joint's frame, Eq. 3 moves the points of a region by `u_i = μ_a ΔV γ_i n_i / Σ_k γ_k n_k g_k`, with
//! `g_i = e_a · ∇_{p_i} V`. The paper uses the gradient itself as direction `n`. In a crease, gradients on both sides
//! oppose each other, which tears the surface and pushes it through itself. Here `n` are the smoothed normals of the
//! rest pose, rotated with the bones, and γ is multiplied by the fraction of the rest area that still faces along `n`: 0 on
//! folded triangles, 1 where the skin is not compressed.
//!
//! Along any field u, the volume is a cubic polynomial of the step, so the step that restores the volume is exact.
//! [`Edges::limit`] then bounds the difference of u along each edge relative to its length, which bounds the stretch;
//! displacement that the bound removes is restored elsewhere.
//!
//! Timings: see `benches/volume.rs`.

use std::ops::Add;

use dermis_math::sum::sum;
use glam::{DMat3, DVec3};

use super::cap::ClosedSurface;
use super::region::Region;

/// Bound of the change of an edge by the correction, relative to its length.
const MAX_STRETCH: f64 = 0.25;
/// Displacement removed by the bound at which the weight of a point is halved, in mean lengths of edges.
const SOFTNESS: f64 = 0.05;
/// Maximum number of passes over the edges.
const MAX_PASSES: usize = 60;
/// Steps of Newton's method for the root of the cubic.
const NEWTON_STEPS: usize = 20;
/// Relative error of a restored volume, well below that of positions in `f32`.
const TOLERANCE: f64 = 1e-12;
/// Gradient of an axis, relative to the largest axis, at which a given μ is halved. A larger correction along an axis
/// with hardly any gradient would produce spikes.
const DAMPED_GRADIENT: f64 = 0.1;

/// Edges of the surface, without those of caps, and the neighbours of each point.
#[derive(Debug, Clone)]
pub(super) struct Edges {
    pub(super) ends: Vec<[u32; 2]>,
    pub(super) neighbours: dermis_mesh::adjacency::Lists,
    /// Mean length in the rest pose.
    pub(super) mean_length: f64,
}

/// A displacement and the points at which it is bounded.
#[derive(Debug, Clone, Default)]
pub(super) struct Field {
    /// Displacement of each point, followed by those of the centres of caps.
    pub(super) u: Vec<DVec3>,
    /// Weight of further displacement of each point, small where the bound acts.
    free: Vec<f64>,
    step: Vec<DVec3>,
    spread: Vec<f64>,
}

/// Gradient of the volume with respect to each point: a third of the area vectors of its triangles (Eq. 1). Those of cap
/// centres are distributed to their loops. Returns the volume.
pub(super) fn gradient(closed: &ClosedSurface, points: &[DVec3], gradient: &mut Vec<DVec3>) -> f64 {
    gradient.clear();
    gradient.resize(points.len(), DVec3::ZERO);
    for triangle in closed.triangles() {
        let [a, b, c] = triangle.map(|point| points[point as usize]);
        let part = (b - a).cross(c - a) / 6.0; // ∇V of Eq. 1
        for &point in triangle {
            gradient[point as usize] += part;
        }
    }
    for (number, ring) in closed.loops().iter().enumerate() {
        // The centre of a cap is the mean of its loop.
        let part = gradient[closed.point_count() + number] / ring.len() as f64;
        for &point in ring {
            gradient[point as usize] += part;
        }
    }
    // V is homogeneous of degree 3; the gradient of a closed surface does not depend on the origin.
    let origin = points.first().copied().unwrap_or_default();
    let inner = points.iter().zip(&*gradient).take(closed.point_count());
    inner.map(|(point, g)| (*point - origin).dot(*g)).sum::<f64>() / 3.0
}

/// Volume enclosed by closed `triangles` (Eq. 1), relative to one of the points for accuracy.
pub(super) fn volume(points: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let Some(origin) = triangles.first().map(|triangle| points[triangle[0] as usize]) else { return 0.0 };
    sum(triangles.len(), |triangle| {
        let [a, b, c] = triangles[triangle].map(|point| points[point as usize] - origin);
        a.dot(b.cross(c))
    }) / 6.0 // Eq. 1
}

/// Adds the displacement of `region` for `change` to `field`: Eq. 3 with `normals` as directions and `facing` as a
/// factor of γ. Returns the change that the displacement makes to first order.
pub(super) fn add_joint(
    region: &Region,
    frame: &DMat3,
    change: f64,
    surface: &Surface<'_>,
    field: &mut [DVec3],
) -> f64 {
    let into_frame = frame.transpose();
    let Surface { gradient, normals, facing } = surface;
    let mut products = [0.0; 3];
    for (&point, gamma) in region.points.iter().zip(&region.gamma) {
        let point = point as usize;
        let (g, n) = (into_frame * gradient[point], into_frame * normals[point]);
        products = std::array::from_fn(|axis| products[axis] + gamma * facing[point] * n[axis] * g[axis]);
    }
    let Some(fractions) = fractions(region.mu, products) else { return 0.0 };
    // Eq. 3: u along each axis per unit of γ n.
    let steps = DVec3::from(std::array::from_fn::<f64, 3, _>(|axis| match fractions[axis] {
        0.0 => 0.0,
        fraction => fraction * change / products[axis],
    }));
    let of_point =
        |point: usize, gamma: f64| *frame * (steps * (into_frame * normals[point])) * (gamma * facing[point]);
    let largest = region.points.iter().zip(&region.gamma);
    let largest = largest.map(|(&point, &gamma)| of_point(point as usize, gamma).length_squared()).fold(0.0, f64::max);
    let scale = (region.max_displacement / largest.sqrt()).min(1.0);
    for (&point, &gamma) in region.points.iter().zip(&region.gamma) {
        field[point as usize] += scale * of_point(point as usize, gamma);
    }
    scale * change
}

/// Geometry of a pose that corrections use.
pub(super) struct Surface<'a> {
    /// Gradient of the volume.
    pub(super) gradient: &'a [DVec3],
    /// Unit directions of the displacement.
    pub(super) normals: &'a [DVec3],
    /// Fraction of the rest area that still faces along the direction, 0 to 1.
    pub(super) facing: &'a [f64],
}

/// Fractions of the correction along the three axes, from the gradient or from the given μ. They are reduced for axes
/// along which the surface has hardly any gradient.
fn fractions(mu: Option<[f64; 3]>, products: [f64; 3]) -> Option<[f64; 3]> {
    let products = products.map(|product| product.max(0.0));
    let largest = products.iter().copied().fold(0.0, f64::max);
    let given = |mu: [f64; 3], axis: usize| mu[axis] * products[axis] / (products[axis] + DAMPED_GRADIENT * largest);
    let unscaled: [f64; 3] = std::array::from_fn(|axis| mu.map_or(products[axis], |mu| given(mu, axis)));
    let total: f64 = unscaled.iter().sum();
    (total > 0.0 && total.is_finite()).then(|| unscaled.map(|part| part / total))
}

impl Field {
    pub(super) fn clear(&mut self, count: usize) {
        self.u.clear();
        self.u.resize(count, DVec3::ZERO);
        self.free.clear();
        self.free.resize(count, 1.0);
    }

    /// Adds the multiple of `direction` that changes the volume by `change`, within the bound of the edges. Displacement
    /// that the bound removes is restored at the other points, in up to `rounds` rounds. Returns the change achieved.
    pub(super) fn add(
        &mut self,
        closed: &ClosedSurface,
        edges: &Edges,
        points: &[DVec3],
        direction: &[DVec3],
        change: f64,
        rounds: usize,
    ) -> f64 {
        let mut done = 0.0;
        for round in 0..=rounds {
            let free = direction.iter().zip(&self.free).map(|(direction, free)| *direction * *free);
            self.step.clear();
            self.step.extend(free);
            closed.follow(&mut self.step);
            let cubic = Cubic::new(closed, points, &self.u, &self.step);
            let Some(step) = cubic.step(change - done) else { break }; // constraint of Eq. 2
            self.u.iter_mut().zip(&self.step).for_each(|(u, direction)| *u += step * *direction);
            let is_last = round == rounds;
            if is_last || !edges.limit(points, &mut self.u, &mut self.free) {
                done += cubic.at(step);
                break;
            }
            closed.follow(&mut self.u);
            done += self.change(closed, points) - cubic.volume;
            self.spread_bounds(edges);
        }
        done
    }

    /// Multiplies the displacement of each point by its scale and reduces its further displacement; points with a scale of
    /// at most a half have none. Returns the volume after it.
    pub(super) fn scale(&mut self, closed: &ClosedSurface, edges: &Edges, points: &[DVec3], scales: &mut [f64]) -> f64 {
        for (free, scale) in self.free.iter_mut().zip(&*scales) {
            *free *= (2.0 * *scale - 1.0).max(0.0);
        }
        for _ in 0..2 {
            edges.lower(scales, &mut self.spread);
            edges.lower(&mut self.free, &mut self.spread);
        }
        self.u.iter_mut().zip(&*scales).for_each(|(u, scale)| *u *= *scale);
        closed.follow(&mut self.u);
        self.change(closed, points)
    }

    /// Reduces the weights of the neighbours of bounded points, so that further displacement has no rim there.
    fn spread_bounds(&mut self, edges: &Edges) {
        for _ in 0..2 {
            edges.lower(&mut self.free, &mut self.spread);
        }
    }

    fn change(&self, closed: &ClosedSurface, points: &[DVec3]) -> f64 {
        let moved = |point: u32| points[point as usize] + self.u[point as usize];
        let origin = closed.triangles().first().map_or(DVec3::ZERO, |triangle| points[triangle[0] as usize]);
        sum(closed.triangles().len(), |triangle| {
            let [a, b, c] = closed.triangles()[triangle].map(|point| moved(point) - origin);
            a.dot(b.cross(c))
        }) / 6.0
    }
}

impl Edges {
    pub(super) fn new(closed: &ClosedSurface, points: &[DVec3]) -> Self {
        let count = closed.point_count() as u32;
        let inner = closed.triangles().iter().copied().filter(|triangle| triangle.iter().all(|&point| point < count));
        let edges = dermis_mesh::adjacency::Edges::new(closed.point_count(), &inner.collect::<Vec<_>>());
        let length = |&[a, b]: &[u32; 2]| points[a as usize].distance(points[b as usize]);
        let mean_length = edges.ends().iter().map(length).sum::<f64>() / edges.len().max(1) as f64;
        Self { ends: edges.ends().to_vec(), neighbours: edges.point_neighbours(), mean_length }
    }

    /// Lowers each value towards the mean of its neighbours if that is smaller.
    fn lower(&self, values: &mut [f64], before: &mut Vec<f64>) {
        before.clear();
        before.extend_from_slice(values);
        for (point, value) in values.iter_mut().enumerate().take(self.neighbours.len()) {
            let ring = self.neighbours.of(point);
            if !ring.is_empty() {
                let mean = ring.iter().map(|&other| before[other as usize]).sum::<f64>() / ring.len() as f64;
                *value = value.min(0.5 * (*value + mean));
            }
        }
    }

    /// Bounds the difference of `u` along each edge to [`MAX_STRETCH`] of its length. In each pass, all edges that exceed
    /// the bound pull their ends towards each other simultaneously, which is continuous in the pose, unlike sequential
    /// updates. The weights `free` of bounded points are reduced. Returns true if there are any.
    fn limit(&self, points: &[DVec3], u: &mut [DVec3], free: &mut [f64]) -> bool {
        let bound = MAX_STRETCH * MAX_STRETCH;
        let excess = |[a, b]: [usize; 2], u: &[DVec3]| {
            let allowed = bound * points[a].distance_squared(points[b]);
            let (apart, found) = (u[a] - u[b], u[a].distance_squared(u[b]));
            (found > allowed).then(|| (1.0 - (allowed / found).sqrt()) * apart)
        };
        let ends = |edge: &[u32; 2]| edge.map(|point| point as usize);
        let mut exceeding: Vec<([usize; 2], DVec3)> =
            self.ends.iter().map(ends).filter_map(|edge| Some((edge, excess(edge, u)?))).collect();
        if exceeding.is_empty() {
            return false;
        }
        let mut pull = vec![DVec3::ZERO; u.len()];
        for _ in 0..MAX_PASSES {
            let mut touched = Vec::with_capacity(2 * exceeding.len());
            for &([a, b], excess) in &exceeding {
                pull[a] -= excess;
                pull[b] += excess;
                touched.extend([a, b]);
            }
            touched.sort_unstable();
            touched.dedup();
            for &point in &touched {
                let moved = std::mem::take(&mut pull[point]) / self.neighbours.of(point).len() as f64;
                u[point] += moved;
                free[point] /= 1.0 + moved.length() / (SOFTNESS * self.mean_length);
            }
            // Only edges at points that have moved can exceed the bound.
            exceeding.clear();
            for &point in &touched {
                let ring = self.neighbours.of(point).iter().map(|&other| [point, other as usize]);
                let once = ring.filter(|[a, b]| a < b || touched.binary_search(b).is_err());
                exceeding.extend(once.filter_map(|edge| Some((edge, excess(edge, u)?))));
            }
            if exceeding.is_empty() {
                break;
            }
        }
        true
    }
}

/// Volume along a field: `V(p + u + t d) − V(p + u) = c₁ t + c₂ t² + c₃ t³`.
struct Cubic {
    volume: f64,
    coefficients: [f64; 3],
}

/// Volume and coefficients of [`Cubic`], times 6.
#[derive(Debug, Clone, Copy, Default)]
struct Terms([f64; 4]);

impl Add for Terms {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

impl Cubic {
    fn new(closed: &ClosedSurface, points: &[DVec3], u: &[DVec3], direction: &[DVec3]) -> Self {
        let triangles = closed.triangles();
        let origin = triangles.first().map_or(DVec3::ZERO, |triangle| points[triangle[0] as usize]);
        let Terms([volume, linear, square, cube]) = sum(triangles.len(), |triangle| {
            let corners = triangles[triangle].map(|point| point as usize);
            let [a, b, c] = corners.map(|point| points[point] + u[point] - origin);
            let [da, db, dc] = corners.map(|point| direction[point]);
            let (bc, mixed, moved) = (b.cross(c), db.cross(c) + b.cross(dc), db.cross(dc));
            Terms([a.dot(bc), da.dot(bc) + a.dot(mixed), da.dot(mixed) + a.dot(moved), da.dot(moved)])
        });
        Self { volume: volume / 6.0, coefficients: [linear / 6.0, square / 6.0, cube / 6.0] }
    }

    /// Change of the volume by a step.
    fn at(&self, t: f64) -> f64 {
        let [linear, square, cube] = self.coefficients;
        t * (linear + t * (square + t * cube))
    }

    /// Smallest step that changes the volume by `change`; `None` if no step does.
    fn step(&self, change: f64) -> Option<f64> {
        let [linear, square, cube] = self.coefficients;
        let mut t = change / linear;
        if !t.is_finite() {
            return None;
        }
        for _ in 0..NEWTON_STEPS {
            let error = change - self.at(t);
            if error.abs() <= TOLERANCE * change.abs() {
                break;
            }
            // A slope of the other sign would lead to a distant root.
            let slope = linear + t * (2.0 * square + t * 3.0 * cube);
            if slope * linear <= 0.0 {
                t *= 0.5;
                continue;
            }
            t += error / slope;
        }
        t.is_finite().then_some(t)
    }
}
