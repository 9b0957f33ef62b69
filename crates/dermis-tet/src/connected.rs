//! Removal of islands: the skin region of each joint is connected.
//!
//! Tetrahedra can connect parts that touch, as a lattice does with thighs and calves. Weights then leak across, and a
//! joint of one leg moves a patch of the other. Such a patch is an island, small compared with the joint's main region,
//! and is removed; the remaining weights of its rows are normalized.

use dermis_mesh::SkinWeights;
use dermis_mesh::adjacency::{Edges, Lists};

/// Weights below this are attributed to the tolerance of the solver: they do not connect points and are removed.
const MIN_WEIGHT: f32 = 1e-3;
/// Minimum sum of weights of a region, relative to the joint's largest region. A joint can have two large regions.
const MIN_REGION_FRACTION: f64 = 0.2;

/// Returns `weights`, one row per point of a skin with these triangles, without islands.
pub(super) fn without_islands(weights: &SkinWeights, triangles: &[[u32; 3]], joint_count: usize) -> SkinWeights {
    let neighbours = Edges::new(weights.point_count(), triangles).point_neighbours();
    let mut of_joints: Vec<Vec<(u32, f32)>> = vec![Vec::new(); joint_count];
    for (point, row) in (0..).zip(weights.rows()) {
        row.filter(|(_, weight)| *weight >= MIN_WEIGHT)
            .for_each(|(joint, weight)| of_joints[joint as usize].push((point, weight)));
    }
    let mut kept: Vec<Vec<(u32, f32)>> = vec![Vec::new(); weights.point_count()];
    for (joint, points) in (0..).zip(&of_joints) {
        for (point, weight) in large_regions(points, &neighbours) {
            kept[point as usize].push((joint, weight));
        }
    }
    let rows = kept
        .into_iter()
        .enumerate()
        .map(|(point, row)| if row.is_empty() { weights.row(point).collect() } else { row });
    SkinWeights::from_rows(rows).normalized(joint_count)
}

/// Points of a joint that are in its largest connected region or in regions of similar size, ascending.
fn large_regions(points: &[(u32, f32)], neighbours: &Lists) -> Vec<(u32, f32)> {
    let mut region_of: Vec<Option<usize>> = vec![None; points.len()];
    let index_of = |point: u32| points.binary_search_by_key(&point, |(point, _)| *point).ok();
    let mut sums: Vec<f64> = Vec::new();
    for start in 0..points.len() {
        if region_of[start].is_some() {
            continue;
        }
        region_of[start] = Some(sums.len());
        let mut open = vec![start];
        let mut sum = 0.0;
        while let Some(at) = open.pop() {
            sum += f64::from(points[at].1);
            for next in neighbours.of(points[at].0 as usize).iter().filter_map(|&point| index_of(point)) {
                if region_of[next].is_none() {
                    region_of[next] = Some(sums.len());
                    open.push(next);
                }
            }
        }
        sums.push(sum);
    }
    let largest = sums.iter().copied().fold(0.0, f64::max);
    let is_large = |region: &Option<usize>| region.is_some_and(|region| sums[region] >= MIN_REGION_FRACTION * largest);
    points.iter().zip(&region_of).filter(|(_, region)| is_large(region)).map(|(point, _)| *point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_islands_and_normalizes_their_rows() {
        // A strip of ten points; joint 1 moves the left end and has an island at the right end.
        let triangles: Vec<[u32; 3]> = (0..8).map(|k| [k, k + 1, k + 2]).collect();
        let row = |k: usize| match k {
            0..4 => vec![(1, 1.0)],
            9 => vec![(0, 0.7), (1, 0.3)],
            _ => vec![(0, 0.9995), (1, 0.0005)],
        };
        let found = without_islands(&SkinWeights::from_rows((0..10).map(row)), &triangles, 2);
        for k in 0..10 {
            assert_eq!(found.row(k).collect::<Vec<_>>(), [(u32::from(k < 4), 1.0)]);
        }
    }

    #[test]
    fn keeps_two_large_regions_of_a_joint() {
        let triangles: Vec<[u32; 3]> = (0..8).map(|k| [k, k + 1, k + 2]).collect();
        let row = |k: usize| [(u32::from(!(3..7).contains(&k)), 1.0)];
        let weights = SkinWeights::from_rows((0..10).map(row));
        assert_eq!(without_islands(&weights, &triangles, 2), weights);
    }
}
