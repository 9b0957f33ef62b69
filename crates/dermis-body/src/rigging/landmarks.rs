//! Landmarks of a human for the placement of joints: bends, thinnest sections and ends of limbs.
//!
//! All lengths are relative to the limb itself, so that the result does not depend on size and proportions of the body.
//! The constants are a compromise between the joints of `sample:body` and those of a `MakeHuman` body, relative to
//! features of the skin:
//! - The wrist is the thinnest section between hand and forearm. The ankle is below the thinnest section of the shin, the
//!   base of the neck below the thinnest section of the neck.
//! - The shoulder is inward of the last free section of the arm, along the upper arm.
//! - Elbow and knee are halfway between their neighbours, or at the bend if the limb is bent.
//!
//! The crotch is the point whose distance to the farther foot is smallest.

use glam::DVec3;

use super::RiggingError;
use super::center_line::{CenterLine, level_loops, limb_end};
use super::geodesic::Surface;
use super::sections::{Section, nearest_section};
use super::tips::{Tip, Tips};

/// Distance from the last free section of an arm inward to the shoulder, in lengths of the free arm.
const SHOULDER_INSET: f64 = 0.12;
/// Distance from the thinnest section of a shin down to the ankle, in lengths of the leg.
const ANKLE_DROP: f64 = 0.056;
/// Distance from the thinnest section of a neck down to its base, in girths of the neck.
const NECK_DROP: f64 = 0.126;
/// Position of the head joint, as a fraction of the distance from the thinnest section of the neck to the crown.
const HEAD_FRACTION: f64 = 0.24;
/// Girth, relative to that of the neck, above which a section belongs to the shoulders.
const SHOULDER_GIRTH: f64 = 1.35;
/// Range in which the end of an arm is searched for, in distances between the hands. The end is at about a third.
const ARM_REACH: f64 = 0.55;
/// Range of the wrist along the arm, as fractions of its length from the tip.
const WRIST_RANGE: [f64; 2] = [0.2, 0.45];
/// Range of the thinnest section of the shin along the leg, as fractions of its length from the tip.
const SHIN_RANGE: [f64; 2] = [0.2, 0.42];
/// Two sections of the shin, as fractions of the distance from the tip of the foot to the crotch.
const SHIN: [f64; 2] = [0.42, 0.55];
/// Extent of the foot, as a fraction of the distance from its tip to the crotch.
const FOOT: f64 = 0.3;
/// Position of the elbow, as a fraction of the distance from shoulder to wrist.
const ELBOW: f64 = 0.51;
/// Position of the knee, as a fraction of the distance from hip to ankle.
const KNEE: f64 = 0.5;
/// Bend angles in degrees: below the first, an elbow or knee is at its fraction of the limb; above the second, at the
/// bend.
const BEND_RANGE_DEGREES: [f64; 2] = [15.0, 40.0];
/// Position of the hand joint, as a fraction of the distance from the wrist to the tip.
const HAND: f64 = 0.42;
/// Position of the ball of a foot, as a fraction of the distance from the ankle to the toes.
const BALL: f64 = 0.62;
/// Minimum length of an arm or leg, in girths at its end. Bulges on a trunk are shorter.
const MIN_SLENDERNESS: f64 = 1.0;

/// Landmarks of an arm.
pub(super) struct Arm {
    pub(super) shoulder: DVec3,
    pub(super) elbow: DVec3,
    pub(super) wrist: DVec3,
    pub(super) hand: DVec3,
}

/// Landmarks of a leg.
pub(super) struct Leg {
    /// Centre of the thigh at the crotch.
    pub(super) top: DVec3,
    pub(super) ankle: DVec3,
    pub(super) ball: DVec3,
    pub(super) toes: DVec3,
    /// Length of the centre line from the ankle to the top.
    pub(super) length: f64,
    /// Girth of the thigh at the top.
    pub(super) girth: f64,
    line: CenterLine,
    /// Length along the centre line at the ankle.
    ankle_at: f64,
}

/// Landmarks of head and neck.
pub(super) struct Neck {
    pub(super) base: DVec3,
    pub(super) head: DVec3,
}

/// Landmarks of a body; sides have the same indices as those of the tips.
pub(super) struct Landmarks {
    pub(super) neck: Neck,
    pub(super) arms: [Arm; 2],
    pub(super) legs: [Leg; 2],
    pub(super) crotch: DVec3,
}

/// Finds the landmarks of a body with the given tips, using level sets `step` apart.
pub(super) fn find_landmarks(surface: &Surface<'_>, tips: &Tips, step: f64) -> Result<Landmarks, RiggingError> {
    let crotch = crotch(tips);
    let reach = tips.hands[0].to(&tips.hands[1]) * ARM_REACH;
    let [left, right] = &tips.hands;
    let arms = [arm(surface, left, step, reach)?, arm(surface, right, step, reach)?];
    let [left, right] = &tips.feet;
    let legs = [leg(surface, left, step, crotch)?, leg(surface, right, step, crotch)?];
    let crown = surface.points[tips.head.point as usize];
    let neck = neck(surface, crown, (arms[0].shoulder + arms[1].shoulder) / 2.0, step)?;
    Ok(Landmarks { neck, arms, legs, crotch: surface.points[crotch] })
}

impl Leg {
    /// Position of the knee for a given hip.
    pub(super) fn knee(&self, hip: DVec3) -> DVec3 {
        let whole = hip.distance(self.top) + self.length;
        let straight = self.ankle_at + whole * (1.0 - KNEE);
        self.line.at(hinge(&self.line, [self.ankle_at, self.line.length()], [self.ankle, hip], straight))
    }
}

fn crotch(tips: &Tips) -> usize {
    let [left, right] = &tips.feet;
    let farther = left.distances.iter().zip(&right.distances).map(|(a, b)| a.max(*b));
    farther.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(point, _)| point)
}

fn arm(surface: &Surface<'_>, tip: &Tip, step: f64, reach: f64) -> Result<Arm, RiggingError> {
    let loops = level_loops(surface, tip, step, reach);
    let end = limb_end(&loops, step, 2 * loops.len() / 5).ok_or_else(|| not_human("no arms extend from the trunk"))?;
    let line = slender_line(surface, &loops[..=end], step, "an arm")?;
    let length = line.length();
    let wrist_at = line.thinnest(WRIST_RANGE[0] * length, WRIST_RANGE[1] * length);
    let top = line.at(length);
    let inward = (top - line.at(0.75 * length)).normalize_or_zero();
    let inset = SHOULDER_INSET * length;
    let shoulder = top + inset * inward;
    let wrist = line.at(wrist_at);
    let straight = wrist_at + (length + inset - wrist_at) * (1.0 - ELBOW);
    let elbow = line.at(hinge(&line, [wrist_at, length], [wrist, shoulder], straight));
    Ok(Arm { shoulder, elbow, wrist, hand: line.at((1.0 - HAND) * wrist_at) })
}

fn leg(surface: &Surface<'_>, tip: &Tip, step: f64, crotch: usize) -> Result<Leg, RiggingError> {
    let tip = &Tip::new(surface, toes(surface, tip, tip.distances[crotch])?);
    let loops = level_loops(surface, tip, step, tip.distances[crotch]);
    let line = slender_line(surface, &loops, step, "a leg")?;
    let whole = line.length();
    let shin_at = line.thinnest(SHIN_RANGE[0] * whole, SHIN_RANGE[1] * whole);
    let shin = line.at(shin_at);
    let below = ANKLE_DROP * whole;
    let ankle = shin + below * (shin - line.at(shin_at + 0.15 * whole)).normalize_or_zero();
    let ankle_at = shin_at - below;
    let toes = surface.points[tip.point as usize];
    let forward = toes - ankle;
    let fraction = |at: f64| (line.at(at) - ankle).dot(forward) / forward.length_squared();
    let steps = (ankle_at / step) as usize;
    let ball_at = (0..=steps).map(|k| k as f64 * step).find(|&at| fraction(at) <= BALL).unwrap_or(ankle_at / 2.0);
    let (top, girth) = (line.at(whole), line.girth(whole));
    Ok(Leg { top, ankle, ball: line.at(ball_at), toes, length: whole - ankle_at, girth, line, ankle_at })
}

/// Point of a foot farthest from the axis of the shin. The tip is not used because it can be the heel of a foot that
/// points down.
fn toes(surface: &Surface<'_>, tip: &Tip, crotch: f64) -> Result<u32, RiggingError> {
    let center = |fraction: f64| {
        level_loops(surface, tip, fraction * crotch, fraction * crotch).pop().map(|section| section.center)
    };
    let (Some(low), Some(high)) = (center(SHIN[0]), center(SHIN[1])) else {
        return Err(not_human("a leg has no shin"));
    };
    let shin = (high - low).normalize_or_zero();
    let aside = |point: u32| (surface.points[point as usize] - low).reject_from_normalized(shin).length_squared();
    let foot = (0..surface.points.len() as u32).filter(|&point| tip.distances[point as usize] < FOOT * crotch);
    Ok(foot.max_by(|&a, &b| aside(a).total_cmp(&aside(b))).unwrap_or(tip.point))
}

/// Finds the neck between the crown and the middle of the shoulders.
fn neck(surface: &Surface<'_>, crown: DVec3, between_shoulders: DVec3, step: f64) -> Result<Neck, RiggingError> {
    let axis = between_shoulders - crown;
    let count = (axis.length() / step) as usize;
    let section = |k: usize| nearest_section(surface, crown + k as f64 * step * axis.normalize_or_zero(), axis);
    let sections: Vec<Section> = (1..=count).map_while(section).collect();
    let girth = |k: &usize| sections[*k].girth;
    let by_girth = |a: &usize, b: &usize| girth(a).total_cmp(&girth(b));
    let widest = (0..sections.len() / 2).max_by(by_girth).unwrap_or(0);
    let thinnest = (widest..sections.len()).min_by(by_girth).unwrap_or(0);
    let end = (thinnest..sections.len()).find(|k| girth(k) > SHOULDER_GIRTH * girth(&thinnest));
    let (Some(end), true) = (end, thinnest > widest + 4) else {
        return Err(not_human("no neck was found below the head"));
    };
    let line = CenterLine::through(surface, &sections[widest..=end], step);
    let thin_at = line.thinnest(0.0, line.length());
    let (thin, girth) = (line.at(thin_at), line.girth(thin_at));
    let down = (between_shoulders - thin).normalize_or_zero();
    Ok(Neck { base: thin + NECK_DROP * girth * down, head: thin.lerp(crown, HEAD_FRACTION) })
}

/// Centre line of a limb. Returns an error if the limb is as thick as it is long.
fn slender_line(surface: &Surface<'_>, loops: &[Section], step: f64, limb: &str) -> Result<CenterLine, RiggingError> {
    let girth = loops.last().map_or(f64::INFINITY, |section| section.girth);
    if loops.len() < 8 || loops.len() as f64 * step < MIN_SLENDERNESS * girth {
        return Err(not_human(&format!("{limb} is thicker than it is long")));
    }
    Ok(CenterLine::through(surface, loops, step))
}

/// Length along a centre line, between `from` and `to`, of a hinge joint: `straight`, blended to the bend for bent limbs.
fn hinge(line: &CenterLine, [from, to]: [f64; 2], [start, end]: [DVec3; 2], straight: f64) -> f64 {
    let chord = (end - start).normalize_or_zero();
    let aside = |at: f64| (line.at(at) - start).reject_from_normalized(chord).length();
    let candidates = (0..=40).map(|k| from + (to - from) * (0.25 + 0.5 * f64::from(k) / 40.0));
    let bent = candidates.max_by(|&a, &b| aside(a).total_cmp(&aside(b))).unwrap_or(straight);
    let corner = line.at(bent);
    let bend = (corner - start).angle_between(end - corner).to_degrees();
    let [min, max] = BEND_RANGE_DEGREES;
    let fraction = ((bend - min) / (max - min)).clamp(0.0, 1.0);
    straight + fraction * (bent - straight)
}

pub(super) fn not_human(reason: &str) -> RiggingError {
    RiggingError::NotHuman(reason.to_owned())
}
