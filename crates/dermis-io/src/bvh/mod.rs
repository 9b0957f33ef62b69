//! BVH: a skeleton with its motion, as motion capture programs exchange it. Read only.
//!
//! A file has no mesh. It is read as an object with the name of the file, a rig without points, and a clip, as input
//! for `pose --rig` and other commands that accept a motion.
//!
//! `HIERARCHY` defines an offset from its parent and a list of channels for each joint; `MOTION` lists the values of
//! the channels in each frame. Channels are applied in the order of the list: `Zrotation Xrotation Yrotation` is
//! `Rz · Rx · Ry`. Angles are in degrees. Positions replace the offset of the root and, as written by most programs, of
//! any other joint that has them. In the rest pose, all joints are at their offsets, without rotation; a root whose
//! offset is 0 is raised to the length of its legs if it has that height in the first frame ([`leg_length`]). The
//! format defines neither units nor an up axis.

mod parse;

use std::collections::HashMap;
use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Note, Object, Rig, Scene, SkinWeights, TriMesh};
use glam::{DAffine3, DQuat, DVec3};

use self::parse::{Channel, File, Node, parse};
use crate::error::Error;
use crate::frame_rate;
use crate::input::Input;
use crate::options::ReadOptions;

/// Name of the only clip.
const CLIP_NAME: &str = "motion";

/// Maximum deviation of the root's height in the first frame from the length of the legs, relative to it.
const MAX_DEVIATION: f64 = 0.4;

/// Reads a file.
pub(crate) fn read(input: &Input, _: &ReadOptions) -> Result<Scene, Error> {
    let file = parse(&input.bytes)?;
    let mut notes = Vec::new();
    let joints = joints(&file.nodes, leg_length(&file), &mut notes);
    let rig = Rig::new(&TriMesh::default(), joints, SkinWeights::from_rows([[]; 0]), Vec::new())?;
    let clips = clip(&file, &rig, &mut notes)?.into_iter().collect();
    if file.frames.len() > file.stated_frames {
        let (stated, found) = (file.stated_frames, file.frames.len());
        notes.push(Note::new(format!(
            "the header states the number of frames as {stated}, but there are {found}; all are read"
        )));
    }
    notes.push(Note::new("the file contains a motion without a mesh; the format has no units and no up axis"));
    Ok(Scene {
        objects: vec![Object::of_rig(input.name.clone(), Arc::default(), rig, clips)],
        notes,
        ..Scene::default()
    })
}

/// The joints in the order of the file, including end sites, with unique names.
fn joints(nodes: &[Node], root: DVec3, notes: &mut Vec<Note>) -> Vec<Joint> {
    let mut taken: HashMap<&str, usize> = HashMap::new();
    let mut positions: Vec<DVec3> = Vec::with_capacity(nodes.len());
    let mut joints = Vec::with_capacity(nodes.len());
    for node in nodes {
        let above = node.parent.map_or(root, |parent| positions[parent]);
        positions.push(above + node.offset);
        let count = taken.entry(&node.name).or_default();
        *count += 1;
        let name = if *count == 1 { node.name.clone() } else { format!("{}_{count}", node.name) };
        if *count == 2 {
            notes.push(Note::at(node.name.clone(), "several joints have this name; they are numbered"));
        }
        joints.push(Joint::at(name, node.parent, DAffine3::from_translation(above + node.offset)));
    }
    joints
}

/// Offset of the root in the rest pose. Many programs write 0 and put the height of the hips into the position
/// channels: a motion relative to such a rest pose would lift a character by the length of its legs. If the height of
/// the root in the first frame is about its distance to its lowest joint, that height is used.
fn leg_length(file: &File) -> DVec3 {
    let (Some(root), Some(frame)) = (file.nodes.first(), file.frames.first()) else { return DVec3::ZERO };
    let mut positions: Vec<DVec3> = Vec::with_capacity(file.nodes.len());
    for node in &file.nodes {
        positions.push(node.parent.map_or(DVec3::ZERO, |parent| positions[parent]) + node.offset);
    }
    let first = local(root, frame).translation;
    let legs = |axis: usize| -positions.iter().map(|position| position[axis]).fold(0.0, f64::min);
    let deviation = |axis: usize| (first[axis] / legs(axis) - 1.0).abs();
    let stands = |axis: &usize| root.offset[*axis].abs() < 0.1 * legs(*axis) && deviation(*axis) < MAX_DEVIATION;
    let axis = (0..3).filter(stands).min_by(|&a, &b| deviation(a).total_cmp(&deviation(b)));
    axis.map_or(DVec3::ZERO, |axis| DVec3::AXES[axis] * legs(axis))
}

/// The motion; `None` if the file has no frames.
fn clip(file: &File, rig: &Rig, notes: &mut Vec<Note>) -> Result<Option<Clip>, Error> {
    if file.frames.is_empty() {
        notes.push(Note::new("the file has a skeleton without frames"));
        return Ok(None);
    }
    // Times are written with few digits: 0.0333333 is 30 fps.
    let rate_hz = frame_rate::snapped(1.0 / file.frame_seconds);
    let mut transforms = Vec::with_capacity(file.frames.len() * file.nodes.len());
    for frame in &file.frames {
        let mut worlds: Vec<DAffine3> = Vec::with_capacity(file.nodes.len());
        for node in &file.nodes {
            let above = node.parent.map_or(DAffine3::IDENTITY, |parent| worlds[parent]);
            worlds.push(above * local(node, frame));
        }
        transforms.extend(worlds);
    }
    Ok(Some(Clip::new(rig, CLIP_NAME, rate_hz, transforms, Vec::new())?))
}

/// Transform of a joint relative to its parent.
fn local(node: &Node, frame: &[f64]) -> DAffine3 {
    let values = &frame[node.first_channel..node.first_channel + node.channels.len()];
    let mut translation = node.offset;
    let mut rotation = DQuat::IDENTITY;
    for (channel, &value) in node.channels.iter().zip(values) {
        match *channel {
            Channel::Position(axis) => translation[axis] = value,
            Channel::Rotation(axis) => {
                rotation *= DQuat::from_axis_angle(DVec3::AXES[axis], value.to_radians());
            }
        }
    }
    DAffine3::from_rotation_translation(rotation.normalize(), translation)
}
