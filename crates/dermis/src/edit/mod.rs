//! Edits of the rest pose that all frames and clips follow (SMA, section 7, Figure 15).
//!
//! A displacement map or an edited mesh changes the rest pose; weights, corrections, layers and clips are kept. If the
//! topology changes, new points take them from the nearest location on the old surface. In a pose, the displacement d
//! of a rest point becomes `Σ_b w_b A_b d`, with the linear parts A of the joint transforms. With convex weights, it
//! therefore grows by at most the largest stretch of a joint. Negative weights have no such bound and are reported.

mod anchor;
mod displace;
mod layers;
mod map;
mod reference;
mod transfer;

use std::sync::Arc;

use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::glam::{DMat3, DVec3};
use dermis_mesh::{Note, Object, Rig, Scene, TriMesh};
use serde::Serialize;

use self::anchor::Anchor;
use self::displace::displaced;
use self::reference::Reference;
use self::transfer::{Transferred, transferred};
use crate::error::Result;
use crate::files::ToScene;
use crate::names::{self, Found};
use crate::select::SelectError;

pub use self::map::DisplacementMap;
pub use crate::error::EditError;

/// Maximum number of frames in which the growth of displacements is measured.
const MEASURED_FRAMES: usize = 48;
/// Value below which a negative weight is not considered a rounding error.
const NEGATIVE_WEIGHT: f32 = -1e-6;
/// Length, relative to the diagonal, above which a point counts as displaced, since text formats round positions.
const MOVED: f64 = 1e-5;

/// A change of the rest pose.
#[derive(Debug, Clone, PartialEq)]
pub enum RestEdit {
    /// Displacements along the normals.
    Map(DisplacementMap),
    /// The edited mesh. If it has the topology of the old mesh, its points are displaced; otherwise it replaces the old
    /// mesh.
    Mesh(Arc<TriMesh>),
}

/// Options of [`edit`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditOptions {
    /// Mesh to edit: its name, a unique part of its name, or a pattern with `*` and `?` for several. `None` selects all
    /// meshes with texture coordinates for a map; for an edited mesh, the only mesh or the one with the same topology.
    pub mesh: Option<String>,
}

/// A scene with an edited rest pose.
#[derive(Debug, Clone)]
pub struct EditedScene {
    /// The scene.
    pub scene: Scene,
    /// Measures of each edited object.
    pub objects: Vec<EditMeasures>,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// Size of an edit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EditMeasures {
    /// Name of the object.
    pub name: String,
    /// Number of points before the edit.
    pub old_points: usize,
    /// Number of points.
    pub points: usize,
    /// Number of triangles before the edit.
    pub old_triangles: usize,
    /// Number of triangles.
    pub triangles: usize,
    /// Number of points that are not on the old surface.
    pub displaced_points: usize,
    /// Largest displacement from the old surface, in the units of the asset.
    pub max_displacement: f64,
    /// Largest ratio of the length of a displacement in a frame to that in the rest pose.
    pub max_growth: f64,
}

impl EditMeasures {
    fn has_no_effect(&self) -> bool {
        self.displaced_points == 0 && (self.points, self.triangles) == (self.old_points, self.old_triangles)
    }
}

impl ToScene for EditedScene {
    fn to_scene(&self) -> Scene {
        self.scene.clone()
    }
}

/// Edits the rest pose of a scene.
///
/// ```no_run
/// use dermis::edit::{EditOptions, RestEdit};
///
/// let edited = dermis::read("edited.obj")?.objects.remove(0).mesh;
/// let result = dermis::edit(&dermis::read("hero.glb")?, &RestEdit::Mesh(edited), &EditOptions::default())?;
/// dermis::write("out.glb", &result)?;
/// # dermis::Result::Ok(())
/// ```
pub fn edit(input: &(impl ToScene + ?Sized), change: &RestEdit, options: &EditOptions) -> Result<EditedScene> {
    edit_with(input, change, options, &NoProgress)
}

/// [`edit`] with an observer.
pub fn edit_with(
    input: &(impl ToScene + ?Sized),
    change: &RestEdit,
    options: &EditOptions,
    progress: &dyn Progress,
) -> Result<EditedScene> {
    let mut scene = input.to_scene();
    if scene.objects.iter().all(|object| object.mesh.triangle_count() == 0) {
        return Err(EditError::NoTriangles.into());
    }
    let (mut objects, mut warnings) = (Vec::new(), Vec::new());
    let chosen = match change {
        RestEdit::Map(map) => {
            map.check()?;
            mapped_objects(&scene, options, &mut warnings)?
        }
        RestEdit::Mesh(mesh) => {
            if mesh.triangle_count() == 0 {
                return Err(EditError::NoEditedTriangles.into());
            }
            vec![edited_object(&scene, mesh, options)?]
        }
    };
    for (done, &index) in chosen.iter().enumerate() {
        if progress.report("editing", done, chosen.len()).is_break() {
            return Err(EditError::Stopped.into());
        }
        let object = prepared(&scene.objects[index], &mut warnings)?;
        let Transferred { object: edited, displacements } = match change {
            RestEdit::Map(map) => {
                let displacements = map.displacements(&object, scene.units)?;
                Transferred { object: displaced(&object, &displacements, &mut warnings)?, displacements }
            }
            RestEdit::Mesh(mesh) => with_mesh(&object, mesh, &mut warnings)?,
        };
        let measured = measures(&object, &edited, &displacements);
        if measured.has_no_effect() {
            warnings.push(Note::at(&object.name, "the edit has no effect: it displaces no point".to_owned()));
        }
        objects.push(measured);
        scene.objects[index] = edited;
    }
    Ok(EditedScene { scene, objects, warnings })
}

/// The rest pose of an object, without its rig, for editing in another program.
pub fn rest_shape(input: &(impl ToScene + ?Sized), options: &EditOptions) -> Result<Scene> {
    let scene = input.to_scene();
    let chosen = match &options.mesh {
        Some(wanted) => named(&scene, wanted)?,
        None => (0..scene.objects.len()).collect(),
    };
    let [only] = chosen.as_slice() else {
        let names = chosen.iter().map(|&index| scene.objects[index].name.clone()).collect();
        return Err(EditError::WhichMesh { names }.into());
    };
    let object = &scene.objects[*only];
    let objects = vec![Object::of_mesh(object.name.clone(), Arc::clone(&object.mesh))];
    Ok(Scene { objects, units: scene.units, notes: Vec::new() })
}

/// Indices of the objects that a map displaces.
fn mapped_objects(scene: &Scene, options: &EditOptions, warnings: &mut Vec<Note>) -> Result<Vec<usize>> {
    let has_uvs = |object: &Object| object.mesh.layout().is_some_and(|layout| !layout.uvs.is_empty());
    if let Some(wanted) = &options.mesh {
        return Ok(named(scene, wanted)?);
    }
    let (with, without): (Vec<usize>, Vec<usize>) =
        (0..scene.objects.len()).partition(|&index| has_uvs(&scene.objects[index]));
    if with.is_empty() {
        return Err(EditError::NoUvs("the asset".to_owned()).into());
    }
    for index in without {
        let message = "the mesh has no texture coordinates and is not displaced";
        warnings.push(Note::at(&scene.objects[index].name, message));
    }
    Ok(with)
}

/// Index of the object that `mesh` is an edit of.
fn edited_object(scene: &Scene, mesh: &TriMesh, options: &EditOptions) -> Result<usize> {
    if let Some(wanted) = &options.mesh {
        return match named(scene, wanted)?.as_slice() {
            [only] => Ok(*only),
            several => {
                let names = several.iter().map(|&index| scene.objects[index].name.clone()).collect();
                Err(EditError::from(SelectError::AmbiguousMesh { wanted: wanted.clone(), names }).into())
            }
        };
    }
    let all: Vec<usize> = (0..scene.objects.len()).collect();
    let same: Vec<usize> =
        all.iter().copied().filter(|&index| has_topology(mesh, &scene.objects[index].mesh)).collect();
    match (all.as_slice(), same.as_slice()) {
        ([only], _) | (_, [only]) => Ok(*only),
        _ => {
            let names = scene.objects.iter().map(|object| object.name.clone()).collect();
            Err(EditError::WhichMesh { names }.into())
        }
    }
}

fn named(scene: &Scene, wanted: &str) -> std::result::Result<Vec<usize>, EditError> {
    let names: Vec<String> = scene.objects.iter().map(|object| object.name.clone()).collect();
    let wanted = wanted.to_owned();
    match names::find(&wanted, names.iter().map(String::as_str)) {
        Found::At(places) => Ok(places),
        Found::Ambiguous(places) => {
            let names = places.into_iter().map(|at| names[at].clone()).collect();
            Err(SelectError::AmbiguousMesh { wanted, names }.into())
        }
        Found::Nothing(closest) => Err(SelectError::NoSuchMesh { wanted, names, closest }.into()),
    }
}

/// Returns true if two meshes have the same points and faces, except for positions and the triangulation of polygons.
fn has_topology(mesh: &TriMesh, other: &TriMesh) -> bool {
    if mesh.point_count() != other.point_count() {
        return false;
    }
    if mesh.triangles() == other.triangles() {
        return true;
    }
    let polygons = |mesh: &TriMesh| {
        let layout = mesh.layout()?;
        let polygons = layout.polygons.as_ref()?;
        let corners = polygons.corners.iter().map(|&vertex| layout.vertex_points[vertex as usize]);
        Some((polygons.sizes.clone(), corners.collect::<Vec<u32>>()))
    };
    polygons(mesh).is_some_and(|own| polygons(other) == Some(own))
}

/// `object` without the data that an edit cannot keep; adds notes about it.
fn prepared(object: &Object, warnings: &mut Vec<Note>) -> Result<Object> {
    if object.tets.is_some() {
        return Err(EditError::Tetrahedra(object.name.clone()).into());
    }
    let mut note = |message: String| warnings.push(Note::at(&object.name, message));
    let Some(rig) = &object.rig else {
        if object.sequence.is_some() {
            return Err(EditError::NoSkin(object.name.clone()).into());
        }
        note("the object has no skin: only its shape is edited".to_owned());
        return Ok(object.clone());
    };
    if object.sequence.is_some() {
        if object.clips.is_empty() {
            return Err(EditError::NoSkin(object.name.clone()).into());
        }
        note("the recorded example shapes belong to the unedited mesh and are dropped".to_owned());
    }
    let of_points = |count: usize| if count == 1 { "1 point has".to_owned() } else { format!("{count} points have") };
    let weights = rig.weights();
    let negative = weights.rows().filter_map(|mut row| row.any(|(_, weight)| weight < NEGATIVE_WEIGHT).then_some(()));
    let negative = negative.count();
    if negative > 0 {
        let sum = |row: usize| weights.row(row).map(|(_, weight)| weight.abs()).sum::<f32>();
        let largest = (0..weights.point_count()).map(sum).fold(0.0, f32::max);
        let message = "negative weights: displacements there can grow to";
        note(format!("{} {message} {largest:.2} times the stretch of the joints", of_points(negative)));
    }
    let unmoved = (0..weights.point_count()).filter(|&point| weights.influence_count(point) == 0).count();
    if unmoved > 0 && !rig.joints().is_empty() {
        note(format!("{} no joint: an edit there does not follow the motion", of_points(unmoved)));
    }
    Ok(Object { sequence: None, ..object.clone() })
}

/// `object` with the edited mesh.
fn with_mesh(object: &Object, mesh: &TriMesh, warnings: &mut Vec<Note>) -> Result<Transferred> {
    let is_same = has_topology(mesh, &object.mesh);
    let reference =
        if is_same { Reference::of_points(object, mesh.points()) } else { Reference::of_mesh(object, mesh) };
    if reference.is_stored() {
        warnings
            .push(Note::at(&object.name, "the edited mesh is in the stored pose: the edit is moved to the bind pose"));
    }
    if !is_same {
        return transferred(object, mesh, &reference, warnings);
    }
    let anchors: Vec<Anchor> = (0..mesh.point_count()).map(Anchor::at).collect();
    let displacements = reference.to_bind(object, mesh.points(), &anchors)?;
    let diagonal = f64::from(object.mesh.diagonal()).max(f64::MIN_POSITIVE);
    let mean = displacements.iter().map(|d| d.length()).sum::<f64>() / displacements.len().max(1) as f64 / diagonal;
    if mean > transfer::MAX_MEAN_DISTANCE {
        return Err(EditError::Apart { object: object.name.clone(), percent: 100.0 * mean }.into());
    }
    Ok(Transferred { object: displaced(object, &displacements, warnings)?, displacements })
}

fn measures(old: &Object, edited: &Object, displacements: &[DVec3]) -> EditMeasures {
    let threshold = MOVED * f64::from(old.mesh.diagonal());
    let moved: Vec<usize> = (0..displacements.len()).filter(|&p| displacements[p].length() > threshold).collect();
    EditMeasures {
        name: old.name.clone(),
        old_points: old.mesh.point_count(),
        points: edited.mesh.point_count(),
        old_triangles: old.mesh.triangle_count(),
        triangles: edited.mesh.triangle_count(),
        displaced_points: moved.len(),
        max_displacement: moved.iter().map(|&point| displacements[point].length()).fold(0.0, f64::max),
        max_growth: edited.rig.as_ref().map_or(1.0, |rig| max_growth(edited, rig, &moved, displacements)),
    }
}

/// Largest growth of a displacement in up to [`MEASURED_FRAMES`] frames of the clips; 1 without clips or joints.
fn max_growth(object: &Object, rig: &Rig, moved: &[usize], displacements: &[DVec3]) -> f64 {
    let frames = object.clips.iter().flat_map(|clip| (0..clip.frame_count()).map(move |frame| (clip, frame)));
    let total: usize = object.clips.iter().map(|clip| clip.frame_count()).sum();
    if rig.joints().is_empty() || total == 0 || moved.is_empty() {
        return 1.0;
    }
    let growth = |(clip, frame): (&Arc<dermis_mesh::Clip>, usize)| {
        let joints = rig.joints().iter().zip(clip.transforms(frame));
        let linear: Vec<DMat3> = joints.map(|(joint, pose)| (*pose * joint.inverse_bind).matrix3).collect();
        let of_point = |&point: &usize| {
            let d = displacements[point];
            let row = rig.weights().row(point);
            let posed: DVec3 = row.map(|(joint, weight)| linear[joint as usize] * d * f64::from(weight)).sum();
            posed.length() / d.length()
        };
        moved.iter().map(of_point).fold(0.0, f64::max)
    };
    frames.step_by(total.div_ceil(MEASURED_FRAMES)).map(growth).fold(0.0, f64::max)
}
