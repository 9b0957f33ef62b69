//! Transfer of a clip to another rig.
//!
//! Joints are matched by a map of the user, by name, and without any common name by hierarchy or order. Names are
//! compared as they are, then without namespaces (`mixamorig:`), case and punctuation, then without the prefix that all
//! joints of a rig have in common, then by the usual names of the parts of a body (`thigh_l` is `LeftUpLeg`).
//!
//! If all joints have a match and both rigs are bound to the same shape, the deformation by each joint is kept
//! (`M_to = M_from B_from⁻¹ B_to`), so the joints can have other orientations. If they are bound at the same places, the
//! transforms are kept. Otherwise rotations relative to the bind poses are kept, `R_to = Q R_from R_from,bind⁻¹ Qᵀ
//! R_to,bind`, with the rotation Q along the axes between the bind poses: the target keeps the lengths of its bones, and
//! the translation of the topmost matched joint is scaled by the sizes of the skeletons. Joints without a match keep
//! their bind pose relative to their parent. Shapes are matched by name; shapes without a match stay at 0.

use std::collections::BTreeMap;
use std::sync::Arc;

use dermis_math::polar::polar_rotation;
use dermis_math::svd3::svd3;
use dermis_mesh::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use dermis_mesh::{Clip, Joint, MeshError, Note, Object, Rig, RigError, RigPose, Shape, TriMesh, Units, UpAxis};

/// The root mean square distance, relative to the diagonal, within which two rest poses are the same shape.
const SAME_SHAPE: f64 = 1e-2;
/// Deviation of bind transforms, relative to the skeleton, within which two joints are bound at the same place.
const SAME_BIND: f64 = 1e-4;
/// Cosine of the angle between two bones above which the hierarchies of two skeletons agree.
const SAME_DIRECTION: f64 = 0.7;
/// Height of a foot above its lowest, and its speed per second, relative to the height of the skeleton, below which it
/// is on the ground.
const GROUND_HEIGHT: f64 = 0.05;
const GROUND_SPEED: f64 = 0.15;

/// For joints of a rig, the joint of a motion that moves each, by name.
pub type JointMap = BTreeMap<String, String>;

/// Reads a map of joints: a TOML table with the names of the rig's joints as keys and those of the motion as values.
pub fn joint_map_from_toml(text: &str) -> Result<JointMap, RetargetError> {
    toml::from_str(text).map_err(|error| RetargetError::Map(error.message().to_owned()))
}

/// Reasons why a clip cannot be transferred; see also [`RetargetError::details`] and [`RetargetError::hint`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RetargetError {
    /// One of the two has no joints.
    #[error("'{0}' has no joints")]
    NoJoints(String),
    /// The clip moves none of the joints.
    #[error("the clip '{clip}' moves none of the {} joints", joints.len())]
    NothingMaps {
        /// The clip.
        clip: String,
        /// The joints of the rig.
        joints: Vec<String>,
        /// The joints that the clip moves.
        moved: Vec<String>,
    },
    /// The map of joints is not a table of names.
    #[error("invalid map of joints: {0}")]
    Map(String),
    /// The map names joints that do not exist.
    #[error("the joint map has unknown names: {}", names.len())]
    UnknownInMap {
        /// The names.
        names: Vec<String>,
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
            Self::NothingMaps { joints, moved, .. } => {
                vec![listed("joints of the rig", joints), listed("joints of the clip", moved)]
            }
            Self::UnknownInMap { names } => vec![listed("unknown", names)],
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingMaps { .. } => Some("give a map of joints: a TOML file with lines such as Hips = \"pelvis\""),
            Self::Map(_) => Some("write lines such as Hips = \"pelvis\": the rig's joint, then the motion's"),
            Self::UnknownInMap { .. } => Some("keys are joints of the rig, values joints of the motion"),
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

/// A clip of another rig.
#[derive(Debug, Clone)]
pub struct Retargeted {
    /// The clip.
    pub clip: Clip,
    /// Assumptions and omissions.
    pub notes: Vec<Note>,
    /// For each joint, the joint of the motion that moves it.
    pub places: Vec<Option<usize>>,
}

/// `clip`, a motion of the rig of `from`, as a motion of the rig of `to`.
///
/// # Panics
/// If `clip` is not a clip of the rig of `from`.
pub fn retarget(clip: &Clip, from: &Object, to: &Object) -> Result<(Clip, Vec<Note>), RetargetError> {
    retarget_with(clip, from, to, &JointMap::new()).map(|moved| (moved.clip, moved.notes))
}

/// [`retarget`] with a map of joints.
///
/// # Panics
/// If `clip` is not a clip of the rig of `from`.
pub fn retarget_with(clip: &Clip, from: &Object, to: &Object, map: &JointMap) -> Result<Retargeted, RetargetError> {
    let joints_of = |object: &Object| {
        let rig = object.rig.clone().filter(|rig| !rig.joints().is_empty());
        rig.ok_or_else(|| RetargetError::NoJoints(object.name.clone()))
    };
    let (source, target) = (joints_of(from)?, joints_of(to)?);
    assert_eq!(clip.transforms(0).len(), source.joints().len(), "the clip is one of the rig");
    let mut notes = Vec::new();
    let places = match_joints(clip, source.joints(), target.joints(), map, &to.name, &mut notes)?;
    let all: Option<Vec<usize>> = places.iter().copied().collect();
    let transforms: Vec<DAffine3> = match all {
        Some(all) if same_shape(&from.mesh, &to.mesh) || same_binds(&source, &target, &all) => {
            with_deformations(clip, &source, &target, &all)
        }
        _ => Skeletons::new(&source, &target, &places).transfer(clip),
    };
    let shapes = match_shapes(clip, &source, &target, &to.name, &mut notes);
    let weights = (0..clip.frame_count()).flat_map(|frame| {
        let weights = clip.shape_weights(frame);
        shapes.iter().map(move |place| place.map_or(0.0, |place| weights[place]))
    });
    let moved = Clip::new(&target, clip.name(), clip.frame_rate_hz(), transforms, weights.collect())?;
    Ok(Retargeted { clip: moved.starting_at(clip.start_seconds()), notes, places })
}

/// Transforms that deform the mesh as those of the source do.
fn with_deformations(clip: &Clip, source: &Rig, target: &Rig, places: &[usize]) -> Vec<DAffine3> {
    let turn = |(joint, &place): (&Joint, &usize)| {
        let other = &source.joints()[place];
        let turn = other.inverse_bind * joint.bind();
        (other.inverse_bind != joint.inverse_bind && turn.is_finite()).then_some(turn)
    };
    let turns: Vec<Option<DAffine3>> = target.joints().iter().zip(places).map(turn).collect();
    let frame = |frame: usize| {
        let moved = move |(&place, turn): (&usize, &Option<DAffine3>)| {
            let transform = clip.transforms(frame)[place];
            turn.map_or(transform, |turn| transform * turn)
        };
        places.iter().zip(&turns).map(moved)
    };
    (0..clip.frame_count()).flat_map(frame).collect()
}

fn same_binds(source: &Rig, target: &Rig, places: &[usize]) -> bool {
    let size = target.joints().iter().map(|joint| joint.bind().translation.length()).fold(1e-9, f64::max);
    target.joints().iter().zip(places).all(|(joint, &place)| {
        let (a, b) = (joint.bind(), source.joints()[place].bind());
        let linear = (a.matrix3 - b.matrix3).to_cols_array().iter().all(|x| x.abs() <= SAME_BIND);
        linear && a.translation.distance(b.translation) <= SAME_BIND * size
    })
}

/// Bind poses of two skeletons and the relation between them.
struct Skeletons<'a> {
    target: &'a Rig,
    places: &'a [Option<usize>],
    /// Bind rotations of the source, inverted.
    from_rotations: Vec<DQuat>,
    from: Arc<Vec<DAffine3>>,
    to: Arc<Vec<DAffine3>>,
    /// Size of the target relative to the source.
    scale: f64,
    /// Rotation from the source to the target.
    turn: DQuat,
}

impl<'a> Skeletons<'a> {
    fn new(source: &Rig, target: &'a Rig, places: &'a [Option<usize>]) -> Self {
        let (RigPose { transforms: from, .. }, RigPose { transforms: to, .. }) =
            (source.bind_pose(), target.bind_pose());
        let pairs: Vec<(DVec3, DVec3)> = places
            .iter()
            .enumerate()
            .filter_map(|(joint, place)| Some((from[(*place)?].translation, to[joint].translation)))
            .collect();
        let count = pairs.len().max(1) as f64;
        let sum = pairs.iter().fold((DVec3::ZERO, DVec3::ZERO), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let (a, b) = (sum.0 / count, sum.1 / count);
        let (mut spread_from, mut spread_to, mut covariance) = (0.0, 0.0, DMat3::ZERO);
        for (p, q) in &pairs {
            let (p, q) = (*p - a, *q - b);
            spread_from += p.length_squared();
            spread_to += q.length_squared();
            covariance += DMat3::from_cols(q * p.x, q * p.y, q * p.z);
        }
        let scale = (spread_to / spread_from).sqrt();
        let from_rotations = from.iter().map(|bind| rotation(*bind).inverse()).collect();
        let scale = if scale.is_finite() && scale > 0.0 { scale } else { 1.0 };
        Self { target, places, from_rotations, from, to, scale, turn: nearest_turn(covariance) }
    }

    fn transfer(&self, clip: &Clip) -> Vec<DAffine3> {
        let order = self.target.parents_first();
        let topmost: Vec<bool> = (0..self.places.len()).map(|joint| self.is_topmost(joint)).collect();
        let mut all = Vec::with_capacity(clip.frame_count() * self.places.len());
        for frame in 0..clip.frame_count() {
            let mut posed = vec![DAffine3::IDENTITY; self.places.len()];
            for &joint in &order {
                let bind = self.to[joint];
                let hung = match self.target.joints()[joint].parent {
                    Some(parent) => posed[parent] * (self.to[parent].inverse() * bind),
                    None => bind,
                };
                posed[joint] = match self.places[joint] {
                    Some(place) => self.posed(clip.transforms(frame)[place], place, bind, hung, topmost[joint]),
                    None => hung,
                };
            }
            all.extend(posed);
        }
        all
    }

    fn posed(&self, from: DAffine3, place: usize, bind: DAffine3, hung: DAffine3, topmost: bool) -> DAffine3 {
        let turned = self.turn * rotation(from) * self.from_rotations[place] * self.turn.inverse();
        let translation = if topmost {
            bind.translation + self.scale * (self.turn * (from.translation - self.from[place].translation))
        } else {
            hung.translation
        };
        DAffine3::from_mat3_translation(DMat3::from_quat(turned) * bind.matrix3, translation)
    }

    /// Returns whether no joint above has a match, and the joint carries most of those that have. A hand that alone has a
    /// match would be torn off by the translation of a body.
    fn is_topmost(&self, joint: usize) -> bool {
        let above = |joint: usize| self.target.joints()[joint].parent;
        let path = |joint: usize| std::iter::successors(Some(joint), move |&joint| above(joint));
        let matched = || (0..self.places.len()).filter(|&joint| self.places[joint].is_some());
        let carried = matched().filter(|&other| path(other).any(|above| above == joint)).count();
        path(joint).skip(1).all(|joint| self.places[joint].is_none()) && 2 * carried >= matched().count()
    }
}

fn rotation(transform: DAffine3) -> DQuat {
    let rotation = DQuat::from_mat3(&polar_rotation(transform.matrix3)).normalize();
    if rotation.is_finite() { rotation } else { DQuat::IDENTITY }
}

/// The rotation along the axes that is nearest to the one that a covariance shows: skeletons face another way, or not.
fn nearest_turn(covariance: DMat3) -> DQuat {
    let mut svd = svd3(covariance);
    if svd.sigma.y <= 1e-6 * svd.sigma.x {
        return DQuat::IDENTITY;
    }
    if svd.u.determinant() * svd.v.determinant() < 0.0 {
        svd.u.z_axis = -svd.u.z_axis;
    }
    let rotation = svd.u * svd.v.transpose();
    let axes = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z];
    let mut best = (f64::NEG_INFINITY, DMat3::IDENTITY);
    for x in axes {
        for y in axes.into_iter().filter(|y| x.dot(*y) == 0.0) {
            let turn = DMat3::from_cols(x, y, x.cross(y));
            let overlap: f64 = (0..3).map(|axis| turn.col(axis).dot(rotation.col(axis))).sum();
            // Bind poses differ by some degrees; only a clear difference is another facing.
            let overlap = if turn == DMat3::IDENTITY { overlap + 0.5 } else { overlap };
            if overlap > best.0 {
                best = (overlap, turn);
            }
        }
    }
    DQuat::from_mat3(&best.1)
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
    let stored = rig.stored_pose().map(|pose| RigPose {
        transforms: Arc::new(pose.transforms.iter().map(|transform| world * *transform * shrink).collect()),
        shape_weights: pose.shape_weights.clone(),
    });
    let mut rig = Rig::new(&mesh, joints, rig.weights().clone(), rig.shapes().iter().map(shape).collect())?;
    if let Some(stored) = stored {
        rig = rig.with_stored_pose(stored)?;
    }
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
    if from == to { DQuat::IDENTITY } else { DQuat::from_rotation_arc(axis(from), axis(to)) }
}

/// For each joint of `to`, its joint of `from`.
fn match_joints(
    clip: &Clip,
    from: &[Joint],
    to: &[Joint],
    map: &JointMap,
    object: &str,
    notes: &mut Vec<Note>,
) -> Result<Vec<Option<usize>>, RetargetError> {
    let names = |joints: &[Joint]| joints.iter().map(|joint| joint.name.clone()).collect::<Vec<_>>();
    let mut places = mapped(from, to, map)?;
    if map.is_empty() && names(from) == names(to) {
        return Ok((0..to.len()).map(Some).collect());
    }
    match_names(from, to, &mut places);
    if places.iter().all(Option::is_none) {
        let same_count = from.len() == to.len();
        places = if same_count { (0..to.len()).map(Some).collect() } else { by_hierarchy(from, to) };
        if places.iter().all(Option::is_none) {
            let (clip, joints, moved) = (clip.name().to_owned(), names(to), names(from));
            return Err(RetargetError::NothingMaps { clip, joints, moved });
        }
        let how = if same_count { "order" } else { "hierarchy" };
        let message = format!("the joints of the clip '{}' have other names; they are matched by {how}", clip.name());
        notes.push(Note::at(object, message));
    }
    let missing: Vec<String> =
        to.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|(joint, _)| joint.name.clone()).collect();
    if !missing.is_empty() {
        let message = format!(
            "the clip '{}' does not move {} of {} joints; they stay at rest: {}",
            clip.name(),
            missing.len(),
            to.len(),
            listed("", &missing).trim_start_matches(": ")
        );
        notes.push(Note::at(object, message));
    }
    Ok(places)
}

/// The joints that the map names.
fn mapped(from: &[Joint], to: &[Joint], map: &JointMap) -> Result<Vec<Option<usize>>, RetargetError> {
    let find = |joints: &[Joint], name: &str| {
        let exact = joints.iter().position(|joint| joint.name == name);
        exact.or_else(|| joints.iter().position(|joint| plain(&joint.name) == plain(name)))
    };
    let (mut places, mut unknown) = (vec![None; to.len()], Vec::new());
    for (target, source) in map {
        match (find(to, target), find(from, source)) {
            (Some(target), Some(source)) => places[target] = Some(source),
            (None, _) => unknown.push(target.clone()),
            (_, None) => unknown.push(source.clone()),
        }
    }
    if unknown.is_empty() { Ok(places) } else { Err(RetargetError::UnknownInMap { names: unknown }) }
}

/// Matches joints without a match by names that only one joint of each rig has, the most literal comparison first.
fn match_names(from: &[Joint], to: &[Joint], places: &mut [Option<usize>]) {
    let keys = |joints: &[Joint]| -> [Vec<String>; 4] {
        let plain: Vec<String> = joints.iter().map(|joint| plain(&joint.name)).collect();
        let prefix = common_prefix(&plain);
        let bare: Vec<String> = plain.iter().map(|name| name[prefix..].to_owned()).collect();
        let parts = joints.iter().zip(&bare).map(|(joint, bare)| body_part(&joint.name, bare)).collect();
        [joints.iter().map(|joint| joint.name.clone()).collect(), plain, bare, parts]
    };
    let mut used: Vec<bool> = vec![false; from.len()];
    places.iter().flatten().for_each(|&place| used[place] = true);
    for (from, to) in keys(from).iter().zip(&keys(to)) {
        let unique = |names: &[String]| {
            let mut places: BTreeMap<String, Option<usize>> = BTreeMap::new();
            for (place, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                places.entry(name.clone()).and_modify(|known| *known = None).or_insert(Some(place));
            }
            places
        };
        let (sources, targets) = (unique(from), unique(to));
        for (name, target) in targets {
            let found = (target, sources.get(&name).copied().flatten());
            if let (Some(target), Some(source)) = found
                && places[target].is_none()
                && !used[source]
            {
                places[target] = Some(source);
                used[source] = true;
            }
        }
    }
}

/// A name without namespaces, case and punctuation.
fn plain(name: &str) -> String {
    let own = name.rsplit([':', '|', '/']).next().unwrap_or(name);
    own.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Length of the beginning that all names have in common, in bytes; 0 if it is not a prefix that a tool adds.
fn common_prefix(names: &[String]) -> usize {
    const MIN_NAMES: usize = 4;
    let Some(first) = names.first().filter(|_| names.len() >= MIN_NAMES) else { return 0 };
    let common = |name: &String| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let length = names.iter().map(common).min().unwrap_or(0);
    let is_whole = names.iter().all(|name| name.len() > length && name.is_char_boundary(length));
    if is_whole { length } else { 0 }
}

/// The part of a body that a joint is, by the usual names; empty if it is none.
fn body_part(name: &str, bare: &str) -> String {
    const PARTS: [(&str, &[&str]); 15] = [
        ("hips", &["hips", "hip", "pelvis"]),
        ("spine", &["spine", "spine01", "abdomen", "lowerback"]),
        ("chest", &["spine1", "spine2", "spine02", "chest"]),
        ("upperchest", &["spine3", "spine03", "upperchest"]),
        ("neck", &["neck", "neck01"]),
        ("head", &["head"]),
        ("shoulder", &["shoulder", "clavicle", "collar"]),
        ("upperarm", &["arm", "upperarm", "uparm", "shldr"]),
        ("lowerarm", &["forearm", "lowerarm", "elbow"]),
        ("hand", &["hand", "wrist"]),
        ("upperleg", &["upleg", "thigh", "upperleg"]),
        ("lowerleg", &["leg", "calf", "shin", "lowerleg", "knee"]),
        ("foot", &["foot", "ankle"]),
        ("toe", &["toebase", "toe", "toes", "ball"]),
        ("root", &["root", "armature"]),
    ];
    let last = name.rsplit([':', '|', '/']).next().unwrap_or(name).to_lowercase();
    let tokens: Vec<&str> = last.split(|letter: char| !letter.is_alphanumeric()).collect();
    let side = if bare.contains("left") || tokens.contains(&"l") {
        "left"
    } else if bare.contains("right") || tokens.contains(&"r") {
        "right"
    } else if poser(&last).is_some() {
        if last.starts_with('l') { "left" } else { "right" }
    } else {
        ""
    };
    let mut own = bare.replace("left", "").replace("right", "");
    if let Some(letter) = tokens.iter().find(|token| matches!(**token, "l" | "r")) {
        own = own.strip_prefix(letter).or(own.strip_suffix(letter)).unwrap_or(&own).to_owned();
    }
    if let Some(part) = poser(&last) {
        part.clone_into(&mut own);
    }
    let part = PARTS.iter().find(|(_, names)| names.contains(&own.as_str()));
    part.map_or_else(String::new, |(part, _)| format!("{side} {part}"))
}

/// The part in the names of Poser, `rShldr` or `lThigh`, which begin with the side.
fn poser(name: &str) -> Option<&str> {
    const PARTS: [&str; 8] = ["collar", "shldr", "forearm", "hand", "thigh", "shin", "foot", "toe"];
    name.strip_prefix(['l', 'r']).filter(|part| PARTS.contains(part))
}

/// Fewest joints, and fraction of the smaller skeleton, that must have a match by hierarchy.
const MIN_MATCHES: usize = 3;
const MIN_MATCHED_FRACTION: f64 = 0.5;

/// Matches the trees from their largest roots down: children by the directions of their bones. No joint has a match if
/// most have none.
fn by_hierarchy(from: &[Joint], to: &[Joint]) -> Vec<Option<usize>> {
    let mut places = vec![None; to.len()];
    let children = |joints: &[Joint]| {
        let mut children = vec![Vec::new(); joints.len()];
        for (joint, parent) in joints.iter().enumerate().filter_map(|(joint, it)| Some((joint, it.parent?))) {
            children[parent].push(joint);
        }
        children
    };
    let (below_from, below_to) = (children(from), children(to));
    let size = |root: usize, below: &[Vec<usize>]| {
        let (mut stack, mut count) = (vec![root], 0usize);
        while let Some(joint) = stack.pop() {
            count += 1;
            stack.extend(&below[joint]);
        }
        count
    };
    let root = |joints: &[Joint], below: &[Vec<usize>]| {
        let roots = (0..joints.len()).filter(|&joint| joints[joint].parent.is_none());
        roots.max_by_key(|&joint| (size(joint, below), std::cmp::Reverse(joint)))
    };
    let (Some(first), Some(second)) = (root(from, &below_from), root(to, &below_to)) else { return places };
    let bone = |joints: &[Joint], joint: usize, child: usize| {
        (joints[child].bind().translation - joints[joint].bind().translation).normalize_or_zero()
    };
    let mut stack = vec![(first, second)];
    while let Some((source, target)) = stack.pop() {
        places[target] = Some(source);
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for &a in &below_from[source] {
            for &b in &below_to[target] {
                pairs.push((bone(from, source, a).dot(bone(to, target, b)), a, b));
            }
        }
        pairs.retain(|(cosine, ..)| *cosine >= SAME_DIRECTION);
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let (mut taken_from, mut taken_to) = (Vec::new(), Vec::new());
        for (_, a, b) in pairs {
            if !taken_from.contains(&a) && !taken_to.contains(&b) {
                taken_from.push(a);
                taken_to.push(b);
                stack.push((a, b));
            }
        }
    }
    let matches = places.iter().flatten().count();
    let needed = (MIN_MATCHED_FRACTION * from.len().min(to.len()) as f64).max(MIN_MATCHES as f64);
    if (matches as f64) < needed { vec![None; to.len()] } else { places }
}

/// Sliding of the feet over the ground.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct FootSlide {
    /// Mean horizontal speed of the target's feet while those of the source are on the ground, in units per second.
    pub speed: f64,
    /// The same of the source, scaled to the size of the target.
    pub source_speed: f64,
    /// Number of steps between frames in which a foot is on the ground.
    pub steps: usize,
}

/// Measures how much the feet of `to` slide in a retargeted clip while those of `from` are on the ground; `None`
/// without feet or steps. Feet are the matched joints with usual names of feet and toes.
pub fn foot_slide(clip: &Clip, from: &Object, moved: &Retargeted, to: &Object, up: UpAxis) -> Option<FootSlide> {
    let (source, target) = (from.rig.as_ref()?, to.rig.as_ref()?);
    let up = axis(up);
    let prefix = common_prefix(&target.joints().iter().map(|joint| plain(&joint.name)).collect::<Vec<_>>());
    let is_foot = |joint: &Joint| {
        let part = body_part(&joint.name, &plain(&joint.name)[prefix..]);
        part.ends_with("foot") || part.ends_with("toe")
    };
    let feet = target.joints().iter().enumerate().filter(|(_, joint)| is_foot(joint));
    let feet: Vec<(usize, usize)> = feet.filter_map(|(joint, _)| Some((joint, moved.places[joint]?))).collect();
    let heights = source.joints().iter().map(|joint| joint.bind().translation.dot(up));
    let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), h| (low.min(h), high.max(h)));
    let scale = Skeletons::new(source, target, &moved.places).scale;
    let (height, rate) = (high - low, clip.frame_rate_hz());
    let at = |clip: &Clip, frame: usize, joint: usize| clip.transforms(frame)[joint].translation;
    let speed = |clip: &Clip, frame: usize, joint: usize| {
        let step = at(clip, frame + 1, joint) - at(clip, frame, joint);
        (step - up * step.dot(up)).length() * rate
    };
    let (mut sum, mut source_sum, mut steps) = (0.0, 0.0, 0);
    for (joint, place) in feet {
        let lowest = (0..clip.frame_count()).map(|frame| at(clip, frame, place).dot(up)).fold(f64::INFINITY, f64::min);
        for frame in 0..clip.frame_count() - 1 {
            let own = speed(clip, frame, place);
            let is_low = at(clip, frame, place).dot(up) - lowest <= GROUND_HEIGHT * height;
            if is_low && own <= GROUND_SPEED * height {
                sum += speed(&moved.clip, frame, joint);
                source_sum += own * scale;
                steps += 1;
            }
        }
    }
    let mean = |sum: f64| sum / steps as f64;
    (steps > 0).then(|| FootSlide { speed: mean(sum), source_speed: mean(source_sum), steps })
}

fn axis(axis: UpAxis) -> DVec3 {
    match axis {
        UpAxis::X => DVec3::X,
        UpAxis::Y => DVec3::Y,
        UpAxis::Z => DVec3::Z,
    }
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
        let message = format!("the clip '{}' does not move some blend shapes; they stay at 0", clip.name());
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
    fn joints_of_another_shape_are_moved_from_where_they_are() {
        let from = object(&["a"], &[DVec3::ZERO], &POINTS);
        let to = object(&["a"], &[DVec3::X], &[Vec3::X, Vec3::Y, Vec3::Z]);
        assert_eq!(lifted(&from, &to).0[0], Vec3::new(1.0, 0.0, 1.0));
    }

    /// A figure of `size` that faces +Z, or −Z if `turned`, with names from `name`; its clip bends the left arm and
    /// moves forwards by half its size. Bind rotations are those of `roll`.
    fn figure(size: f64, turned: bool, roll: f64, name: impl Fn(&str) -> String) -> Object {
        let parts = [
            ("Hips", None, [0.0, 1.0, 0.0]),
            ("Spine", Some(0), [0.0, 1.3, 0.0]),
            ("LeftArm", Some(1), [0.3, 1.5, 0.0]),
            ("LeftForeArm", Some(2), [0.6, 1.5, 0.0]),
            ("LeftUpLeg", Some(0), [0.1, 0.9, 0.0]),
            ("LeftFoot", Some(4), [0.1, 0.1, 0.0]),
            ("LeftToeBase", Some(5), [0.1, 0.0, 0.2]),
            ("RightUpLeg", Some(0), [-0.1, 0.9, 0.0]),
        ];
        let facing = if turned { DQuat::from_rotation_y(std::f64::consts::PI) } else { DQuat::IDENTITY };
        let at = |position: [f64; 3]| facing * DVec3::from(position) * size;
        let bind =
            |k: usize| DAffine3::from_rotation_translation(DQuat::from_rotation_x(roll * k as f64), at(parts[k].2));
        let joints: Vec<Joint> =
            parts.iter().enumerate().map(|(k, (part, parent, _))| Joint::at(name(part), *parent, bind(k))).collect();
        let mesh =
            TriMesh::new(parts.iter().map(|(_, _, position)| at(*position).as_vec3()).collect(), vec![]).unwrap();
        let rows = (0..parts.len()).map(|k| [(k as u32, 1.0)]);
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), vec![]).unwrap();
        let frame = |frame: usize| {
            let walk = DAffine3::from_translation(facing * DVec3::Z * 0.25 * size * frame as f64);
            let elbow = at(parts[2].2);
            let bend = DQuat::from_axis_angle(facing * DVec3::Z, 0.4 * frame as f64);
            let swing =
                DAffine3::from_translation(elbow) * DAffine3::from_quat(bend) * DAffine3::from_translation(-elbow);
            (0..parts.len()).map(move |k| walk * (if k == 2 || k == 3 { swing } else { DAffine3::IDENTITY }) * bind(k))
        };
        let clip = Clip::new(&rig, "walk", 30.0, (0..3).flat_map(frame).collect(), vec![]).unwrap();
        Object::of_rig("figure", mesh.into(), rig, vec![clip])
    }

    fn assert_walks(from: &Object, to: &Object) {
        let moved = retarget_with(&from.clips[0], from, to, &JointMap::new()).unwrap();
        for frame in 0..3 {
            let expected = to.clips[0].transforms(frame).iter().zip(to.rig.as_ref().unwrap().joints());
            for (found, (expected, joint)) in moved.clip.transforms(frame).iter().zip(expected) {
                assert!(found.abs_diff_eq(*expected, 1e-9), "{} in frame {frame}: {found} {expected}", joint.name);
            }
        }
        let slide = foot_slide(&from.clips[0], from, &moved, to, UpAxis::Y);
        assert!(slide.is_none_or(|slide| (slide.speed - slide.source_speed).abs() < 1e-9), "{slide:?}");
    }

    #[test]
    fn rotations_are_carried_to_other_proportions_bind_rotations_and_facings() {
        let plain = figure(1.0, false, 0.0, ToOwned::to_owned);
        let mixamo = |part: &str| format!("mixamorig:{part}");
        assert_walks(&plain, &figure(1.8, false, 0.3, mixamo));
        assert_walks(&figure(0.01, false, 0.2, |part| format!("rig_01|bip_{part}")), &plain);
        assert_walks(&plain, &figure(1.8, true, 0.3, mixamo));
        let blender = |part: &str| match part {
            "Hips" => "pelvis".to_owned(),
            "LeftArm" => "upper_arm.L".to_owned(),
            "LeftForeArm" => "forearm.L".to_owned(),
            "LeftUpLeg" => "thigh.L".to_owned(),
            "LeftFoot" => "foot.L".to_owned(),
            "LeftToeBase" => "toe.L".to_owned(),
            "RightUpLeg" => "thigh.R".to_owned(),
            part => part.to_lowercase(),
        };
        assert_walks(&plain, &figure(1.8, false, 0.3, blender));
    }

    #[test]
    fn joints_that_the_motion_lacks_stay_at_rest_with_a_note() {
        let from = figure(1.0, false, 0.0, |part| if part == "LeftForeArm" { "tail" } else { part }.to_owned());
        let to = figure(2.0, false, 0.0, ToOwned::to_owned);
        let moved = retarget_with(&from.clips[0], &from, &to, &JointMap::new()).unwrap();
        assert_eq!(moved.places.iter().filter(|place| place.is_none()).count(), 1);
        assert!(moved.notes[0].message.contains("1 of 8 joints; they stay at rest: 'LeftForeArm'"));
        // The elbow hangs from the arm, which turns as a whole in this motion.
        assert!(moved.clip.transforms(2)[3].abs_diff_eq(to.clips[0].transforms(2)[3], 1e-9));
        let map = joint_map_from_toml("LeftForeArm = \"tail\"").unwrap();
        assert!(retarget_with(&from.clips[0], &from, &to, &map).unwrap().notes.is_empty());
        let map = joint_map_from_toml("LeftForeArm = \"wing\"").unwrap();
        assert!(matches!(
            retarget_with(&from.clips[0], &from, &to, &map).unwrap_err(),
            RetargetError::UnknownInMap { names } if names == ["wing"]
        ));
        assert!(matches!(joint_map_from_toml("a = 1"), Err(RetargetError::Map(_))));
    }

    #[test]
    fn skeletons_without_common_names_are_matched_by_hierarchy() {
        let number = std::cell::Cell::new(0);
        let counted = |_: &str| {
            number.set(number.get() + 1);
            format!("bone{}", number.get())
        };
        let from = figure(1.0, false, 0.0, counted);
        let mut to = figure(1.5, false, 0.0, |part| format!("x{part}"));
        // One joint less, so that the order does not match.
        let rig = to.rig.clone().unwrap();
        let joints = rig.joints()[..7].to_vec();
        let rows = (0..to.mesh.point_count()).map(|k| [(k.min(6) as u32, 1.0)]);
        to.rig = Some(Arc::new(Rig::new(&to.mesh, joints, SkinWeights::from_rows(rows), vec![]).unwrap()));
        let moved = retarget_with(&from.clips[0], &from, &to, &JointMap::new()).unwrap();
        assert_eq!(moved.places, (0..7).map(Some).collect::<Vec<_>>());
        assert!(moved.notes[0].message.ends_with("by hierarchy"));
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
    fn rejects_a_clip_of_which_nothing_maps_and_names_the_joints() {
        let from = object(&["x"], &[DVec3::ZERO], &POINTS);
        let mut to = object(&["a", "b", "c"], &[DVec3::ZERO; 3], &POINTS);
        to.name = "other".into();
        let error = retarget(&from.clips[0], &from, &to).unwrap_err();
        assert_eq!(error.to_string(), "the clip 'lift' moves none of the 3 joints");
        assert_eq!(error.details(), ["joints of the rig: 'a', 'b', 'c'", "joints of the clip: 'x'"]);
        let bare = Object { rig: None, ..from.clone() };
        assert_eq!(retarget(&from.clips[0], &bare, &to).unwrap_err(), RetargetError::NoJoints("thing".into()));
    }
}
