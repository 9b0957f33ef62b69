//! Recorded frames that the writer of dermis has stored as morph targets, read again as frames.
//!
//! Such a mesh is marked; target k is the offset of frame k from the rest pose, and an animation gives it weight 1 at
//! frame k. If the file contradicts the mark (another program has edited it), it is an ordinary morphing mesh. The
//! offsets are stored as floats, so reading takes one pass.

use std::sync::Arc;

use dermis_mesh::{MeshSequence, TriMesh};
use glam::{DAffine3, Vec3};
use rayon::prelude::*;

use super::animation::Animation;
use super::document::Document;
use super::object::Source;
use super::placement::Placement;
use crate::error::Error;

/// Returns whether the writer of dermis has marked the targets of a mesh as frames.
pub(super) fn is_marked(document: &Document<'_>, mesh: usize) -> bool {
    let mesh = document.root.meshes.get(mesh);
    mesh.and_then(|mesh| mesh.extras.dermis.as_ref()).is_some_and(|mark| mark.sequence)
}

/// The recorded frames of an object; `None` if it has none.
pub(super) fn recorded(
    document: &Document<'_>,
    source: &Source<'_>,
    animations: &[Animation<'_>],
    placement: DAffine3,
    mesh: &Arc<TriMesh>,
) -> Result<Option<MeshSequence>, Error> {
    let marked = is_marked(document, source.mesh);
    let targets = &source.geometry.targets;
    if !marked || targets.is_empty() || source.skin.is_some() {
        return Ok(None);
    }
    let moves = animations.iter().any(|animation| animation.moves(source.node));
    let Some(animation) = animations.iter().find(|animation| animation.is_one_hot(source.node, targets.len())) else {
        return Ok(None);
    };
    if moves || animations.iter().filter(|animation| animation.morphs(source.node)).count() != 1 {
        return Ok(None);
    }
    let points = mesh.point_count();
    document.take("frames", targets.len(), points.saturating_mul(size_of::<Vec3>()))?;
    let transform = Placement::new(placement);
    let weld = &source.geometry.weld;
    let positions = &source.geometry.positions;
    let split = weld.point_vertices.iter().enumerate().any(|(point, &vertex)| point != vertex as usize);
    let offsets: Vec<&[Vec3]> = targets.iter().map(|target| bytemuck::cast_slice(&target.positions)).collect();
    let mut frames = vec![Vec3::ZERO; points * targets.len()];
    frames.par_chunks_exact_mut(points).zip(offsets).for_each(|(frame, offsets)| {
        if split {
            for (point, &vertex) in frame.iter_mut().zip(&weld.point_vertices) {
                *point = transform.point(positions[vertex as usize] + offsets[vertex as usize]);
            }
        } else {
            for ((point, &rest), &offset) in frame.iter_mut().zip(positions).zip(offsets) {
                *point = transform.point(rest + offset);
            }
        }
    });
    let sequence = MeshSequence::new(Arc::clone(mesh), frames, animation.times.rate_hz)?;
    Ok(Some(sequence.starting_at(animation.times.start_seconds)))
}
