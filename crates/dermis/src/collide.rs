//! Collision of two animated assets: the contacts of their surfaces in every frame.

use std::sync::Arc;

use dermis_collide::{Contact, DeformationTree, PosedTree, contacts};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::glam::{DAffine3, DVec3};
use dermis_mesh::{Clip, Note, Object, Scene, Units};
use serde::Serialize;

use crate::error::{CollisionError, Result};
use crate::files::ToScene;
use crate::resample::resample_clip;
use crate::select::find_clip;

/// Options of [`collide`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CollideOptions {
    /// Clip of the first asset: its name, a unique part of its name, or its index from 0. `None`: the first clip.
    pub clip: Option<String>,
    /// Clip of the second asset, in the same form.
    pub other_clip: Option<String>,
    /// Translation of the second asset, in its units.
    pub offset: DVec3,
}

/// Contacts of two assets.
#[derive(Debug, Clone)]
pub struct Collision {
    /// Number of frames that were examined.
    pub frame_count: usize,
    /// Frames with contacts, in order.
    pub frames: Vec<FrameContacts>,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// Contacts in a frame.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrameContacts {
    /// The frame.
    pub frame: usize,
    /// Number of pairs of triangles that intersect.
    pub contacts: usize,
    /// The deepest contact.
    pub deepest: DeepestContact,
}

/// The deepest contact of a frame.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeepestContact {
    /// Names of the objects of the first and of the second asset.
    pub objects: [String; 2],
    /// Their triangles.
    pub triangles: [u32; 2],
    /// Middle of the intersection.
    pub point: [f64; 3],
    /// Unit direction of the shortest translation of the first triangle that separates the two.
    pub normal: [f64; 3],
    /// Length of this translation.
    pub depth: f64,
}

/// Finds the contacts of two assets in all frames of a clip of each.
pub fn collide(
    first: &(impl ToScene + ?Sized),
    second: &(impl ToScene + ?Sized),
    options: &CollideOptions,
) -> Result<Collision> {
    collide_with(first, second, options, &NoProgress)
}

/// [`collide`] with an observer.
pub fn collide_with(
    first: &(impl ToScene + ?Sized),
    second: &(impl ToScene + ?Sized),
    options: &CollideOptions,
    progress: &dyn Progress,
) -> Result<Collision> {
    let (first, second) = (first.to_scene(), second.to_scene());
    let mut warnings = Vec::new();
    if first.units != second.units {
        if contradict(&first.units, &second.units) {
            return Err(CollisionError::UnitsDiffer.into());
        }
        warnings.push(Note::new("one of the assets states no units or up axis: those of the other are assumed"));
    }
    let a = Asset::new(&first, options.clip.as_deref())?;
    let mut b = Asset::new(&second, options.other_clip.as_deref())?;
    b.translate_meshes(options.offset)?;
    warnings.extend(b.resample_like(&a)?);
    let frame_count = match (a.frame_count(), b.frame_count()) {
        (Some(a), Some(b)) => a.min(b),
        (Some(count), None) | (None, Some(count)) => count,
        (None, None) => 1,
    };
    if let (Some(x), Some(y)) = (a.frame_count(), b.frame_count())
        && x != y
    {
        warnings.push(Note::new(format!("the clips have {x} and {y} frames: the first {frame_count} are examined")));
    }
    let (mut frames, mut found) = (Vec::new(), Vec::new());
    let (trees_a, trees_b) = (a.trees()?, b.trees()?);
    let (mut posed_a, mut posed_b) = (posed(&trees_a), posed(&trees_b));
    for frame in 0..frame_count {
        if progress.report("finding contacts", frame, frame_count).is_break() {
            return Err(CollisionError::Stopped.into());
        }
        a.set_frame(&mut posed_a, frame, DVec3::ZERO)?;
        b.set_frame(&mut posed_b, frame, options.offset)?;
        let mut all = FrameContacts::none(frame);
        for (one, tree) in a.objects.iter().zip(&mut posed_a) {
            for (other, second) in b.objects.iter().zip(&mut posed_b) {
                contacts(tree, second, &mut found);
                all.add(&found, one, other);
            }
        }
        if all.contacts > 0 {
            frames.push(all);
        }
    }
    Ok(Collision { frame_count, frames, warnings })
}

/// Returns true if both state a unit or an up axis, and these differ.
fn contradict(first: &Units, second: &Units) -> bool {
    let lengths = first.metres_per_unit.zip(second.metres_per_unit);
    let axes = first.up_axis.zip(second.up_axis);
    lengths.is_some_and(|(a, b)| (a - b).abs() > 1e-6 * a.abs()) || axes.is_some_and(|(a, b)| a != b)
}

fn posed(trees: &[DeformationTree]) -> Vec<PosedTree<'_>> {
    trees.iter().map(PosedTree::new).collect()
}

/// Objects of a scene with triangles, and their clips.
struct Asset {
    objects: Vec<Object>,
    clips: Vec<Option<Arc<Clip>>>,
}

impl Asset {
    fn new(scene: &Scene, clip: Option<&str>) -> Result<Self> {
        let objects: Vec<Object> =
            scene.objects.iter().filter(|object| object.mesh.triangle_count() > 0).cloned().collect();
        if objects.is_empty() {
            return Err(CollisionError::NoTriangles.into());
        }
        if let Some(wanted) = clip.filter(|_| objects.iter().all(|object| object.clips.is_empty())) {
            // There are no clips: this returns the error for an unknown name.
            find_clip(wanted, &[])?;
        }
        let chosen = |object: &Object| -> Result<Option<Arc<Clip>>> {
            let names: Vec<&str> = object.clips.iter().map(|clip| clip.name()).collect();
            match clip {
                Some(wanted) if !names.is_empty() => Ok(Some(Arc::clone(&object.clips[find_clip(wanted, &names)?]))),
                _ => Ok(object.clips.first().cloned()),
            }
        };
        let clips = objects.iter().map(chosen).collect::<Result<_>>()?;
        Ok(Self { objects, clips })
    }

    /// Resamples the clips to the frame rate of `other`; returns a note if the rates differ.
    fn resample_like(&mut self, other: &Self) -> Result<Option<Note>> {
        let rate = |asset: &Self| asset.clips.iter().flatten().map(|clip| clip.frame_rate_hz()).next();
        let (Some(own), Some(wanted)) = (rate(self), rate(other)) else { return Ok(None) };
        if (own - wanted).abs() <= 1e-6 * wanted {
            return Ok(None);
        }
        for (object, clip) in self.objects.iter().zip(&mut self.clips) {
            if let (Some(rig), Some(clip)) = (&object.rig, clip) {
                *clip = Arc::new(resample_clip(rig, clip, wanted)?);
            }
        }
        Ok(Some(Note::new(format!("the second clip is resampled from {own} to {wanted} frames per second"))))
    }

    fn frame_count(&self) -> Option<usize> {
        self.clips.iter().flatten().map(|clip| clip.frame_count()).max()
    }

    fn trees(&self) -> Result<Vec<DeformationTree>> {
        let trees: std::result::Result<_, _> = self.objects.iter().map(DeformationTree::new).collect();
        Ok(trees.map_err(CollisionError::from)?)
    }

    /// Moves the trees to a frame; clips that are shorter keep their last frame.
    /// Translates meshes without a rig; those with a rig are translated with their joints.
    fn translate_meshes(&mut self, offset: DVec3) -> Result<()> {
        for object in self.objects.iter_mut().filter(|object| object.rig.is_none()) {
            let points = object.mesh.points().iter().map(|point| (point.as_dvec3() + offset).as_vec3()).collect();
            object.mesh = Arc::new(object.mesh.with_points(points)?);
        }
        Ok(())
    }

    /// Poses the trees; `offset` is the translation of rigs.
    fn set_frame(&self, trees: &mut [PosedTree<'_>], frame: usize, offset: DVec3) -> Result<()> {
        let shift = DAffine3::from_translation(offset);
        for ((object, clip), tree) in self.objects.iter().zip(&self.clips).zip(trees) {
            let (transforms, shapes): (Vec<DAffine3>, Vec<f32>) = match (clip, &object.rig) {
                (Some(clip), _) => {
                    let frame = frame.min(clip.frame_count() - 1);
                    (clip.transforms(frame).to_vec(), clip.shape_weights(frame).to_vec())
                }
                (None, Some(rig)) => match rig.stored_pose() {
                    Some(pose) => (pose.transforms.to_vec(), pose.shape_weights.clone()),
                    None => {
                        (rig.joints().iter().map(dermis_mesh::Joint::bind).collect(), vec![0.0; rig.shapes().len()])
                    }
                },
                (None, None) => (Vec::new(), Vec::new()),
            };
            let moved: Vec<DAffine3> = transforms.iter().map(|transform| shift * *transform).collect();
            tree.set_pose(&moved, &shapes).map_err(CollisionError::from)?;
        }
        Ok(())
    }
}

impl FrameContacts {
    fn none(frame: usize) -> Self {
        let objects = [String::new(), String::new()];
        let deepest =
            DeepestContact { objects, triangles: [0; 2], point: [0.0; 3], normal: [0.0; 3], depth: f64::NEG_INFINITY };
        Self { frame, contacts: 0, deepest }
    }

    fn add(&mut self, found: &[Contact], first: &Object, second: &Object) {
        self.contacts += found.len();
        for contact in found {
            if contact.depth > self.deepest.depth {
                self.deepest = DeepestContact {
                    objects: [first.name.clone(), second.name.clone()],
                    triangles: contact.triangles,
                    point: contact.point.to_array(),
                    normal: contact.normal.to_array(),
                    depth: contact.depth,
                };
            }
        }
    }
}
