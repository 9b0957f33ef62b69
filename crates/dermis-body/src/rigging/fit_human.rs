//! Fit of the 24 joints of [`human_skeleton`](crate::human_skeleton) to the skin of a standing human.
//!
//! 1. Head, hands and feet are the geodesically most remote points, identified by symmetry ([`super::tips`]).
//! 2. Each limb has a centre line through its cross-sections. Joints are placed at its bends, thinnest sections and ends
//!    ([`super::landmarks`]).
//! 3. The spine runs through sections of the trunk, from the hips to the base of the neck, slightly behind their centres.
//! 4. The toes point forward, which distinguishes left from right.
//!
//! Steps 1 and 2 depend on the surface and not on the pose: arms can hang, be stretched out or raised, and the body can
//! face any direction. Only step 3 requires an upright trunk. Joints outside the skin, as can occur in very thin
//! bodies, are moved towards the middle of the body and reported.
//!
//! Cost: six distance fields and a few hundred sections, each linear in the number of triangles. The result is deterministic.

use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{boundary_edges, inconsistent_edges, non_manifold_edges};
use dermis_mesh::shells::shells;
use dermis_mesh::{Note, TriMesh, UpAxis};
use glam::{DQuat, DVec3};

use super::geodesic::Surface;
use super::landmarks::{Landmarks, find_landmarks, not_human};
use super::sections::{Section, nearest_section};
use super::tips::find_tips;
use super::{RiggingError, Skeleton};
use crate::BodyJoint;
use crate::human_skeleton::{
    ANKLE, COLLAR, ELBOW, FOOT, HAND, HEAD, HIP, JOINTS, KNEE, NAMES, NECK, PELVIS, SHOULDER, SPINE_1, SPINE_2,
    SPINE_3, WRIST, parent,
};
use dermis_mesh::surface_tree::SurfaceTree;

/// Number of level sets per body height.
const LEVELS: f64 = 170.0;
/// Height of the hips above the crotch, in girths of the thigh. The crotch is on the surface of the flesh around the
/// hips.
const HIP_HEIGHT: f64 = 0.155;
/// Joints of the trunk: the fraction of the distance from hips to neck, and the distance behind the centre of the
/// section, as a fraction of half its depth.
const SPINE: [(usize, f64, f64); 4] =
    [(PELVIS, 0.12, 0.0), (SPINE_1, 0.296, 0.15), (SPINE_2, 0.5, 0.15), (SPINE_3, 0.676, 0.15)];
/// Start of the collar bones: fractions of the distance from hips to neck, and from there to the shoulder.
const COLLAR_FRACTIONS: [f64; 2] = [0.9, 0.365];
/// Maximum width of a section of the trunk, relative to the hips. Wider sections include the arms.
const MAX_RELATIVE_WIDTH: f64 = 1.45;
/// Minimum cosine of the lean of the trunk.
const MIN_UPRIGHT_COSINE: f64 = 0.7;
/// Asymmetry, relative to the length of the body, above which it is reported.
const REPORTED_ASYMMETRY: f64 = 0.04;
/// Valid range of the leg length relative to the trunk between hips and neck.
const LEGS_PER_TRUNK: std::ops::Range<f64> = 0.6..3.0;

/// A skeleton fitted to a skin, with notes about uncertainties.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedSkeleton {
    /// Fitted skeleton, in the space and unit of the skin.
    pub skeleton: Skeleton,
    /// Facing direction, a unit vector perpendicular to the up axis.
    pub forward: DVec3,
    /// Notes about uncertain joints and sides.
    pub notes: Vec<Note>,
}

/// Fits the joints of `sample:body` to a closed skin of any size, in an A-, T- or relaxed standing pose, facing any
/// direction.
pub fn fit_human(mesh: &TriMesh, up: UpAxis) -> Result<FittedSkeleton, RiggingError> {
    check(mesh)?;
    let upright = to_y_up(up);
    let (low, high) = mesh.bounds();
    let middle = (low.as_dvec3() + high.as_dvec3()) / 2.0;
    let points: Vec<DVec3> = mesh.points().iter().map(|point| upright * (point.as_dvec3() - middle)).collect();
    let surface = Surface::new(points, mesh.triangles());
    let height = (upright * (high.as_dvec3() - low.as_dvec3())).y.abs();
    let none = || not_human("the most remote points are not a head, two hands and two feet below them");
    let tips = find_tips(&surface).ok_or_else(none)?;
    let mut notes = Vec::new();
    if tips.asymmetry > REPORTED_ASYMMETRY {
        notes.push(Note::new(format!(
            "the sides of the body differ by {:.0} % of its length; check hands and feet",
            100.0 * tips.asymmetry
        )));
    }
    let marks = find_landmarks(&surface, &tips, height / LEVELS)?;
    let fit = Fit::new(&surface, marks, &mut notes)?;
    let mut positions = fit.joint_positions(&mut notes);
    move_inside(&surface, &mut positions, &mut notes);
    let back = upright.inverse();
    let joint = |index: usize| BodyJoint { name: NAMES[index].to_owned(), parent: parent(index) };
    let positions = positions.iter().map(|&position| back * position + middle).collect();
    Ok(FittedSkeleton {
        skeleton: Skeleton::new((0..JOINTS).map(joint).collect(), positions)?,
        forward: back * fit.forward,
        notes,
    })
}

/// Rejects skins that are not one closed surface.
fn check(mesh: &TriMesh) -> Result<(), RiggingError> {
    if mesh.triangles().is_empty() {
        return Err(RiggingError::NoTriangles);
    }
    let edges = Edges::new(mesh.point_count(), mesh.triangles());
    let position = |point: u32| mesh.points()[point as usize];
    let error = |problem: &'static str, count: usize, point: u32, hint: &'static str| {
        Err(RiggingError::NotClosed { problem, count, position: position(point), hint })
    };
    let open = boundary_edges(&edges);
    if let Some(&[point, _]) = open.first() {
        return error("is open", open.len(), point, "close the holes");
    }
    let branching = non_manifold_edges(&edges);
    if let Some(&edge) = branching.first() {
        return error("has more than two triangles", branching.len(), edges.ends()[edge][0], "split it there");
    }
    let inconsistent = inconsistent_edges(&edges);
    if let Some(&edge) = inconsistent.first() {
        let (problem, hint) = ("has an inconsistent orientation", "make the winding consistent");
        return error(problem, inconsistent.len(), edges.ends()[edge][0], hint);
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

/// Rotation from an up axis to y.
fn to_y_up(up: UpAxis) -> DQuat {
    match up {
        UpAxis::X => DQuat::from_rotation_arc(DVec3::X, DVec3::Y),
        UpAxis::Y => DQuat::IDENTITY,
        UpAxis::Z => DQuat::from_rotation_arc(DVec3::Z, DVec3::Y),
    }
}

/// A body with its coordinate frame; side 0 is left.
struct Fit<'a> {
    surface: &'a Surface<'a>,
    marks: Landmarks,
    /// Unit direction from the hips to the base of the neck.
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
        if axis.y < MIN_UPRIGHT_COSINE {
            return Err(not_human("the trunk is not upright"));
        }
        let (left, forward) = sides(&mut marks, axis, notes)?;
        let leg = f64::midpoint(marks.legs[0].length, marks.legs[1].length);
        let girth = f64::midpoint(marks.legs[0].girth, marks.legs[1].girth);
        let above = (marks.crotch - between_legs).dot(axis) + HIP_HEIGHT * girth;
        let on_axis = between_legs + above * axis;
        let trunk = marks.neck.base.distance(on_axis);
        if !LEGS_PER_TRUNK.contains(&(leg / trunk)) {
            return Err(not_human(&format!("the legs are {:.1} times as long as the trunk", leg / trunk)));
        }
        let hips = nearest_section(surface, on_axis, axis);
        let hip_middle = hips.as_ref().map_or(on_axis, |section| section.center);
        Ok(Self { surface, marks, axis, left, forward, hip_middle, hips })
    }

    /// Positions of all joints in the space of the surface.
    fn joint_positions(&self, notes: &mut Vec<Note>) -> [DVec3; JOINTS] {
        let mut positions = [DVec3::ZERO; JOINTS];
        let neck = self.marks.neck.base;
        for (joint, fraction, behind) in SPINE {
            positions[joint] = self.on_spine(fraction, behind).unwrap_or_else(|| {
                notes.push(Note::new(format!(
                    "'{}' is interpolated between hips and neck because arms hide the trunk",
                    NAMES[joint]
                )));
                self.hip_middle.lerp(neck, fraction)
            });
        }
        positions[NECK] = neck;
        positions[HEAD] = self.marks.neck.head;
        let apart = (self.marks.legs[0].top - self.marks.legs[1].top).dot(self.left).abs() / 2.0;
        let chest = self.hip_middle.lerp(neck, COLLAR_FRACTIONS[0]);
        for (side, (arm, leg)) in self.marks.arms.iter().zip(&self.marks.legs).enumerate() {
            let sign = if side == 0 { 1.0 } else { -1.0 };
            positions[HIP + side] = self.hip_middle + sign * apart * self.left;
            positions[KNEE + side] = leg.knee(positions[HIP + side]);
            positions[ANKLE + side] = leg.ankle;
            positions[FOOT + side] = leg.ball;
            positions[COLLAR + side] = chest.lerp(arm.shoulder, COLLAR_FRACTIONS[1]);
            positions[SHOULDER + side] = arm.shoulder;
            positions[ELBOW + side] = arm.elbow;
            positions[WRIST + side] = arm.wrist;
            positions[HAND + side] = arm.hand;
        }
        positions
    }

    /// Point of the spine at a fraction of the distance from hips to neck; `None` if arms hide the trunk.
    fn on_spine(&self, fraction: f64, behind: f64) -> Option<DVec3> {
        let width = |section: &Section| {
            let (low, high) = section.extent(self.left);
            high - low
        };
        let at = self.hip_middle.lerp(self.marks.neck.base, fraction);
        let section = nearest_section(self.surface, at, self.axis)?;
        let has_arms = self.hips.as_ref().is_some_and(|hips| width(&section) > MAX_RELATIVE_WIDTH * width(hips));
        let (back, front) = section.extent(self.forward);
        (!has_arms).then(|| section.center - behind * (front - back) / 2.0 * self.forward)
    }
}

/// Orders the sides so that the left one is first; returns the left and forward directions.
fn sides(marks: &mut Landmarks, axis: DVec3, notes: &mut Vec<Note>) -> Result<(DVec3, DVec3), RiggingError> {
    let across = marks.legs[0].top - marks.legs[1].top + marks.arms[0].shoulder - marks.arms[1].shoulder;
    let mut left = across.reject_from_normalized(axis).normalize_or_zero();
    if left == DVec3::ZERO {
        return Err(not_human("the left and right sides coincide"));
    }
    let toes = marks.legs.iter().map(|leg| (leg.toes - leg.ankle).with_y(0.0).normalize_or_zero());
    let forward: Vec<f64> = toes.map(|toes| toes.dot(left.cross(axis))).collect();
    if forward[0] * forward[1] <= 0.0 || (forward[0] + forward[1]).abs() < 0.4 {
        notes.push(Note::new("the feet do not show the facing direction clearly; check left and right"));
    }
    if forward[0] + forward[1] < 0.0 {
        left = -left;
        marks.arms.swap(0, 1);
        marks.legs.swap(0, 1);
    }
    Ok((left, left.cross(axis).with_y(0.0).normalize_or(DVec3::Z)))
}

/// Moves joints outside the skin towards their parents until they are inside; the root is moved towards the middle of the
/// bounding box.
fn move_inside(surface: &Surface<'_>, positions: &mut [DVec3; JOINTS], notes: &mut Vec<Note>) {
    let tree = SurfaceTree::new(&surface.points, surface.triangles);
    for joint in 0..JOINTS {
        let anchor = parent(joint).map_or(DVec3::ZERO, |parent| positions[parent]);
        let outside = positions[joint];
        let candidates = (0..=20).map(|k| outside.lerp(anchor, f64::from(k) / 20.0));
        let Some(inside) = candidates.into_iter().find(|&position| tree.is_inside(position)) else {
            notes.push(Note::new(format!("'{}' is outside the skin", NAMES[joint])));
            continue;
        };
        if inside != outside {
            positions[joint] = inside;
            notes.push(Note::new(format!(
                "'{}' was outside the skin and has been moved inside; check it",
                NAMES[joint]
            )));
        }
    }
}
