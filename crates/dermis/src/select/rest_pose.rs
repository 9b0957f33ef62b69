//! A frame of the motion as the new rest pose.
//!
//! The motion is unchanged; only the rest shape changes. A rig is bound to its rest pose, and linear blend skinning
//! cannot be bound to a posed shape without changing its motion, so a rigged object is converted to the frames of its
//! first clip. Normals are adapted to the new shape ([`reshaped`]).

use std::sync::Arc;

use dermis_mesh::reshape::reshaped;
use dermis_mesh::{Clip, MeshSequence, Note, Object, TetMesh};

use super::SelectError;
use crate::evaluate::{self, Motion};

/// `object` with frame `frame` of its motion as rest pose; objects without motion are unchanged. −1 is the last frame.
pub(super) fn with_rest_frame(object: Object, frame: isize) -> Result<(Object, Vec<Note>), SelectError> {
    let Some(Motion { sequence: motion, clip, warnings: mut notes }) = evaluate::motion(&object)? else {
        return Ok((object, Vec::new()));
    };
    let count = motion.frame_count();
    let from_start = if frame < 0 { count.checked_add_signed(frame) } else { usize::try_from(frame).ok() };
    let Some(index) = from_start.filter(|&index| index < count) else {
        return Err(SelectError::NoSuchFrame { object: object.name, frame, count });
    };
    let points = motion.frame(index)?.into_owned();
    let mesh = Arc::new(reshaped(&object.mesh, points)?);
    let tets = match &object.tets {
        Some(tets) => Some(Arc::new(TetMesh::new(mesh.points().to_vec(), tets.tetrahedra().to_vec())?)),
        None => None,
    };
    notes.extend(object.rig.is_some().then(|| rig_note(&object, clip.as_deref())));
    let sequence: MeshSequence = motion.with_mesh(Arc::clone(&mesh))?;
    if !object.levels.is_empty() {
        notes.push(Note::at(&object.name, "the levels of detail belong to the old rest pose and are dropped"));
    }
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
        levels: Vec::new(),
    };
    Ok((object, notes))
}

fn rig_note(object: &Object, clip: Option<&Clip>) -> Note {
    let dropped = match object.clips.len() {
        0 | 1 => "",
        _ => ", and the other clips are dropped",
    };
    let what = match clip {
        Some(clip) => format!("the frames of the clip '{}'", clip.name()),
        None => "its recorded frames".to_owned(),
    };
    let message = format!("the rig is bound to the old rest pose; the object becomes {what}{dropped}");
    Note::at(object.name.clone(), message)
}

#[cfg(test)]
mod tests {
    use dermis_mesh::glam::Vec3;
    use dermis_mesh::{Layout, TriMesh};

    use super::*;

    /// A square of two triangles whose normals point up, split along the diagonal for UVs; frame 1 is upright.
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
        let (object, notes) = with_rest_frame(tipping_square(), 1).unwrap();
        assert_eq!(notes, []);
        assert_eq!(object.mesh.points()[2], Vec3::new(1.0, 0.0, 1.0));
        let normals = object.mesh.layout().unwrap().normals.as_ref().unwrap();
        assert!(normals.iter().all(|normal| normal.distance(Vec3::NEG_Y) < 1e-6), "{normals:?}");
        let sequence = object.sequence.unwrap();
        assert_eq!(sequence.frame(0).unwrap()[2], Vec3::new(1.0, 1.0, 0.0));
        assert!(Arc::ptr_eq(sequence.mesh(), &object.mesh));
    }

    #[test]
    fn rejects_a_frame_past_the_end() {
        let (last, _) = with_rest_frame(tipping_square(), -1).unwrap();
        assert_eq!(last.mesh.points(), with_rest_frame(tipping_square(), 1).unwrap().0.mesh.points());
        assert!(with_rest_frame(tipping_square(), -3).is_err());
        let error = with_rest_frame(tipping_square(), 2).unwrap_err();
        assert_eq!(error.to_string(), "'square' has no frame 2");
    }
}
