//! Continuous reduction of the number of influences per node.
//!
//! Truncating rows to their k largest weights is discontinuous when the k-th and the next weight change order. Instead,
//! the (k+1)-th largest weight is subtracted from all, `w ← max(0, w − w₍ₖ₊₁₎) / Σ`. At most k weights remain, rows are
//! a continuous function of the weights, and rows with at most k weights, such as those of most skins, do not change.

use dermis_mesh::SkinWeights;

/// Reduces a dense matrix of `joint_count` weights per row to at most `max_influences` joints per node. Rows sum to 1
/// and are sorted by descending weight.
///
/// If more than `max_influences` weights are equal, the joints with the lowest indices are kept.
///
/// # Panics
/// If the length of the matrix is not a multiple of `joint_count`, or `joint_count` or `max_influences` is 0.
pub fn prune(dense: &[f64], joint_count: usize, max_influences: usize) -> SkinWeights {
    assert!(
        joint_count > 0 && max_influences > 0 && dense.len().is_multiple_of(joint_count),
        "complete rows and at least one joint"
    );
    SkinWeights::from_rows(dense.chunks_exact(joint_count).map(|row| pruned_row(row, max_influences)))
}

fn pruned_row(row: &[f64], max_influences: usize) -> Vec<(u32, f32)> {
    let mut sorted: Vec<(u32, f64)> = (0..).zip(row.iter().copied()).filter(|&(_, weight)| weight > 0.0).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let next = sorted.get(max_influences).map_or(0.0, |&(_, weight)| weight);
    sorted.truncate(max_influences);
    let remainder: f64 = sorted.iter().map(|(_, weight)| weight - next).sum();
    // The remainder is zero only if the largest max_influences + 1 weights are equal; nothing is subtracted then.
    let subtracted = if remainder > 0.0 { next } else { 0.0 };
    sorted.retain(|&(_, weight)| weight > subtracted);
    let sum: f64 = sorted.iter().map(|(_, weight)| weight - subtracted).sum();
    sorted.into_iter().map(|(joint, weight)| (joint, ((weight - subtracted) / sum) as f32)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keeps_rows_with_few_weights() {
        let weights = prune(&[0.25, 0.0, 0.75, 0.0, 1.0, 0.0], 3, 2);
        assert_eq!(weights.row(0).collect::<Vec<_>>(), [(2, 0.75), (0, 0.25)]);
        assert_eq!(weights.row(1).collect::<Vec<_>>(), [(1, 1.0)]);
    }

    #[test]
    fn keeps_the_first_joints_of_equal_weights() {
        let row: Vec<_> = prune(&[0.25; 4], 4, 2).row(0).collect();
        assert_eq!(row, [(0, 0.5), (1, 0.5)]);
    }

    proptest! {
        #[test]
        fn is_continuous(
            raw in prop::collection::vec(0.0..1.0_f64, 10), change in prop::collection::vec(-1e-6..1e-6_f64, 10),
        ) {
            let other: Vec<f64> = raw.iter().zip(&change).map(|(weight, change)| (weight + change).max(0.0)).collect();
            let dense = |weights: &[f64]| {
                let mut dense = [0.0_f64; 10];
                for (joint, weight) in prune(weights, 10, 4).row(0) {
                    dense[joint as usize] = f64::from(weight);
                }
                dense
            };
            let mut sorted = raw.clone();
            sorted.sort_by(f64::total_cmp);
            let left: f64 = sorted[6..].iter().map(|weight| weight - sorted[5]).sum();
            prop_assume!(left > 0.05);
            let [a, b] = [dense(&raw), dense(&other)];
            prop_assert!((a.iter().sum::<f64>() - 1.0).abs() < 1e-6);
            prop_assert!(a.iter().filter(|&&weight| weight > 0.0).count() <= 4);
            // Ten changes of 1e-6, divided by the remainder, and the rounding of f32.
            prop_assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5 / left + 1e-6));
        }
    }
}
