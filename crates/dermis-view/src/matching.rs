//! Assignment of recorded motions to the clips of a skin.
//!
//! A motion is a candidate if it has the mesh of the clip and as many frames. Of several, the one with the name of the
//! clip is selected, otherwise the one with the smallest error in a few frames. A motion is assigned only to the clip
//! with the smallest error, so that another clip of the same length is not compared with an unrelated motion.

use std::path::Path;

use dermis::mesh::MeshSequence;
use dermis::skin::Skin;
use dermis::skin::compare::{can_play, frame_errors};

/// Number of frames from which the error of a clip is computed.
const COMPARED_FRAMES: usize = 5;

/// Recorded motion with the index and the label of its asset.
#[derive(Debug)]
pub(crate) struct Motion {
    pub(crate) asset: usize,
    pub(crate) label: String,
    pub(crate) sequence: MeshSequence,
}

/// Mismatch of a clip and a motion: first by name, then by error.
type Mismatch = (bool, f64);

/// For each clip of `skin`, the asset of the motion that it reproduces.
pub(crate) fn matched(skin: &Skin, motions: &[Motion]) -> Vec<Option<usize>> {
    let clips = skin.clips().len();
    let fits = |clip: usize, motion: &Motion| can_play(skin, clip, &motion.sequence);
    let pairs = (0..clips).map(|clip| motions.iter().filter(|motion| fits(clip, motion)).count()).sum::<usize>();
    let misfit = |clip: usize, motion: &Motion| -> Option<Mismatch> {
        let unnamed = !has_name(&motion.label, skin.clips()[clip].name());
        fits(clip, motion).then(|| (unnamed, if pairs > 1 { error(skin, clip, &motion.sequence) } else { 0.0 }))
    };
    let table: Vec<Vec<Option<Mismatch>>> =
        (0..clips).map(|clip| motions.iter().map(|motion| misfit(clip, motion)).collect()).collect();
    let wanted = |clip: usize| {
        let best = smallest(table[clip].iter().copied())?;
        let owner = smallest(table.iter().map(|row| row[best]))?;
        (owner == clip).then_some(motions[best].asset)
    };
    (0..clips).map(wanted).collect()
}

/// Index of the smallest mismatch; the first if several are equal.
fn smallest(mismatches: impl Iterator<Item = Option<Mismatch>>) -> Option<usize> {
    let known = mismatches.enumerate().filter_map(|(at, misfit)| Some((at, misfit?)));
    known.min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(at, _)| at)
}

fn has_name(label: &str, clip: &str) -> bool {
    let name = label.strip_prefix("sample:").unwrap_or(label);
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy());
    stem.is_some_and(|stem| stem.eq_ignore_ascii_case(clip))
}

/// Mean square error in a few frames; infinite if a frame cannot be read.
fn error(skin: &Skin, clip: usize, sequence: &MeshSequence) -> f64 {
    let count = sequence.frame_count();
    let judged = COMPARED_FRAMES.min(count);
    let frame = |at: usize| {
        let errors = frame_errors(skin, clip, sequence, at * (count - 1) / (judged - 1).max(1));
        errors.map_or(f64::INFINITY, |errors| errors.iter().map(|&error| f64::from(error).powi(2)).sum())
    };
    (0..judged).map(frame).sum()
}
