//! Near-rigid clusters of triangles (SMA, §4.2): the modes of the rotation sequences.
//!
//! The bandwidth is h = 9Sε. A mode is statistically significant, and becomes a bone, if it has drawn at least
//! [`SIGNIFICANT_SHARE`] of the triangles, and at least [`FEWEST_TRIANGLES`]. A triangle belongs to a bone if its climb
//! ended within h/4 of the bone's mode; the others are outliers (black in the paper's Figure 6).

use dermis_math::mean_shift::mean_shift;
use dermis_math::progress::Progress;

use super::rotation_sequences::RotationSequences;

/// Modes with a smaller share of the triangles are pruned. On the paper's horse this leaves about 30, as in its Table 1.
pub const SIGNIFICANT_SHARE: f64 = 0.002;
/// Fewer triangles than this cannot carry an affine bone.
pub const FEWEST_TRIANGLES: usize = 4;

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
pub fn find_clusters(sequences: &RotationSequences, epsilon: f64, progress: &dyn Progress) -> Option<Clusters> {
    let total = sequences.triangles.len() + sequences.degenerate;
    if sequences.triangles.is_empty() {
        return Some(Clusters { epsilon, ..Clusters::default() });
    }
    let h = sequences.dimension as f64 * epsilon;
    let shifted = mean_shift(&sequences.points, sequences.dimension, h, progress);
    if shifted.stopped {
        return None;
    }
    let fewest = ((SIGNIFICANT_SHARE * total as f64).ceil() as usize).max(FEWEST_TRIANGLES);
    let significant = shifted.populations.iter().take_while(|&&population| population >= fewest).count();
    let mut bones = vec![Vec::new(); significant];
    for (k, &triangle) in sequences.triangles.iter().enumerate() {
        let near = f64::from(shifted.distance_to_mode[k]) < h / 4.0;
        if let Some(members) = bones.get_mut(shifted.mode_of[k] as usize).filter(|_| near) {
            members.push(triangle);
        }
    }
    let associated: usize = bones.iter().map(Vec::len).sum();
    Some(Clusters { bones, near_rigid_fraction: associated as f64 / total as f64, epsilon })
}

/// The clusters at the tolerance that gives `count` bones, or as close to it as a tolerance can come.
///
/// Bones become fewer as ε grows, though not strictly: bisection over ln ε, keeping the best seen (ties: larger η).
pub fn find_clusters_for(sequences: &RotationSequences, count: usize, progress: &dyn Progress) -> Option<Clusters> {
    const ROUNDS: usize = 14;
    let (mut low, mut high) = (0.002f64.ln(), 0.5f64.ln());
    let mut best: Option<Clusters> = None;
    for _ in 0..ROUNDS {
        let middle = f64::midpoint(low, high);
        let found = find_clusters(sequences, middle.exp(), progress)?;
        let distance = |clusters: &Clusters| clusters.bones.len().abs_diff(count);
        if found.bones.len() > count {
            low = middle;
        } else {
            high = middle;
        }
        let better = best.as_ref().is_none_or(|best| {
            let (new, old) = (distance(&found), distance(best));
            new < old || new == old && found.near_rigid_fraction > best.near_rigid_fraction
        });
        if better {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| distance(best) == 0) {
            break;
        }
    }
    best
}
