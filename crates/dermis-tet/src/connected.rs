//! Weights without islands: what a joint moves is connected on the skin.
//!
//! Tetrahedra that join parts which touch, as a lattice does with thighs and calves, let weights cross there: a joint of one
//! leg then moves a patch of the other. Such a patch is an island, small beside the joint's own part of the skin, and is
//! removed; the other weights of its rows are scaled to sum to 1.

use dermis_mesh::SkinWeights;
use dermis_mesh::adjacency::{Edges, Lists};

/// Smaller weights are rounding of the solver: they neither connect points nor stay.
const LEAST: f32 = 1e-3;
/// An island stays when its weights sum to this part of those of the joint's largest part: joints may own two sides.
const ISLAND: f64 = 0.2;

/// The rows of `weights`, a row per point of a skin with these triangles, without islands.
pub(super) fn without_islands(weights: &SkinWeights, triangles: &[[u32; 3]], joint_count: usize) -> SkinWeights {
    let neighbours = Edges::new(weights.point_count(), triangles).point_neighbours();
    let mut of_joints: Vec<Vec<(u32, f32)>> = vec![Vec::new(); joint_count];
    for (point, row) in (0..).zip(weights.rows()) {
        row.filter(|(_, weight)| *weight >= LEAST)
            .for_each(|(joint, weight)| of_joints[joint as usize].push((point, weight)));
    }
    let mut kept: Vec<Vec<(u32, f32)>> = vec![Vec::new(); weights.point_count()];
    for (joint, points) in (0..).zip(&of_joints) {
        for (point, weight) in large_parts(points, &neighbours) {
            kept[point as usize].push((joint, weight));
        }
    }
    let rows = kept
        .into_iter()
        .enumerate()
        .map(|(point, row)| if row.is_empty() { weights.row(point).collect() } else { row });
    SkinWeights::from_rows(rows).normalized(joint_count)
}

/// The points of a joint in its largest connected part and in those that are not much smaller; points ascend.
fn large_parts(points: &[(u32, f32)], neighbours: &Lists) -> Vec<(u32, f32)> {
    let mut part_of: Vec<Option<usize>> = vec![None; points.len()];
    let place = |point: u32| points.binary_search_by_key(&point, |(point, _)| *point).ok();
    let mut sums: Vec<f64> = Vec::new();
    for start in 0..points.len() {
        if part_of[start].is_some() {
            continue;
        }
        part_of[start] = Some(sums.len());
        let mut open = vec![start];
        let mut sum = 0.0;
        while let Some(at) = open.pop() {
            sum += f64::from(points[at].1);
            for next in neighbours.of(points[at].0 as usize).iter().filter_map(|&point| place(point)) {
                if part_of[next].is_none() {
                    part_of[next] = Some(sums.len());
                    open.push(next);
                }
            }
        }
        sums.push(sum);
    }
    let largest = sums.iter().copied().fold(0.0, f64::max);
    let stays = |part: &Option<usize>| part.is_some_and(|part| sums[part] >= ISLAND * largest);
    points.iter().zip(&part_of).filter(|(_, part)| stays(part)).map(|(point, _)| *point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_island_is_removed_and_its_rows_still_sum_to_one() {
        // A strip of ten points; joint 1 owns the left end and has crossed to the right one.
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
    fn two_sides_of_one_joint_stay() {
        let triangles: Vec<[u32; 3]> = (0..8).map(|k| [k, k + 1, k + 2]).collect();
        let row = |k: usize| [(u32::from(!(3..7).contains(&k)), 1.0)];
        let weights = SkinWeights::from_rows((0..10).map(row));
        assert_eq!(without_islands(&weights, &triangles, 2), weights);
    }
}
