//! A font of strokes of constant width, for labels and legends.
//!
//! A glyph is a width and a list of strokes, separated by semicolons: `L` is a polyline of points `x,y`; `A` is an arc of
//! an ellipse, `centre x,centre y,radius x,radius y,first angle,last angle` in degrees. Capitals are 20 units high,
//! lower-case letters 14, and descenders end at −6.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use glam::Vec2;

/// Height of capitals, in units of the glyphs.
pub(crate) const CAP_HEIGHT: f32 = 20.0;
/// Space after a glyph.
const SPACING: f32 = 5.2;
/// Width of a space.
const SPACE: f32 = 4.0;
/// Angle between the points of an arc.
const ARC_STEP_DEGREES: f32 = 12.0;

/// Character, width, strokes.
const GLYPHS: &[(char, f32, &str)] = &[
    ('0', 12.0, "A6,10,6,10,0,360"),
    ('1', 7.0, "L0,16 6,20 6,0"),
    ('2', 12.0, "A6,14,6,6,165,-38;L10.7,10.3 0,0 12,0"),
    ('3', 11.5, "A5.5,15.2,5,4.8,155,-90;A5.5,5.2,6,5.2,90,-155"),
    ('4', 12.5, "L9.5,0 9.5,20 0,5.5 12.5,5.5"),
    ('5', 12.0, "L11,20 2,20 1.2,10.6;A5.8,6.5,6.2,6.5,138,-150"),
    ('6', 12.0, "A6,6,6,6,0,360;A12,6,12,14,105,180"),
    ('7', 12.0, "L0,20 12,20 4,0"),
    ('8', 12.0, "A6,15.2,5,4.8,0,360;A6,5.2,6,5.2,0,360"),
    ('9', 12.0, "A6,14,6,6,0,360;A0,14,12,14,-75,0"),
    ('A', 15.0, "L0,0 7.5,20 15,0;L2.6,7 12.4,7"),
    ('B', 12.0, "L0,0 0,20 6,20;A6,15.2,4.8,4.8,90,-90;L0,10.4 6.6,10.4;A6.6,5.2,5.4,5.2,90,-90;L6.6,0 0,0"),
    ('C', 15.0, "A9.5,10,9.5,10,48,312"),
    ('D', 14.5, "L0,0 0,20 5,20;A5,10,9.5,10,90,-90;L5,0 0,0"),
    ('E', 11.0, "L11,20 0,20 0,0 11,0;L0,10.4 9.5,10.4"),
    ('F', 10.5, "L10.5,20 0,20 0,0;L0,10.2 9,10.2"),
    ('G', 17.0, "A9.5,10,9.5,10,48,320;L16.8,3.6 16.8,9.4 10,9.4"),
    ('H', 13.5, "L0,0 0,20;L13.5,0 13.5,20;L0,10.4 13.5,10.4"),
    ('I', 0.0, "L0,0 0,20"),
    ('J', 8.0, "L8,20 8,5;A4,5,4,5,0,-165"),
    ('K', 13.0, "L0,0 0,20;L12.5,20 0,7.5;L4.2,11.7 13,0"),
    ('L', 10.0, "L0,20 0,0 10,0"),
    ('M', 17.0, "L0,0 0,20 8.5,5 17,20 17,0"),
    ('N', 14.0, "L0,0 0,20 14,0 14,20"),
    ('O', 19.0, "A9.5,10,9.5,10,0,360"),
    ('P', 11.5, "L0,0 0,20 6,20;A6,14.6,5.4,5.4,90,-90;L6,9.2 0,9.2"),
    ('Q', 19.0, "A9.5,10,9.5,10,0,360;L12,5.5 18.5,-1"),
    ('R', 12.5, "L0,0 0,20 6,20;A6,14.6,5.4,5.4,90,-90;L6,9.2 0,9.2;L6.4,9.2 12.5,0"),
    ('S', 12.0, "A6,15.1,5.4,4.9,38,270;A6,5.1,6,5.1,90,-148"),
    ('T', 14.0, "L0,20 14,20;L7,20 7,0"),
    ('U', 13.0, "L0,20 0,6.5;A6.5,6.5,6.5,6.5,180,360;L13,6.5 13,20"),
    ('V', 14.5, "L0,20 7.2,0 14.5,20"),
    ('W', 21.0, "L0,20 5.2,0 10.5,20 15.8,0 21,20"),
    ('X', 13.0, "L0,0 13,20;L0,20 13,0"),
    ('Y', 14.0, "L0,20 7,10 14,20;L7,10 7,0"),
    ('Z', 13.0, "L0,20 13,20 0,0 13,0"),
    ('a', 12.0, "A6,7,6,7,0,360;L12,14 12,0"),
    ('b', 12.0, "L0,21 0,0;A6,7,6,7,0,360"),
    ('c', 10.6, "A6.5,7,6.5,7,50,310"),
    ('d', 12.0, "A6,7,6,7,0,360;L12,21 12,0"),
    ('e', 12.4, "L0.1,7.2 12.4,7.2;A6.2,7,6.2,7,2,318"),
    ('f', 7.6, "L3,0 3,16.5;A6.8,16.5,3.8,4.5,180,75;L0,13.4 7,13.4"),
    ('g', 12.0, "A6,7,6,7,0,360;L12,14 12,-0.8;A6,-0.8,6,5.4,0,-150"),
    ('h', 11.0, "L0,0 0,21;A5.5,8.5,5.5,5.5,180,0;L11,8.5 11,0"),
    ('i', 0.0, "L0,0 0,14;L0,18.8 0,19.4"),
    ('j', 2.5, "L2.5,14 2.5,-2.8;A-0.8,-2.8,3.3,3.3,0,-85;L2.5,18.8 2.5,19.4"),
    ('k', 10.0, "L0,0 0,21;L9.5,14 0,5.4;L3.6,8.6 10,0"),
    ('l', 0.0, "L0,0 0,21"),
    ('m', 18.4, "L0,0 0,14;A4.6,9.4,4.6,4.6,180,0;L9.2,9.4 9.2,0;A13.8,9.4,4.6,4.6,180,0;L18.4,9.4 18.4,0"),
    ('n', 11.0, "L0,0 0,14;A5.5,8.5,5.5,5.5,180,0;L11,8.5 11,0"),
    ('o', 13.0, "A6.5,7,6.5,7,0,360"),
    ('p', 12.0, "L0,14 0,-6;A6,7,6,7,0,360"),
    ('q', 12.0, "A6,7,6,7,0,360;L12,14 12,-6"),
    ('r', 6.6, "L0,0 0,14;A6,8,6,6,180,78"),
    ('s', 9.4, "A4.7,10.5,4.2,3.5,38,270;A4.7,3.5,4.7,3.5,90,-150"),
    ('t', 7.4, "L3,19 3,4;A7,4,4,4,180,278;L0,14 7,14"),
    ('u', 11.0, "L0,14 0,5.5;A5.5,5.5,5.5,5.5,180,360;L11,14 11,0"),
    ('v', 11.0, "L0,14 5.5,0 11,14"),
    ('w', 17.0, "L0,14 4.2,0 8.5,14 12.8,0 17,14"),
    ('x', 10.5, "L0,0 10.5,14;L0,14 10.5,0"),
    ('y', 11.0, "L0,14 5.5,0;L11,14 3.2,-6"),
    ('z', 10.0, "L0,14 10,14 0,0 10,0"),
    ('ä', 12.0, "A6,7,6,7,0,360;L12,14 12,0;L3.5,18.5 3.5,18.9;L8.5,18.5 8.5,18.9"),
    ('ö', 13.0, "A6.5,7,6.5,7,0,360;L4,18.5 4,18.9;L9,18.5 9,18.9"),
    ('ü', 11.0, "L0,14 0,5.5;A5.5,5.5,5.5,5.5,180,360;L11,14 11,0;L3,18.5 3,18.9;L8,18.5 8,18.9"),
    ('é', 12.4, "L0.1,7.2 12.4,7.2;A6.2,7,6.2,7,2,318;L5.5,17.5 8.5,20.5"),
    ('.', 0.0, "L0,0 0,0.5"),
    (',', 1.0, "L1,0.6 0,-3.6"),
    (':', 0.0, "L0,0 0,0.5;L0,10.5 0,11"),
    (';', 1.0, "L1,0.6 0,-3.6;L1,10.5 1,11"),
    ('!', 0.0, "L0,20 0,6;L0,0 0,0.5"),
    ('?', 10.0, "A5,15.2,5,4.8,165,-70;L6.6,10.6 5,8.4 5,6;L5,0 5,0.5"),
    ('\'', 0.0, "L0,20 0,15.5"),
    ('"', 4.0, "L0,20 0,15.5;L4,20 4,15.5"),
    ('-', 6.5, "L0,7.6 6.5,7.6"),
    ('–', 10.0, "L0,7.6 10,7.6"),
    ('−', 11.5, "L0,8 11.5,8"),
    ('+', 11.5, "L0,8 11.5,8;L5.8,2.2 5.8,13.8"),
    ('±', 11.5, "L0,10 11.5,10;L5.8,4.4 5.8,15.6;L0,0.6 11.5,0.6"),
    ('=', 11.5, "L0,10.6 11.5,10.6;L0,5.2 11.5,5.2"),
    ('<', 11.0, "L11,14 0,8 11,2"),
    ('>', 11.0, "L0,14 11,8 0,2"),
    ('×', 9.5, "L0,3 9.5,12.5;L0,12.5 9.5,3"),
    ('*', 8.0, "L4,20 4,11;L0,17.8 8,13.2;L0,13.2 8,17.8"),
    ('/', 8.5, "L0,-2.5 8.5,22"),
    ('\\', 8.5, "L0,22 8.5,-2.5"),
    ('|', 0.0, "L0,-3 0,22"),
    ('_', 12.0, "L0,-3 12,-3"),
    ('(', 4.0, "A9,9.5,9,14,122,238"),
    (')', 4.0, "A-5,9.5,9,14,-58,58"),
    ('[', 4.5, "L4.5,22 0,22 0,-3 4.5,-3"),
    (']', 4.5, "L0,22 4.5,22 4.5,-3 0,-3"),
    ('%', 18.0, "A4,16,4,4,0,360;A14,4,4,4,0,360;L14.6,20 3.4,0"),
    ('°', 6.0, "A3,17,3,3,0,360"),
    ('#', 14.0, "L3,0 6,20;L8.5,0 11.5,20;L0,6.6 13,6.6;L1.4,13.4 14,13.4"),
    ('&', 15.0, "L15,0 3.6,14;A6.4,16.2,3.6,3.8,215,-35;L9.4,14 2.2,8.8;A5.4,4.8,5.4,4.8,130,300;L8.2,0.7 14.4,8.4"),
    ('…', 12.0, "L0,0 0,0.5;L6,0 6,0.5;L12,0 12,0.5"),
    ('µ', 11.0, "L0,14 0,-6;L0,5.5 0,5.5;A5.5,5.5,5.5,5.5,180,360;L11,14 11,0"),
];

/// Strokes of a character without a glyph: an empty box.
const MISSING: (f32, &str) = (10.0, "L0,0 10,0 10,20 0,20 0,0");

/// A glyph: its width and polylines.
#[derive(Debug)]
pub(crate) struct Glyph {
    pub(crate) width: f32,
    pub(crate) strokes: Vec<Vec<Vec2>>,
}

/// The glyph of a character.
pub(crate) fn glyph(character: char) -> &'static Glyph {
    static ALL: OnceLock<BTreeMap<char, Glyph>> = OnceLock::new();
    static BOX: OnceLock<Glyph> = OnceLock::new();
    static EMPTY: Glyph = Glyph { width: SPACE, strokes: Vec::new() };
    if character.is_whitespace() {
        return &EMPTY;
    }
    let all = ALL.get_or_init(|| GLYPHS.iter().map(|&(name, width, strokes)| (name, parsed(width, strokes))).collect());
    all.get(&character).unwrap_or_else(|| BOX.get_or_init(|| parsed(MISSING.0, MISSING.1)))
}

fn parsed(width: f32, strokes: &str) -> Glyph {
    Glyph { width, strokes: strokes.split(';').map(stroke).collect() }
}

fn stroke(text: &str) -> Vec<Vec2> {
    let numbers = |text: &str| -> Vec<f32> { text.split(',').filter_map(|number| number.parse().ok()).collect() };
    let (kind, rest) = text.split_at(1);
    if kind == "L" {
        return rest.split(' ').map(|point| Vec2::from_slice(&numbers(point))).collect();
    }
    let numbers = numbers(rest);
    let (center, radii) = (Vec2::from_slice(&numbers[..2]), Vec2::from_slice(&numbers[2..4]));
    let (from, to) = (numbers[4], numbers[5]);
    let steps = ((to - from).abs() / ARC_STEP_DEGREES).ceil().max(1.0);
    let point = |step: usize| {
        let angle = (from + (to - from) * step as f32 / steps).to_radians();
        center + radii * Vec2::new(angle.cos(), angle.sin())
    };
    (0..=steps as usize).map(point).collect()
}

/// Width of a text, in units of the glyphs.
pub(crate) fn width_of(text: &str) -> f32 {
    let width: f32 = text.chars().map(|character| glyph(character).width + SPACING).sum();
    (width - SPACING).max(0.0)
}

/// Segments of a text that starts at the origin, with y up.
pub(crate) fn segments(text: &str) -> Vec<[Vec2; 2]> {
    let mut found = Vec::new();
    let mut x = 0.0;
    for character in text.chars() {
        let glyph = glyph(character);
        for stroke in &glyph.strokes {
            found.extend(stroke.windows(2).map(|two| [two[0] + Vec2::new(x, 0.0), two[1] + Vec2::new(x, 0.0)]));
        }
        x += glyph.width + SPACING;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_glyph_is_inside_its_box() {
        for &(name, width, _) in GLYPHS {
            let glyph = glyph(name);
            assert!(!glyph.strokes.is_empty(), "{name}");
            for point in glyph.strokes.iter().flatten() {
                let inside = (-4.2..=width + 1.0).contains(&point.x) && (-6.5..=22.5).contains(&point.y);
                assert!(inside, "{name}: {point}");
            }
        }
    }

    #[test]
    fn letters_digits_and_signs_of_legends_have_glyphs() {
        let needed = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(" .,:-−%()/_°…".chars());
        for character in needed.filter(|character| *character != ' ') {
            assert!(GLYPHS.iter().any(|(name, ..)| *name == character), "{character}");
        }
        assert_eq!(glyph('漢').strokes[0].len(), 5);
    }
}
