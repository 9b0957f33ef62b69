//! Asset of the viewer: an object of a file with its motions, described for the page.
//!
//! A file with several objects is merged into one asset. Objects named `…_lod1`, `…_LOD2` are coarser levels of detail
//! of the first, which replace it at a distance.

use std::path::Path;
use std::sync::Arc;

use dermis::evaluate::{self, EvaluateError, Motion};
use dermis::io::Format;
use dermis::mesh::glam::Vec3;
use dermis::mesh::merge::MergeError;
use dermis::mesh::tri_mesh::bounds;
use dermis::mesh::{Clip, MeshSequence, Note, Object, Rig, Scene, SequenceError, Units, UpAxis};
use dermis::skin::Skin;
use dermis::tissue::layered::LayeredBody;
use serde::Serialize;

use crate::bones::{BoneInfo, bones};
use crate::bundle::Bundle;
use crate::light::{LightFileError, StoredLight};
use crate::rigs::with_joints;
use crate::surface::{Part, parts};

/// Number of frames from which the bounds of a motion are computed.
const FRAMES_FOR_BOUNDS: usize = 9;

/// Object with its levels of detail and its origin.
#[derive(Debug)]
pub struct Asset {
    /// Name on the page.
    pub label: String,
    /// The object.
    pub object: Object,
    /// Coarser levels of detail, in the order of decreasing detail.
    pub lods: Vec<Object>,
    /// Objects of the file that are merged into the object.
    pub parts: Vec<Part>,
    /// Units of its positions.
    pub units: Units,
    /// Notes of the reader.
    pub notes: Vec<Note>,
    /// Size of the file in bytes, if it is a file.
    pub file_bytes: Option<u64>,
    /// Layered body, if the file contains one.
    pub tissue: Option<Arc<LayeredBody>>,
    /// Stored light, if there is any.
    pub light: Option<Arc<StoredLight>>,
    /// Clip that is shown first; `None`: the page selects one.
    pub first_clip: Option<usize>,
    /// Directory of an uploaded file, kept as long as frames are read from it.
    pub(crate) upload: Option<tempfile::TempDir>,
}

/// Description of an asset that the page loads before the geometry.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct AssetInfo {
    pub id: usize,
    pub label: String,
    pub name: String,
    pub points: usize,
    pub triangles: usize,
    /// Recorded motion.
    pub recorded: Option<MotionInfo>,
    pub clips: Vec<MotionInfo>,
    pub bones: Vec<BoneInfo>,
    pub rank: usize,
    pub influences: usize,
    pub attributes: Vec<String>,
    /// Layers of the file on top of its rig.
    pub layers: Vec<String>,
    /// True for a layered body, which can be simulated.
    pub tissue: bool,
    /// True if precomputed light is stored with the asset.
    pub light: bool,
    /// Clip that is shown first.
    pub first_clip: Option<usize>,
    pub low: [f32; 3],
    pub high: [f32; 3],
    pub diagonal: f32,
    pub up: &'static str,
    pub unit: String,
    pub lods: Vec<LodInfo>,
    pub file_bytes: Option<u64>,
    pub notes: Vec<String>,
}

/// Description of a motion: a clip, or recorded frames (without a name).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct MotionInfo {
    pub name: String,
    pub frames: usize,
    pub fps: f64,
    /// Asset whose recorded frames the clip is compared with.
    pub reference: Option<usize>,
}

/// Description of a level of detail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct LodInfo {
    pub points: usize,
    pub triangles: usize,
}

impl Asset {
    /// Merges the contents of `scene` into one asset.
    pub fn new(label: impl Into<String>, mut scene: Scene) -> Result<Self, EvaluateError> {
        let mut lods = take_lods(&mut scene.objects);
        if lods.is_empty() {
            lods = stored_levels(&scene)?;
        }
        scene.objects = with_joints(scene.objects).map_err(MergeError::from)?;
        let parts = parts(&scene.objects);
        let (mut object, merged) = evaluate::single(&scene)?;
        object.clips.retain(|clip| clip.frame_count() > 0);
        if object.clips.is_empty() && object.sequence.is_none() {
            object.clips.extend(object.stored_clip().map(Arc::new));
        }
        let notes = scene.notes.into_iter().chain(merged).collect();
        Ok(Self {
            label: label.into(),
            object,
            lods,
            parts,
            units: scene.units,
            notes,
            file_bytes: None,
            tissue: None,
            light: None,
            first_clip: None,
            upload: None,
        })
    }

    /// Reads the layered body from `path`, the file of the asset, if it contains one.
    pub(crate) fn with_tissue(mut self, path: &Path) -> Result<Self, dermis::io::Error> {
        if path.is_file() && Format::is_path_of("npz", path) {
            self.tissue = dermis::layered_file::read_if_layered(path)?.map(|file| Arc::new(file.body));
        }
        Ok(self)
    }

    /// Adds the light stored at `path`. Fails if it has another number of points.
    pub fn with_light(mut self, path: &Path) -> Result<Self, LightFileError> {
        let light = StoredLight::read(path)?;
        let (found, expected) = (light.points, self.object.mesh.point_count());
        if found != expected {
            return Err(LightFileError::Other { what: "points", found, expected });
        }
        self.light = Some(Arc::new(light));
        Ok(self)
    }

    /// Names of its clips.
    pub fn clip_names(&self) -> Vec<&str> {
        self.object.clips.iter().map(|clip| clip.name()).collect()
    }

    /// Its skin, if it has bones.
    pub fn skin(&self) -> Option<Skin> {
        Skin::from_object(&self.object).ok()
    }

    /// Name of its unit of length.
    pub(crate) fn unit(&self) -> String {
        unit_name(self.units.metres_per_unit)
    }

    /// Description for the page; `references` are the assets whose frames the clips are compared with.
    pub fn info(&self, id: usize, references: &[Option<usize>]) -> Result<AssetInfo, EvaluateError> {
        let Object { mesh, rig, clips, sequence, attributes, name, .. } = &self.object;
        let (low, high) = self.bounds()?;
        let clip_info = |(at, clip): (usize, &Arc<Clip>)| MotionInfo {
            reference: references.get(at).copied().flatten(),
            ..motion(clip.name(), clip.frame_count(), clip.frame_rate_hz())
        };
        let note = |note: &Note| match &note.location {
            Some(location) => format!("{} ({location})", note.message),
            None => note.message.clone(),
        };
        Ok(AssetInfo {
            id,
            label: self.label.clone(),
            name: name.clone(),
            points: mesh.point_count(),
            triangles: mesh.triangle_count(),
            recorded: sequence.as_ref().map(|frames| motion("", frames.frame_count(), frames.frame_rate_hz())),
            clips: clips.iter().enumerate().map(clip_info).collect(),
            bones: rig.as_ref().map_or_else(Vec::new, |rig| bones(mesh, rig)),
            rank: rig.as_ref().map_or(0, |rig| rig.shapes().len()),
            influences: rig.as_ref().map_or(0, |rig| rig.weights().max_influences()),
            attributes: attributes.keys().cloned().collect(),
            layers: self.object.deformers.iter().map(|layer| layer.kind().to_owned()).collect(),
            tissue: self.tissue.is_some(),
            light: self.light.is_some(),
            first_clip: self.first_clip,
            low: low.to_array(),
            high: high.to_array(),
            diagonal: mesh.diagonal(),
            up: up_axis(self.units.up_axis),
            unit: self.unit(),
            lods: self.lods.iter().map(lod_info).collect(),
            file_bytes: self.file_bytes,
            notes: self.notes.iter().map(note).collect(),
        })
    }

    /// Bounds of the motion, estimated from a few frames.
    fn bounds(&self) -> Result<(Vec3, Vec3), EvaluateError> {
        let Some(Motion { sequence: motion, .. }) = evaluate::motion(&self.object)? else {
            return Ok(self.object.mesh.bounds());
        };
        let count = motion.frame_count();
        let mut reached: Option<(Vec3, Vec3)> = None;
        for at in 0..FRAMES_FOR_BOUNDS.min(count) {
            let frame = at * (count - 1) / (FRAMES_FOR_BOUNDS.min(count) - 1).max(1);
            let (low, high) = bounds(&motion.frame(frame)?);
            reached = Some(reached.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
        }
        Ok(reached.unwrap_or_else(|| self.object.mesh.bounds()))
    }
}

/// Bundle of an object's shape: `rest`, `triangles`, `joints` and `weights` (K per point, unused slots have weight 0),
/// `shapes` (all points of the first shape, then of the second, …), `attributes` in the order of their names.
pub fn mesh_bundle(object: &Object, compact: bool) -> Vec<u8> {
    let mut bundle = Bundle::default();
    bundle.vectors("rest", object.mesh.points());
    bundle.indices("triangles", object.mesh.triangles().iter().flatten().copied());
    if let Some(rig) = &object.rig {
        let slots = rig.weights().max_influences();
        let rows: Vec<Vec<(u32, f32)>> = rig.weights().rows().map(|row| padded(row, slots)).collect();
        bundle.indices("joints", rows.iter().flatten().map(|(joint, _)| *joint));
        bundle.floats("weights", rows.iter().flatten().map(|(_, weight)| *weight));
        let shapes: Vec<Vec3> = rig.shapes().iter().flat_map(|shape| shape.offsets.iter().copied()).collect();
        if compact {
            bundle.quantized("shapes", &shapes);
        } else {
            bundle.vectors("shapes", &shapes);
        }
    }
    bundle.floats("attributes", object.attributes.values().flatten().copied());
    bundle.into_bytes()
}

/// Bundle of a clip: `palette`, the first three rows of the skinning matrix for each frame and joint, and
/// `coefficients`, the weights of all shapes for each frame.
pub fn clip_bundle(rig: &Rig, clip: &Clip) -> Vec<u8> {
    let mut bundle = Bundle::default();
    let frames = || 0..clip.frame_count();
    let matrices = frames().flat_map(|frame| rig.joints().iter().zip(clip.transforms(frame)));
    bundle.floats(
        "palette",
        matrices.flat_map(|(joint, pose)| {
            let matrix = *pose * joint.inverse_bind;
            let (m, t) = (matrix.matrix3, matrix.translation);
            [m.row(0).extend(t.x), m.row(1).extend(t.y), m.row(2).extend(t.z)]
                .into_iter()
                .flat_map(|row| row.as_vec4().to_array())
        }),
    );
    bundle.floats("coefficients", frames().flat_map(|frame| clip.shape_weights(frame).iter().copied()));
    bundle.into_bytes()
}

/// Bundle of the frames `first..first + count` with the array `frames`.
pub fn frames_bundle(
    sequence: &MeshSequence,
    first: usize,
    count: usize,
    compact: bool,
) -> Result<Vec<u8>, SequenceError> {
    let mut positions = Vec::with_capacity(count * sequence.point_count());
    for frame in first..first + count {
        positions.extend_from_slice(&sequence.frame(frame)?);
    }
    let mut bundle = Bundle::default();
    if compact {
        bundle.quantized("frames", &positions);
    } else {
        bundle.vectors("frames", &positions);
    }
    Ok(bundle.into_bytes())
}

fn padded(row: impl Iterator<Item = (u32, f32)>, slots: usize) -> Vec<(u32, f32)> {
    let mut row: Vec<(u32, f32)> = row.filter(|(_, weight)| *weight != 0.0).collect();
    row.sort_by(|a, b| b.1.total_cmp(&a.1));
    row.resize(slots, (0, 0.0));
    row
}

/// Removes the levels of detail of the first object from `objects`, identified by their names.
fn take_lods(objects: &mut Vec<Object>) -> Vec<Object> {
    let mut lods: Vec<(u32, Object)> = Vec::new();
    let mut rest = Vec::new();
    for object in std::mem::take(objects) {
        match lod_level(&object.name) {
            Some(level) if level > 0 && !rest.is_empty() => lods.push((level, object)),
            _ => rest.push(object),
        }
    }
    *objects = rest;
    lods.sort_by_key(|(level, _)| *level);
    lods.into_iter().map(|(_, object)| object).collect()
}

/// Levels of detail that the objects of `scene` have, each merged into one object.
fn stored_levels(scene: &Scene) -> Result<Vec<Object>, EvaluateError> {
    let count = scene.objects.iter().map(|object| object.levels.len()).max().unwrap_or(0);
    let at = |level: usize| {
        let object = |object: &Object| match object.levels.len() {
            0 => object.clone(),
            // A level that does not belong to the rig is ignored.
            levels => object.at_level(level.min(levels - 1)).unwrap_or_else(|_| object.clone()),
        };
        let objects = scene.objects.iter().map(object).collect();
        Ok(evaluate::single(&Scene { objects, units: scene.units, notes: Vec::new() })?.0)
    };
    (0..count).map(at).collect()
}

/// Number in `…lod2` or `…LOD_2`.
fn lod_level(name: &str) -> Option<u32> {
    let lower = name.to_ascii_lowercase();
    let (_, number) = lower.rsplit_once("lod")?;
    number.trim_start_matches(['_', '-', '.']).parse().ok()
}

fn motion(name: &str, frames: usize, fps: f64) -> MotionInfo {
    MotionInfo { name: name.to_owned(), frames, fps, reference: None }
}

fn lod_info(object: &Object) -> LodInfo {
    LodInfo { points: object.mesh.point_count(), triangles: object.mesh.triangle_count() }
}

fn up_axis(axis: Option<UpAxis>) -> &'static str {
    match axis {
        Some(UpAxis::X) => "x",
        Some(UpAxis::Z) => "z",
        Some(UpAxis::Y) | None => "y",
    }
}

fn unit_name(metres: Option<f64>) -> String {
    match metres {
        Some(1.0) => "m".to_owned(),
        Some(metres) if (metres - 0.01).abs() < 1e-9 => "cm".to_owned(),
        Some(metres) if (metres - 0.001).abs() < 1e-9 => "mm".to_owned(),
        _ => "units".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use dermis::mesh::TriMesh;

    use super::*;

    fn named(name: &str) -> Object {
        let mesh = TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap();
        Object::of_mesh(name, Arc::new(mesh))
    }

    #[test]
    fn levels_of_detail_are_identified_by_their_names() {
        let scene = Scene { objects: ["hero", "hero_LOD2", "hero_lod1"].map(named).into(), ..Scene::default() };
        let asset = Asset::new("hero.glb", scene).unwrap();
        let names: Vec<&str> = asset.lods.iter().map(|lod| lod.name.as_str()).collect();
        assert_eq!((asset.object.name.as_str(), names), ("hero", vec!["hero_lod1", "hero_LOD2"]));
    }

    #[test]
    fn levels_of_detail_of_an_object_are_those_of_the_asset() {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z], vec![[0, 1, 2]]).unwrap());
        let levels = vec![dermis::mesh::Level { mesh: Arc::clone(&named("").mesh), ..Default::default() }];
        let object = Object { levels, ..Object::of_mesh("hero", mesh) };
        let asset = Asset::new("hero.glb", Scene { objects: vec![object], ..Scene::default() }).unwrap();
        assert_eq!(asset.lods.iter().map(|lod| lod.mesh.point_count()).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn shows_a_file_with_only_a_level_of_detail() {
        let scene = Scene { objects: vec![named("tree_lod1")], ..Scene::default() };
        assert_eq!(Asset::new("tree.glb", scene).unwrap().object.name, "tree_lod1");
    }
}
