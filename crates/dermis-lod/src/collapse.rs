//! Simplification by edge collapses, cheapest first, with quadrics in every key pose.
//!
//! Cost of a point at rest position p with weights w: `Σ_k Q_k(T_k(w) (p + o_k))`, with the summed quadrics `Q_k` of the
//! posed triangles (Garland & Heckbert 1997), the blended transform `T_k` and the offset `o_k` of the blend shapes in pose k.
//! For given weights it is quadratic in p, so the best rest position for all poses is the solution of one 3×3 system
//! (after `DeCoro` & Rusinkiewicz 2005). The weights are interpolated between the ends of the edge, at the location of p
//! along it.
//!
//! Seams and boundaries contribute planes through their edges, orthogonal to the triangles. A weak spring to the
//! collapsed points keeps the system regular on flat regions. A collapse is rejected if it changes the topology (link
//! condition) or flips a triangle in any pose. A collapse that moves a corner of seams, or a point of a seam away from
//! it, keeps the texture coordinates of the charts without an edge to the new point; its cost is multiplied by
//! [`LEAVE_SEAM`]. Ties are resolved in favour of the lowest point indices, so the result is deterministic.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use dermis_mesh::Object;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

use crate::poses::KeyPoses;
use crate::quadric::Quadric;
use crate::surface::{Edge, Kind, Surface, blended};

/// Weight of the planes through boundaries and seams, relative to the adjacent triangles.
const BOUNDARY_WEIGHT: f64 = 10.0;
const SEAM_WEIGHT: f64 = 1.0;
/// Weight of the spring to the collapsed points, relative to the area.
const SPRING: f64 = 1e-3;
/// Weight of the squared error of the texture, as a length on the surface.
const TEXTURE: f64 = 0.02;
/// Factor of the cost of collapses that change the course of seams.
const LEAVE_SEAM: f64 = 4.0;
/// Cosine of the largest angle by which one collapse can rotate a triangle.
const MIN_COSINE: f64 = 0.15;
/// Upper bound on points × poses, which limits memory.
const MAX_POSED_POINTS: usize = 3_000_000;
const MIN_POSES: usize = 4;

/// A mesh and the quadrics of its points in all key poses.
pub(crate) struct Simplification {
    pub surface: Surface,
    pub poses: KeyPoses,
    /// Quadric of each point in each pose.
    quadrics: Vec<Quadric>,
    springs: Vec<Spring>,
    /// Position of each point in each pose.
    posed: Vec<DVec3>,
    /// Squared length on the surface of a unit of texture coordinates; 0 without texture.
    texture_scale: f64,
    heap: BinaryHeap<Candidate>,
    /// Number of changes of each point.
    versions: Vec<u32>,
}

/// Weighted sum of squared distances to the points that were collapsed.
#[derive(Debug, Clone, Copy, Default)]
struct Spring {
    mass: f64,
    moment: DVec3,
    square: f64,
}

impl Spring {
    fn plus(self, other: Self) -> Self {
        Self { mass: self.mass + other.mass, moment: self.moment + other.moment, square: self.square + other.square }
    }

    fn at(&self, p: DVec3) -> f64 {
        (self.mass * p.length_squared() - 2.0 * p.dot(self.moment) + self.square).max(0.0)
    }
}

/// A possible collapse of `a` into `b`.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    cost: f64,
    a: u32,
    b: u32,
    /// Location of the new weights between `a` and `b`.
    t: f64,
    position: DVec3,
    versions: [u32; 2],
    /// True if `a` leaves its seams.
    leaves_seam: bool,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    /// Orders the cheapest candidate as the greatest, because the heap yields the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then_with(|| (other.a, other.b).cmp(&(self.a, self.b)))
    }
}

impl Simplification {
    /// Prepares the simplification of `object`, with about `max_poses` key poses.
    pub(crate) fn new(object: &Object, surface: Surface, max_poses: usize) -> Self {
        let affordable = (MAX_POSED_POINTS / surface.points.len().max(1)).max(MIN_POSES);
        let poses = KeyPoses::new(object, max_poses.min(affordable));
        let count = surface.points.len();
        let mut simplification = Self {
            quadrics: Vec::new(),
            springs: vec![Spring::default(); count],
            posed: Vec::new(),
            texture_scale: 0.0,
            heap: BinaryHeap::new(),
            versions: vec![0; count],
            surface,
            poses,
        };
        let pose = |point: usize| simplification.posed_at(point as u32, simplification.surface.points[point]);
        simplification.posed = (0..count).into_par_iter().flat_map_iter(pose).collect();
        let quadrics = |point: usize| simplification.initial_quadrics(point as u32);
        simplification.quadrics = (0..count).into_par_iter().flat_map_iter(quadrics).collect();
        simplification.springs = (0..count).map(|point| simplification.initial_spring(point as u32)).collect();
        simplification.texture_scale = simplification.length_of_texture().powi(2);
        simplification.fill_heap();
        simplification
    }

    /// Collapses edges until at most `target` triangles remain or no edge can be collapsed. `step` is called at regular
    /// intervals and cancels the work by returning false. Returns false if the work was cancelled.
    pub(crate) fn run(&mut self, target: usize, mut step: impl FnMut(usize) -> bool) -> bool {
        const STEP: usize = 256;
        let mut collapsed = 0_usize;
        let mut before = usize::MAX;
        loop {
            while self.surface.alive_count > target {
                let Some(candidate) = self.heap.pop() else { break };
                if self.apply(&candidate) {
                    collapsed += 1;
                    if collapsed.is_multiple_of(STEP) && !step(self.surface.alive_count) {
                        return false;
                    }
                }
            }
            if self.surface.alive_count <= target || self.surface.alive_count == before {
                return true;
            }
            // Edges that were rejected may be collapsible now, because their surroundings have changed.
            before = self.surface.alive_count;
            self.fill_heap();
        }
    }

    fn fill_heap(&mut self) {
        let this = &*self;
        let edges = |point: u32| {
            let others = this.surface.neighbours(point).into_iter().filter(move |&other| other > point);
            others.filter_map(move |other| this.candidate(point, other))
        };
        let count = this.surface.points.len() as u32;
        self.heap = (0..count).into_par_iter().flat_map_iter(edges).collect::<Vec<_>>().into();
    }

    /// Positions in all poses of `point`, moved to the rest position `rest`.
    fn posed_at(&self, point: u32, rest: DVec3) -> Vec<DVec3> {
        let surface = &self.surface;
        let position = |pose: usize| {
            let offset = self.poses.shaped(pose, |shape| surface.shapes[shape][point as usize]);
            self.poses.blend(pose, &surface.rows[point as usize]).transform_point3(rest + offset)
        };
        (0..self.poses.len()).map(position).collect()
    }

    fn posed(&self, point: u32, pose: usize) -> DVec3 {
        self.posed[point as usize * self.poses.len() + pose]
    }

    fn initial_quadrics(&self, point: u32) -> Vec<Quadric> {
        let surface = &self.surface;
        let special: Vec<(u32, f64)> = surface
            .neighbours(point)
            .into_iter()
            .filter_map(|other| match surface.edge(point, other) {
                Edge::Smooth | Edge::NotManifold => None,
                Edge::Seam => Some((other, SEAM_WEIGHT)),
                Edge::Boundary => Some((other, BOUNDARY_WEIGHT)),
            })
            .collect();
        let of_pose = |pose: usize| {
            let mut sum = Quadric::default();
            for &triangle in &surface.around[point as usize] {
                let corners = surface.corners(triangle);
                let [a, b, c] = corners.map(|corner| self.posed(corner, pose));
                let cross = (b - a).cross(c - a);
                let Some(normal) = cross.try_normalize() else { continue };
                sum += &Quadric::plane(a, normal, 0.5 * cross.length());
                for &(other, weight) in special.iter().filter(|(other, _)| corners.contains(other)) {
                    let (start, end) = (self.posed(point, pose), self.posed(other, pose));
                    let side = (end - start).cross(normal);
                    if let Some(side) = side.try_normalize() {
                        sum += &Quadric::plane(start, side, weight * start.distance_squared(end));
                    }
                }
            }
            sum
        };
        (0..self.poses.len()).map(of_pose).collect()
    }

    fn initial_spring(&self, point: u32) -> Spring {
        let surface = &self.surface;
        let area = |&triangle: &u32| {
            let [a, b, c] = surface.corners(triangle).map(|corner| surface.points[corner as usize]);
            (b - a).cross(c - a).length() / 6.0
        };
        let p = surface.points[point as usize];
        let area: f64 = surface.around[point as usize].iter().map(area).sum();
        let mass = SPRING * self.poses.len() as f64 * area;
        Spring { mass, moment: mass * p, square: mass * p.length_squared() }
    }

    /// Length on the surface of a unit of texture coordinates.
    fn length_of_texture(&self) -> f64 {
        if self.surface.columns.uv_sets == 0 {
            return 0.0;
        }
        let (mut surface_area, mut texture_area) = (0.0, 0.0);
        for triangle in 0..self.surface.triangles.len() as u32 {
            let [a, b, c] = self.surface.corners(triangle).map(|corner| self.surface.points[corner as usize]);
            surface_area += (b - a).cross(c - a).length();
            let [a, b, c] = self.surface.triangles[triangle as usize].map(|vertex| self.uv(vertex));
            texture_area += (b - a).perp_dot(c - a).abs();
        }
        if texture_area > 0.0 { (surface_area / texture_area).sqrt() } else { 0.0 }
    }

    fn uv(&self, vertex: u32) -> glam::DVec2 {
        let first = vertex as usize * self.surface.columns.width + self.surface.columns.uvs;
        glam::DVec2::new(self.surface.numbers[first], self.surface.numbers[first + 1])
    }

    /// The best collapse of an edge; `None` if its ends must not be joined.
    fn candidate(&self, a: u32, b: u32) -> Option<Candidate> {
        let kinds = &self.surface.kinds;
        let (mut a, mut b) = (a, b);
        if freedom(kinds[a as usize]) < freedom(kinds[b as usize]) {
            std::mem::swap(&mut a, &mut b);
        }
        let edge = self.surface.edge(a, b);
        let allowed = match (kinds[a as usize], kinds[b as usize]) {
            (Kind::Free, _) => edge == Edge::Smooth,
            (Kind::Curve, Kind::Curve | Kind::Corner | Kind::Fixed) => matches!(edge, Edge::Seam | Edge::Boundary),
            _ => false,
        };
        if !allowed {
            return if matches!(edge, Edge::Smooth | Edge::Seam) { self.leaving_seams(a, b) } else { None };
        }
        let joined = self.joined(a, b);
        let (mut cost, t, position) = if kinds[a as usize] == kinds[b as usize] {
            joined.best()
        } else {
            let position = self.surface.points[b as usize];
            (joined.cost(1.0, position), 1.0, position)
        };
        cost += self.texture_cost(a, b, t, position);
        let versions = [self.versions[a as usize], self.versions[b as usize]];
        cost.is_finite().then_some(Candidate { cost, a, b, t, position, versions, leaves_seam: false })
    }

    /// The cheaper collapse of one end of an edge into the other that takes the end off its seams.
    fn leaving_seams(&self, a: u32, b: u32) -> Option<Candidate> {
        let into = |(from, to): (u32, u32)| {
            if !self.surface.can_leave_seams(from) {
                return None;
            }
            self.surface.vertex_moves(from, to)?;
            let position = self.surface.points[to as usize];
            let cost = self.joined(from, to).cost(1.0, position) + self.texture_cost(from, to, 1.0, position);
            let versions = [self.versions[from as usize], self.versions[to as usize]];
            let cost = LEAVE_SEAM * cost;
            let candidate = Candidate { cost, a: from, b: to, t: 1.0, position, versions, leaves_seam: true };
            cost.is_finite().then_some(candidate)
        };
        [(a, b), (b, a)].into_iter().filter_map(into).min_by(|one, other| one.cost.total_cmp(&other.cost))
    }

    fn joined(&self, a: u32, b: u32) -> Joined<'_> {
        let poses = self.poses.len();
        let (of_a, of_b) = (&self.quadrics[a as usize * poses..], &self.quadrics[b as usize * poses..]);
        let sum = |pose: usize| {
            let mut sum = of_a[pose];
            sum += &of_b[pose];
            sum
        };
        Joined {
            simplification: self,
            a,
            b,
            quadrics: (0..poses).map(sum).collect(),
            spring: self.springs[a as usize].plus(self.springs[b as usize]),
        }
    }

    fn texture_cost(&self, a: u32, b: u32, t: f64, position: DVec3) -> f64 {
        if self.texture_scale > 0.0 {
            self.poses.len() as f64 * TEXTURE * self.texture_scale * self.texture_error(a, b, t, position)
        } else {
            0.0
        }
    }

    /// Squared error of the texture coordinates of the triangles around the edge at the new point, times area.
    fn texture_error(&self, a: u32, b: u32, t: f64, position: DVec3) -> f64 {
        let surface = &self.surface;
        let Some(pairs) = surface.vertex_moves(a, b) else { return 0.0 };
        let new_uv = |vertex: u32| {
            let pair = pairs.iter().find(|pair| pair.0 == vertex || pair.1 == vertex);
            pair.map_or_else(|| self.uv(vertex), |pair| self.uv(pair.0).lerp(self.uv(pair.1), t))
        };
        let mut sum = 0.0;
        for point in [a, b] {
            for &triangle in &surface.around[point as usize] {
                let vertices = surface.triangles[triangle as usize];
                let [p0, p1, p2] = surface.corners(triangle).map(|corner| surface.points[corner as usize]);
                let (e1, e2, d) = (p1 - p0, p2 - p0, position - p0);
                let (g11, g12, g22) = (e1.dot(e1), e1.dot(e2), e2.dot(e2));
                let determinant = g11 * g22 - g12 * g12;
                if determinant <= 1e-12 * g11 * g22 {
                    continue;
                }
                let (r1, r2) = (e1.dot(d), e2.dot(d));
                let (u, v) = ((g22 * r1 - g12 * r2) / determinant, (g11 * r2 - g12 * r1) / determinant);
                let [t0, t1, t2] = vertices.map(|vertex| self.uv(vertex));
                let expected = t0 + (t1 - t0) * u + (t2 - t0) * v;
                let Some(vertex) = surface.vertex_in(triangle, point) else { continue };
                sum += 0.5 * determinant.sqrt() * expected.distance_squared(new_uv(vertex));
            }
        }
        sum
    }

    /// Performs a collapse if it is up to date and allowed; pushes the new edges.
    fn apply(&mut self, candidate: &Candidate) -> bool {
        let Candidate { a, b, t, position, versions, leaves_seam, .. } = *candidate;
        if versions != [self.versions[a as usize], self.versions[b as usize]] || !self.keeps_topology(a, b) {
            return false;
        }
        let surface = &self.surface;
        let pairs = if leaves_seam { surface.vertex_moves(a, b) } else { surface.vertex_pairs(a, b) };
        let Some(pairs) = pairs else { return false };
        let posed = self.joined_poses(a, b, t, position);
        if self.turns_over(a, b, &posed) {
            return false;
        }
        self.surface.collapse(a, b, t, position, &pairs);
        if leaves_seam {
            self.surface.update_kinds(b);
        }
        let poses = self.poses.len();
        let (from, to) = (a as usize * poses, b as usize * poses);
        for (pose, position) in posed.into_iter().enumerate() {
            let moved = self.quadrics[from + pose];
            self.quadrics[to + pose] += &moved;
            self.posed[to + pose] = position;
        }
        self.springs[b as usize] = self.springs[b as usize].plus(self.springs[a as usize]);
        self.versions[a as usize] += 1;
        self.versions[b as usize] += 1;
        for other in self.surface.neighbours(b) {
            let candidate = self.candidate(b.min(other), b.max(other));
            self.heap.extend(candidate);
        }
        true
    }

    fn joined_poses(&self, a: u32, b: u32, t: f64, position: DVec3) -> Vec<DVec3> {
        let surface = &self.surface;
        let row = blended(&surface.rows[a as usize], &surface.rows[b as usize], t, surface.max_influences);
        let posed = |pose: usize| {
            let shape = |shape: usize| surface.shapes[shape][a as usize].lerp(surface.shapes[shape][b as usize], t);
            self.poses.blend(pose, &row).transform_point3(position + self.poses.shaped(pose, shape))
        };
        (0..self.poses.len()).map(posed).collect()
    }

    /// Link condition: the only common neighbours of the two points are those of the triangles at their edge, and more
    /// than a single two-sided triangle remains.
    fn keeps_topology(&self, a: u32, b: u32) -> bool {
        let surface = &self.surface;
        let others = surface.neighbours(b);
        let common: Vec<u32> =
            surface.neighbours(a).into_iter().filter(|point| others.binary_search(point).is_ok()).collect();
        let triangles: Vec<u32> = surface.shared(a, b).collect();
        let remaining = surface.around[a as usize].len() + surface.around[b as usize].len() - 2 * triangles.len();
        let is_tetrahedron = common.len() == 2 && remaining == 2;
        common.len() == triangles.len() && remaining > 0 && !is_tetrahedron
    }

    /// Returns true if a triangle would rotate too far in any pose.
    fn turns_over(&self, a: u32, b: u32, posed: &[DVec3]) -> bool {
        let surface = &self.surface;
        for (moved, other) in [(a, b), (b, a)] {
            for &triangle in &surface.around[moved as usize] {
                let corners = surface.corners(triangle);
                if corners.contains(&other) {
                    continue;
                }
                for (pose, &new) in posed.iter().enumerate() {
                    let before = corners.map(|corner| self.posed(corner, pose));
                    let after: [DVec3; 3] = std::array::from_fn(|k| if corners[k] == moved { new } else { before[k] });
                    let normal = |[a, b, c]: [DVec3; 3]| (b - a).cross(c - a);
                    let (before, after) = (normal(before), normal(after));
                    let size = before.length() * after.length();
                    if before.length_squared() > 0.0 && before.dot(after) <= MIN_COSINE * size {
                        return true;
                    }
                }
            }
        }
        false
    }
}

fn freedom(kind: Kind) -> u8 {
    match kind {
        Kind::Free => 3,
        Kind::Curve => 2,
        Kind::Corner => 1,
        Kind::Fixed => 0,
    }
}

/// Two points that are joined, with their summed quadrics.
struct Joined<'a> {
    simplification: &'a Simplification,
    a: u32,
    b: u32,
    quadrics: Vec<Quadric>,
    spring: Spring,
}

impl Joined<'_> {
    /// The cheapest of four locations of the weights: both ends, the middle, and the projection of the middle's best
    /// position onto the edge.
    fn best(&self) -> (f64, f64, DVec3) {
        let points = &self.simplification.surface.points;
        let (start, end) = (points[self.a as usize], points[self.b as usize]);
        let edge = end - start;
        let middle = self.solved(0.5);
        let foot = ((middle.2 - start).dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
        let mut best = middle;
        let others = [1.0, 0.0].into_iter().chain((foot.is_finite() && foot != 0.5).then_some(foot));
        for t in others {
            let candidate = self.solved(t);
            if candidate.0 < best.0 {
                best = candidate;
            }
        }
        best
    }

    /// Cost, `t` and best position for the weights at `t`.
    fn solved(&self, t: f64) -> (f64, f64, DVec3) {
        let Simplification { surface, .. } = self.simplification;
        let (a, b) = (self.a as usize, self.b as usize);
        let start = surface.points[a].lerp(surface.points[b], t);
        let transforms = self.transforms(t);
        let (mut matrix, mut slope) = (DMat3::from_diagonal(DVec3::splat(self.spring.mass)), DVec3::ZERO);
        slope += self.spring.mass * start - self.spring.moment;
        for ((linear, origin), quadric) in transforms.iter().zip(&self.quadrics) {
            let transposed = linear.transpose();
            matrix += transposed * quadric.matrix() * *linear;
            slope += transposed * quadric.half_gradient(*linear * start + *origin);
        }
        // The solution of a near-singular system is used only if it is close to the edge.
        let scale = matrix.x_axis.x + matrix.y_axis.y + matrix.z_axis.z;
        let determinant = matrix.determinant();
        let mut position = start;
        if determinant > 1e-9 * scale.powi(3) {
            let step = matrix.inverse() * -slope;
            let reach = 2.0 * surface.points[a].distance(surface.points[b]);
            if step.is_finite() && step.length() <= reach {
                position += step;
            }
        }
        (self.sum(&transforms, position), t, position)
    }

    fn cost(&self, t: f64, position: DVec3) -> f64 {
        self.sum(&self.transforms(t), position)
    }

    fn sum(&self, transforms: &[(DMat3, DVec3)], position: DVec3) -> f64 {
        let posed = transforms.iter().map(|(linear, origin)| *linear * position + *origin);
        self.spring.at(position) + posed.zip(&self.quadrics).map(|(x, quadric)| quadric.at(x)).sum::<f64>()
    }

    /// Transform of a rest position in each pose, with the weights and shapes at `t`.
    fn transforms(&self, t: f64) -> Vec<(DMat3, DVec3)> {
        let Simplification { surface, poses, .. } = self.simplification;
        let (a, b) = (self.a as usize, self.b as usize);
        let row = blended(&surface.rows[a], &surface.rows[b], t, surface.max_influences);
        let transform = |pose: usize| {
            let blend = poses.blend(pose, &row);
            let offset = poses.shaped(pose, |shape| surface.shapes[shape][a].lerp(surface.shapes[shape][b], t));
            (blend.matrix3, blend.transform_point3(offset))
        };
        (0..poses.len()).map(transform).collect()
    }
}
