//! Tips of a human, namely head, hands and feet: the geodesically most remote points of the skin.
//!
//! Each tip is the point farthest from the previous tips, the first from an arbitrary point. Of all assignments to a
//! head h and two pairs `a b` and `c d`, the most symmetric one is chosen, with the smallest
//! `|h a − h b| + |h c − h d| + |a c − b d| + |a d − b c|`, which hardly depends on the pose. Feet are farther from the
//! head than hands, and lower. With raised arms, a point between the legs can be more remote than the crown; up to
//! [`MAX_TIPS`] points are therefore tried.

use super::geodesic::Surface;

/// Maximum number of remote points that are tried.
const MAX_TIPS: usize = 8;
/// Minimum height of the head, as a fraction of the range of heights of all tips. Raised hands can be higher.
const MIN_HEAD_HEIGHT: f64 = 0.6;
/// Maximum difference between the sides, relative to the distances from head to feet.
const MAX_ASYMMETRY: f64 = 0.1;

/// A point at the end of a limb, and the distances of all points from it.
pub(super) struct Tip {
    pub(super) point: u32,
    pub(super) distances: Vec<f64>,
}

impl Tip {
    pub(super) fn new(surface: &Surface<'_>, point: u32) -> Self {
        Self { point, distances: surface.distances(&[point]) }
    }

    pub(super) fn to(&self, other: &Self) -> f64 {
        self.distances[other.point as usize]
    }
}

/// Tips of a body; a hand and the foot of the same index are on the same side.
pub(super) struct Tips {
    pub(super) head: Tip,
    pub(super) hands: [Tip; 2],
    pub(super) feet: [Tip; 2],
    /// Difference between the sides, relative to the distances from head to feet; 0 is symmetric.
    pub(super) asymmetry: f64,
}

/// Finds the tips of a connected surface with up axis y; `None` if no five remote points can be those of a human.
pub(super) fn find_tips(surface: &Surface<'_>) -> Option<Tips> {
    let mut nearest = surface.distances(&[0]);
    let mut tips: Vec<Tip> = Vec::with_capacity(MAX_TIPS);
    while tips.len() < MAX_TIPS {
        let tip = Tip::new(surface, farthest(&nearest));
        if tips.is_empty() {
            // The arbitrary start is not a tip: distances are measured from the first tip on.
            nearest.clone_from(&tip.distances);
        }
        nearest.iter_mut().zip(&tip.distances).for_each(|(nearest, &distance)| *nearest = nearest.min(distance));
        tips.push(tip);
    }
    let heights: Vec<f64> = tips.iter().map(|tip| surface.points[tip.point as usize].y).collect();
    let (roles, asymmetry) = (5..=MAX_TIPS)
        .find_map(|count| most_symmetric(&tips[..count], &heights).filter(|found| found.1 < MAX_ASYMMETRY))?;
    let mut tips: Vec<Option<Tip>> = tips.into_iter().map(Some).collect();
    let mut take = |index: usize| tips[index].take().expect("each tip has one role");
    Some(Tips { head: take(roles.head), hands: roles.hands.map(&mut take), feet: roles.feet.map(&mut take), asymmetry })
}

/// Point with the largest finite distance; the first in case of ties.
fn farthest(distances: &[f64]) -> u32 {
    let better = |best: (u32, f64), (point, &distance): (u32, &f64)| {
        if distance.is_finite() && distance > best.1 { (point, distance) } else { best }
    };
    (0..).zip(distances).fold((0, f64::NEG_INFINITY), better).0
}

/// Assignment of tips by index.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Roles {
    head: usize,
    hands: [usize; 2],
    feet: [usize; 2],
}

/// Most symmetric valid assignment, and its asymmetry.
fn most_symmetric(tips: &[Tip], heights: &[f64]) -> Option<(Roles, f64)> {
    let (lowest, highest) =
        heights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &y| (low.min(y), high.max(y)));
    let between = |a: usize, b: usize| f64::midpoint(tips[a].to(&tips[b]), tips[b].to(&tips[a]));
    let asymmetry = |Roles { head, hands: [a, b], feet: [c, d] }: Roles| {
        let difference = (between(head, a) - between(head, b)).abs()
            + (between(head, c) - between(head, d)).abs()
            + (between(a, c) - between(b, d)).abs()
            + (between(a, d) - between(b, c)).abs();
        difference / (between(head, c) + between(head, d)).max(f64::MIN_POSITIVE)
    };
    let is_plausible = |Roles { head, hands, feet }: &Roles| {
        let far = |pair: &[usize; 2]| between(*head, pair[0]) + between(*head, pair[1]);
        let high = |pair: &[usize; 2]| heights[pair[0]] + heights[pair[1]];
        let same_side = between(hands[0], feet[0]) + between(hands[1], feet[1]);
        let across = between(hands[0], feet[1]) + between(hands[1], feet[0]);
        let is_above = heights[*head] > lowest + MIN_HEAD_HEIGHT * (highest - lowest);
        is_above && far(feet) > far(hands) && high(feet) < high(hands) && same_side <= across
    };
    let pairs = || (0..tips.len()).flat_map(|a| (0..tips.len()).map(move |b| [a, b])).filter(|[a, b]| a != b);
    let all = (0..tips.len()).flat_map(|head| {
        let feet = pairs().filter(|[a, b]| a < b).flat_map(|feet| pairs().map(move |hands| (hands, feet)));
        feet.map(move |(hands, feet)| Roles { head, hands, feet })
    });
    let distinct = |Roles { head, hands, feet }: &Roles| {
        !hands.contains(head) && !feet.contains(head) && !hands.iter().any(|hand| feet.contains(hand))
    };
    let found = all.filter(distinct).filter(is_plausible).map(|roles| (roles, asymmetry(roles)));
    found.min_by(|a, b| a.1.total_cmp(&b.1))
}
