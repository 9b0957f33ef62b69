//! Joints and skin weights of packed files.
//!
//! Weights are multiples of `1 / (2^bits − 1)` that sum to 1 in the stored type, by largest remainder. If a point has
//! at most four influences, each joint stays in the slot that it has in the preceding vertex: the codec stores
//! differences between neighbours, which are then zero.

use std::collections::BTreeMap;

/// Influences per set of attributes.
const SET: usize = 4;

/// Numbers of all vertices, set by set.
pub(super) type Sets = Vec<Vec<[u16; SET]>>;

/// Joints and weights of the vertices, one entry per set; the weights are fractions of `full`.
pub(super) struct Influences {
    pub joints: Sets,
    pub weights: Sets,
    /// Stored number that represents a weight of 1.
    pub full: u16,
}

/// Quantizes the influences of all vertices, given as a row of joints and weights for each; vertices of the same point
/// in `points` get the same slots.
pub(super) fn quantized(rows: &[Vec<(u16, f32)>], points: &[u32], sets: usize, bits: u32) -> Influences {
    let full = if bits > 8 { u16::MAX } else { u16::from(u8::MAX) };
    let steps = (1_u32 << bits.clamp(2, 16)) - 1;
    let mut joints: Sets = vec![Vec::with_capacity(rows.len()); sets];
    let mut weights: Sets = vec![Vec::with_capacity(rows.len()); sets];
    let mut before = [0; SET];
    let mut first_vertex = BTreeMap::new();
    for (vertex, (row, &point)) in rows.iter().zip(points).enumerate() {
        let first = *first_vertex.entry(point).or_insert(vertex);
        if first < vertex {
            for list in joints.iter_mut().chain(&mut weights) {
                let of_first = list[first];
                list.push(of_first);
            }
            continue;
        }
        let mut row = rounded(row, steps, u32::from(full));
        row.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        if sets == 1 {
            let slots = slots_like(before, &row);
            before = std::array::from_fn(|slot| if slots[slot].1 > 0 { slots[slot].0 } else { before[slot] });
            joints[0].push(slots.map(|(joint, _)| joint));
            weights[0].push(slots.map(|(_, weight)| weight));
            continue;
        }
        for (set, (joints, weights)) in joints.iter_mut().zip(&mut weights).enumerate() {
            let slot = |slot: usize| row.get(set * SET + slot).copied().unwrap_or((0, 0));
            joints.push(std::array::from_fn(|at| slot(at).0));
            weights.push(std::array::from_fn(|at| slot(at).1));
        }
    }
    Influences { joints, weights, full }
}

/// Non-zero weights as whole numbers that sum to `full`.
fn rounded(row: &[(u16, f32)], steps: u32, full: u32) -> Vec<(u16, u16)> {
    let sum: f64 = row.iter().map(|(_, weight)| f64::from(weight.max(0.0))).sum();
    if sum <= 0.0 {
        return vec![(row.first().map_or(0, |(joint, _)| *joint), full as u16)];
    }
    let exact: Vec<f64> = row.iter().map(|(_, weight)| f64::from(weight.max(0.0)) / sum * f64::from(steps)).collect();
    let mut whole: Vec<u32> = exact.iter().map(|weight| *weight as u32).collect();
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()).then(a.cmp(&b)));
    let missing = steps.saturating_sub(whole.iter().sum());
    order.iter().take(missing as usize).for_each(|&slot| whole[slot] += 1);
    let stored = |n: u32| ((u64::from(n) * u64::from(full) + u64::from(steps / 2)) / u64::from(steps)) as i64;
    let mut stored: Vec<i64> = whole.into_iter().map(stored).collect();
    let excess = stored.iter().sum::<i64>() - i64::from(full);
    if let Some(largest) = (0..stored.len()).max_by_key(|&slot| (stored[slot], std::cmp::Reverse(slot))) {
        stored[largest] -= excess;
    }
    let entries = row.iter().zip(stored).map(|(&(joint, _), weight)| (joint, weight.clamp(0, i64::from(full)) as u16));
    entries.filter(|(_, weight)| *weight > 0).collect()
}

/// The influences of `row` in the slots of the joints `before`, others in the free slots.
fn slots_like(before: [u16; SET], row: &[(u16, u16)]) -> [(u16, u16); SET] {
    let mut slots = [(0, 0); SET];
    let mut rest = Vec::new();
    for &(joint, weight) in row.iter().take(SET) {
        match (0..SET).find(|&slot| before[slot] == joint && slots[slot].1 == 0) {
            Some(slot) => slots[slot] = (joint, weight),
            None => rest.push((joint, weight)),
        }
    }
    for entry in rest {
        if let Some(slot) = slots.iter_mut().find(|slot| slot.1 == 0) {
            *slot = entry;
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantized_weights_sum_to_one() {
        let row = |k: u16| {
            vec![(7, 0.4 + f32::from(k) / 1000.0), (3, 0.3), (k % 5 + 10, 0.2 - f32::from(k) / 1000.0), (1, 0.1)]
        };
        let rows: Vec<Vec<(u16, f32)>> = (0..100).map(row).collect();
        let points: Vec<u32> = (0..100).collect();
        for bits in 2..=16 {
            let Influences { joints, weights, full } = quantized(&rows, &points, 1, bits);
            for (vertex, row) in weights[0].iter().enumerate() {
                assert_eq!(row.iter().map(|&weight| u32::from(weight)).sum::<u32>(), u32::from(full), "{bits} bits");
                for (joint, weight) in joints[0][vertex].iter().zip(row) {
                    let exact = rows[vertex].iter().find(|(known, _)| known == joint).map_or(0.0, |entry| entry.1);
                    let step = 1.0 / ((1_u32 << bits) - 1) as f32;
                    let found = f32::from(*weight) / f32::from(full);
                    assert!(
                        *weight == 0 || (found - exact).abs() < 1.5 * step + 1e-3,
                        "{bits} bits: {found} for {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn joints_keep_their_slots() {
        let rows = [vec![(1, 0.6), (2, 0.4)], vec![(2, 0.7), (1, 0.3)], vec![(2, 1.0)], vec![(1, 0.5), (9, 0.5)]];
        let points = [0, 1, 2, 3];
        let found = quantized(&rows, &points, 1, 8);
        assert_eq!(found.joints[0], [[1, 2, 0, 0], [1, 2, 0, 0], [0, 2, 0, 0], [1, 9, 0, 0]]);
    }

    #[test]
    fn a_point_without_weights_follows_its_first_joint() {
        let found = quantized(&[vec![(4, 0.0)], vec![]], &[0, 1], 1, 8);
        assert_eq!((found.joints[0][0], found.weights[0][0]), ([4, 0, 0, 0], [255, 0, 0, 0]));
    }
}
