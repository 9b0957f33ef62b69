//! Data of a report on one fit.

use dermis::skin::Skin;
use dermis::skin::compare::compare;
use dermis::skin::statistics::{WeightStatistics, weight_statistics};
use serde::Serialize;

use crate::asset_store::Reference;
use crate::measures::{MeasureError, RankMeasures, at_rank};

/// Maximum number of ranks on the curve of error against rank.
const MAX_RANKS: usize = 24;

/// Data of one fit: its measures at full rank, and its errors per point, frame and rank.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct FitFacts {
    pub label: String,
    pub file_bytes: Option<u64>,
    pub measures: RankMeasures,
    /// Measures from rank 0 to full rank, thinned out uniformly if there are many.
    pub by_rank: Vec<RankMeasures>,
    pub rms_by_frame: Vec<f64>,
    pub max_by_frame: Vec<f64>,
    /// Histogram of errors with equal bins from 0 to `histogram_high`.
    pub histogram: Vec<u64>,
    pub histogram_high: f64,
    pub points_by_influences: Vec<usize>,
    pub mean_influences: f64,
    pub largest_sum_error: f64,
    pub negative_weights: usize,
    pub bones: Vec<BoneFacts>,
}

/// Data of one bone.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct BoneFacts {
    pub name: String,
    pub points: usize,
    pub weight: f64,
}

impl FitFacts {
    pub(super) fn gather(
        label: String,
        file_bytes: Option<u64>,
        skin: &Skin,
        reference: &Reference,
    ) -> Result<Self, MeasureError> {
        let Reference { clip, sequence, .. } = reference;
        // End joints are not bones.
        let skin = &skin.without_ends()?;
        let measure = |rank: usize| at_rank(skin, *clip, sequence, rank);
        let by_rank = ranks(skin.rank()).into_iter().map(measure).collect::<Result<Vec<_>, _>>()?;
        let comparison = compare(skin, *clip, sequence)?;
        let statistics = weight_statistics(skin.rig());
        let WeightStatistics { points_by_bone, weight_by_bone, .. } = statistics;
        let names = skin.rig().joints().iter().map(|joint| joint.name.clone());
        let bones = names.zip(points_by_bone).zip(weight_by_bone);
        let measures = match by_rank.last() {
            Some(full) => full.clone(),
            None => measure(skin.rank())?,
        };
        Ok(Self {
            label,
            file_bytes,
            measures,
            by_rank,
            rms_by_frame: comparison.rms_by_frame,
            max_by_frame: comparison.max_by_frame,
            histogram: comparison.histogram,
            histogram_high: comparison.max_error,
            points_by_influences: statistics.points_by_influences,
            mean_influences: statistics.mean_influences,
            largest_sum_error: statistics.largest_sum_error,
            negative_weights: statistics.negative,
            bones: bones.map(|((name, points), weight)| BoneFacts { name, points, weight }).collect(),
        })
    }
}

/// At most [`MAX_RANKS`] + 1 ranks from 0 to `full`, including both.
fn ranks(full: usize) -> Vec<usize> {
    let count = full.min(MAX_RANKS);
    (0..=count).map(|at| (at * full).checked_div(count).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_include_both_ends() {
        assert_eq!((ranks(0), ranks(3)), (vec![0], vec![0, 1, 2, 3]));
        let many = ranks(100);
        assert_eq!((many.len(), many[0], many[MAX_RANKS]), (MAX_RANKS + 1, 0, 100));
    }
}
