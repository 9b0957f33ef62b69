//! Wrinkles of a cloth animation.
//!
//! The cloth is simplified if requested, its curves are tracked through all frames, it is refined near them, and every
//! frame is fitted and measured. The frames of the result are computed when they are read. Only the curves are stored,
//! so memory does not grow with the product of frames and points.

use std::sync::Arc;
use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::geometry::total_area;
use dermis_mesh::{MeshError, MeshSequence, Note, SequenceError, TriMesh};
use glam::Vec3;

use super::buckle::{Areas, Buckled};
use super::frames::{Frames, Shape, StoredHeights};
use super::measures::{Meter, WrinkleMeasures};
use super::{
    Coarse, Curves, FoldsError, HeightMaps, RecoveredArea, Refined, RestShape, Samples, WrinkleError, WrinkleLayer,
    WrinkleOptions, coarsen,
};

/// Default number of refinement levels near wrinkles.
const DEFAULT_LEVELS: u32 = 2;
/// Maximum number of refinement levels: a triangle becomes 4,096.
pub const MAX_LEVELS: u32 = 6;

/// Method that determines the folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Folds {
    /// Heights that restore the lengths of compressed edges.
    #[default]
    Buckled,
    /// Convolution surfaces around curves across the compression, as in the paper.
    Curves,
}

/// Options of [`wrinkle`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClothOptions {
    /// Options of the layer.
    pub layer: WrinkleOptions,
    /// Method that determines the folds.
    pub folds: Folds,
    /// Number of times that all triangles are divided into four. `None`: twice; with curves, near wrinkles only.
    pub subdivide: Option<u32>,
    /// Approximate number of triangles to which the cloth is simplified first. `None`: it is not simplified.
    pub coarsen: Option<usize>,
}

/// Error of [`wrinkle`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClothError {
    /// The cloth or an option is invalid.
    #[error(transparent)]
    Layer(#[from] WrinkleError),
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The refined cloth is not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// More levels of refinement than [`MAX_LEVELS`].
    #[error("invalid number of refinement levels {0}: at most {MAX_LEVELS} are allowed")]
    Levels(u32),
    /// The area of the result is implausible.
    #[error("implausible frame {frame}: with wrinkles its area is {percent:.0} % of the rest area")]
    Area {
        /// Index of the frame.
        frame: usize,
        /// Area with wrinkles, in percent of the rest area.
        percent: f64,
    },
    /// Learned folds cannot be used.
    #[error(transparent)]
    Folds(#[from] FoldsError),
    /// The observer stopped the work.
    #[error("stopped before all frames were computed")]
    Stopped,
}

/// A cloth animation with wrinkles.
#[derive(Debug, Clone)]
pub struct WrinkledCloth {
    /// Refined cloth, or the coarse one if it is never compressed. Frames are computed when they are read.
    pub sequence: MeshSequence,
    /// Measures of the result.
    pub measures: WrinkleMeasures,
    /// Assumptions made and data dropped.
    pub notes: Vec<Note>,
    frames: Arc<Frames>,
}

/// Adds wrinkles to the cloth animation `motion` if it is compressed relative to `rest`, a shape of its mesh.
pub fn wrinkle(
    motion: &MeshSequence,
    rest: RestShape<'_>,
    options: &ClothOptions,
    progress: &dyn Progress,
) -> Result<WrinkledCloth, ClothError> {
    let levels = options.subdivide.unwrap_or(DEFAULT_LEVELS);
    if levels > MAX_LEVELS {
        return Err(ClothError::Levels(levels));
    }
    let (motion, layer) = prepare(motion, rest, options)?;
    let total = 2 * motion.frame_count();
    let step = |done: usize| {
        if progress.report("wrinkling", done, total).is_break() { Err(ClothError::Stopped) } else { Ok(()) }
    };
    let (shape, measures, refined) = match options.folds {
        Folds::Buckled => buckled(&layer, &motion, levels, &step)?,
        Folds::Curves => curved(&layer, &motion, levels, options.subdivide.is_some(), &step)?,
    };
    let mut notes = layer.notes().to_vec();
    let frames = Arc::new(Frames { layer, motion, shape });
    let Some(mesh) = refined else {
        notes.push(Note::new("the cloth is not compressed in any frame; it has no wrinkles and is unchanged"));
        return Ok(WrinkledCloth { sequence: frames.motion.clone(), measures, notes, frames });
    };
    let source = Arc::clone(&frames);
    let read = move |frame: usize, out: &mut [Vec3]| source.read(frame, out);
    let Frames { motion, .. } = &*frames;
    let sequence = MeshSequence::from_fn(Arc::new(mesh), motion.frame_count(), motion.frame_rate_hz(), read)?;
    Ok(WrinkledCloth { sequence: sequence.starting_at(frames.motion.start_seconds()), measures, notes, frames })
}

/// Folds of all frames, their measures, and the refined mesh; `None` if the cloth is never compressed.
type Folded = (Shape, WrinkleMeasures, Option<TriMesh>);
/// Reports progress, or stops the work.
type Step<'a> = &'a dyn Fn(usize) -> Result<(), ClothError>;

/// Folds by buckling.
fn buckled(layer: &WrinkleLayer, motion: &MeshSequence, levels: u32, step: Step<'_>) -> Result<Folded, ClothError> {
    let frames = motion.frame_count();
    let refined = layer.refine(motion.mesh(), &vec![true; motion.mesh().triangle_count()], levels)?;
    let buckling = layer.buckling(&refined);
    let mut stored = StoredHeights::new(refined, buckling.max_height());
    let (mut state, mut meter) = (Buckled::default(), Meter::new(layer, motion, buckling.wavelength()));
    let (mut seconds, mut is_compressed) = (0.0, false);
    for frame in 0..frames {
        step(2 * frame)?;
        let positions = motion.frame(frame)?;
        is_compressed |= layer.is_compressed(&positions);
        let triangles = stored.refined.mesh.triangles();
        let start = Instant::now();
        let mut base = layer.base(&positions, &stored.refined.locations);
        let areas = Areas { rest: layer.rest_area(), coarse: total_area(&positions, motion.mesh().triangles()) };
        buckling.advance(&mut state, &mut base, areas, triangles);
        let lifted = base.lifted(&state.heights);
        seconds += start.elapsed().as_secs_f64();
        step(2 * frame + 1)?;
        meter.add(frame, &positions, &lifted, &state.heights, triangles)?;
        stored.push(&state.heights, base.smoothing);
    }
    let mut measures = meter.finish(seconds / frames as f64);
    if !is_compressed {
        measures.unchanged();
    }
    let mesh = is_compressed.then(|| stored.refined.mesh.clone());
    Ok((Shape::Heights(stored), measures, mesh))
}

/// Folds along curves.
fn curved(
    layer: &WrinkleLayer,
    motion: &MeshSequence,
    levels: u32,
    everywhere: bool,
    step: Step<'_>,
) -> Result<Folded, ClothError> {
    let (mut curves, tracking_s) = track_curves(layer, motion, step)?;
    let marked = if everywhere { vec![true; motion.mesh().triangle_count()] } else { layer.reached(&curves) };
    let refined = layer.refine(motion.mesh(), &marked, levels)?;
    let samples = layer.samples(refined.locations.clone());
    let mut measures = fit(layer, motion, &mut curves, &refined, &samples, step)?;
    measures.seconds_per_frame += tracking_s / motion.frame_count() as f64;
    let is_smooth = curves.iter().all(|curves| curves.lines.is_empty());
    if is_smooth {
        measures.unchanged();
    }
    Ok((Shape::Curves { curves, samples }, measures, (!is_smooth).then_some(refined.mesh)))
}

impl WrinkledCloth {
    /// The wrinkle layer.
    pub fn layer(&self) -> &WrinkleLayer {
        &self.frames.layer
    }

    /// The coarse cloth.
    pub fn coarse(&self) -> &MeshSequence {
        &self.frames.motion
    }

    /// Maximum height of a wrinkle: white in a map, black is its negative.
    pub fn max_height(&self) -> f32 {
        self.frames.max_height()
    }

    /// Curves of all frames along which the cloth folds: those of the result, or tracked on demand.
    pub fn curves(&self) -> Result<Vec<Curves>, ClothError> {
        match &self.frames.shape {
            Shape::Curves { curves, .. } => Ok(curves.clone()),
            Shape::Heights(_) => Ok(track_curves(&self.frames.layer, &self.frames.motion, &|_| Ok(()))?.0),
        }
    }

    /// Curves of `frame` as polylines.
    pub fn polylines(&self, frame: usize, curves: &Curves) -> Result<Vec<Vec<Vec3>>, SequenceError> {
        let positions = self.frames.motion.frame(frame)?;
        Ok(self.frames.layer.polylines(&positions, curves))
    }

    /// Displacement maps of `size` texels per side, on the UVs of the coarse cloth, or on an atlas if it has none.
    pub fn height_maps(&self, size: usize) -> Result<HeightMaps, MeshError> {
        HeightMaps::new(Arc::clone(&self.frames), size)
    }
}

/// Positions of `other`, which must be the cloth `mesh` in another shape.
pub fn rest_points<'a>(mesh: &TriMesh, other: &'a TriMesh) -> Result<&'a [Vec3], WrinkleError> {
    let (found, expected) = (other.point_count(), mesh.point_count());
    if found != expected {
        return Err(WrinkleError::RestPoints { found, expected });
    }
    let (ours, theirs) = (mesh.triangles(), other.triangles());
    let differs = (0..ours.len().max(theirs.len())).find(|&at| ours.get(at) != theirs.get(at));
    match differs.filter(|_| !theirs.is_empty()) {
        Some(triangle) => Err(WrinkleError::RestTopology { triangle }),
        None => Ok(other.points()),
    }
}

/// Coarse cloth and its layer.
fn prepare(
    motion: &MeshSequence,
    rest: RestShape<'_>,
    options: &ClothOptions,
) -> Result<(MeshSequence, WrinkleLayer), ClothError> {
    let Some(triangles) = options.coarsen else {
        return Ok((motion.clone(), WrinkleLayer::new(motion.mesh(), rest, &options.layer)?));
    };
    let coarse = coarsen(motion, triangles)?;
    let picked_rest: Vec<Vec3>;
    let fine_rest = match rest {
        RestShape::Points(points) if points.len() == motion.point_count() => points,
        _ => motion.mesh().points(),
    };
    let rest = match rest {
        RestShape::Points(points) if points.len() == motion.point_count() => {
            picked_rest = coarse.points.iter().map(|&point| points[point as usize]).collect();
            RestShape::Points(&picked_rest)
        }
        rest => rest,
    };
    let fine_area = total_area(fine_rest, motion.mesh().triangles());
    let layer = WrinkleLayer::new(&coarse.mesh, rest, &options.layer)?;
    let layer = match (options.folds, rest) {
        (Folds::Buckled, RestShape::Pose | RestShape::Points(_)) => layer.with_rest_area(fine_area),
        _ => layer,
    };
    Ok((picked(motion, coarse)?, layer))
}

/// Simplifies the cloth to about `triangles` triangles, the same in all frames.
pub fn coarse_cloth(motion: &MeshSequence, triangles: usize) -> Result<MeshSequence, ClothError> {
    picked(motion, coarsen(motion, triangles)?)
}

/// Frames of the simplified mesh.
fn picked(motion: &MeshSequence, Coarse { mesh, points }: Coarse) -> Result<MeshSequence, ClothError> {
    let all = motion.clone();
    let pick = move |frame: usize, out: &mut [Vec3]| {
        let positions = all.frame(frame)?;
        out.iter_mut().zip(&points).for_each(|(position, &point)| *position = positions[point as usize]);
        Ok(())
    };
    let cloth = MeshSequence::from_fn(Arc::new(mesh), motion.frame_count(), motion.frame_rate_hz(), pick)?;
    Ok(cloth.starting_at(motion.start_seconds()).named(motion.name()))
}

/// Curves of all frames, and the computation time in seconds.
fn track_curves(
    layer: &WrinkleLayer,
    motion: &MeshSequence,
    step: &dyn Fn(usize) -> Result<(), ClothError>,
) -> Result<(Vec<Curves>, f64), ClothError> {
    let (mut tracker, mut curves, mut elapsed) = (layer.tracker(), Vec::new(), 0.0);
    for frame in 0..motion.frame_count() {
        step(frame)?;
        let positions = motion.frame(frame)?;
        let start = Instant::now();
        curves.push(layer.advance(&mut tracker, &positions));
        elapsed += start.elapsed().as_secs_f64();
    }
    Ok((curves, elapsed))
}

/// Determines the amplitude of every frame and measures it.
fn fit(
    layer: &WrinkleLayer,
    motion: &MeshSequence,
    curves: &mut [Curves],
    refined: &Refined,
    samples: &Samples,
    step: Step<'_>,
) -> Result<WrinkleMeasures, ClothError> {
    let frames = motion.frame_count();
    let (mut meter, mut recovered) = (Meter::new(layer, motion, layer.min_radius()), RecoveredArea::default());
    let mut seconds = 0.0;
    for (frame, curves) in curves.iter_mut().enumerate() {
        step(frames + frame)?;
        let positions = motion.frame(frame)?;
        let start = Instant::now();
        let wrinkled = layer.fit(&mut recovered, &positions, curves, samples, refined.mesh.triangles());
        seconds += start.elapsed().as_secs_f64();
        meter.add(frame, &positions, &wrinkled.positions, &wrinkled.heights, refined.mesh.triangles())?;
    }
    Ok(meter.finish(seconds / frames as f64))
}
