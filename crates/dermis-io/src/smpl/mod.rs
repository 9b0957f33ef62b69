//! Bodies in the layout of SMPL (Loper et al. 2015), from `.npz` archives and from pickles.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `v_template`, `f` | `[N,3]`, `[n,3]` | the template |
//! | `weights` | `[N,J]` | skin weights |
//! | `kintree_table` | `[2,J]` | parents, by the ids of the second row; −1 or 2³² − 1 is none |
//! | `J_regressor` | `[J,N]` | positions of the joints of a shape; in pickles also a sparse matrix |
//! | `J`, `J_shapedirs` | `[J,3]`, `[J,3,K]` | if there is no regressor: the joints, and their offsets by the shapes |
//! | `shapedirs` | `[N,3,K]` | shapes, one per last index |
//! | `posedirs` | `[N,3,9(J−1)]` | pose shapes, one per last index |
//! | `joint_names`, `shape_names` | `[J]`, `[K]` | names, if they are given |
//!
//! `poses` and related arrays are motions (see `motion`).

mod motion;
mod pickle;
mod write;

use std::path::Path;
use std::sync::Arc;

use dermis_body::{BodyJoint, BodyModel, BodyMotion, BodyParts, JointPlacement, PoseShape};
use dermis_mesh::{Clip, Note, Object, Scene, Shape, SkinWeights};
use glam::{DVec3, Vec3};

use crate::error::Error;
use crate::input::Input;
use crate::mapped::Mapped;
use crate::npz::arrays::{Array, Arrays, Sparse};
use crate::npz::{read as npz, rig};
use crate::options::ReadOptions;

pub use write::{write_body, write_columns, write_motions};

/// A body model and notes on its file.
#[derive(Debug, Clone)]
pub struct BodyFile {
    /// The model.
    pub model: BodyModel,
    /// Its motions.
    pub motions: Vec<BodyMotion>,
    /// Notes on what was assumed or skipped.
    pub notes: Vec<Note>,
}

/// Reads the body model in the file `path`: an `.npz` archive or a pickle, whatever its extension.
pub fn read(path: &Path) -> Result<BodyFile, Error> {
    of_mapped(Mapped::open(path, true)?).map_err(|error| error.in_file(path))
}

/// Reads the body model in the contents of a file.
pub fn read_bytes(bytes: &[u8]) -> Result<BodyFile, Error> {
    of_mapped(Mapped::of_bytes(bytes.to_vec()))
}

fn of_mapped(bytes: Mapped) -> Result<BodyFile, Error> {
    let zip: &[u8] = b"PK";
    if bytes.starts_with(zip) {
        npz::with_arrays(bytes, |arrays| body(arrays))
    } else {
        body(&mut pickle::Pickle::open(bytes)?)
    }
}

/// Returns whether the archive `path` has a body in SMPL's layout.
pub fn is_body(path: &Path) -> bool {
    let has_template = |arrays: &mut dyn Arrays| Ok(arrays.array("v_template")?.is_some());
    Mapped::open(path, true).and_then(|bytes| npz::with_arrays(bytes, has_template)).unwrap_or(false)
}

/// Motions in the archive `path`, which need not contain a body; none if it has no `poses`.
pub fn read_motions(path: &Path, joints: usize) -> Result<Vec<BodyMotion>, Error> {
    let read = |arrays: &mut dyn Arrays| motion::motions(arrays, joints, &mut Vec::new());
    npz::with_arrays(Mapped::open(path, true)?, read).map_err(|error| error.in_file(path))
}

/// Reads a pickle as a scene of one rigged object.
pub(crate) fn read_pickle(input: &Input, _options: &ReadOptions) -> Result<Scene, Error> {
    let (object, notes) = object(&mut pickle::Pickle::open(input.bytes.clone())?)?;
    Ok(Scene { objects: vec![Object { name: input.name.clone(), ..object }], notes, ..Scene::default() })
}

/// The body in `arrays`.
pub fn body(arrays: &mut dyn Arrays) -> Result<BodyFile, Error> {
    let mut notes = Vec::new();
    let points = npz::points(&needed(arrays, "v_template")?)?;
    let mesh = Arc::new(npz::faces(points, &needed(arrays, "f")?)?);
    let weights = needed(arrays, "weights")?;
    let [_, count] = weights.shape_of("[points, joints]")?;
    let points = mesh.point_count();
    let shapes = shapes(arrays, points)?;
    let placement = placement(arrays, points, count, shapes.len(), &mut notes)?;
    let parents = if let Some(table) = arrays.array("kintree_table")? {
        kintree(&table, count)?
    } else {
        notes.push(Note::at("kintree_table", "there is none; the joints have no parents"));
        vec![None; count]
    };
    let names = match arrays.array("joint_names")? {
        Some(array) => rig::names(&array, count)?,
        None => (0..count).map(|joint| format!("joint {joint}")).collect(),
    };
    let joint = |(name, parent)| BodyJoint { name, parent };
    let model = BodyModel::new(BodyParts {
        mesh,
        joints: names.into_iter().zip(parents).map(joint).collect(),
        placement,
        weights: SkinWeights::from_dense(&weights.floats()?, count),
        shapes,
        pose_shapes: pose_shapes(arrays, points)?,
    })?;
    let motions = motion::motions(arrays, count, &mut notes)?;
    Ok(BodyFile { model, motions, notes })
}

/// The body as a rigged object with its motions as clips, whose shapes are those of its rig.
pub(crate) fn object(arrays: &mut dyn Arrays) -> Result<(Object, Vec<Note>), Error> {
    let has_pose_shapes = arrays.array("posedirs")?.is_some();
    let BodyFile { model, motions, mut notes } = body(arrays)?;
    if has_pose_shapes {
        notes.push(Note::at("posedirs", "pose-dependent corrections are skipped"));
    }
    if !model.shapes().is_empty() {
        notes.push(Note::at("shapedirs", "the joints keep their rest positions; they do not follow the shapes"));
    }
    let rig = model.rig(model.shapes().to_vec())?;
    let body = model.shaped(&[])?;
    let mut clips = Vec::with_capacity(motions.len());
    for motion in &motions {
        let transforms = motion.poses.iter().map(|pose| body.joint_transforms(pose)).collect::<Result<Vec<_>, _>>()?;
        let still = vec![0.0; rig.shapes().len() * motion.poses.len()];
        let clip = Clip::new(&rig, motion.name.clone(), motion.frame_rate_hz, transforms.concat(), still)?;
        clips.push(Arc::new(clip));
    }
    Ok((Object { mesh: Arc::clone(model.mesh()), rig: Some(Arc::new(rig)), clips, ..Object::default() }, notes))
}

fn needed(arrays: &mut dyn Arrays, name: &'static str) -> Result<Array, Error> {
    arrays.array(name)?.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Error {
    Error::malformed(format!("the body has no array '{name}'"))
        .with_hint("SMPL's layout has v_template, f, weights, kintree_table, J or J_regressor, and shapedirs")
}

fn placement(
    arrays: &mut dyn Arrays,
    points: usize,
    count: usize,
    shapes: usize,
    notes: &mut Vec<Note>,
) -> Result<JointPlacement, Error> {
    if let Some(rows) = regressor(arrays, points, count)? {
        return Ok(JointPlacement::Regressed(rows));
    }
    let array = needed(arrays, "J")?;
    if array.shape() != [count, 3] {
        return Err(array.wrong_shape(&format!("[{count}, 3]")));
    }
    let rest = array.numbers()?.as_chunks::<3>().0.iter().map(|&position| position.into()).collect();
    let Some(array) = arrays.array("J_shapedirs")? else {
        if shapes > 0 {
            notes.push(Note::at("J", "there is no J_regressor; the joints do not follow the shapes"));
        }
        return Ok(JointPlacement::Given { rest, offsets: Vec::new() });
    };
    if array.shape() != [count, 3, shapes] {
        return Err(array.wrong_shape(&format!("[{count}, 3, {shapes}]")));
    }
    let numbers = array.numbers()?;
    let offset =
        |joint: usize, shape: usize| DVec3::from([0, 1, 2].map(|axis| numbers[(3 * joint + axis) * shapes + shape]));
    let offsets = (0..shapes).map(|shape| (0..count).map(|joint| offset(joint, shape)).collect()).collect();
    Ok(JointPlacement::Given { rest, offsets })
}

/// For each joint, points and their weights.
type Regressor = Vec<Vec<(u32, f64)>>;

fn regressor(arrays: &mut dyn Arrays, points: usize, count: usize) -> Result<Option<Regressor>, Error> {
    const NAME: &str = "J_regressor";
    let mut rows = vec![Vec::new(); count];
    if let Some(Sparse { shape, entries }) = arrays.sparse(NAME)? {
        if shape != [count, points] {
            let message = format!("the matrix has the shape {shape:?}; expected [{count}, {points}]");
            return Err(Error::malformed(message).at(NAME));
        }
        for (row, column, value) in entries {
            rows[row as usize].push((column, value));
        }
        return Ok(Some(rows));
    }
    let Some(array) = arrays.array(NAME)? else { return Ok(None) };
    if array.shape() != [count, points] {
        return Err(array.wrong_shape(&format!("[{count}, {points}]")));
    }
    for (row, numbers) in rows.iter_mut().zip(array.numbers()?.chunks_exact(points)) {
        row.extend(numbers.iter().enumerate().filter(|(_, weight)| **weight != 0.0).map(|(at, w)| (at as u32, *w)));
    }
    Ok(Some(rows))
}

/// Row 0 of the table refers to parents by the ids of row 1.
fn kintree(table: &Array, count: usize) -> Result<Vec<Option<usize>>, Error> {
    if table.shape() != [2, count] {
        return Err(table.wrong_shape(&format!("[2, {count}]")));
    }
    let numbers = table.numbers()?;
    let (parents, ids) = numbers.split_at(count);
    let index_of = |id: f64| ids.iter().position(|&other| other == id);
    let parent = |&id: &f64| match rig::parent(id) {
        None => Ok(None),
        Some(_) => index_of(id).map(Some).ok_or_else(|| {
            Error::malformed(format!("the parent of a joint is joint {id}, which does not exist")).at(&table.name)
        }),
    };
    parents.iter().map(parent).collect()
}

fn shapes(arrays: &mut dyn Arrays, points: usize) -> Result<Vec<Shape>, Error> {
    let Some(array) = arrays.array("shapedirs")? else {
        return Ok(Vec::new());
    };
    let columns = columns(&array, points)?;
    let names = match arrays.array("shape_names")? {
        Some(names) => rig::names(&names, columns.len())?,
        None => (0..columns.len()).map(|shape| format!("shape {shape}")).collect(),
    };
    let shape = |(name, offsets)| Shape { name, offsets, normal_offsets: None };
    Ok(names.into_iter().zip(columns).map(shape).collect())
}

fn pose_shapes(arrays: &mut dyn Arrays, points: usize) -> Result<Vec<PoseShape>, Error> {
    let Some(array) = arrays.array("posedirs")? else {
        return Ok(Vec::new());
    };
    let shapes = columns(&array, points)?.into_iter().enumerate();
    let is_any = |(_, offsets): &(usize, Vec<Vec3>)| offsets.iter().any(|offset| *offset != Vec3::ZERO);
    Ok(shapes.filter(is_any).map(|(number, offsets)| PoseShape { number, offsets }).collect())
}

/// An array `[N,3,K]` as K lists of offsets.
pub fn columns(array: &Array, points: usize) -> Result<Vec<Vec<Vec3>>, Error> {
    let [rows, axes, count] = array.shape_of("[points, 3, shapes]")?;
    if (rows, axes) != (points, 3) {
        return Err(array.wrong_shape(&format!("[{points}, 3, shapes]")));
    }
    let numbers = array.floats()?;
    let mut columns = vec![Vec::with_capacity(points); count];
    // Read in the order of the array, which can have tens of megabytes.
    for rows in numbers.chunks_exact(3 * count) {
        let (x, rest) = rows.split_at(count);
        let (y, z) = rest.split_at(count);
        for (column, offsets) in columns.iter_mut().enumerate() {
            offsets.push(Vec3::new(x[column], y[column], z[column]));
        }
    }
    Ok(columns)
}
