//! A `SkelAnimation` prim: joint transforms and blend shape weights over time.

use std::collections::HashMap;

use dermis_mesh::Note;
use glam::DAffine3;

use super::super::prims::{Attribute, Prims};
use super::super::timing::{at, blend_lists, blend_quaternion, blend_vector3};
use super::super::values;
use super::super::xform::rotation;
use super::blend_shapes::BlendShapes;
use super::skeleton::Skeleton;

/// The attributes that move joints.
const JOINT_ATTRIBUTES: [&str; 3] = ["translations", "rotations", "scales"];

/// An animation, mapped to the joints of a skeleton and the blend shapes of a mesh.
pub(super) struct Animation {
    prim: usize,
    pub(super) name: String,
    /// Joint of the skeleton for each joint of the animation.
    joints: Vec<Option<usize>>,
    /// Weight of the animation for each shape of the mesh.
    shapes: Vec<Option<usize>>,
}

impl Animation {
    /// The animation that is bound to the skeleton, then the others under the same `SkelRoot`.
    pub(super) fn all(
        prims: &Prims,
        root: usize,
        skeleton_prim: usize,
        skeleton: &Skeleton,
        shapes: &BlendShapes,
        notes: &mut Vec<Note>,
    ) -> Vec<Self> {
        let is_animation = |prim: &usize| prims.all[*prim].type_name == "SkelAnimation";
        let bound = prims.upwards(skeleton_prim).find_map(|prim| prims.all[prim].target("skel:animationSource"));
        let bound = bound.and_then(|path| prims.find(path)).filter(is_animation);
        let is_below = |prim: &usize| prims.upwards(*prim).any(|above| above == root);
        let others = (0..prims.all.len()).filter(is_animation).filter(|prim| Some(*prim) != bound).filter(is_below);
        let all: Vec<usize> = bound.into_iter().chain(others).collect();
        all.into_iter().map(|prim| Self::new(prims, prim, skeleton, shapes, notes)).collect()
    }

    fn new(prims: &Prims, prim: usize, skeleton: &Skeleton, shapes: &BlendShapes, notes: &mut Vec<Note>) -> Self {
        let it = &prims.all[prim];
        let texts = |name: &str| it.value(name).and_then(values::texts).unwrap_or_default();
        let joint_of = skeleton.joint_of();
        let mut joints: Vec<_> = texts("joints").iter().map(|path| joint_of.get(path.as_str()).copied()).collect();
        if !joints.is_empty() && JOINT_ATTRIBUTES.iter().any(|name| it.attribute(name).is_none()) {
            let what = "the animation has no translations, rotations or scales; its joints stay at rest";
            notes.push(Note::at(it.path.clone(), what));
            joints.clear();
        }
        let weights: HashMap<String, usize> =
            texts("blendShapes").into_iter().enumerate().map(|(index, name)| (name, index)).collect();
        let shapes = shapes.names().map(|name| weights.get(name).copied()).collect();
        let last = it.path.rsplit('/').next().unwrap_or_default().to_owned();
        Self { prim, name: it.original_name.clone().unwrap_or(last), joints, shapes }
    }

    /// The attributes whose samples define the frames of the animation.
    pub(super) fn attributes<'a>(&self, prims: &'a Prims) -> Vec<&'a Attribute> {
        let joints = JOINT_ATTRIBUTES.iter().filter(|_| !self.joints.is_empty());
        let weights = ["blendShapeWeights"].iter().filter(|_| self.shapes.iter().any(Option::is_some));
        joints.chain(weights).filter_map(|name| prims.all[self.prim].attribute(name)).collect()
    }

    /// Returns whether the animation is a pose: it has no samples over time.
    pub(super) fn is_still(&self, prims: &Prims) -> bool {
        self.attributes(prims).iter().all(|attribute| attribute.samples.is_empty())
    }

    /// Default weights of the mesh's shapes; 0 if the animation has none.
    pub(super) fn stored_weights(&self, prims: &Prims, count: usize) -> Vec<f32> {
        let weights = prims.all[self.prim].attribute("blendShapeWeights");
        let weights = weights.and_then(|attribute| attribute.default.as_ref()).and_then(values::numbers);
        let weights = weights.unwrap_or_default();
        let weight = |shape: usize| {
            let index = self.shapes.get(shape).copied().flatten();
            index.and_then(|index| weights.get(index).copied()).unwrap_or(0.0)
        };
        (0..count).map(weight).collect()
    }

    /// The skeleton's joints relative to their parents; those not animated stay at rest.
    ///
    /// `None` if the lists do not match the joints, as in `UsdSkel`.
    pub(super) fn locals(&self, prims: &Prims, skeleton: &Skeleton, time: f64) -> Option<Vec<DAffine3>> {
        let attribute = |name: &str| prims.all[self.prim].attribute(name);
        let vectors = |name: &str| at(attribute(name)?, time, values::vectors3, blend_lists(blend_vector3));
        let rotations = at(attribute("rotations")?, time, values::quaternions, blend_lists(blend_quaternion))?;
        let (moves, scales) = (vectors("translations")?, vectors("scales")?);
        let count = self.joints.len();
        if moves.len() != count || rotations.len() != count || scales.len() != count {
            return None;
        }
        let mut locals = skeleton.rest.clone();
        for (index, joint) in self.joints.iter().enumerate() {
            if let Some(joint) = *joint {
                locals[joint] = DAffine3::from_translation(moves[index].as_dvec3())
                    * rotation(rotations[index])
                    * DAffine3::from_scale(scales[index].as_dvec3());
            }
        }
        Some(locals)
    }

    /// The weights of the mesh's shapes; those not animated are zero.
    pub(super) fn shape_weights(&self, prims: &Prims, count: usize, time: f64) -> Vec<f32> {
        let blend = blend_lists(|a: f32, b: f32, t: f64| a + (b - a) * t as f32);
        let weights = prims.all[self.prim].attribute("blendShapeWeights");
        let weights = weights.and_then(|attribute| at(attribute, time, values::numbers, blend)).unwrap_or_default();
        let weight = |shape: usize| {
            let index = self.shapes.get(shape).copied().flatten();
            index.and_then(|index| weights.get(index).copied()).unwrap_or(0.0)
        };
        (0..count).map(weight).collect()
    }
}
