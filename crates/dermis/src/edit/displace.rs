//! Displacement of a rest pose without a change of topology: points, normals, tangents, layers and levels of detail.
//!
//! Weights and corrections act on the rest pose (SMA, Eq. 12), so a displaced rest point follows every pose without
//! further changes. A stored normal is rotated like the normal of its triangles: authored shading and hard edges are
//! kept, and normals away from the edit do not change. Normal offsets of blend shapes are rotated in the same way.

use std::collections::HashMap;
use std::sync::Arc;

use dermis_mesh::glam::{DQuat, DVec3, Vec3, Vec4};
use dermis_mesh::{Layout, Level, Note, Object, Rig, Shape, TriMesh};

use super::anchor::{Anchor, Surface};
use super::layers;
use crate::error::Result;

/// `object` with its rest points displaced.
pub(super) fn displaced(object: &Object, displacements: &[DVec3], notes: &mut Vec<Note>) -> Result<Object> {
    let (mesh, rotations) = displaced_mesh(&object.mesh, displacements)?;
    let mesh = Arc::new(mesh);
    let anchors: Vec<Anchor> = (0..mesh.point_count()).map(Anchor::at).collect();
    let deformers = layers::transferred(object, &anchors, displacements, object.rig.as_deref(), notes)?;
    let rig = match &object.rig {
        Some(rig) => Some(Arc::new(with_rotated_normals(rig, &mesh, &rotations)?)),
        None => None,
    };
    let levels = displaced_levels(object, displacements)?;
    Ok(Object { mesh, rig, deformers, levels, ..object.clone() })
}

/// The displaced mesh, and the rotation of the normal of each vertex.
fn displaced_mesh(mesh: &TriMesh, displacements: &[DVec3]) -> Result<(TriMesh, Vec<DQuat>)> {
    let moved = |(point, displacement): (&Vec3, &DVec3)| (point.as_dvec3() + *displacement).as_vec3();
    let points: Vec<Vec3> = mesh.points().iter().zip(displacements).map(moved).collect();
    let Some(layout) = mesh.layout() else { return Ok((mesh.with_points(points)?, Vec::new())) };
    let rotations = normal_rotations(layout, mesh.points(), &points);
    let rotated = |(rotation, normal): (&DQuat, &Vec3)| {
        if *rotation == DQuat::IDENTITY { *normal } else { (*rotation * normal.as_dvec3()).as_vec3() }
    };
    let normals: Option<Vec<Vec3>> =
        layout.normals.as_ref().map(|normals| rotations.iter().zip(normals).map(rotated).collect());
    let tangent = |(rotation, tangent): (&DQuat, &Vec4)| rotated((rotation, &tangent.truncate())).extend(tangent.w);
    let tangents = layout.tangents.as_ref().map(|tangents| rotations.iter().zip(tangents).map(tangent).collect());
    let layout = Layout { normals, tangents, ..layout.clone() };
    Ok((mesh.without_layout().with_points(points)?.with_layout(layout)?, rotations))
}

/// Rotation from the old to the new normal of the triangles at each vertex. Vertices of a point that share a stored
/// normal share a rotation.
fn normal_rotations(layout: &Layout, old: &[Vec3], new: &[Vec3]) -> Vec<DQuat> {
    let mut groups: HashMap<(u32, [u32; 3]), usize> = HashMap::new();
    let bits =
        |vertex: usize| layout.normals.as_ref().map_or([0; 3], |normals| normals[vertex].to_array().map(f32::to_bits));
    let vertices = layout.vertex_points.iter().enumerate();
    let group_of: Vec<usize> = vertices
        .map(|(vertex, &point)| {
            let next = groups.len();
            *groups.entry((point, bits(vertex))).or_insert(next)
        })
        .collect();
    let sums = |points: &[Vec3]| {
        let mut sums = vec![DVec3::ZERO; groups.len()];
        for triangle in &layout.triangles {
            let corner = |vertex: u32| points[layout.vertex_points[vertex as usize] as usize].as_dvec3();
            let [a, b, c] = triangle.map(corner);
            let area = (b - a).cross(c - a);
            for &vertex in triangle {
                sums[group_of[vertex as usize]] += area;
            }
        }
        sums
    };
    let (before, after) = (sums(old), sums(new));
    let rotation = |&group: &usize| match (before[group].try_normalize(), after[group].try_normalize()) {
        (Some(from), Some(to)) if before[group] != after[group] => DQuat::from_rotation_arc(from, to),
        _ => DQuat::IDENTITY,
    };
    group_of.iter().map(rotation).collect()
}

/// `rig` for the displaced mesh.
fn with_rotated_normals(rig: &Rig, mesh: &TriMesh, rotations: &[DQuat]) -> Result<Rig> {
    let rotated = |shape: &Shape| {
        let rotate = |(rotation, offset): (&DQuat, &Vec3)| {
            if *rotation == DQuat::IDENTITY { *offset } else { (*rotation * offset.as_dvec3()).as_vec3() }
        };
        // Without a layout, vertices are points and have no stored normals.
        let offsets = shape.normal_offsets.as_ref().filter(|offsets| offsets.len() == rotations.len());
        let normal_offsets = match offsets {
            Some(offsets) => Some(rotations.iter().zip(offsets).map(rotate).collect()),
            None => shape.normal_offsets.clone(),
        };
        Shape { normal_offsets, ..shape.clone() }
    };
    let shapes = rig.shapes().iter().map(rotated).collect();
    let new = Rig::sharing(mesh, Arc::clone(rig.shared_joints()), rig.weights().clone(), shapes)?;
    Ok(match rig.stored_pose() {
        Some(pose) => new.with_stored_pose(pose.clone())?,
        None => new,
    })
}

/// Levels of detail, displaced like the nearest points of the full mesh.
fn displaced_levels(object: &Object, displacements: &[DVec3]) -> Result<Vec<Level>> {
    if object.levels.is_empty() {
        return Ok(Vec::new());
    }
    let surface = Surface::new(object.mesh.points(), object.mesh.triangles());
    let level = |level: &Level| {
        let normals = dermis_mesh::geometry::point_normals(level.mesh.points(), level.mesh.triangles());
        let displacement = |(point, normal): (&Vec3, &Vec3)| match surface.anchor(point.as_dvec3(), *normal) {
            Some((anchor, _)) => anchor.blend(|point| displacements[point]),
            None => DVec3::ZERO,
        };
        let moved: Vec<DVec3> = level.mesh.points().iter().zip(&normals).map(displacement).collect();
        Ok(Level { mesh: Arc::new(displaced_mesh(&level.mesh, &moved)?.0), ..level.clone() })
    };
    object.levels.iter().map(level).collect()
}
