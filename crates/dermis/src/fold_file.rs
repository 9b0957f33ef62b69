//! Learned folds as `NumPy` archives.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `rest`, `faces` | `[N,3]`, `[T,3]` | the fine cloth |
//! | `fold_vertex_points`, `fold_vertex_faces`, `fold_uvs` | `[V]`, `[T,3]`, `[V,2]` | its UVs, if it has any |
//! | `fold_controls` | `[C,3]` | rest positions of the control points |
//! | `fold_neighbours` | `[N,K]` | control points of each point |
//! | `fold_weights` | `[N,K,3,3]` | displacement per unit of each coordinate of a control point |
//! | `fold_offsets`, `fold_limits` | `[N,3]`, `[N]` | constant and largest displacement of each point |
//! | `fold_edge_lengths`, `fold_span_lengths` | `[E]`, `[S]` | lengths that the relaxation restores |
//! | `fold_anchoring`, `fold_smoothness` | one number | stiffness of the anchors, regularization |

use std::path::Path;
use std::sync::Arc;

use dermis_active::wrinkle::{FoldParts, LearnedFolds};
use dermis_io::npz::arrays::{self, Array, ArrayWriter, Arrays};
use dermis_io::output::Output;
use dermis_io::{Error, WriteOptions, Written, check_target};
use dermis_mesh::glam::{Vec2, Vec3};
use dermis_mesh::{Layout, Note, TriMesh};

/// Writes learned folds to the archive `target`.
pub fn write(target: &Path, folds: &LearnedFolds, options: &WriteOptions) -> Result<Written, Error> {
    check_target(target, options)?;
    let parts = folds.parts();
    let FoldParts { mesh, controls, neighbours, weights, offsets, limits, .. } = parts;
    let mut output = Output::new(options.force);
    let mut writer = ArrayWriter::new(output.create(target)?);
    let (points, per_point) = (mesh.point_count(), neighbours.len() / mesh.point_count().max(1));
    let flat = |points: &[Vec3]| points.iter().flat_map(Vec3::to_array).collect::<Vec<f32>>();
    writer.floats("rest", &[points, 3], &flat(mesh.points()))?;
    writer.indices("faces", &[mesh.triangle_count(), 3], mesh.triangles().as_flattened())?;
    let mut notes = Vec::new();
    if let Some(layout) = mesh.layout() {
        if let Some(uvs) = layout.uvs.first() {
            let uvs: Vec<f32> = uvs.iter().flat_map(Vec2::to_array).collect();
            writer.indices("fold_vertex_points", &[layout.vertex_points.len()], &layout.vertex_points)?;
            writer.indices("fold_vertex_faces", &[layout.triangles.len(), 3], layout.triangles.as_flattened())?;
            writer.floats("fold_uvs", &[layout.vertex_points.len(), 2], &uvs)?;
        }
        if layout.uvs.len() > 1 || !layout.materials.is_empty() {
            notes.push(Note::new("learned folds store the first UV set of the fine cloth, and no materials"));
        }
    }
    writer.floats("fold_controls", &[controls.len(), 3], &flat(controls))?;
    writer.indices("fold_neighbours", &[points, per_point], neighbours)?;
    writer.floats("fold_weights", &[points, per_point, 3, 3], &flat(weights.as_flattened()))?;
    writer.floats("fold_offsets", &[points, 3], &flat(offsets))?;
    writer.floats("fold_limits", &[points], limits)?;
    writer.floats("fold_edge_lengths", &[parts.edge_lengths.len()], &parts.edge_lengths)?;
    writer.floats("fold_span_lengths", &[parts.span_lengths.len()], &parts.span_lengths)?;
    writer.number("fold_anchoring", f64::from(parts.anchoring))?;
    writer.number("fold_smoothness", parts.smoothness)?;
    writer.finish()?;
    Ok(Written { notes, ..output.commit()? })
}

/// Reads the learned folds in the archive `path`.
pub fn read(path: &Path) -> Result<LearnedFolds, Error> {
    arrays::read(path, from_arrays)
}

fn from_arrays(arrays: &mut dyn Arrays) -> Result<LearnedFolds, Error> {
    let weights = needed(arrays, "fold_weights")?.floats()?;
    let [] = weights.as_chunks::<9>().1 else {
        return Err(Error::malformed("the array 'fold_weights' is not a list of 3×3 matrices"));
    };
    let columns = |matrix: &[f32; 9]| [0, 3, 6].map(|at| Vec3::new(matrix[at], matrix[at + 1], matrix[at + 2]));
    let parts = FoldParts {
        mesh: Arc::new(mesh(arrays)?),
        controls: arrays::points(&needed(arrays, "fold_controls")?)?,
        neighbours: needed(arrays, "fold_neighbours")?.indices()?,
        weights: weights.as_chunks::<9>().0.iter().map(columns).collect(),
        offsets: arrays::points(&needed(arrays, "fold_offsets")?)?,
        limits: needed(arrays, "fold_limits")?.floats()?,
        edge_lengths: needed(arrays, "fold_edge_lengths")?.floats()?,
        span_lengths: needed(arrays, "fold_span_lengths")?.floats()?,
        anchoring: needed(arrays, "fold_anchoring")?.number()? as f32,
        smoothness: needed(arrays, "fold_smoothness")?.number()?,
    };
    LearnedFolds::new(parts).map_err(|error| Error::malformed(error.to_string()))
}

fn mesh(arrays: &mut dyn Arrays) -> Result<TriMesh, Error> {
    let points = arrays::points(&needed(arrays, "rest")?)?;
    let mesh = TriMesh::new(points, triples(&needed(arrays, "faces")?)?)?;
    let Some(uvs) = arrays.array("fold_uvs")? else { return Ok(mesh) };
    let layout = Layout {
        vertex_points: needed(arrays, "fold_vertex_points")?.indices()?,
        triangles: triples(&needed(arrays, "fold_vertex_faces")?)?,
        uvs: vec![uvs.floats()?.as_chunks::<2>().0.iter().map(|uv| Vec2::from_array(*uv)).collect()],
        ..Layout::default()
    };
    Ok(mesh.with_layout(layout)?)
}

fn triples(array: &Array) -> Result<Vec<[u32; 3]>, Error> {
    match array.shape_of("[triangles, 3]")? {
        [_, 3] => Ok(array.indices()?.as_chunks::<3>().0.to_vec()),
        _ => Err(array.wrong_shape("[triangles, 3]")),
    }
}

fn needed(arrays: &mut dyn Arrays, name: &'static str) -> Result<Array, Error> {
    arrays.array(name)?.ok_or_else(|| {
        Error::malformed(format!("the archive contains no learned folds: it has no array '{name}'"))
            .with_hint("learn folds with 'dermis wrinkle train'")
    })
}
