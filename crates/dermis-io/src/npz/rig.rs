//! Joints, weights, shapes and their motion as arrays.
//!
//! In addition to the arrays listed in [`super`], a rig can have `shape_normals` [M,V,3] (of vertices) and
//! `shape_names` [M]. `inverse_bind` [B,4,4] is the matrix used by skinning; it is written in addition to `bind`
//! because it can be singular. `stored_pose` [B,4,4] and `stored_coefficients` [M] are the pose in which the object is
//! stored, if it is not the bind pose. Several clips are concatenated along the frames: `clip_names`, `clip_frames`,
//! `clip_fps` and `clip_start_seconds` [K] separate them.

use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Rig, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DVec3, Vec3};

use crate::budget::Budget;
use crate::error::Error;
use crate::npz::array::Array;
use crate::npz::read::{Reader, Timing, text, triples};

/// Tolerated deviation of the last row of an affine matrix from (0, 0, 0, 1), from f32 rounding of inverted matrices.
const LAST_ROW: f64 = 1e-4;

/// The rig of `mesh`, and its motion.
pub(super) fn read(reader: &mut Reader<'_>, mesh: &TriMesh, timing: Timing) -> Result<(Option<Rig>, Vec<Clip>), Error> {
    let weights = reader.take("weights")?;
    let bind = reader.take("bind")?.map(|array| matrices(&array)).transpose()?;
    let inverse_bind = reader.take("inverse_bind")?.map(|array| matrices(&array)).transpose()?;
    let (pose, skin) = (reader.take("pose")?, reader.take("skin")?);
    let shapes = shapes(reader, mesh)?;
    if weights.is_none() && shapes.is_empty() {
        return Ok((None, Vec::new()));
    }
    let inverse_binds = inverse_bind.or_else(|| bind.map(|bind| bind.iter().map(DAffine3::inverse).collect()));
    let (joints, weights) = match weights {
        Some(weights) => skinned(reader, &weights, inverse_binds)?,
        None => (Vec::new(), SkinWeights::default()),
    };
    let rig = with_stored_pose(reader, Rig::new(mesh, joints, weights, shapes)?)?;
    let transforms = match (pose, skin) {
        (Some(pose), _) => Some(poses(&pose, &rig)?),
        (None, Some(skin)) => {
            let skin = poses(&skin, &rig)?;
            let count = rig.joints().len();
            Some(skin.iter().enumerate().map(|(at, skin)| *skin * rig.joints()[at % count].bind()).collect())
        }
        (None, None) => None,
    };
    let clips = clips(reader, &rig, transforms, timing)?;
    Ok((Some(rig), clips))
}

/// The rig in the pose of `stored_pose` and `stored_coefficients`; joints without one are in their bind pose.
fn with_stored_pose(reader: &mut Reader<'_>, rig: Rig) -> Result<Rig, Error> {
    let (pose, weights) = (reader.take("stored_pose")?, reader.take("stored_coefficients")?);
    let mut stored = rig.bind_pose();
    if let Some(array) = &pose {
        stored.transforms = Arc::new(matrices(array)?);
    }
    if let Some(array) = &weights {
        stored.shape_weights.clone_from(&array.floats()?);
    }
    Ok(if pose.is_some() || weights.is_some() { rig.with_stored_pose(stored)? } else { rig })
}

fn skinned(
    reader: &mut Reader<'_>,
    weights: &Array,
    inverse_binds: Option<Vec<DAffine3>>,
) -> Result<(Vec<Joint>, SkinWeights), Error> {
    let [_, count] = weights.shape_of("[points, joints]")?;
    let inverse_binds = inverse_binds.unwrap_or_else(|| vec![DAffine3::IDENTITY; count]);
    if inverse_binds.len() != count {
        let found = inverse_binds.len();
        return Err(
            Error::malformed(format!("there are weights for {count} joints, but {found} bind transforms")).at("bind")
        );
    }
    let parents = match reader.take("parents")? {
        Some(array) => parents(&array, count)?,
        None => vec![None; count],
    };
    let names = match reader.take("bone_names")? {
        Some(array) => names(&array, count)?,
        None => (0..count).map(|joint| format!("joint {joint}")).collect(),
    };
    let joints = names
        .into_iter()
        .zip(parents)
        .zip(inverse_binds)
        .map(|((name, parent), inverse_bind)| Joint { name, parent, inverse_bind })
        .collect();
    Ok((joints, SkinWeights::from_dense(&weights.floats()?, count)))
}

/// `count` parents; −1, or 2³² − 1 as in SMPL, means no parent.
pub(super) fn parents(array: &Array, count: usize) -> Result<Vec<Option<usize>>, Error> {
    let numbers = array.numbers()?;
    if numbers.len() != count {
        return Err(array.wrong_shape(&format!("[{count}]")));
    }
    Ok(numbers.into_iter().map(parent).collect())
}

/// Converts a number to an index; negative numbers and 2³² − 1 are `None`.
pub(crate) fn parent(number: f64) -> Option<usize> {
    (number >= 0.0 && number != f64::from(u32::MAX)).then_some(number as usize)
}

/// `count` names.
pub(crate) fn names(array: &Array, count: usize) -> Result<Vec<String>, Error> {
    let names = array.texts()?;
    if names.len() == count { Ok(names) } else { Err(array.wrong_shape(&format!("[{count}]"))) }
}

/// All 4×4 matrices of an array, as transforms of column vectors.
fn matrices(array: &Array) -> Result<Vec<DAffine3>, Error> {
    let &[.., 4, 4] = array.shape() else { return Err(array.wrong_shape("[…, 4, 4]")) };
    let numbers = array.numbers()?;
    let matrix = |(at, m): (usize, &[f64; 16])| {
        let last = [m[12], m[13], m[14], m[15] - 1.0];
        if last.iter().any(|entry| entry.abs() > LAST_ROW) {
            return Err(Error::malformed(format!("the last row of matrix {at} is {:?}, not 0, 0, 0, 1", &m[12..]))
                .at(&array.name)
                .with_hint(
                    "matrices act on column vectors; transpose matrices that have the translation in the last row",
                ));
        }
        let row = |row: usize| DVec3::new(m[4 * row], m[4 * row + 1], m[4 * row + 2]);
        let linear = DMat3::from_cols(row(0), row(1), row(2)).transpose();
        Ok(DAffine3::from_mat3_translation(linear, DVec3::new(m[3], m[7], m[11])))
    };
    numbers.as_chunks::<16>().0.iter().enumerate().map(matrix).collect()
}

fn poses(array: &Array, rig: &Rig) -> Result<Vec<DAffine3>, Error> {
    match array.shape_of("[frames, joints, 4, 4]")? {
        [_, joints, 4, 4] if joints == rig.joints().len() => matrices(array),
        _ => Err(array.wrong_shape(&format!("[frames, {}, 4, 4]", rig.joints().len()))),
    }
}

fn shapes(reader: &mut Reader<'_>, mesh: &TriMesh) -> Result<Vec<Shape>, Error> {
    let points = mesh.point_count();
    let Some(array) = reader.take("basis")?.filter(|array| array.shape() != [0, points, 3]) else {
        return Ok(Vec::new());
    };
    let [count, rows, 3] = array.shape_of("[shapes, points, 3]")? else {
        return Err(array.wrong_shape("[shapes, points, 3]"));
    };
    if rows != points {
        return Err(array.wrong_shape(&format!("[shapes, {points}, 3]")));
    }
    let names = match reader.take("shape_names")? {
        Some(array) => names(&array, count)?,
        None => (0..count).map(|shape| format!("shape {shape}")).collect(),
    };
    let offsets: Vec<Vec3> = bytemuck::cast_vec(triples(&array.floats()?));
    let mut shapes: Vec<Shape> = names
        .into_iter()
        .zip(offsets.chunks_exact(points))
        .map(|(name, offsets)| Shape { name, offsets: offsets.to_vec(), normal_offsets: None })
        .collect();
    if let Some(array) = reader.take("shape_normals")? {
        let vertices = mesh.vertex_count();
        if array.shape() != [count, vertices, 3] {
            return Err(array.wrong_shape(&format!("[{count}, {vertices}, 3]")));
        }
        let normals: Vec<Vec3> = bytemuck::cast_vec(triples(&array.floats()?));
        for (shape, normals) in shapes.iter_mut().zip(normals.chunks_exact(vertices)) {
            shape.normal_offsets = Some(normals.to_vec());
        }
    }
    Ok(shapes)
}

fn clips(
    reader: &mut Reader<'_>,
    rig: &Rig,
    transforms: Option<Vec<DAffine3>>,
    timing: Timing,
) -> Result<Vec<Clip>, Error> {
    let (joints, shapes) = (rig.joints().len(), rig.shapes().len());
    let weights = match reader.take("coefficients")?.filter(|array| shapes > 0 || array.len() > 0) {
        Some(array) => match array.shape_of("[frames, shapes]")? {
            [_, count] if count == shapes => Some(array.floats()?),
            _ => return Err(array.wrong_shape(&format!("[frames, {shapes}]"))),
        },
        None => None,
    };
    // If only one of the two is animated, the other is constant.
    let mut budget = Budget::for_file(0);
    let (transforms, weights) = match (transforms, weights) {
        (None, None) => return Ok(Vec::new()),
        (Some(transforms), Some(weights)) => (transforms, weights),
        (Some(transforms), None) => {
            let count = (transforms.len() / joints.max(1)).saturating_mul(shapes);
            budget.take("shape weights", count, size_of::<f32>())?;
            (transforms, vec![0.0; count])
        }
        (None, Some(weights)) => {
            let frames = weights.len() / shapes.max(1);
            budget.take("joint transforms", frames.saturating_mul(joints), size_of::<DAffine3>())?;
            let still: Vec<DAffine3> = rig.joints().iter().map(Joint::bind).collect();
            (still.repeat(frames), weights)
        }
    };
    let frames = transforms.len().checked_div(joints).or(weights.len().checked_div(shapes)).unwrap_or(0);
    let (mut transforms, mut weights) = (transforms.as_slice(), weights.as_slice());
    let mut clips = Vec::new();
    for Part { name, frames, timing } in parts(reader, frames, timing)? {
        let (these, others) = transforms.split_at_checked(frames * joints).unwrap_or((transforms, &[]));
        let (this, other) = weights.split_at_checked(frames * shapes).unwrap_or((weights, &[]));
        (transforms, weights) = (others, other);
        let clip = Clip::new(rig, name, timing.frame_rate_hz, these.to_vec(), this.to_vec())?;
        clips.push(clip.starting_at(timing.start_seconds));
    }
    Ok(clips)
}

/// One of several concatenated clips.
struct Part {
    name: String,
    frames: usize,
    timing: Timing,
}

/// The clips of `frames` frames: one, unless the archive separates several.
fn parts(reader: &mut Reader<'_>, frames: usize, timing: Timing) -> Result<Vec<Part>, Error> {
    let one = text(reader.take("clip_name")?)?;
    let Some(counts) = reader.take("clip_frames")? else {
        return Ok(vec![Part { name: one.unwrap_or_default(), frames, timing }]);
    };
    let frames_of = counts.indices()?;
    if frames_of.iter().map(|&count| u64::from(count)).sum::<u64>() != frames as u64 {
        let message = format!("the frames of the clips do not add up to the {frames} frames of the joints");
        return Err(Error::malformed(message).at(&counts.name));
    }
    let count = frames_of.len();
    let mut per_clip = |key: &'static str, otherwise: f64| match reader.take(key)? {
        Some(array) if array.shape() != [count] => Err(array.wrong_shape(&format!("[{count}]"))),
        Some(array) => array.numbers(),
        None => Ok(vec![otherwise; count]),
    };
    let rates = per_clip("clip_fps", timing.frame_rate_hz)?;
    let starts = per_clip("clip_start_seconds", timing.start_seconds)?;
    let names = match reader.take("clip_names")? {
        Some(array) => names(&array, count)?,
        None => (0..count).map(|clip| format!("clip {clip}")).collect(),
    };
    let timings = rates.into_iter().zip(starts);
    let timings = timings.map(|(frame_rate_hz, start_seconds)| Timing { frame_rate_hz, start_seconds });
    let parts = names.into_iter().zip(frames_of).zip(timings);
    Ok(parts.map(|((name, frames), timing)| Part { name, frames: frames as usize, timing }).collect())
}

/// A transform as a 4×4 matrix for column vectors, row after row.
pub(super) fn matrix_rows(transform: &DAffine3) -> [f64; 16] {
    let (m, t) = (transform.matrix3.transpose(), transform.translation);
    let (a, b, c) = (m.x_axis, m.y_axis, m.z_axis);
    [a.x, a.y, a.z, t.x, b.x, b.y, b.z, t.y, c.x, c.y, c.z, t.z, 0.0, 0.0, 0.0, 1.0]
}
