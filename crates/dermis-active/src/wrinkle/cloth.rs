//! A whole cloth animation with its wrinkles.
//!
//! The cloth is coarsened if asked for; its curves are followed through all frames; it is refined near them; then every
//! frame is fitted and measured. The result is a sequence whose frames are made when they are read: only the curves are
//! kept, so memory does not grow with the number of frames times points.

use std::sync::Arc;
use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::{FrameSource, MeshError, MeshSequence, Note, SequenceError, TriMesh};
use glam::Vec3;
use serde::Serialize;

use super::{
    Curves, HeightMaps, Refined, RestShape, Samples, TakenUp, WrinkleError, WrinkleLayer, WrinkleOptions, coarsen,
};

/// Levels of refinement near wrinkles.
const LEVELS: u32 = 2;
/// The most levels of refinement: a triangle becomes 4,096.
pub const MAX_LEVELS: u32 = 6;

/// Options of [`wrinkle`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClothOptions {
    /// The wrinkles.
    pub layer: WrinkleOptions,
    /// The times that all triangles are cut in four. `None`: twice, only near wrinkles.
    pub subdivide: Option<u32>,
    /// The number of triangles, about, to which the cloth is reduced first. `None`: it stays as it is.
    pub coarsen: Option<usize>,
}

/// Measures of a wrinkled cloth.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct WrinkleMeasures {
    /// The fraction of the rest area that each frame of the coarse cloth has lost; negative if it has gained.
    pub area_lost_before: Vec<f64>,
    /// The same with wrinkles.
    pub area_lost_after: Vec<f64>,
    /// The largest change of a height from frame to frame, relative to the largest motion of the cloth.
    pub popping: f64,
    /// The largest height, in smallest radii.
    pub highest: f64,
    /// Computing time per frame.
    pub seconds_per_frame: f64,
}

/// Why an animation cannot be wrinkled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClothError {
    /// The cloth or an option does not suit.
    #[error(transparent)]
    Layer(#[from] WrinkleError),
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The refined cloth is no mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// More levels of refinement than [`MAX_LEVELS`].
    #[error("{0} levels of refinement are too many: at most {MAX_LEVELS}")]
    Levels(u32),
    /// The result cannot be right.
    #[error("frame {frame} cannot be right: with wrinkles its area is {percent:.0} % of the area at rest")]
    Area {
        /// The frame.
        frame: usize,
        /// Its area.
        percent: f64,
    },
    /// The observer stopped the work.
    #[error("stopped before the cloth was whole")]
    Stopped,
}

/// A cloth animation with wrinkles.
#[derive(Debug, Clone)]
pub struct WrinkledCloth {
    /// The refined cloth; the coarse one if nothing is compressed. Frames are made when they are read.
    pub sequence: MeshSequence,
    /// Its measures.
    pub measures: WrinkleMeasures,
    /// What was assumed or left out.
    pub notes: Vec<Note>,
    frames: Arc<Frames>,
}

/// All that makes the frames.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) layer: WrinkleLayer,
    pub(super) motion: MeshSequence,
    pub(super) curves: Vec<Curves>,
    samples: Samples,
}

/// Folds the cloth animation `motion` if it is compressed against `rest`, a shape of its mesh.
pub fn wrinkle(
    motion: &MeshSequence,
    rest: RestShape<'_>,
    options: &ClothOptions,
    progress: &dyn Progress,
) -> Result<WrinkledCloth, ClothError> {
    let levels = options.subdivide.unwrap_or(LEVELS);
    if levels > MAX_LEVELS {
        return Err(ClothError::Levels(levels));
    }
    let (motion, layer) = prepare(motion, rest, options)?;
    let total = 2 * motion.frame_count();
    let step = |done: usize| {
        if progress.report("wrinkling", done, total).is_break() { Err(ClothError::Stopped) } else { Ok(()) }
    };
    let (mut curves, tracking_s) = follow(&layer, &motion, &step)?;
    let marked = match options.subdivide {
        Some(_) => vec![true; motion.mesh().triangle_count()],
        None => layer.reached(&curves),
    };
    let refined = layer.refine(motion.mesh(), &marked, levels)?;
    let samples = layer.samples(refined.spots.clone());
    let mut measures = fit(&layer, &motion, &mut curves, &refined, &samples, &step)?;
    measures.seconds_per_frame += tracking_s / motion.frame_count() as f64;
    let mut notes = layer.notes().to_vec();
    let is_smooth = curves.iter().all(|curves| curves.lines.is_empty());
    let frames = Arc::new(Frames { layer, motion, curves, samples });
    if is_smooth {
        notes.push(Note::new("the cloth is nowhere compressed; it has no wrinkles and stays as it is"));
        measures.area_lost_after.clone_from(&measures.area_lost_before);
        return Ok(WrinkledCloth { sequence: frames.motion.clone(), measures, notes, frames });
    }
    let source: Arc<dyn FrameSource> = Arc::clone(&frames) as Arc<dyn FrameSource>;
    let sequence = MeshSequence::from_source(Arc::new(refined.mesh), source, frames.motion.frame_rate_hz())?;
    Ok(WrinkledCloth { sequence: sequence.starting_at(frames.motion.start_seconds()), measures, notes, frames })
}

impl WrinkledCloth {
    /// The layer.
    pub fn layer(&self) -> &WrinkleLayer {
        &self.frames.layer
    }

    /// The coarse cloth.
    pub fn coarse(&self) -> &MeshSequence {
        &self.frames.motion
    }

    /// The curves of every frame.
    pub fn curves(&self) -> &[Curves] {
        &self.frames.curves
    }

    /// The curves of `frame` as polylines.
    pub fn polylines(&self, frame: usize) -> Result<Vec<Vec<Vec3>>, SequenceError> {
        let positions = self.frames.motion.frame(frame)?;
        Ok(self.frames.layer.polylines(&positions, &self.frames.curves[frame]))
    }

    /// Displacement maps of `size` texels a side, on the UVs of the coarse cloth or on an atlas if it has none.
    pub fn height_maps(&self, size: usize) -> Result<HeightMaps, MeshError> {
        HeightMaps::new(Arc::clone(&self.frames), size)
    }
}

impl FrameSource for Frames {
    fn frame_count(&self) -> usize {
        self.motion.frame_count()
    }

    fn point_count(&self) -> usize {
        self.samples.spots().len()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let positions = self.motion.frame(frame)?;
        out.copy_from_slice(&self.layer.apply(&positions, &self.curves[frame], &self.samples).positions);
        Ok(())
    }
}

/// The positions of `other`, the cloth `mesh` in another shape.
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

/// The coarse cloth and its layer.
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
    let frames = Picked { motion: motion.clone(), points: coarse.points };
    let cloth = MeshSequence::from_source(Arc::new(coarse.mesh), Arc::new(frames), motion.frame_rate_hz())?;
    Ok((cloth.starting_at(motion.start_seconds()), layer))
}

/// Some points of a motion.
#[derive(Debug)]
struct Picked {
    motion: MeshSequence,
    points: Vec<u32>,
}

impl FrameSource for Picked {
    fn frame_count(&self) -> usize {
        self.motion.frame_count()
    }

    fn point_count(&self) -> usize {
        self.points.len()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let all = self.motion.frame(frame)?;
        for (place, &point) in out.iter_mut().zip(&self.points) {
            *place = all[point as usize];
        }
        Ok(())
    }
}

/// The curves of all frames, and the seconds that they took.
fn follow(
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

/// Finds the amplitude of every frame and measures it.
fn fit(
    layer: &WrinkleLayer,
    motion: &MeshSequence,
    curves: &mut [Curves],
    refined: &Refined,
    samples: &Samples,
    step: &dyn Fn(usize) -> Result<(), ClothError>,
) -> Result<WrinkleMeasures, ClothError> {
    let frames = motion.frame_count();
    let (mut measures, mut taken_up) = (WrinkleMeasures::default(), TakenUp::default());
    let (mut changed, mut moved) = (0.0f32, 0.0f32);
    let mut last: Option<(Vec<f32>, Vec<Vec3>)> = None;
    for (frame, curves) in curves.iter_mut().enumerate() {
        step(frames + frame)?;
        let positions = motion.frame(frame)?;
        let start = Instant::now();
        let wrinkled = layer.fit(&mut taken_up, &positions, curves, samples, refined.mesh.triangles());
        measures.seconds_per_frame += start.elapsed().as_secs_f64() / frames as f64;
        let before = layer.area_lost(&positions, motion.mesh().triangles());
        let after = layer.area_lost(&wrinkled.positions, refined.mesh.triangles());
        expect_plausible(frame, before, after)?;
        measures.area_lost_before.push(before);
        measures.area_lost_after.push(after);
        let highest = wrinkled.heights.iter().fold(0.0, |highest: f32, height| highest.max(height.abs()));
        measures.highest = measures.highest.max(f64::from(highest / layer.min_radius()));
        if let Some((heights, places)) = last {
            let changes = heights.iter().zip(&wrinkled.heights).map(|(a, b)| (a - b).abs());
            changed = changed.max(changes.fold(0.0, f32::max));
            let motions = places.iter().zip(positions.iter()).map(|(a, b)| a.distance(*b));
            moved = moved.max(motions.fold(0.0, f32::max));
        }
        last = Some((wrinkled.heights, positions.into_owned()));
    }
    measures.popping = f64::from(if moved > 0.0 { changed / moved } else { changed });
    Ok(measures)
}

/// Refuses a frame whose wrinkles add as much area as the cloth has.
fn expect_plausible(frame: usize, lost_before: f64, lost_after: f64) -> Result<(), ClothError> {
    // Wrinkles give lost area back; they never double what the cloth has at rest or has stretched to.
    let most = 2.0 * (1.0 - lost_before).max(1.0);
    let area = 1.0 - lost_after;
    if area.is_finite() && area <= most { Ok(()) } else { Err(ClothError::Area { frame, percent: 100.0 * area }) }
}
