//! The wrinkles of a motion that is played in any order.
//!
//! Curves depend on the frames before. Frames in order go on from the one before; a jump starts a few frames earlier, so
//! that wrinkles have grown when the frame is shown.

use dermis_mesh::{MeshSequence, SequenceError};
use glam::Vec3;

use super::{Curves, Samples, TakenUp, Tracker, WrinkleLayer};

/// Frames that are followed before one that is jumped to.
const LEAD: usize = 12;

/// Follows the curves of a motion.
#[derive(Debug)]
pub struct Follower {
    tracker: Tracker,
    /// The last frame that was followed, its curves, and the area that wrinkles took up before it.
    last: Option<(usize, Curves, TakenUp)>,
    taken_up: TakenUp,
}

impl Follower {
    /// A follower that has seen no frame.
    pub fn new(layer: &WrinkleLayer) -> Self {
        Self { tracker: layer.tracker(), last: None, taken_up: TakenUp::default() }
    }

    /// The coarse cloth in `frame` of `motion`, and its curves with the amplitude for `triangles` over `samples`.
    ///
    /// # Panics
    /// If `motion` or the samples are not those of `layer`.
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
        layer.fit(&mut self.taken_up, &cloth, &mut curves, samples, triangles);
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
                self.taken_up = *before;
                return Ok(curves.clone());
            }
            Some((last, ..)) if last + 1 == frame => {}
            _ => {
                *self = Self::new(layer);
                for at in frame.saturating_sub(LEAD)..frame {
                    layer.advance(&mut self.tracker, &motion.frame(at)?);
                }
            }
        }
        let curves = layer.advance(&mut self.tracker, cloth);
        self.last = Some((frame, curves.clone(), self.taken_up));
        Ok(curves)
    }
}
