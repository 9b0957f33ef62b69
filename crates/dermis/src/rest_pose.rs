//! A frame of the motion as the new rest pose.
//!
//! The motion stays as it is; only the shape that it starts from changes. A rig is bound to its own rest pose, and
//! linear blend skinning cannot be bound anew to a posed shape without changing its motion, so a rigged object
//! becomes the frames of its first clip. Normals follow the shape: vertices of a point that shared a normal still do,
//! those that a hard edge set apart stay apart. Tangents belong to the old normals and are left out.

use std::collections::HashMap;
use std::sync::Arc;

use dermis_mesh::glam::{DVec3, Vec3};
use dermis_mesh::{Layout, MeshError, MeshSequence, Note, Object, TetMesh, TriMesh};

use crate::select::SelectError;

/// `object` with frame `frame` of its motion as rest pose; objects that do not move stay as they are.
pub fn with_rest_frame(object: Object, frame: usize) -> Result<(Object, Option<Note>), SelectError> {
    let Some(motion) = object.motion()? else {
        return Ok((object, None));
    };
    let count = motion.frame_count();
    if frame >= count {
        return Err(SelectError::NoSuchFrame { object: object.name, frame, count });
    }
    let points = motion.frame(frame)?.into_owned();
    let mesh = Arc::new(posed(&object.mesh, points)?);
    let tets = match &object.tets {
        Some(tets) => Some(Arc::new(TetMesh::new(mesh.points().to_vec(), tets.tetrahedra().to_vec())?)),
        None => None,
    };
    let note = object.rig.is_some().then(|| rig_note(&object));
    let sequence: MeshSequence = motion.with_mesh(Arc::clone(&mesh))?;
    let Object { name, attributes, .. } = object;
    let object = Object {
        name,
        mesh,
        sequence: Some(sequence),
        rig: None,
        clips: Vec::new(),
        tets,
        attributes,
        deformers: Vec::new(),
    };
    Ok((object, note))
}

fn rig_note(object: &Object) -> Note {
    let dropped = match object.clips.len() {
        0 | 1 => "",
        _ => ", and the other clips are left out",
    };
    let what = match object.clips.first().filter(|_| object.sequence.is_none()) {
        Some(clip) => format!("the frames of the clip '{}'", clip.name()),
        None => "its recorded frames".to_owned(),
    };
    let message = format!("the rig is bound to the old rest pose: the object becomes {what}{dropped}");
    Note::at(object.name.clone(), message)
}

/// `mesh` with its points moved to `points` and its normals turned with them.
fn posed(mesh: &TriMesh, points: Vec<Vec3>) -> Result<TriMesh, MeshError> {
    let Some(layout) = mesh.layout() else {
        return mesh.with_points(points);
    };
    let normals = layout.normals.as_ref().map(|old| followed_normals(layout, old, &points));
    let layout = Layout { normals, tangents: None, ..layout.clone() };
    mesh.without_layout().with_points(points)?.with_layout(layout)
}

/// Area-weighted normals of the posed triangles, summed over vertices that are one point and shared one normal.
fn followed_normals(layout: &Layout, old: &[Vec3], points: &[Vec3]) -> Vec<Vec3> {
    let mut groups: HashMap<(u32, [u32; 3]), usize> = HashMap::new();
    let group_of: Vec<usize> = layout
        .vertex_points
        .iter()
        .zip(old)
        .map(|(&point, normal)| {
            let next = groups.len();
            *groups.entry((point, normal.to_array().map(f32::to_bits))).or_insert(next)
        })
        .collect();
    let mut sums = vec![DVec3::ZERO; groups.len()];
    for triangle in &layout.triangles {
        let corner = |vertex: u32| points[layout.vertex_points[vertex as usize] as usize].as_dvec3();
        let [a, b, c] = triangle.map(corner);
        let area = (b - a).cross(c - a);
        for vertex in triangle {
            sums[group_of[*vertex as usize]] += area;
        }
    }
    let fallback = |vertex: usize| if old[vertex] == Vec3::ZERO { Vec3::Z } else { old[vertex] };
    group_of
        .iter()
        .enumerate()
        .map(|(vertex, &group)| {
            sums[group].try_normalize().map_or_else(|| fallback(vertex), |normal: DVec3| normal.as_vec3())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of two triangles whose normals point up, split along the diagonal for UVs; frame 1 stands upright.
    fn tipping_square() -> Object {
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.0), Vec3::Y];
        let upright: Vec<Vec3> = points.iter().map(|point| Vec3::new(point.x, 0.0, point.y)).collect();
        let layout = Layout {
            vertex_points: vec![0, 1, 2, 0, 2, 3],
            triangles: vec![[0, 1, 2], [3, 4, 5]],
            normals: Some(vec![Vec3::Z; 6]),
            ..Layout::default()
        };
        let mesh = TriMesh::new(points.clone(), vec![[0, 1, 2], [0, 2, 3]]).unwrap().with_layout(layout).unwrap();
        let sequence = MeshSequence::new(Arc::new(mesh), [points, upright].concat(), 24.0).unwrap();
        Object::of_sequence("square", sequence)
    }

    #[test]
    fn the_rest_pose_and_its_normals_are_those_of_the_frame() {
        let (object, note) = with_rest_frame(tipping_square(), 1).unwrap();
        assert_eq!(note, None);
        assert_eq!(object.mesh.points()[2], Vec3::new(1.0, 0.0, 1.0));
        let normals = object.mesh.layout().unwrap().normals.as_ref().unwrap();
        assert!(normals.iter().all(|normal| normal.distance(Vec3::NEG_Y) < 1e-6), "{normals:?}");
        let sequence = object.sequence.unwrap();
        assert_eq!(sequence.frame(0).unwrap()[2], Vec3::new(1.0, 1.0, 0.0));
        assert!(Arc::ptr_eq(sequence.mesh(), &object.mesh));
    }

    #[test]
    fn rejects_a_frame_past_the_end() {
        let error = with_rest_frame(tipping_square(), 2).unwrap_err();
        assert_eq!(error.to_string(), "'square' has no frame 2");
    }
}
