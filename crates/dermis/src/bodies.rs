//! Bodies from any file, in metres: body models in SMPL's layout, rigged characters, `sample:body`, and skins without a
//! rig.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dermis_body::{BodyError, BodyModel, BodyMotion, from_object, motion_of_clip};
use dermis_io::npz::arrays::{self, Arrays};
use dermis_io::smpl::{self, BodyFile};
use dermis_io::{Error, Format, ReadOptions};
use dermis_mesh::glam::Vec3;
use dermis_mesh::{Deformer, Note, Object, Scene, TriMesh, Units, UpAxis};
use dermis_tissue::layered::{LayeredBody, LayeredError};

use crate::layered_file::{self, LayeredFile};
use crate::names::find_one;
use crate::retarget::{RetargetError, RetargetOptions, in_units, retarget};
use crate::select::{SelectError, Selection, select};

/// The built-in body, whose shapes and pose shapes a scene cannot store.
const SAMPLE: &str = "sample:body";
/// Range of plausible sizes of bodies, in metres; other sizes indicate another unit.
const SIZES_M: std::ops::RangeInclusive<f64> = 0.05..=50.0;

/// Options of [`read_body`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BodyOptions {
    /// Name of the mesh of the file; `None`: the rigged one with the most points.
    pub mesh: Option<String>,
    /// Options of the reader: scale, units and up axis in place of those of the file. Files without units are in
    /// metres.
    pub read: ReadOptions,
}

/// A body; see the [module](self).
#[derive(Debug, Clone)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Its skin.
    pub skin: Arc<TriMesh>,
    /// Its model; `None` without a rig.
    pub model: Option<BodyModel>,
    /// Its motions.
    pub motions: Vec<BodyMotion>,
    /// Values per point of the skin, by name.
    pub attributes: BTreeMap<String, Vec<f32>>,
    /// The up direction.
    pub up: UpAxis,
    /// Assumptions and omissions.
    pub notes: Vec<Note>,
}

/// Reasons why a file contains no valid body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyFileError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] Error),
    /// It has no such mesh.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// Its parts are inconsistent.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A motion does not match the body.
    #[error(transparent)]
    Retarget(#[from] RetargetError),
    /// There is no surface.
    #[error("the file has no mesh with triangles")]
    NoSkin,
    /// It is not in metres.
    #[error("invalid size of the body, {} m: its unit is probably not the metre", short(*size_m))]
    Size {
        /// The diagonal of the box around it.
        size_m: f64,
    },
    /// There is no motion.
    #[error("the file contains no joint motion")]
    NoMotion,
    /// The body has no rig.
    #[error("the body has no rig")]
    NoRig,
    /// No shape coefficient has that name or number.
    #[error("there is no shape called '{wanted}'")]
    NoSuchShape {
        /// The requested name.
        wanted: String,
        /// The names of all shapes.
        names: Vec<String>,
    },
    /// The body cannot be built.
    #[error(transparent)]
    Layered(#[from] LayeredError),
}

/// A length with three digits, without an exponent.
fn short(length: f64) -> String {
    let decimals = if length > 0.0 { (2.0 - length.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("{length:.decimals$}")
}

/// Reads the body in `source`, a file or `sample:NAME`.
pub fn read_body(source: &str, options: &BodyOptions) -> Result<Body, BodyFileError> {
    Ok(open_body(source, options)?.1)
}

/// Reads a layered body, or a body to build one from. Attributes and notes are those of the body in both cases.
pub fn open_body(source: &str, options: &BodyOptions) -> Result<(Option<LayeredBody>, Body), BodyFileError> {
    let mut opened = own_model(source)?;
    if let Some(opened) = &mut opened {
        let named = Object::of_mesh(opened.body.name.clone(), Arc::clone(&opened.body.skin));
        let selection = Selection { mesh: options.mesh.clone(), ..Selection::default() };
        select(Scene { objects: vec![named], ..Scene::default() }, &selection)?;
    }
    let Opened { layered, body, metres_per_unit } = match opened {
        Some(opened) => opened.corrected(&options.read),
        None => from_scene(dermis_io::read(source, &options.read)?, options)?,
    };
    Ok((layered, in_metres(body, metres_per_unit.unwrap_or(1.0))?))
}

/// A body as it is in its file.
struct Opened {
    layered: Option<LayeredBody>,
    body: Body,
    metres_per_unit: Option<f64>,
}

/// The body of a scene.
fn from_scene(scene: Scene, options: &BodyOptions) -> Result<Opened, BodyFileError> {
    let scene = select(scene, &Selection { mesh: options.mesh.clone(), ..Selection::default() })?;
    let Scene { mut objects, units, mut notes } = scene;
    let index = best(&objects).ok_or(BodyFileError::NoSkin)?;
    if objects.len() > 1 {
        let (name, count) = (&objects[index].name, objects.len());
        notes.push(Note::new(format!("the mesh '{name}' is used as the body, out of {count} meshes")));
    }
    let object = objects.swap_remove(index);
    if !object.deformers.is_empty() {
        let layers = object.deformers.iter().map(Deformer::kind).collect::<Vec<_>>().join(", ");
        notes.push(Note::at(&object.name, format!("a body model has no layers; the rig is used without {layers}")));
    }
    let shapes = object.rig.iter().flat_map(|rig| rig.shapes()).count();
    if shapes > 0 {
        let message =
            format!("a body model does not support expressions: the blend shapes of the rig are dropped ({shapes})");
        notes.push(Note::at(&object.name, message));
    }
    let (model, motions) = match &object.rig {
        Some(_) => {
            let (model, motions) = from_object(&object)?;
            (Some(model), motions)
        }
        None => (None, Vec::new()),
    };
    let skin = model.as_ref().map_or_else(|| Arc::clone(&object.mesh), |model| Arc::clone(model.mesh()));
    let up = units.up_axis.unwrap_or(UpAxis::Y);
    let body = Body { name: object.name, skin, model, motions, attributes: object.attributes, up, notes };
    Ok(Opened { layered: None, body, metres_per_unit: units.metres_per_unit })
}

/// Selects the body of a scene: rigged objects first, then the object with the most points.
fn best(objects: &[Object]) -> Option<usize> {
    let has_rig = |object: &Object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty());
    let usable = (0..objects.len()).filter(|&index| objects[index].mesh.triangle_count() > 0);
    usable.max_by_key(|&index| (has_rig(&objects[index]), objects[index].mesh.point_count(), std::cmp::Reverse(index)))
}

/// Contents of a source with a body model, whose shapes, pose shapes and inner layer a scene cannot store.
fn own_model(source: &str) -> Result<Option<Opened>, Error> {
    let path = Path::new(source);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if source == SAMPLE {
        let (model, motions) = dermis_io::samples::body()?;
        let file = BodyFile { model, motions, notes: Vec::new() };
        let units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
        return Ok(Some(Opened::of_file("body".to_owned(), file, units, BTreeMap::new())));
    }
    match Format::of_path(path).map(|format| format.id) {
        Ok("pickle") => {
            let file = smpl::read(path)?;
            Ok(Some(Opened::of_file(name, file, Units::default(), BTreeMap::new())))
        }
        Ok("npz") if path.is_file() => arrays::read(path, |arrays| of_arrays(name, arrays)),
        _ => Ok(None),
    }
}

/// The body in the arrays of an archive, if it is one.
fn of_arrays(name: String, arrays: &mut dyn Arrays) -> Result<Option<Opened>, Error> {
    if arrays.array("tissue_nodes")?.is_some() {
        let LayeredFile { body: layered, attributes, notes } = layered_file::from_arrays(arrays)?;
        let parts = layered.parts();
        let file = BodyFile { model: parts.body.clone(), motions: parts.motions.clone(), notes };
        let units = Units { metres_per_unit: Some(1.0), up_axis: Some(parts.up) };
        return Ok(Some(Opened { layered: Some(layered), ..Opened::of_file(name, file, units, attributes) }));
    }
    if arrays.array("v_template")?.is_none() {
        return Ok(None);
    }
    let file = smpl::body(arrays)?;
    let (points, units) = (file.model.point_count(), arrays::units_of(arrays)?);
    let attributes = arrays.attributes(points)?;
    Ok(Some(Opened::of_file(name, file, units, attributes)))
}

impl Opened {
    /// The body with the scale, units and up axis of `options`.
    fn corrected(mut self, options: &ReadOptions) -> Self {
        let metres = options.units.metres_per_unit.or(self.metres_per_unit);
        self.metres_per_unit = options.scale.map(|scale| scale * metres.unwrap_or(1.0)).or(metres);
        self.body.up = options.units.up_axis.unwrap_or(self.body.up);
        self
    }

    fn of_file(name: String, file: BodyFile, units: Units, attributes: BTreeMap<String, Vec<f32>>) -> Self {
        let BodyFile { model, motions, notes } = file;
        let (skin, up) = (Arc::clone(model.mesh()), units.up_axis.unwrap_or(UpAxis::Y));
        let body = Body { name, skin, model: Some(model), motions, attributes, up, notes };
        Self { layered: None, body, metres_per_unit: units.metres_per_unit }
    }
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

/// The motions of the file `source` for `model`, whose joints they must move: poses in SMPL's layout, or clips of a
/// rig.
pub fn read_motions(
    source: &str,
    model: &BodyModel,
    up: UpAxis,
) -> Result<(Vec<BodyMotion>, Vec<Note>), BodyFileError> {
    if source != SAMPLE && Format::is_path_of("npz", Path::new(source)) {
        let found = smpl::read_motions(Path::new(source), model.joints().len())?;
        if !found.is_empty() {
            return Ok((found, Vec::new()));
        }
    }
    let scene = dermis_io::read(source, &ReadOptions::default())?;
    let target = model.shaped(&[])?.to_object("body", &[])?;
    let rig = target.rig.clone().ok_or(BodyError::NoJoints)?;
    let (mut motions, mut notes) = (Vec::new(), scene.notes);
    let mut failed = None;
    for object in scene.objects.iter().filter(|object| object.rig.is_some()) {
        // Meshes on one skeleton have the same motions.
        if !motions.is_empty() {
            break;
        }
        let converted = in_units(object, scene.units, Units { metres_per_unit: Some(1.0), up_axis: Some(up) })?;
        let from = converted.as_ref().unwrap_or(object);
        for clip in &from.clips {
            match retarget(clip, from, &target, &RetargetOptions::default()) {
                Ok(moved) => {
                    notes.extend(moved.notes);
                    motions.push(motion_of_clip(model, &rig, &moved.clip)?);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
    }
    match failed {
        _ if !motions.is_empty() => Ok((motions, notes)),
        Some(error) => Err(error.into()),
        None => Err(BodyFileError::NoMotion),
    }
}

/// The shape coefficients of `model` that are set by name or number, the others 0.
pub fn shape_coefficients(model: &BodyModel, values: &[(String, f64)]) -> Result<Vec<f64>, BodyFileError> {
    let names: Vec<&str> = model.shapes().iter().map(|shape| shape.name.as_str()).collect();
    let mut betas = vec![0.0; names.len()];
    for (wanted, value) in values {
        let index = find_one(wanted, &names).map_err(|_| BodyFileError::NoSuchShape {
            wanted: wanted.clone(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        })?;
        betas[index] = *value;
    }
    Ok(betas)
}
