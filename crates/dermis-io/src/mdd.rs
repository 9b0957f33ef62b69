//! MDD point caches: all big-endian.
//!
//! u32 frames, u32 points, the time of each frame in seconds as f32, then x, y, z as f32, point after point, frame
//! after frame. Faces are read from an OBJ file of the same name (or the mesh in the options); such a file is also
//! written.

use std::io::Write;

use dermis_mesh::{Object, Scene, Units};
use glam::Vec3;

use crate::error::Error;
use crate::frame_rate;
use crate::input::Input;
use crate::mapped::Mapped;
use crate::options::ReadOptions;
use crate::output::Job;
use crate::point_cache::{self, Cache};
use crate::raw_frames::{RawFrames, Scalar};

const HEADER_BYTES: usize = 8;

/// Reads a file, as points.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    cache(&input.bytes, options)?.into_scene(&input.name)
}

fn cache(bytes: &Mapped, options: &ReadOptions) -> Result<Cache, Error> {
    let available = bytes.len() as u64;
    let Some(&[a, b, c, d, e, f, g, h]) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(Error::truncated("the header of the cache", HEADER_BYTES as u64, available));
    };
    let (frames, points) = (u32::from_be_bytes([a, b, c, d]) as usize, u32::from_be_bytes([e, f, g, h]) as usize);
    let start = HEADER_BYTES + 4 * frames;
    let Some(times) = bytes.get(HEADER_BYTES..start) else {
        return Err(Error::truncated(format!("the times of {frames} frames"), start as u64, available));
    };
    let times: Vec<f64> = times.as_chunks().0.iter().map(|&time| f32::from_be_bytes(time).into()).collect();
    let frames = RawFrames::new(bytes.clone(), start, frames, points, Scalar::F32Big)?;
    let mut notes = Vec::new();
    let (frame_rate_hz, start_seconds) = frame_rate::of_times_or_assumed(&times, options, &mut notes);
    Ok(Cache { frames, frame_rate_hz, start_seconds, notes })
}

/// Writes the motion of `object` to `target`, and its mesh to an OBJ file of the same name.
pub(crate) fn write(object: &Object, _units: Units, job: &mut Job<'_>) -> Result<(), Error> {
    let motion = point_cache::prepare(object, job)?;
    let mut file = job.create()?;
    file.write_all(&(motion.frame_count() as u32).to_be_bytes())?;
    file.write_all(&(motion.point_count() as u32).to_be_bytes())?;
    for frame in 0..motion.frame_count() {
        let time = motion.start_seconds() + frame as f64 / motion.frame_rate_hz();
        file.write_all(&(time as f32).to_be_bytes())?;
    }
    point_cache::write_frames(&motion, job, |positions| {
        file.write_all(&positions.iter().flat_map(Vec3::to_array).flat_map(f32::to_be_bytes).collect::<Vec<u8>>())
    })?;
    Ok(file.flush()?)
}
