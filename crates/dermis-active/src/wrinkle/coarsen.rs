//! The same cloth with fewer triangles, alike in all frames.
//!
//! Edges are collapsed into one of their ends by quadrics (meshoptimizer), so the points that are left are points of the
//! fine cloth and every frame is simply theirs. The quadrics see the rest shape and, as attributes, a few frames spread
//! over the motion; seams of UVs stay where they are.

use dermis_mesh::{Layout, MeshSequence, TriMesh};
use glam::Vec3;
use meshopt::{SimplifyOptions, VertexDataAdapter, simplify_with_attributes_and_locks};

use super::cloth::ClothError;
use super::error::WrinkleError;

/// Frames that the simplification sees, beside the rest shape.
const FRAMES_SEEN: usize = 4;
/// How much frames weigh beside the rest shape.
const FRAME_WEIGHT: f32 = 0.1;

/// A coarser mesh and its points in the fine one.
#[derive(Debug, Clone)]
pub struct Coarse {
    /// The mesh; UVs and materials are those of the fine one.
    pub mesh: TriMesh,
    /// The point of the fine mesh that each of its points is.
    pub points: Vec<u32>,
}

/// Reduces the mesh of `motion` to about `triangles` triangles.
pub fn coarsen(motion: &MeshSequence, triangles: usize) -> Result<Coarse, ClothError> {
    let mesh = motion.mesh();
    let found = mesh.triangle_count();
    let impossible = || WrinkleError::Coarsen { asked: triangles, found };
    if !(4..found).contains(&triangles) {
        return Err(impossible().into());
    }
    let layout = mesh.layout().cloned().unwrap_or_else(|| Layout::plain(mesh));
    let split = |points: &[Vec3]| layout.vertex_points.iter().map(|&point| points[point as usize]).collect::<Vec<_>>();
    let frames = motion.frame_count();
    let mut attributes = vec![Vec::new(); layout.vertex_points.len()];
    let scale = FRAME_WEIGHT / mesh.diagonal().max(f32::MIN_POSITIVE);
    for number in 0..FRAMES_SEEN {
        let frame = motion.frame((number * (frames - 1)) / (FRAMES_SEEN - 1))?;
        for (attributes, place) in attributes.iter_mut().zip(split(&frame)) {
            attributes.extend((place * scale).to_array());
        }
    }
    let positions: Vec<f32> = split(mesh.points()).iter().flat_map(Vec3::to_array).collect();
    let bytes: Vec<u8> = positions.iter().flat_map(|number| number.to_le_bytes()).collect();
    let adapter = VertexDataAdapter::new(&bytes, 12, 0).map_err(|_| impossible())?;
    let indices = simplify_with_attributes_and_locks(
        layout.triangles.as_flattened(),
        &adapter,
        &attributes.concat(),
        &[1.0; 3 * FRAMES_SEEN],
        12 * FRAMES_SEEN,
        &vec![false; layout.vertex_points.len()],
        3 * triangles,
        f32::MAX,
        SimplifyOptions::Regularize,
        None,
    );
    Ok(assemble(mesh, &layout, &indices).ok_or_else(impossible)?)
}

/// The mesh of the vertices that are left.
fn assemble(mesh: &TriMesh, layout: &Layout, indices: &[u32]) -> Option<Coarse> {
    let mut vertices: Vec<u32> = indices.to_vec();
    vertices.sort_unstable();
    vertices.dedup();
    let mut points: Vec<u32> = vertices.iter().map(|&vertex| layout.vertex_points[vertex as usize]).collect();
    let vertex_points = points.clone();
    points.sort_unstable();
    points.dedup();
    let place = |list: &[u32], item: u32| list.partition_point(|&other| other < item) as u32;
    let triangles: Vec<[u32; 3]> =
        indices.chunks_exact(3).map(|corners| [0, 1, 2].map(|corner| place(&vertices, corners[corner]))).collect();
    let over_points = triangles.iter().map(|t| t.map(|vertex| place(&points, vertex_points[vertex as usize])));
    let positions = points.iter().map(|&point| mesh.points()[point as usize]).collect();
    let coarse = TriMesh::new(positions, over_points.collect()).ok().filter(|mesh| mesh.triangle_count() > 0)?;
    let pick = |uvs: &Vec<glam::Vec2>| vertices.iter().map(|&vertex| uvs[vertex as usize]).collect();
    // Materials are per triangle and triangles have no history here, so one stands for all.
    let materials: Vec<_> = layout.materials.first().cloned().into_iter().collect();
    let coarse_layout = Layout {
        vertex_points: vertex_points.iter().map(|&point| place(&points, point)).collect(),
        triangle_materials: if materials.is_empty() { Vec::new() } else { vec![0; triangles.len()] },
        triangles,
        uvs: layout.uvs.iter().map(pick).collect(),
        materials,
        ..Layout::default()
    };
    let mesh = coarse.with_layout(coarse_layout).ok()?;
    Some(Coarse { mesh, points })
}
