//! Bone influence maps: the bones that influence a point, and their maximum influence (MWE, §4.1 and 4.2).
//!
//! Maps should be wide: a relevant bone that is missing costs more than an irrelevant one, which the regularization
//! suppresses. Maps from skin weights are computed in three steps. Averaging over mesh neighbours widens them and
//! smooths their edges. Along the skeleton, each joint passes a fraction (`reach`) of its influence on to its
//! neighbours. The strongest `max_bones` are kept; the influence of the next one is subtracted from them, so that
//! influences vanish continuously and no seam is visible.
//!
//! The home bones, in whose frames a point is computed, are the strongest of the widened weights; they fade out in the
//! same way.

use dermis_mesh::adjacency::{Edges, Lists};
use dermis_mesh::{Rig, SkinWeights, TriMesh};
use rayon::prelude::*;

/// Minimum influence; smaller ones are dropped.
const MIN_INFLUENCE: f32 = 1e-4;
/// Minimum weight of a home bone, as a fraction of the largest weight.
const MIN_HOME_FRACTION: f32 = 0.25;
/// Maximum number of home bones of a point.
const MAX_HOMES: usize = 4;

/// Options of influence maps from skin weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapOptions {
    /// Number of averaging passes over mesh neighbours: the number of edges over which influence spreads.
    pub widen: usize,
    /// Fraction of a joint's influence that its parent and children receive, 0 to 1; 0 keeps the skin weights.
    pub reach: f32,
    /// Maximum number of bones of a point. More fit better and cost more to train and to evaluate.
    pub max_bones: usize,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self { widen: 4, reach: 0.3, max_bones: 12 }
    }
}

/// Influence maps (μ) and home bones with their fractions, for each point.
#[derive(Debug, Clone, PartialEq)]
pub struct InfluenceMaps {
    /// μ > 0 of the bones of each point, in ascending order of bones.
    pub(super) maps: SkinWeights,
    /// Home bones of each point in ascending order, with fractions that sum to 1.
    pub(super) homes: SkinWeights,
}

impl InfluenceMaps {
    /// Computes maps from skin weights.
    pub fn from_weights(mesh: &TriMesh, rig: &Rig, weights: &SkinWeights, options: &MapOptions) -> Self {
        let wide = widened(mesh, weights, options.widen, rig.joints().len());
        let skeleton = SkeletonSpread::new(rig, options.reach);
        let rows: Vec<Vec<(u32, f32)>> = (0..wide.point_count())
            .into_par_iter()
            .map(|point| strongest(skeleton.spread(wide.row(point)), options.max_bones))
            .collect();
        Self { maps: SkinWeights::from_rows(rows), homes: homes(&wide) }
    }

    /// Uses painted maps: a row of bones and influences per point. The home bones are computed from skin weights.
    pub fn painted(mesh: &TriMesh, rig: &Rig, maps: &SkinWeights, weights: &SkinWeights, widen: usize) -> Self {
        let rows = maps.rows().map(|row| {
            let mut row: Vec<(u32, f32)> = row.filter(|(_, influence)| *influence > 0.0).collect();
            row.sort_by_key(|(bone, _)| *bone);
            row
        });
        Self { maps: SkinWeights::from_rows(rows), homes: homes(&widened(mesh, weights, widen, rig.joints().len())) }
    }

    /// First point without an influencing bone.
    pub fn uninfluenced_point(&self) -> Option<usize> {
        let empty = |rows: &SkinWeights, point: usize| rows.row(point).next().is_none();
        (0..self.maps.point_count()).find(|&point| empty(&self.maps, point) || empty(&self.homes, point))
    }

    /// Number of points.
    pub fn point_count(&self) -> usize {
        self.maps.point_count()
    }

    /// Mean number of bones per point.
    pub fn mean_bones(&self) -> f64 {
        let bones: usize = (0..self.point_count()).map(|point| self.maps.row(point).count()).sum();
        bones as f64 / self.point_count().max(1) as f64
    }
}

/// Weights averaged over neighbours. In each pass, half of the weight remains.
fn widened(mesh: &TriMesh, weights: &SkinWeights, passes: usize, bones: usize) -> SkinWeights {
    let neighbours = Edges::new(mesh.point_count(), mesh.triangles()).point_neighbours();
    let mut wide = positive(weights);
    for _ in 0..passes {
        wide = averaged(&wide, &neighbours, bones);
    }
    wide
}

/// Rows in ascending order of bones, with positive weights that sum to 1.
fn positive(weights: &SkinWeights) -> SkinWeights {
    let normalized = weights.normalized(usize::MAX);
    SkinWeights::from_rows((0..weights.point_count()).map(|point| {
        let given = weights.row(point).any(|(_, weight)| weight > 0.0);
        let mut row: Vec<(u32, f32)> = if given { normalized.row(point).collect() } else { Vec::new() };
        row.sort_by_key(|(bone, _)| *bone);
        row
    }))
}

fn averaged(weights: &SkinWeights, neighbours: &Lists, bones: usize) -> SkinWeights {
    const BLOCK: usize = 1024;
    let count = weights.point_count();
    let row = |point: usize, sums: &mut [f32]| {
        let around = neighbours.of(point);
        let own = if around.is_empty() { 1.0 } else { 0.5 };
        let mut touched: Vec<u32> = Vec::new();
        let mut add = |from: usize, fraction: f32| {
            for (bone, weight) in weights.row(from) {
                if sums[bone as usize] == 0.0 {
                    touched.push(bone);
                }
                sums[bone as usize] += fraction * weight;
            }
        };
        add(point, own);
        for &from in around {
            add(from as usize, (1.0 - own) / around.len() as f32);
        }
        touched.sort_unstable();
        touched.dedup();
        let row: Vec<(u32, f32)> =
            touched.iter().map(|&bone| (bone, std::mem::take(&mut sums[bone as usize]))).collect();
        row
    };
    let blocks: Vec<Vec<Vec<(u32, f32)>>> = (0..count.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut sums = vec![0.0; bones];
            (block * BLOCK..((block + 1) * BLOCK).min(count)).map(|point| row(point, &mut sums)).collect()
        })
        .collect();
    SkinWeights::from_rows(blocks.into_iter().flatten())
}

/// Fraction of a joint's influence that each other joint receives.
struct SkeletonSpread {
    /// For each joint, the joints that receive more than [`MIN_INFLUENCE`], with their fractions.
    fractions: Vec<Vec<(u32, f32)>>,
}

impl SkeletonSpread {
    /// The distance between two roots is two joints, with the world as their parent.
    fn new(rig: &Rig, reach: f32) -> Self {
        let count = rig.joints().len();
        let mut near: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
        for (joint, parent) in rig.joints().iter().map(|joint| joint.parent.unwrap_or(count)).enumerate() {
            near[joint].push(parent);
            near[parent].push(joint);
        }
        Self {
            fractions: (0..count)
                .into_par_iter()
                .map(|joint| fractions_of(joint, &near, reach.clamp(0.0, 1.0)))
                .collect(),
        }
    }

    fn spread(&self, row: impl Iterator<Item = (u32, f32)>) -> Vec<(u32, f32)> {
        let mut all: Vec<(u32, f32)> = Vec::new();
        for (bone, weight) in row {
            all.extend(self.fractions[bone as usize].iter().map(|&(other, fraction)| (other, weight * fraction)));
        }
        // The largest influence of each bone is first.
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        all.dedup_by_key(|(bone, _)| *bone);
        all
    }
}

fn fractions_of(start: usize, near: &[Vec<usize>], reach: f32) -> Vec<(u32, f32)> {
    let world = near.len() - 1;
    let mut found = vec![(start, 1.0f32)];
    let mut visited = vec![false; near.len()];
    visited[start] = true;
    let mut next = 0;
    while let Some(&(joint, fraction)) = found.get(next) {
        next += 1;
        for &other in near[joint].iter().filter(|_| fraction * reach > MIN_INFLUENCE) {
            if !std::mem::replace(&mut visited[other], true) {
                found.push((other, fraction * reach));
            }
        }
    }
    found.into_iter().filter(|(joint, _)| *joint != world).map(|(joint, fraction)| (joint as u32, fraction)).collect()
}

/// The `max_count` strongest, minus the strongest of the others; the order of the bones is preserved.
fn strongest(mut row: Vec<(u32, f32)>, max_count: usize) -> Vec<(u32, f32)> {
    let mut sorted: Vec<f32> = row.iter().map(|(_, influence)| *influence).collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let subtracted = sorted.get(max_count).copied().unwrap_or(0.0).max(MIN_INFLUENCE);
    row.retain_mut(|(_, influence)| {
        *influence -= subtracted;
        *influence > 0.0
    });
    row
}

fn homes(wide: &SkinWeights) -> SkinWeights {
    SkinWeights::from_rows(wide.rows().map(|row| {
        let row: Vec<(u32, f32)> = row.collect();
        let largest = row.iter().map(|(_, weight)| *weight).fold(0.0, f32::max);
        let above =
            row.iter().map(|&(bone, weight)| (bone, weight - MIN_HOME_FRACTION * largest)).filter(|home| home.1 > 0.0);
        let mut homes = strongest(above.map(|(bone, weight)| (bone, weight + MIN_INFLUENCE)).collect(), MAX_HOMES);
        if homes.is_empty() {
            // More than [`MAX_HOMES`] bones are equally strong: the first of them is used.
            homes.extend(row.iter().find(|(_, weight)| *weight == largest).map(|&(bone, _)| (bone, 1.0)));
        }
        let sum: f32 = homes.iter().map(|(_, fraction)| fraction).sum();
        homes.into_iter().map(move |(bone, fraction)| (bone, fraction / sum))
    }))
}

#[cfg(test)]
mod tests {
    use dermis_mesh::Joint;
    use glam::{DAffine3, Vec3};

    use super::*;

    /// A strip of `length` points and a chain of `bones` joints.
    fn strip(length: usize, bones: usize) -> (TriMesh, Rig) {
        let points = (0..length).map(|k| Vec3::new(k as f32, (k % 2) as f32, 0.0)).collect();
        let triangles = (2..length as u32).map(|k| [k - 2, k - 1, k]).collect();
        let mesh = TriMesh::new(points, triangles).unwrap();
        let joint = |k: usize| Joint::at("", k.checked_sub(1), DAffine3::IDENTITY);
        let row = |point: usize| [((point * bones / length) as u32, 1.0)];
        let weights = SkinWeights::from_rows((0..length).map(row));
        let rig = Rig::new(&mesh, (0..bones).map(joint).collect(), weights, vec![]).unwrap();
        (mesh, rig)
    }

    fn row_of(weights: &SkinWeights, point: usize) -> Vec<(u32, f32)> {
        weights.row(point).collect()
    }

    #[test]
    fn reach_adds_the_neighbours_of_weighted_joints() {
        let (mesh, rig) = strip(40, 4);
        let loose = |widen, reach| {
            InfluenceMaps::from_weights(&mesh, &rig, rig.weights(), &MapOptions { widen, reach, max_bones: 12 })
        };
        assert_eq!(row_of(&loose(0, 0.0).maps, 0).len(), 1);
        let reached = loose(0, 0.5);
        let influences: Vec<f32> = reached.maps.row(0).map(|(_, influence)| influence).collect();
        assert_eq!(influences.len(), 4);
        assert!(influences.windows(2).all(|pair| (pair[1] / pair[0] - 0.5).abs() < 1e-3), "{influences:?}");
    }

    #[test]
    fn widening_spreads_weights_over_neighbours_and_fills_points_without_any() {
        let (mesh, rig) = strip(40, 2);
        let mut rows: Vec<Vec<(u32, f32)>> = rig.weights().rows().map(Iterator::collect).collect();
        rows[5].clear();
        let weights = SkinWeights::from_rows(rows);
        let tight =
            InfluenceMaps::from_weights(&mesh, &rig, &weights, &MapOptions { widen: 0, reach: 0.0, max_bones: 12 });
        assert_eq!(tight.uninfluenced_point(), Some(5));
        let wide =
            InfluenceMaps::from_weights(&mesh, &rig, &weights, &MapOptions { widen: 3, reach: 0.0, max_bones: 12 });
        assert_eq!(wide.uninfluenced_point(), None);
        assert_eq!(row_of(&wide.maps, 18).len(), 2);
    }

    #[test]
    fn bones_and_homes_fade_out_continuously() {
        let (mesh, rig) = strip(400, 20);
        let maps = InfluenceMaps::from_weights(
            &mesh,
            &rig,
            rig.weights(),
            &MapOptions { widen: 12, reach: 0.5, max_bones: 4 },
        );
        for point in 0..399 {
            for (rows, max_count) in [(&maps.maps, 4), (&maps.homes, MAX_HOMES)] {
                let dense = |point: usize| {
                    let mut dense = [0.0f32; 20];
                    rows.row(point).for_each(|(bone, influence)| dense[bone as usize] = influence);
                    dense
                };
                assert!(rows.row(point).count() <= max_count);
                let jump = dense(point).iter().zip(dense(point + 1)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                // Twelve passes spread a step of 1 over about ten points; homes sharpen it by 4/3.
                assert!(jump < 0.25, "{point}: {jump}");
            }
            assert!((maps.homes.row(point).map(|(_, fraction)| fraction).sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}
