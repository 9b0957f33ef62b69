//! Skins: joint nodes with their animation, inverse bind matrices, and the weights of vertices.

use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Note, Object, Rig};
use dermis_skin::export::{NodeMotion, NodeTransform, bone_nodes};
use glam::{DAffine3, DMat4, DQuat, DVec3, Vec3};

use super::animations::{Animations, Channel};
use super::file::{GltfFile, Usage, push};
use super::object::Accessors;
use super::surface::Surface;
use crate::error::Error;
use crate::gltf::schema::{Extras, Node, Skin, SkinMark};
use crate::negative_weights::reject_negative;

/// Viewers support at least one set of four influences; not all support more.
const SET: usize = 4;
/// Deviation of the sum of a point's weights from 1 above which normalization is reported in a note.
const SUM_TOLERANCE: f32 = 1e-3;

/// A written skeleton that other objects can share.
pub(super) struct Skeleton {
    rig: Arc<Rig>,
    clips: Vec<Arc<Clip>>,
    /// The node of each joint.
    pub nodes: Vec<usize>,
    /// The node above its joints.
    pub armature: usize,
    /// True if each joint consists of three nodes, which are siblings of the nodes of other joints.
    pub flexible: bool,
    /// Transforms from the rest mesh of `rig` to the space of each node.
    inverse_binds: Vec<DAffine3>,
    /// The skins of the skeleton, and the rigs with their bind poses.
    skins: Vec<(Arc<Rig>, usize)>,
}

impl Skeleton {
    /// Returns whether `object` has the same joints and the same clips.
    pub(super) fn serves(&self, object: &Object, rig: &Arc<Rig>) -> bool {
        self.rig.has_skeleton_of(rig)
            && self.clips.len() == object.clips.len()
            && self.clips.iter().zip(&object.clips).all(|(a, b)| a.moves_joints_like(b))
    }

    /// The skin for the bind pose of `rig`.
    pub(super) fn skin(&mut self, file: &mut GltfFile, rig: &Arc<Rig>) -> Result<usize, Error> {
        let same = |(known, _): &&(Arc<Rig>, usize)| {
            Arc::ptr_eq(known.shared_joints(), rig.shared_joints()) || known.joints() == rig.joints()
        };
        if let Some((_, skin)) = self.skins.iter().find(same) {
            return Ok(*skin);
        }
        let joints = self.rig.joints().iter().zip(rig.joints()).zip(&self.inverse_binds);
        // A node of the first rig's joint M is M C, and `inverse_bind` is C⁻¹ B⁻¹; another bind pose has the same C.
        let inverse_bind = |((first, other), inverse_bind): ((&Joint, &Joint), &DAffine3)| {
            let same = first.inverse_bind == other.inverse_bind;
            if same { *inverse_bind } else { *inverse_bind * first.bind() * other.inverse_bind }
        };
        let inverse_binds: Vec<DAffine3> = joints.map(inverse_bind).collect();
        let skin = write_skin(file, rig, &inverse_binds, &self.nodes, self.flexible)?;
        self.skins.push((Arc::clone(rig), skin));
        Ok(skin)
    }
}

/// Writes the joints of an object as nodes below an armature node, and their animation.
pub(super) fn write_skeleton(
    file: &mut GltfFile,
    animations: &mut Animations,
    object: &Object,
    rig: &Arc<Rig>,
    parts: &[usize],
) -> Result<Skeleton, Error> {
    let written = bone_nodes(&object.mesh, rig, &object.clips)?;
    let motions = &written.motions;
    let nodes: Vec<usize> = motions.iter().map(|motion| push(&mut file.root.nodes, node(motion))).collect();
    let armature = Node { name: format!("{} rig", object.name), ..Node::default() };
    let armature = push(&mut file.root.nodes, armature);
    for (motion, &node) in motions.iter().zip(&nodes) {
        let parent = motion.parent.map_or(armature, |parent| nodes[parent]);
        file.root.nodes[parent].children.push(node);
    }
    animate(file, animations, object, motions, &nodes, parts)?;
    let mut joints = vec![0; rig.joints().len()];
    for (motion, &node) in motions.iter().zip(&nodes) {
        if let Some(joint) = motion.joint {
            joints[joint] = node;
        }
    }
    Ok(Skeleton {
        rig: Arc::clone(rig),
        clips: object.clips.clone(),
        nodes: joints,
        armature,
        flexible: written.flexible,
        inverse_binds: written.inverse_binds,
        skins: Vec::new(),
    })
}

/// The node at rest; identity components are skipped.
fn node(motion: &NodeMotion) -> Node {
    let NodeTransform { translation, rotation, scale } = motion.rest();
    Node {
        name: motion.name.clone(),
        translation: (translation != DVec3::ZERO).then(|| translation.to_array()),
        rotation: (rotation != DQuat::IDENTITY).then(|| rotation.to_array()),
        scale: (scale != DVec3::ONE).then(|| scale.to_array()),
        ..Node::default()
    }
}

/// Channels for everything that moves in any clip. A clip without motion gets one as well, so that it is stored.
fn animate(
    file: &mut GltfFile,
    animations: &mut Animations,
    object: &Object,
    motions: &[NodeMotion],
    nodes: &[usize],
    parts: &[usize],
) -> Result<(), Error> {
    let mut firsts = vec![0; motions.len()];
    for (clip, &animation) in object.clips.iter().zip(parts) {
        let mut moves = false;
        for ((motion, &node), first) in motions.iter().zip(nodes).zip(&mut firsts) {
            let range = *first..*first + motion.key_count(clip);
            *first = range.end;
            let rest = motion.rest();
            let channel = |path| Channel { animation, node, path, fine: motion.fine };
            if motion.translations.iter().any(|translation| *translation != rest.translation) {
                animations.add(file, channel("translation"), &vectors(&motion.translations[range.clone()]))?;
                moves = true;
            }
            if motion.rotations.iter().any(|rotation| *rotation != rest.rotation) {
                animations.add(file, channel("rotation"), &rotations(&motion.rotations[range.clone()]))?;
                moves = true;
            }
            if motion.scales.iter().any(|scale| *scale != rest.scale) {
                animations.add(file, channel("scale"), &vectors(&motion.scales[range]))?;
                moves = true;
            }
        }
        if !moves {
            let still = vec![motions[0].rest().rotation; motions[0].key_count(clip)];
            let channel = Channel { animation, node: nodes[0], path: "rotation", fine: motions[0].fine };
            animations.add(file, channel, &rotations(&still))?;
        }
    }
    Ok(())
}

fn vectors(values: &[DVec3]) -> Vec<Vec3> {
    values.iter().map(|value| value.as_vec3()).collect()
}

fn rotations(values: &[DQuat]) -> Vec<[f32; 4]> {
    values.iter().map(|rotation| rotation.as_quat().to_array()).collect()
}

fn write_skin(
    file: &mut GltfFile,
    rig: &Rig,
    inverse_binds: &[DAffine3],
    nodes: &[usize],
    flexible: bool,
) -> Result<usize, Error> {
    let matrix = |transform: DAffine3| DMat4::from(transform).as_mat4().to_cols_array();
    let matrices: Vec<[f32; 16]> = inverse_binds.iter().map(|&transform| matrix(transform)).collect();
    let inverse_bind_matrices = Some(file.accessor(&matrices, Usage::Other)?);
    let mut extras = Extras::default();
    // Flexible bones are written as siblings; their hierarchy is stored for the reader of dermis.
    if flexible {
        let parent = |parent: Option<usize>| parent.map_or(-1, |parent| parent as i64);
        let parents: Vec<i64> = rig.joints().iter().map(|joint| parent(joint.parent)).collect();
        extras = SkinMark { parents }.into();
    }
    Ok(push(&mut file.root.skins, Skin { inverse_bind_matrices, joints: nodes.to_vec(), extras }))
}

/// Adds as many sets of `JOINTS_n` and `WEIGHTS_n` as the point with the most influences needs.
pub(super) fn write_influences(
    file: &mut GltfFile,
    attributes: &mut Accessors,
    rig: &Rig,
    surface: &Surface,
    location: &str,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    if rig.joints().len() > usize::from(u16::MAX) + 1 {
        return Err(Error::unsupported(format!("{} joints exceed the limit of glTF", rig.joints().len())));
    }
    reject_negative(rig, "glTF")?;
    note_rescaling(rig, location, notes);
    let weights = rig.weights().normalized(usize::MAX);
    let most = weights.max_influences().max(1);
    if most > SET {
        let message =
            format!("points have up to {most} influences; viewers that support only 4 ignore the smaller ones");
        notes.push(Note::at(location, message));
    }
    let rows: Vec<Vec<(u32, f32)>> = weights.rows().map(|row| summing_to_one(row.collect())).collect();
    for set in 0..most.div_ceil(SET) {
        let slot = |row: &Vec<(u32, f32)>, slot: usize| row.get(set * SET + slot).copied().unwrap_or((0, 0.0));
        let joints: Vec<[u16; 4]> = rows.iter().map(|row| std::array::from_fn(|k| slot(row, k).0 as u16)).collect();
        let weights: Vec<[f32; 4]> = rows.iter().map(|row| std::array::from_fn(|k| slot(row, k).1)).collect();
        let joints = surface.split(&joints);
        let joints = if rig.joints().len() <= 256 {
            let small: Vec<[u8; 4]> = joints.iter().map(|joints| joints.map(|joint| joint as u8)).collect();
            file.accessor(&small, Usage::Vertices)?
        } else {
            file.accessor(&joints, Usage::Vertices)?
        };
        attributes.insert(format!("JOINTS_{set}"), joints);
        let weights = file.accessor(&surface.split(&weights), Usage::Vertices)?;
        attributes.insert(format!("WEIGHTS_{set}"), weights);
    }
    Ok(())
}

fn note_rescaling(rig: &Rig, location: &str, notes: &mut Vec<Note>) {
    let odd = rig.weights().rows().any(|row| (row.map(|(_, weight)| weight).sum::<f32>() - 1.0).abs() > SUM_TOLERANCE);
    if odd {
        notes.push(Note::at(location, "skin weights that do not sum to 1 are normalized"));
    }
}

/// The rounding error of the weights in f32 is added to the largest, so that the stored weights sum to 1.
fn summing_to_one(mut row: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
    let sum: f64 = row.iter().map(|(_, weight)| f64::from(*weight)).sum();
    if let Some((_, largest)) = row.first_mut() {
        *largest = (f64::from(*largest) + 1.0 - sum) as f32;
    }
    row
}
