//! Wrinkle curves over time (§4.2): they grow, fade and follow their compression; they do not pop.
//!
//! Each curve has a seed, which moves towards higher compression and lives while there is enough of it, and nodes at
//! even distances to both sides. In each frame the streamline is traced again from the seed, and the nodes follow it by
//! a part of the way; a streamline that has jumped elsewhere starts a new curve, and the old one fades. How strong the
//! wrinkle of each node should be follows from the loss around it ([`super::share`]); the strength goes there by at most
//! a small step per frame, up where the streamline is new, down where it has left.

use dermis_mesh::geometry::point_normals;
use glam::Vec3;

use super::field::Segment;
use super::grid::Grid;
use super::options::WrinkleOptions;
use super::profile::{DEEPEST, Profile};
use super::share;
use super::stretch::{Compression, RestTriangles, compression};
use super::surface::{Spot, Surface};
use super::trace::{Follow, streamline};

/// Curves are at least so many radii apart.
pub(super) const APART: f32 = 2.6;
/// The spacing for which profiles are measured; curves seldom lie as densely as they may.
const TYPICAL_APART: f32 = 4.0;
/// Streamlines end so near to others, as a part of [`APART`].
const STOP: f32 = 0.75;
/// A seed so near to an older curve dies, as a part of [`APART`].
const CROWDED: f32 = 0.5;
/// The distance of nodes, in radii.
pub(super) const STEP: f32 = 0.6;
/// The part of the way to their streamline that nodes go in a frame.
const FOLLOW: f32 = 0.25;
/// How far nodes and seeds move in a frame at most, in radii.
const FASTEST: f32 = 0.06;
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
/// Nodes per segment of the field.
const THINNING: usize = 2;

/// The wrinkle curves of one frame, on the cloth.
#[derive(Debug, Clone, Default)]
pub struct Curves {
    /// The nodes of each curve in order.
    pub lines: Vec<Vec<CurveNode>>,
    /// The compression at each point of the cloth, 0 to 1.
    pub compression: Vec<f32>,
    /// The area that is lost where the cloth is compressed; what is gained elsewhere does not count.
    pub lost_locally: f64,
    /// To which side of the cloth wrinkles go at each point: 1 along the normal, −1 against it.
    pub sides: Vec<f32>,
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
pub(super) struct Curve {
    /// The nodes along the field, from the seed on, and those against it.
    sides: [Vec<Node>; 2],
    dies: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) spot: Spot,
    /// Whether the streamline still passes here.
    pub(super) stays: bool,
    /// How high the wrinkle is, as a part of the highest.
    strength: f32,
}

/// Follows curves from frame to frame.
#[derive(Debug, Clone)]
pub struct Tracker {
    curves: Vec<Curve>,
    field: Compression,
    sides: Vec<f32>,
    profile: Profile,
    radius: f32,
}

impl Tracker {
    pub(super) fn new(radius: f32) -> Self {
        let profile = Profile::new(TYPICAL_APART);
        Self { curves: Vec::new(), field: Compression::default(), sides: Vec::new(), profile, radius }
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
        let is_first = self.curves.is_empty();
        let mut curves = std::mem::take(&mut self.curves);
        let mut born = Vec::new();
        let mut taken = Grid::new(APART * self.radius);
        for curve in curves.iter_mut().filter(|curve| !curve.dies) {
            // Older ones go first, so that a younger one never cuts them off.
            born.extend(scene.follow(curve, &self.field, &taken));
            scene.occupy(curve, &mut taken);
        }
        for curve in born {
            scene.occupy(&curve, &mut taken);
            curves.push(curve);
        }
        scene.seed(&mut curves, &self.field, &mut taken);
        let lost = share::lost(surface, rest, &self.field, &curves, self.radius);
        let fastest = if is_first { 1.0 } else { 1.0 / options.fade_frames.max(1.0) };
        self.turn(surface.sides(positions, &point_normals(positions, &surface.triangles), self.radius), fastest);
        let most = self.profile.most() * self.radius;
        for (curve, targets) in curves.iter_mut().zip(lost.strengths(most, STEP * self.radius)) {
            curve.follow(&targets, fastest);
        }
        curves.retain(|curve| !(curve.dies && curve.nodes().all(|node| node.strength <= 0.0)));
        self.curves = curves;
        self.lines(surface, lost.total)
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

    /// Lets the sides go to `targets`.
    fn turn(&mut self, targets: Vec<f32>, fastest: f32) {
        if self.sides.len() == targets.len() {
            for (side, target) in self.sides.iter_mut().zip(targets) {
                *side += (target - *side).clamp(-2.0 * fastest, 2.0 * fastest);
            }
        } else {
            self.sides = targets;
        }
    }

    /// The curves, as deep as their wrinkles are strong.
    fn lines(&self, surface: &Surface, lost_locally: f64) -> Curves {
        let amount = |spot: Spot| spot.blend(&surface.triangles, &self.field.amounts);
        let place = |node: &Node| {
            let wider = (SEMICIRCLE / amount(node.spot).max(1e-3)).clamp(1.0, WIDEST);
            // What a wrinkle takes up goes with the square of its height.
            let excess = self.profile.most() * node.strength * node.strength;
            CurveNode { spot: node.spot, radius: wider * self.radius, offset: self.profile.offset(excess) }
        };
        Curves {
            lines: self.curves.iter().map(|curve| curve.nodes().map(place).collect()).collect(),
            compression: self.field.amounts.clone(),
            lost_locally,
            sides: self.sides.clone(),
            amplitude: 1.0,
        }
    }
}

impl Curve {
    fn new(sides: [Vec<Spot>; 2]) -> Self {
        let node = |spot: Spot| Node { spot, stays: true, strength: 0.0 };
        Self { sides: sides.map(|side| side.into_iter().map(node).collect()), dies: false }
    }

    /// The nodes in order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.sides[1].iter().rev().chain(&self.sides[0])
    }

    /// Whether the wrinkle of `node` is one that stays.
    pub(super) fn keeps(&self, node: &Node) -> bool {
        !self.dies && node.stays
    }

    /// Lets the strengths go to `targets` by at most `fastest`; nodes that are gone at the ends are dropped.
    fn follow(&mut self, targets: &[f32], fastest: f32) {
        let dies = self.dies;
        let [ahead, behind] = &mut self.sides;
        for (node, &target) in behind.iter_mut().rev().chain(ahead).zip(targets) {
            let target = if dies || !node.stays { 0.0 } else { target };
            node.strength += (target - node.strength).clamp(-fastest, fastest);
        }
        for side in &mut self.sides {
            while side.len() > 1 && side.last().is_some_and(|node| node.strength <= 0.0 && !node.stays) {
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
    fn trace(&self, seed: Spot, field: &Compression, taken: &Grid<()>) -> [Vec<Spot>; 2] {
        let stop = STOP * APART * self.radius;
        // A line that comes back to itself, as around a sleeve, ends there.
        let behind = (stop / (STEP * self.radius)).ceil() as usize + 1;
        let mut places = vec![self.surface.rest_of(seed)];
        [false, true].map(|backwards| {
            let others = places.clone();
            let is_free = |place: Vec3, own_line: &[Vec3]| {
                let older = own_line.len().saturating_sub(behind);
                let later = if own_line.len() < behind { 0 } else { others.len() };
                taken.near(place, stop).next().is_none()
                    && own_line[..older].iter().chain(&others[..later]).all(|other| other.distance(place) > stop)
            };
            let follow = self.follow_options();
            let line = streamline(self.surface, field, self.positions, seed, backwards, follow, &is_free);
            places.extend(line.iter().map(|spot| self.surface.rest_of(*spot)));
            line
        })
    }

    /// Moves a curve on; gives a new one where its streamline has jumped.
    fn follow(&self, curve: &mut Curve, field: &Compression, taken: &Grid<()>) -> Option<Curve> {
        let seed = self.climb(curve.sides[0][0].spot, field);
        let place = self.surface.rest_of(seed);
        let crowded = taken.near(place, CROWDED * APART * self.radius).next().is_some();
        if crowded || seed.blend(&self.surface.triangles, &field.amounts) < KEEP * self.options.threshold {
            curve.dies = true;
            return None;
        }
        let mut sides = self.trace(seed, field, taken);
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
            node.stays = true;
        }
        let known = nodes.len();
        for node in nodes.iter_mut().skip(targets.len()) {
            node.stays = false;
        }
        nodes.extend(targets.iter().skip(known).map(|&spot| Node { spot, stays: true, strength: 0.0 }));
    }

    /// Keeps other curves away from one that stays.
    fn occupy(&self, curve: &Curve, taken: &mut Grid<()>) {
        for node in curve.nodes().filter(|node| curve.keeps(node)) {
            taken.insert(self.surface.rest_of(node.spot), ());
        }
    }

    /// New curves where the cloth is compressed and no other is near, from the most compressed point on.
    fn seed(&self, curves: &mut Vec<Curve>, field: &Compression, taken: &mut Grid<()>) {
        let mut candidates: Vec<u32> = (0..field.amounts.len() as u32)
            .filter(|&point| field.amounts[point as usize] > self.options.threshold)
            .collect();
        candidates.sort_by(|&a, &b| field.amounts[b as usize].total_cmp(&field.amounts[a as usize]).then(a.cmp(&b)));
        for point in candidates {
            let Some(seed) = self.surface.spot_of(point as usize) else { continue };
            if taken.near(self.surface.rest[point as usize], APART * self.radius).next().is_some() {
                continue;
            }
            let mut sides = self.trace(seed, field, taken);
            if sides[0].len() + sides[1].len() + 1 < SHORTEST {
                continue;
            }
            sides[0].insert(0, seed);
            let curve = Curve::new(sides);
            self.occupy(&curve, taken);
            curves.push(curve);
        }
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
