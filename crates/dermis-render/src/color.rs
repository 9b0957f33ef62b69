//! Colour spaces: sRGB, Oklab (Ottosson 2020), and tone mapping.

/// Linear light of an sRGB value.
pub fn decode_srgb(value: f32) -> f32 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

/// sRGB value of linear light.
pub fn encode_srgb(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// A value from 0 to 1 as a byte.
pub(crate) fn to_byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

/// Linear colour of `#rrggbb`.
pub(crate) const fn rgb(hex: u32) -> [u8; 3] {
    [(hex >> 16) as u8, (hex >> 8) as u8, hex as u8]
}

/// Linear colour of 8-bit sRGB.
pub fn linear_of(bytes: [u8; 3]) -> [f32; 3] {
    bytes.map(|byte| decode_srgb(f32::from(byte) / 255.0))
}

/// Linear sRGB colour of the Oklab colour with lightness, chroma and hue (in degrees). The chroma is reduced until the
/// colour can be displayed, so that lightness and hue are kept.
pub fn oklch(lightness: f32, chroma: f32, hue_degrees: f32) -> [f32; 3] {
    const STEPS: usize = 12;
    let color = |chroma: f32| {
        let (sin, cos) = hue_degrees.to_radians().sin_cos();
        oklab([lightness, chroma * cos, chroma * sin])
    };
    let is_displayable = |color: [f32; 3]| color.iter().all(|channel| (-1e-4..=1.0 + 1e-4).contains(channel));
    if is_displayable(color(chroma)) {
        return color(chroma).map(|channel| channel.clamp(0.0, 1.0));
    }
    let (mut low, mut high) = (0.0, chroma);
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if is_displayable(color(middle)) { low = middle } else { high = middle }
    }
    color(low).map(|channel| channel.clamp(0.0, 1.0))
}

fn oklab([lightness, a, b]: [f32; 3]) -> [f32; 3] {
    let l = (lightness + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
    let m = (lightness - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
    let s = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
    [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ]
}

/// Light at which the shoulder of the tone curve begins.
const SHOULDER: f32 = 0.72;
/// Desaturation of highlights beyond the shoulder.
const DESATURATION: f32 = 0.10;

/// Tone curve from scene light to displayed light: linear up to a shoulder that approaches white, with the same hue.
/// Highlights lose saturation as on film. Base colours are kept, so that a colour map is readable on a lit surface.
pub(crate) fn tone_map(color: [f32; 3]) -> [f32; 3] {
    let peak = color[0].max(color[1]).max(color[2]);
    if peak <= SHOULDER {
        return color.map(|channel| channel.max(0.0));
    }
    let room = 1.0 - SHOULDER;
    let mapped = 1.0 - room * room / (peak + room - SHOULDER);
    let white = 1.0 - 1.0 / (DESATURATION * (peak - mapped) + 1.0);
    color.map(|channel| {
        let scaled = channel.max(0.0) * mapped / peak;
        scaled + (mapped - scaled) * white
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_is_inverted() {
        for value in [0.0, 0.01, 0.2, 0.5, 1.0] {
            assert!((encode_srgb(decode_srgb(value)) - value).abs() < 1e-5, "{value}");
        }
    }

    #[test]
    fn greys_of_oklab_are_neutral_and_saturated_colours_are_displayable() {
        let grey = oklch(0.5, 0.0, 123.0);
        assert!((grey[0] - 0.125).abs() < 1e-3 && (grey[0] - grey[1]).abs() < 1e-3 && (grey[0] - grey[2]).abs() < 1e-3);
        for hue in 0..36 {
            assert!(oklch(0.7, 0.4, 10.0 * hue as f32).iter().all(|channel| (0.0..=1.0).contains(channel)));
        }
    }

    #[test]
    fn the_tone_curve_is_linear_below_the_shoulder_and_stays_below_white() {
        assert_eq!(tone_map([0.1, 0.2, 0.3]), [0.1, 0.2, 0.3]);
        let mut last = 0.0;
        for step in 1..200 {
            let [mapped, ..] = tone_map([0.05 * step as f32; 3]);
            assert!(mapped > last && mapped < 1.0, "{mapped}");
            last = mapped;
        }
    }
}
