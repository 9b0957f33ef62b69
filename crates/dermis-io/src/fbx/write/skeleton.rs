//! Joints as limb nodes with their curves, and the skin clusters that bind a mesh to them.

use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Note, Object, Rig, RigPose};
use dermis_skin::export::{Nodes, bone_nodes, rigid_bones};
use glam::{DAffine3, DMat4, DVec3};

use super::curves::{Keys, Takes, Target};
use super::file::{FbxFile, ROOT, object};
use super::limbs::{Limb, Local, limbs};
use super::node::{Node, boolean, enumerated, integer, properties, property};
use crate::error::Error;
use crate::negative_weights::reject_negative;

/// A parent's scale and rotation act on its children as in a product of matrices.
const INHERIT_PLAINLY: i32 = 1;
/// Error of rigid bones above which it is reported, in percent of the diagonal; rounding in the source is below it.
const NOTED_ERROR_PERCENT: f64 = 1e-3;

/// The joints of an object as they are written: its own if they are translation, rotation and scale, else nested or
/// rigid ones.
pub(super) struct Bones {
    nodes: Nodes,
    clips: Vec<Arc<Clip>>,
}

/// A written skeleton that other objects can share.
pub(super) struct Skeleton {
    rig: Arc<Rig>,
    clips: Vec<Arc<Clip>>,
    /// True if each joint consists of three nodes, which are siblings of the nodes of other joints.
    flexible: bool,
    inverse_binds: Vec<DAffine3>,
    /// The limb of each joint.
    limbs: Vec<i64>,
}

/// Chooses the joints of `object`; notes report the loss.
pub(super) fn bones(object: &Object, rig: &Rig, nested: bool, notes: &mut Vec<Note>) -> Result<Bones, Error> {
    if let Some((rig, clips)) = unscaled(object, rig)? {
        let object = Object { rig: None, clips, ..object.clone() };
        return bones_as_bound(&object, &rig, nested, notes);
    }
    bones_as_bound(object, rig, nested, notes)
}

/// The same motion with joints that are bound without scale, which Blender and engines expect: transforms M can be
/// changed by any constant C if the inverse binds change with them, `M B⁻¹ = (M C)(C⁻¹ B⁻¹)`. `None` if no joint has a
/// scale.
#[allow(clippy::type_complexity, reason = "a rig and its clips, used once")]
fn unscaled(object: &Object, rig: &Rig) -> Result<Option<(Rig, Vec<Arc<Clip>>)>, Error> {
    const UNIT: f64 = 1e-6;
    let scale_of = |joint: &Joint| {
        let scale = joint.bind().to_scale_rotation_translation().0;
        // Only a uniform scale does not shear the children of a joint.
        let is_uniform = scale.max_element() - scale.min_element() <= UNIT * scale.max_element();
        let usable = scale.is_finite() && scale.min_element() > 0.0 && !scale.abs_diff_eq(DVec3::ONE, UNIT);
        if usable && is_uniform { DVec3::splat(scale.x) } else { DVec3::ONE }
    };
    let scales: Vec<DVec3> = rig.joints().iter().map(scale_of).collect();
    if scales.iter().all(|scale| *scale == DVec3::ONE) {
        return Ok(None);
    }
    let joint = |(joint, &scale): (&Joint, &DVec3)| Joint {
        inverse_bind: DAffine3::from_scale(scale) * joint.inverse_bind,
        ..joint.clone()
    };
    let joints = rig.joints().iter().zip(&scales).map(joint).collect();
    let mut unscaled = Rig::new(&object.mesh, joints, rig.weights().clone(), rig.shapes().to_vec())?;
    let posed = |transforms: &[DAffine3]| -> Vec<DAffine3> {
        let pairs = transforms.iter().zip(&scales);
        pairs.map(|(transform, scale)| *transform * DAffine3::from_scale(scale.recip())).collect()
    };
    if let Some(RigPose { transforms, shape_weights }) = rig.stored_pose() {
        let transforms = Arc::new(posed(transforms));
        unscaled = unscaled.with_stored_pose(RigPose { transforms, shape_weights: shape_weights.clone() })?;
    }
    let mut clips = Vec::with_capacity(object.clips.len());
    for clip in &object.clips {
        let frames = || 0..clip.frame_count();
        let weights = frames().flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
        let part = Clip::new(
            &unscaled,
            clip.name(),
            clip.frame_rate_hz(),
            frames().flat_map(|frame| posed(clip.transforms(frame))).collect(),
            weights,
        )?;
        clips.push(Arc::new(part.starting_at(clip.start_seconds())));
    }
    Ok(Some((unscaled, clips)))
}

fn bones_as_bound(object: &Object, rig: &Rig, nested: bool, notes: &mut Vec<Note>) -> Result<Bones, Error> {
    let nodes = bone_nodes(&object.mesh, rig, &object.clips)?;
    let is_bound = nodes.inverse_binds.iter().all(|inverse_bind| inverse_bind.inverse().is_finite());
    if is_bound && (nested || !nodes.flexible) {
        return Ok(Bones { nodes, clips: object.clips.clone() });
    }
    let rigid = rigid_bones(&object.mesh, rig, &object.clips)?;
    let [worst, typical] = [rigid.max_error, rigid.rms_error].map(|error| 100.0 * error / rigid.diagonal.max(1e-30));
    if worst > NOTED_ERROR_PERCENT {
        notes.push(Note::at(&object.name, rigid_note(worst, typical)));
    }
    Ok(Bones { nodes: bone_nodes(&object.mesh, &rigid.rig, &rigid.clips)?, clips: rigid.clips })
}

fn rigid_note(worst: f64, typical: f64) -> String {
    format!(
        "the bones stretch or shear, which FBX joints do not support: they are written as rigid bones, which moves points by up to {worst:.3} % of the diagonal ({typical:.3} % RMS); the option nested_bones writes them exactly, as nested nodes"
    )
}

impl Skeleton {
    /// Returns whether `object` has the same joints and the same clips.
    pub(super) fn serves(&self, object: &Object, rig: &Rig) -> bool {
        self.rig.has_skeleton_of(rig)
            && self.clips.len() == object.clips.len()
            && self.clips.iter().zip(&object.clips).all(|(a, b)| a.moves_joints_like(b))
    }

    /// Transforms from the bind shape of `rig` to the limb of each joint. The limb of a joint M of the first rig is M
    /// C, and its matrix is C⁻¹ B⁻¹; another bind pose has the same C.
    fn inverse_binds(&self, rig: &Rig) -> Vec<DAffine3> {
        let joints = self.rig.joints().iter().zip(rig.joints()).zip(&self.inverse_binds);
        let inverse_bind = |((first, other), inverse_bind): ((&Joint, &Joint), &DAffine3)| {
            let same = first.inverse_bind == other.inverse_bind;
            if same { *inverse_bind } else { *inverse_bind * first.bind() * other.inverse_bind }
        };
        joints.map(inverse_bind).collect()
    }
}

/// Writes limbs and their curves in the takes `parts`; returns the bind pose of the limbs as well.
pub(super) fn write_skeleton(
    file: &mut FbxFile,
    takes: &Takes,
    object: &Object,
    rig: &Arc<Rig>,
    bones: &Bones,
    parts: &[usize],
) -> Result<(Skeleton, Vec<(i64, DAffine3)>), Error> {
    let limbs = limbs(&bones.nodes, &bones.clips);
    let roots = limbs.iter().filter(|limb| limb.motion.parent.is_none()).count();
    // Engines expect one root.
    let above = if roots > 1 { write_null(file, &format!("{} rig", object.name))? } else { ROOT };
    let mut ids: Vec<i64> = Vec::with_capacity(limbs.len());
    let mut rests: Vec<DAffine3> = Vec::with_capacity(limbs.len());
    let mut bound = vec![ROOT; rig.joints().len()];
    let mut poses = Vec::with_capacity(limbs.len() + 1);
    for limb in &limbs {
        let id = write_limb(file, limb, limb.motion.parent.map_or(above, |parent| ids[parent]))?;
        let parent = limb.motion.parent.map_or(DAffine3::IDENTITY, |parent| rests[parent]);
        let rest = parent * limb.rest.transform();
        if let Some(joint) = limb.motion.joint {
            bound[joint] = id;
        }
        // The pose of a joint is its bind transform, that of a node above a joint its stored transform.
        poses.push((id, limb.motion.joint.map_or(rest, |joint| bones.nodes.inverse_binds[joint].inverse())));
        ids.push(id);
        rests.push(rest);
    }
    if above != ROOT {
        poses.push((above, DAffine3::IDENTITY));
    }
    animate(file, takes, &bones.clips, &limbs, &ids, parts)?;
    let (flexible, inverse_binds) = (bones.nodes.flexible, bones.nodes.inverse_binds.clone());
    let (rig, clips) = (Arc::clone(rig), object.clips.clone());
    Ok((Skeleton { rig, clips, flexible, inverse_binds, limbs: bound }, poses))
}

/// Writes a node; `kind` is its type.
pub(super) fn write_model(
    file: &mut FbxFile,
    name: &str,
    kind: &str,
    extra: Vec<Node>,
    parent: i64,
) -> Result<i64, Error> {
    let (id, name) = (file.id(), file.unique(name));
    let mut list = vec![
        boolean("RotationActive", true),
        enumerated("InheritType", INHERIT_PLAINLY),
        integer("DefaultAttributeIndex", 0),
    ];
    list.extend(extra);
    let model = object("Model", id, &name, "Model", kind).children([
        Node::of("Version", 232),
        properties(list),
        Node::of("Shading", true),
        Node::of("Culling", "CullingOff"),
    ]);
    file.object("Model", &model)?;
    file.connect(id, parent);
    Ok(id)
}

fn write_null(file: &mut FbxFile, name: &str) -> Result<i64, Error> {
    let id = write_model(file, name, "Null", Vec::new(), ROOT)?;
    write_attribute(file, id, name, "Null", "Null")?;
    Ok(id)
}

fn write_limb(file: &mut FbxFile, limb: &Limb<'_>, parent: i64) -> Result<i64, Error> {
    let Local { translation, degrees, scale } = limb.rest;
    let transform = |name: &str, value: DVec3| property(name, name, "", "A", value.to_array());
    let list = vec![
        transform("Lcl Translation", translation),
        transform("Lcl Rotation", degrees),
        transform("Lcl Scaling", scale),
    ];
    let id = write_model(file, &limb.motion.name, "LimbNode", list, parent)?;
    write_attribute(file, id, &limb.motion.name, "LimbNode", "Skeleton")?;
    Ok(id)
}

fn write_attribute(file: &mut FbxFile, node: i64, name: &str, kind: &str, flags: &str) -> Result<(), Error> {
    let id = file.id();
    let attribute = object("NodeAttribute", id, name, "NodeAttribute", kind).child(Node::of("TypeFlags", flags));
    file.object("NodeAttribute", &attribute)?;
    file.connect(id, node);
    Ok(())
}

/// Curves for everything that moves in any clip. A clip without motion gets one as well, so that it is stored.
fn animate(
    file: &mut FbxFile,
    takes: &Takes,
    clips: &[Arc<Clip>],
    limbs: &[Limb<'_>],
    ids: &[i64],
    parts: &[usize],
) -> Result<(), Error> {
    type Part = fn(&Local) -> DVec3;
    const PROPERTIES: [(&str, &str, Part); 3] = [
        ("Lcl Translation", "T", |local| local.translation),
        ("Lcl Rotation", "R", |local| local.degrees),
        ("Lcl Scaling", "S", |local| local.scale),
    ];
    let moves = |limb: &Limb<'_>, of: fn(&Local) -> DVec3| limb.keys.iter().any(|key| of(key) != of(&limb.rest));
    let any_moves = limbs.iter().any(|limb| PROPERTIES.iter().any(|(_, _, of)| moves(limb, *of)));
    let mut firsts = vec![0; limbs.len()];
    for (clip, &take) in clips.iter().zip(parts) {
        for (number, (limb, &id)) in limbs.iter().zip(ids).enumerate() {
            let keys = &limb.keys[firsts[number]..firsts[number] + limb.motion.key_count(clip)];
            firsts[number] += keys.len();
            for (property, short, of) in PROPERTIES {
                if moves(limb, of) || (!any_moves && number == 0) {
                    let curve = |axis: usize| keys.iter().map(|key| of(key)[axis] as f32).collect();
                    let curves = [("X", curve(0)), ("Y", curve(1)), ("Z", curve(2))];
                    let times = if limb.motion.fine { Keys::HalfFrames } else { Keys::Frames };
                    takes.animate(file, take, &Target { id, property, short }, &times, &curves)?;
                }
            }
        }
    }
    Ok(())
}

/// Binds the geometry `geometry` of a mesh to the skeleton: a cluster for every joint, even if it has no points.
pub(super) fn write_skin(
    file: &mut FbxFile,
    name: &str,
    geometry: i64,
    rig: &Rig,
    skeleton: &Skeleton,
) -> Result<(), Error> {
    reject_negative(rig, "FBX")?;
    let skin = file.id();
    let node = object("Deformer", skin, name, "Deformer", "Skin");
    let parts = [Node::of("Version", 101), Node::of("Link_DeformAcuracy", 50.0), Node::of("SkinningType", "Linear")];
    // Flexible bones are written as siblings; their hierarchy is stored for the reader of dermis.
    let mark = skeleton.flexible.then(|| {
        let parent = |joint: &Joint| joint.parent.map_or_else(|| "-1".to_owned(), |parent| parent.to_string());
        let parents: Vec<String> = rig.joints().iter().map(parent).collect();
        properties([property(crate::fbx::JOINT_PARENTS, "KString", "", "U", [parents.join(" ")])])
    });
    file.object("Deformer", &node.children(parts).children(mark))?;
    file.connect(skin, geometry);
    let inverse_binds = skeleton.inverse_binds(rig);
    let mut clusters = vec![(Vec::new(), Vec::new()); rig.joints().len()];
    for (point, row) in rig.weights().normalized(usize::MAX).rows().enumerate() {
        for (joint, weight) in row {
            let (points, weights): &mut (Vec<i32>, Vec<f64>) = &mut clusters[joint as usize];
            points.push(point as i32);
            weights.push(f64::from(weight));
        }
    }
    for (joint, (points, weights)) in clusters.into_iter().enumerate() {
        let id = file.id();
        let inverse_bind = inverse_binds[joint];
        let mut node = object("Deformer", id, &rig.joints()[joint].name, "SubDeformer", "Cluster")
            .children([Node::of("Version", 100), Node::of("UserData", "").with("")]);
        if !points.is_empty() {
            node = node.child(Node::of("Indexes", points)).child(Node::of("Weights", weights));
        }
        let node = node.children([
            Node::of("Transform", matrix(inverse_bind)),
            Node::of("TransformLink", matrix(inverse_bind.inverse())),
        ]);
        file.object("Deformer", &node)?;
        file.connect(id, skin);
        file.connect(skeleton.limbs[joint], id);
    }
    Ok(())
}

/// Writes the pose in which meshes are bound, with every mesh and limb.
pub(super) fn write_bind_pose(file: &mut FbxFile, poses: &[(i64, DAffine3)]) -> Result<(), Error> {
    if poses.is_empty() {
        return Ok(());
    }
    let id = file.id();
    let pose = |&(node, transform): &(i64, DAffine3)| {
        Node::new("PoseNode").child(Node::of("Node", node)).child(Node::of("Matrix", matrix(transform)))
    };
    let node = object("Pose", id, "bind pose", "Pose", "BindPose").children([
        Node::of("Type", "BindPose"),
        Node::of("Version", 100),
        Node::of("NbPoseNodes", poses.len() as i32),
    ]);
    file.object("Pose", &node.children(poses.iter().map(pose)))
}

fn matrix(transform: DAffine3) -> Vec<f64> {
    DMat4::from(transform).to_cols_array().to_vec()
}
