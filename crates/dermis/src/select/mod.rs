//! Selection of a part of a file: objects, clip, frame rate, rest pose and frames.
//!
//! Frames are dropped last: the indices in `frames` and `rest_frame` both refer to all frames at the requested rate.
//! Recorded frames are selected and resampled when they are read, so a sequence larger than memory stays on disk.

mod rest_pose;

use std::sync::Arc;

use dermis_mesh::{Clip, MeshError, MeshSequence, Note, Object, RigError, Scene, SequenceError};

use crate::evaluate::EvaluateError;
use crate::frame_range::FrameRange;
use crate::names::{self, ClipNameError, Found};
use crate::resample::{resample_clip, resampled_count};
use rest_pose::with_rest_frame;

/// Maximum number of resampled frames: 12 hours at 24 Hz. More frames indicate a mistyped rate.
pub const MAX_RESAMPLED_FRAMES: usize = 1_000_000;

/// Options of [`select`]; the default keeps everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// The objects to keep: a name or path, a unique part of either, or a pattern with `*` and `?`. `None`: all.
    pub mesh: Option<String>,
    /// The clip to keep: its name, a unique part of its name, or its index from 0. `None`: all.
    pub clip: Option<String>,
    /// The frames to keep, of recorded frames and of clips. `None`: all.
    pub frames: Option<FrameRange>,
    /// The frame rate to resample to, in Hz. Larger values give more frames. `None`: as in the file.
    pub frame_rate_hz: Option<f64>,
    /// The frame whose shape becomes the rest pose; negative ones count from the end. `None`: as in the file.
    pub rest_frame: Option<isize>,
}

/// Reasons why a selection fails; see also [`SelectError::details`] and [`SelectError::hint`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// No object has that name.
    #[error("there is no mesh called '{wanted}'")]
    NoSuchMesh {
        /// The requested name.
        wanted: String,
        /// The names of all objects.
        names: Vec<String>,
        /// The most similar name.
        closest: Option<String>,
    },
    /// Several objects have names with that part.
    #[error("'{wanted}' matches the names of {} meshes", names.len())]
    AmbiguousMesh {
        /// The requested name.
        wanted: String,
        /// The names that have it.
        names: Vec<String>,
    },
    /// No clip has that name or number.
    #[error("there is no clip called '{wanted}'")]
    NoSuchClip {
        /// The requested name.
        wanted: String,
        /// The names of all clips.
        names: Vec<String>,
        /// The most similar name.
        closest: Option<String>,
    },
    /// Several clips have names with that part.
    #[error("'{wanted}' matches the names of {} clips", names.len())]
    AmbiguousClip {
        /// The requested name.
        wanted: String,
        /// The names that have it.
        names: Vec<String>,
    },
    /// Frames of a scene without motion were requested.
    #[error("{asked} requires a motion, but the input contains none")]
    NothingMoves {
        /// The option that requires a motion.
        asked: &'static str,
    },
    /// A range contains no frame of a motion.
    #[error("the range {range} contains no frame of {motion}")]
    EmptyRange {
        /// The range.
        range: FrameRange,
        /// The object or clip.
        motion: String,
        /// Number of frames of the motion.
        count: usize,
    },
    /// The new rest pose is a frame that does not exist.
    #[error("'{object}' has no frame {frame}")]
    NoSuchFrame {
        /// The object.
        object: String,
        /// The requested frame.
        frame: isize,
        /// Number of frames of the object.
        count: usize,
    },
    /// The frame rate is not a positive finite number.
    #[error("invalid frame rate {0}: it must be positive and finite")]
    FrameRate(f64),
    /// The frame rate results in too many frames.
    #[error("at {frame_rate_hz} frames per second {motion} would have {count} frames")]
    TooManyFrames {
        /// The rate.
        frame_rate_hz: f64,
        /// The object or clip.
        motion: String,
        /// Number of frames at that rate.
        count: usize,
    },
    /// The frames cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The motion cannot be evaluated.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The clip cannot be created.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The rest pose cannot be made.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

impl SelectError {
    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::NoSuchMesh { names, .. } | Self::AmbiguousMesh { names, .. } => vec![listed("meshes", names)],
            Self::NoSuchClip { names, .. } | Self::AmbiguousClip { names, .. } => vec![listed("clips", names)],
            Self::EmptyRange { count, .. } | Self::NoSuchFrame { count, .. } => {
                vec![format!("it has {count} {}, numbered from 0", if *count == 1 { "frame" } else { "frames" })]
            }
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<String> {
        let meant = |closest: &Option<String>| closest.as_ref().map(|name| format!("did you mean '{name}'?"));
        match self {
            Self::NoSuchMesh { closest, .. } => meant(closest),
            Self::NoSuchClip { names, .. } if names.is_empty() => Some("omit the clip".into()),
            Self::NoSuchClip { closest, .. } => {
                meant(closest).or(Some("use the name of a clip, or its index from 0".into()))
            }
            Self::AmbiguousMesh { .. } => Some("use a full name, or a pattern such as '*body*' to keep several".into()),
            Self::AmbiguousClip { .. } => Some("use a full name or a number from 0".into()),
            Self::NothingMoves { .. } => Some("omit it, or select a mesh that moves".into()),
            Self::EmptyRange { count, .. } => {
                Some(format!("ranges are half-open, as in Python: 0:{count} selects all frames, -1: the last one"))
            }
            Self::FrameRate(_) => Some("use a rate such as 24, 30 or 60".into()),
            Self::TooManyFrames { .. } => {
                Some(format!("use a lower rate: at most {MAX_RESAMPLED_FRAMES} frames are supported"))
            }
            _ => None,
        }
    }
}

/// Returns the part of `scene` that `selection` selects.
pub fn select(mut scene: Scene, selection: &Selection) -> Result<Scene, SelectError> {
    if let Some(wanted) = &selection.mesh {
        keep_meshes(&mut scene, wanted)?;
    }
    if let Some(wanted) = &selection.clip {
        keep_clip(&mut scene, wanted)?;
    }
    if let Some(frame_rate_hz) = selection.frame_rate_hz {
        resample(&mut scene, frame_rate_hz)?;
    }
    if let Some(frame) = selection.rest_frame {
        expect_motion(&scene, "a rest frame")?;
        for object in &mut scene.objects {
            let (changed, notes) = with_rest_frame(std::mem::take(object), frame)?;
            *object = changed;
            scene.notes.extend(notes);
        }
    }
    if let Some(range) = &selection.frames {
        expect_motion(&scene, "a range of frames")?;
        for object in &mut scene.objects {
            scene.notes.extend(keep_frames(object, range)?);
        }
    }
    Ok(scene)
}

fn keep_meshes(scene: &mut Scene, wanted: &str) -> Result<(), SelectError> {
    let names: Vec<String> = scene.objects.iter().map(|object| object.name.clone()).collect();
    let wanted = wanted.to_owned();
    match names::find(&wanted, names.iter().map(String::as_str)) {
        Found::At(places) => {
            let mut at = 0..;
            scene.objects.retain(|_| at.next().is_some_and(|at| places.contains(&at)));
            Ok(())
        }
        Found::Ambiguous(places) => {
            Err(SelectError::AmbiguousMesh { wanted, names: places.into_iter().map(|at| names[at].clone()).collect() })
        }
        Found::Nothing(closest) => Err(SelectError::NoSuchMesh { wanted, names, closest }),
    }
}

/// Name of a clip and its number among the clips of that name of an object, which identify it across objects.
type ClipKey = (String, usize);

fn clip_keys(object: &Object) -> Vec<ClipKey> {
    let name = |clip: &Arc<Clip>| clip.name().to_owned();
    let earlier = |at: usize| object.clips[..at].iter().filter(|clip| clip.name() == object.clips[at].name()).count();
    object.clips.iter().enumerate().map(|(at, clip)| (name(clip), earlier(at))).collect()
}

fn keep_clip(scene: &mut Scene, wanted: &str) -> Result<(), SelectError> {
    let mut all: Vec<ClipKey> = Vec::new();
    for key in scene.objects.iter().flat_map(clip_keys) {
        if !all.contains(&key) {
            all.push(key);
        }
    }
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let key = all[find_clip(wanted, &names)?].clone();
    for object in &mut scene.objects {
        let Some(at) = clip_keys(object).iter().position(|found| *found == key) else {
            if !object.clips.is_empty() {
                object.clips.clear();
                let message = format!("the clip '{}' does not move this mesh; it keeps its rest pose", key.0);
                scene.notes.push(Note::at(object.name.clone(), message));
            }
            continue;
        };
        if at > 0 && object.sequence.take().is_some() {
            let first = object.clips[0].name();
            let message = format!("the example shapes belong to the clip '{first}' and are dropped");
            scene.notes.push(Note::at(object.name.clone(), message));
        }
        object.clips = vec![Arc::clone(&object.clips[at])];
    }
    Ok(())
}

/// Index of the clip `wanted` among `names`; `wanted` is an index from 0, a name, or a unique part of a name.
pub fn find_clip(wanted: &str, names: &[&str]) -> Result<usize, SelectError> {
    names::find_clip(wanted, names).map_err(|error| match error {
        ClipNameError::NotFound { wanted, names, closest } => SelectError::NoSuchClip { wanted, names, closest },
        ClipNameError::Ambiguous { wanted, names } => SelectError::AmbiguousClip { wanted, names },
    })
}

fn resample(scene: &mut Scene, frame_rate_hz: f64) -> Result<(), SelectError> {
    if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
        return Err(SelectError::FrameRate(frame_rate_hz));
    }
    // Rates are written as decimals and as seconds per frame; a rate that differs by rounding is the same.
    let same = |rate: f64| (rate - frame_rate_hz).abs() <= 1e-6 * frame_rate_hz;
    let check = |motion: String, frames: usize, rate: f64| {
        let count = resampled_count(frames, rate, frame_rate_hz);
        if count > MAX_RESAMPLED_FRAMES.max(frames) {
            return Err(SelectError::TooManyFrames { frame_rate_hz, motion, count });
        }
        Ok(())
    };
    for object in &mut scene.objects {
        let name = format!("'{}'", object.name);
        if let Some(sequence) = object.sequence.as_mut().filter(|sequence| !same(sequence.frame_rate_hz())) {
            check(name, sequence.frame_count(), sequence.frame_rate_hz())?;
            *sequence = sequence.resample(frame_rate_hz)?;
        }
        let Some(rig) = &object.rig else { continue };
        for clip in object.clips.iter_mut().filter(|clip| !same(clip.frame_rate_hz())) {
            check(format!("the clip '{}'", clip.name()), clip.frame_count(), clip.frame_rate_hz())?;
            *clip = Arc::new(resample_clip(rig, clip, frame_rate_hz)?);
        }
    }
    Ok(())
}

fn expect_motion(scene: &Scene, asked: &'static str) -> Result<(), SelectError> {
    let moves = |object: &Object| object.sequence.is_some() || !object.clips.is_empty();
    if scene.objects.iter().any(moves) { Ok(()) } else { Err(SelectError::NothingMoves { asked }) }
}

/// Keeps the frames of a range. Returns notes on motions that are shorter.
fn keep_frames(object: &mut Object, range: &FrameRange) -> Result<Vec<Note>, SelectError> {
    let mut notes = Vec::new();
    let mut resolve = |motion: String, count: usize| {
        if range.exceeds(count) {
            notes.push(Note::new(format!("the frames {range} exceed the {count} of {motion}; the range ends there")));
        }
        range.resolve(count).ok_or(SelectError::EmptyRange { range: *range, motion, count })
    };
    if let Some(sequence) = &object.sequence {
        let (start, end, step) = resolve(format!("'{}'", object.name), sequence.frame_count())?;
        let selected: MeshSequence = sequence.select(start, end, step)?;
        object.sequence = Some(selected);
    }
    for clip in &mut object.clips {
        let (start, end, step) = resolve(format!("the clip '{}'", clip.name()), clip.frame_count())?;
        *clip = Arc::new(clip.select(start, end, step)?);
    }
    Ok(notes)
}

fn listed(what: &str, names: &[String]) -> String {
    // A scene can have thousands of names.
    const SHOWN: usize = 20;
    if names.is_empty() {
        return format!("there are no {what}");
    }
    let quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
    let more = if names.len() > SHOWN { format!(", and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{what}: {}{more}", quoted.join(", "))
}

#[cfg(test)]
mod tests;
