//! Offset of a curve below the cloth at which its wrinkle absorbs a given length (§4.3, Fig. 4).
//!
//! The paper derives the offset β from a circular arc of radius R. Here the profile is that of the implicit surface,
//! for parallel curves; its excess length is measured once and tabulated over β.

use glam::Vec3;

use super::field::{MAX_HEIGHT, REACH, Segment, height};

/// Number of offsets in the table.
const ROWS: usize = 48;
/// Maximum offset in radii; deeper curves have no visible wrinkle.
pub(super) const MAX_OFFSET: f32 = REACH;
/// Minimum offset: a curve on the cloth has a semicircular fold, and one above it would have an overhang.
const MIN_OFFSET: f32 = 0.0;
/// Number of samples across a wrinkle.
const SAMPLES: i32 = 160;

/// Excess length as a function of the offset, both in radii.
#[derive(Debug, Clone)]
pub(super) struct FoldProfile {
    /// Excess at uniformly spaced offsets from [`MIN_OFFSET`] to [`MAX_OFFSET`], decreasing.
    excess: Vec<f32>,
}

impl FoldProfile {
    /// Measures the profile of parallel curves `spacing` radii apart.
    pub(super) fn new(spacing: f32) -> Self {
        let mut excess: Vec<f32> = (0..ROWS).map(|row| excess_of(offset_of(row), spacing)).collect();
        for row in (0..ROWS - 1).rev() {
            excess[row] = excess[row].max(excess[row + 1]);
        }
        Self { excess }
    }

    /// Maximum excess length of a wrinkle, in radii.
    pub(super) fn max_excess(&self) -> f32 {
        self.excess[0]
    }

    /// Offset in radii at which a wrinkle absorbs `excess` radii; the minimum offset if none absorbs that much.
    pub(super) fn offset(&self, excess: f32) -> f32 {
        let below = self.excess.partition_point(|&row| row > excess);
        if below == 0 || below == ROWS {
            return if below == 0 { MIN_OFFSET } else { MAX_OFFSET };
        }
        let (more, less) = (self.excess[below - 1], self.excess[below]);
        let part = if more > less { (more - excess) / (more - less) } else { 0.0 };
        offset_of(below - 1) + part * (offset_of(below) - offset_of(below - 1))
    }
}

fn offset_of(row: usize) -> f32 {
    MIN_OFFSET + row as f32 * (MAX_OFFSET - MIN_OFFSET) / (ROWS - 1) as f32
}

/// Length of the profile minus that of its chord, over one period.
fn excess_of(offset: f32, spacing: f32) -> f32 {
    let curve = |k: i32| {
        Segment::new(Vec3::new(-9.0, k as f32 * spacing, -offset), Vec3::new(9.0, k as f32 * spacing, -offset), 1.0)
    };
    let curves: Vec<Segment> = (-2..=2).filter_map(curve).collect();
    let step = spacing / SAMPLES as f32;
    let at = |k: i32| height(Vec3::Y * ((k as f32 - 0.5 * SAMPLES as f32) * step), Vec3::Z, MAX_HEIGHT, &curves);
    let heights: Vec<f32> = (0..=SAMPLES).map(at).collect();
    heights.windows(2).map(|pair| (pair[1] - pair[0]).hypot(step) - step).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_excess_needs_a_shallower_curve() {
        let profile = FoldProfile::new(3.5);
        assert!(profile.excess[0] > 0.4);
        let offsets: Vec<f32> = [0.0, 0.01, 0.1, 0.3, 9.0].iter().map(|&excess| profile.offset(excess)).collect();
        assert!(offsets.is_sorted_by(|a, b| a >= b) && offsets[4] == MIN_OFFSET, "{offsets:?}");
        assert!((excess_of(profile.offset(0.2), 3.5) - 0.2).abs() < 0.02);
    }
}
