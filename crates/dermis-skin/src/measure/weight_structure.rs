//! Structure of skin weights, which matters to artists who edit them.
//!
//! The region of a bone is the set of points with a weight above 0 for it. It should be one connected part of the
//! surface (separate shells are joined by proximity), change gradually, and a point should have few influences.

use dermis_mesh::{SkinWeights, TriMesh};

use crate::surface_graph::SurfaceGraph;

/// Minimum number of points of a part; smaller parts are islands.
pub const MIN_PART_POINTS: usize = 10;

/// Locality, sparsity and smoothness of weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WeightStructure {
    /// Mean number of connected parts of a bone's region.
    pub parts_per_bone: f64,
    /// Number of parts of all bones with fewer than [`MIN_PART_POINTS`] points.
    pub islands: usize,
    /// Weight outside the heaviest part of a bone, in percent of the bone's weight; mean over the bones.
    pub stray_weight_percent: f64,
    /// The same for the worst bone, in percent of its weight.
    pub max_stray_weight_percent: f64,
    /// Mean number of influences per point.
    pub mean_influences: f64,
    /// Mean over the edges of the surface of `Σ_b |w_ib − w_jb|`.
    pub weight_difference: f64,
}

/// Measures the weights of `bones` bones over `mesh`.
pub fn weight_structure(mesh: &TriMesh, weights: &SkinWeights, bones: usize) -> WeightStructure {
    let graph = SurfaceGraph::new(mesh.points(), mesh.triangles());
    let rows: Vec<Vec<(u32, f32)>> =
        weights.rows().map(|row| row.filter(|(_, weight)| *weight != 0.0).collect()).collect();
    let mut regions: Vec<Vec<(u32, f64)>> = vec![Vec::new(); bones];
    for (point, row) in rows.iter().enumerate() {
        for &(bone, weight) in row {
            regions[bone as usize].push((point as u32, f64::from(weight)));
        }
    }
    let mut result = WeightStructure::default();
    let (mut parts, mut used) = (0, 0);
    for region in &regions {
        let region = Region::new(&graph, region);
        parts += region.part_sizes.len();
        result.islands += region.part_sizes.iter().filter(|&&size| size < MIN_PART_POINTS).count();
        if region.weight > 0.0 {
            let percent = 100.0 * region.stray / region.weight;
            used += 1;
            result.stray_weight_percent += percent;
            result.max_stray_weight_percent = result.max_stray_weight_percent.max(percent);
        }
    }
    result.parts_per_bone = parts as f64 / bones.max(1) as f64;
    result.stray_weight_percent /= f64::from(used.max(1));
    result.mean_influences = rows.iter().map(Vec::len).sum::<usize>() as f64 / rows.len().max(1) as f64;
    let differences = graph.edges.iter().map(|&[a, b]| difference(&rows[a as usize], &rows[b as usize]));
    result.weight_difference = differences.sum::<f64>() / graph.edges.len().max(1) as f64;
    result
}

/// Parts of one bone's region.
struct Region {
    part_sizes: Vec<usize>,
    weight: f64,
    /// Weight outside the heaviest part.
    stray: f64,
}

impl Region {
    fn new(graph: &SurfaceGraph, region: &[(u32, f64)]) -> Self {
        let members: Vec<u32> = region.iter().map(|&(point, _)| point).collect();
        // Members are ascending by point.
        let weight_of = |point: &u32| members.binary_search(point).map_or(0.0, |at| region[at].1);
        let parts = graph.parts(&members);
        let weights: Vec<f64> = parts.iter().map(|part| part.iter().map(weight_of).sum()).collect();
        let weight: f64 = weights.iter().sum();
        let main = weights.iter().copied().fold(0.0, f64::max);
        Self { part_sizes: parts.iter().map(Vec::len).collect(), weight, stray: weight - main }
    }
}

fn difference(a: &[(u32, f32)], b: &[(u32, f32)]) -> f64 {
    let weight = |row: &[(u32, f32)], bone: u32| {
        row.iter().find(|entry| entry.0 == bone).map_or(0.0, |&(_, weight)| f64::from(weight))
    };
    let common: f64 = a.iter().map(|&(bone, own)| (f64::from(own) - weight(b, bone)).abs()).sum();
    let only_b = b.iter().filter(|(bone, _)| a.iter().all(|entry| entry.0 != *bone));
    common + only_b.map(|&(_, weight)| f64::from(weight.abs())).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    /// A strip of points 0–1–2–3–4 on the x axis, with points 5–9 above.
    fn strip() -> TriMesh {
        let points = (0..10).map(|k| Vec3::new((k % 5) as f32, (k / 5) as f32, 0.0)).collect();
        let cell = |x: u32| [[x, x + 1, x + 6], [x, x + 6, x + 5]];
        TriMesh::new(points, (0..4).flat_map(cell).collect()).unwrap()
    }

    #[test]
    fn counts_parts_islands_and_stray_weight() {
        // Bone 0 at both ends, bone 1 between them.
        let of = |k: usize| u32::from(!matches!(k % 5, 0 | 1 | 4));
        let weights = SkinWeights::from_rows((0..10).map(|k| [(of(k), 1.0)]));
        let structure = weight_structure(&strip(), &weights, 2);
        assert_eq!((structure.parts_per_bone, structure.islands, structure.mean_influences), (1.5, 3, 1.0));
        assert!((structure.stray_weight_percent - 50.0 * 2.0 / 6.0).abs() < 1e-9);
        assert!((structure.max_stray_weight_percent - 100.0 * 2.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn the_difference_over_an_edge_counts_all_bones() {
        assert!((difference(&[(0, 0.5), (1, 0.5)], &[(1, 0.25), (2, 0.75)]) - 1.5).abs() < 1e-9);
    }
}
