//! Summary of `dermis wrinkle`.

use dermis::active::wrinkle::WrinkleMeasures;
use serde::Serialize;

use crate::job::Facts;
use crate::numbers::{counted, grouped, short};
use crate::text::Text;

/// JSON summary.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) input: String,
    pub(super) name: String,
    pub(super) frames: usize,
    /// `None` for learned folds.
    pub(super) min_radius: Option<f32>,
    /// Height of white in a PNG map; black is its negative, grey is 0.
    pub(super) map_height: f32,
    pub(super) triangles_before: usize,
    pub(super) triangles_after: usize,
    /// Largest number of curves in a frame, if they are written.
    pub(super) curves: Option<usize>,
    #[serde(flatten)]
    pub(super) measures: WrinkleMeasures,
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let mean = |values: &[f64]| 100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64;
        let worst = |values: &[f64]| 100.0 * values.iter().copied().fold(0.0, f64::max);
        let WrinkleMeasures { area_lost_before: before, area_lost_after: after, .. } = &self.measures;
        let WrinkleMeasures { popping, flash, seconds_per_frame, intersections_before, intersections_after, .. } =
            self.measures;
        let frames = counted(self.frames, "frame", "frames");
        let (coarse, fine) = (counted(self.triangles_before, "triangle", "triangles"), grouped(self.triangles_after));
        text.title(&self.name, format!("{frames}, {coarse} refined to {fine}"));
        let maps = format!("up to {} high (white in maps)", short(f64::from(self.map_height)));
        text.row("wrinkles", self.curves.map_or(maps.clone(), |curves| format!("{maps}, {curves} curves")));
        let (worst_before, worst_after) = (worst(before), worst(after));
        let worst = format!("worst frame {worst_before:.2} %, {worst_after:.2} %");
        text.row("area lost", format!("{:.2} % before, {:.2} % after ({worst})", mean(before), mean(after)));
        let time = 1e3 * seconds_per_frame;
        let flash = short(flash);
        text.row("quality", format!("popping {popping:.3}, flash {flash}, {time:.1} ms per frame"));
        text.row("intersections", format!("{intersections_before} before, {intersections_after} after"));
    }
}
