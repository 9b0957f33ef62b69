//! The facts about a file; the fields' names are the keys of the JSON form, described in `docs/cli.md`.

use dermis::math::progress::Progress;
use dermis::mesh::adjacency::Edges;
use dermis::mesh::boundary::{boundary_edges, is_closed};
use dermis::mesh::problems::{Problem, of_object};
use dermis::mesh::shells::shells;
use dermis::mesh::volume::volume;
use dermis::mesh::{Object, Rig, Scene, SequenceError, SkinWeights, TriMesh, Units, UpAxis};
use serde::Serialize;

use crate::input::format_name;
use crate::motion::MotionFacts;
use crate::notes::NoteFacts;

/// All that is said about a file.
#[derive(Debug, Serialize)]
pub(super) struct FileFacts {
    pub(super) file: String,
    pub(super) format: &'static str,
    pub(super) units: UnitFacts,
    pub(super) objects: Vec<ObjectFacts>,
    pub(super) notes: Vec<NoteFacts>,
    /// How long the inspection took.
    pub(super) seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct UnitFacts {
    pub(super) metres_per_unit: Option<f64>,
    pub(super) up_axis: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(super) struct ObjectFacts {
    pub(super) name: String,
    pub(super) points: usize,
    pub(super) vertices: usize,
    pub(super) triangles: usize,
    pub(super) polygons: usize,
    pub(super) shells: usize,
    pub(super) closed: bool,
    pub(super) boundary_edges: usize,
    /// Of a closed mesh.
    pub(super) volume: Option<f64>,
    pub(super) bounds: BoundFacts,
    pub(super) frames: Option<usize>,
    pub(super) fps: Option<f64>,
    pub(super) seconds: Option<f64>,
    pub(super) joints: usize,
    pub(super) max_influences: usize,
    /// How many points have 0, 1, 2, … influences; empty without joints.
    pub(super) influence_histogram: Vec<usize>,
    pub(super) morph_targets: Vec<String>,
    pub(super) clips: Vec<MotionFacts>,
    pub(super) materials: Vec<String>,
    pub(super) uv_sets: usize,
    pub(super) tetrahedra: usize,
    pub(super) attributes: Vec<String>,
    /// What the layers on top of the motion call themselves.
    pub(super) deformers: Vec<String>,
    pub(super) problems: Vec<ProblemFacts>,
}

#[derive(Debug, Serialize)]
pub(super) struct BoundFacts {
    pub(super) min: [f32; 3],
    pub(super) max: [f32; 3],
}

#[derive(Debug, Serialize)]
pub(super) struct ProblemFacts {
    pub(super) kind: &'static str,
    pub(super) count: usize,
    pub(super) message: String,
    pub(super) hint: &'static str,
    /// Usually meant so, and only good to know.
    pub(super) harmless: bool,
}

impl FileFacts {
    /// Finds the facts; frames are read one after the other, watched by `progress`.
    pub(super) fn of(file: &str, scene: &Scene, progress: &dyn Progress) -> Result<Self, SequenceError> {
        let objects: Result<_, _> = scene.objects.iter().map(|object| ObjectFacts::of(object, progress)).collect();
        Ok(Self {
            file: file.to_owned(),
            format: format_name(file),
            units: UnitFacts::of(scene.units),
            objects: objects?,
            notes: scene.notes.iter().map(NoteFacts::from).collect(),
            seconds: 0.0,
        })
    }
}

impl UnitFacts {
    fn of(units: Units) -> Self {
        let letter = |axis| match axis {
            UpAxis::X => "x",
            UpAxis::Y => "y",
            UpAxis::Z => "z",
        };
        Self { metres_per_unit: units.metres_per_unit, up_axis: units.up_axis.map(letter) }
    }
}

impl ObjectFacts {
    fn of(object: &Object, progress: &dyn Progress) -> Result<Self, SequenceError> {
        let mesh = &object.mesh;
        let edges = Edges::new(mesh.point_count(), mesh.triangles());
        let closed = is_closed(&edges);
        let motion = object.sequence.as_ref().map(MotionFacts::of_sequence);
        let weights = object.rig.as_deref().filter(|rig| !rig.joints().is_empty()).map(Rig::weights);
        let influence_histogram = weights.map(influence_histogram).unwrap_or_default();
        Ok(Self {
            name: object.name.clone(),
            points: mesh.point_count(),
            vertices: mesh.vertex_count(),
            triangles: mesh.triangle_count(),
            polygons: polygon_count(mesh),
            shells: shells(mesh.point_count(), mesh.triangles()).count,
            closed,
            boundary_edges: boundary_edges(&edges).len(),
            volume: closed.then(|| volume(mesh.points(), mesh.triangles())),
            bounds: BoundFacts::of(mesh),
            frames: motion.as_ref().map(|motion| motion.frames),
            fps: motion.as_ref().map(|motion| motion.fps),
            seconds: motion.as_ref().map(|motion| motion.seconds),
            joints: object.rig.as_ref().map_or(0, |rig| rig.joints().len()),
            max_influences: influence_histogram.len().saturating_sub(1),
            influence_histogram,
            morph_targets: object.rig.as_deref().map(shape_names).unwrap_or_default(),
            clips: MotionFacts::of_clips(object),
            materials: material_names(mesh),
            uv_sets: mesh.layout().map_or(0, |layout| layout.uvs.len()),
            tetrahedra: object.tets.as_ref().map_or(0, |tets| tets.tetrahedra().len()),
            attributes: object.attributes.keys().cloned().collect(),
            deformers: object.deformers.iter().map(|layer| layer.kind().to_owned()).collect(),
            problems: of_object(object, progress)?.into_iter().map(ProblemFacts::from).collect(),
        })
    }
}

fn polygon_count(mesh: &TriMesh) -> usize {
    let polygons = mesh.layout().and_then(|layout| layout.polygons.as_ref());
    polygons.map_or(mesh.triangle_count(), |polygons| polygons.sizes.len())
}

fn influence_histogram(weights: &SkinWeights) -> Vec<usize> {
    let mut histogram = vec![0; weights.max_influences() + 1];
    for point in 0..weights.point_count() {
        histogram[weights.influence_count(point)] += 1;
    }
    histogram
}

fn shape_names(rig: &Rig) -> Vec<String> {
    rig.shapes().iter().map(|shape| shape.name.clone()).collect()
}

fn material_names(mesh: &TriMesh) -> Vec<String> {
    let materials = mesh.layout().map(|layout| layout.materials.iter().map(|material| material.name.clone()));
    materials.into_iter().flatten().collect()
}

impl BoundFacts {
    fn of(mesh: &TriMesh) -> Self {
        let (low, high) = mesh.bounds();
        Self { min: low.to_array(), max: high.to_array() }
    }
}

impl From<Problem> for ProblemFacts {
    fn from(problem: Problem) -> Self {
        let Problem { kind, count, message, hint } = problem;
        Self { kind: kind.name(), count, message, hint, harmless: kind.is_harmless() }
    }
}
