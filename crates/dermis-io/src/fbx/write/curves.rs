//! Takes: an animation stack with one layer per clip, and curves with a key at every frame.
//!
//! Clips of several objects with the same name and frames are one take, as they were in the original file. Keys are
//! linear, with values in single precision, as in FBX.

use dermis_mesh::Clip;

use super::file::{FbxFile, Range, object};
use super::node::{Node, properties, property};
use crate::error::Error;

/// Units of time in a second.
pub(super) const TICKS_PER_SECOND: f64 = 46_186_158_000.0;
/// Interpolation along lines.
const LINEAR: i32 = 4;
const KEY_VERSION: i32 = 4009;
const SEQUENCE_NAME: &str = "frames";

/// Time in the units of the file.
pub(super) fn ticks(seconds: f64) -> i64 {
    (seconds * TICKS_PER_SECOND).round() as i64
}

/// Times of the frames of a clip or a sequence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frames {
    pub name: String,
    pub rate_hz: f64,
    pub start_seconds: f64,
    pub count: usize,
}

impl Frames {
    pub(super) fn of_clip(clip: &Clip) -> Self {
        let (rate_hz, start_seconds) = (clip.frame_rate_hz(), clip.start_seconds());
        Self { name: clip.name().to_owned(), rate_hz, start_seconds, count: clip.frame_count() }
    }

    pub(super) fn of_sequence(sequence: &dermis_mesh::MeshSequence) -> Self {
        let (rate_hz, start_seconds) = (sequence.frame_rate_hz(), sequence.start_seconds());
        Self { name: SEQUENCE_NAME.to_owned(), rate_hz, start_seconds, count: sequence.frame_count() }
    }

    pub(super) fn end_seconds(&self) -> f64 {
        self.start_seconds + (self.count.max(1) - 1) as f64 / self.rate_hz
    }

    fn times(&self, keys: &Keys) -> Vec<i64> {
        let steps = self.count.max(1) - 1;
        let time =
            |key: usize, per_frame: usize| ticks(self.start_seconds + key as f64 / (self.rate_hz * per_frame as f64));
        match keys {
            Keys::Frames => (0..=steps).map(|key| time(key, 1)).collect(),
            Keys::HalfFrames => (0..=2 * steps).map(|key| time(key, 2)).collect(),
            Keys::At(frames) => frames.iter().map(|&frame| time(frame, 1)).collect(),
        }
    }
}

/// The times at which a curve has keys.
pub(super) enum Keys {
    Frames,
    /// Keys at every frame and halfway to the next.
    HalfFrames,
    /// Keys at these frames.
    At(Vec<usize>),
}

/// The takes of a file.
#[derive(Default)]
pub(super) struct Takes {
    takes: Vec<Take>,
}

struct Take {
    frames: Frames,
    /// The last object that it animates; it animates each object at most once.
    object: usize,
    layer: i64,
}

impl Takes {
    /// The take for the frames of an object: an existing one of other objects, or a new one.
    pub(super) fn of_object(&mut self, file: &mut FbxFile, frames: &Frames, object: usize) -> Result<usize, Error> {
        let fits = |take: &Take| take.object != object && take.frames == *frames;
        if let Some(index) = self.takes.iter().position(fits) {
            self.takes[index].object = object;
            return Ok(index);
        }
        let layer = write_stack(file, frames)?;
        self.takes.push(Take { frames: frames.clone(), object, layer });
        Ok(self.takes.len() - 1)
    }

    /// Animates a property with curves for its parts, each with a value for every key.
    pub(super) fn animate(
        &self,
        file: &mut FbxFile,
        take: usize,
        target: &Target<'_>,
        keys: &Keys,
        curves: &[(&str, Vec<f32>)],
    ) -> Result<(), Error> {
        let take = &self.takes[take];
        let node_id = file.id();
        let defaults = curves.iter().map(|(part, values)| {
            let value = f64::from(values.first().copied().unwrap_or_default());
            property(&format!("d|{part}"), "Number", "", "A", [value])
        });
        let node = object("AnimationCurveNode", node_id, target.short, "AnimCurveNode", "");
        file.object("AnimationCurveNode", &node.child(properties(defaults)))?;
        file.connect(node_id, take.layer);
        file.connect_to(node_id, target.id, target.property);
        let keys = take.frames.times(keys);
        for (part, values) in curves {
            let id = file.id();
            let first = f64::from(values.first().copied().unwrap_or_default());
            let curve = object("AnimationCurve", id, "", "AnimCurve", "").children([
                Node::of("Default", first),
                Node::of("KeyVer", KEY_VERSION),
                Node::of("KeyTime", keys.clone()),
                Node::of("KeyValueFloat", values.clone()),
                Node::of("KeyAttrFlags", vec![LINEAR]),
                Node::of("KeyAttrDataFloat", vec![0.0f32; 4]),
                Node::of("KeyAttrRefCount", vec![keys.len() as i32]),
            ]);
            file.object("AnimationCurve", &curve)?;
            file.connect_to(id, node_id, &format!("d|{part}"));
        }
        Ok(())
    }

    /// Name, start and end of each take.
    pub(super) fn list(&self) -> Vec<(String, f64, f64)> {
        let entry = |take: &Take| (take.frames.name.clone(), take.frames.start_seconds, take.frames.end_seconds());
        self.takes.iter().map(entry).collect()
    }
}

/// The property that curves move; `short` is its name in the node of the curves.
pub(super) struct Target<'a> {
    pub id: i64,
    pub property: &'a str,
    pub short: &'a str,
}

/// Writes a stack and its layer; returns the layer.
fn write_stack(file: &mut FbxFile, frames: &Frames) -> Result<i64, Error> {
    let (stack, layer) = (file.id(), file.id());
    let (start, end) = (ticks(frames.start_seconds), ticks(frames.end_seconds()));
    let time = |name: &str, value: i64| property(name, "KTime", "Time", "", [value]);
    let list = properties([
        time("LocalStart", start),
        time("LocalStop", end),
        time("ReferenceStart", start),
        time("ReferenceStop", end),
        // A file has one rate; the rate of each clip is stored for the reader of dermis.
        property(crate::fbx::CLIP_RATE, "Number", "", "U", [frames.rate_hz]),
    ]);
    file.object("AnimationStack", &object("AnimationStack", stack, &frames.name, "AnimStack", "").child(list))?;
    file.object("AnimationLayer", &object("AnimationLayer", layer, &frames.name, "AnimLayer", ""))?;
    file.connect(layer, stack);
    Ok(layer)
}

/// The rate of the first frames, and the range of all of them.
pub(super) fn range<'a>(all: impl Iterator<Item = &'a Frames>) -> Option<Range> {
    all.fold(None, |range: Option<Range>, frames| {
        let (start, end) = (frames.start_seconds, frames.end_seconds());
        Some(range.map_or(Range { rate_hz: frames.rate_hz, start_seconds: start, end_seconds: end }, |range| Range {
            start_seconds: range.start_seconds.min(start),
            end_seconds: range.end_seconds.max(end),
            ..range
        }))
    })
}
