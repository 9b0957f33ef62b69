//! Detection of equal items: for each item, the first item equal to it.
//!
//! Items are distributed over buckets by counting sort, each bucket is sorted, and runs of equal items refer to their
//! lowest. A hash only selects the bucket, so colliding data costs a sort, n log n, and never a quadratic search.

use std::cmp::Ordering;

use crate::adjacency::Lists;

/// For each item below `count`, the first item equal to it; items in different buckets are never equal.
///
/// # Panics
/// If `bucket` returns a value that is not below `bucket_count`.
pub(crate) fn first_equal(
    count: u32,
    bucket_count: usize,
    bucket: impl Fn(u32) -> u32,
    compare: impl Fn(u32, u32) -> Ordering + Sync,
) -> Vec<u32> {
    let mut buckets = Lists::group(bucket_count, (0..count).map(|item| (bucket(item), item)));
    buckets.par_sort_each(|&a, &b| compare(a, b).then(a.cmp(&b)));
    let mut first: Vec<u32> = (0..count).collect();
    for list in buckets.iter().filter(|list| list.len() > 1) {
        for same in list.chunk_by(|&a, &b| compare(a, b).is_eq()) {
            for &item in same {
                first[item as usize] = same[0];
            }
        }
    }
    first
}

/// Renumbers items so that equal items share a number: returns the number of each item, and the first item of each
/// number.
pub(crate) fn renumber(first_equal: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut numbers = Vec::with_capacity(first_equal.len());
    let mut firsts = Vec::new();
    for (item, &first) in first_equal.iter().enumerate() {
        if first as usize == item {
            numbers.push(firsts.len() as u32);
            firsts.push(first);
        } else {
            numbers.push(numbers[first as usize]);
        }
    }
    (numbers, firsts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn matches_a_linear_search(values in proptest::collection::vec(0..9_u32, 0..40), buckets in 1..5_u32) {
            let value = |item: u32| values[item as usize];
            let found = first_equal(
                values.len() as u32, buckets as usize, |item| value(item) % buckets, |a, b| value(a).cmp(&value(b)),
            );
            let expected: Vec<u32> =
                values.iter().map(|v| values.iter().position(|other| other == v).unwrap() as u32).collect();
            prop_assert_eq!(&found, &expected);
            let (numbers, firsts) = renumber(&found);
            prop_assert!(firsts.is_sorted_by(|a, b| a < b));
            for (item, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(firsts[number as usize], found[item]);
            }
        }
    }
}
