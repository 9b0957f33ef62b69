//! Files of a wrinkled cloth beside its mesh sequence: displacement maps and curves, one file per frame.

use std::path::Path;

use dermis_active::wrinkle::{HeightMaps, WrinkledCloth};
use dermis_io::output::Output;
use dermis_io::{Error, ErrorKind, WriteOptions, Written, image, obj};
use dermis_math::progress::Progress;
use dermis_mesh::{Note, Object, Scene};

/// The format of displacement maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapFormat {
    /// 16 bits; grey is no height, white [`HeightMaps::range`]'s upper bound, black the lower.
    #[default]
    Png,
    /// Half floats, in scene units.
    Exr,
}

/// Writes `maps` into `folder` as `height.0000.png`, …, and the cloth with the UVs made for it as `cloth.obj`.
pub fn write_height_maps(
    folder: &Path,
    maps: &HeightMaps,
    format: MapFormat,
    options: &WriteOptions,
    progress: &dyn Progress,
) -> Result<Written, Error> {
    let mut files = Output::new(options.force);
    for frame in 0..maps.frame_count() {
        if progress.report("writing maps", frame, maps.frame_count()).is_break() {
            return Err(ErrorKind::Stopped.into());
        }
        let heights = maps.heights(frame)?;
        let (extension, bytes) = match format {
            MapFormat::Png => ("png", image::png16(maps.size, &heights, maps.range()).map_err(std::io::Error::other)?),
            MapFormat::Exr => ("exr", image::exr(maps.size, &heights)),
        };
        files.write_all(&folder.join(format!("height.{frame:04}.{extension}")), &bytes)?;
    }
    files.remove_later(folder, "height.", maps.frame_count(), &[".png", ".exr"]);
    let mut notes = Vec::new();
    if let Some(mesh) = &maps.atlas {
        // The mesh belongs to the set of the maps: both are replaced together.
        let scene = Scene { objects: vec![Object::of_mesh("cloth", mesh.clone())], ..Scene::default() };
        let made = tempfile::tempdir()?;
        let path = made.path().join("cloth.obj");
        dermis_io::write(&path, &scene, &WriteOptions::default(), progress)?;
        files.write_all(&folder.join("cloth.obj"), &std::fs::read(&path)?)?;
        notes.push(Note::new("the cloth has no UVs; cloth.obj beside the maps has those that were made"));
    }
    Ok(Written { notes, ..files.commit()? })
}

/// Writes the curves of every frame of `cloth` into `folder` as OBJ lines: `curves.0000.obj`, ….
pub fn write_curves(folder: &Path, cloth: &WrinkledCloth, options: &WriteOptions) -> Result<Written, Error> {
    let mut files = Output::new(options.force);
    for frame in 0..cloth.coarse().frame_count() {
        let lines = obj::lines(&cloth.polylines(frame)?);
        files.write_all(&folder.join(format!("curves.{frame:04}.obj")), lines.as_bytes())?;
    }
    files.remove_later(folder, "curves.", cloth.coarse().frame_count(), &[".obj"]);
    files.commit()
}
