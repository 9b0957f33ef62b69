//! Recorded motion of markers on a beam.

use glam::DVec3;

use super::RESTING_FRAMES;
use crate::fem::ModelError;

/// Recorded motion of markers on a beam; lengths in metres.
#[derive(Debug, Clone, PartialEq)]
pub struct BeamRecording {
    /// Frames per second.
    pub rate_hz: f64,
    /// Length, width and height. The beam extends from x = −length at the clamp to 0, and from 0 in y and z.
    pub size_m: DVec3,
    /// Density in kg/m³.
    pub density_kg_per_m3: f64,
    /// Gravity in m/s².
    pub gravity_m_per_s2: f64,
    /// Upward direction in the frame of the recording.
    pub up: DVec3,
    /// Nominal positions of the markers in the frame of the beam, whose z axis points up.
    pub markers_m: Vec<DVec3>,
    /// Takes.
    pub takes: Vec<BeamTake>,
}

/// One take of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct BeamTake {
    /// Name.
    pub name: String,
    /// Positions of the markers in each frame; not finite if a marker was not visible.
    pub frames: Vec<Vec<DVec3>>,
    /// First frame after the release.
    pub release_frame: usize,
    /// Weight at the upper edge of the free end, in newtons.
    pub tip_load_n: f64,
}

/// Error of [`super::fit_beam`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BeamError {
    /// The grid cannot be simulated.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A property of the recording is invalid.
    #[error("invalid {what} of the beam: {value}")]
    Invalid {
        /// The property.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// No take without a load.
    #[error("no take without a weight at the tip: stiffness is identified under gravity alone")]
    NoUnloadedTake,
    /// A marker is missing before the release or at rest.
    #[error("marker {marker} of take '{take}' is not visible {when}")]
    Vanished {
        /// Name of the take.
        take: String,
        /// Index of the marker.
        marker: usize,
        /// Part of the take.
        when: &'static str,
    },
    /// The take has no frames before the release, or too few after it.
    #[error("take '{take}' has {frames} frames and is released in frame {release}; frames on both sides are required")]
    Frames {
        /// Name of the take.
        take: String,
        /// Number of frames.
        frames: usize,
        /// Frame of the release.
        release: usize,
    },
    /// The beam does not move.
    #[error("the beam of take '{take}' does not move: its material cannot be identified")]
    Still {
        /// Name of the take.
        take: String,
    },
}

impl BeamRecording {
    pub(super) fn check(&self) -> Result<(), BeamError> {
        let positive = |what: &'static str, value: f64| {
            if value.is_finite() && value > 0.0 { Ok(()) } else { Err(BeamError::Invalid { what, value }) }
        };
        positive("frame rate", self.rate_hz)?;
        positive("density", self.density_kg_per_m3)?;
        positive("gravity", self.gravity_m_per_s2)?;
        self.size_m.to_array().into_iter().try_for_each(|size| positive("size", size))?;
        for take in &self.takes {
            let frames = take.frames.len();
            if take.release_frame == 0 || take.release_frame + RESTING_FRAMES >= frames {
                return Err(BeamError::Frames { take: take.name.clone(), frames, release: take.release_frame });
            }
            if !(take.tip_load_n.is_finite() && take.tip_load_n >= 0.0) {
                return Err(BeamError::Invalid { what: "tip load", value: take.tip_load_n });
            }
        }
        Ok(())
    }
}
