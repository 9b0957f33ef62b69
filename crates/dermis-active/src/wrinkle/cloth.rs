//! Wrinkles of a cloth animation.
//!
//! The cloth is simplified if requested, its curves are tracked through all frames, it is refined near them, and every
//! frame is fitted and measured. The frames of the result are computed when they are read. Only the curves are stored,
//! so memory does not grow with the product of frames and points.

use std::sync::Arc;
use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::{MeshError, MeshSequence, Note, SequenceError, TriMesh};
use glam::Vec3;
use serde::Serialize;

use super::{
    Curves, HeightMaps, RecoveredArea, Refined, RestShape, Samples, WrinkleError, WrinkleLayer, WrinkleOptions, coarsen,
};

/// Default number of refinement levels near wrinkles.
const DEFAULT_LEVELS: u32 = 2;
/// Maximum number of refinement levels: a triangle becomes 4,096.
pub const MAX_LEVELS: u32 = 6;

/// Options of [`wrinkle`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClothOptions {
    /// Options of the layer.
    pub layer: WrinkleOptions,
    /// Number of times that all triangles are divided into four. `None`: twice, near wrinkles only.
    pub subdivide: Option<u32>,
    /// Approximate number of triangles to which the cloth is simplified first. `None`: it is not simplified.
    pub coarsen: Option<usize>,
}

/// Measures of a wrinkled cloth.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct WrinkleMeasures {
    /// Fraction of the rest area that each frame of the coarse cloth has lost; negative if the area has grown.
    pub area_lost_before: Vec<f64>,
    /// Fraction of the rest area that each frame with wrinkles has lost.
    pub area_lost_after: Vec<f64>,
    /// Largest change of a height between consecutive frames, relative to the largest motion of the cloth.
    pub popping: f64,
    /// Largest height, in minimum radii.
    pub highest: f64,
    /// Computation time per frame.
    pub seconds_per_frame: f64,
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

/// Data from which frames are computed.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) layer: WrinkleLayer,
    pub(super) motion: MeshSequence,
    pub(super) curves: Vec<Curves>,
    samples: Samples,
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
    let (mut curves, tracking_s) = track_curves(&layer, &motion, &step)?;
    let marked = match options.subdivide {
        Some(_) => vec![true; motion.mesh().triangle_count()],
        None => layer.reached(&curves),
    };
    let refined = layer.refine(motion.mesh(), &marked, levels)?;
    let samples = layer.samples(refined.locations.clone());
    let mut measures = fit(&layer, &motion, &mut curves, &refined, &samples, &step)?;
    measures.seconds_per_frame += tracking_s / motion.frame_count() as f64;
    let mut notes = layer.notes().to_vec();
    let is_smooth = curves.iter().all(|curves| curves.lines.is_empty());
    let frames = Arc::new(Frames { layer, motion, curves, samples });
    if is_smooth {
        notes.push(Note::new("the cloth is not compressed in any frame; it has no wrinkles and is unchanged"));
        measures.area_lost_after.clone_from(&measures.area_lost_before);
        return Ok(WrinkledCloth { sequence: frames.motion.clone(), measures, notes, frames });
    }
    let source = Arc::clone(&frames);
    let read = move |frame: usize, out: &mut [Vec3]| source.read(frame, out);
    let Frames { motion, .. } = &*frames;
    let mesh = Arc::new(refined.mesh);
    let sequence = MeshSequence::from_fn(mesh, motion.frame_count(), motion.frame_rate_hz(), read)?;
    Ok(WrinkledCloth { sequence: sequence.starting_at(frames.motion.start_seconds()), measures, notes, frames })
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

    /// Curves of all frames.
    pub fn curves(&self) -> &[Curves] {
        &self.frames.curves
    }

    /// Curves of `frame` as polylines.
    pub fn polylines(&self, frame: usize) -> Result<Vec<Vec<Vec3>>, SequenceError> {
        let positions = self.frames.motion.frame(frame)?;
        Ok(self.frames.layer.polylines(&positions, &self.frames.curves[frame]))
    }

    /// Displacement maps of `size` texels per side, on the UVs of the coarse cloth, or on an atlas if it has none.
    pub fn height_maps(&self, size: usize) -> Result<HeightMaps, MeshError> {
        HeightMaps::new(Arc::clone(&self.frames), size)
    }
}

impl Frames {
    fn read(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let positions = self.motion.frame(frame)?;
        out.copy_from_slice(&self.layer.apply(&positions, &self.curves[frame], &self.samples).positions);
        Ok(())
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
    let picked: Vec<Vec3>;
    let rest = match rest {
        RestShape::Points(points) if points.len() == motion.point_count() => {
            picked = coarse.points.iter().map(|&point| points[point as usize]).collect();
            RestShape::Points(&picked)
        }
        rest => rest,
    };
    let layer = WrinkleLayer::new(&coarse.mesh, rest, &options.layer)?;
    let (all, points) = (motion.clone(), coarse.points);
    let pick = move |frame: usize, out: &mut [Vec3]| {
        let positions = all.frame(frame)?;
        out.iter_mut().zip(&points).for_each(|(position, &point)| *position = positions[point as usize]);
        Ok(())
    };
    let mesh = Arc::new(coarse.mesh);
    let cloth = MeshSequence::from_fn(mesh, motion.frame_count(), motion.frame_rate_hz(), pick)?;
    Ok((cloth.starting_at(motion.start_seconds()), layer))
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
    step: &dyn Fn(usize) -> Result<(), ClothError>,
) -> Result<WrinkleMeasures, ClothError> {
    let frames = motion.frame_count();
    let (mut measures, mut recovered) = (WrinkleMeasures::default(), RecoveredArea::default());
    let (mut changed, mut moved) = (0.0f32, 0.0f32);
    let mut last: Option<(Vec<f32>, Vec<Vec3>)> = None;
    for (frame, curves) in curves.iter_mut().enumerate() {
        step(frames + frame)?;
        let positions = motion.frame(frame)?;
        let start = Instant::now();
        let wrinkled = layer.fit(&mut recovered, &positions, curves, samples, refined.mesh.triangles());
        measures.seconds_per_frame += start.elapsed().as_secs_f64() / frames as f64;
        let before = layer.area_lost(&positions, motion.mesh().triangles());
        let after = layer.area_lost(&wrinkled.positions, refined.mesh.triangles());
        expect_plausible(frame, before, after)?;
        measures.area_lost_before.push(before);
        measures.area_lost_after.push(after);
        let highest = wrinkled.heights.iter().fold(0.0, |highest: f32, height| highest.max(height.abs()));
        measures.highest = measures.highest.max(f64::from(highest / layer.min_radius()));
        if let Some((heights, last_positions)) = last {
            let changes = heights.iter().zip(&wrinkled.heights).map(|(a, b)| (a - b).abs());
            changed = changed.max(changes.fold(0.0, f32::max));
            let motions = last_positions.iter().zip(positions.iter()).map(|(a, b)| a.distance(*b));
            moved = moved.max(motions.fold(0.0, f32::max));
        }
        last = Some((wrinkled.heights, positions.into_owned()));
    }
    measures.popping = f64::from(if moved > 0.0 { changed / moved } else { changed });
    Ok(measures)
}

/// Rejects a frame whose wrinkles have an implausibly large area.
fn expect_plausible(frame: usize, lost_before: f64, lost_after: f64) -> Result<(), ClothError> {
    // Wrinkles restore lost area; they never double the area of the rest shape or of the stretched cloth.
    let max_area = 2.0 * (1.0 - lost_before).max(1.0);
    let area = 1.0 - lost_after;
    if area.is_finite() && area <= max_area { Ok(()) } else { Err(ClothError::Area { frame, percent: 100.0 * area }) }
}
