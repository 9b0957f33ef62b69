//! Body model data beyond a rig: identity shapes, pose shapes, and a joint regressor.
//!
//! The layout is that of SMPL (Loper et al. 2015): shapes are offsets of all points; pose shape 9(j − 1) + 3·row + column
//! is added in proportion to that element of `R(θ_j) − I`, the rotation of joint j relative to its parent. If a limb along
//! an axis bends by α, the diagonal element of that axis is cos α − 1, which is zero at rest and under twist.
//!
//! A row of the regressor contains moving least squares weights around the joint: they sum to 1 and their weighted mean
//! is the joint, so joints follow every affine change of the shape exactly.

use glam::{DMat4, DVec3, DVec4, Vec3};
use rayon::prelude::*;

use super::super::bind::Weights;
use super::super::numeric::{bump, smooth_step};
use super::super::polygonize::Surface;
use super::skeleton::mirrored;
use dermis_body::human_skeleton::{
    ANKLE, COLLAR, ELBOW, FOOT, HAND, HEAD, HIP, JOINTS, KNEE, NAMES, NECK, PELVIS, SHOULDER, SPINE_1, SPINE_2,
    SPINE_3, WRIST,
};
use dermis_mesh::rig::Shape;

/// Thickness of fat around each joint along the normal, metres; pairs are listed by their left joint.
const FAT: [(usize, f64); 15] = [
    (PELVIS, 0.026),
    (HIP, 0.020),
    (SPINE_1, 0.032),
    (KNEE, 0.007),
    (SPINE_2, 0.024),
    (ANKLE, 0.001),
    (SPINE_3, 0.016),
    (FOOT, 0.0),
    (NECK, 0.007),
    (COLLAR, 0.010),
    (HEAD, 0.003),
    (SHOULDER, 0.012),
    (ELBOW, 0.006),
    (WRIST, 0.002),
    (HAND, 0.001),
];

/// A bulge caused by a bent joint: the joint, the element of its rotation, and the centre, radius and height.
struct Bulge {
    joint: usize,
    element: (usize, usize),
    centre: DVec3,
    radius: f64,
    height: f64,
}

const fn bulge(joint: usize, element: (usize, usize), centre: [f64; 3], radius: f64, height: f64) -> Bulge {
    Bulge { joint, element, centre: DVec3::from_array(centre), radius, height }
}

const ALONG_X: (usize, usize) = (0, 0);
const ALONG_Y: (usize, usize) = (1, 1);
/// −sin of a forward bend.
const FORWARD: (usize, usize) = (1, 2);

/// Bulges on the midline and on the left side.
const BULGES: [Bulge; 11] = [
    bulge(HIP, ALONG_Y, [0.080, 0.920, -0.110], 0.13, 0.014),
    bulge(SPINE_1, FORWARD, [0.000, 1.030, 0.105], 0.17, 0.020),
    bulge(KNEE, ALONG_Y, [0.135, 0.350, -0.065], 0.12, 0.009),
    bulge(KNEE, ALONG_Y, [0.125, 0.480, 0.060], 0.08, 0.014),
    bulge(KNEE, ALONG_Y, [0.115, 0.620, -0.055], 0.13, 0.007),
    bulge(SPINE_2, FORWARD, [0.000, 1.120, 0.090], 0.15, 0.010),
    bulge(ANKLE, ALONG_Y, [0.138, 0.300, -0.060], 0.12, 0.006),
    bulge(SHOULDER, ALONG_X, [0.190, 1.435, -0.020], 0.10, 0.009),
    bulge(SHOULDER, ALONG_X, [0.100, 1.320, 0.065], 0.11, 0.006),
    bulge(ELBOW, ALONG_X, [0.325, 1.330, 0.015], 0.10, 0.011),
    bulge(ELBOW, ALONG_X, [0.418, 1.270, -0.066], 0.06, 0.010),
];

/// A row of the regressor: points and their weights.
pub(super) type RegressorRow = Vec<(u32, f64)>;

/// Identity shapes, each of about one standard deviation.
pub(super) fn shapes(surface: &Surface, normals: &[DVec3], weights: &Weights) -> Vec<Shape> {
    let shape = |name: &str, offset: &dyn Fn(usize) -> DVec3| {
        let offsets = (0..surface.points.len()).map(|point| offset(point).as_vec3()).collect();
        Shape { name: name.to_owned(), offsets, normal_offsets: None }
    };
    let mut fat = [0.0; JOINTS];
    for (joint, amount) in FAT {
        fat[joint] = amount;
        if NAMES[joint].starts_with("left") {
            fat[joint + 1] = amount;
        }
    }
    let heavier = |point: usize| {
        let amount: f64 = weights.row(point).iter().zip(&fat).map(|(weight, fat)| weight * fat).sum();
        let belly = 1.0 + 0.5 * normals[point].z * weights.row(point)[SPINE_1];
        normals[point] * amount * belly
    };
    let taller = |point: usize| surface.points[point] * 0.04;
    let broader = |point: usize| {
        let DVec3 { x, y, .. } = surface.points[point];
        DVec3::X * (0.018 * x.signum() * smooth_step(0.0, 0.17, x.abs()) * smooth_step(0.95, 1.25, y))
    };
    let long_legged = |point: usize| DVec3::Y * (0.04 * (surface.points[point].y / 0.89).min(1.0));
    vec![
        shape("heavier", &heavier),
        shape("taller", &taller),
        shape("broader", &broader),
        shape("long_legged", &long_legged),
    ]
}

/// Non-zero pose shapes, by index.
pub(super) fn pose_shapes(surface: &Surface, normals: &[DVec3]) -> Vec<(usize, Vec<Vec3>)> {
    let mut shapes: Vec<(usize, Vec<Vec3>)> = Vec::new();
    for Bulge { joint, element, centre, radius, height } in &BULGES {
        let number = |joint: usize| 9 * (joint - 1) + 3 * element.0 + element.1;
        let mut sides = vec![(number(*joint), *centre)];
        if centre.x != 0.0 {
            sides.push((number(joint + 1), mirrored(*centre)));
        }
        for (number, centre) in sides {
            let at = shapes.iter().position(|shape| shape.0 == number).unwrap_or_else(|| {
                shapes.push((number, vec![Vec3::ZERO; surface.points.len()]));
                shapes.len() - 1
            });
            let points = surface.points.iter().zip(normals);
            for (offset, (point, normal)) in shapes[at].1.iter_mut().zip(points) {
                let falloff = bump(point.distance_squared(centre) / (radius * radius));
                // All elements used are negative if the joint bends.
                *offset -= (*normal * (height * falloff)).as_vec3();
            }
        }
    }
    shapes.sort_by_key(|shape| shape.0);
    shapes
}

/// For each of `joints`, weights of nearby points whose weighted mean is the joint.
pub(super) fn regressor(points: &[DVec3], joints: &[DVec3; JOINTS]) -> Vec<RegressorRow> {
    joints.par_iter().map(|&joint| regressor_row(points, joint)).collect()
}

fn regressor_row(points: &[DVec3], joint: DVec3) -> RegressorRow {
    let nearest = points.iter().map(|point| point.distance(joint)).fold(f64::INFINITY, f64::min);
    // Wide enough to include the opposite side of the limb, so that no weight is large.
    let reach = 2.2 * nearest;
    let near = |(index, point): (usize, &DVec3)| {
        let offset = *point - joint;
        let weight = bump(offset.length_squared() / (reach * reach));
        (weight > 0.0).then_some((index as u32, offset, weight))
    };
    let near: Vec<(u32, DVec3, f64)> = points.iter().enumerate().filter_map(near).collect();
    let mut moments = DMat4::ZERO;
    for &(_, offset, weight) in &near {
        let one = (offset / reach).extend(1.0);
        moments += DMat4::from_cols(one * one.x, one * one.y, one * one.z, one * one.w) * weight;
    }
    let factors = moments.inverse() * DVec4::W;
    near.into_iter()
        .map(|(index, offset, weight)| (index, weight * factors.dot((offset / reach).extend(1.0))))
        .collect()
}
