//! Transfer of a clip to another rig with the same joints.
//!
//! Joints are matched by name, or by order if the names differ and both rigs have the same number of joints. Two rigs can
//! have the same joint locations with different joint orientations, so equal joint transforms do not imply equal shapes.
//! If both rigs are bound to the same shape, the deformation by each joint is kept (`M_to = M_from B_from⁻¹ B_to`).
//! Otherwise the transform of each joint is kept. Shapes are matched by name; shapes without a match stay at 0.

use std::collections::BTreeMap;
use std::sync::Arc;

use dermis_mesh::glam::{DAffine3, DQuat, DVec3, Vec3};
use dermis_mesh::{Clip, Joint, MeshError, Note, Object, Rig, RigError, Shape, TriMesh, Units, UpAxis};

/// The root mean square distance, relative to the diagonal, within which two rest poses are the same shape.
const SAME_SHAPE: f64 = 1e-2;

/// Reasons why a clip cannot be transferred; see also [`RetargetError::details`] and [`RetargetError::hint`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RetargetError {
    /// One of the two has no joints.
    #[error("'{0}' has no joints")]
    NoJoints(String),
    /// The clip does not move all joints.
    #[error("the clip '{clip}' does not move {} of the {count} joints", missing.len())]
    Missing {
        /// The clip.
        clip: String,
        /// The joints that it does not move.
        missing: Vec<String>,
        /// Number of joints of the rig.
        count: usize,
        /// The joints that it does move.
        moved: Vec<String>,
    },
    /// The clip cannot be made.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The shape does not fit f32 in the other units.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

impl RetargetError {
    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Missing { missing, moved, .. } => {
                vec![listed("not moved", missing), listed("joints of the clip", moved)]
            }
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Missing { .. } => Some("give a clip of the same skeleton: joints are matched by name"),
            _ => None,
        }
    }
}

fn listed(what: &str, names: &[String]) -> String {
    const SHOWN: usize = 20;
    let quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
    let more = if names.len() > SHOWN { format!(", and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{what}: {}{more}", quoted.join(", "))
}

/// `clip`, a motion of the rig of `from`, as a motion of the rig of `to`.
///
/// # Panics
/// If `clip` is not a clip of the rig of `from`.
pub fn retarget(clip: &Clip, from: &Object, to: &Object) -> Result<(Clip, Vec<Note>), RetargetError> {
    let joints_of = |object: &Object| {
        let rig = object.rig.clone().filter(|rig| !rig.joints().is_empty());
        rig.ok_or_else(|| RetargetError::NoJoints(object.name.clone()))
    };
    let (source, target) = (joints_of(from)?, joints_of(to)?);
    assert_eq!(clip.transforms(0).len(), source.joints().len(), "the clip is one of the rig");
    let mut notes = Vec::new();
    let places = match_joints(clip, source.joints(), target.joints(), &to.name, &mut notes)?;
    let same = same_shape(&from.mesh, &to.mesh);
    let turns: Vec<Option<DAffine3>> = target
        .joints()
        .iter()
        .zip(&places)
        .map(|(joint, &place)| {
            let other = &source.joints()[place];
            let turn = other.inverse_bind * joint.bind();
            (same && other.inverse_bind != joint.inverse_bind && turn.is_finite()).then_some(turn)
        })
        .collect();
    let frames = 0..clip.frame_count();
    let transforms = frames.clone().flat_map(|frame| {
        let moved = move |(&place, turn): (&usize, &Option<DAffine3>)| {
            let transform = clip.transforms(frame)[place];
            turn.map_or(transform, |turn| transform * turn)
        };
        places.iter().zip(&turns).map(moved)
    });
    let shapes = match_shapes(clip, &source, &target, &to.name, &mut notes);
    let weights = frames.flat_map(|frame| {
        let weights = clip.shape_weights(frame);
        shapes.iter().map(move |place| place.map_or(0.0, |place| weights[place]))
    });
    let moved = Clip::new(&target, clip.name(), clip.frame_rate_hz(), transforms.collect(), weights.collect())?;
    Ok((moved.starting_at(clip.start_seconds()), notes))
}

/// The rigged `object` with its clips converted from the units `from` to `to`; `None` if the units are equal or unknown.
/// With the similarity A of the conversion and its scale s: `p ↦ A p`, `M ↦ A M s⁻¹`, `B⁻¹ ↦ s B⁻¹ A⁻¹`.
pub fn in_units(object: &Object, from: Units, to: Units) -> Result<Option<Object>, RetargetError> {
    let scale = from.metres_per_unit.zip(to.metres_per_unit).map_or(1.0, |(from, to)| from / to);
    let turn = from.up_axis.zip(to.up_axis).map_or(DQuat::IDENTITY, |(from, to)| turn_between(from, to));
    let usable = scale.is_finite() && scale > 0.0;
    let Some(rig) = object.rig.as_ref().filter(|_| usable && (scale != 1.0 || turn != DQuat::IDENTITY)) else {
        return Ok(None);
    };
    let (grow, shrink) = (DAffine3::from_scale(DVec3::splat(scale)), DAffine3::from_scale(DVec3::splat(1.0 / scale)));
    let world = DAffine3::from_quat(turn) * grow;
    let points = object.mesh.points().iter().map(|point| world.transform_point3(point.as_dvec3()).as_vec3());
    let mesh = Arc::new(TriMesh::new(points.collect(), object.mesh.triangles().to_vec())?);
    let moved = |joint: &Joint| Joint { inverse_bind: grow * joint.inverse_bind * world.inverse(), ..joint.clone() };
    let offset = |offset: &Vec3| world.transform_vector3(offset.as_dvec3()).as_vec3();
    let shape = |shape: &Shape| Shape {
        name: shape.name.clone(),
        offsets: shape.offsets.iter().map(offset).collect(),
        normal_offsets: None,
    };
    let joints = rig.joints().iter().map(moved).collect();
    let rig = Rig::new(&mesh, joints, rig.weights().clone(), rig.shapes().iter().map(shape).collect())?;
    let clip = |clip: &Arc<Clip>| {
        let frames = || 0..clip.frame_count();
        let transforms = frames().flat_map(|frame| clip.transforms(frame)).map(|pose| world * *pose * shrink);
        let weights = frames().flat_map(|frame| clip.shape_weights(frame).iter().copied());
        let moved = Clip::new(&rig, clip.name(), clip.frame_rate_hz(), transforms.collect(), weights.collect())?;
        Ok(Arc::new(moved.starting_at(clip.start_seconds())))
    };
    let clips = object.clips.iter().map(clip).collect::<Result<_, RigError>>()?;
    Ok(Some(Object { name: object.name.clone(), mesh, rig: Some(Arc::new(rig)), clips, ..Object::default() }))
}

fn turn_between(from: UpAxis, to: UpAxis) -> DQuat {
    let up = |axis| match axis {
        UpAxis::X => DVec3::X,
        UpAxis::Y => DVec3::Y,
        UpAxis::Z => DVec3::Z,
    };
    if from == to { DQuat::IDENTITY } else { DQuat::from_rotation_arc(up(from), up(to)) }
}

/// For each joint of `to`, its joint of `from`.
fn match_joints(
    clip: &Clip,
    from: &[Joint],
    to: &[Joint],
    object: &str,
    notes: &mut Vec<Note>,
) -> Result<Vec<usize>, RetargetError> {
    let names = |joints: &[Joint]| joints.iter().map(|joint| joint.name.clone()).collect::<Vec<_>>();
    if names(from) == names(to) {
        return Ok((0..to.len()).collect());
    }
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, joint) in from.iter().enumerate().filter(|(_, joint)| !joint.name.is_empty()) {
        by_name.entry(&joint.name).or_default().push(place);
    }
    let unique = |joint: &Joint| match by_name.get(joint.name.as_str()).map(Vec::as_slice) {
        Some(&[place]) => Some(place),
        _ => None,
    };
    if let Some(places) = to.iter().map(unique).collect() {
        return Ok(places);
    }
    if from.len() == to.len() {
        let message = format!("the joints of the clip '{}' have other names; they are matched by order", clip.name());
        notes.push(Note::at(object, message));
        return Ok((0..to.len()).collect());
    }
    let missing = to.iter().filter(|joint| unique(joint).is_none()).map(|joint| joint.name.clone()).collect();
    Err(RetargetError::Missing { clip: clip.name().to_owned(), missing, count: to.len(), moved: names(from) })
}

fn same_shape(a: &TriMesh, b: &TriMesh) -> bool {
    if a.point_count() != b.point_count() {
        return false;
    }
    let squares = a.points().iter().zip(b.points()).map(|(a, b)| a.as_dvec3().distance_squared(b.as_dvec3()));
    let (low, high) = a.bounds();
    let mean = squares.sum::<f64>() / a.point_count().max(1) as f64;
    mean.sqrt() <= SAME_SHAPE * low.as_dvec3().distance(high.as_dvec3())
}

/// For each shape of `to`, its shape of `from`.
fn match_shapes(clip: &Clip, from: &Rig, to: &Rig, object: &str, notes: &mut Vec<Note>) -> Vec<Option<usize>> {
    let place = |name: &str| from.shapes().iter().position(|shape| shape.name == name && !name.is_empty());
    let same_names = from.shapes().iter().map(|shape| &shape.name).eq(to.shapes().iter().map(|shape| &shape.name));
    let shapes = to.shapes().iter().enumerate();
    let places: Vec<Option<usize>> =
        shapes.map(|(at, shape)| if same_names { Some(at) } else { place(&shape.name) }).collect();
    if places.iter().any(Option::is_none) {
        let message = format!("the clip '{}' does not move all blend shapes; the others stay at 0", clip.name());
        notes.push(Note::at(object, message));
    }
    places
}

#[cfg(test)]
mod tests {
    use dermis_mesh::SkinWeights;

    use super::*;

    /// Two points, bound to joints with these names at `binds`; the clip lifts joint k by k + 1.
    fn object(names: &[&str], binds: &[DVec3], points: &[Vec3]) -> Object {
        let mesh = TriMesh::new(points.to_vec(), vec![]).unwrap();
        let bind = |k: usize| DAffine3::from_translation(binds[k]);
        let joints: Vec<Joint> = names.iter().enumerate().map(|(k, name)| Joint::at(*name, None, bind(k))).collect();
        let rows = (0..points.len()).map(|k| [((k % names.len()) as u32, 1.0)]);
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), vec![]).unwrap();
        let lift = |k: usize| DAffine3::from_translation(DVec3::Z * (k + 1) as f64) * bind(k);
        let clip = Clip::new(&rig, "lift", 24.0, (0..names.len()).map(lift).collect(), vec![]).unwrap();
        Object::of_rig("thing", mesh.into(), rig, vec![clip])
    }

    fn lifted(from: &Object, to: &Object) -> (Vec<Vec3>, usize) {
        let (clip, notes) = retarget(&from.clips[0], from, to).unwrap();
        let mut points = vec![Vec3::ZERO; to.mesh.point_count()];
        dermis_mesh::pose::pose_into(&to.mesh, to.rig.as_ref().unwrap(), &clip, 0, &mut points);
        (points, notes.len())
    }

    const POINTS: [Vec3; 2] = [Vec3::X, Vec3::Y];

    #[test]
    fn joints_find_each_other_by_name_in_any_order() {
        let from = object(&["a", "b", "c"], &[DVec3::ZERO; 3], &POINTS);
        let to = object(&["c", "a"], &[DVec3::ZERO; 2], &POINTS);
        assert_eq!(lifted(&from, &to), (vec![Vec3::new(1.0, 0.0, 3.0), Vec3::new(0.0, 1.0, 1.0)], 0));
    }

    #[test]
    fn joints_of_other_names_are_matched_by_order_and_that_is_said() {
        let from = object(&["a", "b"], &[DVec3::ZERO; 2], &POINTS);
        let to = object(&["hip", "knee"], &[DVec3::ZERO; 2], &POINTS);
        assert_eq!(lifted(&from, &to), (vec![Vec3::new(1.0, 0.0, 1.0), Vec3::new(0.0, 1.0, 2.0)], 1));
    }

    #[test]
    fn joints_that_are_bound_elsewhere_to_the_same_shape_do_the_same_to_it() {
        let from = object(&["a", "b"], &[DVec3::ZERO; 2], &POINTS);
        let to = object(&["a", "b"], &[DVec3::new(5.0, 1.0, -3.0), DVec3::Y], &POINTS);
        assert_eq!(lifted(&from, &to).0, [Vec3::new(1.0, 0.0, 1.0), Vec3::new(0.0, 1.0, 2.0)]);
    }

    #[test]
    fn joints_of_another_shape_stand_where_the_clip_puts_them() {
        let from = object(&["a"], &[DVec3::ZERO], &POINTS);
        let to = object(&["a"], &[DVec3::X], &[Vec3::X, Vec3::Y, Vec3::Z]);
        assert_eq!(lifted(&from, &to).0[0], Vec3::Z);
    }

    #[test]
    fn a_clip_in_centimetres_with_z_up_moves_a_model_in_metres_with_y_up() {
        let centimetres = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };
        let metres = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
        // (x, y, z) with z up is (x, z, −y) with y up.
        let from = object(&["a"], &[DVec3::new(0.0, -300.0, 0.0)], &[Vec3::new(100.0, 0.0, 200.0), Vec3::ZERO]);
        let to = object(&["a"], &[DVec3::new(0.0, 0.0, 3.0)], &[Vec3::new(1.0, 2.0, 0.0), Vec3::ZERO]);
        let from = in_units(&from, centimetres, metres).unwrap().unwrap();
        assert!(same_shape(&from.mesh, &to.mesh));
        let lifted = lifted(&from, &to).0[0];
        assert!(lifted.distance(Vec3::new(1.0, 2.01, 0.0)) < 1e-6, "{lifted}");
        assert!(in_units(&to, metres, metres).unwrap().is_none());
        assert!(in_units(&to, Units::default(), metres).unwrap().is_none());
    }

    #[test]
    fn rejects_a_clip_that_lacks_joints_and_names_them() {
        let from = object(&["a", "x"], &[DVec3::ZERO; 2], &POINTS);
        let to = object(&["a", "b", "c"], &[DVec3::ZERO; 3], &POINTS);
        let error = retarget(&from.clips[0], &from, &to).unwrap_err();
        assert_eq!(error.to_string(), "the clip 'lift' does not move 2 of the 3 joints");
        assert_eq!(error.details()[0], "not moved: 'b', 'c'");
    }
}
