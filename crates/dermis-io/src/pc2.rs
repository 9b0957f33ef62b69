//! PC2 point caches: a header of 32 bytes followed by positions, all little-endian.
//!
//! `"POINTCACHE2\0"`, i32 version 1, i32 points, f32 first frame, f32 frames per sample, i32 samples; then x, y, z as
//! f32, point after point, sample after sample. Faces are read from an OBJ file of the same name (or the mesh in the
//! options); such a file is also written. The format does not store a frame rate.

use std::io::Write;

use dermis_mesh::{Note, Object, Scene, Units};
use glam::Vec3;

use crate::error::Error;
use crate::frame_rate;
use crate::input::Input;
use crate::mapped::Mapped;
use crate::options::ReadOptions;
use crate::output::Job;
use crate::point_cache::{self, Cache};
use crate::raw_frames::{RawFrames, Scalar};

const MAGIC: &[u8; 12] = b"POINTCACHE2\0";
const HEADER_BYTES: usize = 32;

/// Reads a file, as points.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    cache(input.bytes.clone(), options)?.into_scene(&input.name)
}

fn cache(bytes: Mapped, options: &ReadOptions) -> Result<Cache, Error> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(Error::truncated("the header of the cache", HEADER_BYTES as u64, bytes.len() as u64));
    };
    if !header.starts_with(MAGIC) {
        return Err(Error::malformed("the file does not have the signature of a PC2 cache"));
    }
    let word = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
    let count = |at: usize, what: &str| {
        let count = i32::from_le_bytes(word(at));
        usize::try_from(count).map_err(|_| Error::malformed(format!("the cache states {count} {what}")))
    };
    let version = i32::from_le_bytes(word(12));
    if version != 1 {
        return Err(Error::unsupported(format!("unknown version {version} of the PC2 format")));
    }
    let (points, samples) = (count(16, "points")?, count(28, "samples")?);
    let (first_frame, mut step) = (f32::from_le_bytes(word(20)), f32::from_le_bytes(word(24)));
    let mut notes = Vec::new();
    let rate = frame_rate::assumed(options, &mut notes);
    if !(step.is_finite() && step > 0.0) {
        notes.push(Note::new(format!("the cache states {step} frames per sample; 1 is assumed")));
        step = 1.0;
    }
    let frames = RawFrames::new(bytes, HEADER_BYTES, samples, points, Scalar::F32Little)?;
    let start_seconds = if first_frame.is_finite() { f64::from(first_frame) / rate } else { 0.0 };
    Ok(Cache { frames, frame_rate_hz: rate / f64::from(step), start_seconds, notes })
}

/// Writes the motion of `object` to `target`, and its mesh to an OBJ file of the same name.
pub(crate) fn write(object: &Object, _units: Units, job: &mut Job<'_>) -> Result<(), Error> {
    let motion = point_cache::prepare(object, job)?;
    let rate = motion.frame_rate_hz();
    job.notes.push(Note::new(format!("PC2 does not store a frame rate; it is {rate} fps")));
    let mut file = job.create()?;
    file.write_all(MAGIC)?;
    file.write_all(&1i32.to_le_bytes())?;
    file.write_all(&(motion.point_count() as i32).to_le_bytes())?;
    file.write_all(&((motion.start_seconds() * rate) as f32).to_le_bytes())?;
    file.write_all(&1f32.to_le_bytes())?;
    file.write_all(&(motion.frame_count() as i32).to_le_bytes())?;
    point_cache::write_frames(&motion, job, |positions| {
        if cfg!(target_endian = "little") {
            return file.write_all(bytemuck::cast_slice(positions));
        }
        file.write_all(&positions.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
    })?;
    Ok(file.flush()?)
}
