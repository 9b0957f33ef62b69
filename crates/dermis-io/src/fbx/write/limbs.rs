//! Nodes of a rig in the form of FBX: translation, Euler angles and scale, in single precision at keys.
//!
//! Every node is expressed relative to its parent *as written*, so that rounding errors do not accumulate along chains.
//! Angles are continuous from key to key. Nodes have no pre-rotation: assimp 5 animates nodes with a pre-rotation
//! incorrectly.

use dermis_mesh::Clip;
use dermis_skin::export::{NodeMotion, NodeTransform, Nodes};
use glam::{DAffine3, DMat3, DQuat, DVec3, EulerRot};

/// A node relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Local {
    pub translation: DVec3,
    /// Angles about x, y and z in degrees, applied in this order.
    pub degrees: DVec3,
    pub scale: DVec3,
}

/// A node and its keys.
pub(super) struct Limb<'a> {
    pub motion: &'a NodeMotion,
    pub rest: Local,
    /// Transform at each key of all clips.
    pub keys: Vec<Local>,
}

/// The nodes as they are written.
pub(super) fn limbs<'a>(nodes: &'a Nodes, clips: &[std::sync::Arc<Clip>]) -> Vec<Limb<'a>> {
    let mut limbs: Vec<Limb<'a>> = Vec::with_capacity(nodes.motions.len());
    let mut exact: Vec<Vec<DAffine3>> = Vec::with_capacity(nodes.motions.len());
    let mut written: Vec<Vec<DAffine3>> = Vec::with_capacity(nodes.motions.len());
    for motion in &nodes.motions {
        let at = |worlds: &[Vec<DAffine3>], key: usize| motion.parent.map_or(DAffine3::IDENTITY, |it| worlds[it][key]);
        let starts = clip_starts(motion, clips);
        let moves = Moves::of(motion);
        let mut limb = Limb { motion, rest: local(motion.rest(), DVec3::ZERO), keys: Vec::new() };
        let (mut exact_worlds, mut written_worlds) = (Vec::new(), Vec::new());
        for key in 0..motion.rotations.len() {
            let node = motion.node_transform(key);
            let world = at(&exact, key) * node.transform();
            let corrected = moves.corrected(node, at(&written, key).inverse() * world);
            let before = if starts.contains(&key) { limb.rest.degrees } else { limb.keys[key - 1].degrees };
            let local = local(corrected, before);
            written_worlds.push(at(&written, key) * local.transform());
            exact_worlds.push(world);
            limb.keys.push(local);
        }
        exact.push(exact_worlds);
        written.push(written_worlds);
        limbs.push(limb);
    }
    limbs
}

/// Index of the first key of each clip.
fn clip_starts(motion: &NodeMotion, clips: &[std::sync::Arc<Clip>]) -> Vec<usize> {
    let mut next = 0;
    let mut starts = vec![0];
    for clip in clips {
        starts.push(next);
        next += motion.key_count(clip);
    }
    starts
}

/// Parts of a node that move.
struct Moves {
    translation: bool,
    rotation: bool,
    scale: bool,
}

impl Moves {
    fn of(motion: &NodeMotion) -> Self {
        Self {
            translation: motion.translations.iter().any(|value| *value != motion.translations[0]),
            rotation: motion.rotations.iter().any(|value| *value != motion.rotations[0]),
            scale: motion.scales.iter().any(|value| *value != motion.scales[0]),
        }
    }

    /// `node` with the moving parts of `local`, which compensates for the rounding of the nodes above. Parts that do
    /// not move stay constant.
    fn corrected(&self, node: NodeTransform, local: DAffine3) -> NodeTransform {
        let DMat3 { x_axis, y_axis, z_axis } = local.matrix3;
        let scale = DVec3::new(x_axis.length(), y_axis.length(), z_axis.length()) * node.scale.signum();
        let axes = DMat3::from_cols(x_axis / scale.x, y_axis / scale.y, z_axis / scale.z);
        let rotation = DQuat::from_mat3(&axes).normalize();
        // Nodes below a node of zero scale, and reflections, are not corrected.
        let usable = rotation.is_finite() && scale.is_finite() && rotation.dot(node.rotation).abs() > 1.0 - 1e-6;
        if !usable {
            return node;
        }
        NodeTransform {
            translation: if self.translation { local.translation } else { node.translation },
            rotation: if self.rotation { rotation } else { node.rotation },
            scale: if self.scale { scale } else { node.scale },
        }
    }
}

impl Local {
    /// The transform as a reader computes it.
    pub(super) fn transform(&self) -> DAffine3 {
        DAffine3::from_scale_rotation_translation(self.scale, rotation(self.degrees), self.translation)
    }
}

fn local(node: NodeTransform, before: DVec3) -> Local {
    let single = |value: DVec3| value.as_vec3().as_dvec3();
    let degrees = near(degrees(node.rotation), before);
    Local { translation: single(node.translation), degrees: single(degrees), scale: single(node.scale) }
}

/// Rotation by angles about x, then y, then z.
fn rotation(degrees: DVec3) -> DQuat {
    let [x, y, z] = degrees.to_array().map(f64::to_radians);
    DQuat::from_euler(EulerRot::ZYX, z, y, x)
}

fn degrees(rotation: DQuat) -> DVec3 {
    let (z, y, x) = rotation.normalize().to_euler(EulerRot::ZYX);
    let tidy = |angle: f64| if angle.abs() < 1e-12 { 0.0 } else { angle.to_degrees() };
    DVec3::new(tidy(x), tidy(y), tidy(z))
}

/// The angles of the same rotation that are nearest to `before`.
fn near(degrees: DVec3, before: DVec3) -> DVec3 {
    let turned = |angles: DVec3| angles + 360.0 * ((before - angles) / 360.0).round();
    let other = DVec3::new(degrees.x + 180.0, 180.0 - degrees.y, degrees.z + 180.0);
    let [first, second] = [turned(degrees), turned(other)];
    let distance = |angles: DVec3| (angles - before).abs().element_sum();
    if distance(second) < distance(first) { second } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_continuous_and_the_same_rotation() {
        let mut before = DVec3::ZERO;
        for step in 0..400 {
            let t = 0.05 * f64::from(step);
            let expected = DQuat::from_euler(EulerRot::ZYX, 1.3 * t, 1.2 * t.sin(), 0.7 * t);
            let angles = near(degrees(expected), before);
            assert!(rotation(angles).dot(expected).abs() > 1.0 - 1e-12);
            assert!((angles - before).abs().max_element() < 30.0, "{step}: {before} {angles}");
            before = angles;
        }
    }
}
