//! Facts about a scene: counts, bounds, motions and problems.
//!
//! The names of the fields are the keys of the JSON form, described in `docs/inspect.md`.

use dermis_math::progress::Progress;
use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{boundary_edges, is_closed};
use dermis_mesh::glam::Vec3;
use dermis_mesh::problems::{Problem, of_object};
use dermis_mesh::shells::shells;
use dermis_mesh::tri_mesh::bounds;
use dermis_mesh::volume::volume;
use dermis_mesh::{Clip, MeshSequence, Object, Rig, Scene, SequenceError, SkinWeights, UpAxis};
use serde::Serialize;

/// The facts about a scene.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SceneFacts {
    /// Its units.
    pub units: UnitFacts,
    /// Its objects.
    pub objects: Vec<ObjectFacts>,
}

/// Units; `None` if the file states none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UnitFacts {
    /// The length of a unit in metres.
    pub metres_per_unit: Option<f64>,
    /// `x`, `y` or `z`.
    pub up_axis: Option<&'static str>,
}

/// The facts about an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub struct ObjectFacts {
    pub name: String,
    pub points: usize,
    pub vertices: usize,
    pub triangles: usize,
    pub polygons: usize,
    pub shells: usize,
    pub closed: bool,
    pub boundary_edges: usize,
    /// Enclosed volume; `None` if the mesh is not closed.
    pub volume: Option<f64>,
    pub bounds: BoundFacts,
    /// Frames, rate and duration of recorded frames.
    pub frames: Option<usize>,
    pub fps: Option<f64>,
    pub seconds: Option<f64>,
    pub joints: usize,
    pub max_influences: usize,
    /// The number of points that have 0, 1, 2, … influences; empty without joints.
    pub influence_histogram: Vec<usize>,
    pub morph_targets: Vec<String>,
    pub clips: Vec<MotionFacts>,
    pub materials: Vec<String>,
    pub uv_sets: usize,
    pub color_sets: usize,
    /// Number of triangles of each level of detail.
    pub levels: Vec<usize>,
    pub tetrahedra: usize,
    pub attributes: Vec<String>,
    /// The types of the layers on top of the motion.
    pub deformers: Vec<String>,
    pub problems: Vec<ProblemFacts>,
}

/// A bounding box.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub struct BoundFacts {
    pub min: [f32; 3],
    pub max: [f32; 3],
}

/// A clip, or recorded frames.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MotionFacts {
    /// The clip's name; empty for recorded frames.
    pub name: String,
    /// The number of frames.
    pub frames: usize,
    /// The frame rate, in Hz.
    pub fps: f64,
    /// The time from the first frame to the last.
    pub seconds: f64,
}

/// A suspicious property of the data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub struct ProblemFacts {
    /// Identifier that does not change between versions.
    pub kind: &'static str,
    pub count: usize,
    pub message: String,
    pub hint: &'static str,
    /// True if the property is usually intended.
    pub harmless: bool,
}

/// Gathers the facts about `scene`; frames are read one after the other.
pub fn inspect(scene: &Scene, progress: &dyn Progress) -> Result<SceneFacts, SequenceError> {
    let letter = |axis| match axis {
        UpAxis::X => "x",
        UpAxis::Y => "y",
        UpAxis::Z => "z",
    };
    let units = UnitFacts { metres_per_unit: scene.units.metres_per_unit, up_axis: scene.units.up_axis.map(letter) };
    let objects: Result<_, _> = scene.objects.iter().map(|object| inspect_object(object, progress)).collect();
    Ok(SceneFacts { units, objects: objects? })
}

fn inspect_object(object: &Object, progress: &dyn Progress) -> Result<ObjectFacts, SequenceError> {
    let mesh = &object.mesh;
    let rest = object.rest_points();
    let layout = mesh.layout();
    let edges = Edges::new(mesh.point_count(), mesh.triangles());
    let closed = is_closed(&edges);
    let motion = object.sequence.as_ref().map(MotionFacts::of_sequence);
    let weights = object.rig.as_deref().filter(|rig| !rig.joints().is_empty()).map(Rig::weights);
    let influence_histogram = weights.map(influence_histogram).unwrap_or_default();
    let polygons = layout.and_then(|layout| layout.polygons.as_ref());
    let shapes = object.rig.iter().flat_map(|rig| rig.shapes());
    let materials = layout.into_iter().flat_map(|layout| &layout.materials);
    Ok(ObjectFacts {
        name: object.name.clone(),
        points: mesh.point_count(),
        vertices: mesh.vertex_count(),
        triangles: mesh.triangle_count(),
        polygons: polygons.map_or(mesh.triangle_count(), |polygons| polygons.sizes.len()),
        shells: shells(mesh.point_count(), mesh.triangles()).count,
        closed,
        boundary_edges: boundary_edges(&edges).len(),
        volume: closed.then(|| volume(&rest, mesh.triangles())),
        bounds: BoundFacts::of(&rest),
        frames: motion.as_ref().map(|motion| motion.frames),
        fps: motion.as_ref().map(|motion| motion.fps),
        seconds: motion.as_ref().map(|motion| motion.seconds),
        joints: object.rig.as_ref().map_or(0, |rig| rig.joints().len()),
        max_influences: influence_histogram.len().saturating_sub(1),
        influence_histogram,
        morph_targets: shapes.map(|shape| shape.name.clone()).collect(),
        clips: MotionFacts::of_clips(object),
        materials: materials.map(|material| material.name.clone()).collect(),
        uv_sets: layout.map_or(0, |layout| layout.uvs.len()),
        color_sets: layout.map_or(0, |layout| layout.colors.len()),
        levels: object.levels.iter().map(|level| level.mesh.triangle_count()).collect(),
        tetrahedra: object.tets.as_ref().map_or(0, |tets| tets.tetrahedra().len()),
        attributes: object.attributes.keys().cloned().collect(),
        deformers: object.deformers.iter().map(|layer| layer.kind().to_owned()).collect(),
        problems: of_object(object, progress)?.into_iter().map(ProblemFacts::from).collect(),
    })
}

fn influence_histogram(weights: &SkinWeights) -> Vec<usize> {
    let mut histogram = vec![0; weights.max_influences() + 1];
    for point in 0..weights.point_count() {
        histogram[weights.influence_count(point)] += 1;
    }
    histogram
}

impl BoundFacts {
    fn of(points: &[Vec3]) -> Self {
        let (low, high) = bounds(points);
        Self { min: low.to_array(), max: high.to_array() }
    }
}

impl MotionFacts {
    /// `frames` frames at `fps` Hz.
    pub fn new(name: &str, frames: usize, fps: f64) -> Self {
        Self { name: name.to_owned(), frames, fps, seconds: frames.saturating_sub(1) as f64 / fps }
    }

    /// Recorded frames.
    pub fn of_sequence(sequence: &MeshSequence) -> Self {
        Self::new("", sequence.frame_count(), sequence.frame_rate_hz())
    }

    /// A clip.
    pub fn of_clip(clip: &Clip) -> Self {
        Self::new(clip.name(), clip.frame_count(), clip.frame_rate_hz())
    }

    /// All clips of an object.
    pub fn of_clips(object: &Object) -> Vec<Self> {
        object.clips.iter().map(|clip| Self::of_clip(clip)).collect()
    }
}

impl From<Problem> for ProblemFacts {
    fn from(problem: Problem) -> Self {
        let Problem { kind, count, message, hint } = problem;
        Self { kind: kind.name(), count, message, hint, harmless: kind.is_harmless() }
    }
}
