//! Sparse skin weights.

use super::RigError;

/// Sparse skin weights: the joints of each point and their weights.
///
/// Rows are stored as given: not necessarily normalized (see [`SkinWeights::normalized`]) or sorted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkinWeights {
    /// Row i is `starts[i]..starts[i + 1]`; empty if there are no rows.
    starts: Vec<usize>,
    joints: Vec<u32>,
    weights: Vec<f32>,
}

impl SkinWeights {
    /// Creates weights from one row of (joint, weight) pairs per point.
    pub fn from_rows<R: IntoIterator<Item = (u32, f32)>>(rows: impl IntoIterator<Item = R>) -> Self {
        let mut result = Self { starts: vec![0], joints: Vec::new(), weights: Vec::new() };
        for row in rows {
            for (joint, weight) in row {
                result.joints.push(joint);
                result.weights.push(weight);
            }
            result.starts.push(result.joints.len());
        }
        result
    }

    /// Creates weights from a dense matrix with a row of `joint_count` weights per point; zeros are dropped.
    ///
    /// # Panics
    /// If the length of the matrix is not a multiple of `joint_count`, or `joint_count` is 0.
    pub fn from_dense(dense: &[f32], joint_count: usize) -> Self {
        assert!(joint_count > 0 && dense.len().is_multiple_of(joint_count), "the dense matrix must have complete rows");
        let non_zero = |(joint, &weight): (usize, &f32)| (weight != 0.0).then_some((joint as u32, weight));
        Self::from_rows(dense.chunks_exact(joint_count).map(|row| row.iter().enumerate().filter_map(non_zero)))
    }

    /// Dense matrix with a row of `joint_count` weights per point; repeated joints are summed, and joints from
    /// `joint_count` on are dropped.
    pub fn to_dense(&self, joint_count: usize) -> Vec<f32> {
        let mut dense = vec![0.0; self.point_count() * joint_count];
        for (point, row) in self.rows().enumerate() {
            for (joint, weight) in row.filter(|(joint, _)| (*joint as usize) < joint_count) {
                dense[point * joint_count + joint as usize] += weight;
            }
        }
        dense
    }

    /// Number of rows.
    pub fn point_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Joints of a point and their weights.
    pub fn row(&self, point: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.starts[point]..self.starts[point + 1];
        self.joints[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// Rows of the points from `first` on, for kernels: `(starts, joints, weights)`.
    pub(crate) fn rows_from(&self, first: usize) -> (&[usize], &[u32], &[f32]) {
        (&self.starts[first..], &self.joints, &self.weights)
    }

    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = (u32, f32)> + '_> + '_ {
        (0..self.point_count()).map(|point| self.row(point))
    }

    /// Number of non-zero weights of a point.
    pub fn influence_count(&self, point: usize) -> usize {
        self.row(point).filter(|(_, weight)| *weight != 0.0).count()
    }

    /// Largest number of non-zero weights of a point.
    pub fn max_influences(&self) -> usize {
        (0..self.point_count()).map(|point| self.influence_count(point)).max().unwrap_or(0)
    }

    /// Weights prepared for engines: each row sorted by descending weight, truncated to its `max_influences` largest
    /// weights and scaled to sum to 1. Repeated joints are summed; weights that are not positive are dropped.
    ///
    /// Equal weights keep the order of their joints; a row without weights is bound to joint 0.
    pub fn normalized(&self, max_influences: usize) -> Self {
        let mut row = Vec::new();
        let mut result = Self { starts: vec![0], joints: Vec::new(), weights: Vec::new() };
        for weights in self.rows() {
            row.clear();
            row.extend(weights.map(|(joint, weight)| (joint, f64::from(weight))));
            keep_largest(&mut row, max_influences);
            let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
            if sum > 0.0 {
                result.joints.extend(row.iter().map(|(joint, _)| joint));
                result.weights.extend(row.iter().map(|(_, weight)| (weight / sum) as f32));
            } else {
                result.joints.push(0);
                result.weights.push(1.0);
            }
            result.starts.push(result.joints.len());
        }
        result
    }

    /// Rows of `points`, in that order.
    pub fn gather(&self, points: &[u32]) -> Self {
        Self::from_rows(points.iter().map(|&point| self.row(point as usize)))
    }

    pub(super) fn check_joints(&self, count: usize) -> Result<(), RigError> {
        for point in 0..self.point_count() {
            for (joint, weight) in self.row(point) {
                if joint as usize >= count {
                    return Err(RigError::NoSuchJoint { point, joint: joint as usize, count });
                }
                if !weight.is_finite() {
                    return Err(RigError::WeightNotFinite { point });
                }
            }
        }
        Ok(())
    }
}

/// Sums repeated joints, drops weights that are not positive, and keeps the `max_count` largest in descending order.
fn keep_largest(row: &mut Vec<(u32, f64)>, max_count: usize) {
    row.sort_by_key(|(joint, _)| *joint);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    row.retain(|(_, weight)| *weight > 0.0);
    row.sort_by(|a, b| b.1.total_cmp(&a.1));
    row.truncate(max_count);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dense_rows_sum_repeated_joints_and_drop_joints_out_of_range() {
        let weights = SkinWeights::from_rows([vec![(1, 0.25), (1, 0.5), (0, 0.25), (2, 1.0)], vec![]]);
        assert_eq!(weights.to_dense(2), [0.25, 0.75, 0.0, 0.0]);
    }

    #[test]
    fn normalizing_keeps_the_largest_and_sums_to_one() {
        let weights = SkinWeights::from_rows([vec![(2, 0.1), (0, 0.3), (1, 0.6)], vec![]]).normalized(2);
        let rows: Vec<Vec<(u32, f32)>> = weights.rows().map(Iterator::collect).collect();
        assert_eq!(rows[0].iter().map(|(joint, _)| *joint).collect::<Vec<_>>(), [1, 0]);
        assert!((rows[0][0].1 - 2.0 / 3.0).abs() < 1e-6);
        assert_eq!(rows[1], [(0, 1.0)]);
    }

    #[test]
    fn normalizing_sums_repeated_joints_and_drops_negative_weights() {
        let weights = SkinWeights::from_rows([vec![(3, 0.25), (1, -0.5), (0, 0.25), (3, 0.5)]]).normalized(4);
        assert_eq!(weights.row(0).collect::<Vec<_>>(), [(3, 0.75), (0, 0.25)]);
    }

    #[test]
    fn dense_weights_drop_zeros() {
        let weights = SkinWeights::from_dense(&[0.0, 1.0, 0.5, 0.5, 0.0, 0.0], 2);
        let rows: Vec<Vec<(u32, f32)>> = weights.rows().map(Iterator::collect).collect();
        assert_eq!(rows, [vec![(1, 1.0)], vec![(0, 0.5), (1, 0.5)], vec![]]);
        assert_eq!(weights.max_influences(), 2);
    }

    #[test]
    fn gathering_repeats_and_reorders_rows() {
        let weights = SkinWeights::from_rows([[(0, 1.0)], [(1, 1.0)]]).gather(&[1, 0, 1]);
        assert_eq!(weights.rows().map(|mut row| row.next().unwrap().0).collect::<Vec<_>>(), [1, 0, 1]);
    }

    proptest! {
        #[test]
        fn normalized_weights_are_positive_descend_and_sum_to_one(
            row in proptest::collection::vec((0..6_u32, -0.2..1.0_f32), 0..12), most in 1..9_usize
        ) {
            let weights = SkinWeights::from_rows([row]).normalized(most);
            let row: Vec<(u32, f32)> = weights.row(0).collect();
            prop_assert!(!row.is_empty() && row.len() <= most);
            prop_assert!(row.iter().all(|(_, weight)| *weight > 0.0));
            prop_assert!(row.is_sorted_by(|a, b| a.1 >= b.1));
            prop_assert!((row.iter().map(|(_, weight)| weight).sum::<f32>() - 1.0).abs() < 1e-6);
            let joints: std::collections::BTreeSet<u32> = row.iter().map(|(joint, _)| *joint).collect();
            prop_assert_eq!(joints.len(), row.len());
        }
    }
}
