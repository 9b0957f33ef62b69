//! The 24 joints of [`samples::body_skeleton`](dermis_samples::body_skeleton) in the skin of a standing human.
//!
//! 1. Head, hands and feet are the geodesically most remote points, told apart by symmetry ([`super::tips`]).
//! 2. Each limb has a centre line through its cross-sections; joints stand where it thins, bends and ends
//!    ([`super::landmarks`]).
//! 3. Sections across the trunk, from the hips to the base of the neck, carry the spine, a little behind their centres.
//! 4. Toes point forward, and so tell left from right.
//!
//! Steps 1 and 2 depend on the surface, not on the pose: arms may hang, stand out or be raised, and the body may look
//! anywhere. Only step 3 asks for an upright trunk. Joints that come to lie outside, as in very thin bodies, are drawn towards
//! the middle of the body and noted.
//!
//! Cost: six distance fields and some hundred sections, a few times the number of triangles each; nothing is random.

use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{boundary_edges, inconsistent_edges, non_manifold_edges};
use dermis_mesh::shells::shells;
use dermis_mesh::{Note, TriMesh, UpAxis};
use dermis_samples::body_skeleton::{
    ANKLE, COLLAR, ELBOW, FOOT, HAND, HEAD, HIP, JOINTS, KNEE, NAMES, NECK, PELVIS, SHOULDER, SPINE_1, SPINE_2,
    SPINE_3, WRIST, parent,
};
use glam::{DQuat, DVec3};

use super::geodesic::Surface;
use super::landmarks::{Landmarks, find_landmarks, not_human};
use super::sections::{Section, nearest_section};
use super::tips::find_tips;
use super::{RiggingError, Skeleton};
use crate::BodyJoint;
use dermis_mesh::surface_tree::SurfaceTree;

/// Level sets per height of the body.
const LEVELS: f64 = 170.0;
/// From the crotch up to the hips, in girths of the thigh: the crotch lies on a ball of flesh around the hip.
const HIP_ABOVE: f64 = 0.155;
/// Where the joints of the trunk are between hips and neck, and how far behind the centre of the section there, as a part
/// of half its depth.
const SPINE: [(usize, f64, f64); 4] =
    [(PELVIS, 0.12, 0.0), (SPINE_1, 0.296, 0.15), (SPINE_2, 0.5, 0.15), (SPINE_3, 0.676, 0.15)];
/// Where the collar bones begin: between hips and neck, and between the middle and the shoulder.
const COLLAR_PLACE: [f64; 2] = [0.9, 0.365];
/// A section broader than this many times the hips has cut arms too.
const BROAD: f64 = 1.45;
/// The cosine of the trunk's lean from which on a body does not stand.
const UPRIGHT: f64 = 0.7;
/// Sides that differ by more of the body's length are noted.
const ASYMMETRY: f64 = 0.04;
/// Legs in lengths of the trunk between hips and neck.
const LEGS_PER_TRUNK: std::ops::Range<f64> = 0.6..3.0;

/// A skeleton that was fitted to a skin, and what is doubtful about it.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedSkeleton {
    /// The joints, in the space and unit of the skin.
    pub skeleton: Skeleton,
    /// Where the body looks, of length 1 and across the up axis.
    pub forward: DVec3,
    /// What was doubtful.
    pub notes: Vec<Note>,
}

/// Fits the joints of `sample:body` to a closed skin in an A-, T- or relaxed standing pose, of any size, looking anywhere.
pub fn fit_human(mesh: &TriMesh, up: UpAxis) -> Result<FittedSkeleton, RiggingError> {
    check(mesh)?;
    let upright = to_y_up(up);
    let (low, high) = mesh.bounds();
    let middle = (low.as_dvec3() + high.as_dvec3()) / 2.0;
    let points: Vec<DVec3> = mesh.points().iter().map(|point| upright * (point.as_dvec3() - middle)).collect();
    let surface = Surface::new(points, mesh.triangles());
    let height = (upright * (high.as_dvec3() - low.as_dvec3())).y.abs();
    let none = || not_human("its most remote points are not a head, two hands and two feet below them");
    let tips = find_tips(&surface).ok_or_else(none)?;
    let mut notes = Vec::new();
    if tips.asymmetry > ASYMMETRY {
        notes.push(Note::new(format!(
            "the body's sides differ by {:.0} % of its length; check hands and feet",
            100.0 * tips.asymmetry
        )));
    }
    let marks = find_landmarks(&surface, &tips, height / LEVELS)?;
    let fit = Fit::new(&surface, marks, &mut notes)?;
    let mut places = fit.places(&mut notes);
    draw_inside(&surface, &mut places, &mut notes);
    let back = upright.inverse();
    let joint = |index: usize| BodyJoint { name: NAMES[index].to_owned(), parent: parent(index) };
    let places = places.iter().map(|&place| back * place + middle).collect();
    Ok(FittedSkeleton {
        skeleton: Skeleton::new((0..JOINTS).map(joint).collect(), places)?,
        forward: back * fit.forward,
        notes,
    })
}

/// Refuses skins that are not one closed surface.
fn check(mesh: &TriMesh) -> Result<(), RiggingError> {
    if mesh.triangles().is_empty() {
        return Err(RiggingError::NoTriangles);
    }
    let edges = Edges::new(mesh.point_count(), mesh.triangles());
    let position = |point: u32| mesh.points()[point as usize];
    let wrong = |what: &'static str, count: usize, point: u32, cure: &'static str| {
        Err(RiggingError::NotClosed { what, count, position: position(point), cure })
    };
    let open = boundary_edges(&edges);
    if let Some(&[point, _]) = open.first() {
        return wrong("is open", open.len(), point, "close the holes");
    }
    let branching = non_manifold_edges(&edges);
    if let Some(&edge) = branching.first() {
        return wrong("has more than two triangles", branching.len(), edges.ends()[edge][0], "split it there");
    }
    let turned = inconsistent_edges(&edges);
    if let Some(&edge) = turned.first() {
        return wrong("looks to both sides", turned.len(), edges.ends()[edge][0], "make the winding consistent");
    }
    let shells = shells(mesh.point_count(), mesh.triangles());
    if shells.count > 1 {
        let mut sizes = vec![0; shells.count];
        shells
            .of_points
            .iter()
            .for_each(|&shell| sizes.get_mut(shell as usize).into_iter().for_each(|size| *size += 1));
        let (largest, points) = (sizes.iter().copied().max().unwrap_or(0), mesh.point_count());
        return Err(RiggingError::Shells { count: shells.count, largest, points });
    }
    Ok(())
}

/// The rotation that takes an up axis to y.
fn to_y_up(up: UpAxis) -> DQuat {
    match up {
        UpAxis::X => DQuat::from_rotation_arc(DVec3::X, DVec3::Y),
        UpAxis::Y => DQuat::IDENTITY,
        UpAxis::Z => DQuat::from_rotation_arc(DVec3::Z, DVec3::Y),
    }
}

/// A body with its frame; side 0 is left.
struct Fit<'a> {
    surface: &'a Surface<'a>,
    marks: Landmarks,
    /// From the hips to the base of the neck.
    axis: DVec3,
    left: DVec3,
    forward: DVec3,
    hip_middle: DVec3,
    hips: Option<Section>,
}

impl<'a> Fit<'a> {
    fn new(surface: &'a Surface<'a>, mut marks: Landmarks, notes: &mut Vec<Note>) -> Result<Self, RiggingError> {
        let between_legs = (marks.legs[0].top + marks.legs[1].top) / 2.0;
        let axis = (marks.neck.base - between_legs).normalize_or_zero();
        if axis.y < UPRIGHT {
            return Err(not_human("its trunk is not upright"));
        }
        let (left, forward) = sides(&mut marks, axis, notes)?;
        let leg = f64::midpoint(marks.legs[0].length, marks.legs[1].length);
        let girth = f64::midpoint(marks.legs[0].girth, marks.legs[1].girth);
        let above = (marks.crotch - between_legs).dot(axis) + HIP_ABOVE * girth;
        let on_axis = between_legs + above * axis;
        let trunk = marks.neck.base.distance(on_axis);
        if !LEGS_PER_TRUNK.contains(&(leg / trunk)) {
            return Err(not_human(&format!("its legs are {:.1} times as long as its trunk", leg / trunk)));
        }
        let hips = nearest_section(surface, on_axis, axis);
        let hip_middle = hips.as_ref().map_or(on_axis, |section| section.centre);
        Ok(Self { surface, marks, axis, left, forward, hip_middle, hips })
    }

    /// All joints in the space of the surface.
    fn places(&self, notes: &mut Vec<Note>) -> [DVec3; JOINTS] {
        let mut places = [DVec3::ZERO; JOINTS];
        let neck = self.marks.neck.base;
        for (joint, part, behind) in SPINE {
            places[joint] = self.on_spine(part, behind).unwrap_or_else(|| {
                notes.push(Note::new(format!(
                    "'{}' stands between hips and neck: arms hide the trunk there",
                    NAMES[joint]
                )));
                self.hip_middle.lerp(neck, part)
            });
        }
        places[NECK] = neck;
        places[HEAD] = self.marks.neck.head;
        let apart = (self.marks.legs[0].top - self.marks.legs[1].top).dot(self.left).abs() / 2.0;
        let chest = self.hip_middle.lerp(neck, COLLAR_PLACE[0]);
        for (side, (arm, leg)) in self.marks.arms.iter().zip(&self.marks.legs).enumerate() {
            let sign = if side == 0 { 1.0 } else { -1.0 };
            places[HIP + side] = self.hip_middle + sign * apart * self.left;
            places[KNEE + side] = leg.knee(places[HIP + side]);
            places[ANKLE + side] = leg.ankle;
            places[FOOT + side] = leg.ball;
            places[COLLAR + side] = chest.lerp(arm.shoulder, COLLAR_PLACE[1]);
            places[SHOULDER + side] = arm.shoulder;
            places[ELBOW + side] = arm.elbow;
            places[WRIST + side] = arm.wrist;
            places[HAND + side] = arm.hand;
        }
        places
    }

    /// The spine at a part of the way from the hips to the neck, unless arms are in the way.
    fn on_spine(&self, part: f64, behind: f64) -> Option<DVec3> {
        let breadth = |section: &Section| {
            let (low, high) = section.extent(self.left);
            high - low
        };
        let at = self.hip_middle.lerp(self.marks.neck.base, part);
        let section = nearest_section(self.surface, at, self.axis)?;
        let broad = self.hips.as_ref().is_some_and(|hips| breadth(&section) > BROAD * breadth(hips));
        let (back, front) = section.extent(self.forward);
        (!broad).then(|| section.centre - behind * (front - back) / 2.0 * self.forward)
    }
}

/// Puts the left side first; returns where left and forward are.
fn sides(marks: &mut Landmarks, axis: DVec3, notes: &mut Vec<Note>) -> Result<(DVec3, DVec3), RiggingError> {
    let across = marks.legs[0].top - marks.legs[1].top + marks.arms[0].shoulder - marks.arms[1].shoulder;
    let mut left = across.reject_from_normalized(axis).normalize_or_zero();
    if left == DVec3::ZERO {
        return Err(not_human("its sides are in the same place"));
    }
    let toes = marks.legs.iter().map(|leg| (leg.toes - leg.ankle).with_y(0.0).normalize_or_zero());
    let forward: Vec<f64> = toes.map(|toes| toes.dot(left.cross(axis))).collect();
    if forward[0] * forward[1] <= 0.0 || (forward[0] + forward[1]).abs() < 0.4 {
        notes.push(Note::new("the feet hardly tell where the body looks; check left and right"));
    }
    if forward[0] + forward[1] < 0.0 {
        left = -left;
        marks.arms.swap(0, 1);
        marks.legs.swap(0, 1);
    }
    Ok((left, left.cross(axis).with_y(0.0).normalize_or(DVec3::Z)))
}

/// Draws joints that lie outside towards their parents, or the root to the middle of all points, until they are inside.
fn draw_inside(surface: &Surface<'_>, places: &mut [DVec3; JOINTS], notes: &mut Vec<Note>) {
    let tree = SurfaceTree::new(&surface.points, surface.triangles);
    for joint in 0..JOINTS {
        let anchor = parent(joint).map_or(DVec3::ZERO, |parent| places[parent]);
        let outside = places[joint];
        let parts = (0..=20).map(|k| outside.lerp(anchor, f64::from(k) / 20.0));
        let Some(inside) = parts.into_iter().find(|&place| tree.is_inside(place)) else {
            notes.push(Note::new(format!("'{}' lies outside of the skin", NAMES[joint])));
            continue;
        };
        if inside != outside {
            places[joint] = inside;
            notes.push(Note::new(format!("'{}' was drawn inside; check it", NAMES[joint])));
        }
    }
}
