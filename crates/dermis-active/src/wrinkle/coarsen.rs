//! Simplification of a cloth, with the same topology in all frames.
//!
//! Edges are collapsed into one of their end points by quadric errors (meshoptimizer). The remaining points are points
//! of the fine cloth, so each frame is a subset of the fine frame. The quadrics take the rest shape into account and,
//! as attributes, a few frames distributed over the motion. UV seams are preserved.

use dermis_mesh::{Layout, MeshSequence, TriMesh};
use glam::Vec3;
use meshopt::{SimplifyOptions, VertexDataAdapter, simplify_with_attributes_and_locks};

use super::cloth::ClothError;
use super::error::WrinkleError;

/// Number of frames that the simplification takes into account in addition to the rest shape.
const SAMPLED_FRAMES: usize = 4;
/// Weight of the frames relative to the rest shape.
const FRAME_WEIGHT: f32 = 0.1;

/// Simplified mesh with the indices of its points in the fine mesh.
#[derive(Debug, Clone)]
pub struct Coarse {
    /// Simplified mesh with the UVs and materials of the fine one.
    pub mesh: TriMesh,
    /// For each point, its index in the fine mesh.
    pub points: Vec<u32>,
}

/// Simplifies the mesh of `motion` to about `triangles` triangles.
pub fn coarsen(motion: &MeshSequence, triangles: usize) -> Result<Coarse, ClothError> {
    let mesh = motion.mesh();
    let found = mesh.triangle_count();
    let impossible = || WrinkleError::Coarsen { requested: triangles, found };
    if !(4..found).contains(&triangles) {
        return Err(impossible().into());
    }
    let layout = mesh.layout().cloned().unwrap_or_else(|| Layout::plain(mesh));
    let split = |points: &[Vec3]| layout.vertex_points.iter().map(|&point| points[point as usize]).collect::<Vec<_>>();
    let frames = motion.frame_count();
    let mut attributes = vec![Vec::new(); layout.vertex_points.len()];
    let scale = FRAME_WEIGHT / mesh.diagonal().max(f32::MIN_POSITIVE);
    for number in 0..SAMPLED_FRAMES {
        let frame = motion.frame((number * (frames - 1)) / (SAMPLED_FRAMES - 1))?;
        for (attributes, position) in attributes.iter_mut().zip(split(&frame)) {
            attributes.extend((position * scale).to_array());
        }
    }
    let positions: Vec<f32> = split(mesh.points()).iter().flat_map(Vec3::to_array).collect();
    let bytes: Vec<u8> = positions.iter().flat_map(|number| number.to_le_bytes()).collect();
    let adapter = VertexDataAdapter::new(&bytes, 12, 0).map_err(|_| impossible())?;
    let indices = simplify_with_attributes_and_locks(
        layout.triangles.as_flattened(),
        &adapter,
        &attributes.concat(),
        &[1.0; 3 * SAMPLED_FRAMES],
        12 * SAMPLED_FRAMES,
        &vec![false; layout.vertex_points.len()],
        3 * triangles,
        f32::MAX,
        SimplifyOptions::Regularize,
        None,
    );
    Ok(assemble(mesh, &layout, &indices).ok_or_else(impossible)?)
}

/// Mesh of the remaining vertices.
fn assemble(mesh: &TriMesh, layout: &Layout, indices: &[u32]) -> Option<Coarse> {
    let mut vertices: Vec<u32> = indices.to_vec();
    vertices.sort_unstable();
    vertices.dedup();
    let mut points: Vec<u32> = vertices.iter().map(|&vertex| layout.vertex_points[vertex as usize]).collect();
    let vertex_points = points.clone();
    points.sort_unstable();
    points.dedup();
    let index_in = |list: &[u32], item: u32| list.partition_point(|&other| other < item) as u32;
    let triangles: Vec<[u32; 3]> =
        indices.chunks_exact(3).map(|corners| [0, 1, 2].map(|corner| index_in(&vertices, corners[corner]))).collect();
    let over_points = triangles.iter().map(|t| t.map(|vertex| index_in(&points, vertex_points[vertex as usize])));
    let positions = points.iter().map(|&point| mesh.points()[point as usize]).collect();
    let coarse = TriMesh::new(positions, over_points.collect()).ok().filter(|mesh| mesh.triangle_count() > 0)?;
    let pick = |uvs: &Vec<glam::Vec2>| vertices.iter().map(|&vertex| uvs[vertex as usize]).collect();
    // Materials are assigned per triangle and the simplification does not track triangles, so the first is used for
    // all.
    let materials: Vec<_> = layout.materials.first().cloned().into_iter().collect();
    let coarse_layout = Layout {
        vertex_points: vertex_points.iter().map(|&point| index_in(&points, point)).collect(),
        triangle_materials: if materials.is_empty() { Vec::new() } else { vec![0; triangles.len()] },
        triangles,
        uvs: layout.uvs.iter().map(pick).collect(),
        materials,
        ..Layout::default()
    };
    let mesh = coarse.with_layout(coarse_layout).ok()?;
    Some(Coarse { mesh, points })
}
