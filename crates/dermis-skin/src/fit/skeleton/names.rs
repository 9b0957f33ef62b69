//! Names of joints from the tree and its symmetry: `root`, `spine_01`, `limb_L_02`, …
//!
//! The tree is divided into chains: a chain continues on its side of the mirror plane with the child that has most
//! bones below it. Chains on the plane are `spine`, others `limb_L` and `limb_R` (left is the positive side of the axis
//! across the plane); mirrored chains have the same number. Without a plane all chains are `limb`. Further chains of a
//! kind are numbered: `limb2_L_01`. The names depend only on positions and parents.

use glam::DVec3;

use super::Skeleton;

/// Distance from the plane, relative to the RMS radius of the rest pose, up to which a bone is on it.
const ON_PLANE: f64 = 0.05;
/// Distance of a point from the mirror image of another, relative to the RMS radius of the rest pose.
const TOLERANCE: f64 = 0.08;
/// Fraction of the points that have a mirror image in a symmetric shape.
const MIN_MIRRORED: f64 = 0.9;
/// Number of points that are tested.
const TESTED: usize = 400;
/// Distance between the start of a chain and the mirror image of its counterpart.
const PAIR_DISTANCE: f64 = 0.4;

/// Mirror plane of a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::fit) struct Mirror {
    /// Coordinate axis across the plane.
    axis: usize,
    /// Coordinate of the plane on this axis.
    at: f64,
}

impl Mirror {
    /// The plane at the coordinate `at` of `axis`.
    #[cfg(test)]
    pub(super) fn at(axis: usize, at: f64) -> Self {
        Self { axis, at }
    }

    /// Returns true if a bone whose points have the mean `p` is on the plane.
    pub(super) fn is_on_plane(self, p: DVec3) -> bool {
        self.side(p) == Side::Middle
    }

    /// 1 on the left, −1 on the right, 0 on the plane.
    pub(super) fn sign(self, p: DVec3) -> f64 {
        match self.side(p) {
            Side::Middle => 0.0,
            Side::Left => 1.0,
            Side::Right => -1.0,
        }
    }

    /// Mirror image of a point.
    pub(super) fn image(self, mut p: DVec3) -> DVec3 {
        p[self.axis] = 2.0 * self.at - p[self.axis];
        p
    }

    fn side(self, p: DVec3) -> Side {
        let distance = p[self.axis] - self.at;
        match distance {
            _ if distance.abs() <= ON_PLANE => Side::Middle,
            _ if distance > 0.0 => Side::Left,
            _ => Side::Right,
        }
    }
}

/// Mirror plane of the rest pose: the coordinate plane through the middle of its bounds at which most points have a
/// mirror image; `None` if the shape is not symmetric.
pub(in crate::fit) fn find_mirror(points: &[DVec3]) -> Option<Mirror> {
    let low = points.iter().fold(DVec3::INFINITY, |low, &p| low.min(p));
    let high = points.iter().fold(DVec3::NEG_INFINITY, |high, &p| high.max(p));
    let step = points.len().div_ceil(TESTED).max(1);
    let tested: Vec<DVec3> = points.iter().step_by(step).copied().collect();
    let mirrored = |mirror: Mirror| {
        let has_image = |p: &&DVec3| {
            let image = mirror.image(**p);
            points.iter().any(|other| other.distance_squared(image) <= TOLERANCE * TOLERANCE)
        };
        tested.iter().filter(has_image).count() as f64 / tested.len().max(1) as f64
    };
    let planes = (0..3).map(|axis| Mirror { axis, at: 0.5 * (low[axis] + high[axis]) });
    let wide = planes.filter(|mirror| high[mirror.axis] - low[mirror.axis] > 2.0 * TOLERANCE);
    let best =
        wide.map(|mirror| (mirrored(mirror), mirror)).reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|best| best.0 >= MIN_MIRRORED).map(|best| best.1)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Middle,
    Left,
    Right,
}

/// Bones that continue each other on one side.
struct Chain {
    side: Side,
    bones: Vec<usize>,
}

/// Name of each bone. `means` are the mean positions of the bones' points.
pub(super) fn joint_names(skeleton: &Skeleton, means: &[DVec3], mirror: Option<Mirror>) -> Vec<String> {
    let side = |bone: usize| mirror.map_or(Side::Middle, |mirror| mirror.side(means[bone]));
    let chains = chains(skeleton, side);
    let numbers = chain_numbers(&chains, means, mirror);
    let mut names = vec![String::new(); skeleton.parents.len()];
    for (chain, number) in chains.iter().zip(numbers) {
        let kind = if mirror.is_some() && chain.side == Side::Middle { "spine" } else { "limb" };
        let number = if number == 1 { String::new() } else { number.to_string() };
        let side = match chain.side {
            Side::Middle => "",
            Side::Left => "_L",
            Side::Right => "_R",
        };
        let starts_at_root = skeleton.parents[chain.bones[0]].is_none();
        for (index, &bone) in chain.bones.iter().enumerate() {
            names[bone] = if skeleton.parents[bone].is_none() {
                root_name(skeleton, bone)
            } else {
                format!("{kind}{number}{side}_{:02}", index + usize::from(!starts_at_root))
            };
        }
    }
    names
}

/// Number of each chain among those of its side, from 1; a right chain has the number of the left chain it mirrors.
fn chain_numbers(chains: &[Chain], means: &[DVec3], mirror: Option<Mirror>) -> Vec<usize> {
    let of_side = |side: Side| (0..chains.len()).filter(move |&chain| chains[chain].side == side);
    let mut numbers = vec![0; chains.len()];
    for side in [Side::Middle, Side::Left] {
        of_side(side).enumerate().for_each(|(index, chain)| numbers[chain] = index + 1);
    }
    let start = |chain: usize| means[chains[chain].bones[0]];
    let mut open: Vec<usize> = of_side(Side::Left).collect();
    for chain in of_side(Side::Right) {
        let image = mirror.map_or(start(chain), |mirror| mirror.image(start(chain)));
        let distance = |at: usize| start(open[at]).distance(image);
        let nearest = (0..open.len()).reduce(|best, next| if distance(next) < distance(best) { next } else { best });
        if let Some(at) = nearest.filter(|&at| distance(at) <= PAIR_DISTANCE) {
            numbers[chain] = numbers[open.swap_remove(at)];
        }
    }
    let mut next = of_side(Side::Left).count();
    for chain in of_side(Side::Right).collect::<Vec<_>>() {
        if numbers[chain] == 0 {
            next += 1;
            numbers[chain] = next;
        }
    }
    numbers
}

/// `root`, or `root2`, … in a forest.
fn root_name(skeleton: &Skeleton, bone: usize) -> String {
    let earlier = skeleton.parents[..bone].iter().filter(|parent| parent.is_none()).count();
    if earlier == 0 { "root".to_owned() } else { format!("root{}", earlier + 1) }
}

/// Chains from the roots outwards, in the order of their parents; siblings by size, then by position.
fn chains(skeleton: &Skeleton, side: impl Fn(usize) -> Side) -> Vec<Chain> {
    let order = skeleton.parents_first();
    let mut sizes = vec![1usize; order.len()];
    for &bone in order.iter().rev() {
        if let Some(parent) = skeleton.parents[bone] {
            sizes[parent] += sizes[bone];
        }
    }
    let children = |bone: usize| {
        let mut children: Vec<usize> =
            (0..order.len()).filter(|&child| skeleton.parents[child] == Some(bone)).collect();
        let key = |bone: usize| skeleton.positions[bone].to_array();
        children.sort_by(|&a, &b| sizes[b].cmp(&sizes[a]).then(key(a).partial_cmp(&key(b)).unwrap_or(a.cmp(&b))));
        children
    };
    let mut starts: Vec<usize> = order.iter().copied().filter(|&bone| skeleton.parents[bone].is_none()).collect();
    let mut chains = Vec::new();
    let mut next = 0;
    while next < starts.len() {
        let first = starts[next];
        let is_root = skeleton.parents[first].is_none();
        // A root is in the middle even if more of its points are on one side.
        let chain_side = if is_root { Side::Middle } else { side(first) };
        let mut bones = vec![first];
        while let Some(&last) = bones.last() {
            let children = children(last);
            let continued = children.iter().copied().find(|&child| side(child) == chain_side);
            starts.extend(children.iter().copied().filter(|&child| Some(child) != continued));
            let Some(child) = continued else { break };
            bones.push(child);
        }
        chains.push(Chain { side: chain_side, bones });
        next += 1;
    }
    chains
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cross() -> (Skeleton, Vec<DVec3>) {
        let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
        let positions =
            vec![at(0.0, 0.0), at(0.0, 1.0), at(0.0, 2.0), at(0.5, 1.0), at(1.0, 1.0), at(-0.5, 1.0), at(-1.0, 1.0)];
        let parents = vec![None, Some(0), Some(1), Some(1), Some(3), Some(1), Some(5)];
        let residuals = vec![0.0; parents.len()];
        (Skeleton { parents, positions: positions.clone(), residuals }, positions)
    }

    #[test]
    fn a_symmetric_tree_has_a_spine_and_limbs_on_both_sides() {
        let (skeleton, positions) = cross();
        let names = joint_names(&skeleton, &positions, Some(Mirror { axis: 0, at: 0.0 }));
        let expected = ["root", "spine_01", "spine_02", "limb_L_01", "limb_L_02", "limb_R_01", "limb_R_02"];
        assert_eq!(names, expected);
    }

    #[test]
    fn without_a_plane_all_names_are_distinct() {
        let (skeleton, positions) = cross();
        let mut names = joint_names(&skeleton, &positions, None);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), positions.len(), "{names:?}");
    }

    #[test]
    fn the_plane_of_a_symmetric_shape_is_found() {
        let points: Vec<DVec3> = (0..200)
            .map(|k| {
                let t = f64::from(k / 2) * 0.1;
                DVec3::new(if k % 2 == 0 { 1.0 } else { -1.0 } * (0.3 + 0.05 * t), t * 0.3, (1.7 * t).sin() * t * 0.2)
            })
            .collect();
        assert_eq!(find_mirror(&points).map(|mirror| mirror.axis), Some(0));
        let lopsided: Vec<DVec3> =
            points.iter().map(|&p| if p.x > 0.0 { p * DVec3::new(1.0, 0.4, -2.0) } else { p }).collect();
        assert_eq!(find_mirror(&lopsided), None);
    }
}
