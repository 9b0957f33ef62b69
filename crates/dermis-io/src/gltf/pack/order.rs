//! Order of the vertices and triangles of a mesh: triangles in strips, vertices in the order of their use, so that
//! neighbours in the file are neighbours on the surface.

use crate::error::Error;
use crate::gltf::read::Document;
use crate::gltf::schema::Primitive;

/// Vertices that several primitives share, and their new order.
pub(super) struct VertexSet {
    /// The old index of each vertex.
    pub old: Vec<u32>,
    /// Accessor and triangles, in new indices, of each primitive.
    pub triangles: Vec<(usize, Vec<u32>)>,
}

/// The vertices of all `primitives`, which have the same attributes; in their old order if `keep` is set.
pub(super) fn vertex_set(document: &Document<'_>, primitives: &[&Primitive], keep: bool) -> Result<VertexSet, Error> {
    let positions = primitives.first().and_then(|primitive| primitive.attributes.get("POSITION").copied());
    let positions = positions.ok_or_else(|| Error::malformed("a primitive has no positions"))?;
    let count = document.accessor(positions)?.count;
    let mut triangles: Vec<(usize, Vec<u32>)> = Vec::new();
    for accessor in primitives.iter().filter_map(|primitive| primitive.indices) {
        if triangles.iter().all(|(known, _)| *known != accessor) {
            triangles.push((accessor, document.indices(accessor)?));
        }
    }
    if triangles.iter().flat_map(|(_, corners)| corners).any(|&vertex| vertex as usize >= count) {
        return Err(Error::malformed("a triangle refers to a vertex that does not exist"));
    }
    if keep {
        return Ok(VertexSet { old: (0..count as u32).collect(), triangles });
    }
    const UNUSED: u32 = u32::MAX;
    let mut new = vec![UNUSED; count];
    let mut old = Vec::with_capacity(count);
    for (_, corners) in &mut triangles {
        meshopt::optimize_vertex_cache_strip_in_place(corners, count);
        for corner in corners {
            let vertex = *corner as usize;
            if new[vertex] == UNUSED {
                new[vertex] = old.len() as u32;
                old.push(vertex as u32);
            }
            *corner = new[vertex];
        }
    }
    old.extend((0..count as u32).filter(|&vertex| new[vertex as usize] == UNUSED));
    Ok(VertexSet { old, triangles })
}

impl VertexSet {
    /// `values` per vertex, in the new order.
    pub(super) fn gather<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.old.iter().map(|&vertex| values[vertex as usize]).collect()
    }
}
