//! Near-rigid clusters of triangles (SMA, §4.2): the modes of the rotation sequences.
//!
//! The bandwidth is h = 9Sε. A triangle belongs to a mode if its climb ended within h/4 of it; the others are outliers
//! (black in the paper's Figure 6). Beyond the paper, a mode whose triangles turn alike but move apart is split
//! (`parts.rs`). What is left is statistically significant, and becomes a bone, if it has at least
//! [`SIGNIFICANT_SHARE`] of the triangles, and at least [`FEWEST_TRIANGLES`].

use dermis_math::mean_shift::mean_shift;
use dermis_math::progress::Progress;

use super::cluster_bones::Cores;
use super::parts::{parts, worth_a_bone};
use super::rotation_sequences::RotationSequences;

/// Modes with a smaller share of the triangles are pruned. On the paper's horse this leaves about 30, as in its Table 1.
pub const SIGNIFICANT_SHARE: f64 = 0.002;
/// Fewer triangles than this cannot carry an affine bone.
pub const FEWEST_TRIANGLES: usize = 4;

/// The smallest and the largest tolerance that a search tries.
pub const TOLERANCES: (f64, f64) = (0.002, 0.5);

/// Entries of a 3×3 matrix.
const NUMBERS_PER_ROTATION: usize = 9;

/// The core triangles of each bone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clusters {
    /// For each bone, the triangles of the mesh that belong to it; most first.
    pub bones: Vec<Vec<u32>>,
    /// η: the share of all triangles, degenerate ones included, that belong to a bone.
    pub near_rigid_fraction: f64,
    /// The tolerance ε that gave these.
    pub epsilon: f64,
}

/// The clusters at rotation tolerance `epsilon`; `None` if the observer stopped the work.
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
    let fewest = ((SIGNIFICANT_SHARE * total as f64).ceil() as usize).max(FEWEST_TRIANGLES);
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
    let near_rigid_fraction = sequences.share(bones.iter().map(Vec::len).sum());
    Some(Clusters { bones, near_rigid_fraction, epsilon })
}

/// The clusters at the tolerance that gives `count` bones.
///
/// Bones become fewer as ε grows, though not strictly: bisection over ln ε. Where no tolerance gives just as many, the
/// `count` most populated of the next larger number are kept; where none gives enough, as many as there are.
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
        // Enough and few beats enough and many; many beats few where neither is enough.
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
            self.near_rigid_fraction = sequences.share(self.bones.iter().map(Vec::len).sum());
        }
        self
    }
}
