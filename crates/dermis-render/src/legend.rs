//! Legend of a colour map: a bar with round numbers.

use glam::Vec2;

use crate::color_map::ColorMap;
use crate::image::Canvas;
use crate::raster::Rect;
use crate::text::TextStyle;

/// A legend of a colour map.
#[derive(Debug, Clone, PartialEq)]
pub struct Legend {
    /// The quantity and its unit.
    pub title: String,
    /// The colours.
    pub map: ColorMap,
    /// Values of the first and the last colour.
    pub range: [f64; 2],
}

/// Height of the legend, in heights of capitals.
pub(crate) const HEIGHT: f32 = 6.0;
/// Maximum number of labels on the bar.
const MAX_TICKS: f64 = 6.0;

impl Legend {
    /// Draws the legend in the middle of `area`.
    pub(crate) fn draw(&self, canvas: &mut Canvas, area: Rect, style: TextStyle) {
        let unit = style.height;
        let width = (0.42 * area.width as f32).clamp((0.8 * area.width as f32).min(16.0 * unit), 48.0 * unit).round();
        let left = (area.x as f32 + 0.5 * (area.width as f32 - width)).round();
        let title = style.fitted(&self.title, area.width as f32 - 2.0 * unit);
        let center = area.x as f32 + 0.5 * area.width as f32;
        let top = area.y as f32 + 0.4 * unit;
        style.draw(canvas, &title, Vec2::new(center - 0.5 * style.width(&title), top + unit));
        let (first, last) = ((top + 2.0 * unit).round(), (top + 3.0 * unit).round());
        for x in 0..width as usize {
            let color = self.map.color((x as f32 + 0.5) / width);
            for y in first as usize..(last as usize).min(canvas.height) {
                let column = left as usize + x;
                if column < canvas.width {
                    canvas.blend(column, y, color, 1.0);
                }
            }
        }
        let [low, high] = self.range;
        for (value, text) in ticks(low, high) {
            let x = left + width * ((value - low) / (high - low)) as f32;
            let column = (x.round() as usize).min(canvas.width - 1);
            for y in last as usize..((last + 0.35 * unit) as usize).min(canvas.height) {
                canvas.blend(column, y, style.color, 1.0);
            }
            style.draw(canvas, &text, Vec2::new(x - 0.5 * style.width(&text), last + 1.7 * unit));
        }
    }
}

/// Round numbers from `low` to `high` and their texts.
fn ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return vec![(low, short(low, 0))];
    }
    let rough = span / MAX_TICKS;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
    let first = (low / step - 1e-6).ceil() as i64;
    let last = (high / step + 1e-6).floor() as i64;
    (first..=last).map(|at| (at as f64 * step, short(at as f64 * step, decimals))).collect()
}

fn short(value: f64, decimals: usize) -> String {
    const MAX_DECIMALS: usize = 4;
    let text = match value {
        0.0 if decimals > MAX_DECIMALS => "0".to_owned(),
        _ if decimals > MAX_DECIMALS || value.abs() >= 1e6 => format!("{value:.1e}").replace(".0e", "e"),
        _ => format!("{value:.decimals$}"),
    };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_round_and_inside_the_range() {
        let texts = |low, high| ticks(low, high).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(0.0, 0.317), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(texts(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(-7.0, 7.0), ["−5", "0", "5"]);
        assert_eq!(texts(0.0, 2e-7), ["0", "5e−8", "1e−7", "1.5e−7", "2e−7"]);
        assert_eq!(texts(3.0, 3.0), ["3"]);
    }
}
