//! Bodies in the layout of SMPL (Loper et al. 2015): a template, joints by position, and a basis of shapes.
//!
//! The joints stand at `J` (or `J_regressor · v_template`) without rotation; column k of `shapedirs` [N,3,K] is shape
//! k. The joints do not follow the shapes here, and the pose-dependent `posedirs` are left out, both with a note.

use std::sync::Arc;

use dermis_mesh::{Joint, Note, Object, Rig, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

use crate::error::Error;
use crate::npz::array::Array;
use crate::npz::read::{self, Reader};
use crate::npz::rig;

/// The body as a rigged object without clips.
pub(super) fn object(reader: &mut Reader<'_>) -> Result<Object, Error> {
    let template = reader.take("v_template")?.ok_or_else(|| missing("v_template"))?;
    let points = read::points(&template)?;
    let faces = reader.take("f")?.ok_or_else(|| missing("f"))?;
    let mesh = Arc::new(read::faces(points, &faces)?);
    let weights = reader.take("weights")?.ok_or_else(|| missing("weights"))?;
    let [_, count] = weights.shape_of("[points, joints]")?;
    let positions = joint_positions(reader, &mesh, count)?;
    let parents = match reader.take("kintree_table")? {
        Some(table) => kintree(&table, count)?,
        None => vec![None; count],
    };
    let names = match reader.take("joint_names")? {
        Some(array) => rig::names(&array, count)?,
        None => (0..count).map(|joint| format!("joint {joint}")).collect(),
    };
    let joint = |((name, parent), position)| Joint::at(name, parent, DAffine3::from_translation(position));
    let joints = names.into_iter().zip(parents).zip(positions).map(joint).collect();
    let weights = SkinWeights::from_dense(&weights.floats()?, count);
    let shapes = shapes(reader, &mesh)?;
    if reader.leave("posedirs") {
        reader.notes.push(Note::at("posedirs", "pose-dependent corrections are left out"));
    }
    let rig = Rig::new(&mesh, joints, weights, shapes)?;
    Ok(Object { mesh, rig: Some(Arc::new(rig)), ..Object::default() })
}

fn missing(name: &str) -> Error {
    Error::malformed(format!("the body has no array '{name}'"))
        .with_hint("SMPL's layout has v_template, f, weights, kintree_table, J or J_regressor, and shapedirs")
}

fn joint_positions(reader: &mut Reader<'_>, mesh: &TriMesh, count: usize) -> Result<Vec<DVec3>, Error> {
    if let Some(array) = reader.take("J")? {
        if array.shape() != [count, 3] {
            return Err(array.wrong_shape(&format!("[{count}, 3]")));
        }
        return Ok(array.numbers()?.as_chunks::<3>().0.iter().map(|&position| position.into()).collect());
    }
    let regressor = reader.take("J_regressor")?.ok_or_else(|| missing("J"))?;
    let points = mesh.point_count();
    if regressor.shape() != [count, points] {
        return Err(regressor.wrong_shape(&format!("[{count}, {points}]")));
    }
    let position = |row: &[f64]| row.iter().zip(mesh.points()).map(|(weight, point)| *weight * point.as_dvec3()).sum();
    Ok(regressor.numbers()?.chunks_exact(points).map(position).collect())
}

/// Row 0 of the table names parents by the ids of row 1.
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
            Error::malformed(format!("a joint hangs from joint {id}, which does not exist")).at(&table.name)
        }),
    };
    parents.iter().map(parent).collect()
}

fn shapes(reader: &mut Reader<'_>, mesh: &TriMesh) -> Result<Vec<Shape>, Error> {
    let Some(array) = reader.take("shapedirs")? else {
        return Ok(Vec::new());
    };
    let points = mesh.point_count();
    let [rows, axes, count] = array.shape_of("[points, 3, shapes]")?;
    if (rows, axes) != (points, 3) {
        return Err(array.wrong_shape(&format!("[{points}, 3, shapes]")));
    }
    let names = match reader.take("shape_names")? {
        Some(array) => rig::names(&array, count)?,
        None => (0..count).map(|shape| format!("shape {shape}")).collect(),
    };
    reader.notes.push(Note::at("shapedirs", "the joints stand where they are at rest; they do not follow the shapes"));
    let numbers = array.floats()?;
    let offset = |point: usize, shape: usize| {
        let at = |axis: usize| numbers[(3 * point + axis) * count + shape];
        Vec3::new(at(0), at(1), at(2))
    };
    let shape = |(index, name)| {
        let offsets = (0..points).map(|point| offset(point, index)).collect();
        Shape { name, offsets, normal_offsets: None }
    };
    Ok(names.into_iter().enumerate().map(shape).collect())
}
