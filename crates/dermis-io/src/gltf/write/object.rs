//! One object: its mesh with primitives and morph targets, its node, and its part in the animations.

use std::collections::BTreeMap;
use std::sync::Arc;

use dermis_mesh::{CornerData, Material, MeshSequence, Note, Object, PolygonMesh, Polygons, Rig};
use glam::{DAffine3, DMat4, Vec3};

use super::animations::{Channel, Frames};
use super::file::{Usage, push};
use super::skin::{write_influences, write_skeleton};
use super::surface::Surface;
use super::{Tick, Writer};
use crate::error::Error;
use crate::following_normals::FollowingNormals;
use crate::gltf::POINT_ATTRIBUTE;
use crate::gltf::schema::{Extras, Mesh, MeshMark, Node, Primitive};
use crate::output::step;

/// Accessors by the names of attributes.
pub(super) type Accessors = BTreeMap<String, usize>;

/// Name of the animation of recorded frames.
const SEQUENCE_NAME: &str = "frames";
const POINTS: u32 = 0;

/// Motion of an object in the file.
enum Motion<'a> {
    None,
    Rig(&'a Arc<Rig>),
    Recorded(&'a MeshSequence),
}

/// Parts of the file that an object with a rig belongs to.
#[derive(Default)]
pub(super) struct Carried {
    /// The animation of each clip.
    pub animations: Vec<usize>,
    skeleton: Option<usize>,
    /// The joint of a rigid part, and its transform relative to the joint.
    pub part: Option<(usize, DAffine3)>,
}

/// The rig if it has motion or the object has no recorded frames; the recorded frames otherwise.
fn motion_of<'a>(object: &'a Object, notes: &mut Vec<Note>) -> Motion<'a> {
    match (&object.rig, &object.sequence) {
        (Some(rig), Some(_)) if !object.clips.is_empty() => {
            notes.push(Note::at(&object.name, "the rig is written; the recorded frames are dropped"));
            Motion::Rig(rig)
        }
        (Some(_), Some(sequence)) => {
            notes.push(Note::at(
                &object.name,
                "the recorded frames are written; the rig, which has no clip, is dropped",
            ));
            Motion::Recorded(sequence)
        }
        (None, Some(sequence)) => Motion::Recorded(sequence),
        (Some(rig), None) => Motion::Rig(rig),
        (None, None) => Motion::None,
    }
}

/// Number of steps of progress of an object.
pub(super) fn step_count(object: &Object) -> usize {
    match motion_of(object, &mut Vec::new()) {
        Motion::None => 1,
        Motion::Rig(rig) => 1 + rig.shapes().len() * (1 + object.levels.len()),
        Motion::Recorded(sequence) => 1 + sequence.frame_count(),
    }
}

impl Writer<'_> {
    /// Writes `object`, the `number`th.
    pub(super) fn object(&mut self, object: &Object, number: usize) -> Result<(), Error> {
        if object.mesh.point_count() == 0 {
            return self.skeleton_alone(object, number);
        }
        if object.tets.is_some() {
            self.notes.push(Note::at(&object.name, "glTF has no tetrahedra; only the surface is written"));
        }
        let motion = motion_of(object, &mut self.notes);
        let carried = match motion {
            Motion::Rig(rig) => self.carried(object, number, rig)?,
            _ => Carried::default(),
        };
        let surface = Surface::new(&object.mesh);
        let mut attributes = self.attributes(object, &surface)?;
        let mut mark = surface.marked || object.mesh.triangle_count() == 0;
        let mut node = Node { name: object.name.clone(), ..Node::default() };
        let mut extras = Extras::default();
        self.tick.step()?;
        let targets = match motion {
            Motion::None => Vec::new(),
            Motion::Rig(rig) => {
                if !rig.joints().is_empty() && carried.part.is_none() {
                    write_influences(&mut self.file, &mut attributes, rig, &surface, &object.name, &mut self.notes)?;
                }
                extras.target_names = shape_names(rig);
                self.shape_targets(rig, &surface)?
            }
            Motion::Recorded(sequence) => {
                mark = true;
                self.recorded_targets(object, sequence, &surface)?
            }
        };
        let (weights, bind_weights) = weights_at_rest(object, &motion);
        if mark || bind_weights {
            extras.dermis = Some(MeshMark { sequence: matches!(motion, Motion::Recorded(_)), bind_weights });
        }
        let primitives = self.primitives(&surface, &attributes, &targets)?;
        self.deformers(object, &mut node)?;
        let mesh = Mesh { name: object.name.clone(), primitives, weights, extras };
        node.mesh = Some(push(&mut self.file.root.meshes, mesh));
        let index = push(&mut self.file.root.nodes, node);
        self.animate(object, number, &motion, &carried, index)?;
        self.levels(object, &carried, index)
    }

    /// The animations and the skeleton of an object with a rig.
    fn carried(&mut self, object: &Object, number: usize, rig: &Arc<Rig>) -> Result<Carried, Error> {
        let clips = object.clips.iter().map(|clip| Frames::of_clip(clip));
        let animations: Vec<usize> = clips.map(|frames| self.animations.of_object(&frames, number)).collect();
        if rig.joints().is_empty() {
            return Ok(Carried { animations, ..Carried::default() });
        }
        let known = self.skeletons.iter().position(|skeleton| skeleton.serves(object, rig));
        let skeleton = if let Some(known) = known {
            known
        } else {
            let skeleton = write_skeleton(&mut self.file, &mut self.animations, object, rig, &animations)?;
            self.placed.push(skeleton.armature);
            push(&mut self.skeletons, skeleton)
        };
        // A part of a flexible bone, which is three nodes, would be read as a part of three joints.
        let part = rigid_part(rig).filter(|_| !self.skeletons[skeleton].flexible);
        Ok(Carried { animations, skeleton: Some(skeleton), part })
    }

    /// The joints and clips of an object without points, such as the motion of a file without meshes.
    fn skeleton_alone(&mut self, object: &Object, number: usize) -> Result<(), Error> {
        self.tick.step()?;
        let Some(rig) = object.rig.as_ref().filter(|rig| !rig.joints().is_empty()) else {
            self.notes.push(Note::at(&object.name, "an object without points is dropped"));
            return Ok(());
        };
        let carried = self.carried(object, number, rig)?;
        let skeleton = carried.skeleton.map(|skeleton| &mut self.skeletons[skeleton]);
        skeleton.map_or(Ok(()), |skeleton| skeleton.skin(&mut self.file, rig).map(|_| ()))
    }

    /// The attributes that all primitives share.
    pub(super) fn attributes(&mut self, object: &Object, surface: &Surface) -> Result<Accessors, Error> {
        let file = &mut self.file;
        let mut attributes = Accessors::new();
        let positions = surface.split(object.mesh.points());
        attributes.insert("POSITION".into(), file.bounded_positions(&positions)?);
        if let Some(normals) = &surface.normals {
            attributes.insert("NORMAL".into(), file.accessor(normals, Usage::Vertices)?);
        }
        if let Some(tangents) = &surface.tangents {
            attributes.insert("TANGENT".into(), file.accessor(tangents, Usage::Vertices)?);
        }
        for (set, uvs) in surface.uvs.iter().enumerate() {
            attributes.insert(format!("TEXCOORD_{set}"), file.accessor(uvs, Usage::Vertices)?);
        }
        for (set, colors) in surface.colors.iter().enumerate() {
            attributes.insert(format!("COLOR_{set}"), file.accessor(colors, Usage::Vertices)?);
        }
        for (name, values) in &object.attributes {
            if values.len() != object.mesh.point_count() || name == POINT_ATTRIBUTE {
                self.notes.push(Note::at(&object.name, format!("the attribute '{name}' is dropped")));
                continue;
            }
            let finite = |&value: &f32| if value.is_finite() { value } else { 0.0 };
            let values: Vec<f32> = surface.split(values).iter().map(finite).collect();
            attributes.insert(format!("_{name}"), file.accessor(&values, Usage::Vertices)?);
        }
        if surface.marked {
            let points: Vec<f32> = surface.vertex_points.iter().map(|&point| point as f32).collect();
            attributes.insert(format!("_{POINT_ATTRIBUTE}"), file.accessor(&points, Usage::Vertices)?);
        }
        Ok(attributes)
    }

    pub(super) fn primitives(
        &mut self,
        surface: &Surface,
        attributes: &Accessors,
        targets: &[Accessors],
    ) -> Result<Vec<Primitive>, Error> {
        let mut primitives = Vec::with_capacity(surface.primitives.len());
        for (material, triangles) in &surface.primitives {
            let mut primitive =
                Primitive { attributes: attributes.clone(), targets: targets.to_vec(), ..Primitive::default() };
            if triangles.is_empty() {
                primitive.mode = Some(POINTS);
            } else {
                let corners = triangles.as_flattened();
                // The largest number of a type is the primitive restart of old hardware and not allowed.
                let indices = if u16::try_from(surface.vertex_points.len()).is_ok() {
                    let small: Vec<u16> = corners.iter().map(|&corner| corner as u16).collect();
                    self.file.accessor(&small, Usage::Indices)?
                } else {
                    self.file.accessor(corners, Usage::Indices)?
                };
                primitive.indices = Some(indices);
            }
            let default = Material::default();
            let material = material.as_ref().unwrap_or(&default);
            let uv_sets = surface.uvs.len();
            let index = self.materials.material(&mut self.file, material, uv_sets, &mut self.notes)?;
            primitive.material = Some(index);
            primitives.push(primitive);
        }
        Ok(primitives)
    }

    /// The shapes of a rig as morph targets. If one changes normals, all do: three.js uses the base normal for a
    /// missing one.
    pub(super) fn shape_targets(&mut self, rig: &Rig, surface: &Surface) -> Result<Vec<Accessors>, Error> {
        let normals = surface.normals.is_some() && rig.shapes().iter().any(|shape| shape.normal_offsets.is_some());
        let mut targets = Vec::with_capacity(rig.shapes().len());
        for shape in rig.shapes() {
            let positions = self.file.bounded_positions(&surface.split(&shape.offsets))?;
            let mut target = Accessors::from([("POSITION".to_owned(), positions)]);
            if normals {
                let finite = |offset: Vec3| if offset.is_finite() { offset } else { Vec3::ZERO };
                let given = shape.normal_offsets.iter().flatten().copied().map(finite);
                let mut offsets: Vec<Vec3> = given.collect();
                offsets.resize(surface.vertex_points.len(), Vec3::ZERO);
                target.insert("NORMAL".to_owned(), self.file.accessor(&offsets, Usage::Vertices)?);
            }
            targets.push(target);
            self.tick.step()?;
        }
        Ok(targets)
    }

    /// Recorded frames as morph targets: frame k is the rest pose plus target k.
    fn recorded_targets(
        &mut self,
        object: &Object,
        sequence: &MeshSequence,
        surface: &Surface,
    ) -> Result<Vec<Accessors>, Error> {
        let rest = object.mesh.points();
        let shaded = shaded(object, surface);
        let following = shaded.as_ref().and_then(FollowingNormals::new);
        let mut targets = Vec::with_capacity(sequence.frame_count());
        let mut offsets = vec![Vec3::ZERO; surface.vertex_points.len()];
        for frame in 0..sequence.frame_count() {
            let positions = sequence.frame(frame)?;
            for (offset, &point) in offsets.iter_mut().zip(&surface.vertex_points) {
                *offset = positions[point as usize] - rest[point as usize];
            }
            let moved = self.file.bounded_positions(&offsets)?;
            let mut target = Accessors::from([("POSITION".to_owned(), moved)]);
            if let (Some(mesh), Some(following), Some(normals)) = (&shaded, &following, &surface.normals) {
                let turned = following.of_frame(mesh, &positions);
                let changes: Vec<Vec3> = turned.iter().zip(normals).map(|(now, rest)| *now - *rest).collect();
                target.insert("NORMAL".to_owned(), self.file.accessor(&changes, Usage::Vertices)?);
            }
            targets.push(target);
            self.tick.step()?;
        }
        Ok(targets)
    }

    /// Adds the node to the scene and sets its skin and animation.
    fn animate(
        &mut self,
        object: &Object,
        number: usize,
        motion: &Motion<'_>,
        carried: &Carried,
        node: usize,
    ) -> Result<(), Error> {
        match motion {
            Motion::Rig(rig) => {
                self.animate_shapes(object, rig, &carried.animations, node)?;
                let Some(skeleton) = carried.skeleton else {
                    self.placed.push(node);
                    return Ok(());
                };
                let skin = self.skeletons[skeleton].skin(&mut self.file, rig)?;
                if let Some((joint, part)) = carried.part {
                    let parent = self.skeletons[skeleton].nodes[joint];
                    self.file.root.nodes[node].matrix =
                        (part != DAffine3::IDENTITY).then(|| DMat4::from(part).to_cols_array());
                    self.file.root.nodes[parent].children.push(node);
                    return Ok(());
                }
                self.file.root.nodes[node].skin = Some(skin);
                self.skinned.push(node);
            }
            Motion::Recorded(sequence) => {
                let frames = Frames {
                    name: SEQUENCE_NAME.to_owned(),
                    rate_hz: sequence.frame_rate_hz(),
                    start_seconds: sequence.start_seconds(),
                    count: sequence.frame_count(),
                };
                let animation = self.animations.of_object(&frames, number);
                let weights = self.file.one_hot(sequence.frame_count())?;
                let channel = Channel { animation, node, path: "weights", fine: false };
                self.animations.add_accessor(&mut self.file, channel, weights)?;
                self.placed.push(node);
            }
            Motion::None => self.placed.push(node),
        }
        Ok(())
    }

    /// Channels for shape weights that differ from the stored pose in any clip, or that are the only channels of a
    /// clip.
    pub(super) fn animate_shapes(
        &mut self,
        object: &Object,
        rig: &Rig,
        parts: &[usize],
        node: usize,
    ) -> Result<(), Error> {
        if rig.shapes().is_empty() {
            return Ok(());
        }
        let frames = || object.clips.iter().flat_map(|clip| (0..clip.frame_count()).map(|f| clip.shape_weights(f)));
        let stored = rig.rest_pose().shape_weights;
        if rig.joints().is_empty() || frames().any(|weights| weights != stored) {
            for (clip, &animation) in object.clips.iter().zip(parts) {
                let weights: Vec<f32> =
                    (0..clip.frame_count()).flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
                let channel = Channel { animation, node, path: "weights", fine: false };
                self.animations.add(&mut self.file, channel, &weights)?;
            }
        }
        Ok(())
    }
}

/// The triangles with the normals of their vertices, for normals that follow the motion.
fn shaded(object: &Object, surface: &Surface) -> Option<PolygonMesh> {
    let values = surface.normals.clone()?;
    let triangles = surface.primitives.iter().flat_map(|(_, triangles)| triangles.as_flattened());
    let indices: Vec<u32> = triangles.copied().collect();
    let corners = indices.iter().map(|&vertex| surface.vertex_points[vertex as usize]).collect();
    let polygons = Polygons { sizes: vec![3; indices.len() / 3], corners };
    let normals = Some(CornerData { values, indices });
    Some(PolygonMesh { points: object.mesh.points().to_vec(), polygons, normals, ..PolygonMesh::default() })
}

/// The names of all shapes; none if no shape has one.
pub(super) fn shape_names(rig: &Rig) -> Vec<String> {
    let is_named = rig.shapes().iter().any(|shape| !shape.name.is_empty());
    rig.shapes().iter().filter(|_| is_named).map(|shape| shape.name.clone()).collect()
}

/// The joint of a rigid part, and the transform of the part relative to it; `None` for other meshes, and if a node
/// cannot have that transform.
fn rigid_part(rig: &Rig) -> Option<(usize, DAffine3)> {
    let joint = rig.rigid_joint()?;
    let part = rig.joints()[joint].inverse_bind;
    let (scale, rotation, translation) = part.to_scale_rotation_translation();
    let rebuilt = DAffine3::from_scale_rotation_translation(scale, rotation, translation);
    const TOLERANCE: f64 = 1e-6;
    let size = scale.abs().max_element();
    let is_trs = scale.is_finite() && size > 0.0 && rotation.is_finite();
    (is_trs && rebuilt.matrix3.abs_diff_eq(part.matrix3, TOLERANCE * size)).then_some((joint, part))
}

/// The default weights, and whether they only serve Blender, which clamps weights to the range of 0, 1, the default
/// weight and the first key. They are the weights of the stored pose if there is one, otherwise those of the first
/// frame; for shapes whose weights leave the range from 0 to 1, the lowest (or else highest) weight.
fn weights_at_rest(object: &Object, motion: &Motion<'_>) -> (Vec<f32>, bool) {
    let Motion::Rig(rig) = motion else {
        return (Vec::new(), false);
    };
    let used = |weights: Vec<f32>| if weights.iter().any(|weight| *weight != 0.0) { weights } else { Vec::new() };
    if let Some(pose) = rig.stored_pose() {
        return (used(pose.shape_weights.clone()), false);
    }
    let frames = || object.clips.iter().flat_map(|clip| (0..clip.frame_count()).map(|frame| clip.shape_weights(frame)));
    let Some(first) = frames().next() else { return (Vec::new(), false) };
    let (mut low, mut high) = (first.to_vec(), first.to_vec());
    for weights in frames() {
        low.iter_mut().zip(weights).for_each(|(low, weight)| *low = low.min(*weight));
        high.iter_mut().zip(weights).for_each(|(high, weight)| *high = high.max(*weight));
    }
    let ranges = low.into_iter().zip(high).zip(first);
    let at_rest = |((low, high), first): ((f32, f32), &f32)| match (low < 0.0, high > 1.0) {
        (true, _) => low,
        (false, true) => high,
        (false, false) => *first,
    };
    let weights = used(ranges.map(at_rest).collect());
    let serves_blender = !weights.is_empty();
    (weights, serves_blender)
}

impl Tick<'_> {
    /// Advances by one step; returns an error if the observer requests a stop.
    pub(super) fn step(&mut self) -> Result<(), Error> {
        self.done += 1;
        step(self.progress, "writing glTF", self.done, self.total)
    }
}
