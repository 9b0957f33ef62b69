//! Places for bones that have none: a fitted bone is bound at the origin, wherever it moves the mesh.
//!
//! Players move a node's origin along a line from key to key and turn about it. A bone that turns by φ about a point at
//! distance r from its origin throws that point off by `r (1 − cos φ/2)` half-way; with the origin at a figure's feet its
//! head wobbles. So each bone is bound where it moves least:
//!
//! `min Σ_t ‖ΔF_t‖² ‖ΔF_t c + Δv_t‖² + λ ‖c − m‖²`
//!
//! over the steps (ΔF, Δv) of its clips, which weighs large turns as they hurt, near the mean m of its points where it
//! does not turn, and within their reach. Poses keep their product with the bind: what moves is the origin alone.
//! Joints that have a place or a tree keep theirs.

use std::borrow::Cow;
use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Object, Rig, TriMesh};
use glam::{DAffine3, DMat3, DVec3};

use crate::error::Error;

/// λ, relative to the mean of the quadratic term.
const PULL: f64 = 1e-2;
/// How far from the mean of its points a bone may be placed, relative to their root mean square distance.
const REACH: f64 = 2.0;

/// `object`, its bones placed where they move least; itself where its joints have places.
pub(crate) fn placed(object: &Object) -> Result<Cow<'_, Object>, Error> {
    let Some(rig) = object.rig.as_ref().filter(|rig| is_placeless(rig)) else {
        return Ok(Cow::Borrowed(object));
    };
    if object.clips.is_empty() {
        return Ok(Cow::Borrowed(object));
    }
    let pivots: Vec<DVec3> = regions(&object.mesh, rig)
        .iter()
        .enumerate()
        .map(|(joint, region)| region.as_ref().map_or(DVec3::ZERO, |region| pivot(region, &object.clips, joint)))
        .collect();
    let joints = rig.joints().iter().zip(&pivots);
    let joints = joints.map(|(joint, &at)| Joint::at(joint.name.clone(), None, DAffine3::from_translation(at)));
    let rig = Rig::new(&object.mesh, joints.collect(), rig.weights().clone(), rig.shapes().to_vec())?;
    let clips = object.clips.iter().map(|clip| Ok(Arc::new(moved(&rig, clip, &pivots)?)));
    let clips = clips.collect::<Result<_, Error>>()?;
    Ok(Cow::Owned(Object { rig: Some(Arc::new(rig)), clips, ..object.clone() }))
}

/// Whether all joints stand side by side at the origin.
fn is_placeless(rig: &Rig) -> bool {
    let placeless = |joint: &Joint| joint.parent.is_none() && joint.inverse_bind == DAffine3::IDENTITY;
    !rig.joints().is_empty() && rig.joints().iter().all(placeless)
}

/// The points that a bone moves: their weighted mean and the root mean square distance from it.
struct Region {
    mean: DVec3,
    spread: f64,
}

/// The region of each joint; `None` where it moves nothing.
fn regions(mesh: &TriMesh, rig: &Rig) -> Vec<Option<Region>> {
    let bound = || {
        let rows = mesh.points().iter().zip(rig.weights().rows());
        rows.flat_map(|(point, row)| row.map(|(joint, w)| (joint as usize, f64::from(w.abs()), point.as_dvec3())))
    };
    let mut sums = vec![(0.0, DVec3::ZERO); rig.joints().len()];
    for (joint, weight, point) in bound() {
        sums[joint].0 += weight;
        sums[joint].1 += weight * point;
    }
    let means: Vec<DVec3> = sums.iter().map(|(weight, sum)| *sum / *weight).collect();
    let mut squares = vec![0.0; means.len()];
    for (joint, weight, point) in bound() {
        squares[joint] += weight * point.distance_squared(means[joint]);
    }
    let region = |((&mean, square), (weight, _)): ((&DVec3, f64), &(f64, DVec3))| {
        (*weight > 0.0).then(|| Region { mean, spread: (square / weight).sqrt() })
    };
    means.iter().zip(squares).zip(&sums).map(region).collect()
}

fn pivot(region: &Region, clips: &[Arc<Clip>], joint: usize) -> DVec3 {
    let (mut normal, mut right) = (DMat3::ZERO, DVec3::ZERO);
    for clip in clips {
        for frame in 1..clip.frame_count() {
            let (before, after) = (clip.transforms(frame - 1)[joint], clip.transforms(frame)[joint]);
            let turn = after.matrix3 - before.matrix3;
            // About the mean, so that the unknown is small.
            let step = after.transform_point3(region.mean) - before.transform_point3(region.mean);
            let weight = turn.to_cols_array().iter().map(|entry| entry * entry).sum::<f64>();
            normal += turn.transpose() * turn * weight;
            right -= turn.transpose() * step * weight;
        }
    }
    let pull = PULL * (normal.x_axis.x + normal.y_axis.y + normal.z_axis.z) / 3.0;
    let offset = (normal + DMat3::from_diagonal(DVec3::splat(pull))).inverse() * right;
    let offset = if offset.is_finite() { offset.clamp_length_max(REACH * region.spread) } else { DVec3::ZERO };
    // As files store it.
    (region.mean + offset).as_vec3().as_dvec3()
}

fn moved(rig: &Rig, clip: &Clip, pivots: &[DVec3]) -> Result<Clip, Error> {
    let frames = 0..clip.frame_count();
    let transforms = frames.clone().flat_map(|frame| clip.transforms(frame).iter().zip(pivots));
    let transforms = transforms.map(|(pose, &pivot)| *pose * DAffine3::from_translation(pivot)).collect();
    let weights = frames.flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
    Ok(Clip::new(rig, clip.name(), clip.frame_rate_hz(), transforms, weights)?.starting_at(clip.start_seconds()))
}

#[cfg(test)]
mod tests {
    use dermis_mesh::SkinWeights;
    use dermis_mesh::pose::bake;
    use glam::Vec3;

    use super::*;

    /// A bone of points about (5, 0, 0) that turns about `axis` through `center`, and where it is placed.
    fn turning(center: DVec3) -> (Object, DVec3) {
        let points: Vec<Vec3> = (0..8)
            .map(|k| Vec3::new(4.0 + (k & 1) as f32 * 2.0, (k >> 1 & 1) as f32 - 0.5, (k >> 2) as f32 - 0.5))
            .collect();
        let mesh = Arc::new(TriMesh::new(points, vec![]).unwrap());
        let weights = SkinWeights::from_rows((0..8).map(|_| [(0, 1.0)]));
        let rig = Rig::new(&mesh, vec![Joint::at("bone", None, DAffine3::IDENTITY)], weights, vec![]).unwrap();
        let about = DAffine3::from_translation(center);
        let pose = |frame: i32| about * DAffine3::from_rotation_z(0.3 * f64::from(frame)) * about.inverse();
        let clip = Clip::new(&rig, "turn", 24.0, (0..9).map(pose).collect(), vec![]).unwrap();
        let object = Object::of_rig("bone", mesh, rig, vec![clip.starting_at(2.0)]);
        let at = placed(&object).unwrap().rig.as_ref().unwrap().joints()[0].bind().translation;
        (object, at)
    }

    #[test]
    fn a_bone_is_placed_at_its_hinge_and_poses_as_before() {
        let (object, at) = turning(DVec3::new(4.0, 0.3, 7.0));
        // Along the axis the place is free and stays at the mean; across it the pull is felt a little.
        assert!(at.distance(DVec3::new(4.0, 0.3, 0.0)) < 0.03, "{at}");
        let placed = placed(&object).unwrap();
        assert_eq!(placed.clips[0].start_seconds(), 2.0);
        let bake = |object: &Object| bake(&object.mesh, object.rig.as_ref().unwrap(), &object.clips[0]).unwrap();
        let (before, after) = (bake(&object), bake(&placed));
        for (p, q) in before.positions().unwrap().iter().zip(after.positions().unwrap()) {
            assert!(p.distance(*q) < 1e-5, "{p} {q}");
        }
    }

    #[test]
    fn a_bone_that_turns_about_a_point_far_away_stays_near_its_points() {
        let (_, at) = turning(DVec3::new(-1000.0, 0.0, 0.0));
        assert!(at.distance(DVec3::new(5.0, 0.0, 0.0)) < 3.0, "{at}");
    }

    #[test]
    fn joints_that_have_a_place_keep_it() {
        let (object, at) = turning(DVec3::ZERO);
        let once = placed(&object).unwrap();
        assert_ne!(at, DVec3::ZERO);
        assert!(matches!(placed(&once).unwrap(), Cow::Borrowed(_)));
    }
}
