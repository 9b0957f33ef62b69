//! Conversion of colours between linear light (glTF, and layouts of dermis) and sRGB (OBJ, PLY).

use glam::Vec4;

/// An sRGB colour as linear light; alpha is the same in both.
pub(crate) fn to_linear(color: Vec4) -> Vec4 {
    // IEC 61966-2-1.
    let channel = |c: f32| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    Vec4::new(channel(color.x), channel(color.y), channel(color.z), color.w)
}

/// A linear colour as sRGB; alpha is the same in both.
pub(crate) fn to_srgb(color: Vec4) -> Vec4 {
    let channel = |c: f32| if c <= 0.003_130_8 { c * 12.92 } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
    Vec4::new(channel(color.x), channel(color.y), channel(color.z), color.w)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_round_trips_through_linear() {
        for byte in 0..=255u8 {
            let back = to_srgb(to_linear(Vec4::splat(f32::from(byte) / 255.0)));
            assert_eq!((back.x * 255.0).round() as u8, byte);
        }
    }
}
