//! Bodies from any file, in metres: body models in SMPL's layout, rigged characters, `sample:body`, and skins without a rig.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dermis_body::{BodyError, BodyModel, BodyMotion, from_object, motion_of_clip, sample};
use dermis_io::{Error, Format, ReadOptions, smpl};
use dermis_mesh::glam::Vec3;
use dermis_mesh::{Note, Object, Scene, TriMesh, Units, UpAxis};

use crate::retarget::{RetargetError, in_units, retarget};
use crate::select::{SelectError, Selection, select};

/// The built-in body, which has shapes and pose shapes that no scene can hold.
const SAMPLE: &str = "sample:body";
/// Bodies are between these sizes, in metres: what is outside is in other units.
const SIZES_M: std::ops::RangeInclusive<f64> = 0.05..=50.0;

/// Options of [`read_body`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BodyOptions {
    /// Which mesh of the file, by name; `None`: the rigged one with the most points.
    pub mesh: Option<String>,
    /// How many metres a unit of the file is; `None`: as it says, else 1.
    pub metres_per_unit: Option<f64>,
}

/// A body; see the [module](self).
#[derive(Debug, Clone)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Its skin.
    pub skin: Arc<TriMesh>,
    /// Its model; `None` where it has no rig.
    pub model: Option<BodyModel>,
    /// Its motions.
    pub motions: Vec<BodyMotion>,
    /// Values per point of the skin, by name.
    pub attributes: BTreeMap<String, Vec<f32>>,
    /// The direction that is up.
    pub up: UpAxis,
    /// What was assumed or left out.
    pub notes: Vec<Note>,
}

/// Why a file gives no body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyFileError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] Error),
    /// It has no such mesh.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// Its parts do not fit.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A motion does not fit.
    #[error(transparent)]
    Retarget(#[from] RetargetError),
    /// There is no surface.
    #[error("the file has no mesh with triangles")]
    NoSkin,
    /// It is not in metres.
    #[error("the body is {size_m:.3e} m large; say what a unit is: 0.01 metres where it is in centimetres")]
    Size {
        /// The diagonal of the box around it.
        size_m: f64,
    },
    /// There is no motion.
    #[error("the file has no motion of joints")]
    NoMotion,
}

/// Reads the body that `source`, a file or `sample:NAME`, holds.
pub fn read_body(source: &str, options: &BodyOptions) -> Result<Body, BodyFileError> {
    let scene = select(
        dermis_io::read(source, &ReadOptions::default())?,
        &Selection { mesh: options.mesh.clone(), ..Selection::default() },
    )?;
    let Scene { mut objects, units, mut notes } = scene;
    let index = best(&objects).ok_or(BodyFileError::NoSkin)?;
    if objects.len() > 1 {
        let (name, count) = (&objects[index].name, objects.len());
        notes.push(Note::new(format!("of {count} meshes '{name}' is taken for the body")));
    }
    let object = objects.swap_remove(index);
    let (model, motions) = match own_model(source)? {
        Some((model, motions)) => {
            // What a scene cannot hold, the model does.
            notes.retain(|note| !note.place.as_deref().is_some_and(|place| ["posedirs", "shapedirs"].contains(&place)));
            (Some(model), motions)
        }
        None if object.rig.is_some() => {
            let (model, motions) = from_object(&object)?;
            (Some(model), motions)
        }
        None => (None, Vec::new()),
    };
    let skin = model.as_ref().map_or_else(|| Arc::clone(&object.mesh), |model| Arc::clone(model.mesh()));
    let body = Body {
        name: object.name,
        skin,
        model,
        motions,
        attributes: object.attributes,
        up: units.up_axis.unwrap_or(UpAxis::Y),
        notes,
    };
    in_metres(body, options.metres_per_unit.or(units.metres_per_unit).unwrap_or(1.0))
}

/// The object that is most probably the body: rigged ones first, then the one with the most points.
fn best(objects: &[Object]) -> Option<usize> {
    let has_rig = |object: &Object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty());
    let usable = (0..objects.len()).filter(|&index| objects[index].mesh.triangle_count() > 0);
    usable.max_by_key(|&index| (has_rig(&objects[index]), objects[index].mesh.point_count(), std::cmp::Reverse(index)))
}

/// The model of a source that has one of its own.
fn own_model(source: &str) -> Result<Option<(BodyModel, Vec<BodyMotion>)>, Error> {
    if source == SAMPLE {
        return Ok(Some(sample()));
    }
    let path = Path::new(source);
    let has_model = match Format::of_path(path) {
        Ok(Format::Pickle) => true,
        Ok(Format::Npz) => smpl::is_body(path),
        _ => false,
    };
    if !has_model {
        return Ok(None);
    }
    let file = smpl::read(path)?;
    Ok(Some((file.model, file.motions)))
}

fn in_metres(mut body: Body, metres: f64) -> Result<Body, BodyFileError> {
    let size_m = f64::from(body.skin.diagonal()) * metres;
    if !SIZES_M.contains(&size_m) {
        return Err(BodyFileError::Size { size_m });
    }
    if metres == 1.0 {
        return Ok(body);
    }
    let points: Vec<Vec3> = body.skin.points().iter().map(|point| (point.as_dvec3() * metres).as_vec3()).collect();
    body.skin = Arc::new(body.skin.with_points(points).map_err(Error::from)?);
    if let Some(model) = &body.model {
        let model = model.scaled(metres)?;
        body.skin = Arc::clone(model.mesh());
        body.model = Some(model);
    }
    for pose in body.motions.iter_mut().flat_map(|motion| &mut motion.poses) {
        pose.translation *= metres;
    }
    Ok(body)
}

/// The motions of the file `source` for `model`, whose joints they must move: poses in SMPL's layout, or clips of a rig.
pub fn read_motions(
    source: &str,
    model: &BodyModel,
    up: UpAxis,
) -> Result<(Vec<BodyMotion>, Vec<Note>), BodyFileError> {
    if source != SAMPLE && matches!(Format::of_path(Path::new(source)), Ok(Format::Npz)) {
        let found = smpl::read_motions(Path::new(source), model.joints().len())?;
        if !found.is_empty() {
            return Ok((found, Vec::new()));
        }
    }
    let scene = dermis_io::read(source, &ReadOptions::default())?;
    let target = model.shaped(&[])?.to_object("body", &[])?;
    let rig = target.rig.clone().ok_or(BodyError::NoJoints)?;
    let (mut motions, mut notes) = (Vec::new(), scene.notes);
    for object in scene.objects.iter().filter(|object| object.rig.is_some()) {
        let converted = in_units(object, scene.units, Units { metres_per_unit: Some(1.0), up_axis: Some(up) })?;
        let from = converted.as_ref().unwrap_or(object);
        for clip in &from.clips {
            let (moved, said) = retarget(clip, from, &target)?;
            notes.extend(said);
            motions.push(motion_of_clip(model, &rig, &moved)?);
        }
    }
    if motions.is_empty() { Err(BodyFileError::NoMotion) } else { Ok((motions, notes)) }
}
