//! The cloth with its wrinkles, measured.

use std::sync::Arc;
use std::time::Instant;

use dermis::active::wrinkle::{Curves, Refined, Samples, TakenUp, WrinkleLayer};
use dermis::math::progress::Progress;
use dermis::mesh::glam::Vec3;
use dermis::mesh::{FrameSource, MeshSequence, Note, SequenceError};

use super::Args;
use super::cloth::{Cloth, failed};
use crate::interrupt;
use crate::report::Report;
use crate::watch::Watch;

/// How often triangles near wrinkles are cut unless told.
const LEVELS: u32 = 2;

/// The cloth with its wrinkles.
pub(super) struct Wrinkled {
    pub(super) cloth: Arc<Folded>,
    pub(super) sequence: MeshSequence,
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) measures: Measures,
    pub(super) notes: Vec<Note>,
}

/// What all frames together show.
#[derive(Debug, Default)]
pub(super) struct Measures {
    pub(super) area_lost_before: Vec<f64>,
    pub(super) area_lost_after: Vec<f64>,
    pub(super) popping: f64,
    pub(super) highest: f64,
    pub(super) seconds_per_frame: f64,
}

/// All that makes the frames.
pub(super) struct Folded {
    pub(super) layer: WrinkleLayer,
    pub(super) motion: MeshSequence,
    pub(super) curves: Vec<Curves>,
    samples: Samples,
}

impl std::fmt::Debug for Folded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Folded({:?})", self.motion)
    }
}

impl FrameSource for Folded {
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

impl Wrinkled {
    /// Follows the curves through all frames, refines the cloth near them, and fits every frame.
    pub(super) fn new(cloth: Cloth, args: &Args, watch: &Watch) -> Result<Self, Report> {
        let Cloth { place, name, motion, layer } = cloth;
        let stops = |done: usize| watch.report("wrinkling", done, 2 * motion.frame_count()).is_break();
        let (mut curves, tracking) = follow(&layer, &motion, &stops)?;
        let marked = match args.subdivide {
            Some(_) => vec![true; motion.mesh().triangle_count()],
            None => layer.reached(&curves),
        };
        let refined = layer.refine(motion.mesh(), &marked, args.subdivide.unwrap_or(LEVELS));
        let refined = refined.map_err(|error| Report::new(error.to_string()).at(name.clone()))?;
        let samples = layer.samples(refined.spots.clone());
        let mut measures = fit(&layer, &motion, &mut curves, &refined, &samples, &stops)?;
        measures.seconds_per_frame += tracking / motion.frame_count() as f64;
        let mut notes: Vec<Note> = layer.notes().iter().map(|note| Note::at(&name, note.message.clone())).collect();
        let is_smooth = curves.iter().all(|curves| curves.lines.is_empty());
        let rate = motion.frame_rate_hz();
        let folded = Arc::new(Folded { layer, motion, curves, samples });
        if is_smooth {
            notes.push(Note::at(&name, "the cloth is nowhere compressed; it has no wrinkles and stays as it is"));
            measures.area_lost_after.clone_from(&measures.area_lost_before);
            let sequence = folded.motion.clone();
            return Ok(Self { cloth: folded, sequence, place, name, measures, notes });
        }
        let source: Arc<dyn FrameSource> = Arc::clone(&folded) as Arc<dyn FrameSource>;
        let sequence = MeshSequence::from_source(Arc::new(refined.mesh), source, rate).map_err(failed)?;
        let sequence = sequence.starting_at(folded.motion.start_seconds());
        Ok(Self { cloth: folded, sequence, place, name, measures, notes })
    }
}

/// The curves of all frames, and the seconds that they took.
fn follow(
    layer: &WrinkleLayer,
    motion: &MeshSequence,
    stops: &dyn Fn(usize) -> bool,
) -> Result<(Vec<Curves>, f64), Report> {
    let (mut tracker, mut curves, mut elapsed) = (layer.tracker(), Vec::new(), 0.0);
    for frame in 0..motion.frame_count() {
        if stops(frame) {
            return Err(Report::new(interrupt::STOPPED));
        }
        let positions = motion.frame(frame).map_err(failed)?;
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
    stops: &dyn Fn(usize) -> bool,
) -> Result<Measures, Report> {
    let frames = motion.frame_count();
    let (mut measures, mut taken_up) = (Measures::default(), TakenUp::default());
    let (mut changed, mut moved) = (0.0f32, 0.0f32);
    let mut last: Option<(Vec<f32>, Vec<Vec3>)> = None;
    for (frame, curves) in curves.iter_mut().enumerate() {
        if stops(frames + frame) {
            return Err(Report::new(interrupt::STOPPED));
        }
        let positions = motion.frame(frame).map_err(failed)?;
        let start = Instant::now();
        let wrinkled = layer.fit(&mut taken_up, &positions, curves, samples, refined.mesh.triangles());
        measures.seconds_per_frame += start.elapsed().as_secs_f64() / frames as f64;
        measures.area_lost_before.push(layer.area_lost(&positions, motion.mesh().triangles()));
        measures.area_lost_after.push(layer.area_lost(&wrinkled.positions, refined.mesh.triangles()));
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
