//! Colour maps for quantities on surfaces, uniform in Oklab: equal steps of the value are equal steps of lightness.

use crate::color::oklch;

/// A colour map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorMap {
    /// From light grey through yellow, orange and red to dark violet. Small values are light, so that good fits are not
    /// dark.
    #[default]
    Sequential,
    /// From blue through light grey to red, for signed quantities with 0 in the middle.
    Diverging,
}

/// Lightness of the lightest and the darkest colour.
const LIGHTNESS: [f32; 2] = [0.90, 0.33];
/// Lightness of both ends of the diverging map.
const DIVERGING_DARKEST: f32 = 0.42;

impl ColorMap {
    /// Linear colour at `at`, from 0 to 1; values outside are clamped.
    pub fn color(self, at: f32) -> [f32; 3] {
        let at = if at.is_nan() { 0.0 } else { at.clamp(0.0, 1.0) };
        match self {
            Self::Sequential => {
                let lightness = LIGHTNESS[0] + (LIGHTNESS[1] - LIGHTNESS[0]) * at;
                let hue = 100.0 - 125.0 * at.powf(1.15);
                let chroma = 0.19 * (at * 4.0).min(1.0) * (1.0 - 0.25 * at);
                oklch(lightness, chroma, hue)
            }
            Self::Diverging => {
                let distance = (2.0 * at - 1.0).abs();
                let lightness = LIGHTNESS[0] + (DIVERGING_DARKEST - LIGHTNESS[0]) * distance;
                let hue = if at < 0.5 { 255.0 } else { 27.0 };
                oklch(lightness, 0.19 * (distance * 1.6).min(1.0), hue)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lightness of Oklab for a linear colour.
    fn lightness([r, g, b]: [f32; 3]) -> f32 {
        let l = (0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b).cbrt();
        let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
        let s = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s
    }

    #[test]
    fn lightness_falls_in_equal_steps() {
        let at = |step: usize| lightness(ColorMap::Sequential.color(step as f32 / 20.0));
        for step in 0..20 {
            let fall = at(step) - at(step + 1);
            assert!((fall - 0.0285).abs() < 2e-3, "{fall} at {step}");
        }
    }

    #[test]
    fn the_diverging_map_is_neutral_in_the_middle_and_symmetric_in_lightness() {
        let [r, g, b] = ColorMap::Diverging.color(0.5);
        assert!((r - g).abs() < 1e-3 && (g - b).abs() < 1e-3);
        for at in [0.0, 0.2, 0.4] {
            let (low, high) = (ColorMap::Diverging.color(at), ColorMap::Diverging.color(1.0 - at));
            assert!((lightness(low) - lightness(high)).abs() < 2e-3, "{at}");
            assert!(low[2] > low[0] && high[0] > high[2]);
        }
    }
}
