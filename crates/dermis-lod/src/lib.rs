//! Levels of detail of skinned characters: simplification that takes weights, shapes and poses into account.
//!
//! [`simplify()`] returns coarser versions of an object's mesh, moved by the same joints and clips (James & Twigg 2005,
//! Figure 17). Quadrics are summed over key poses of the clips, not only computed in the rest pose, and new points have
//! the rest position and the weights that are best for all of these poses: see `collapse`. UV seams, boundaries,
//! materials and blend shapes are kept.

#![forbid(unsafe_code)]

mod collapse;
mod measure;
mod poses;
mod quadric;
mod split_normals;
mod surface;

use dermis_math::progress::Progress;
use dermis_mesh::{Deformer, Level, MeshError, Note, Object, RigError};

use self::collapse::Simplification;
use self::surface::Surface;

pub use measure::{PosedError, posed_error};

/// Fraction of the edges that are seams above which normals are recomputed instead of kept.
const MAX_SEAM_FRACTION: f64 = 0.4;

/// Options of [`simplify()`].
#[derive(Debug, Clone, PartialEq)]
pub struct LodOptions {
    /// Fraction of the triangles that each level keeps, above 0 and at most 1; sorted from fine to coarse.
    pub ratios: Vec<f64>,
    /// Maximum number of key poses of the clips. More poses cover more of the motion and take proportionally longer;
    /// very large meshes use fewer to limit memory.
    pub max_poses: usize,
}

impl Default for LodOptions {
    fn default() -> Self {
        Self { ratios: vec![0.5, 0.25, 0.1], max_poses: 24 }
    }
}

/// Levels of detail of one object.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    /// A level for each ratio, from fine to coarse.
    pub levels: Vec<Level>,
    /// Number of key poses that were used.
    pub pose_count: usize,
    /// Notes about data that the levels do not keep.
    pub warnings: Vec<Note>,
}

/// Reasons why an object has no levels of detail.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LodError {
    /// A ratio is not a fraction.
    #[error("invalid ratio {0}: it must be above 0 and at most 1")]
    Ratio(f64),
    /// There are no ratios.
    #[error("no ratio given")]
    NoRatios,
    /// The object has no triangles.
    #[error("'{0}' has no triangles")]
    NoTriangles(String),
    /// The object has recorded frames, but no skin.
    #[error("'{0}' has recorded frames, but no skin")]
    NoSkin(String),
    /// The points of the object are nodes of tetrahedra.
    #[error("'{0}' has tetrahedra, whose nodes are its points")]
    Tetrahedra(String),
    /// A layer stores data per point that cannot be interpolated.
    #[error("'{object}' has a layer '{layer}', which levels of detail cannot keep")]
    Layer {
        /// The object.
        object: String,
        /// Type of the layer.
        layer: String,
    },
    /// The observer stopped the work.
    #[error("stopped before there was a result")]
    Stopped,
    /// Invalid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// Invalid rig.
    #[error(transparent)]
    Rig(#[from] RigError),
}

impl LodError {
    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Ratio(_) => Some("0.25 keeps a quarter of the triangles"),
            Self::NoRatios => Some("give at least one, such as 0.5"),
            Self::NoSkin(_) => Some("fit a skin to the frames first"),
            Self::Layer { .. } => Some("create the levels before adding this layer"),
            _ => None,
        }
    }
}

/// Returns levels of detail of `object`, one for each ratio. Without a rig, the rest pose alone is simplified.
pub fn simplify(object: &Object, options: &LodOptions, progress: &dyn Progress) -> Result<Levels, LodError> {
    check(object, options)?;
    let mut ratios = options.ratios.clone();
    ratios.sort_by(|a, b| b.total_cmp(a));
    let mut warnings = dropped(object);
    let mut surface = Surface::new(object);
    let welded = (surface.seam_fraction() > MAX_SEAM_FRACTION).then(|| split_normals::joined(object)).transpose()?;
    if let Some(welded) = &welded {
        surface = Surface::new(welded);
        let message = "most edges are creases: the normals of the levels are recomputed";
        warnings.push(Note::at(&object.name, message));
    }
    let object = welded.as_ref().unwrap_or(object);
    let triangles = object.mesh.triangle_count();
    let mut simplification = Simplification::new(object, surface, options.max_poses);
    let mut levels = Vec::with_capacity(ratios.len());
    let last = target_of(ratios[ratios.len() - 1], triangles);
    let total = triangles.saturating_sub(last).max(1);
    for ratio in ratios {
        let step = |count: usize| progress.report("simplifying", triangles - count, total).is_continue();
        if !simplification.run(target_of(ratio, triangles), step) {
            return Err(LodError::Stopped);
        }
        levels.push(simplification.surface.level(object)?);
    }
    Ok(Levels { levels, pose_count: simplification.poses.len(), warnings })
}

/// Number of triangles of a level with the ratio `ratio`.
pub fn target_of(ratio: f64, triangles: usize) -> usize {
    ((ratio * triangles as f64).round() as usize).max(1)
}

fn check(object: &Object, options: &LodOptions) -> Result<(), LodError> {
    if options.ratios.is_empty() {
        return Err(LodError::NoRatios);
    }
    if let Some(&ratio) = options.ratios.iter().find(|ratio| !(**ratio > 0.0 && **ratio <= 1.0)) {
        return Err(LodError::Ratio(ratio));
    }
    let name = || object.name.clone();
    if object.mesh.triangle_count() == 0 {
        return Err(LodError::NoTriangles(name()));
    }
    if object.tets.is_some() {
        return Err(LodError::Tetrahedra(name()));
    }
    if object.sequence.is_some() && (object.rig.is_none() || object.clips.is_empty()) {
        return Err(LodError::NoSkin(name()));
    }
    match object.deformers.iter().find(|layer| !matches!(layer, Deformer::Volume(_))) {
        Some(layer) => Err(LodError::Layer { object: name(), layer: layer.kind().to_owned() }),
        None => Ok(()),
    }
}

fn dropped(object: &Object) -> Vec<Note> {
    let examples = object.sequence.as_ref().map(|_| "the levels do not keep the recorded example shapes");
    let replaced = (!object.levels.is_empty()).then_some("the levels of detail of the input are replaced");
    [examples, replaced].into_iter().flatten().map(|message| Note::at(&object.name, message)).collect()
}
