//! Writing binary FBX 7.5: meshes, materials with their textures, skeletons, skins, blend shapes, and a take per clip.
//!
//! All nodes are in scene space, below the root: nodes of meshes have no transform, so meshes are bound in scene space.
//! Joints are limb nodes in their hierarchy ([`skeleton`], [`limbs`]); bones that shear become rigid, with the error in
//! a note, or nested nodes whose product is exact ([`crate::WriteOptions::nested_bones`]). Recorded frames become one
//! blend shape per frame, played one after the other. Objects are written one by one.

mod curves;
mod file;
mod limbs;
mod material;
mod mesh;
mod node;
mod skeleton;

use std::collections::HashSet;
use std::sync::Arc;

use dermis_mesh::{MeshSequence, Note, Object, Rig, Scene};
use glam::DAffine3;

use self::curves::{Frames, Keys, Takes, Target};
use self::file::{FbxFile, ROOT, takes};
use self::material::Materials;
use self::mesh::{BlendShape, Offsets};
use self::node::property;
use self::skeleton::Skeleton;
use super::signed_shapes::Part;
use crate::error::Error;
use crate::output::{Job, step};

/// Writer of a scene.
struct Writer<'a, 'b> {
    file: FbxFile,
    job: &'a mut Job<'b>,
    takes: Takes,
    materials: Materials,
    skeletons: Vec<Skeleton>,
    /// Bind pose: the transform of every mesh and limb.
    bind_pose: Vec<(i64, DAffine3)>,
    /// Names of joints; meshes of the same name are renamed.
    joint_names: HashSet<String>,
    done: usize,
    total: usize,
}

/// Motion of an object in the file.
enum Motion<'a> {
    None,
    Rig(&'a Arc<Rig>),
    Recorded(&'a MeshSequence),
}

/// The rig if it has motion or the object has no recorded frames; the recorded frames otherwise.
fn motion_of(object: &Object) -> Motion<'_> {
    match (&object.rig, &object.sequence) {
        (Some(rig), None) => Motion::Rig(rig),
        (Some(rig), Some(_)) if !object.clips.is_empty() => Motion::Rig(rig),
        (_, Some(sequence)) => Motion::Recorded(sequence),
        (None, None) => Motion::None,
    }
}

/// Writes `scene` as binary FBX.
pub(crate) fn write(scene: &Scene, job: &mut Job<'_>) -> Result<(), Error> {
    let frames: Vec<Frames> = scene.objects.iter().flat_map(all_frames).collect();
    let total = scene.objects.iter().map(step_count).sum();
    let file = FbxFile::begin(job.create()?, scene.units, curves::range(frames.iter()))?;
    let mut writer = Writer {
        file,
        job,
        takes: Takes::default(),
        materials: Materials::default(),
        skeletons: Vec::new(),
        bind_pose: Vec::new(),
        joint_names: scene.objects.iter().flat_map(joint_names).collect(),
        done: 0,
        total,
    };
    for (number, object) in scene.objects.iter().enumerate() {
        writer.object(object, number).map_err(|error| error.at(object.name.clone()))?;
    }
    writer.finish()
}

fn joint_names(object: &Object) -> Vec<String> {
    match motion_of(object) {
        Motion::Rig(rig) => rig.joints().iter().map(|joint| joint.name.clone()).collect(),
        Motion::None | Motion::Recorded(_) => Vec::new(),
    }
}

fn all_frames(object: &Object) -> Vec<Frames> {
    match motion_of(object) {
        Motion::None => Vec::new(),
        Motion::Rig(_) => object.clips.iter().map(|clip| Frames::of_clip(clip)).collect(),
        Motion::Recorded(sequence) => vec![Frames::of_sequence(sequence)],
    }
}

/// Number of steps of progress of an object.
fn step_count(object: &Object) -> usize {
    match motion_of(object) {
        Motion::None => 1,
        Motion::Rig(rig) => 1 + rig.shapes().len(),
        Motion::Recorded(sequence) => 1 + sequence.frame_count(),
    }
}

impl Writer<'_, '_> {
    fn object(&mut self, object: &Object, number: usize) -> Result<(), Error> {
        if object.mesh.point_count() == 0 {
            return self.skeleton_alone(object, number);
        }
        self.note_losses(object);
        let motion = motion_of(object);
        let shape = object.mesh.to_polygon_mesh();
        let recorded = matches!(motion, Motion::Recorded(_));
        // Marks shapes that are frames, for the reader of dermis.
        let mark = recorded.then(|| property(super::RECORDED, "Bool", "", "U", [1])).into_iter().collect();
        let mut name = object.name.clone();
        if self.joint_names.contains(&name) {
            name.push_str(" mesh");
            self.file.renamed.push((object.name.clone(), name.clone()));
        }
        let model = skeleton::write_model(&mut self.file, &name, "Mesh", mark, ROOT)?;
        for material in &shape.materials {
            let id = self.materials.id(&mut self.file, material)?;
            self.file.connect(id, model);
        }
        let geometry = mesh::write_geometry(&mut self.file, &object.name, &shape, model)?;
        self.bind_pose.push((model, DAffine3::IDENTITY));
        self.step()?;
        match motion {
            Motion::None => Ok(()),
            Motion::Recorded(sequence) => self.recorded(object, number, sequence, geometry),
            Motion::Rig(rig) => self.rigged(object, number, rig, geometry),
        }
    }

    /// The joints and clips of an object without points, such as the motion of a file without meshes.
    fn skeleton_alone(&mut self, object: &Object, number: usize) -> Result<(), Error> {
        self.step()?;
        let Some(rig) = object.rig.as_ref().filter(|rig| !rig.joints().is_empty()) else {
            self.note(object, "an object without points is dropped");
            return Ok(());
        };
        let parts = self.parts(object, number)?;
        self.skeleton(object, rig, &parts).map(drop)
    }

    /// The takes of the clips of an object.
    fn parts(&mut self, object: &Object, number: usize) -> Result<Vec<usize>, Error> {
        let mut parts = Vec::with_capacity(object.clips.len());
        for clip in &object.clips {
            parts.push(self.takes.of_object(&mut self.file, &Frames::of_clip(clip), number)?);
        }
        Ok(parts)
    }

    fn rigged(&mut self, object: &Object, number: usize, rig: &Arc<Rig>, geometry: i64) -> Result<(), Error> {
        let parts = self.parts(object, number)?;
        self.shapes(object, rig, &parts, geometry)?;
        if rig.joints().is_empty() {
            return Ok(());
        }
        let skeleton = self.skeleton(object, rig, &parts)?;
        skeleton::write_skin(&mut self.file, &object.name, geometry, rig, &self.skeletons[skeleton])
    }

    /// The skeleton of an object: one that it shares with other objects, or a new one.
    fn skeleton(&mut self, object: &Object, rig: &Arc<Rig>, parts: &[usize]) -> Result<usize, Error> {
        if let Some(shared) = self.skeletons.iter().position(|skeleton| skeleton.serves(object, rig)) {
            return Ok(shared);
        }
        let bones = skeleton::bones(object, rig, self.job.nested_bones, &mut self.job.notes)?;
        let (skeleton, poses) = skeleton::write_skeleton(&mut self.file, &self.takes, object, rig, &bones, parts)?;
        self.bind_pose.extend(poses);
        self.skeletons.push(skeleton);
        Ok(self.skeletons.len() - 1)
    }

    /// The shapes of a rig, with curves for weights that change in any clip, or that are the only curves of a clip.
    fn shapes(&mut self, object: &Object, rig: &Rig, parts: &[usize], geometry: i64) -> Result<(), Error> {
        if rig.shapes().is_empty() {
            return Ok(());
        }
        let blend = BlendShape::write(&mut self.file, &object.name, geometry)?;
        let frames = || object.clips.iter().flat_map(|clip| (0..clip.frame_count()).map(|f| clip.shape_weights(f)));
        let stored = rig.rest_pose().shape_weights;
        let mut names = HashSet::new();
        for (index, shape) in rig.shapes().iter().enumerate() {
            let rest = stored[index];
            // Programs find shapes by name.
            let is_named = !shape.name.is_empty() && names.insert(&shape.name);
            let name = if is_named { shape.name.clone() } else { format!("{} {index}", shape.name) };
            let offsets = Offsets::of_shape(object, shape);
            let moves = frames().any(|weights| weights[index] != rest);
            let weights = || frames().map(|weights| weights[index]).chain([rest]);
            for part in Part::of_range(weights().fold(0.0, f32::min), weights().fold(0.0, f32::max)) {
                let channel = blend.channel(&mut self.file, &name, &offsets, part, part.weight(rest))?;
                if moves || (rig.joints().is_empty() && index == 0) {
                    for (clip, &take) in object.clips.iter().zip(parts) {
                        let weight = |frame: usize| 100.0 * part.weight(clip.shape_weights(frame)[index]);
                        let percent = (0..clip.frame_count()).map(weight).collect();
                        self.animate_channel(take, channel, &Keys::Frames, percent)?;
                    }
                }
            }
            self.step()?;
        }
        Ok(())
    }

    /// Frame k is the rest pose plus shape k; its weight is 1 at its own time and 0 at all others.
    fn recorded(
        &mut self,
        object: &Object,
        number: usize,
        sequence: &MeshSequence,
        geometry: i64,
    ) -> Result<(), Error> {
        let take = self.takes.of_object(&mut self.file, &Frames::of_sequence(sequence), number)?;
        let blend = BlendShape::write(&mut self.file, &object.name, geometry)?;
        for frame in 0..sequence.frame_count() {
            let positions = sequence.frame(frame)?;
            let offsets = Offsets::to(&object.mesh, &positions);
            let weight = if frame == 0 { 1.0 } else { 0.0 };
            let whole = Part { factor: 1.0 };
            let channel = blend.channel(&mut self.file, &format!("frame {frame}"), &offsets, whole, weight)?;
            let keys: Vec<usize> = (frame.saturating_sub(1)..(frame + 2).min(sequence.frame_count())).collect();
            let percent = keys.iter().map(|&key| if key == frame { 100.0 } else { 0.0 }).collect();
            self.animate_channel(take, channel, &Keys::At(keys), percent)?;
            self.step()?;
        }
        self.note(object, "each recorded frame is written as a blend shape");
        Ok(())
    }

    fn animate_channel(&mut self, take: usize, channel: i64, keys: &Keys, percent: Vec<f32>) -> Result<(), Error> {
        let target = Target { id: channel, property: "DeformPercent", short: "DeformPercent" };
        self.takes.animate(&mut self.file, take, &target, keys, &[("DeformPercent", percent)])
    }

    fn note_losses(&mut self, object: &Object) {
        if object.tets.is_some() {
            self.note(object, "FBX has no tetrahedra; only the surface is written");
        }
        if !object.attributes.is_empty() {
            self.note(object, "FBX does not support attributes of points; they are dropped");
        }
        if object.mesh.layout().is_some_and(|layout| layout.tangents.is_some()) {
            self.note(object, "tangents are dropped; programs compute them from normals and UVs");
        }
        match (&object.rig, &object.sequence) {
            (Some(_), Some(_)) if !object.clips.is_empty() => {
                self.note(object, "the rig is written; the recorded frames are dropped");
            }
            (Some(_), Some(_)) => {
                self.note(object, "the recorded frames are written; the rig, which has no clip, is dropped");
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Result<(), Error> {
        let has_joints = !self.skeletons.is_empty();
        if has_joints {
            skeleton::write_bind_pose(&mut self.file, &self.bind_pose)?;
        }
        self.job.notes.append(&mut self.materials.notes);
        for (from, to) in &self.file.renamed {
            self.job.notes.push(Note::new(format!("a second node named '{from}' is written as '{to}'")));
        }
        let list = takes(&self.takes.list());
        self.file.finish(&list)
    }

    fn note(&mut self, object: &Object, message: &str) {
        self.job.notes.push(Note::at(&object.name, message));
    }

    /// Advances by one step; an error if the observer requests a stop.
    fn step(&mut self) -> Result<(), Error> {
        self.done += 1;
        step(self.job.progress, "writing FBX", self.done, self.total)
    }
}
