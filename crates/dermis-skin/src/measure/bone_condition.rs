//! Conditioning of the bone transforms of a skin: flexible bones that collapse or mirror space distort everything that
//! is attached to them and cannot be edited.

use dermis_math::svd3::svd3;

use crate::blend::palette;
use crate::skin::Skin;

/// Extremes of the linear parts of all bones in all frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoneCondition {
    /// Largest ratio of the largest and the smallest stretch of one transform; 1 is a rotation with uniform scale.
    pub max_condition: f64,
    /// Smallest stretch.
    pub min_stretch: f64,
    /// Largest stretch.
    pub max_stretch: f64,
    /// Transforms that mirror space, in percent.
    pub reflected_percent: f64,
}

/// Measures the bones of `skin` in all of its clips.
pub fn bone_condition(skin: &Skin) -> BoneCondition {
    let mut result =
        BoneCondition { max_condition: 1.0, min_stretch: f64::INFINITY, max_stretch: 0.0, reflected_percent: 0.0 };
    let (mut total, mut reflected) = (0u32, 0u32);
    for clip in skin.clips() {
        for bone in (0..clip.frame_count()).flat_map(|frame| palette(skin.rig(), clip, frame)) {
            let stretch = svd3(bone.matrix3).sigma.abs();
            let (least, most) = (stretch.min_element(), stretch.max_element());
            result.max_condition = result.max_condition.max(most / least.max(f64::MIN_POSITIVE));
            result.min_stretch = result.min_stretch.min(least);
            result.max_stretch = result.max_stretch.max(most);
            total += 1;
            reflected += u32::from(bone.matrix3.determinant() < 0.0);
        }
    }
    result.reflected_percent = 100.0 * f64::from(reflected) / f64::from(total.max(1));
    result
}
