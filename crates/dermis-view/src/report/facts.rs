//! What a report says of one fit.

use dermis::skin::Skin;
use dermis::skin::compare::compare;
use dermis::skin::statistics::{WeightStatistics, weight_statistics};
use serde::Serialize;

use crate::gallery::Reference;
use crate::measures::{MeasureError, RankMeasures, at_rank};

/// Ranks that are measured for the curve of error against rank, at most.
const MOST_RANKS: usize = 24;

/// One fit: its measures at full rank, and where, when and at which rank it errs.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
pub struct FitFacts {
    pub label: String,
    pub file_bytes: Option<u64>,
    pub measures: RankMeasures,
    /// From rank 0 to full rank, evenly thinned out where there are many.
    pub by_rank: Vec<RankMeasures>,
    pub rms_by_frame: Vec<f64>,
    pub max_by_frame: Vec<f64>,
    /// Counts of errors in equal parts of 0 to `histogram_high`.
    pub histogram: Vec<u64>,
    pub histogram_high: f64,
    pub points_by_influences: Vec<usize>,
    pub mean_influences: f64,
    pub largest_sum_error: f64,
    pub negative_weights: usize,
    pub bones: Vec<BoneFacts>,
}

/// What one bone moves.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
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

/// 0 to `most`, at most [`MOST_RANKS`] + 1 of them, both ends among them.
fn ranks(most: usize) -> Vec<usize> {
    let count = most.min(MOST_RANKS);
    (0..=count).map(|at| (at * most).checked_div(count).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_among_the_ranks() {
        assert_eq!((ranks(0), ranks(3)), (vec![0], vec![0, 1, 2, 3]));
        let many = ranks(100);
        assert_eq!((many.len(), many[0], many[MOST_RANKS]), (MOST_RANKS + 1, 0, 100));
    }
}
