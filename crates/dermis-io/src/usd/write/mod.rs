//! Writing USD: one root prim with all objects in world space, and their materials, as text ([`text`]) or as a crate
//! ([`crate_file`]), or packed with its images ([`package`]).
//!
//! Recorded frames become time samples of points. Rigs become `UsdSkel` ([`skel`]), with nested joints ([`nested`]) if
//! single ones cannot express their shear or scale ([`pose`]). If a rig has joints with an invalid transform or zero
//! scale, its first clip is written as frames. Everything is streamed, frame by frame. Time codes are frames of the
//! first moving object; objects at other rates have fractional ones.

mod crate_file;
mod layer;
mod material;
mod mesh;
mod names;
mod nested;
mod normals;
mod package;
mod packed;
mod pose;
mod skel;
mod text;

use std::borrow::Cow;
use std::io::BufWriter;
use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::pose::bake_lazily;
use dermis_mesh::{MeshSequence, Note, Object, Rig, Scene, UpAxis};

use crate::error::Error;
use crate::format::extension_of;
use crate::output::{Job, step};
use crate_file::Crate;
use layer::{Layer, Metadata};
use material::Materials;
use mesh::Extras;
use names::Names;
use nested::{Nested, nested};
use pose::{Posable, posable, posable_as_given};
use text::Text;

/// The root prim.
const ROOT: &str = "World";
const ROOT_PATH: &str = "/World";

/// Form in which an object is written.
enum Plan<'a> {
    Still(&'a Object),
    /// An object in its stored pose, without its rig.
    Posed(Box<Object>),
    Recorded(&'a Object, MeshSequence),
    Rigged(Box<(Cow<'a, Object>, Posable)>),
}

/// Meaning of time codes.
struct Clock {
    time_codes_per_second: f64,
}

impl Clock {
    /// The time codes of frames.
    fn times(&self, start_seconds: f64, frame_rate_hz: f64, count: usize) -> Vec<f64> {
        // Frames that are whole up to the rounding of times in f32 are rounded.
        const WHOLE: f64 = 1e-5;
        let rounded = |time: f64| {
            if (time - time.round()).abs() <= WHOLE { time.round() } else { (time * 1e9).round() / 1e9 }
        };
        let time = |frame: usize| rounded((start_seconds + frame as f64 / frame_rate_hz) * self.time_codes_per_second);
        (0..count).map(time).collect()
    }
}

/// Writer of a file.
struct Writing<'a> {
    layer: &'a mut dyn Layer,
    materials: Materials,
    clock: Clock,
    progress: &'a dyn Progress,
    done: usize,
    total: usize,
}

impl Writing<'_> {
    /// Reports that another frame is complete.
    fn step(&mut self) -> Result<(), Error> {
        self.done += 1;
        step(self.progress, "writing USD", self.done, self.total.max(self.done))
    }
}

/// Writes `scene` as text (`.usda`) or as a crate (`.usdc`, `.usd`) with its textures next to it, or as both in one
/// archive (`.usdz`).
pub(crate) fn write(scene: &Scene, job: &mut Job<'_>) -> Result<(), Error> {
    let materials = Materials::new(job.target);
    let materials = match extension_of(job.target).as_str() {
        "usda" => {
            let mut file = job.create()?;
            write_layer(scene, &mut Text::new(&mut file), materials, job)?
        }
        "usdz" => {
            let mut file = tempfile::tempfile()?;
            let materials = write_layer(scene, &mut Crate::new(BufWriter::new(&mut file)), materials, job)?;
            package::write(&mut file, &materials, job)?;
            job.notes.extend(materials.notes);
            return Ok(());
        }
        _ => {
            let file = job.create()?;
            write_layer(scene, &mut Crate::new(file), materials, job)?
        }
    };
    materials.write_images(job.target, job.output)?;
    job.notes.extend(materials.notes);
    Ok(())
}

/// Writes everything except the images, which are returned.
fn write_layer(
    scene: &Scene,
    layer: &mut dyn Layer,
    materials: Materials,
    job: &mut Job<'_>,
) -> Result<Materials, Error> {
    let plans = scene.objects.iter().map(|object| plan(object, &mut job.notes)).collect::<Result<Vec<_>, Error>>()?;
    let mut writing = Writing {
        layer,
        materials,
        clock: Clock { time_codes_per_second: plans.iter().find_map(Plan::rate).unwrap_or(1.0) },
        progress: job.progress,
        done: 0,
        total: plans.iter().map(Plan::steps).sum(),
    };
    write_head(scene, &plans, &mut writing)?;
    writing.layer.open("Xform", ROOT, &[Metadata::Token("kind", "component".to_owned())])?;
    let mut names = Names::default();
    names.unique("Materials", "Materials");
    let groups = groups(&plans);
    for (index, plan) in plans.iter().enumerate() {
        if groups[index] != index {
            continue;
        }
        let name = names.unique(&plan.object().name, "mesh");
        let plain = Extras { schemas: &[], body: &|_| Ok(()) };
        match plan {
            Plan::Still(object) => mesh::write(object, &name, None, &plain, &mut writing)?,
            Plan::Posed(object) => mesh::write(object, &name, None, &plain, &mut writing)?,
            Plan::Recorded(object, motion) => mesh::write(object, &name, Some(motion), &plain, &mut writing)?,
            Plan::Rigged(rigged) => {
                let members = (0..plans.len()).filter(|&other| groups[other] == index);
                let members: Vec<&Object> = members.map(|other| plans[other].object()).collect();
                skel::write(&members, &rigged.1, &name, &mut writing)?;
            }
        }
    }
    let Writing { mut materials, layer, .. } = writing;
    materials.write(ROOT_PATH, layer)?;
    layer.close()?;
    layer.finish()?;
    Ok(materials)
}

/// The first object on the skeleton of each object; itself for objects without one.
fn groups(plans: &[Plan<'_>]) -> Vec<usize> {
    // Helper joints depend on the mesh, so skeletons with helper joints are not shared.
    let plain = |plan: &Plan<'_>| matches!(plan, Plan::Rigged(rigged) if rigged.1.bones.is_none());
    let mut groups: Vec<usize> = Vec::with_capacity(plans.len());
    for (index, plan) in plans.iter().enumerate() {
        let fits = |&other: &usize| {
            let (a, b) = (&plans[other], plan);
            groups[other] == other && plain(a) && plain(b) && skel::share_skeleton(a.object(), b.object())
        };
        groups.push((0..index).find(fits).unwrap_or(index));
    }
    groups
}

/// Selects the form in which an object is written; notes report the losses.
fn plan<'a>(object: &'a Object, notes: &mut Vec<Note>) -> Result<Plan<'a>, Error> {
    let mut note = |message: &str| notes.push(Note::at(object.name.clone(), message));
    if object.tets.is_some() {
        note("tetrahedra are dropped; only the surface is written");
    }
    let Some(rig) = &object.rig else {
        return Ok(object.sequence.clone().map_or(Plan::Still(object), |motion| Plan::Recorded(object, motion)));
    };
    if object.clips.is_empty()
        && let Some(motion) = &object.sequence
    {
        note("the rig is dropped; it has no clip, and the recorded frames are written");
        return Ok(Plan::Recorded(object, motion.clone()));
    }
    if let Some(rigged) = as_joints(object, rig)? {
        if object.clips.len() > 1 {
            note("the first clip is bound to the skeleton; the others are separate animations");
        }
        if object.sequence.is_some() {
            note("the recorded frames are dropped; the rig and its clips are written");
        }
        return Ok(Plan::Rigged(Box::new(rigged)));
    }
    let Some(clip) = object.clips.first() else {
        note("the rig is dropped; its joints have no bind pose");
        return Ok(Plan::Posed(Box::new(object.at_rest()?)));
    };
    note("UsdSkel does not support joints of zero scale; the first clip is written as recorded frames");
    Ok(Plan::Recorded(object, bake_lazily(&object.mesh, rig, clip)?))
}

/// The object with joints that `UsdSkel` can express: its own, or with additional joints; `None` if that is not
/// possible.
fn as_joints<'a>(object: &'a Object, rig: &Rig) -> Result<Option<(Cow<'a, Object>, Posable)>, Error> {
    if let Some(posable) = posable(&object.mesh, rig, &object.clips) {
        return Ok(Some((Cow::Borrowed(object), posable)));
    }
    let Nested { rig, clips, bones } = nested(&object.mesh, rig, &object.clips)?;
    let posable = posable_as_given(&object.mesh, &rig, &clips);
    let object = Object { rig: Some(Arc::new(rig)), clips, ..object.clone() };
    Ok(posable.map(|posable| (Cow::Owned(object), Posable { bones: Some(bones), ..posable })))
}

impl Plan<'_> {
    fn object(&self) -> &Object {
        match self {
            Self::Still(object) | Self::Recorded(object, _) => object,
            Self::Posed(object) => object,
            Self::Rigged(rigged) => &rigged.0,
        }
    }

    fn rate(&self) -> Option<f64> {
        match self {
            Self::Still(_) | Self::Posed(_) => None,
            Self::Recorded(_, motion) => Some(motion.frame_rate_hz()),
            Self::Rigged(rigged) => rigged.0.clips.first().map(|clip| clip.frame_rate_hz()),
        }
    }

    fn steps(&self) -> usize {
        match self {
            Self::Still(_) | Self::Posed(_) => 0,
            Self::Recorded(object, motion) => mesh::steps(object, motion.frame_count()),
            Self::Rigged(rigged) => rigged.0.clips.iter().map(|clip| clip.frame_count()).sum(),
        }
    }

    /// The first and the last time code.
    fn range(&self, clock: &Clock) -> Option<(f64, f64)> {
        let times = match self {
            Self::Still(_) | Self::Posed(_) => Vec::new(),
            Self::Recorded(_, motion) => {
                clock.times(motion.start_seconds(), motion.frame_rate_hz(), motion.frame_count())
            }
            Self::Rigged(rigged) => rigged.0.clips.first().map_or_else(Vec::new, |clip| {
                clock.times(clip.start_seconds(), clip.frame_rate_hz(), clip.frame_count())
            }),
        };
        times.first().copied().zip(times.last().copied())
    }
}

fn write_head(scene: &Scene, plans: &[Plan<'_>], writing: &mut Writing<'_>) -> Result<(), Error> {
    let Writing { layer, clock, .. } = writing;
    let mut entries = vec![Metadata::Token("defaultPrim", ROOT.to_owned())];
    let ranges = || plans.iter().filter_map(|plan| plan.range(clock));
    let start = ranges().map(|(start, _)| start).reduce(f64::min);
    let end = ranges().map(|(_, end)| end).reduce(f64::max);
    entries.extend(end.map(|end| Metadata::Double("endTimeCode", end)));
    if start.is_some() {
        entries.push(Metadata::Double("framesPerSecond", clock.time_codes_per_second));
    }
    entries.push(Metadata::Double("metersPerUnit", scene.units.metres_per_unit.unwrap_or(1.0)));
    entries.extend(start.map(|start| Metadata::Double("startTimeCode", start)));
    if start.is_some() {
        entries.push(Metadata::Double("timeCodesPerSecond", clock.time_codes_per_second));
    }
    // USD has two up axes; X up does not occur in practice.
    let up_axis = if scene.units.up_axis == Some(UpAxis::Z) { "Z" } else { "Y" };
    entries.push(Metadata::Token("upAxis", up_axis.to_owned()));
    layer.begin(&entries)
}

/// The metadata that applies schemas to a prim.
fn applied(schemas: &[&str]) -> Vec<Metadata> {
    if schemas.is_empty() {
        return Vec::new();
    }
    vec![Metadata::Schemas(schemas.iter().map(|schema| (*schema).to_owned()).collect())]
}

/// Metadata for a name that USD does not allow.
fn original_name(original: &str, given: &str) -> Vec<Metadata> {
    if original == given {
        return Vec::new();
    }
    vec![Metadata::Custom(super::ORIGINAL_NAME, super::encode_name(original))]
}
