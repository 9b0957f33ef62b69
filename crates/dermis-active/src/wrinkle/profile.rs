//! How deep below the cloth a curve must run so that its wrinkle takes up a given length (§4.3, Fig. 4).
//!
//! The paper's arc of radius R and offset β holds for a circle alone; here the profile is that of the field that is
//! really projected on, for parallel curves, so the excess length is measured on it once and tabulated over β.

use glam::Vec3;

use super::field::{HIGHEST, REACH, Segment, height};

/// Offsets in the table.
const ROWS: usize = 48;
/// The largest offset, in radii: from there on nothing shows.
pub(super) const DEEPEST: f32 = REACH;
/// The smallest offset: a curve on the cloth, whose fold is a half circle. One above it would hang over.
const SHALLOWEST: f32 = 0.0;
/// Samples across a wrinkle.
const SAMPLES: i32 = 160;

/// Excess length over offset, both in radii.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    /// The excess at evenly spaced offsets from [`SHALLOWEST`] to [`DEEPEST`], falling.
    excess: Vec<f32>,
}

impl Profile {
    /// For curves that are `spacing` radii apart.
    pub(super) fn new(spacing: f32) -> Self {
        let mut excess: Vec<f32> = (0..ROWS).map(|row| excess_of(offset_of(row), spacing)).collect();
        for row in (0..ROWS - 1).rev() {
            excess[row] = excess[row].max(excess[row + 1]);
        }
        Self { excess }
    }

    /// The most that a wrinkle takes up, in radii.
    pub(super) fn most(&self) -> f32 {
        self.excess[0]
    }

    /// The offset, in radii, at which a wrinkle takes up `excess` radii; the shallowest where none takes up so much.
    pub(super) fn offset(&self, excess: f32) -> f32 {
        let below = self.excess.partition_point(|&row| row > excess);
        if below == 0 || below == ROWS {
            return if below == 0 { SHALLOWEST } else { DEEPEST };
        }
        let (more, less) = (self.excess[below - 1], self.excess[below]);
        let part = if more > less { (more - excess) / (more - less) } else { 0.0 };
        offset_of(below - 1) + part * (offset_of(below) - offset_of(below - 1))
    }
}

fn offset_of(row: usize) -> f32 {
    SHALLOWEST + row as f32 * (DEEPEST - SHALLOWEST) / (ROWS - 1) as f32
}

/// The length that the profile is longer than its chord, over one period.
fn excess_of(offset: f32, spacing: f32) -> f32 {
    let curve = |k: i32| {
        Segment::new(Vec3::new(-9.0, k as f32 * spacing, -offset), Vec3::new(9.0, k as f32 * spacing, -offset), 1.0)
    };
    let curves: Vec<Segment> = (-2..=2).filter_map(curve).collect();
    let step = spacing / SAMPLES as f32;
    let at = |k: i32| height(Vec3::Y * ((k as f32 - 0.5 * SAMPLES as f32) * step), Vec3::Z, HIGHEST, &curves);
    let heights: Vec<f32> = (0..=SAMPLES).map(at).collect();
    heights.windows(2).map(|pair| (pair[1] - pair[0]).hypot(step) - step).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_excess_needs_a_shallower_curve() {
        let profile = Profile::new(3.5);
        assert!(profile.excess[0] > 0.4);
        let offsets: Vec<f32> = [0.0, 0.01, 0.1, 0.3, 9.0].iter().map(|&excess| profile.offset(excess)).collect();
        assert!(offsets.is_sorted_by(|a, b| a >= b) && offsets[4] == SHALLOWEST, "{offsets:?}");
        assert!((excess_of(profile.offset(0.2), 3.5) - 0.2).abs() < 0.02);
    }
}
