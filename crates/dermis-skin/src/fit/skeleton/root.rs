//! The root of a joint tree.
//!
//! Joints do not determine which of two bones is the parent. Rigs of animals and humans have their root at the hips: the bone
//! in the mirror plane that carries the legs, which are the heavier of the mirrored pairs of limbs. If two pairs are about
//! equally heavy, as the legs of a quadruped can be, the hips are at the end with the smaller area in the plane: a tail or
//! nothing, instead of neck and head. Trees without such pairs, and those for which neither criterion decides, have
//! their root at their median: the bone with the least sum of distances along the tree to all others, weighted by area.

use glam::DVec3;

use super::names::Mirror;
use super::{Candidate, descend};

/// Ratio of the areas of two pairs of limbs, or of two ends, from which the difference is decisive.
const CLEAR: f64 = 1.2;
/// Minimum area of a limb, relative to the tree.
const MIN_LIMB: f64 = 0.02;
/// Largest distance of a limb from the mirror image of the other, relative to the RMS radius of the rest pose.
const PAIR_DISTANCE: f64 = 0.4;

/// Links of each bone to its neighbours.
type Links = [Vec<(usize, Candidate)>];

/// Root of the tree of `members`, whose bones have the given areas and mean positions.
pub(super) fn find_root(
    members: &[usize],
    links: &Links,
    areas: &[f64],
    means: &[DVec3],
    mirror: Option<Mirror>,
) -> usize {
    let carriers = mirror.map_or_else(Vec::new, |mirror| carriers(members, links, areas, means, mirror));
    hips(&carriers).unwrap_or_else(|| median(members, links, areas, means))
}

/// A bone that carries a pair of limbs.
struct Carrier {
    bone: usize,
    /// Area of the pair.
    pair: f64,
    /// Area in the mirror plane beyond the bone, without further pairs.
    end: f64,
}

/// Carrier of the pair that is clearly the heaviest, or otherwise the one whose end is clearly the smallest.
fn hips(carriers: &[Carrier]) -> Option<usize> {
    let clearly = |value: fn(&Carrier) -> f64| {
        let best = carriers.iter().reduce(|best, next| if value(next) > value(best) { next } else { best })?;
        let others = carriers.iter().filter(|other| other.bone != best.bone);
        others.map(value).all(|other| value(best) > CLEAR * other).then_some(best.bone)
    };
    clearly(|carrier| carrier.pair).or_else(|| clearly(|carrier| 1.0 / (carrier.end + 1e-6)))
}

fn carriers(members: &[usize], links: &Links, areas: &[f64], means: &[DVec3], mirror: Mirror) -> Vec<Carrier> {
    let total: f64 = members.iter().map(|&bone| areas[bone]).sum();
    let beyond = |bone: usize, next: usize| -> Vec<usize> {
        let mut found = vec![next];
        let mut open = vec![(next, bone)];
        while let Some((at, from)) = open.pop() {
            for &(other, _) in links[at].iter().filter(|(other, _)| *other != from) {
                found.push(other);
                open.push((other, at));
            }
        }
        found
    };
    let area = |bones: &[usize]| bones.iter().map(|&bone| areas[bone]).sum::<f64>();
    let mut carriers: Vec<Carrier> = Vec::new();
    for &bone in members.iter().filter(|&&bone| mirror.is_on_plane(means[bone])) {
        let branches: Vec<(usize, Vec<usize>)> =
            links[bone].iter().map(|&(next, _)| (next, beyond(bone, next))).collect();
        let is_limb = |branch: &&(usize, Vec<usize>)| {
            let side = mirror.sign(means[branch.0]);
            side != 0.0 && branch.1.iter().all(|&other| mirror.sign(means[other]) * side >= 0.0)
        };
        let limbs: Vec<&(usize, Vec<usize>)> = branches.iter().filter(is_limb).collect();
        let mut pair: f64 = 0.0;
        for (at, one) in limbs.iter().enumerate() {
            for other in &limbs[at + 1..] {
                let is_mirrored = mirror.sign(means[one.0]) != mirror.sign(means[other.0])
                    && mirror.image(means[one.0]).distance(means[other.0]) <= PAIR_DISTANCE;
                let smaller = area(&one.1).min(area(&other.1));
                if is_mirrored && smaller >= MIN_LIMB * total {
                    pair = pair.max(2.0 * smaller);
                }
            }
        }
        if pair > 0.0 {
            carriers.push(Carrier { bone, pair, end: 0.0 });
        }
    }
    let bones: Vec<usize> = carriers.iter().map(|carrier| carrier.bone).collect();
    for carrier in &mut carriers {
        let ends = links[carrier.bone].iter().filter(|(next, _)| mirror.is_on_plane(means[*next]));
        let ends = ends.map(|&(next, _)| beyond(carrier.bone, next));
        carrier.end = ends.filter(|end| !end.iter().any(|bone| bones.contains(bone))).map(|end| area(&end)).sum();
    }
    carriers
}

/// Member with the least sum of distances to all others, weighted by area.
fn median(members: &[usize], links: &Links, areas: &[f64], means: &[DVec3]) -> usize {
    let cost = |root: usize| {
        let mut distances = vec![0.0; areas.len()];
        let mut sum = 0.0;
        for (bone, parent, joint) in descend(root, links) {
            let step = means[parent].distance(joint.position) + joint.position.distance(means[bone]);
            distances[bone] = distances[parent] + step;
            sum += areas[bone] * distances[bone];
        }
        sum
    };
    let costs: Vec<f64> = members.iter().map(|&member| cost(member)).collect();
    let best = (1..members.len()).fold(0, |best, next| if costs[next] < costs[best] { next } else { best });
    members[best]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links, areas and mean positions.
    type Figure = (Vec<Vec<(usize, Candidate)>>, Vec<f64>, Vec<DVec3>);

    /// Hips, spine, chest with legs, arms and a head.
    fn figure(leg_area: f64, arm_area: f64, head_area: f64) -> Figure {
        let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
        let means = vec![
            at(0.0, 0.0),
            at(0.0, 0.3),
            at(0.0, 0.6),
            at(0.2, -0.5),
            at(-0.2, -0.5),
            at(0.5, 0.6),
            at(-0.5, 0.6),
            at(0.0, 1.0),
        ];
        let areas = vec![0.1, 0.1, 0.3, leg_area, leg_area, arm_area, arm_area, head_area];
        let mut links = vec![Vec::new(); means.len()];
        for [a, b] in [[0, 1], [1, 2], [0, 3], [0, 4], [2, 5], [2, 6], [2, 7]] {
            let joint = Candidate { bones: [a, b], position: 0.5 * (means[a] + means[b]), residual: 0.0, cost: 0.0 };
            links[a].push((b, joint));
            links[b].push((a, joint));
        }
        (links, areas, means)
    }

    fn root(leg_area: f64, arm_area: f64, head_area: f64, mirror: Option<Mirror>) -> usize {
        let (links, areas, means) = figure(leg_area, arm_area, head_area);
        find_root(&(0..means.len()).collect::<Vec<_>>(), &links, &areas, &means, mirror)
    }

    #[test]
    fn the_root_is_the_hips() {
        let plane = Some(Mirror::at(0, 0.0));
        assert_eq!(root(0.2, 0.1, 0.4, plane), 0, "the legs are heavier");
        assert_eq!(root(0.1, 0.1, 0.4, plane), 0, "the head is at the other end");
    }

    #[test]
    fn without_a_mirror_plane_the_root_is_the_median() {
        assert_eq!(root(0.1, 0.2, 0.4, None), 2);
    }
}
