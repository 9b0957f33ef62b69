//! MDD point caches: all big-endian.
//!
//! u32 frames, u32 points, the time of each frame in seconds as f32, then x, y, z as f32, point after point, frame
//! after frame. Faces come from an OBJ file of the same name (or the mesh in the options); one is written beside.

use std::io::Write;
use std::path::Path;

use dermis_math::progress::Progress;
use dermis_mesh::{Note, Scene};
use glam::Vec3;

use crate::error::Error;
use crate::frame_rate;
use crate::mapped::Mapped;
use crate::options::ReadOptions;
use crate::output::Output;
use crate::point_cache;
use crate::raw_frames::{RawFrames, Scalar};

const HEADER_BYTES: usize = 8;

/// Reads the file `path`.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    let mut notes = Vec::new();
    let (frames, timing) = frames(&Mapped::open(path)?, options, &mut notes).map_err(|error| error.in_file(path))?;
    let topology = point_cache::topology(path, options, &mut notes)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    point_cache::scene(&name, frames, timing, topology, notes).map_err(|error| error.in_file(path))
}

/// Reads the contents of a file, as points.
pub fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Scene, Error> {
    let mut notes = Vec::new();
    let (frames, timing) = frames(&Mapped::of_bytes(bytes.to_vec()), options, &mut notes)?;
    point_cache::scene("points", frames, timing, None, notes)
}

fn frames(bytes: &Mapped, options: &ReadOptions, notes: &mut Vec<Note>) -> Result<(RawFrames, (f64, f64)), Error> {
    let available = bytes.len() as u64;
    let Some(&[a, b, c, d, e, f, g, h]) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(Error::truncated("the head of the cache", HEADER_BYTES as u64, available));
    };
    let (frames, points) = (u32::from_be_bytes([a, b, c, d]) as usize, u32::from_be_bytes([e, f, g, h]) as usize);
    let start = HEADER_BYTES + 4 * frames;
    let Some(times) = bytes.get(HEADER_BYTES..start) else {
        return Err(Error::truncated(format!("the times of {frames} frames"), start as u64, available));
    };
    let times: Vec<f64> = times.as_chunks().0.iter().map(|&time| f32::from_be_bytes(time).into()).collect();
    let raw = RawFrames::new(bytes.clone(), start, frames, points, Scalar::F32Big)?;
    Ok((raw, frame_rate::of_times_or_assumed(&times, options, notes)))
}

/// Writes `scene` to `target`, and its mesh to an OBJ file beside.
pub fn write(scene: &Scene, target: &Path, output: &mut Output, progress: &dyn Progress) -> Result<Vec<Note>, Error> {
    let (motion, notes) = point_cache::prepare(scene, target, output)?;
    let mut file = output.create(target)?;
    file.write_all(&(motion.frame_count() as u32).to_be_bytes())?;
    file.write_all(&(motion.point_count() as u32).to_be_bytes())?;
    for frame in 0..motion.frame_count() {
        let time = motion.start_seconds() + frame as f64 / motion.frame_rate_hz();
        file.write_all(&(time as f32).to_be_bytes())?;
    }
    point_cache::write_frames(&motion, progress, |positions| {
        file.write_all(&positions.iter().flat_map(Vec3::to_array).flat_map(f32::to_be_bytes).collect::<Vec<u8>>())
    })?;
    file.flush()?;
    Ok(notes)
}
