//! Compression of crates: LZ4 blocks, and integers as differences of 0, 1, 2 or 4 bytes.

use std::collections::HashMap;

/// One LZ4 block. The byte before it is the number of further chunks, which only inputs of 2 GB have.
pub(super) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0];
    packed.extend(lz4_flex::block::compress(bytes));
    packed
}

/// Integers as differences from their predecessors: the most common difference, two bits per integer for the width of its
/// own (0 for the common one), and those of other integers, all compressed.
pub(super) fn packed_integers(integers: &[i32]) -> Vec<u8> {
    let mut before = 0i32;
    let differences: Vec<i32> = integers
        .iter()
        .map(|&integer| {
            let difference = integer.wrapping_sub(before);
            before = integer;
            difference
        })
        .collect();
    let common = most_common(&differences);
    let mut codes = vec![0u8; differences.len().div_ceil(4)];
    let mut values = Vec::new();
    for (index, &difference) in differences.iter().enumerate() {
        let code: u8 = if difference == common {
            0
        } else if let Ok(small) = i8::try_from(difference) {
            values.extend(small.to_le_bytes());
            1
        } else if let Ok(medium) = i16::try_from(difference) {
            values.extend(medium.to_le_bytes());
            2
        } else {
            values.extend(difference.to_le_bytes());
            3
        };
        codes[index / 4] |= code << (2 * (index % 4));
    }
    let mut bytes = common.to_le_bytes().to_vec();
    bytes.extend(codes);
    bytes.extend(values);
    packed(&bytes)
}

/// The most common value; of several, the largest.
fn most_common(values: &[i32]) -> i32 {
    let mut counts: HashMap<i32, usize> = HashMap::new();
    for value in values {
        *counts.entry(*value).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(value, count)| (count, value)).map_or(0, |(value, _)| value)
}
