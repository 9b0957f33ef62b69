//! Errors of an asset relative to the frames it was fitted to, at any rank, for the page, the report and the command
//! line.

use std::collections::BTreeMap;

use dermis::mesh::{MeshSequence, Object, SequenceError};
use dermis::skin::compare::{Comparison, compare, frame_errors};
use dermis::skin::measure::weight_structure::weight_structure;
use dermis::skin::{BoneModel, Measures, Skin, SkinError, measure};
use serde::Serialize;

use crate::formatting::measured;

/// Error of the measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The rank is invalid.
    #[error(transparent)]
    Skin(#[from] SkinError),
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

/// Measures of a skin at one rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct RankMeasures {
    pub rank: usize,
    pub bones: usize,
    pub influences: usize,
    pub distortion_percent: f64,
    pub erms: f64,
    pub max_error_percent: f64,
    pub normal_error_rms: f64,
    pub compression: f64,
    /// Largest error of a point, in the units of the scene.
    pub max_error: f64,
    /// Upper bound of the error of 98 % of all points in all frames, rounded up to a bin of the histogram.
    pub error_98th_percentile: f64,
    /// Structure of the weights, with the keys of `dermis skin`.
    #[serde(flatten)]
    pub weights: WeightFacts,
    /// The numbers as printed.
    pub text: BTreeMap<&'static str, String>,
}

/// Locality, sparsity and smoothness of weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct WeightFacts {
    pub parts_per_bone: f64,
    pub islands: usize,
    pub mean_influences: f64,
    pub weight_difference: f64,
}

/// Returns `skin` with `clip` as its only clip.
pub fn with_only_clip(skin: &Skin, clip: usize) -> Result<Skin, SkinError> {
    let object = skin.to_object("");
    let clips = object.clips.get(clip).cloned().into_iter().collect();
    Skin::from_object(&Object { clips, ..object })
}

/// Measures `skin` with its first `rank` corrections, whose clip `clip` reproduces `sequence`.
pub fn at_rank(skin: &Skin, clip: usize, sequence: &MeshSequence, rank: usize) -> Result<RankMeasures, MeasureError> {
    // End joints are not bones.
    let skin = with_only_clip(&skin.with_rank(rank)?, clip)?.without_ends()?;
    let Measures { distortion_percent, erms, max_error_percent, normal_error_rms, .. } =
        measure(&skin, std::slice::from_ref(sequence))?;
    let influences = skin.rig().weights().max_influences();
    let compression = dermis::skin::measure::compression(
        skin.mesh().point_count(),
        sequence.frame_count(),
        skin.bone_count(),
        influences,
        BoneModel::of_skin(&skin),
    );
    let max_error = max_error_percent / 100.0 * f64::from(skin.mesh().diagonal());
    let comparison = compare(&skin, 0, sequence)?;
    let error_98th_percentile = percentile(&comparison.histogram, comparison.max_error, 0.98);
    let shown = [
        ("distortion_percent", distortion_percent),
        ("erms", erms),
        ("max_error_percent", max_error_percent),
        ("normal_error_rms", normal_error_rms),
        ("max_error", max_error),
    ];
    let mut text: BTreeMap<_, _> = shown.into_iter().map(|(name, value)| (name, measured(value))).collect();
    text.insert("compression", format!("{compression:.1}"));
    let weights = weight_structure(skin.mesh(), skin.rig().weights(), skin.rig().joints().len());
    text.insert("parts_per_bone", format!("{:.1}", weights.parts_per_bone));
    text.insert("islands", weights.islands.to_string());
    text.insert("mean_influences", format!("{:.2}", weights.mean_influences));
    text.insert("weight_difference", measured(weights.weight_difference));
    Ok(RankMeasures {
        rank: skin.rank(),
        bones: skin.bone_count(),
        influences,
        distortion_percent,
        erms,
        max_error_percent,
        normal_error_rms,
        compression,
        max_error,
        error_98th_percentile,
        weights: WeightFacts {
            parts_per_bone: weights.parts_per_bone,
            islands: weights.islands,
            mean_influences: weights.mean_influences,
            weight_difference: weights.weight_difference,
        },
        text,
    })
}

/// Upper end of the bin of a histogram from 0 to `high` below which lies `fraction` of all values.
fn percentile(histogram: &[u64], high: f64, fraction: f64) -> f64 {
    let total: u64 = histogram.iter().sum();
    let mut sum = 0;
    let bin = histogram.iter().position(|count| {
        sum += count;
        sum as f64 >= fraction * total as f64
    });
    bin.map_or(high, |bin| high * (bin + 1) as f64 / histogram.len() as f64)
}

/// Error of one point in every frame.
pub fn point_errors(
    skin: &Skin,
    clip: usize,
    sequence: &MeshSequence,
    rank: usize,
    point: usize,
) -> Result<Vec<f32>, MeasureError> {
    let skin = skin.with_rank(rank)?;
    let error = |frame: usize| Ok(frame_errors(&skin, clip, sequence, frame)?[point]);
    (0..sequence.frame_count()).map(error).collect()
}

/// Root mean square and largest error of each frame.
pub fn errors_by_frame(
    skin: &Skin,
    clip: usize,
    sequence: &MeshSequence,
    rank: usize,
) -> Result<FrameErrors, MeasureError> {
    let Comparison { rms_by_frame, max_by_frame, .. } = compare(&skin.with_rank(rank)?, clip, sequence)?;
    Ok(FrameErrors { rms: rms_by_frame, max: max_by_frame })
}

/// Errors of the points of each frame, in the units of the scene.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct FrameErrors {
    pub rms: Vec<f64>,
    pub max: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_ends_of_bins() {
        assert_eq!(percentile(&[97, 1, 1, 1], 4.0, 0.98), 2.0);
        assert_eq!(percentile(&[0, 0], 0.0, 0.98), 0.0);
    }
}
