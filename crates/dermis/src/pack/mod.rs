//! Packing of an asset: the smallest glTF file within a distortion of the motion, or the most accurate one within a
//! size.
//!
//! The file is written, quantized and compressed ([`dermis_io::pack_glb`]), and read again to measure it, so that the
//! stated error is the one that a player shows. E is defined as for skin fits, relative to the motion of the asset
//! itself; without motion, relative to the distances of the points from their centre. [`pack_frames`] fits skins to
//! recorded frames, and E is relative to these frames.

#[cfg(feature = "alembic")]
mod compare;
mod frames;
mod reference;
mod search;

use std::path::Path;

use dermis_io::output::Output;
use dermis_io::{Packing, WriteOptions, Written};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::{MeshSequence, Note, Object, Scene};
use dermis_skin::export::{end_joints, without_end_joints};
use serde::Serialize;

use self::search::Search;
use crate::error::Result;
use crate::files::{ToScene, Writable};

pub use crate::error::PackError;
#[cfg(feature = "alembic")]
pub use compare::{Comparison, Rival, compare};
pub use frames::{FramePacker, PackedFrames, pack_frames};

/// Options of [`pack`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PackOptions {
    /// Limit of the file.
    pub budget: PackBudget,
    /// Keeps the normal offsets of corrections and blend shapes. Without them the file is smaller, and shapes are
    /// shaded with the normals of the rest pose.
    pub shape_normals: bool,
    /// Keeps the order of points and triangles. The file is larger.
    pub keep_order: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self { budget: PackBudget::Error(0.5), shape_normals: true, keep_order: false }
    }
}

/// Limit of a packed file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PackBudget {
    /// Largest distortion E in percent.
    Error(f64),
    /// Maximum size in bytes.
    Size(usize),
}

impl PackBudget {
    fn check(self) -> Result<()> {
        match self {
            Self::Error(percent) if !(percent.is_finite() && percent > 0.0) => Err(PackError::Error(percent).into()),
            _ => Ok(()),
        }
    }
}

/// A packed asset.
#[derive(Debug, Clone)]
pub struct PackedAsset {
    /// Contents of the `.glb` file.
    pub glb: Vec<u8>,
    /// Size and error.
    pub measures: PackMeasures,
    /// The selected precision.
    pub packing: Packing,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// Size and error of a packed asset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PackMeasures {
    /// Size of the packed file.
    pub packed_bytes: usize,
    /// Size of the JSON in it.
    pub json_bytes: usize,
    /// Size of the file before packing.
    pub unpacked_bytes: usize,
    /// E relative to the asset before packing.
    pub distortion_percent: f64,
    /// 1000 times the root mean square error per coordinate, in the units of the asset.
    pub erms: f64,
    /// Largest error of a point, in percent of the diagonal of the rest pose.
    pub max_error_percent: f64,
}

/// Packs a scene.
pub fn pack(input: &(impl ToScene + ?Sized), options: &PackOptions) -> Result<PackedAsset> {
    pack_with(input, options, &NoProgress)
}

/// [`pack`] with an observer.
pub fn pack_with(
    input: &(impl ToScene + ?Sized),
    options: &PackOptions,
    progress: &dyn Progress,
) -> Result<PackedAsset> {
    options.budget.check()?;
    pack_scene(&input.to_scene(), None, options, progress)
}

/// Packs a scene; errors are relative to the frames `recorded`, which its only clip approximates, or else to its own
/// motion.
fn pack_scene(
    scene: &Scene,
    recorded: Option<&MeshSequence>,
    options: &PackOptions,
    progress: &dyn Progress,
) -> Result<PackedAsset> {
    if scene.objects.iter().all(|object| object.mesh.point_count() == 0) {
        return Err(PackError::NoPoints.into());
    }
    let (unpacked, mut warnings) = written(scene)?;
    let unpacked_bytes = unpacked.len();
    let shortened = without_ends(scene)?;
    let unpacked = match &shortened {
        Some((scene, dropped)) => {
            warnings.push(Note::new(format!("{dropped} end joints, which move no points, are dropped")));
            written(scene)?.0
        }
        None => unpacked,
    };
    // Layers have numbers for each point.
    let has_layers = scene.objects.iter().any(|object| !object.deformers.is_empty());
    if has_layers && !options.keep_order {
        warnings.push(Note::new("the asset has layers; points and triangles keep their order"));
    }
    let options = PackOptions { keep_order: options.keep_order || has_layers, ..*options };
    let mut search = Search::new(&unpacked, recorded, &options, progress)?;
    let found = search.run(options.budget)?;
    Ok(PackedAsset {
        measures: PackMeasures {
            packed_bytes: found.glb.len(),
            json_bytes: found.json_bytes,
            unpacked_bytes,
            distortion_percent: found.error.distortion_percent(),
            erms: found.error.erms(),
            max_error_percent: found.error.max_percent(),
        },
        glb: found.glb,
        packing: found.packing,
        warnings,
    })
}

/// The scene without end joints, and their number; `None` if there are none, or if other parts of the scene may refer
/// to them.
fn without_ends(scene: &Scene) -> Result<Option<(Scene, usize)>> {
    let mut rigged =
        scene.objects.iter().enumerate().filter_map(|(at, object)| Some((at, object, object.rig.as_ref()?)));
    let (Some((at, object, rig)), None) = (rigged.next(), rigged.next()) else { return Ok(None) };
    let ends = end_joints(rig);
    let dropped = ends.iter().filter(|&&is_end| is_end).count();
    let are_last = ends[ends.len() - dropped..].iter().all(|&is_end| is_end);
    if dropped == 0 || !object.deformers.is_empty() || !(are_last || object.levels.is_empty()) {
        return Ok(None);
    }
    let (rig, clips) = without_end_joints(&object.mesh, rig, &object.clips)?;
    let mut scene = scene.clone();
    scene.objects[at] = Object { rig: Some(rig), clips, ..object.clone() };
    Ok(Some((scene, dropped)))
}

/// The scene as an ordinary `.glb` file, and notes of the writer.
fn written(scene: &Scene) -> Result<(Vec<u8>, Vec<Note>)> {
    let folder = tempfile::tempdir().map_err(dermis_io::Error::from)?;
    let file = folder.path().join("asset.glb");
    let written = scene.write_to(&file, &WriteOptions::default(), &NoProgress)?;
    Ok((std::fs::read(&file).map_err(dermis_io::Error::from)?, written.notes))
}

impl Writable for PackedAsset {
    fn write_to(&self, target: &Path, options: &WriteOptions, _: &dyn Progress) -> Result<Written> {
        if !target.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("glb")) {
            return Err(PackError::Target(target.display().to_string()).into());
        }
        let mut output = Output::new(options.force);
        output.write_all(target, &self.glb)?;
        Ok(output.commit()?)
    }
}
