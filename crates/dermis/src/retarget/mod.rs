//! Transfer of a clip to another rig.
//!
//! Joints are matched by a map given by the user, then by name; if no name matches, by order or hierarchy. Names are
//! compared exactly, then without namespaces (`mixamorig:`), case and punctuation, then without the prefix that all joints
//! of a rig have in common, then as common names of body parts (`thigh_l` is `LeftUpLeg`). Unmatched joints between two
//! matched ones are matched in order if both rigs have the same number of them.
//!
//! If all joints have a match and both rigs are bound to the same shape, the deformation by each joint is kept
//! (`M_to = M_from B_from⁻¹ B_to`), so the joints can have other orientations. If their bind transforms are equal, the
//! transforms are kept. Otherwise rotations relative to the bind poses are kept, `R_to = Q R_from R_from,bind⁻¹ Qᵀ
//! R_to,bind`, with the rotation Q along the axes between the bind poses: the target keeps the lengths of its bones,
//! and the translation of the topmost matched joint is scaled by the ratio of the skeleton sizes. Joints without a
//! match keep their bind pose relative to their parent. Shapes are matched by name; shapes without a match keep
//! the weights of the stored pose.

mod error;
mod foot_slide;
mod joint_names;
mod match_joints;
mod transfer;
mod units;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use dermis_mesh::glam::DAffine3;
use dermis_mesh::{Clip, Note, Object, Rig, TriMesh};

pub use error::RetargetError;
pub use foot_slide::{FootSlide, foot_slide};
pub use units::in_units;

use match_joints::match_joints;
use transfer::{Skeletons, same_binds, with_deformations};

/// The root mean square distance, relative to the diagonal, within which two rest poses are the same shape.
const SAME_SHAPE: f64 = 1e-2;

/// Map from names of joints of a rig to names of joints of a motion.
pub type JointMap = BTreeMap<String, String>;

/// Reads a map of joints: a TOML table with the names of the rig's joints as keys and those of the motion as values.
pub fn joint_map_from_toml(text: &str) -> Result<JointMap, RetargetError> {
    toml::from_str(text).map_err(|error| RetargetError::Map(error.message().to_owned()))
}

/// Options of [`retarget`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RetargetOptions {
    /// Joints of the motion that move joints of the rig; the others are matched by name.
    pub joint_map: JointMap,
}

/// Result of [`retarget`].
#[derive(Debug, Clone)]
pub struct Retargeted {
    /// The clip.
    pub clip: Clip,
    /// Assumptions and omissions.
    pub notes: Vec<Note>,
    /// For each joint, the joint of the motion that moves it.
    pub sources: Vec<Option<usize>>,
}

/// Transfers `clip`, a motion of the rig of `from`, to the rig of `to`.
///
/// ```no_run
/// use dermis::prelude::*;
///
/// let (motion, model) = (dermis::read("walk.bvh")?, dermis::read("hero.glb")?);
/// let (from, to) = (&motion.objects[0], &model.objects[0]);
/// let moved = dermis::retarget(&from.clips[0], from, to, &RetargetOptions::default())?;
/// println!("{} joints move", moved.sources.iter().flatten().count());
/// # dermis::Result::Ok(())
/// ```
///
/// # Panics
/// If `clip` is not a clip of the rig of `from`.
pub fn retarget(
    clip: &Clip,
    from: &Object,
    to: &Object,
    options: &RetargetOptions,
) -> Result<Retargeted, RetargetError> {
    let joints_of = |object: &Object| {
        let rig = object.rig.clone().filter(|rig| !rig.joints().is_empty());
        rig.ok_or_else(|| RetargetError::NoJoints(object.name.clone()))
    };
    let (source, target) = (joints_of(from)?, joints_of(to)?);
    assert_eq!(clip.transforms(0).len(), source.joints().len(), "the clip is one of the rig");
    let mut notes = Vec::new();
    let sources = match_joints(clip, source.joints(), target.joints(), &options.joint_map, &to.name, &mut notes)?;
    let all: Option<Vec<usize>> = sources.iter().copied().collect();
    let transforms: Vec<DAffine3> = match all {
        Some(all) if same_shape(&from.mesh, &to.mesh) || same_binds(&source, &target, &all) => {
            with_deformations(clip, &source, &target, &all)
        }
        _ => Skeletons::new(&source, &target, &sources).transfer(clip),
    };
    let shapes = match_shapes(clip, &source, &target, &to.name, &mut notes);
    let stored = target.rest_pose().shape_weights;
    let weights = (0..clip.frame_count()).flat_map(|frame| {
        let weights = clip.shape_weights(frame);
        shapes.iter().zip(&stored).map(move |(shape, stored)| shape.map_or(*stored, |shape| weights[shape]))
    });
    let moved = Clip::new(&target, clip.name(), clip.frame_rate_hz(), transforms, weights.collect())?;
    Ok(Retargeted { clip: moved.starting_at(clip.start_seconds()), notes, sources })
}

fn same_shape(a: &TriMesh, b: &TriMesh) -> bool {
    if a.point_count() != b.point_count() {
        return false;
    }
    let squares = a.points().iter().zip(b.points()).map(|(a, b)| a.as_dvec3().distance_squared(b.as_dvec3()));
    let (low, high) = a.bounds();
    let mean = squares.sum::<f64>() / a.point_count().max(1) as f64;
    mean.sqrt() <= SAME_SHAPE * low.as_dvec3().distance(high.as_dvec3())
}

/// For each shape of `to`, its shape of `from`.
fn match_shapes(clip: &Clip, from: &Rig, to: &Rig, object: &str, notes: &mut Vec<Note>) -> Vec<Option<usize>> {
    let source = |name: &str| from.shapes().iter().position(|shape| shape.name == name && !name.is_empty());
    let same_names = from.shapes().iter().map(|shape| &shape.name).eq(to.shapes().iter().map(|shape| &shape.name));
    let shapes = to.shapes().iter().enumerate();
    let sources: Vec<Option<usize>> =
        shapes.map(|(at, shape)| if same_names { Some(at) } else { source(&shape.name) }).collect();
    if sources.iter().any(Option::is_none) {
        let message =
            format!("the clip '{}' does not move some blend shapes; they keep their stored weights", clip.name());
        notes.push(Note::at(object, message));
    }
    sources
}
