//! Correspondence between the points of two files of the same mesh.
//!
//! Programs split and order vertices differently, and use different units and axes: the points of an Alembic or FBX
//! file from Blender do not correspond by index to those of the glTF rig from which it was made. Points are matched by
//! their positions in the rest shape or the first frame, in the file's own axes or with Y and Z exchanged, at the ratio
//! of the extents if that is a ratio of common units; coincident points are distinguished by their UVs. If no shape of
//! one file is a shape of the other, points are matched by UVs alone. Every point of the object must be found.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dermis_mesh::glam::{DMat3, DVec3, Vec2, Vec3};
use dermis_mesh::tri_mesh::bounds;
use dermis_mesh::{MeshSequence, Note, Object, SequenceError, TriMesh};

/// Distance, relative to the diagonal, within which two positions count as equal, since formats round to f32 or to
/// decimals.
const SAME_POSITION: f64 = 1e-4;
/// Relative deviation of the ratio of two extents from a ratio of units.
const SAME_RATIO: f64 = 0.02;
/// Factor within which two poses of one shape differ in extent.
const POSE_RATIO: f64 = 2.5;
/// Ratios of the units in use: metres, centimetres, millimetres, inches, feet and decimetres.
const UNIT_RATIOS: [f64; 13] =
    [1.0, 0.01, 100.0, 0.001, 1000.0, 0.1, 10.0, 0.0254, 1.0 / 0.0254, 0.3048, 1.0 / 0.3048, 2.54, 1.0 / 2.54];
/// Resolution of UV coordinates within which two count as equal.
const UV_STEP: f32 = 1e-5;

/// Reasons why two meshes do not match.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError {
    /// They are different meshes.
    #[error("the shapes have {found} points that do not match the {expected} points of the mesh")]
    Different {
        /// Points of the mesh.
        expected: usize,
        /// Points of the shapes.
        found: usize,
        /// Extent of the shapes relative to that of the mesh.
        ratio: f64,
    },
    /// The same mesh at a size that no unit explains.
    #[error("the shapes are {ratio:.4} times as large as the mesh")]
    Size {
        /// Extent of the shapes relative to that of the mesh.
        ratio: f64,
    },
    /// The frames cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

impl MatchError {
    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Different { ratio, .. } => vec![format!("the shapes are {ratio:.4} times as large as the mesh")],
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Different { .. } => Some("use shapes of the same mesh: points are matched by rest shape and by UV"),
            Self::Size { .. } => Some("export both files in the same units"),
            Self::Sequence(_) => None,
        }
    }
}

/// Axes of a file relative to those of another.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Axes {
    Same,
    /// Z up to Y up.
    FromZUp,
    /// Y up to Z up.
    FromYUp,
}

impl Axes {
    fn matrix(self) -> DMat3 {
        match self {
            Self::Same => DMat3::IDENTITY,
            Self::FromZUp => DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y),
            Self::FromYUp => DMat3::from_cols(DVec3::X, DVec3::Z, DVec3::NEG_Y),
        }
    }
}

/// The point of the shapes for each point of the object, and the transform between the files.
struct Correspondence {
    order: Vec<u32>,
    scale: f64,
    axes: Axes,
    by: &'static str,
}

/// `shapes` as shapes of the mesh of `object`, in its points, units and axes; and notes on what was corrected.
pub fn matched(shapes: &MeshSequence, object: &Object) -> Result<(MeshSequence, Vec<Note>), MatchError> {
    let found = correspondence(shapes, object)?;
    let mut notes = Vec::new();
    let is_identity = found.order.len() == shapes.point_count()
        && found.order.iter().enumerate().all(|(at, &point)| at == point as usize);
    if !is_identity {
        let (points, others) = (object.mesh.point_count(), shapes.point_count());
        let message =
            format!("the {others} points of the shapes are matched to the {points} points of the mesh by {}", found.by);
        notes.push(Note::at(&object.name, message));
    }
    if found.scale != 1.0 {
        let message = format!("the shapes are in other units; they are scaled by {:.5}", found.scale);
        notes.push(Note::at(&object.name, message));
    }
    if found.axes != Axes::Same {
        notes.push(Note::at(&object.name, "the shapes have another up axis; they are rotated"));
    }
    if is_identity && found.scale == 1.0 && found.axes == Axes::Same {
        return Ok((shapes.clone().with_mesh(Arc::clone(&object.mesh))?, notes));
    }
    let (source, order, linear) = (shapes.clone(), found.order, found.axes.matrix() * found.scale);
    let read = move |frame: usize, out: &mut [Vec3]| {
        let positions = source.frame(frame)?;
        for (out, &point) in out.iter_mut().zip(&order) {
            *out = (linear * positions[point as usize].as_dvec3()).as_vec3();
        }
        Ok(())
    };
    let mesh = Arc::clone(&object.mesh);
    let moved = MeshSequence::from_fn(mesh, shapes.frame_count(), shapes.frame_rate_hz(), read)?;
    Ok((moved.starting_at(shapes.start_seconds()).named(shapes.name()), notes))
}

fn correspondence(shapes: &MeshSequence, object: &Object) -> Result<Correspondence, MatchError> {
    let (from, to) = (shapes.mesh(), &object.mesh);
    let first = shapes.frame(0)?;
    let rest = object.rest_points();
    let ratio = diagonal(&first) / diagonal(&rest).max(f64::MIN_POSITIVE);
    let poses = [(from.points(), to.points()), (from.points(), &*rest), (&*first, to.points()), (&*first, &*rest)];
    let is_same = from.point_count() == to.point_count() && from.triangles() == to.triangles();
    if is_same {
        let order: Vec<u32> = (0..to.point_count() as u32).collect();
        // In the same order, the shapes may be in any pose.
        let by = "order";
        if (POSE_RATIO.recip()..=POSE_RATIO).contains(&ratio) {
            let axes = axes_in_order(&poses);
            return Ok(Correspondence { order, scale: 1.0, axes, by });
        }
        let scale = UNIT_RATIOS.into_iter().find(|unit| (POSE_RATIO.recip()..=POSE_RATIO).contains(&(ratio * unit)));
        let scale = scale.ok_or(MatchError::Size { ratio })?;
        return Ok(Correspondence { order, scale, axes: axes_in_order(&poses), by });
    }
    let uvs = (point_uvs(from), point_uvs(to));
    for axes in [Axes::Same, Axes::FromZUp, Axes::FromYUp] {
        for (source, target) in poses {
            let turned: Vec<DVec3> = source.iter().map(|point| axes.matrix() * point.as_dvec3()).collect();
            let Some(scale) = unit_ratio(diagonal(target) / diagonal(source).max(f64::MIN_POSITIVE)) else { continue };
            if let Some(order) = by_position(&turned, target, scale, &uvs) {
                return Ok(Correspondence { order, scale, axes, by: "their rest positions" });
            }
        }
    }
    let missing = || MatchError::Different { expected: to.point_count(), found: from.point_count(), ratio };
    let order = by_uv(from, to).ok_or_else(missing)?;
    let pose_sized = |unit: &f64| (POSE_RATIO.recip()..=POSE_RATIO).contains(&(ratio * unit));
    let scale = UNIT_RATIOS.into_iter().find(pose_sized).ok_or(MatchError::Size { ratio })?;
    Ok(Correspondence { order, scale, axes: Axes::Same, by: "their UVs" })
}

/// The axes in which a shape of one file is a shape of the other, point by point; the same axes if none is.
fn axes_in_order(poses: &[(&[Vec3], &[Vec3])]) -> Axes {
    let fits = |axes: Axes, source: &[Vec3], target: &[Vec3]| {
        let scale = diagonal(target) / diagonal(source).max(f64::MIN_POSITIVE);
        let (a, b) = (center(source), center(target));
        let tolerance = SAME_RATIO * diagonal(target);
        let near = |(p, q): (&Vec3, &Vec3)| {
            (axes.matrix() * (p.as_dvec3() - a) * scale).distance(q.as_dvec3() - b) <= tolerance
        };
        source.iter().zip(target).all(near)
    };
    let all = [Axes::Same, Axes::FromZUp, Axes::FromYUp];
    all.into_iter().find(|&axes| poses.iter().any(|(a, b)| fits(axes, a, b))).unwrap_or(Axes::Same)
}

fn center(points: &[Vec3]) -> DVec3 {
    let (low, high) = bounds(points);
    low.as_dvec3().midpoint(high.as_dvec3())
}

fn diagonal(points: &[Vec3]) -> f64 {
    let (low, high) = bounds(points);
    low.as_dvec3().distance(high.as_dvec3())
}

/// The ratio of units that `ratio` equals up to its tolerance, if any.
fn unit_ratio(ratio: f64) -> Option<f64> {
    UNIT_RATIOS.into_iter().find(|unit| (ratio / unit - 1.0).abs() <= SAME_RATIO)
}

type PointUvs = Vec<Option<Vec2>>;

/// UV coordinates of each point.
fn point_uvs(mesh: &TriMesh) -> PointUvs {
    let mut uvs = vec![None; mesh.point_count()];
    if let Some((layout, set)) = mesh.layout().and_then(|layout| Some((layout, layout.uvs.first()?))) {
        for (&point, &uv) in layout.vertex_points.iter().zip(set) {
            uvs[point as usize].get_or_insert(uv);
        }
    }
    uvs
}

/// Nearest point of `source` at `scale` for each point of `target`; `None` if a point has none.
fn by_position(source: &[DVec3], target: &[Vec3], scale: f64, uvs: &(PointUvs, PointUvs)) -> Option<Vec<u32>> {
    let tolerance = SAME_POSITION * diagonal(target);
    if tolerance == 0.0 {
        return None;
    }
    let cell = |point: DVec3| (point / tolerance).floor().to_array().map(|number| number as i64);
    let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::with_capacity(source.len());
    for (index, &point) in source.iter().enumerate() {
        cells.entry(cell(point * scale)).or_default().push(index as u32);
    }
    let nearest = |(index, point): (usize, &Vec3)| {
        let point = point.as_dvec3();
        let [x, y, z] = cell(point);
        let offsets = (0..27).map(|k| [x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1]);
        let near = offsets.filter_map(|key| cells.get(&key)).flatten().copied();
        let distance = |candidate: u32| (source[candidate as usize] * scale).distance(point);
        let uv = uvs.1[index];
        let other_uv = |candidate: u32| match (uv, uvs.0[candidate as usize]) {
            (Some(a), Some(b)) => f64::from(a.distance(b)) > f64::from(10.0 * UV_STEP),
            _ => false,
        };
        near.filter(|&candidate| distance(candidate) <= tolerance).min_by(|&a, &b| {
            let key = |candidate: u32| (other_uv(candidate), distance(candidate), candidate);
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
        })
    };
    target.iter().enumerate().map(nearest).collect()
}

/// Point of `from` with the same UV for each point of `to`; `None` if a point has no UV, or only shared ones.
fn by_uv(from: &TriMesh, to: &TriMesh) -> Option<Vec<u32>> {
    let key = |uv: Vec2| [uv.x, uv.y].map(|number| (number / UV_STEP).round() as i64);
    let (from, to_layout) = (from.layout()?, to.layout()?);
    // `None` marks coordinates that several points have, such as those of mirrored halves.
    let mut points: BTreeMap<[i64; 2], Option<u32>> = BTreeMap::new();
    for (&point, &uv) in from.vertex_points.iter().zip(from.uvs.first()?) {
        let known = points.entry(key(uv)).or_insert(Some(point));
        if *known != Some(point) {
            *known = None;
        }
    }
    let mut order: Vec<Option<u32>> = vec![None; to.point_count()];
    for (&point, &uv) in to_layout.vertex_points.iter().zip(to_layout.uvs.first()?) {
        let found = points.get(&key(uv)).copied().flatten();
        order[point as usize] = order[point as usize].or(found);
    }
    order.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use dermis_mesh::{CornerData, PolygonMesh, Polygons};

    use super::*;

    /// A bent strip of `count` quads with UVs; `order` permutes its points, `place` its positions.
    fn strip(count: usize, reversed: bool, place: impl Fn(Vec3) -> Vec3) -> TriMesh {
        let total = 2 * (count + 1);
        let at = |point: usize| if reversed { total - 1 - point } else { point };
        let position = |point: usize| {
            let x = (point / 2) as f32;
            Vec3::new(x, 0.1 * x * x, (point % 2) as f32 * 1.5)
        };
        let uv = |point: usize| Vec2::new((point / 2) as f32 / count as f32, (point % 2) as f32);
        let corners: Vec<u32> =
            (0..count).flat_map(|k| [2 * k, 2 * k + 2, 2 * k + 3, 2 * k + 1]).map(|point| at(point) as u32).collect();
        PolygonMesh {
            points: (0..total).map(|point| place(position(at(point)))).collect(),
            polygons: Polygons { sizes: vec![4; count], corners: corners.clone() },
            uvs: vec![CornerData { values: (0..total).map(|point| uv(at(point))).collect(), indices: corners }],
            ..PolygonMesh::default()
        }
        .into_tri_mesh()
        .unwrap()
    }

    fn still(mesh: TriMesh) -> MeshSequence {
        let points = mesh.points().to_vec();
        MeshSequence::new(Arc::new(mesh), points, 24.0).unwrap()
    }

    fn assert_matches(shapes: TriMesh, expected_notes: usize) {
        let object = Object::of_mesh("strip", Arc::new(strip(6, false, |point| point)));
        let (found, notes) = matched(&still(shapes), &object).unwrap();
        assert_eq!(notes.len(), expected_notes, "{notes:?}");
        for (found, expected) in found.frame(0).unwrap().iter().zip(object.mesh.points()) {
            assert!(found.distance(*expected) < 1e-4, "{found} is not {expected}");
        }
    }

    #[test]
    fn points_in_another_order_units_and_axes_are_found() {
        assert_matches(strip(6, false, |point| point), 0);
        assert_matches(strip(6, true, |point| point), 1);
        assert_matches(strip(6, true, |point| point * 100.0), 2);
        // (x, y, z) with Y up is (x, −z, y) with Z up.
        assert_matches(strip(6, true, |point| Vec3::new(point.x, -point.z, point.y) * 100.0), 3);
        assert_matches(strip(6, false, |point| Vec3::new(point.x, -point.z, point.y) * 100.0), 2);
    }

    #[test]
    fn a_posed_shape_is_matched_by_uv() {
        let object = Object::of_mesh("strip", Arc::new(strip(6, false, |point| point)));
        let bent = |point: Vec3| Vec3::new(point.x, point.y + 0.4 * (point.x * 0.8).sin() + 0.2 * point.x, point.z);
        let (found, notes) = matched(&still(strip(6, true, bent)), &object).unwrap();
        assert!(notes[0].message.ends_with("by their UVs"), "{notes:?}");
        for (found, rest) in found.frame(0).unwrap().iter().zip(object.mesh.points()) {
            assert!(found.distance(bent(*rest)) < 1e-5);
        }
    }

    #[test]
    fn rejects_other_meshes_and_sizes_that_no_unit_explains() {
        let object = Object::of_mesh("strip", Arc::new(strip(6, false, |point| point)));
        let error = matched(&still(strip(5, false, |point| point)), &object).unwrap_err();
        assert!(matches!(error, MatchError::Different { expected: 14, found: 12, .. }), "{error}");
        let error = matched(&still(strip(6, false, |point| point * 1e6)), &object).unwrap_err();
        assert!(matches!(error, MatchError::Size { .. }), "{error}");
    }
}
