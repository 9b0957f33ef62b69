//! Wrinkle curves over time (§4.2): they grow, fade and follow their compression; they do not pop.
//!
//! Each curve has a seed, which moves towards higher compression and lives while there is enough of it, and nodes at
//! even distances to both sides. In each frame the streamline is traced again from the seed, and the nodes follow it by
//! a part of the way; a streamline that has jumped elsewhere starts a new curve, and the old one fades. Nodes that the
//! streamline has newly reached fade in, others fade out. Then every point of the cloth gives the area it has lost
//! to the nodes around, which is how much that wrinkle must take up.

use glam::Vec3;

use super::field::Segment;
use super::grid::Grid;
use super::options::WrinkleOptions;
use super::profile::{DEEPEST, Profile};
use super::stretch::{Compression, RestTriangles, compression};
use super::surface::{Spot, Surface};
use super::trace::{Follow, streamline};

/// Curves are at least so many radii apart.
const APART: f32 = 2.6;
/// The spacing for which profiles are measured; curves seldom lie as densely as they may.
const TYPICAL_APART: f32 = 4.0;
/// Streamlines end so near to others, as a part of [`APART`].
const STOP: f32 = 0.75;
/// A seed so near to an older curve dies, as a part of [`APART`].
const CROWDED: f32 = 0.5;
/// The distance of nodes, in radii.
const STEP: f32 = 0.6;
/// The part of the way to their streamline that nodes go in a frame.
const FOLLOW: f32 = 0.25;
/// How far nodes and seeds move in a frame at most, in radii.
const FASTEST: f32 = 0.12;
/// A node farther from its streamline than so many radii belongs to another.
const JUMP: f32 = 1.5;
/// Shorter curves, in nodes to both sides together, are noise.
const SHORTEST: usize = 4;
/// A seed lives until its compression falls below this part of what makes one.
const KEEP: f32 = 0.6;
/// Streamlines go on until compression falls below this part of what makes a seed.
const END: f32 = 0.5;
/// 1 − 2/π: what a semicircular fold takes up of its length.
const SEMICIRCLE: f32 = 1.0 - std::f32::consts::FRAC_2_PI;
/// The largest radius, in smallest radii.
const WIDEST: f32 = 1.25;
/// Passes that even out the lost length along a curve.
const EVENING: usize = 4;
/// Nodes per segment of the field.
const THINNING: usize = 2;
/// The bounds of the gain: below, local folds would vanish where other places are stretched; above, few would be huge.
const GAINS: [f32; 2] = [0.25, 6.0];
/// Steps that find the gain.
const GAIN_STEPS: usize = 6;
/// Nodes over which a curve's end tapers.
const TAPER: f32 = 4.0;

/// The wrinkle curves of one frame, on the cloth.
#[derive(Debug, Clone, Default)]
pub struct Curves {
    /// The nodes of each curve in order.
    pub lines: Vec<Vec<CurveNode>>,
    /// The compression at each point of the cloth, 0 to 1.
    pub compression: Vec<f32>,
    /// The area that is lost where the cloth is compressed; what is gained elsewhere does not count.
    pub lost_locally: f64,
    /// By how much all wrinkles of the frame are higher than the curves say.
    pub amplitude: f32,
}

/// A node of a wrinkle curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveNode {
    /// Where it lies on the cloth.
    pub spot: Spot,
    /// The radius of the wrinkle.
    pub radius: f32,
    /// How deep the curve runs below the cloth, in radii; larger is flatter.
    pub offset: f32,
}

#[derive(Debug, Clone)]
struct Curve {
    /// The nodes along the field, from the seed on, and those against it.
    sides: [Vec<Node>; 2],
    dies: bool,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    spot: Spot,
    fade: f32,
    lost: f32,
    amount: f32,
}

/// Follows curves from frame to frame.
#[derive(Debug, Clone)]
pub struct Tracker {
    curves: Vec<Curve>,
    field: Compression,
    profile: Profile,
    radius: f32,
}

impl Tracker {
    pub(super) fn new(radius: f32) -> Self {
        Self { curves: Vec::new(), field: Compression::default(), profile: Profile::new(TYPICAL_APART), radius }
    }

    /// The curves of the next frame.
    pub(super) fn advance(
        &mut self,
        surface: &Surface,
        rest: &RestTriangles,
        positions: &[Vec3],
        options: &WrinkleOptions,
    ) -> Curves {
        self.observe(compression(surface, rest, positions), options);
        let scene = Scene { surface, positions, radius: self.radius, options };
        let mut taken = Grid::new(APART * self.radius);
        for (index, curve) in self.curves.iter().enumerate() {
            scene.occupy(curve, index as u32, &mut taken);
        }
        let is_first = self.curves.is_empty();
        let mut curves = std::mem::take(&mut self.curves);
        let mut born = Vec::new();
        for (index, curve) in curves.iter_mut().enumerate() {
            if !curve.dies {
                born.extend(scene.follow(curve, index as u32, &self.field, &taken));
            }
        }
        for curve in born {
            scene.occupy(&curve, curves.len() as u32, &mut taken);
            curves.push(curve);
        }
        scene.seed(&mut curves, &self.field, &mut taken);
        for curve in &mut curves {
            curve.fade(if is_first { 1.0 } else { 1.0 / options.fade_frames.max(1.0) });
        }
        curves.retain(|curve| !(curve.dies && curve.sides.iter().flatten().all(|node| node.fade <= 0.0)));
        scene.share(&mut curves, &self.field, rest, is_first);
        self.curves = curves;
        let losses = self.field.losses.iter().zip(&rest.point_areas);
        self.lines(losses.map(|(loss, area)| loss.max(0.0) * area).sum())
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

    /// The curves, as deep as their wrinkles must be to take up `missing`, the area that the cloth has lost.
    fn lines(&self, missing: f32) -> Curves {
        let lines: Vec<Vec<Node>> = self.curves.iter().map(Curve::tapered).collect();
        let lost: Vec<f32> = lines.iter().flatten().map(|node| node.lost).collect();
        let gain = self.gain(missing, &lost);
        let place = |node: &Node| {
            let radius = self.radius * (SEMICIRCLE / node.amount.abs().max(1e-3)).clamp(1.0, WIDEST);
            CurveNode { spot: node.spot, radius, offset: self.profile.offset(gain * node.lost / radius) }
        };
        Curves {
            lines: lines.iter().map(|line| line.iter().map(place).collect()).collect(),
            compression: self.field.amounts.clone(),
            lost_locally: f64::from(missing),
            amplitude: 1.0,
        }
    }

    /// How much more than their share wrinkles take up, because others are still growing, end, or can take no more.
    fn gain(&self, missing: f32, lost: &[f32]) -> f32 {
        let most = self.profile.most() * self.radius;
        let mut gain = GAINS[0];
        for _ in 0..GAIN_STEPS {
            let taken: f32 = lost.iter().map(|lost| (gain * lost).min(most)).sum::<f32>() * STEP * self.radius;
            let better = if taken > 0.0 { gain * missing / taken } else { 1.0 };
            gain = better.clamp(GAINS[0], GAINS[1]);
        }
        gain
    }
}

impl Curve {
    /// The nodes in order, with what they take up reduced where they fade and towards the ends.
    fn tapered(&self) -> Vec<Node> {
        let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
        let mut nodes = self.line();
        let last = nodes.len().saturating_sub(1);
        for (at, node) in nodes.iter_mut().enumerate() {
            let to_end = (at.min(last - at) as f32 / TAPER).min(1.0);
            node.lost *= smooth(to_end) * smooth(node.fade);
        }
        nodes
    }

    fn line(&self) -> Vec<Node> {
        self.sides[1].iter().rev().chain(&self.sides[0]).copied().collect()
    }

    /// Lets nodes fade in or out by `step`; those that are gone at the ends are dropped.
    fn fade(&mut self, step: f32) {
        let dies = self.dies;
        for side in &mut self.sides {
            for node in side.iter_mut() {
                // Nodes that the streamline has left carry a negative fade's intent in `amount`; see `settle`.
                let fades = dies || node.amount < 0.0;
                node.fade = (node.fade + if fades { -step } else { step }).clamp(0.0, 1.0);
            }
            while side.len() > 1 && side.last().is_some_and(|node| node.fade <= 0.0 && node.amount < 0.0) {
                side.pop();
            }
        }
    }
}

/// What the curves of a frame lie on.
struct Scene<'a> {
    surface: &'a Surface,
    positions: &'a [Vec3],
    radius: f32,
    options: &'a WrinkleOptions,
}

impl Scene<'_> {
    fn follow_options(&self) -> Follow {
        Follow {
            step: STEP * self.radius,
            least: END * self.options.threshold,
            longest: self.options.longest * self.radius,
        }
    }

    /// Both sides of the streamline through `seed`, as far as they are not near others.
    fn trace(&self, seed: Spot, field: &Compression, taken: &Grid<u32>, own: u32) -> [Vec<Spot>; 2] {
        let stop = STOP * APART * self.radius;
        // A line that comes back to itself, as around a sleeve, ends there.
        let behind = (stop / (STEP * self.radius)).ceil() as usize + 1;
        let mut places = vec![self.surface.rest_of(seed)];
        [false, true].map(|backwards| {
            let others = places.clone();
            let is_free = |place: Vec3, own_line: &[Vec3]| {
                let older = own_line.len().saturating_sub(behind);
                let later = if own_line.len() < behind { 0 } else { others.len() };
                !taken.near(place, stop).any(|(_, other)| other != own)
                    && own_line[..older].iter().chain(&others[..later]).all(|other| other.distance(place) > stop)
            };
            let follow = self.follow_options();
            let line = streamline(self.surface, field, self.positions, seed, backwards, follow, &is_free);
            places.extend(line.iter().map(|spot| self.surface.rest_of(*spot)));
            line
        })
    }

    /// Moves a curve on; gives a new one where its streamline has jumped.
    fn follow(&self, curve: &mut Curve, index: u32, field: &Compression, taken: &Grid<u32>) -> Option<Curve> {
        let seed = self.climb(curve.sides[0][0].spot, field);
        let place = self.surface.rest_of(seed);
        let crowded = taken.near(place, CROWDED * APART * self.radius).any(|(_, other)| other < index);
        if crowded || seed.blend(&self.surface.triangles, &field.amounts) < KEEP * self.options.threshold {
            curve.dies = true;
            return None;
        }
        let mut sides = self.trace(seed, field, taken, index);
        // The field has no sign: the side that runs along the curve's own is its first.
        if let (Some(now), Some(before)) = (sides[0].first(), curve.sides[0].get(1)) {
            let ahead = self.surface.rest_of(*now) - place;
            let was = self.surface.rest_of(before.spot) - self.surface.rest_of(curve.sides[0][0].spot);
            if ahead.dot(was) < 0.0 {
                sides.swap(0, 1);
            }
        }
        sides[0].insert(0, seed);
        if self.has_jumped(curve, &sides) {
            curve.dies = true;
            return Some(Curve::new(sides));
        }
        for (nodes, targets) in curve.sides.iter_mut().zip(&sides) {
            self.settle(nodes, targets);
        }
        None
    }

    /// Towards higher compression, a small step.
    fn climb(&self, spot: Spot, field: &Compression) -> Spot {
        let triangle = self.surface.triangles[spot.triangle as usize];
        let highest =
            (0..3).max_by(|&a, &b| field.amounts[triangle[a] as usize].total_cmp(&field.amounts[triangle[b] as usize]));
        let goal = self.surface.rest[triangle[highest.unwrap_or(0)] as usize];
        let here = self.surface.rest_of(spot);
        let way = goal - here;
        let step = (FOLLOW * way).clamp_length_max(FASTEST * self.radius);
        self.surface.walk_to(spot, here + step)
    }

    fn has_jumped(&self, curve: &Curve, sides: &[Vec<Spot>; 2]) -> bool {
        let pairs = curve.sides.iter().zip(sides).flat_map(|(nodes, spots)| nodes.iter().zip(spots));
        let apart = pairs.map(|(node, spot)| self.surface.rest_of(node.spot).distance(self.surface.rest_of(*spot)));
        apart.fold(0.0, f32::max) > JUMP * self.radius
    }

    /// Lets the nodes of a side follow their streamline, and fade in or out where it has become longer or shorter.
    fn settle(&self, nodes: &mut Vec<Node>, targets: &[Spot]) {
        for (node, target) in nodes.iter_mut().zip(targets) {
            let (here, goal) = (self.surface.rest_of(node.spot), self.surface.rest_of(*target));
            let step = (FOLLOW * (goal - here)).clamp_length_max(FASTEST * self.radius);
            node.spot = self.surface.walk_to(node.spot, here + step);
            node.amount = node.amount.abs();
        }
        let known = nodes.len();
        for node in nodes.iter_mut().skip(targets.len()) {
            node.amount = -node.amount.abs().max(f32::MIN_POSITIVE);
        }
        nodes.extend(targets.iter().skip(known).map(|&spot| Node::new(spot)));
    }

    fn occupy(&self, curve: &Curve, index: u32, taken: &mut Grid<u32>) {
        let stays = |node: &&Node| !(curve.dies && node.fade < 0.5) && node.amount > 0.0;
        for node in curve.sides.iter().flatten().filter(stays) {
            taken.insert(self.surface.rest_of(node.spot), index);
        }
    }

    /// New curves where the cloth is compressed and no other is near, from the most compressed point on.
    fn seed(&self, curves: &mut Vec<Curve>, field: &Compression, taken: &mut Grid<u32>) {
        let mut candidates: Vec<u32> = (0..field.amounts.len() as u32)
            .filter(|&point| field.amounts[point as usize] > self.options.threshold)
            .collect();
        candidates.sort_by(|&a, &b| field.amounts[b as usize].total_cmp(&field.amounts[a as usize]).then(a.cmp(&b)));
        for point in candidates {
            let Some(seed) = self.surface.spot_of(point as usize) else { continue };
            if taken.near(self.surface.rest[point as usize], APART * self.radius).next().is_some() {
                continue;
            }
            let index = curves.len() as u32;
            let mut sides = self.trace(seed, field, taken, index);
            if sides[0].len() + sides[1].len() + 1 < SHORTEST {
                continue;
            }
            sides[0].insert(0, seed);
            let curve = Curve::new(sides);
            self.occupy(&curve, index, taken);
            curves.push(curve);
        }
    }

    /// Gives the length that each point of the cloth has lost to the nearest nodes.
    fn share(&self, curves: &mut [Curve], field: &Compression, rest: &RestTriangles, is_first: bool) {
        let mut nodes: Grid<(u32, u32, f32)> = Grid::new(APART * self.radius);
        let mut lost: Vec<Vec<f32>> = Vec::new();
        for (index, curve) in curves.iter().enumerate() {
            let line = curve.line();
            for (at, node) in line.iter().enumerate() {
                nodes.insert(self.surface.rest_of(node.spot), (index as u32, at as u32, node.fade + 0.02));
            }
            lost.push(vec![0.0; line.len()]);
        }
        for (point, (&loss, &area)) in field.losses.iter().zip(&rest.point_areas).enumerate() {
            let lost_area = loss * area;
            if lost_area <= 0.0 {
                continue;
            }
            let near = nodes.near(self.surface.rest[point], APART * self.radius);
            // Weights that end at the border of what is seen let shares change smoothly.
            let weight = |apart: f32| (1.0 - apart / (APART * self.radius)).powi(4).max(1e-6);
            let near: Vec<(f32, u32, u32)> =
                near.map(|(apart, (curve, at, fade))| (fade * weight(apart), curve, at)).collect();
            let total: f32 = near.iter().map(|(weight, ..)| weight).sum();
            for (weight, curve, at) in near {
                lost[curve as usize][at as usize] += lost_area * weight / total;
            }
        }
        let keep = if is_first { 0.0 } else { self.options.smoothing.clamp(0.0, 0.95) };
        for (curve, mut lost) in curves.iter_mut().zip(lost) {
            for _ in 0..EVENING {
                even_out(&mut lost);
            }
            let backwards = curve.sides[1].len();
            for (side, nodes) in curve.sides.iter_mut().enumerate() {
                for (at, node) in nodes.iter_mut().enumerate() {
                    let place = if side == 0 { backwards + at } else { backwards - 1 - at };
                    // Area over length is the length that each cross-section has lost.
                    let now = lost[place] / (STEP * self.radius);
                    node.lost = if node.lost < 0.0 { now } else { keep * node.lost + (1.0 - keep) * now };
                    let amount = node.spot.blend(&self.surface.triangles, &field.amounts).max(f32::MIN_POSITIVE);
                    node.amount = amount.copysign(node.amount);
                }
            }
        }
    }
}

impl Curve {
    fn new(sides: [Vec<Spot>; 2]) -> Self {
        Self { sides: sides.map(|side| side.into_iter().map(Node::new).collect()), dies: false }
    }
}

impl Node {
    /// A node that nobody has seen yet.
    fn new(spot: Spot) -> Self {
        Self { spot, fade: 0.0, lost: -1.0, amount: f32::MIN_POSITIVE }
    }
}

/// Averages along a line; its sum stays.
fn even_out(values: &mut [f32]) {
    let before = values.to_vec();
    let last = before.len().saturating_sub(1);
    for (at, value) in values.iter_mut().enumerate() {
        *value = 0.25 * (before[at.saturating_sub(1)] + before[(at + 1).min(last)]) + 0.5 * before[at];
    }
}

/// Some nodes and both ends: segments may be longer than nodes are apart.
fn thinned(line: &[CurveNode]) -> Vec<CurveNode> {
    let last = line.len().saturating_sub(1);
    line.iter().enumerate().filter(|(at, _)| at % THINNING == 0 || *at == last).map(|(_, node)| *node).collect()
}

/// The curves as segments below the cloth, each with its place on the rest shape.
pub(super) fn segments(
    curves: &Curves,
    surface: &Surface,
    positions: &[Vec3],
    normals: &[Vec3],
) -> Vec<(Segment, [Vec3; 2])> {
    let mut segments = Vec::new();
    for line in &curves.lines {
        let place = |node: &CurveNode| {
            let normal = node.spot.blend(&surface.triangles, normals).normalize_or_zero();
            let below = normal * (node.offset * node.radius);
            (node.spot.blend(&surface.triangles, positions) - below, surface.rest_of(node.spot))
        };
        let line: Vec<CurveNode> = thinned(line);
        let places: Vec<(Vec3, Vec3)> = line.iter().map(place).collect();
        for (nodes, ends) in line.windows(2).zip(places.windows(2)) {
            if nodes.iter().all(|node| node.offset >= DEEPEST) {
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
