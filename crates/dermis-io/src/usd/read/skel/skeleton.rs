//! A `Skeleton` prim: joints named by their paths, with bind and rest transforms.

use std::collections::HashMap;

use dermis_mesh::Joint;
use glam::DAffine3;

use super::super::prims::Prims;
use super::super::values;
use crate::error::Error;
use crate::usd::BONES;

/// Index of a helper joint; no rig has that many joints.
const NO_BONE: u32 = u32::MAX;

/// A skeleton.
pub(super) struct Skeleton {
    pub(super) prim: usize,
    /// The joints' paths.
    pub(super) paths: Vec<String>,
    names: Vec<String>,
    parents: Vec<Option<usize>>,
    /// The joints ordered so that each comes after its parent.
    order: Vec<usize>,
    bind: Vec<DAffine3>,
    /// Rest transforms relative to the parent joint.
    pub(super) rest: Vec<DAffine3>,
    /// Joints of the rig: all except the helper joints added by the writer of dermis.
    bones: Vec<usize>,
}

impl Skeleton {
    pub(super) fn new(prims: &Prims, prim: usize) -> Result<Self, Error> {
        let value = |name: &str| prims.all[prim].value(name);
        let paths = value("joints").and_then(values::texts).unwrap_or_default();
        let parents = parents(&paths);
        let order = parents_first(&parents);
        let transforms = |name: &str| -> Result<Option<Vec<DAffine3>>, Error> {
            let found = value(name).and_then(values::transforms);
            match found.filter(|found| !found.is_empty() || paths.is_empty()) {
                Some(found) if found.len() != paths.len() => {
                    let (joints, found) = (paths.len(), found.len());
                    Err(Error::malformed(format!("the skeleton has {joints} joints, but {found} {name}")))
                }
                found => Ok(found),
            }
        };
        let missing = || Error::malformed("the skeleton has neither bind nor rest transforms");
        let (bind, rest) = match (transforms("bindTransforms")?, transforms("restTransforms")?) {
            (Some(bind), Some(rest)) => (bind, rest),
            (Some(bind), None) => {
                let relative = |(joint, bind_of): (usize, &DAffine3)| {
                    parents[joint].map_or(*bind_of, |parent: usize| bind[parent].inverse() * *bind_of)
                };
                let rest = bind.iter().enumerate().map(relative).collect();
                (bind, rest)
            }
            (None, Some(rest)) => (accumulate(&parents, &order, &rest), rest),
            // Blend shapes alone need a skeleton, but no joints.
            (None, None) if paths.is_empty() => (Vec::new(), Vec::new()),
            (None, None) => return Err(missing()),
        };
        let last = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        let names = value("jointNames").and_then(values::texts).filter(|names| names.len() == paths.len());
        let names = names.unwrap_or_else(|| paths.iter().map(last).collect());
        let bones = value(BONES).and_then(values::integers).and_then(|bones| only_bones(&bones, paths.len()));
        let bones = bones.unwrap_or_else(|| (0..paths.len()).collect());
        Ok(Self { prim, paths, names, parents, order, bind, rest, bones })
    }

    /// Joints of a rig whose mesh is transformed to the space of the skeleton by `to_skeleton`.
    pub(super) fn joints(&self, to_skeleton: DAffine3) -> Result<Vec<Joint>, Error> {
        let joint = |index: usize| {
            let inverse_bind = self.bind[index].inverse() * to_skeleton;
            if !inverse_bind.is_finite() {
                return Err(Error::malformed(format!("the bind transform of '{}' is singular", self.paths[index])));
            }
            let mut above = std::iter::successors(self.parents[index], |&parent| self.parents[parent]);
            let parent = above.find_map(|parent| self.bone(parent));
            Ok(Joint { name: self.names[index].clone(), parent, inverse_bind })
        };
        self.bones.iter().map(|&bone| joint(bone)).collect()
    }

    /// Index in the rig of joint `joint` of the skeleton.
    fn bone(&self, joint: usize) -> Option<usize> {
        self.bones.iter().position(|&bone| bone == joint)
    }

    /// Transforms of the joints of the rig, selected from those of all joints.
    pub(super) fn of_bones(&self, all: &[DAffine3]) -> impl Iterator<Item = DAffine3> {
        self.bones.iter().map(|&bone| all[bone])
    }

    /// The skeleton's joints in the order that a mesh or an animation lists them.
    pub(super) fn order_of(&self, listed: Option<Vec<String>>) -> Result<Vec<u32>, Error> {
        let mut numbers = vec![NO_BONE; self.paths.len()];
        for (number, &bone) in self.bones.iter().enumerate() {
            numbers[bone] = number as u32;
        }
        let Some(listed) = listed else { return Ok(numbers) };
        let joint_of = self.joint_of();
        let find = |path: &String| {
            let missing =
                || Error::malformed(format!("the mesh refers to the joint '{path}', which its skeleton does not have"));
            joint_of.get(path.as_str()).map(|&joint| numbers[joint]).ok_or_else(missing)
        };
        listed.iter().map(find).collect()
    }

    /// Index of each joint, by its path.
    pub(super) fn joint_of(&self) -> HashMap<&str, usize> {
        self.paths.iter().enumerate().map(|(joint, path)| (path.as_str(), joint)).collect()
    }

    /// Transforms relative to the skeleton, of transforms relative to parents.
    pub(super) fn accumulate(&self, locals: &[DAffine3]) -> Vec<DAffine3> {
        accumulate(&self.parents, &self.order, locals)
    }
}

/// Returns the indices if all refer to joints and none is repeated.
fn only_bones(bones: &[i32], count: usize) -> Option<Vec<usize>> {
    let bones: Vec<usize> = bones.iter().map(|&bone| usize::try_from(bone).ok()).collect::<Option<_>>()?;
    let mut seen = vec![false; count];
    let is_new = |&bone: &usize| seen.get_mut(bone).is_some_and(|seen| !std::mem::replace(seen, true));
    bones.iter().all(is_new).then_some(bones)
}

/// The parent of a joint is the nearest joint whose path is a prefix of its own.
fn parents(paths: &[String]) -> Vec<Option<usize>> {
    let joint_of: HashMap<&str, usize> = paths.iter().enumerate().map(|(joint, path)| (path.as_str(), joint)).collect();
    let parent = |path: &String| {
        let above = std::iter::successors(path.rsplit_once('/'), |(above, _)| above.rsplit_once('/'));
        above.map(|(above, _)| above).find_map(|above| joint_of.get(above).copied())
    };
    paths.iter().map(parent).collect()
}

/// Parents have shorter paths, so the order by depth cannot contain cycles.
fn parents_first(parents: &[Option<usize>]) -> Vec<usize> {
    let mut depths = vec![None::<usize>; parents.len()];
    for start in 0..parents.len() {
        let chain: Vec<usize> = std::iter::successors(Some(start), |&joint| parents[joint])
            .take_while(|&joint| depths[joint].is_none())
            .collect();
        for &joint in chain.iter().rev() {
            depths[joint] = Some(parents[joint].and_then(|parent| depths[parent]).map_or(0, |depth| depth + 1));
        }
    }
    let mut order: Vec<usize> = (0..parents.len()).collect();
    order.sort_by_key(|&joint| depths[joint]);
    order
}

fn accumulate(parents: &[Option<usize>], order: &[usize], locals: &[DAffine3]) -> Vec<DAffine3> {
    let mut posed = locals.to_vec();
    for &joint in order {
        if let Some(parent) = parents[joint] {
            posed[joint] = posed[parent] * locals[joint];
        }
    }
    posed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_joint_is_its_nearest_listed_ancestor() {
        let paths = ["a/b/c", "a", "a/x", "other"].map(str::to_owned);
        let parents = parents(&paths);
        assert_eq!(parents, [Some(1), None, Some(1), None]);
        assert_eq!(parents_first(&parents), [1, 3, 0, 2]);
    }
}
