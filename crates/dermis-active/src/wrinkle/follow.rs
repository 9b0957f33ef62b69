//! Wrinkles of a motion that is played in any order.
//!
//! Curves depend on the previous frames. Consecutive frames continue from the previous one. After a jump, tracking
//! starts a few frames earlier, so that wrinkles have grown when the frame is shown.

use dermis_mesh::{MeshSequence, SequenceError};
use glam::Vec3;

use super::{Curves, RecoveredArea, Samples, Tracker, WrinkleLayer};

/// Number of frames tracked before a frame that is not the next one.
const LEAD_FRAMES: usize = 12;

/// Tracks the curves of a motion for random access.
#[derive(Debug)]
pub struct Follower {
    tracker: Tracker,
    /// Last frame with its curves, and the area that wrinkles had recovered before it.
    last: Option<(usize, Curves, RecoveredArea)>,
    recovered: RecoveredArea,
}

impl Follower {
    /// Creates a follower without history.
    pub fn new(layer: &WrinkleLayer) -> Self {
        Self { tracker: layer.tracker(), last: None, recovered: RecoveredArea::default() }
    }

    /// Returns the coarse cloth in `frame` of `motion`, and its curves with the amplitude for `triangles` over
    /// `samples`.
    ///
    /// # Panics
    /// If `motion` or `samples` do not match `layer`.
    pub fn fit(
        &mut self,
        layer: &WrinkleLayer,
        motion: &MeshSequence,
        frame: usize,
        samples: &Samples,
        triangles: &[[u32; 3]],
    ) -> Result<(Vec<Vec3>, Curves), SequenceError> {
        let cloth = motion.frame(frame)?.into_owned();
        let mut curves = self.curves(layer, motion, frame, &cloth)?;
        layer.fit(&mut self.recovered, &cloth, &mut curves, samples, triangles);
        Ok((cloth, curves))
    }

    fn curves(
        &mut self,
        layer: &WrinkleLayer,
        motion: &MeshSequence,
        frame: usize,
        cloth: &[Vec3],
    ) -> Result<Curves, SequenceError> {
        match &self.last {
            Some((last, curves, before)) if *last == frame => {
                self.recovered = *before;
                return Ok(curves.clone());
            }
            Some((last, ..)) if last + 1 == frame => {}
            _ => {
                *self = Self::new(layer);
                for at in frame.saturating_sub(LEAD_FRAMES)..frame {
                    layer.advance(&mut self.tracker, &motion.frame(at)?);
                }
            }
        }
        let curves = layer.advance(&mut self.tracker, cloth);
        self.last = Some((frame, curves.clone(), self.recovered));
        Ok(curves)
    }
}
