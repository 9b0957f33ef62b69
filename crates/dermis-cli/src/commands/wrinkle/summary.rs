//! What the command says when it is done.

use dermis::io::Written;
use dermis::mesh::Scene;
use serde::Serialize;

use super::Args;
use super::folded::{Folded, Wrinkled};
use crate::notes::NoteFacts;
use crate::numbers::{bytes, counted, grouped, seconds, short};
use crate::terminal::Paint;

/// What was done, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    input: String,
    output: String,
    files: Vec<String>,
    bytes: u64,
    name: String,
    frames: usize,
    min_radius: f32,
    /// The height that is white in a PNG map, and black downwards: none is higher. Grey is none.
    map_height: f32,
    triangles_before: usize,
    triangles_after: usize,
    /// The most curves of a frame.
    curves: usize,
    /// The part of the rest area that each frame has lost; negative where it has gained.
    area_lost_before: Vec<f64>,
    area_lost_after: Vec<f64>,
    /// The largest change of a height from frame to frame, relative to the largest motion of the cloth.
    popping: f64,
    /// The largest height, in smallest radii.
    highest: f64,
    seconds_per_frame: f64,
    notes: Vec<NoteFacts>,
    seconds: Times,
}

#[derive(Debug, Serialize)]
pub(super) struct Times {
    pub(super) read: f64,
    pub(super) wrinkle: f64,
    pub(super) write: f64,
    pub(super) total: f64,
}

impl Summary {
    pub(super) fn new(args: &Args, wrinkled: &Wrinkled, scene: &Scene, written: &Written, seconds: Times) -> Self {
        let Folded { layer, motion, curves, .. } = &*wrinkled.cloth;
        let measures = &wrinkled.measures;
        Self {
            input: args.input.clone(),
            output: args.output.display().to_string(),
            files: written.files.iter().map(|file| file.display().to_string()).collect(),
            bytes: written.bytes,
            name: wrinkled.name.clone(),
            frames: motion.frame_count(),
            min_radius: layer.min_radius(),
            map_height: layer.highest(),
            triangles_before: motion.mesh().triangle_count(),
            triangles_after: wrinkled.sequence.mesh().triangle_count(),
            curves: curves.iter().map(|curves| curves.lines.len()).max().unwrap_or(0),
            area_lost_before: measures.area_lost_before.clone(),
            area_lost_after: measures.area_lost_after.clone(),
            popping: measures.popping,
            highest: measures.highest,
            seconds_per_frame: measures.seconds_per_frame,
            notes: NoteFacts::each_once(scene.notes.iter().chain(&written.notes)),
            seconds,
        }
    }

    pub(super) fn text(&self, paint: Paint) -> String {
        let mean = |values: &[f64]| 100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64;
        let worst = |values: &[f64]| 100.0 * values.iter().copied().fold(0.0, f64::max);
        let (before, after) = (&self.area_lost_before, &self.area_lost_after);
        let Times { read, wrinkle, write, .. } = self.seconds;
        let [read, wrinkle, write] = [read, wrinkle, write].map(seconds);
        let (frames, curves) = (counted(self.frames, "frame", "frames"), counted(self.curves, "wrinkle", "wrinkles"));
        let (coarse, fine) = (counted(self.triangles_before, "triangle", "triangles"), grouped(self.triangles_after));
        let mut lines = vec![
            format!(
                "{}  {frames}, {coarse} refined to {fine}, up to {curves} of radius {}\n",
                paint.title(&self.name),
                short(f64::from(self.min_radius))
            ),
            format!(
                "  area lost: {:.2} % before, {:.2} % after (worst frame {:.2} %, {:.2} %)\n",
                mean(before),
                mean(after),
                worst(before),
                worst(after)
            ),
            format!(
                "  popping {:.3}, highest {:.2} radii, {:.1} ms per frame\n",
                self.popping,
                self.highest,
                1e3 * self.seconds_per_frame
            ),
            format!(
                "wrote {} ({}); read in {read}, wrinkled in {wrinkle}, written in {write}\n",
                paint.title(&self.output),
                bytes(self.bytes)
            ),
        ];
        lines.extend(self.notes.iter().map(|note| note.line(paint)));
        lines.concat()
    }
}
