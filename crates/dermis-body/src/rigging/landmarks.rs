//! Where limbs thin, bend and end: what the joints of a human are placed by.
//!
//! All lengths are relative to the limb itself, so that neither size nor proportions of the body matter. The numbers are
//! where joints stand in `sample:body` and in a `MakeHuman` body, a compromise, against what can be seen on the skin:
//! - a wrist is the thinnest place between hand and forearm; an ankle lies below the thinnest place of the shin, a neck's base
//!   below the thinnest place of the neck;
//! - a shoulder lies inward of the arm's last free section, along the upper arm;
//! - elbows and knees halve the way between their neighbours; where the limb is bent, they stand where it bends.
//!
//! The crotch is the point that is nearest to both feet: the least of the larger distance.

use glam::DVec3;

use super::RiggingError;
use super::centre_line::{CentreLine, level_loops, limb_end};
use super::geodesic::Surface;
use super::sections::{Section, nearest_section};
use super::tips::{Tip, Tips};

/// From the last free section of an arm inward to the shoulder, in lengths of the arm up to there.
const SHOULDER_INWARD: f64 = 0.12;
/// From the thinnest place of a shin down to the ankle, in lengths of the leg.
const ANKLE_BELOW: f64 = 0.056;
/// From the thinnest place of a neck down to its base, in its girth.
const NECK_BELOW: f64 = 0.126;
/// From the thinnest place of a neck to the head's joint, as a part of the way to the crown.
const HEAD_ABOVE: f64 = 0.24;
/// A section this much wider than the neck belongs to the shoulders.
const WIDER: f64 = 1.35;
/// How far to look for the end of an arm, in distances between the hands; the end itself is at about a third.
const ARM_REACH: f64 = 0.55;
/// Where along the arm from the tip, and along the leg, the thinnest place is searched.
const WRIST_RANGE: [f64; 2] = [0.2, 0.45];
const SHIN_RANGE: [f64; 2] = [0.2, 0.42];
/// Two places on the shin, and the reach of the foot, as parts of the distance from its tip to the crotch.
const SHIN: [f64; 2] = [0.42, 0.55];
const FOOT: f64 = 0.3;
/// An elbow's and a knee's part of the way, from the trunk.
const ELBOW: f64 = 0.51;
const KNEE: f64 = 0.5;
/// Bends in degrees below which a hinge stands at its part of the way, and above which at the bend.
const BEND: [f64; 2] = [15.0, 40.0];
/// The middle of a hand, from the wrist to the tip.
const HAND: f64 = 0.42;
/// The ball of a foot, from the ankle to the toes.
const BALL: f64 = 0.62;
/// An arm's and a leg's length in girths at its end, at least; lumps on a trunk are shorter.
const SLENDER: f64 = 1.0;

/// What an arm tells.
pub(super) struct Arm {
    pub(super) shoulder: DVec3,
    pub(super) elbow: DVec3,
    pub(super) wrist: DVec3,
    pub(super) hand: DVec3,
}

/// What a leg tells.
pub(super) struct Leg {
    /// The centre of the thigh at the crotch.
    pub(super) top: DVec3,
    pub(super) ankle: DVec3,
    pub(super) ball: DVec3,
    pub(super) toes: DVec3,
    /// The length of the line from the ankle to the top.
    pub(super) length: f64,
    /// The girth of the thigh at the top.
    pub(super) girth: f64,
    line: CentreLine,
    /// The ankle's place on the line.
    ankle_at: f64,
}

/// What a head and neck tell.
pub(super) struct Neck {
    pub(super) base: DVec3,
    pub(super) head: DVec3,
}

/// All that limbs tell about the joints; indices as those of the tips.
pub(super) struct Landmarks {
    pub(super) neck: Neck,
    pub(super) arms: [Arm; 2],
    pub(super) legs: [Leg; 2],
    pub(super) crotch: DVec3,
}

/// The landmarks of a body with these tips, by level sets `step` apart.
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
    /// The knee below a hip.
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
    let end =
        limb_end(&loops, step, 2 * loops.len() / 5).ok_or_else(|| not_human("no arms stand out from the trunk"))?;
    let line = slender_line(surface, &loops[..=end], step, "an arm")?;
    let length = line.length();
    let wrist_at = line.thinnest(WRIST_RANGE[0] * length, WRIST_RANGE[1] * length);
    let top = line.at(length);
    let inward = (top - line.at(0.75 * length)).normalize_or_zero();
    let inset = SHOULDER_INWARD * length;
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
    let below = ANKLE_BELOW * whole;
    let ankle = shin + below * (shin - line.at(shin_at + 0.15 * whole)).normalize_or_zero();
    let ankle_at = shin_at - below;
    let toes = surface.points[tip.point as usize];
    let forward = toes - ankle;
    let part = |at: f64| (line.at(at) - ankle).dot(forward) / forward.length_squared();
    let steps = (ankle_at / step) as usize;
    let ball_at = (0..=steps).map(|k| k as f64 * step).find(|&at| part(at) <= BALL).unwrap_or(ankle_at / 2.0);
    let (top, girth) = (line.at(whole), line.girth(whole));
    Ok(Leg { top, ankle, ball: line.at(ball_at), toes, length: whole - ankle_at, girth, line, ankle_at })
}

/// The point of a foot that is farthest from the shin's axis; of a foot that points down, the heel may be its tip.
fn toes(surface: &Surface<'_>, tip: &Tip, crotch: f64) -> Result<u32, RiggingError> {
    let centre =
        |part: f64| level_loops(surface, tip, part * crotch, part * crotch).pop().map(|section| section.centre);
    let (Some(low), Some(high)) = (centre(SHIN[0]), centre(SHIN[1])) else {
        return Err(not_human("a leg has no shin"));
    };
    let shin = (high - low).normalize_or_zero();
    let aside = |point: u32| (surface.points[point as usize] - low).reject_from_normalized(shin).length_squared();
    let foot = (0..surface.points.len() as u32).filter(|&point| tip.distances[point as usize] < FOOT * crotch);
    Ok(foot.max_by(|&a, &b| aside(a).total_cmp(&aside(b))).unwrap_or(tip.point))
}

/// The neck, between the crown and the middle of the shoulders.
fn neck(surface: &Surface<'_>, crown: DVec3, between_shoulders: DVec3, step: f64) -> Result<Neck, RiggingError> {
    let way = between_shoulders - crown;
    let count = (way.length() / step) as usize;
    let section = |k: usize| nearest_section(surface, crown + k as f64 * step * way.normalize_or_zero(), way);
    let sections: Vec<Section> = (1..=count).map_while(section).collect();
    let girth = |k: &usize| sections[*k].girth;
    let by_girth = |a: &usize, b: &usize| girth(a).total_cmp(&girth(b));
    let widest = (0..sections.len() / 2).max_by(by_girth).unwrap_or(0);
    let thinnest = (widest..sections.len()).min_by(by_girth).unwrap_or(0);
    let end = (thinnest..sections.len()).find(|k| girth(k) > WIDER * girth(&thinnest));
    let (Some(end), true) = (end, thinnest > widest + 4) else {
        return Err(not_human("no neck carries a head"));
    };
    let line = CentreLine::through(surface, &sections[widest..=end], step);
    let thin_at = line.thinnest(0.0, line.length());
    let (thin, girth) = (line.at(thin_at), line.girth(thin_at));
    let down = (between_shoulders - thin).normalize_or_zero();
    Ok(Neck { base: thin + NECK_BELOW * girth * down, head: thin.lerp(crown, HEAD_ABOVE) })
}

/// The centre line of a limb, unless it is as thick as it is long.
fn slender_line(surface: &Surface<'_>, loops: &[Section], step: f64, what: &str) -> Result<CentreLine, RiggingError> {
    let girth = loops.last().map_or(f64::INFINITY, |section| section.girth);
    if loops.len() < 8 || loops.len() as f64 * step < SLENDER * girth {
        return Err(not_human(&format!("{what} is thicker than it is long")));
    }
    Ok(CentreLine::through(surface, loops, step))
}

/// Where on a line, between two places on it, a hinge stands: at `straight`, or where the limb is bent.
fn hinge(line: &CentreLine, [from, to]: [f64; 2], [start, end]: [DVec3; 2], straight: f64) -> f64 {
    let chord = (end - start).normalize_or_zero();
    let aside = |at: f64| (line.at(at) - start).reject_from_normalized(chord).length();
    let places = (0..=40).map(|k| from + (to - from) * (0.25 + 0.5 * f64::from(k) / 40.0));
    let bent = places.max_by(|&a, &b| aside(a).total_cmp(&aside(b))).unwrap_or(straight);
    let corner = line.at(bent);
    let bend = (corner - start).angle_between(end - corner).to_degrees();
    let part = ((bend - BEND[0]) / (BEND[1] - BEND[0])).clamp(0.0, 1.0);
    straight + part * (bent - straight)
}

pub(super) fn not_human(what: &str) -> RiggingError {
    RiggingError::NotHuman(what.to_owned())
}
