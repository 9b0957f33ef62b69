//! PC2 point caches: a head of 32 bytes and then positions, all little-endian.
//!
//! `"POINTCACHE2\0"`, i32 version 1, i32 points, f32 first frame, f32 frames per sample, i32 samples; then x, y, z as
//! f32, point after point, sample after sample. Faces come from an OBJ file of the same name (or the mesh in the
//! options); one is written beside. The format states no frame rate.

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

const MAGIC: &[u8; 12] = b"POINTCACHE2\0";
const HEADER_BYTES: usize = 32;

/// Reads the file `path`.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    let mut notes = Vec::new();
    let (frames, timing) = frames(Mapped::open(path)?, options, &mut notes).map_err(|error| error.in_file(path))?;
    let topology = point_cache::topology(path, options, &mut notes)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    point_cache::scene(&name, frames, timing, topology, notes).map_err(|error| error.in_file(path))
}

/// Reads the contents of a file, as points.
pub fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Scene, Error> {
    let mut notes = Vec::new();
    let (frames, timing) = frames(Mapped::of_bytes(bytes.to_vec()), options, &mut notes)?;
    point_cache::scene("points", frames, timing, None, notes)
}

fn frames(bytes: Mapped, options: &ReadOptions, notes: &mut Vec<Note>) -> Result<(RawFrames, (f64, f64)), Error> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(Error::truncated("the head of the cache", HEADER_BYTES as u64, bytes.len() as u64));
    };
    if !header.starts_with(MAGIC) {
        return Err(Error::malformed("the file does not begin as a PC2 cache does"));
    }
    let word = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
    let count = |at: usize, what: &str| {
        let count = i32::from_le_bytes(word(at));
        usize::try_from(count).map_err(|_| Error::malformed(format!("the cache states {count} {what}")))
    };
    let version = i32::from_le_bytes(word(12));
    if version != 1 {
        return Err(Error::unsupported(format!("version {version} of the PC2 format is not known")));
    }
    let (points, samples) = (count(16, "points")?, count(28, "samples")?);
    let (first_frame, step) = (f32::from_le_bytes(word(20)), f32::from_le_bytes(word(24)));
    let rate = frame_rate::assumed(options, notes);
    let frames = RawFrames::new(bytes, HEADER_BYTES, samples, points, Scalar::F32Little)?;
    let start = if first_frame.is_finite() { f64::from(first_frame) / rate } else { 0.0 };
    if step.is_finite() && step > 0.0 {
        return Ok((frames, (rate / f64::from(step), start)));
    }
    notes.push(Note::new(format!("the cache states {step} frames per sample; 1 is assumed")));
    Ok((frames, (rate, start)))
}

/// Writes `scene` to `target`, and its mesh to an OBJ file beside.
pub fn write(scene: &Scene, target: &Path, output: &mut Output, progress: &dyn Progress) -> Result<Vec<Note>, Error> {
    let (motion, mut notes) = point_cache::prepare(scene, target, output)?;
    let rate = motion.frame_rate_hz();
    notes.push(Note::new(format!("PC2 holds no frame rate; these frames are at {rate} fps")));
    let mut file = output.create(target)?;
    file.write_all(MAGIC)?;
    file.write_all(&1i32.to_le_bytes())?;
    file.write_all(&(motion.point_count() as i32).to_le_bytes())?;
    file.write_all(&((motion.start_seconds() * rate) as f32).to_le_bytes())?;
    file.write_all(&1f32.to_le_bytes())?;
    file.write_all(&(motion.frame_count() as i32).to_le_bytes())?;
    point_cache::write_frames(&motion, progress, |positions| {
        if cfg!(target_endian = "little") {
            return file.write_all(bytemuck::cast_slice(positions));
        }
        file.write_all(&positions.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
    })?;
    file.flush()?;
    Ok(notes)
}
