//! Names of joints from the tree and its symmetry: `root`, `spine_01`, `limb_L_02`, …
//!
//! The tree is cut into chains: a chain continues with the child that has most bones below it. A mirror plane is one of
//! the three coordinate planes through the root such that most joints have a mirror image among the others. Chains on the
//! plane are `spine`, pairs of mirrored chains `limb_L` and `limb_R` (left is the positive side); without a plane all
//! chains are limbs. Further chains of a kind are numbered. The names depend on the positions alone.

use glam::DVec3;

use super::Skeleton;

/// Distance from the plane or from the mirror image, relative to the RMS radius of the rest pose.
const TOLERANCE: f64 = 0.08;
/// Fraction of the joints that must have a mirror image.
const MIN_MIRRORED: f64 = 0.8;

/// The name of each bone.
pub(super) fn joint_names(skeleton: &Skeleton) -> Vec<String> {
    let plane = mirror_axis(skeleton);
    let mut names = vec![String::new(); skeleton.parents.len()];
    let mut used: Vec<String> = Vec::new();
    for (number, chain) in chains(skeleton).into_iter().enumerate() {
        let is_root = skeleton.parents[chain[0]].is_none();
        let side = plane.and_then(|(axis, root)| {
            let mean = chain.iter().map(|&bone| skeleton.positions[bone][axis]).sum::<f64>() / chain.len() as f64;
            let away = mean - root[axis];
            (away.abs() > TOLERANCE).then_some(if away > 0.0 { "L" } else { "R" })
        });
        let kind = match (plane, side) {
            (Some(_), None) => "spine".to_owned(),
            (Some(_), Some(side)) => format!("limb_{side}"),
            (None, _) => format!("limb_{number}"),
        };
        let earlier = used.iter().filter(|name| **name == kind).count();
        let prefix = if earlier == 0 { kind.clone() } else { format!("{kind}_{}", earlier + 1) };
        used.push(kind);
        for (place, &bone) in chain.iter().enumerate() {
            let root = is_root && place == 0;
            names[bone] =
                if root { root_name(skeleton, bone) } else { format!("{prefix}_{:02}", place + usize::from(!is_root)) };
        }
    }
    names
}

/// `root`, or `root_2`, … in a forest.
fn root_name(skeleton: &Skeleton, bone: usize) -> String {
    let earlier = skeleton.parents[..bone].iter().filter(|parent| parent.is_none()).count();
    if earlier == 0 { "root".to_owned() } else { format!("root_{}", earlier + 1) }
}

/// Chains from parents to their largest child, in the order of their parents; siblings by position.
fn chains(skeleton: &Skeleton) -> Vec<Vec<usize>> {
    let order = skeleton.parents_first();
    let mut sizes = vec![1usize; order.len()];
    for &bone in order.iter().rev() {
        if let Some(parent) = skeleton.parents[bone] {
            sizes[parent] += sizes[bone];
        }
    }
    let mut starts: Vec<usize> = order.iter().copied().filter(|&bone| skeleton.parents[bone].is_none()).collect();
    let mut chains = Vec::new();
    let mut next = 0;
    while next < starts.len() {
        let mut chain = vec![starts[next]];
        loop {
            let last = chain[chain.len() - 1];
            let mut children: Vec<usize> =
                (0..order.len()).filter(|&bone| skeleton.parents[bone] == Some(last)).collect();
            let key = |bone: usize| skeleton.positions[bone].to_array();
            children.sort_by(|&a, &b| sizes[b].cmp(&sizes[a]).then(key(a).partial_cmp(&key(b)).unwrap_or(a.cmp(&b))));
            let mut children = children.into_iter();
            let Some(first) = children.next() else { break };
            starts.extend(children);
            chain.push(first);
        }
        chains.push(chain);
        next += 1;
    }
    chains
}

/// The axis across the mirror plane and a point on it; `None` if the skeleton is not symmetric.
fn mirror_axis(skeleton: &Skeleton) -> Option<(usize, DVec3)> {
    let root = *skeleton.positions.iter().zip(&skeleton.parents).find(|(_, parent)| parent.is_none())?.0;
    let mirrored = |axis: usize| {
        let is_mirrored = |position: &&DVec3| {
            let mut image = **position;
            image[axis] = 2.0 * root[axis] - image[axis];
            skeleton.positions.iter().any(|other| other.distance(image) <= TOLERANCE)
        };
        skeleton.positions.iter().filter(is_mirrored).count()
    };
    let beside = |axis: usize| skeleton.positions.iter().any(|p| (p[axis] - root[axis]).abs() > TOLERANCE);
    let best = (0..3)
        .filter(|&axis| beside(axis))
        .map(|axis| (mirrored(axis), axis))
        .max_by_key(|&(count, axis)| (count, 2 - axis))?;
    (best.0 as f64 >= MIN_MIRRORED * skeleton.positions.len() as f64).then_some((best.1, root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symmetric_tree_has_a_spine_and_limbs_on_both_sides() {
        let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
        let positions =
            vec![at(0.0, 0.0), at(0.0, 1.0), at(0.0, 2.0), at(0.5, 1.0), at(1.0, 1.0), at(-0.5, 1.0), at(-1.0, 1.0)];
        let parents = vec![None, Some(0), Some(1), Some(1), Some(3), Some(1), Some(5)];
        let names = joint_names(&Skeleton { parents, positions, max_residual: 0.0 });
        assert_eq!(names[0], "root");
        assert!(names.iter().any(|name| name == "spine_01"));
        assert!(names[3].starts_with("limb_L") && names[5].starts_with("limb_R"), "{names:?}");
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }
}
