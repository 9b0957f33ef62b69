//! The motion of a rig as nodes with translation, rotation and scale.
//!
//! An ordinary rig keeps its tree: each joint becomes a node under its parent, if its local transforms are
//! T·R·S to rounding. Locals are taken against the parent *as written*, so that rounding does not add up along chains.
//! If any joint shears, the whole rig becomes flexible bones ([`super::flexible`]) side by side.

use dermis_mesh::Rig;
use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::flexible::factor_motion;

/// How far a node's world transform may be from the joint's: linear part relative to its size, translation relative to
/// the largest in the rig. f32 rounding stays well below.
const TOLERANCE: f64 = 2e-6;
/// Numbers that vary by less than this, relative to the largest, are constant; the variation is rounding.
const CONSTANT: f64 = 3e-7;

/// A node and where it stands in its parent in each pose.
#[derive(Debug, Clone)]
pub(super) struct NodeMotion {
    pub name: String,
    /// The node that it hangs from, an earlier one in the list.
    pub parent: Option<usize>,
    /// The joint that it is; `None` for the upper node of a flexible bone.
    pub joint: Option<usize>,
    pub translations: Vec<DVec3>,
    pub rotations: Vec<DQuat>,
    pub scales: Vec<DVec3>,
}

/// The nodes for the joints of `rig` in `poses`, each a transform per joint.
pub(super) fn node_motions(rig: &Rig, poses: &[&[DAffine3]]) -> Vec<NodeMotion> {
    tree_motions(rig, poses).unwrap_or_else(|| flexible_motions(rig, poses))
}

/// One node per joint, in the rig's tree; `None` where a joint shears.
fn tree_motions(rig: &Rig, poses: &[&[DAffine3]]) -> Option<Vec<NodeMotion>> {
    let extent = extent(poses);
    let mut places = vec![0; rig.joints().len()];
    let mut motions: Vec<NodeMotion> = Vec::with_capacity(places.len());
    let mut worlds: Vec<Vec<DAffine3>> = Vec::with_capacity(places.len());
    for joint in rig.parents_first() {
        let parent = rig.joints()[joint].parent.map(|parent| places[parent]);
        let above = |pose: usize| parent.map_or(DAffine3::IDENTITY, |parent| worlds[parent][pose]);
        let locals = poses.iter().enumerate().map(|(pose, transforms)| above(pose).inverse() * transforms[joint]);
        let exact = NodeMotion::of_locals(&rig.joints()[joint].name, parent, joint, locals)?;
        let world = |motion: &NodeMotion| -> Vec<DAffine3> {
            (0..poses.len()).map(|pose| above(pose) * motion.local(pose)).collect()
        };
        let close = |(world, transforms): (&DAffine3, &&[DAffine3])| is_close(*world, transforms[joint], extent);
        // What looks like rounding may be motion after all, where a small joint hangs from a large one.
        let candidates = [exact.clone().held().rounded(), exact.rounded()];
        let (motion, world) = candidates
            .into_iter()
            .map(|motion| (world(&motion), motion))
            .find_map(|(world, motion)| world.iter().zip(poses).all(close).then_some((motion, world)))?;
        places[joint] = motions.len();
        motions.push(motion);
        worlds.push(world);
    }
    Some(motions)
}

/// Two nodes per joint, all at the top.
fn flexible_motions(rig: &Rig, poses: &[&[DAffine3]]) -> Vec<NodeMotion> {
    let mut motions = Vec::with_capacity(2 * rig.joints().len());
    for (joint, description) in rig.joints().iter().enumerate() {
        let factors = factor_motion(poses.iter().map(|transforms| transforms[joint]));
        let upper = NodeMotion {
            name: format!("{}.stretch", description.name),
            parent: None,
            joint: None,
            translations: factors.iter().map(|factors| factors.translation).collect(),
            rotations: factors.iter().map(|factors| factors.u).collect(),
            scales: factors.iter().map(|factors| factors.sigma).collect(),
        };
        let lower = NodeMotion {
            name: description.name.clone(),
            parent: Some(motions.len()),
            joint: Some(joint),
            translations: vec![DVec3::ZERO; poses.len()],
            rotations: factors.iter().map(|factors| factors.v.inverse()).collect(),
            scales: vec![DVec3::ONE; poses.len()],
        };
        motions.extend([upper.held().rounded(), lower.held().rounded()]);
    }
    motions
}

/// The largest distance of a joint from the origin.
fn extent(poses: &[&[DAffine3]]) -> f64 {
    let lengths = poses.iter().flat_map(|transforms| transforms.iter().map(|transform| transform.translation.length()));
    lengths.fold(0.0, f64::max)
}

fn is_close(found: DAffine3, expected: DAffine3, extent: f64) -> bool {
    let size = |matrix: DMat3| matrix.to_cols_array().iter().fold(0.0, |size: f64, number| size.max(number.abs()));
    let linear = size(found.matrix3 - expected.matrix3);
    let translation = (found.translation - expected.translation).length();
    linear <= TOLERANCE * size(expected.matrix3) && translation <= TOLERANCE * extent
}

impl NodeMotion {
    /// The parts of the local transforms; `None` where one has no inverse above it or is flat.
    fn of_locals(
        name: &str,
        parent: Option<usize>,
        joint: usize,
        locals: impl Iterator<Item = DAffine3>,
    ) -> Option<Self> {
        let (translations, rotations, scales) = (Vec::new(), Vec::new(), Vec::new());
        let mut motion = Self { name: name.to_owned(), parent, joint: Some(joint), translations, rotations, scales };
        for local in locals {
            let (scale, mut rotation) = scale_and_rotation(local.matrix3)?;
            if motion.rotations.last().is_some_and(|before| before.dot(rotation) < 0.0) {
                rotation = -rotation;
            }
            motion.translations.push(local.translation);
            motion.rotations.push(rotation);
            motion.scales.push(scale);
        }
        motion.translations.iter().all(|translation| translation.is_finite()).then_some(motion)
    }

    /// Makes constant what varies only by rounding.
    fn held(mut self) -> Self {
        let largest =
            |values: &[DVec3]| values.iter().fold(0.0, |most: f64, value| most.max(value.abs().max_element()));
        if self.scales.iter().all(|scale| (*scale - DVec3::ONE).abs().max_element() <= CONSTANT) {
            self.scales.fill(DVec3::ONE);
        }
        for values in [&mut self.scales, &mut self.translations] {
            let tolerance = CONSTANT * largest(values);
            hold(values, |a, b| (a - b).abs().max_element() <= tolerance);
        }
        hold(&mut self.rotations, |a, b| a.abs_diff_eq(b, CONSTANT));
        self
    }

    /// Rounds to f32.
    fn rounded(mut self) -> Self {
        for values in [&mut self.scales, &mut self.translations] {
            for value in values {
                *value = value.as_vec3().as_dvec3();
            }
        }
        for rotation in &mut self.rotations {
            *rotation = rotation.as_quat().normalize().as_dquat();
        }
        self
    }

    /// Where the node stands in its parent, as a player computes it.
    fn local(&self, pose: usize) -> DAffine3 {
        let rotation = self.rotations[pose].normalize();
        DAffine3::from_scale_rotation_translation(self.scales[pose], rotation, self.translations[pose])
    }
}

/// Lengths and directions of the columns; a reflection becomes a negative first scale.
fn scale_and_rotation(matrix: DMat3) -> Option<(DVec3, DQuat)> {
    let mirror = if matrix.determinant() < 0.0 { -1.0 } else { 1.0 };
    let scale = DVec3::new(mirror * matrix.x_axis.length(), matrix.y_axis.length(), matrix.z_axis.length());
    let [x, y, z] = [matrix.x_axis / scale.x, matrix.y_axis / scale.y, matrix.z_axis / scale.z];
    let rotation = DQuat::from_mat3(&DMat3::from_cols(x, y, z)).normalize();
    rotation.is_finite().then_some((scale, rotation))
}

/// Sets all values to the first where they are the same.
fn hold<T: Copy>(values: &mut [T], same: impl Fn(T, T) -> bool) {
    if let Some(&first) = values.first()
        && values.iter().all(|&value| same(value, first))
    {
        values.fill(first);
    }
}

#[cfg(test)]
mod tests {
    use dermis_mesh::{Joint, SkinWeights, TriMesh};

    use super::*;

    fn chain(count: usize) -> Rig {
        let joint = |index: usize| Joint::at(format!("j{index}"), index.checked_sub(1), DAffine3::IDENTITY);
        let none = SkinWeights::from_rows(Vec::<Vec<(u32, f32)>>::new());
        Rig::new(&TriMesh::default(), (0..count).map(joint).collect(), none, vec![]).unwrap()
    }

    fn worlds(motions: &[NodeMotion], pose: usize, joints: usize) -> Vec<DAffine3> {
        let mut all: Vec<DAffine3> = Vec::new();
        let mut of_joints = vec![DAffine3::IDENTITY; joints];
        for motion in motions {
            let world = motion.parent.map_or(DAffine3::IDENTITY, |parent| all[parent]) * motion.local(pose);
            if let Some(joint) = motion.joint {
                of_joints[joint] = world;
            }
            all.push(world);
        }
        of_joints
    }

    fn assert_restored(rig: &Rig, poses: &[Vec<DAffine3>]) -> Vec<NodeMotion> {
        let slices: Vec<&[DAffine3]> = poses.iter().map(Vec::as_slice).collect();
        let motions = node_motions(rig, &slices);
        for (pose, expected) in poses.iter().enumerate() {
            for (found, expected) in worlds(&motions, pose, expected.len()).iter().zip(expected) {
                assert!(is_close(*found, *expected, extent(&slices)), "pose {pose}: {found:?} is not {expected:?}");
            }
        }
        motions
    }

    #[test]
    fn a_long_chain_keeps_its_tree_and_its_precision() {
        let pose = |t: f64| {
            let mut world = DAffine3::IDENTITY;
            (0..60)
                .map(|joint| {
                    let turn = DQuat::from_rotation_z(t * f64::from(joint).sin());
                    world *=
                        DAffine3::from_scale_rotation_translation(DVec3::splat(1.01), turn, DVec3::new(0.1, 0.3, 0.0));
                    world
                })
                .collect()
        };
        let rig = chain(60);
        let motions = assert_restored(&rig, &[pose(0.0), pose(0.4), pose(0.8)]);
        assert_eq!(motions.len(), 60);
        assert!(motions.iter().skip(1).all(|motion| motion.parent.is_some()));
        assert!(motions.iter().all(|motion| motion.scales.iter().all(|scale| *scale == motion.scales[0])));
    }

    #[test]
    fn a_joint_that_shears_or_collapses_makes_flexible_bones() {
        let shear = DAffine3::from_mat3(DMat3::from_cols_array(&[1.0, 0.3, 0.0, 0.0, 1.0, 0.2, 0.0, 0.0, 1.0]));
        let flat = DAffine3::from_scale(DVec3::new(1.0, 0.0, 1.0));
        for odd in [shear, flat] {
            let rig = chain(2);
            let motions = assert_restored(&rig, &[vec![DAffine3::IDENTITY, odd], vec![odd, shear * odd]]);
            assert_eq!(motions.len(), 4);
        }
    }

    #[test]
    fn small_joints_below_a_large_one_keep_their_motion() {
        let large = DAffine3::from_scale(DVec3::splat(1e4));
        let small = |k: i32| large * DAffine3::from_translation(DVec3::new(1e-3, f64::from(k) * 3e-10, 0.0));
        let poses: Vec<Vec<DAffine3>> = (0..4).map(|k| vec![large, small(k)]).collect();
        assert_eq!(assert_restored(&chain(2), &poses).len(), 2);
    }

    #[test]
    fn mirrored_joints_keep_their_tree() {
        let mirror = DAffine3::from_scale(DVec3::new(1.0, -1.0, 1.0));
        let turn = DAffine3::from_rotation_y(0.3);
        let motions = assert_restored(&chain(2), &[vec![mirror, mirror * turn], vec![turn * mirror, mirror]]);
        assert_eq!(motions.len(), 2);
    }
}
