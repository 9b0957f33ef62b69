//! Animations: key times and values, sampled frame by frame (glTF 2.0, §3.11 and appendix C).
//!
//! Translations, scales and morph weights are interpolated linearly, rotations along the shorter great arc; `STEP`
//! keeps the earlier key, `CUBICSPLINE` is the Hermite spline of the stored tangents, rotations normalized after it.
//! Joint transforms are composed in f64.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use dermis_mesh::Note;
use glam::{DAffine3, DVec3};

use super::accessor::{Floats, width};
use super::document::{Document, missing};
use super::frame_rate::{FrameTimes, frame_times};
use super::nodes::{NodeTree, unit_quaternion};
use crate::error::Error;
use crate::gltf::schema;
use crate::options::ReadOptions;

/// Property that a channel animates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Property {
    Translation,
    Rotation,
    Scale,
    Weights,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interpolation {
    Step,
    Linear,
    CubicSpline,
}

/// One property of one node over time.
#[derive(Debug)]
pub(super) struct Track<'a> {
    property: Property,
    interpolation: Interpolation,
    keys: Rc<Floats<'a>>,
    values: Rc<Floats<'a>>,
    /// Numbers in each value.
    width: usize,
}

/// An animation of the file.
#[derive(Debug)]
pub(super) struct Animation<'a> {
    pub name: String,
    pub times: FrameTimes,
    tracks: BTreeMap<(usize, Property), Track<'a>>,
    /// True for each node that is animated or is below an animated node.
    moves: Vec<bool>,
}

/// Reads all animations of a file.
pub(super) fn read_animations<'a>(
    document: &'a Document<'_>,
    tree: &NodeTree,
    options: &ReadOptions,
) -> Result<Vec<Animation<'a>>, Error> {
    let curves = Curves { document, known: RefCell::default() };
    let mut animations = Vec::new();
    for (index, animation) in document.root.animations.iter().enumerate() {
        let read = read_animation(&curves, animation, tree, options);
        animations.extend(read.map_err(|error| error.at(format!("animations[{index}]")))?);
    }
    if animations.iter().any(|animation| animation.times.assumed) {
        document.note(Note::new("the keys are not evenly spaced; animations are sampled at 24 frames per second"));
    }
    Ok(animations)
}

/// Accessors that several channels share are checked once.
struct Curves<'a> {
    document: &'a Document<'a>,
    known: RefCell<BTreeMap<usize, Rc<Floats<'a>>>>,
}

impl<'a> Curves<'a> {
    fn get(&self, accessor: usize) -> Result<Rc<Floats<'a>>, Error> {
        if let Some(floats) = self.known.borrow().get(&accessor) {
            return Ok(Rc::clone(floats));
        }
        let components = width(&self.document.accessor(accessor)?.shape)?;
        let floats = Rc::new(self.document.floats(accessor, components)?);
        self.known.borrow_mut().insert(accessor, Rc::clone(&floats));
        Ok(floats)
    }

    fn keys(&self, accessor: usize) -> Result<Rc<Floats<'a>>, Error> {
        let keys = self.get(accessor)?;
        if keys.is_empty() || !keys.is_sorted() {
            return Err(Error::malformed("key times are not ascending").at(format!("accessors[{accessor}]")));
        }
        Ok(keys)
    }
}

/// `None` if no channel animates a node.
fn read_animation<'a>(
    curves: &Curves<'a>,
    animation: &schema::Animation,
    tree: &NodeTree,
    options: &ReadOptions,
) -> Result<Option<Animation<'a>>, Error> {
    let mut tracks = BTreeMap::new();
    let mut inputs = BTreeSet::new();
    for channel in &animation.channels {
        let property = match channel.target.path.as_str() {
            "translation" => Property::Translation,
            "rotation" => Property::Rotation,
            "scale" => Property::Scale,
            "weights" => Property::Weights,
            path => {
                curves.document.note(Note::new(format!("the animation of '{path}' is skipped")));
                continue;
            }
        };
        let Some(node) = channel.target.node else {
            continue;
        };
        if node >= tree.parents.len() {
            return Err(missing("node", node, tree.parents.len()));
        }
        let count = animation.samplers.len();
        let sampler =
            animation.samplers.get(channel.sampler).ok_or_else(|| missing("sampler", channel.sampler, count))?;
        tracks.insert((node, property), read_track(curves, sampler, property)?);
        inputs.insert(sampler.input);
    }
    if tracks.is_empty() {
        return Ok(None);
    }
    let mut keys = Vec::new();
    for input in inputs {
        let more = curves.keys(input)?;
        curves.document.take("key times", more.len(), 4)?;
        keys.extend_from_slice(&more);
    }
    keys.sort_unstable_by(f32::total_cmp);
    keys.dedup();
    let times = marked_times(animation, &keys, options).unwrap_or_else(|| frame_times(&keys, options.frame_rate_hz));
    let moves = moving_nodes(tree, &tracks);
    Ok(Some(Animation { name: animation.name.clone(), times, tracks, moves }))
}

fn read_track<'a>(
    curves: &Curves<'a>,
    sampler: &schema::AnimationSampler,
    property: Property,
) -> Result<Track<'a>, Error> {
    let interpolation = match sampler.interpolation.as_deref() {
        None | Some("LINEAR") => Interpolation::Linear,
        Some("STEP") => Interpolation::Step,
        Some("CUBICSPLINE") => Interpolation::CubicSpline,
        Some(other) => return Err(Error::unsupported(format!("unknown interpolation '{other}'"))),
    };
    let (keys, values) = (curves.keys(sampler.input)?, curves.get(sampler.output)?);
    let per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
    let width = match property {
        Property::Translation | Property::Scale => 3,
        Property::Rotation => 4,
        Property::Weights => values.len() / (keys.len() * per_key),
    };
    if values.len() != keys.len() * per_key * width {
        let (found, keys) = (values.len(), keys.len());
        return Err(Error::malformed(format!("{found} values do not match {keys} keys"))
            .at(format!("accessors[{}]", sampler.output)));
    }
    Ok(Track { property, interpolation, keys, values, width })
}

/// Exact frame times stored by the writer of dermis, if they agree with the keys.
fn marked_times(animation: &schema::Animation, keys: &[f32], options: &ReadOptions) -> Option<FrameTimes> {
    let mark = animation.extras.dermis.as_ref()?;
    let rate_hz = mark.frame_rate_hz.filter(|rate| rate.is_finite() && *rate > 0.0)?;
    let start_seconds = mark.start_seconds.filter(|seconds| seconds.is_finite())?;
    let first = *keys.first()?;
    if options.frame_rate_hz.is_some_and(|wanted| wanted != rate_hz) {
        return None;
    }
    // Times that f32 cannot represent (negative times, which glTF forbids, and very late ones) are written from 0.
    let start_fits = first == 0.0 || first == start_seconds as f32;
    const TOLERANCE_FRAMES: f64 = 0.05;
    // Some bones have keys halfway between frames as well.
    let frames = || keys.iter().map(|&key| f64::from(key - first) * rate_hz);
    let is_whole = |number: f64| (number - number.round()).abs() < TOLERANCE_FRAMES;
    if let Some(count) = mark.frame_count.filter(|&count| count > 0) {
        let ends = frames().next_back().is_some_and(|last| (last - (count - 1) as f64).abs() < TOLERANCE_FRAMES);
        let bears_out = start_fits && ends && frames().all(|frame| is_whole(2.0 * frame));
        return bears_out.then_some(FrameTimes { start_seconds, rate_hz, count, assumed: false });
    }
    let whole: Vec<f64> = frames().filter(|&frame| is_whole(frame)).collect();
    let complete = whole.iter().enumerate().all(|(number, frame)| (frame - number as f64).abs() < TOLERANCE_FRAMES);
    let bears_out = start_fits && complete && frames().all(|frame| is_whole(2.0 * frame));
    bears_out.then_some(FrameTimes { start_seconds, rate_hz, count: whole.len(), assumed: false })
}

fn moving_nodes(tree: &NodeTree, tracks: &BTreeMap<(usize, Property), Track<'_>>) -> Vec<bool> {
    let mut moves = vec![false; tree.parents.len()];
    for (node, property) in tracks.keys() {
        moves[*node] |= *property != Property::Weights;
    }
    for &node in &tree.order {
        moves[node] |= tree.parents[node].is_some_and(|parent| moves[parent]);
    }
    moves
}

impl Animation<'_> {
    /// Returns whether the animation moves `node` or a node above it.
    pub(super) fn moves(&self, node: usize) -> bool {
        self.moves[node]
    }

    /// Returns whether the animation moves `node` itself.
    pub(super) fn animates(&self, node: usize) -> bool {
        self.tracks.range((node, Property::Translation)..=(node, Property::Scale)).next().is_some()
    }

    /// Returns whether the animation has morph weights for `node`.
    pub(super) fn morphs(&self, node: usize) -> bool {
        self.tracks.contains_key(&(node, Property::Weights))
    }

    /// The morph weights of `node` in every frame; `None` if they are not animated.
    pub(super) fn weights(
        &self,
        document: &Document<'_>,
        node: usize,
        shape_count: usize,
    ) -> Result<Option<Vec<f32>>, Error> {
        let Some(track) = self.tracks.get(&(node, Property::Weights)) else {
            return Ok(None);
        };
        if track.width != shape_count {
            let found = track.width;
            return Err(Error::malformed(format!("{found} morph weights are animated, but there are {shape_count}")));
        }
        document.take("animated morph weights", self.times.count, 8 * shape_count)?;
        let mut weights = Vec::with_capacity(self.times.count * shape_count);
        let mut value = vec![0.0; shape_count];
        for frame in 0..self.times.count {
            track.sample(self.times.seconds(frame), self.times.tolerance_seconds(), &mut value);
            weights.extend(value.iter().map(|&weight| weight as f32));
        }
        Ok(Some(weights))
    }

    /// Returns whether each target of `node` corresponds to a frame of the animation.
    pub(super) fn plays_frames(&self, node: usize) -> bool {
        self.tracks.get(&(node, Property::Weights)).is_some_and(|track| self.is_one_hot(node, track.width))
    }

    /// Returns whether frame k has weight 1 on target k and 0 on all others, at linearly interpolated keys.
    pub(super) fn is_one_hot(&self, node: usize, shape_count: usize) -> bool {
        let Some(track) = self.tracks.get(&(node, Property::Weights)) else {
            return false;
        };
        let one_hot = |(frame, weights): (usize, &[f32])| {
            weights.iter().enumerate().all(|(shape, &weight)| weight == f32::from(u8::from(shape == frame)))
        };
        track.interpolation == Interpolation::Linear
            && track.width == shape_count
            && track.keys.len() == shape_count
            && self.times.count == shape_count
            && track.values.chunks_exact(shape_count).enumerate().all(one_hot)
    }

    /// World transforms of `nodes` in every frame, frame by frame.
    pub(super) fn transforms(
        &self,
        document: &Document<'_>,
        tree: &NodeTree,
        nodes: &[usize],
    ) -> Result<Vec<DAffine3>, Error> {
        let moving = Moving::new(self, tree, nodes);
        let frames = self.times.count;
        document.take("animated transforms", frames, (nodes.len() + moving.nodes.len()).saturating_mul(96))?;
        let mut transforms = Vec::with_capacity(frames * nodes.len());
        let mut world = vec![DAffine3::IDENTITY; moving.nodes.len()];
        for frame in 0..frames {
            moving.pose(tree, self.times.seconds(frame), self.times.tolerance_seconds(), &mut world);
            transforms.extend(moving.slots.iter().zip(nodes).map(|(slot, &node)| match slot {
                Some(slot) => world[*slot],
                None => tree.rest[node],
            }));
        }
        Ok(transforms)
    }
}

/// Animated nodes that determine the transforms of some nodes: the nodes themselves and their ancestors.
struct Moving<'a> {
    /// Parents first: node, index of its parent in this list, its tracks.
    nodes: Vec<(usize, Option<usize>, Vec<&'a Track<'a>>)>,
    /// Index in `nodes` of each requested node; `None` if it does not move.
    slots: Vec<Option<usize>>,
}

impl<'a> Moving<'a> {
    fn new(animation: &'a Animation<'a>, tree: &NodeTree, wanted: &[usize]) -> Self {
        let mut known: BTreeMap<usize, usize> = BTreeMap::new();
        let mut nodes = Vec::new();
        for &node in wanted {
            let fresh = |node: &usize| animation.moves[*node] && !known.contains_key(node);
            let path: Vec<usize> = tree.upwards(node).take_while(fresh).collect();
            for node in path.into_iter().rev() {
                let parent = tree.parents[node].and_then(|parent| known.get(&parent).copied());
                let of_node = (node, Property::Translation)..=(node, Property::Scale);
                let tracks = animation.tracks.range(of_node).map(|(_, track)| track).collect();
                known.insert(node, nodes.len());
                nodes.push((node, parent, tracks));
            }
        }
        let slots = wanted.iter().map(|node| known.get(node).copied()).collect();
        Self { nodes, slots }
    }

    fn pose(&self, tree: &NodeTree, seconds: f64, tolerance: f64, world: &mut [DAffine3]) {
        for (slot, (node, parent, tracks)) in self.nodes.iter().enumerate() {
            let above = match (parent, tree.parents[*node]) {
                (Some(parent), _) => world[*parent],
                (None, Some(parent)) => tree.rest[parent],
                (None, None) => DAffine3::IDENTITY,
            };
            world[slot] = above * local(tree, *node, tracks, seconds, tolerance);
        }
    }
}

fn local(tree: &NodeTree, node: usize, tracks: &[&Track<'_>], seconds: f64, tolerance: f64) -> DAffine3 {
    let mut local = tree.locals[node];
    if tracks.is_empty() {
        return local.matrix;
    }
    for track in tracks {
        let mut value = [0.0; 4];
        track.sample(seconds, tolerance, &mut value[..track.width]);
        let [x, y, z, _] = value;
        match track.property {
            Property::Translation => local.translation = DVec3::new(x, y, z),
            Property::Rotation => local.rotation = unit_quaternion(value),
            Property::Scale => local.scale = DVec3::new(x, y, z),
            Property::Weights => {}
        }
    }
    DAffine3::from_scale_rotation_translation(local.scale, local.rotation, local.translation)
}

impl Track<'_> {
    /// The value at `seconds`; a time within `tolerance` of a key uses that key.
    fn sample(&self, seconds: f64, tolerance: f64, out: &mut [f64]) {
        let after = self.keys.partition_point(|&key| f64::from(key) <= seconds + tolerance);
        let before = after.saturating_sub(1);
        let start = f64::from(self.keys[before]);
        let held = after == 0 || after == self.keys.len() || seconds - start <= tolerance;
        if held || self.interpolation == Interpolation::Step {
            self.copy_key(before, out);
            return;
        }
        let step = f64::from(self.keys[after]) - start;
        let t = (seconds - start) / step;
        match (self.interpolation, self.property) {
            (Interpolation::CubicSpline, _) => self.spline(before, t, step, out),
            (_, Property::Rotation) => {
                let (mut from, mut to) = ([0.0; 4], [0.0; 4]);
                self.copy_key(before, &mut from);
                self.copy_key(after, &mut to);
                out.copy_from_slice(&unit_quaternion(from).slerp(unit_quaternion(to), t).to_array());
            }
            _ => {
                for (component, out) in out.iter_mut().enumerate() {
                    let (from, to) = (self.number(before, 0, component), self.number(after, 0, component));
                    *out = from + t * (to - from);
                }
            }
        }
    }

    fn copy_key(&self, key: usize, out: &mut [f64]) {
        let part = usize::from(self.interpolation == Interpolation::CubicSpline);
        for (component, out) in out.iter_mut().enumerate() {
            *out = self.number(key, part, component);
        }
    }

    /// Appendix C.4: a key consists of its in-tangent, its value and its out-tangent.
    fn spline(&self, before: usize, t: f64, step: f64, out: &mut [f64]) {
        let (t2, t3) = (t * t, t * t * t);
        for (component, out) in out.iter_mut().enumerate() {
            let (value, tangent) = (self.number(before, 1, component), self.number(before, 2, component));
            let (next_tangent, next_value) =
                (self.number(before + 1, 0, component), self.number(before + 1, 1, component));
            *out = (2.0 * t3 - 3.0 * t2 + 1.0) * value
                + step * (t3 - 2.0 * t2 + t) * tangent
                + (-2.0 * t3 + 3.0 * t2) * next_value
                + step * (t3 - t2) * next_tangent;
        }
    }

    fn number(&self, key: usize, part: usize, component: usize) -> f64 {
        let parts = if self.interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        f64::from(self.values[(key * parts + part) * self.width + component])
    }
}

#[cfg(test)]
mod tests {
    use glam::DQuat;

    use super::*;

    fn track(
        property: Property,
        interpolation: Interpolation,
        keys: &[f32],
        values: &[f32],
        width: usize,
    ) -> Track<'static> {
        let floats = |numbers: &[f32]| Rc::new(Floats::Owned(numbers.to_vec()));
        Track { property, interpolation, keys: floats(keys), values: floats(values), width }
    }

    fn at(track: &Track<'_>, seconds: f64) -> Vec<f64> {
        let mut out = vec![0.0; track.width];
        track.sample(seconds, 1e-6, &mut out);
        out
    }

    #[test]
    fn step_keys_hold_and_linear_keys_interpolate() {
        let values = [0.0, 2.0, 4.0];
        let step = track(Property::Weights, Interpolation::Step, &[0.0, 1.0, 2.0], &values, 1);
        assert_eq!([-1.0, 0.5, 1.0 - 1e-7, 5.0].map(|t| at(&step, t)[0]), [0.0, 0.0, 2.0, 4.0]);
        let line = track(Property::Weights, Interpolation::Linear, &[0.0, 1.0, 2.0], &values, 1);
        assert_eq!([-1.0, 0.25, 1.0, 1.75, 5.0].map(|t| at(&line, t)[0]), [0.0, 0.5, 2.0, 3.5, 4.0]);
    }

    #[test]
    fn rotations_follow_the_shorter_arc() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        // A rotation by 90° about z, with a negated quaternion.
        let rotation = track(
            Property::Rotation,
            Interpolation::Linear,
            &[0.0, 1.0],
            &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -half, -half],
            4,
        );
        let found = DQuat::from_array(at(&rotation, 0.5).try_into().unwrap());
        let expected = DQuat::from_rotation_z(45f64.to_radians());
        assert!(found.dot(expected).abs() > 1.0 - 1e-12, "{found}");
    }

    #[test]
    fn splines_follow_their_tangents() {
        // The parabola t² from its values and slopes at 0 and 2.
        let values = [0.0, 0.0, 0.0, 4.0, 4.0, 4.0];
        let spline = track(Property::Weights, Interpolation::CubicSpline, &[0.0, 2.0], &values, 1);
        for t in [0.0, 0.3, 1.0, 1.9, 2.0] {
            assert!((at(&spline, t)[0] - t * t).abs() < 1e-12);
        }
    }
}
