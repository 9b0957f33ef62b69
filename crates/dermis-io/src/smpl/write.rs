//! Bodies in SMPL's layout as arrays of an archive.

use dermis_body::{BodyModel, BodyMotion, JointPlacement};
use glam::Vec3;

use crate::error::Error;
use crate::npz::arrays::ArrayWriter;

/// Writes the model: template, faces, weights, joints, shapes and pose shapes.
pub fn write_body(writer: &mut ArrayWriter, body: &BodyModel) -> Result<(), Error> {
    let (mesh, joints) = (body.mesh(), body.joints());
    let (points, count) = (mesh.point_count(), joints.len());
    writer.floats("v_template", &[points, 3], bytemuck::cast_slice(mesh.points()))?;
    writer.indices("f", &[mesh.triangle_count(), 3], mesh.triangles().as_flattened())?;
    writer.floats("weights", &[points, count], &body.weights().to_dense(count))?;
    let parents = joints.iter().map(|joint| joint.parent.map_or(-1, |parent| parent as i64));
    let table: Vec<u8> = parents.chain(0..count as i64).flat_map(i64::to_le_bytes).collect();
    writer.array("kintree_table", "<i8", &[2, count], table)?;
    match body.placement() {
        JointPlacement::Regressed(rows) => {
            let mut regressor = vec![0.0; count * points];
            for (row, entries) in regressor.chunks_exact_mut(points).zip(rows) {
                for &(point, weight) in entries {
                    row[point as usize] += weight;
                }
            }
            doubles(writer, "J_regressor", &[count, points], regressor)?;
        }
        JointPlacement::Given { rest, offsets } => {
            doubles(writer, "J", &[count, 3], rest.iter().flat_map(glam::DVec3::to_array).collect())?;
            if !offsets.is_empty() {
                let of_axis = |joint: usize, axis: usize| offsets.iter().map(move |offsets| offsets[joint][axis]);
                let all = (0..count).flat_map(|joint| (0..3).flat_map(move |axis| of_axis(joint, axis))).collect();
                doubles(writer, "J_shapedirs", &[count, 3, offsets.len()], all)?;
            }
        }
    }
    let names: Vec<&str> = joints.iter().map(|joint| joint.name.as_str()).collect();
    writer.texts("joint_names", &names)?;
    if !body.shapes().is_empty() {
        let columns: Vec<&[Vec3]> = body.shapes().iter().map(|shape| &shape.offsets[..]).collect();
        write_columns(writer, "shapedirs", points, &columns)?;
        let names: Vec<&str> = body.shapes().iter().map(|shape| shape.name.as_str()).collect();
        writer.texts("shape_names", &names)?;
    }
    if !body.pose_shapes().is_empty() {
        // SMPL has a column for each element of each rotation, even if it has no effect.
        let none = vec![Vec3::ZERO; points];
        let mut columns: Vec<&[Vec3]> = vec![&none; 9 * (count - 1)];
        body.pose_shapes().iter().for_each(|shape| columns[shape.number] = &shape.offsets);
        write_columns(writer, "posedirs", points, &columns)?;
    }
    Ok(())
}

/// Writes the motions of a model with `joints` joints; nothing if there are none.
pub fn write_motions(writer: &mut ArrayWriter, motions: &[BodyMotion], joints: usize) -> Result<(), Error> {
    if motions.is_empty() {
        return Ok(());
    }
    let poses = || motions.iter().flat_map(|motion| &motion.poses);
    let frames = poses().count();
    let angles = poses().flat_map(|pose| pose.angles.iter().flat_map(glam::DVec3::to_array)).collect();
    doubles(writer, "poses", &[frames, joints, 3], angles)?;
    doubles(writer, "trans", &[frames, 3], poses().flat_map(|pose| pose.translation.to_array()).collect())?;
    let names: Vec<&str> = motions.iter().map(|motion| motion.name.as_str()).collect();
    writer.texts("clip_names", &names)?;
    let counts: Vec<u32> = motions.iter().map(|motion| motion.poses.len() as u32).collect();
    writer.indices("clip_frames", &[counts.len()], &counts)?;
    writer.numbers("clip_fps", motions.iter().map(|motion| motion.frame_rate_hz))
}

fn doubles(writer: &mut ArrayWriter, name: &str, shape: &[usize], numbers: Vec<f64>) -> Result<(), Error> {
    writer.array(name, "<f8", shape, numbers.into_iter().flat_map(f64::to_le_bytes).collect())
}

/// Writes K lists of offsets as an array `[N,3,K]`.
pub fn write_columns(writer: &mut ArrayWriter, name: &str, rows: usize, columns: &[&[Vec3]]) -> Result<(), Error> {
    let mut numbers = Vec::with_capacity(rows * 3 * columns.len());
    for row in 0..rows {
        for axis in 0..3 {
            numbers.extend(columns.iter().map(|offsets| offsets[row][axis]));
        }
    }
    writer.floats(name, &[rows, 3, columns.len()], &numbers)
}
