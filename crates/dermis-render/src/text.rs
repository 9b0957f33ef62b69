//! Text on a picture.

use glam::Vec2;

use crate::image::Canvas;
use crate::stroke_font::{CAP_HEIGHT, segments, width_of};

/// Width of the strokes, relative to the height of capitals.
const WEIGHT: f32 = 0.115;

/// Size and colour of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextStyle {
    /// Height of capitals in pixels.
    pub(crate) height: f32,
    /// Linear colour.
    pub(crate) color: [f32; 3],
}

impl TextStyle {
    /// Width of a text in pixels.
    pub(crate) fn width(self, text: &str) -> f32 {
        width_of(text) * self.height / CAP_HEIGHT
    }

    /// `text`, shortened at its end to at most `width` pixels.
    pub(crate) fn fitted(self, text: &str, width: f32) -> String {
        if self.width(text) <= width {
            return text.to_owned();
        }
        let mut short: Vec<char> = text.chars().collect();
        while short.pop().is_some() {
            let candidate = format!("{}…", short.iter().collect::<String>().trim_end());
            if self.width(&candidate) <= width {
                return candidate;
            }
        }
        String::new()
    }

    /// Draws `text` with its baseline at `at`, from there to the right.
    pub(crate) fn draw(self, canvas: &mut Canvas, text: &str, at: Vec2) {
        let scale = self.height / CAP_HEIGHT;
        let radius = (0.5 * WEIGHT * self.height).max(0.55);
        let place = |point: Vec2| at + Vec2::new(point.x, -point.y) * scale;
        let segments: Vec<[Vec2; 2]> = segments(text).into_iter().map(|ends| ends.map(place)).collect();
        let reach = radius + 1.0;
        let (low, high) = segments
            .iter()
            .flatten()
            .fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(low, high), point| (low.min(*point), high.max(*point)));
        let range = |low: f32, high: f32, size: usize| {
            let clamp = |at: f32| at.clamp(0.0, size as f32) as usize;
            clamp((low - reach).floor())..clamp((high + reach).ceil())
        };
        if !low.is_finite() {
            return;
        }
        for y in range(low.y, high.y, canvas.height) {
            for x in range(low.x, high.x, canvas.width) {
                let pixel = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
                let near = segments.iter().filter(|[a, b]| {
                    let (low, high) = (a.min(*b) - reach, a.max(*b) + reach);
                    pixel.cmpge(low).all() && pixel.cmple(high).all()
                });
                let distance = near.map(|ends| distance(pixel, *ends)).fold(f32::INFINITY, f32::min);
                let alpha = (radius + 0.5 - distance).clamp(0.0, 1.0);
                if alpha > 0.0 {
                    canvas.blend(x, y, self.color, alpha);
                }
            }
        }
    }
}

/// Distance of a point from a segment.
fn distance(point: Vec2, [a, b]: [Vec2; 2]) -> f32 {
    let along = b - a;
    let at = ((point - a).dot(along) / along.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    point.distance(a + along * at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_shortened() {
        let style = TextStyle { height: 10.0, color: [0.0; 3] };
        assert_eq!(style.fitted("walk", 1000.0), "walk");
        let short = style.fitted("a very long label of a panel", 100.0);
        assert!(short.ends_with('…') && style.width(&short) <= 100.0, "{short}");
        assert_eq!(style.fitted("walk", 1.0), "");
    }

    #[test]
    fn strokes_are_where_the_glyph_is() {
        let mut canvas = Canvas::new(20, 30);
        TextStyle { height: 20.0, color: [1.0; 3] }.draw(&mut canvas, "I", Vec2::new(10.0, 25.0));
        let row: Vec<f32> = (0..20).map(|x| canvas.pixels[15 * 20 + x][3]).collect();
        assert!(row[9] > 0.9 && row[10] > 0.9 && row[5] == 0.0 && row[14] == 0.0, "{row:?}");
        assert!(canvas.pixels[2 * 20 + 10][3] == 0.0 && canvas.pixels[28 * 20 + 10][3] == 0.0);
    }
}
