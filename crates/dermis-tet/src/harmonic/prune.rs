//! Few influences per node, without jumps.
//!
//! Cutting rows to their k largest weights jumps where the k-th and the next change places. Instead the (k+1)-th largest
//! weight is taken from all, `w ← max(0, w − w₍ₖ₊₁₎) / Σ`: at most k are left, rows are a continuous function of the
//! weights, and rows with at most k weights, like those of most skins, stay as they are.

use dermis_mesh::SkinWeights;

/// At most `most` joints per node from a dense matrix of `joint_count` weights per row; rows sum to 1, largest first.
///
/// Where more than `most` weights are equally large, the first joints win.
///
/// # Panics
/// If the matrix is not made of whole rows or `most` is 0.
pub fn prune(dense: &[f64], joint_count: usize, most: usize) -> SkinWeights {
    assert!(joint_count > 0 && most > 0 && dense.len().is_multiple_of(joint_count), "whole rows, at least one joint");
    SkinWeights::from_rows(dense.chunks_exact(joint_count).map(|row| pruned_row(row, most)))
}

fn pruned_row(row: &[f64], most: usize) -> Vec<(u32, f32)> {
    let mut sorted: Vec<(u32, f64)> = (0..).zip(row.iter().copied()).filter(|&(_, weight)| weight > 0.0).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let next = sorted.get(most).map_or(0.0, |&(_, weight)| weight);
    sorted.truncate(most);
    let left: f64 = sorted.iter().map(|(_, weight)| weight - next).sum();
    // Only where the most + 1 largest are equal is nothing left: then they are divided as they are.
    let taken = if left > 0.0 { next } else { 0.0 };
    sorted.retain(|&(_, weight)| weight > taken);
    let sum: f64 = sorted.iter().map(|(_, weight)| weight - taken).sum();
    sorted.into_iter().map(|(joint, weight)| (joint, ((weight - taken) / sum) as f32)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_with_few_weights_stay_as_they_are() {
        let weights = prune(&[0.25, 0.0, 0.75, 0.0, 1.0, 0.0], 3, 2);
        assert_eq!(weights.row(0).collect::<Vec<_>>(), [(2, 0.75), (0, 0.25)]);
        assert_eq!(weights.row(1).collect::<Vec<_>>(), [(1, 1.0)]);
    }

    #[test]
    fn equal_weights_leave_the_first_joints() {
        let row: Vec<_> = prune(&[0.25; 4], 4, 2).row(0).collect();
        assert_eq!(row, [(0, 0.5), (1, 0.5)]);
    }

    proptest! {
        #[test]
        fn small_changes_of_weights_stay_small(
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
            // Ten changes of 1e-6, divided by what is left, and the rounding of f32.
            prop_assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5 / left + 1e-6));
        }
    }
}
