//! Near-rigid clusters of triangles (SMA, §4.2): the modes of the rotation sequences.
//!
//! The bandwidth is h = 9Sε. A triangle belongs to a mode if its ascent ended within h/4 of it; the others are outliers
//! (black in the paper's Figure 6). Beyond the paper, a mode whose triangles rotate alike but move apart is split, and a
//! part that does not follow its own motion is divided (`parts.rs`). Each part is statistically significant, and becomes
//! a bone, if it has at least [`SIGNIFICANT_FRACTION`] of the triangles, and at least [`MIN_TRIANGLES`].

use dermis_math::mean_shift::mean_shift;
use dermis_math::progress::Progress;

use super::cluster_bones::Cores;
use super::parts::{divide, largest_first, parts, worth_a_bone};
use super::rotation_sequences::RotationSequences;

/// Minimum fraction of the triangles in a mode; smaller modes are pruned. On the paper's horse about 30 remain, as in
/// its Table 1.
pub const SIGNIFICANT_FRACTION: f64 = 0.002;
/// Minimum number of triangles that determine an affine bone.
pub const MIN_TRIANGLES: usize = 4;

/// Error of a part under its own rigid motion above which it is divided, relative to the error within which parts are
/// joined. At 2 the generated gallop has 35 bones instead of 33 and 3.3 % distortion instead of 10.4 % (flexible, TSVD); at
/// 1 it has 50 bones and 1.9 %.
const DIVISION: f64 = 2.0;

/// Smallest and largest tolerance of the search.
pub const TOLERANCES: (f64, f64) = (0.002, 0.5);

/// Entries of a 3×3 matrix.
const NUMBERS_PER_ROTATION: usize = 9;

/// Core triangles of each bone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clusters {
    /// Triangles of the mesh that belong to each bone, largest bone first.
    pub bones: Vec<Vec<u32>>,
    /// η: fraction of all triangles, degenerate ones included, that belong to a bone.
    pub near_rigid_fraction: f64,
    /// Tolerance ε of the clustering.
    pub epsilon: f64,
}

/// Computes the clusters at rotation tolerance `epsilon`; `None` if the observer stopped the work.
pub(crate) fn find_clusters(cores: &Cores<'_>, epsilon: f64, progress: &dyn Progress) -> Option<Clusters> {
    let sequences = cores.rotations;
    if sequences.triangles.is_empty() {
        return Some(Clusters { epsilon, ..Clusters::default() });
    }
    let h = sequences.dimension as f64 * epsilon;
    let shifted = mean_shift(&sequences.points, sequences.dimension, NUMBERS_PER_ROTATION, h, progress);
    if shifted.stopped {
        return None;
    }
    let total = sequences.triangles.len() + sequences.degenerate;
    let fewest = ((SIGNIFICANT_FRACTION * total as f64).ceil() as usize).max(MIN_TRIANGLES);
    let significant = shifted.populations.iter().take_while(|&&population| population >= fewest).count();
    let mut modes = vec![Vec::new(); significant];
    for (k, &triangle) in sequences.triangles.iter().enumerate() {
        let near = f64::from(shifted.distance_to_mode[k]) < h / 4.0;
        if let Some(members) = modes.get_mut(shifted.mode_of[k] as usize).filter(|_| near) {
            members.push(triangle);
        }
    }
    let tolerance = epsilon / 3.0;
    let mut bones: Vec<Vec<u32>> = modes.iter().flat_map(|members| parts(cores, members, tolerance)).collect();
    bones.retain(|members| members.len() >= fewest);
    let bones = worth_a_bone(cores, bones, tolerance);
    let divided = bones.into_iter().flat_map(|members| divide(cores, members, DIVISION * tolerance, fewest));
    let bones = largest_first(divided.collect());
    let near_rigid_fraction = sequences.fraction(bones.iter().map(Vec::len).sum());
    Some(Clusters { bones, near_rigid_fraction, epsilon })
}

/// Computes the clusters at the tolerance that gives `count` bones.
///
/// The number of bones decreases with ε, though not strictly, so the search is a bisection over ln ε. If no tolerance
/// gives exactly `count` bones, the `count` largest of the next larger number are kept; if none gives enough, all are
/// kept.
pub(crate) fn find_clusters_for(cores: &Cores<'_>, count: usize, progress: &dyn Progress) -> Option<Clusters> {
    const ROUNDS: usize = 12;
    let (mut low, mut high) = (TOLERANCES.0.ln(), TOLERANCES.1.ln());
    let mut best: Option<Clusters> = None;
    for _ in 0..ROUNDS {
        let middle = f64::midpoint(low, high);
        let found = find_clusters(cores, middle.exp(), progress)?;
        let bones = found.bones.len();
        if bones < count {
            high = middle;
        } else {
            low = middle;
        }
        // Smallest sufficient number first; if none is sufficient, the largest.
        let rank = |bones: usize| if bones >= count { (0, bones - count) } else { (1, count - bones) };
        if best.as_ref().is_none_or(|best| rank(bones) < rank(best.bones.len())) {
            best = Some(found);
        }
        if bones == count {
            break;
        }
    }
    best.map(|clusters| clusters.most_populated(count, cores.rotations))
}

impl Clusters {
    fn most_populated(mut self, count: usize, sequences: &RotationSequences) -> Self {
        if self.bones.len() > count {
            self.bones.truncate(count);
            self.near_rigid_fraction = sequences.fraction(self.bones.iter().map(Vec::len).sum());
        }
        self
    }
}
