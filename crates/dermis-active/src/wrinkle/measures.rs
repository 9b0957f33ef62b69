//! Measures of a wrinkled cloth.

use dermis_mesh::MeshSequence;
use glam::Vec3;
use serde::Serialize;

use super::WrinkleLayer;
use super::cloth::ClothError;
use crate::intersections::intersecting_pairs;

/// Maximum number of frames whose intersections are counted; they are distributed uniformly.
const MAX_COUNTED: usize = 48;

/// Measures of a wrinkled cloth.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct WrinkleMeasures {
    /// Fraction of the rest area that each frame of the coarse cloth has lost; negative if the area has grown.
    pub area_lost_before: Vec<f64>,
    /// Fraction of the rest area that each frame with wrinkles has lost.
    pub area_lost_after: Vec<f64>,
    /// Largest change of a height between consecutive frames, relative to the largest motion of the cloth.
    pub popping: f64,
    /// Largest difference of a height from the mean of those in the previous and the next frame, in scene units: wrinkles
    /// that flash for one frame.
    pub flash: f64,
    /// Largest height, in minimum radii or, of buckled folds, in wavelengths.
    pub highest: f64,
    /// Largest number of pairs of intersecting triangles in a frame of the coarse cloth.
    pub intersections_before: usize,
    /// Largest number of pairs of intersecting triangles in a frame with wrinkles.
    pub intersections_after: usize,
    /// Computation time per frame.
    pub seconds_per_frame: f64,
}

impl WrinkleMeasures {
    /// Measures of a result that is the coarse cloth.
    pub(super) fn unchanged(&mut self) {
        self.area_lost_after.clone_from(&self.area_lost_before);
        self.intersections_after = self.intersections_before;
        (self.popping, self.flash, self.highest) = (0.0, 0.0, 0.0);
    }
}

/// Measures frames in order.
pub(super) struct Meter<'a> {
    layer: &'a WrinkleLayer,
    coarse: &'a [[u32; 3]],
    /// Frames between two whose intersections are counted.
    stride: usize,
    /// Length that heights are relative to.
    length: f32,
    measures: WrinkleMeasures,
    /// Heights of the last two frames, the latest first.
    heights: [Vec<f32>; 2],
    positions: Vec<Vec3>,
    changed: f32,
    moved: f32,
}

impl<'a> Meter<'a> {
    pub(super) fn new(layer: &'a WrinkleLayer, motion: &'a MeshSequence, length: f32) -> Self {
        Self {
            layer,
            coarse: motion.mesh().triangles(),
            stride: motion.frame_count().div_ceil(MAX_COUNTED).max(1),
            length,
            measures: WrinkleMeasures::default(),
            heights: [Vec::new(), Vec::new()],
            positions: Vec::new(),
            changed: 0.0,
            moved: 0.0,
        }
    }

    /// Measures the next frame: the coarse cloth, and the refined cloth with its heights.
    pub(super) fn add(
        &mut self,
        frame: usize,
        coarse: &[Vec3],
        refined: &[Vec3],
        heights: &[f32],
        triangles: &[[u32; 3]],
    ) -> Result<(), ClothError> {
        let measures = &mut self.measures;
        let before = self.layer.area_lost(coarse, self.coarse);
        let after = self.layer.area_lost(refined, triangles);
        expect_plausible(frame, before, after)?;
        measures.area_lost_before.push(before);
        measures.area_lost_after.push(after);
        let highest = heights.iter().fold(0.0, |highest: f32, height| highest.max(height.abs()));
        measures.highest = measures.highest.max(f64::from(highest / self.length));
        if frame.is_multiple_of(self.stride) {
            let count = |points: &[Vec3], triangles: &[[u32; 3]]| intersecting_pairs(points, triangles).len();
            measures.intersections_before = measures.intersections_before.max(count(coarse, self.coarse));
            measures.intersections_after = measures.intersections_after.max(count(refined, triangles));
        }
        let [last, older] = &self.heights;
        if !last.is_empty() {
            let largest = |changes: &mut dyn Iterator<Item = f32>| changes.fold(0.0, f32::max);
            self.changed = self.changed.max(largest(&mut last.iter().zip(heights).map(|(a, b)| (a - b).abs())));
            let motions = &mut self.positions.iter().zip(coarse).map(|(a, b)| a.distance(*b));
            self.moved = self.moved.max(largest(motions));
            let around = older.iter().zip(heights).zip(last);
            let flash = largest(&mut around.map(|((before, next), height)| (height - 0.5 * (before + next)).abs()));
            measures.flash = measures.flash.max(f64::from(flash));
        }
        self.heights.swap(0, 1);
        self.heights[0].clear();
        self.heights[0].extend_from_slice(heights);
        self.positions.clear();
        self.positions.extend_from_slice(coarse);
        Ok(())
    }

    pub(super) fn finish(mut self, seconds_per_frame: f64) -> WrinkleMeasures {
        self.measures.popping = f64::from(if self.moved > 0.0 { self.changed / self.moved } else { self.changed });
        self.measures.seconds_per_frame = seconds_per_frame;
        self.measures
    }
}

/// Rejects a frame whose wrinkles have an implausibly large area.
fn expect_plausible(frame: usize, lost_before: f64, lost_after: f64) -> Result<(), ClothError> {
    // Wrinkles restore lost area; they never double the area of the rest shape or of the stretched cloth.
    let max_area = 2.0 * (1.0 - lost_before).max(1.0);
    let area = 1.0 - lost_after;
    if area.is_finite() && area <= max_area { Ok(()) } else { Err(ClothError::Area { frame, percent: 100.0 * area }) }
}
