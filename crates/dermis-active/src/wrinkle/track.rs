//! Wrinkle curves over time (§4.2): they grow, fade and follow the compression without popping.
//!
//! Each curve has a seed, which moves towards higher compression and exists while the compression is sufficient, and
//! nodes at uniform distances on both sides of it. In each frame the streamline is traced again from the seed, and the
//! nodes move a fraction of the way towards it. If the streamline has jumped, a new curve starts and the old one
//! fades. The target strength of each node follows from the lost area around it ([`super::strength`]). The strength
//! changes by a limited step per frame: it increases at new parts of a streamline and decreases at parts that it has
//! left.

use dermis_mesh::geometry::point_normals;
use glam::Vec3;

use super::field::Segment;
use super::grid::Grid;
use super::options::WrinkleOptions;
use super::profile::{FoldProfile, MAX_OFFSET};
use super::strength;
use super::stretch::{Compression, RestTriangles, compression};
use super::surface::{Surface, SurfacePoint};
use super::trace::{StreamlineOptions, streamline};

/// Minimum distance between curves, in radii.
pub(super) const MIN_SPACING: f32 = 2.6;
/// Distance of curves for which profiles are measured; curves are rarely at the minimum distance.
const TYPICAL_SPACING: f32 = 4.0;
/// Distance to other curves at which streamlines end, as a fraction of [`MIN_SPACING`].
const END_DISTANCE: f32 = 0.75;
/// Distance to an older curve at which a seed is removed, as a fraction of [`MIN_SPACING`].
const MIN_SEED_DISTANCE: f32 = 0.5;
/// Distance of nodes, in radii.
pub(super) const STEP: f32 = 0.6;
/// Fraction of the distance to their streamline that nodes move in a frame.
const FOLLOW_RATE: f32 = 0.25;
/// Maximum motion of nodes and seeds in a frame, in radii.
const MAX_MOTION: f32 = 0.06;
/// Distance to its streamline, in radii, above which a node belongs to another curve.
const JUMP_DISTANCE: f32 = 1.5;
/// Minimum number of nodes of a curve; shorter curves are noise.
const MIN_NODES: usize = 4;
/// Compression below which a seed is removed, as a fraction of the threshold for new seeds.
const KEEP_FRACTION: f32 = 0.6;
/// Compression below which a streamline ends, as a fraction of the threshold for new seeds.
const END_FRACTION: f32 = 0.5;
/// 1 − 2/π: fraction of its length by which a semicircular fold shortens the cloth.
const SEMICIRCLE: f32 = 1.0 - std::f32::consts::FRAC_2_PI;
/// Maximum radius, relative to the minimum radius.
const MAX_RADIUS_RATIO: f32 = 1.25;
/// Number of nodes per segment of the field.
const NODES_PER_SEGMENT: usize = 2;

/// Wrinkle curves of one frame on the cloth.
#[derive(Debug, Clone, Default)]
pub struct Curves {
    /// Nodes of each curve in order.
    pub lines: Vec<Vec<CurveNode>>,
    /// Compression at each point of the cloth, 0 to 1.
    pub compression: Vec<f32>,
    /// Area lost in compressed regions; gains elsewhere are not subtracted.
    pub lost_locally: f64,
    /// Side of the cloth on which wrinkles are, per point: 1 along the normal, −1 against it.
    pub sides: Vec<f32>,
    /// Factor of the heights of all wrinkles of the frame.
    pub amplitude: f32,
}

/// Node of a wrinkle curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveNode {
    /// Location on the cloth.
    pub location: SurfacePoint,
    /// Radius of the wrinkle.
    pub radius: f32,
    /// Depth of the curve below the cloth, in radii; larger is flatter.
    pub offset: f32,
}

#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Nodes from the seed along the field, and those against it.
    sides: [Vec<Node>; 2],
    is_fading: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) location: SurfacePoint,
    /// True while the streamline passes this node.
    pub(super) is_active: bool,
    /// Height of the wrinkle relative to the maximum.
    strength: f32,
}

/// Tracks curves from frame to frame.
#[derive(Debug, Clone)]
pub struct Tracker {
    curves: Vec<Curve>,
    field: Compression,
    sides: Vec<f32>,
    profile: FoldProfile,
    radius: f32,
}

impl Tracker {
    pub(super) fn new(radius: f32) -> Self {
        let profile = FoldProfile::new(TYPICAL_SPACING);
        Self { curves: Vec::new(), field: Compression::default(), sides: Vec::new(), profile, radius }
    }

    /// Computes the curves of the next frame.
    pub(super) fn advance(
        &mut self,
        surface: &Surface,
        rest: &RestTriangles,
        positions: &[Vec3],
        options: &WrinkleOptions,
    ) -> Curves {
        self.observe(compression(surface, rest, positions), options);
        let context = FrameContext { surface, positions, radius: self.radius, options };
        let is_first = self.curves.is_empty();
        let mut curves = std::mem::take(&mut self.curves);
        let mut new_curves = Vec::new();
        let mut occupied = Grid::new(MIN_SPACING * self.radius);
        for curve in curves.iter_mut().filter(|curve| !curve.is_fading) {
            // Older curves are updated first, so that a newer one never shortens them.
            new_curves.extend(context.follow(curve, &self.field, &occupied));
            context.occupy(curve, &mut occupied);
        }
        for curve in new_curves {
            context.occupy(&curve, &mut occupied);
            curves.push(curve);
        }
        context.seed(&mut curves, &self.field, &mut occupied);
        let lost_area = strength::distribute_lost_area(surface, rest, &self.field, &curves, self.radius);
        let max_step = if is_first { 1.0 } else { 1.0 / options.fade_frames.max(1.0) };
        self.move_sides(surface.sides(positions, &point_normals(positions, &surface.triangles), self.radius), max_step);
        let max_excess = self.profile.max_excess() * self.radius;
        for (curve, targets) in curves.iter_mut().zip(lost_area.strengths(max_excess, STEP * self.radius)) {
            curve.follow(&targets, max_step);
        }
        curves.retain(|curve| !(curve.is_fading && curve.nodes().all(|node| node.strength <= 0.0)));
        self.curves = curves;
        self.lines(surface, lost_area.total)
    }

    /// Smooths the field over time.
    fn observe(&mut self, mut now: Compression, options: &WrinkleOptions) {
        if self.field.tensors.len() == now.tensors.len() {
            let keep = options.smoothing.clamp(0.0, 0.95);
            for (tensor, before) in now.tensors.iter_mut().zip(&self.field.tensors) {
                *tensor = *tensor * (1.0 - keep) + *before * keep;
            }
            for (amount, before) in now.amounts.iter_mut().zip(&self.field.amounts) {
                *amount = *amount * (1.0 - keep) + before * keep;
            }
        }
        self.field = now;
    }

    /// Moves the sides of the wrinkles towards `targets`.
    fn move_sides(&mut self, targets: Vec<f32>, max_step: f32) {
        if self.sides.len() == targets.len() {
            for (side, target) in self.sides.iter_mut().zip(targets) {
                *side += (target - *side).clamp(-2.0 * max_step, 2.0 * max_step);
            }
        } else {
            self.sides = targets;
        }
    }

    /// Curves with the offsets that correspond to their strengths.
    fn lines(&self, surface: &Surface, lost_locally: f64) -> Curves {
        let amount = |location: SurfacePoint| location.blend(&surface.triangles, &self.field.amounts);
        let curve_node = |node: &Node| {
            let radius_ratio = (SEMICIRCLE / amount(node.location).max(1e-3)).clamp(1.0, MAX_RADIUS_RATIO);
            // The length absorbed by a wrinkle is proportional to the square of its height.
            let excess = self.profile.max_excess() * node.strength * node.strength;
            CurveNode {
                location: node.location,
                radius: radius_ratio * self.radius,
                offset: self.profile.offset(excess),
            }
        };
        Curves {
            lines: self.curves.iter().map(|curve| curve.nodes().map(curve_node).collect()).collect(),
            compression: self.field.amounts.clone(),
            lost_locally,
            sides: self.sides.clone(),
            amplitude: 1.0,
        }
    }
}

impl Curve {
    fn new(sides: [Vec<SurfacePoint>; 2]) -> Self {
        let node = |location: SurfacePoint| Node { location, is_active: true, strength: 0.0 };
        Self { sides: sides.map(|side| side.into_iter().map(node).collect()), is_fading: false }
    }

    /// Nodes in order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.sides[1].iter().rev().chain(&self.sides[0])
    }

    /// Returns true if the wrinkle of `node` is not fading.
    pub(super) fn is_active(&self, node: &Node) -> bool {
        !self.is_fading && node.is_active
    }

    /// Moves the strengths towards `targets` by at most `max_step` and removes vanished nodes at the ends.
    fn follow(&mut self, targets: &[f32], max_step: f32) {
        let is_fading = self.is_fading;
        let [ahead, behind] = &mut self.sides;
        for (node, &target) in behind.iter_mut().rev().chain(ahead).zip(targets) {
            let target = if is_fading || !node.is_active { 0.0 } else { target };
            node.strength += (target - node.strength).clamp(-max_step, max_step);
        }
        for side in &mut self.sides {
            while side.len() > 1 && side.last().is_some_and(|node| node.strength <= 0.0 && !node.is_active) {
                side.pop();
            }
        }
    }
}

/// Surface, positions and options that the curves of a frame are computed from.
struct FrameContext<'a> {
    surface: &'a Surface,
    positions: &'a [Vec3],
    radius: f32,
    options: &'a WrinkleOptions,
}

impl FrameContext<'_> {
    fn streamline_options(&self) -> StreamlineOptions {
        StreamlineOptions {
            step: STEP * self.radius,
            min_compression: END_FRACTION * self.options.threshold,
            max_length: self.options.max_length * self.radius,
        }
    }

    /// Both sides of the streamline through `seed`, up to the minimum distance from other curves.
    fn trace(&self, seed: SurfacePoint, field: &Compression, occupied: &Grid<()>) -> [Vec<SurfacePoint>; 2] {
        let stop = END_DISTANCE * MIN_SPACING * self.radius;
        // A streamline that returns to itself, as around a sleeve, ends there.
        let behind = (stop / (STEP * self.radius)).ceil() as usize + 1;
        let mut visited = vec![self.surface.rest_of(seed)];
        [false, true].map(|backwards| {
            let others = visited.clone();
            let is_free = |position: Vec3, own_line: &[Vec3]| {
                let older = own_line.len().saturating_sub(behind);
                let later = if own_line.len() < behind { 0 } else { others.len() };
                occupied.near(position, stop).next().is_none()
                    && own_line[..older].iter().chain(&others[..later]).all(|other| other.distance(position) > stop)
            };
            let follow = self.streamline_options();
            let line = streamline(self.surface, field, self.positions, seed, backwards, follow, &is_free);
            visited.extend(line.iter().map(|location| self.surface.rest_of(*location)));
            line
        })
    }

    /// Updates a curve. Returns a new one if its streamline has jumped.
    fn follow(&self, curve: &mut Curve, field: &Compression, occupied: &Grid<()>) -> Option<Curve> {
        let seed = self.climb(curve.sides[0][0].location, field);
        let seed_position = self.surface.rest_of(seed);
        let crowded = occupied.near(seed_position, MIN_SEED_DISTANCE * MIN_SPACING * self.radius).next().is_some();
        if crowded || seed.blend(&self.surface.triangles, &field.amounts) < KEEP_FRACTION * self.options.threshold {
            curve.is_fading = true;
            return None;
        }
        let mut sides = self.trace(seed, field, occupied);
        // The field has no sign; the sides are matched to those of the previous frame.
        if let (Some(now), Some(before)) = (sides[0].first(), curve.sides[0].get(1)) {
            let ahead = self.surface.rest_of(*now) - seed_position;
            let was = self.surface.rest_of(before.location) - self.surface.rest_of(curve.sides[0][0].location);
            if ahead.dot(was) < 0.0 {
                sides.swap(0, 1);
            }
        }
        sides[0].insert(0, seed);
        if self.has_jumped(curve, &sides) {
            curve.is_fading = true;
            return Some(Curve::new(sides));
        }
        for (nodes, targets) in curve.sides.iter_mut().zip(&sides) {
            self.settle(nodes, targets);
        }
        None
    }

    /// Moves a seed by a small step towards higher compression.
    fn climb(&self, location: SurfacePoint, field: &Compression) -> SurfacePoint {
        let triangle = self.surface.triangles[location.triangle as usize];
        let highest =
            (0..3).max_by(|&a, &b| field.amounts[triangle[a] as usize].total_cmp(&field.amounts[triangle[b] as usize]));
        let goal = self.surface.rest[triangle[highest.unwrap_or(0)] as usize];
        let here = self.surface.rest_of(location);
        let way = goal - here;
        let step = (FOLLOW_RATE * way).clamp_length_max(MAX_MOTION * self.radius);
        self.surface.walk_to(location, here + step)
    }

    fn has_jumped(&self, curve: &Curve, sides: &[Vec<SurfacePoint>; 2]) -> bool {
        let pairs = curve.sides.iter().zip(sides).flat_map(|(nodes, locations)| nodes.iter().zip(locations));
        let apart =
            pairs.map(|(node, location)| self.surface.rest_of(node.location).distance(self.surface.rest_of(*location)));
        apart.fold(0.0, f32::max) > JUMP_DISTANCE * self.radius
    }

    /// Moves the nodes of a side towards their streamline. Nodes are added if it has become longer and fade if it has
    /// become shorter.
    fn settle(&self, nodes: &mut Vec<Node>, targets: &[SurfacePoint]) {
        for (node, target) in nodes.iter_mut().zip(targets) {
            let (here, goal) = (self.surface.rest_of(node.location), self.surface.rest_of(*target));
            let step = (FOLLOW_RATE * (goal - here)).clamp_length_max(MAX_MOTION * self.radius);
            node.location = self.surface.walk_to(node.location, here + step);
            node.is_active = true;
        }
        let known = nodes.len();
        for node in nodes.iter_mut().skip(targets.len()) {
            node.is_active = false;
        }
        nodes.extend(targets.iter().skip(known).map(|&location| Node { location, is_active: true, strength: 0.0 }));
    }

    /// Marks the surroundings of an active curve as occupied.
    fn occupy(&self, curve: &Curve, occupied: &mut Grid<()>) {
        for node in curve.nodes().filter(|node| curve.is_active(node)) {
            occupied.insert(self.surface.rest_of(node.location), ());
        }
    }

    /// Starts new curves in compressed regions without other curves, in the order of decreasing compression.
    fn seed(&self, curves: &mut Vec<Curve>, field: &Compression, occupied: &mut Grid<()>) {
        let mut candidates: Vec<u32> = (0..field.amounts.len() as u32)
            .filter(|&point| field.amounts[point as usize] > self.options.threshold)
            .collect();
        candidates.sort_by(|&a, &b| field.amounts[b as usize].total_cmp(&field.amounts[a as usize]).then(a.cmp(&b)));
        for point in candidates {
            let Some(seed) = self.surface.location_of(point as usize) else { continue };
            if occupied.near(self.surface.rest[point as usize], MIN_SPACING * self.radius).next().is_some() {
                continue;
            }
            let mut sides = self.trace(seed, field, occupied);
            if sides[0].len() + sides[1].len() + 1 < MIN_NODES {
                continue;
            }
            sides[0].insert(0, seed);
            let curve = Curve::new(sides);
            self.occupy(&curve, occupied);
            curves.push(curve);
        }
    }
}

/// Every [`NODES_PER_SEGMENT`]th node and both ends; segments are longer than the distance of nodes.
fn thinned(line: &[CurveNode]) -> Vec<CurveNode> {
    let last = line.len().saturating_sub(1);
    line.iter()
        .enumerate()
        .filter(|(at, _)| at % NODES_PER_SEGMENT == 0 || *at == last)
        .map(|(_, node)| *node)
        .collect()
}

/// Curves as segments below the cloth, each with the positions of its ends on the rest shape.
pub(super) fn segments(
    curves: &Curves,
    surface: &Surface,
    positions: &[Vec3],
    normals: &[Vec3],
) -> Vec<(Segment, [Vec3; 2])> {
    let mut segments = Vec::new();
    for line in &curves.lines {
        let lowered = |node: &CurveNode| {
            let normal = node.location.blend(&surface.triangles, normals).normalize_or_zero();
            let below = normal * (node.offset * node.radius);
            (node.location.blend(&surface.triangles, positions) - below, surface.rest_of(node.location))
        };
        let line: Vec<CurveNode> = thinned(line);
        let ends_and_rest: Vec<(Vec3, Vec3)> = line.iter().map(lowered).collect();
        for (nodes, ends) in line.windows(2).zip(ends_and_rest.windows(2)) {
            if nodes.iter().all(|node| node.offset >= MAX_OFFSET) {
                continue;
            }
            let radius = 0.5 * (nodes[0].radius + nodes[1].radius);
            if let Some(segment) = Segment::new(ends[0].0, ends[1].0, radius) {
                segments.push((segment, [ends[0].1, ends[1].1]));
            }
        }
    }
    segments
}
