//! Summary of `dermis volume`.

use dermis::corrective_shapes::ShapeErrors;
use dermis::keep_volume::{KeptVolume, ObjectVolume};
use serde::Serialize;

use crate::job::Facts;
use crate::numbers::{counted, short};
use crate::text::Text;

/// JSON summary.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    input: String,
    objects: Vec<ObjectVolume>,
    /// Drift of the worst frame, relative to its target.
    volume_drift_before: f64,
    volume_drift_after: f64,
    /// Largest ratio of the lengths of an edge after and before the correction.
    max_stretch: f64,
    /// Largest number of pairs of intersecting triangles in a frame, before and after the correction.
    intersections_before: usize,
    intersections_after: usize,
    /// Largest increase of that number in a frame.
    new_intersections: usize,
    milliseconds_per_frame: f64,
    /// Errors of corrective shapes; empty without them.
    shapes: Vec<ShapeFacts>,
}

/// Corrective shapes of one object.
#[derive(Debug, Serialize)]
pub(super) struct ShapeFacts {
    pub(super) name: String,
    pub(super) count: usize,
    pub(super) clips: Vec<ShapeErrors>,
}

impl Summary {
    pub(super) fn new(input: &str, kept: &KeptVolume, shapes: Vec<ShapeFacts>) -> Self {
        let [intersections_before, intersections_after] = kept.intersections();
        Self {
            input: input.to_owned(),
            objects: kept.objects.clone(),
            volume_drift_before: kept.drift_before(),
            volume_drift_after: kept.drift_after(),
            max_stretch: kept.max_stretch(),
            intersections_before,
            intersections_after,
            new_intersections: kept.new_intersections(),
            milliseconds_per_frame: kept.milliseconds_per_frame(),
            shapes,
        }
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        for object in &self.objects {
            let joints = counted(object.joint_count, "joint", "joints");
            text.title(&object.name, format!("volume {}, restored near {joints}", short(object.rest_volume)));
            for motion in &object.motions {
                let name = if motion.name.is_empty() { "frames" } else { &motion.name };
                let frames = counted(motion.frames, "frame", "frames");
                let drift = format!("drift {:.3} % before, {:.1e} after", 100.0 * motion.before, motion.after);
                let (before, after) = (motion.intersections_before, motion.intersections_after);
                let shape = format!("stretch {:.2}, intersections {before} before, {after} after", motion.max_stretch);
                let time = format!("{:.2} ms per frame", motion.milliseconds_per_frame);
                text.row(name, format!("{frames}, {drift}, {shape}, {time}"));
            }
        }
        for ShapeFacts { name, count, clips } in &self.shapes {
            text.title(name, counted(*count, "corrective shape", "corrective shapes"));
            for clip in clips {
                let errors = |rms: f64, max: f64| format!("{} RMS, {} max", short(rms), short(max));
                let linear = errors(clip.linear_rms_error, clip.linear_max_error);
                text.row(
                    &clip.name,
                    format!("error {} (without shapes {linear})", errors(clip.rms_error, clip.max_error)),
                );
            }
        }
    }
}
