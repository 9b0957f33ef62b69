//! Which recorded motion each clip of a skin is to play.
//!
//! A motion qualifies if it has the clip's mesh and as many frames. Of several, a clip is given the one that bears its
//! name, else the one that it plays with the smallest error, judged by a few frames. A motion belongs to the clip that
//! plays it best, so that a second clip of the same length is not compared with what it never was to play.

use std::path::Path;

use dermis::mesh::MeshSequence;
use dermis::skin::Skin;
use dermis::skin::compare::{can_play, frame_errors};

/// Frames by which a clip's error is judged.
const FRAMES_JUDGED: usize = 5;

/// A recorded motion and the name of its asset.
#[derive(Debug)]
pub(crate) struct Motion {
    pub(crate) asset: usize,
    pub(crate) label: String,
    pub(crate) sequence: MeshSequence,
}

/// How badly a clip suits a motion: without its name, then by error.
type Misfit = (bool, f64);

/// For each clip of `skin`, the asset of the motion that it is to play.
pub(crate) fn matched(skin: &Skin, motions: &[Motion]) -> Vec<Option<usize>> {
    let clips = skin.clips().len();
    let fits = |clip: usize, motion: &Motion| can_play(skin, clip, &motion.sequence);
    let pairs = (0..clips).map(|clip| motions.iter().filter(|motion| fits(clip, motion)).count()).sum::<usize>();
    let misfit = |clip: usize, motion: &Motion| -> Option<Misfit> {
        let unnamed = !bears_name(&motion.label, skin.clips()[clip].name());
        fits(clip, motion).then(|| (unnamed, if pairs > 1 { error(skin, clip, &motion.sequence) } else { 0.0 }))
    };
    let table: Vec<Vec<Option<Misfit>>> =
        (0..clips).map(|clip| motions.iter().map(|motion| misfit(clip, motion)).collect()).collect();
    let wanted = |clip: usize| {
        let best = least(table[clip].iter().copied())?;
        let owner = least(table.iter().map(|row| row[best]))?;
        (owner == clip).then_some(motions[best].asset)
    };
    (0..clips).map(wanted).collect()
}

/// The place of the smallest, the first of several.
fn least(misfits: impl Iterator<Item = Option<Misfit>>) -> Option<usize> {
    let known = misfits.enumerate().filter_map(|(at, misfit)| Some((at, misfit?)));
    known.min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(at, _)| at)
}

fn bears_name(label: &str, clip: &str) -> bool {
    let name = label.strip_prefix("sample:").unwrap_or(label);
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy());
    stem.is_some_and(|stem| stem.eq_ignore_ascii_case(clip))
}

/// The mean square error in a few frames; frames that cannot be read suit nobody.
fn error(skin: &Skin, clip: usize, sequence: &MeshSequence) -> f64 {
    let count = sequence.frame_count();
    let judged = FRAMES_JUDGED.min(count);
    let frame = |at: usize| {
        let errors = frame_errors(skin, clip, sequence, at * (count - 1) / (judged - 1).max(1));
        errors.map_or(f64::INFINITY, |errors| errors.iter().map(|&error| f64::from(error).powi(2)).sum())
    };
    (0..judged).map(frame).sum()
}
