//! Animations of one mesh, collected from any number of scenes: recorded frames and clips, with all layers applied.

use std::path::Path;
use std::sync::Arc;

use dermis_io::Format;
use dermis_mesh::glam::{DQuat, Vec3, Vec4};
use dermis_mesh::layout::Layout;
use dermis_mesh::merge::{MergeError, single};
use dermis_mesh::reshape::reshaped;
use dermis_mesh::{MeshError, Note, Object, Scene, SequenceError, TriMesh, Units, UpAxis};
use dermis_skin::{Animation, Skin, SkinError};

use crate::evaluate::{self, EvaluateError, Motion};
use crate::select::{SelectError, Selection, select};

/// Part of a scene that [`Animations::add`] uses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnimationOptions {
    /// The clips, by name or number. Empty: the recorded frames, or all clips if there are none.
    pub clips: Vec<String>,
    /// Mesh, frames and rate; a clip in it is not used.
    pub part: Selection,
}

/// Animations of one mesh.
#[derive(Debug, Clone, Default)]
pub struct Animations {
    /// The object of the first scene, without its motion: its mesh is the rest pose.
    pub object: Object,
    /// The units of the first scene.
    pub units: Units,
    /// The animations.
    pub animations: Vec<Animation>,
    /// Assumptions and omissions.
    pub notes: Vec<Note>,
    is_known: bool,
}

/// Reasons why the animations of a scene cannot be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnimationsError {
    /// The selected part does not exist.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The objects cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A layer cannot be applied.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The rest pose is not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The mesh has another number of points than the first.
    #[error("the mesh has {found} points, but the first input has {expected}")]
    OtherPoints {
        /// The number of points.
        found: usize,
        /// The number of points of the first mesh.
        expected: usize,
    },
    /// The triangles of the mesh differ from those of the first.
    #[error("the triangles differ from those of the first input")]
    OtherTriangles,
    /// The frame that should be the rest pose does not exist.
    #[error("there is no frame {frame}: '{animation}' has {count}, numbered from 0")]
    NoSuchFrame {
        /// The requested frame.
        frame: isize,
        /// The animation.
        animation: String,
        /// Its number of frames.
        count: usize,
    },
}

impl Animations {
    /// Converts all positions to `units`. Unknown input units are assumed to be metres with Y up, with a note.
    pub fn convert_to(&mut self, units: Units) -> Result<(), AnimationsError> {
        let (rotation, scale) = conversion(self.units, units);
        if self.units.metres_per_unit.is_none() || self.units.up_axis.is_none() {
            self.notes.push(Note::new("the input does not state its units and up axis; metres and Y up are assumed"));
        }
        self.units = units;
        if rotation == DQuat::IDENTITY && scale == 1.0 {
            return Ok(());
        }
        let position = move |p: Vec3| (rotation * p.as_dvec3() * scale).as_vec3();
        let direction = move |v: Vec3| (rotation * v.as_dvec3()).as_vec3();
        let mesh = &self.object.mesh;
        let mut converted = mesh.without_layout().with_points(mesh.points().iter().map(|&p| position(p)).collect())?;
        if let Some(layout) = mesh.layout() {
            let normals = layout.normals.as_ref().map(|normals| normals.iter().map(|&n| direction(n)).collect());
            let tangent = |tangent: &Vec4| direction(tangent.truncate()).extend(tangent.w);
            let tangents = layout.tangents.as_ref().map(|tangents| tangents.iter().map(tangent).collect());
            converted = converted.with_layout(Layout { normals, tangents, ..layout.clone() })?;
        }
        self.object.mesh = Arc::new(converted);
        for animation in &mut self.animations {
            let move_points = move |_: usize, points: &mut [Vec3]| {
                for point in points {
                    *point = position(*point);
                }
                Ok(())
            };
            animation.sequence = animation.sequence.map(move_points)?.with_mesh(Arc::clone(&self.object.mesh))?;
        }
        Ok(())
    }

    /// Adds the animations of `scene`; recorded frames are named `name`, clips keep their names.
    pub fn add(&mut self, scene: &Scene, name: &str, options: &AnimationOptions) -> Result<(), AnimationsError> {
        self.notes.extend(scene.notes.iter().cloned());
        for clip in clips(scene, options)? {
            let is_clip = clip.is_some();
            let selected = select(scene.clone(), &Selection { clip, ..options.part.clone() })?;
            let own = selected.objects.iter().find_map(|object| object.clips.first()).map(|clip| clip.name());
            let called = own.filter(|_| is_clip).unwrap_or(name).to_owned();
            let (object, merged) = single(&selected)?;
            self.notes.extend(selected.notes.into_iter().chain(merged));
            self.expect_same_mesh(&object.mesh)?;
            if let Some(motion) = evaluate::motion(&object)? {
                evaluate::check_extent(&object, &motion)?;
                let Motion { sequence, warnings, .. } = motion;
                self.notes.extend(warnings);
                self.animations.push(Animation { name: self.unused_name(called), sequence });
            }
            if !std::mem::replace(&mut self.is_known, true) {
                self.units = scene.units;
                self.object = Object { sequence: None, rig: None, clips: Vec::new(), deformers: Vec::new(), ..object };
            }
        }
        Ok(())
    }

    /// A skin of these animations as a scene for `target`, with the name, attributes and units of the input. In files that
    /// other programs open, bones without children have end joints.
    pub fn scene_of(&self, skin: &Skin, target: &Path) -> Result<Scene, SkinError> {
        let Object { name, attributes, mesh, .. } = &self.object;
        let is_archive = Format::is_path_of("npz", target);
        let mut object =
            if is_archive { skin.to_object(name.clone()) } else { skin.to_object_with_ends(name.clone())? };
        let mut notes = Vec::new();
        // The points of a given rig can have another order than those of the input.
        if mesh.triangles() == object.mesh.triangles() {
            object.attributes.clone_from(attributes);
        } else if !attributes.is_empty() {
            notes.push(Note::new("the attributes of the input are dropped: the rig has different points"));
        }
        Ok(Scene { objects: vec![object], units: self.units, notes })
    }

    /// Uses the shape of `rest`, the same mesh, as the rest pose.
    pub fn set_rest(&mut self, rest: &TriMesh) -> Result<(), AnimationsError> {
        self.expect_same_mesh(rest)?;
        self.reshape(rest.points().to_vec())
    }

    /// Uses a frame of the first animation as the rest pose; negative numbers count from the end.
    pub fn set_rest_frame(&mut self, frame: isize) -> Result<(), AnimationsError> {
        let Some(Animation { name, sequence }) = self.animations.first() else { return Ok(()) };
        let count = sequence.frame_count();
        let index = if frame < 0 { count.checked_add_signed(frame) } else { usize::try_from(frame).ok() };
        let index = index.filter(|&index| index < count);
        let missing = || AnimationsError::NoSuchFrame { frame, animation: name.clone(), count };
        let points = sequence.frame(index.ok_or_else(missing)?)?.into_owned();
        self.reshape(points)
    }

    fn reshape(&mut self, points: Vec<Vec3>) -> Result<(), AnimationsError> {
        self.object.mesh = Arc::new(reshaped(&self.object.mesh, points)?);
        Ok(())
    }

    fn expect_same_mesh(&self, other: &TriMesh) -> Result<(), AnimationsError> {
        let (expected, found) = (self.object.mesh.point_count(), other.point_count());
        match self.is_known {
            true if expected != found => Err(AnimationsError::OtherPoints { found, expected }),
            true if self.object.mesh.triangles() != other.triangles() => Err(AnimationsError::OtherTriangles),
            _ => Ok(()),
        }
    }

    /// `name`, with a number if another animation has it.
    fn unused_name(&self, name: String) -> String {
        let taken = |name: &str| self.animations.iter().any(|animation| animation.name == name);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(name)
    }
}

/// The clips to select one after the other; `None` selects recorded frames.
fn clips(scene: &Scene, options: &AnimationOptions) -> Result<Vec<Option<String>>, SelectError> {
    if !options.clips.is_empty() {
        return Ok(options.clips.iter().cloned().map(Some).collect());
    }
    let whole = select(scene.clone(), &Selection { mesh: options.part.mesh.clone(), ..Selection::default() })?;
    let longest = whole.objects.iter().map(|object| object.clips.len()).max().unwrap_or(0);
    let recorded = whole.objects.iter().any(|object| object.sequence.is_some());
    // Clips are selected by index because names can repeat.
    let numbers = (0..longest).map(|number| Some(number.to_string()));
    Ok(if recorded || longest == 0 { vec![None] } else { numbers.collect() })
}

/// Rotation and scale from one unit and up axis to another; unknown ones are metres and Y up.
fn conversion(from: Units, to: Units) -> (DQuat, f64) {
    let quarter = std::f64::consts::FRAC_PI_2;
    // To Y up.
    let upright = |units: Units| match units.up_axis {
        Some(UpAxis::X) => DQuat::from_rotation_z(quarter),
        Some(UpAxis::Z) => DQuat::from_rotation_x(-quarter),
        Some(UpAxis::Y) | None => DQuat::IDENTITY,
    };
    let metres = |units: Units| units.metres_per_unit.unwrap_or(1.0);
    let same_axis = from.up_axis.unwrap_or(UpAxis::Y) == to.up_axis.unwrap_or(UpAxis::Y);
    let rotation = if same_axis { DQuat::IDENTITY } else { upright(to).inverse() * upright(from) };
    (rotation, metres(from) / metres(to))
}
