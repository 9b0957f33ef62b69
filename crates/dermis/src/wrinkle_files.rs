//! Additional files of a wrinkled cloth: displacement maps and curves, one file per frame.

use std::path::Path;

use dermis_active::wrinkle::{Curves, HeightMaps, WrinkledCloth};
use dermis_io::output::Output;
use dermis_io::{Error, ErrorKind, WriteOptions, Written, image, obj};
use dermis_math::progress::Progress;
use dermis_mesh::{MeshSequence, Note, Object, Scene};
use rayon::prelude::*;

/// The format of displacement maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapFormat {
    /// 16 bits; grey is a height of 0, white the upper bound of [`HeightMaps::range`] and black the lower bound.
    #[default]
    Png,
    /// Half floats, in scene units.
    Exr,
}

/// Maps that are computed in parallel; more need more memory.
const PARALLEL_MAPS: usize = 16;

/// Writes `maps` into `folder` as `height.0000.png`, …, and the cloth with the UVs made for it as `cloth.obj`. `coarse` is
/// the animation that the maps belong to if it differs from the input; it is written as `cloth.npz`.
pub fn write_height_maps(
    folder: &Path,
    maps: &HeightMaps,
    coarse: Option<&MeshSequence>,
    format: MapFormat,
    options: &WriteOptions,
    progress: &dyn Progress,
) -> Result<Written, Error> {
    let mut files = Output::new(options.force);
    let count = maps.frame_count();
    let encoded = |frame: usize| -> Result<(&str, Vec<u8>), Error> {
        let heights = maps.heights(frame)?;
        Ok(match format {
            MapFormat::Png => ("png", image::png16(maps.size, &heights, maps.range()).map_err(std::io::Error::other)?),
            MapFormat::Exr => ("exr", image::exr(maps.size, &heights)),
        })
    };
    for first in (0..count).step_by(PARALLEL_MAPS) {
        if progress.report("writing maps", first, count).is_break() {
            return Err(ErrorKind::Stopped.into());
        }
        let frames = first..count.min(first + PARALLEL_MAPS);
        let images: Vec<_> = frames.clone().into_par_iter().map(encoded).collect::<Result<_, Error>>()?;
        for (frame, (extension, bytes)) in frames.zip(images) {
            files.write_all(&folder.join(format!("height.{frame:04}.{extension}")), &bytes)?;
        }
    }
    files.remove_later(folder, "height.", count, &[".png", ".exr"]);
    let mut notes = Vec::new();
    // The cloth belongs to the set of the maps: both are replaced together.
    let add = |name: &str, object: Object, files: &mut Output| -> Result<(), Error> {
        let made = tempfile::tempdir()?;
        let path = made.path().join(name);
        let scene = Scene { objects: vec![object], ..Scene::default() };
        dermis_io::write(&path, &scene, &WriteOptions::default(), progress)?;
        files.write_all(&folder.join(name), &std::fs::read(&path)?)?;
        Ok(())
    };
    if let Some(cloth) = coarse {
        let name = if cloth.name().is_empty() { "cloth" } else { cloth.name() };
        add("cloth.npz", Object::of_sequence(name, cloth.clone()), &mut files)?;
        notes.push(Note::new(
            "the maps belong to the simplified cloth animation, which is written next to them as cloth.npz",
        ));
    }
    if let Some(mesh) = &maps.atlas {
        add("cloth.obj", Object::of_mesh("cloth", mesh.clone()), &mut files)?;
        notes.push(Note::new("the cloth has no UVs; generated UVs are written next to the maps as cloth.obj"));
    }
    Ok(Written { notes, ..files.commit()? })
}

/// Writes `curves`, those of every frame of `cloth`, into `folder` as OBJ lines: `curves.0000.obj`, ….
pub fn write_curves(
    folder: &Path,
    cloth: &WrinkledCloth,
    curves: &[Curves],
    options: &WriteOptions,
) -> Result<Written, Error> {
    let mut files = Output::new(options.force);
    for (frame, curves) in curves.iter().enumerate() {
        let lines = obj::lines(&cloth.polylines(frame, curves)?);
        files.write_all(&folder.join(format!("curves.{frame:04}.obj")), lines.as_bytes())?;
    }
    files.remove_later(folder, "curves.", cloth.coarse().frame_count(), &[".obj"]);
    files.commit()
}
