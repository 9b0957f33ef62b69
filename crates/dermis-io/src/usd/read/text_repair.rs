//! Rewrites `.usda` text that the format allows but the parser rejects, so that a single unusual statement does not
//! make a stage unreadable.
//!
//! - Numbers without a digit before or after the point: `.25` and `1.`.
//! - Spaces after the first line, and C-style comments.
//! - Types of older versions (`PointFloat` for `point3f`), arrays of unsigned integers, and the modifier `config`.
//! - Assets over time, of which the first is kept, and assets in quotes.
//! - Attributes of unknown types, which are dropped, since none is needed.
//!
//! Like [`super::text_check`] this is not a parser: it distinguishes only quotes, comments, brackets and first words.

use std::borrow::Cow;

use super::text_check::quoted_end;

/// Type names of older versions, and their current names.
const OLD_TYPES: [(&str, &str); 30] = [
    ("Vec2i", "int2"),
    ("Vec3i", "int3"),
    ("Vec4i", "int4"),
    ("Vec2h", "half2"),
    ("Vec3h", "half3"),
    ("Vec4h", "half4"),
    ("Vec2f", "float2"),
    ("Vec3f", "float3"),
    ("Vec4f", "float4"),
    ("Vec2d", "double2"),
    ("Vec3d", "double3"),
    ("Vec4d", "double4"),
    ("Quath", "quath"),
    ("Quatf", "quatf"),
    ("Quatd", "quatd"),
    ("Matrix2d", "matrix2d"),
    ("Matrix3d", "matrix3d"),
    ("Matrix4d", "matrix4d"),
    ("Frame", "frame4d"),
    ("Transform", "matrix4d"),
    ("Point", "point3d"),
    ("PointFloat", "point3f"),
    ("Normal", "normal3d"),
    ("NormalFloat", "normal3f"),
    ("Vector", "vector3d"),
    ("VectorFloat", "vector3f"),
    ("Color", "color3d"),
    ("ColorFloat", "color3f"),
    ("PointIndex", "int"),
    ("EdgeIndex", "int"),
];
const TYPES: [&str; 44] = [
    "bool", "uchar", "int", "int2", "int3", "int4", "uint", "int64", "uint64", "half", "half2", "half3", "half4",
    "float", "float2", "float3", "float4", "double", "double2", "double3", "double4", "string", "token", "asset",
    "timecode", "matrix2d", "matrix3d", "matrix4d", "frame4d", "quath", "quatf", "quatd", "dictionary", "point3h",
    "normal3h", "vector3h", "color3h", "color4h", "texCoord2h", "texCoord3h", "opaque", "group", "rel", "variantSet",
];
/// Types that exist in single and double precision, without the last letter.
const REAL_TYPES: [&str; 7] = ["point3", "normal3", "vector3", "color3", "color4", "texCoord2", "texCoord3"];
/// Words before the type of an attribute.
const MODIFIERS: [&[u8]; 9] =
    [b"custom", b"uniform", b"varying", b"config", b"add", b"append", b"prepend", b"delete", b"reorder"];
/// First words of statements that are not attributes.
const OTHERS: [&[u8]; 9] =
    [b"def", b"over", b"class", b"rel", b"variantSet", b"nameChildren", b"properties", b"variants", b"variantSets"];

/// The text in a form that the parser accepts.
pub(super) fn repaired(text: &[u8]) -> Cow<'_, [u8]> {
    let statements = Statements { text, at: 0, out: Vec::new(), copied: 0 }.run();
    match statements {
        Some(edited) => Cow::Owned(numbers(&edited).unwrap_or(edited)),
        None => numbers(text).map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// Contents of an open brace.
#[derive(Clone, Copy, PartialEq)]
enum Brace {
    /// Statements of a prim or of a variant.
    Body,
    /// Variants.
    Variants,
    /// A dictionary or samples over time.
    Value,
}

struct Statements<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
    /// Number of bytes of the text that are in the output, if it has any.
    copied: usize,
}

impl Statements<'_> {
    /// The text with its statements repaired; `None` if none needs it.
    fn run(mut self) -> Option<Vec<u8>> {
        let mut braces = vec![Brace::Body];
        let mut next = Brace::Body;
        let mut is_start = true;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'"' | b'\'' | b'@' => self.at = quoted_end(self.text, self.at, byte),
                b'#' => self.at = self.line_end(),
                b'/' if self.is_comment() => {
                    self.at = self.comment_end();
                    continue;
                }
                b'(' | b'[' => {
                    self.at = balanced_end(self.text, self.at);
                    is_start = false;
                    continue;
                }
                b'{' => {
                    braces.push(if braces.last() == Some(&Brace::Variants) { Brace::Body } else { next });
                    is_start = true;
                }
                b'}' => {
                    braces.pop();
                    is_start = true;
                }
                b'\n' | b';' => is_start = true,
                b' ' | b'\t' | b'\r' => {}
                _ if is_start && braces.last() == Some(&Brace::Body) => {
                    is_start = false;
                    let first = word(self.text, self.at);
                    next = match first {
                        b"variantSet" => Brace::Variants,
                        b"def" | b"over" | b"class" => Brace::Body,
                        _ => Brace::Value,
                    };
                    if next == Brace::Value && self.attribute() {
                        is_start = true;
                        continue;
                    }
                }
                _ => is_start = false,
            }
            self.at += 1;
        }
        if self.copied == 0 {
            return None;
        }
        self.copy_to(self.text.len());
        Some(self.out)
    }

    /// Repairs the attribute that begins here; returns true if it was replaced or skipped as a whole.
    fn attribute(&mut self) -> bool {
        let (text, start) = (self.text, self.at);
        let mut at = start;
        let mut config = None;
        let (type_at, type_name) = loop {
            let found = word(text, at);
            if found.is_empty() || OTHERS.contains(&found) {
                return false;
            }
            if !MODIFIERS.contains(&found) {
                break (at, found);
            }
            if found == b"config" {
                config = Some(at);
            }
            at = after_spaces(text, at + found.len());
        };
        let Ok(type_name) = std::str::from_utf8(type_name) else { return false };
        let mut at = type_at + type_name.len();
        let is_array = text[at..].starts_with(b"[]");
        at = after_spaces(text, at + if is_array { 2 } else { 0 });
        let name = word(text, at);
        if name.is_empty() || at == type_at + type_name.len() {
            return false;
        }
        at = after_spaces(text, at + name.len());
        let value = (text.get(at) == Some(&b'=')).then(|| after_spaces(text, at + 1));
        if let Some(config) = config {
            self.replace(config, config + b"config".len(), b"uniform");
        }
        if let Some((_, present)) = OLD_TYPES.iter().find(|(old, _)| *old == type_name) {
            self.replace(type_at, type_at + type_name.len(), present.as_bytes());
        } else if is_array && matches!(type_name, "uint" | "FaceIndex") {
            self.replace(type_at, type_at + type_name.len(), b"int");
        } else if let (false, Some(value)) = (is_known(type_name), value) {
            self.replace(start, statement_end(text, value), b"");
            return true;
        } else if let ("asset", false, Some(value)) = (type_name, is_array, value) {
            return self.asset(at, name, value);
        }
        false
    }

    /// Repairs an asset whose value begins at `value`; `name_end` is the end of its name.
    fn asset(&mut self, equals: usize, name: &[u8], value: usize) -> bool {
        let text = self.text;
        match text.get(value) {
            Some(&mark @ (b'"' | b'\'')) => {
                let end = quoted_end(text, value, mark);
                let inside = text.get(value + 1..end).unwrap_or_default().to_vec();
                self.replace(value, (end + 1).min(text.len()), &[b"@", &*inside, b"@"].concat());
                true
            }
            Some(b'{') if name.ends_with(b".timeSamples") => {
                let end = balanced_end(text, value);
                let asset = text[value..end].iter().position(|&byte| byte == b'@').map(|at| value + at);
                let asset = asset.map(|at| &text[at..=quoted_end(text, at, b'@').min(text.len() - 1)]);
                let name_end =
                    text[..equals].iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
                let first = asset.unwrap_or(b"@@").to_vec();
                self.replace(name_end - b".timeSamples".len(), end, &[b" = ", &*first].concat());
                true
            }
            _ => false,
        }
    }

    /// Replaces a range of the text by `with`, and continues after it.
    fn replace(&mut self, start: usize, end: usize, with: &[u8]) {
        self.copy_to(start);
        self.out.extend_from_slice(with);
        self.copied = end;
        self.at = end;
    }

    fn copy_to(&mut self, end: usize) {
        self.out.extend_from_slice(&self.text[self.copied..end]);
        self.copied = end;
    }

    fn line_end(&self) -> usize {
        line_end(self.text, self.at)
    }

    fn is_comment(&self) -> bool {
        is_comment(self.text, self.at)
    }

    fn comment_end(&self) -> usize {
        comment_end(self.text, self.at)
    }
}

fn is_known(type_name: &str) -> bool {
    let real = type_name.strip_suffix(['f', 'd']).is_some_and(|base| REAL_TYPES.contains(&base));
    real || TYPES.contains(&type_name)
}

/// The word of a name or a type at `at`.
fn word(text: &[u8], at: usize) -> &[u8] {
    let rest = text.get(at..).unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.') || !byte.is_ascii();
    &rest[..rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len())]
}

fn after_spaces(text: &[u8], from: usize) -> usize {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !is_space(byte)).unwrap_or(rest.len())
}

fn line_end(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| from + at).saturating_sub(1).max(from)
}

fn is_comment(text: &[u8], at: usize) -> bool {
    matches!(text.get(at + 1), Some(b'/' | b'*'))
}

/// The byte after a C-style comment; the end of its line is not part of it.
fn comment_end(text: &[u8], at: usize) -> usize {
    if text[at + 1] == b'*' {
        let inside = at + 2;
        return text[inside..].windows(2).position(|two| two == b"*/").map_or(text.len(), |end| inside + end + 2);
    }
    text[at..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| at + end)
}

/// The byte after the bracket that closes the one at `start`.
fn balanced_end(text: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0usize, start);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b'"' | b'\'' | b'@' => at = quoted_end(text, at, byte),
            b'#' => at = line_end(text, at),
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// The end of a statement whose value begins at `value`, after its metadata.
fn statement_end(text: &[u8], value: usize) -> usize {
    let mut at = value;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'(' | b'[' | b'{' => at = balanced_end(text, at),
            b'"' | b'\'' | b'@' => at = quoted_end(text, at, byte) + 1,
            b'\n' | b';' | b'}' | b'#' => break,
            _ => at += 1,
        }
    }
    let at = at.min(text.len());
    let next = text[at..].iter().position(|byte| !byte.is_ascii_whitespace()).map(|after| at + after);
    match next {
        Some(next) if text[next] == b'(' => balanced_end(text, next),
        _ => at,
    }
}

/// The text with its first line, numbers and comments repaired; `None` if nothing needs it.
fn numbers(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut replace = |out: &mut Vec<u8>, start: usize, end: usize, with: &[u8]| {
        out.extend_from_slice(&text[copied..start]);
        out.extend_from_slice(with);
        copied = end;
    };
    let first_line = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    let trimmed = text[..first_line].trim_ascii_end().len();
    let mut changed = false;
    if text.starts_with(b"#usda") && trimmed < first_line {
        replace(&mut out, trimmed, first_line, b"");
        changed = true;
    }
    let mut at = first_line;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' | b'\'' | b'@' => at = quoted_end(text, at, byte),
            b'<' => {
                at =
                    text[at..].iter().position(|&byte| matches!(byte, b'>' | b'\n')).map_or(text.len(), |end| at + end);
            }
            b'#' => at = line_end(text, at),
            b'/' if is_comment(text, at) => {
                let end = comment_end(text, at);
                replace(&mut out, at, end, b"");
                changed = true;
                at = end;
                continue;
            }
            _ if byte.is_ascii_alphabetic() || byte == b'_' => at += word(text, at).len().max(1) - 1,
            _ if byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-') => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-' | b'e' | b'E');
                let length = text[at..].iter().position(|byte| !is_part(byte)).unwrap_or(text.len() - at);
                let token = &text[at..at + length];
                if let Some(point) = token.iter().position(|&byte| byte == b'.') {
                    let digit =
                        |index: Option<usize>| index.and_then(|index| token.get(index)).is_some_and(u8::is_ascii_digit);
                    let (before, after) = (digit(point.checked_sub(1)), digit(Some(point + 1)));
                    if before != after {
                        let place = at + point + usize::from(before);
                        replace(&mut out, place, place, b"0");
                        changed = true;
                    }
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    if !changed {
        return None;
    }
    out.extend_from_slice(&text[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        String::from_utf8(repaired(source.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn valid_text_is_unchanged() {
        let source = "#usda 1.0\n(\n    metersPerUnit = 0.01 # .5\n)\ndef Mesh \"a.1\" (\n    doc = \"\"\"1. .2\n// x\"\"\"\n) {\n\
                      \u{20}   point3f[] points.timeSamples = {\n        1: [(0.5, 1e-3, -2)],\n    }\n\
                      \u{20}   rel r = </a.b>\n    asset f = @./x.1.png@\n    custom string s = 'it // is 1.'\n}\n";
        assert!(matches!(repaired(source.as_bytes()), Cow::Borrowed(_)), "{}", text(source));
    }

    #[test]
    fn numbers_without_digits_on_one_side_are_completed() {
        assert_eq!(
            text("#usda 1.0  \ndef \"a\" { float x = .25; float3 y = (1., -.5, 2.e3) }"),
            "#usda 1.0\ndef \"a\" { float x = 0.25; float3 y = (1.0, -0.5, 2.0e3) }"
        );
    }

    #[test]
    fn old_types_and_unsigned_arrays_are_renamed() {
        assert_eq!(
            text(
                "#usda 1.0\ndef Mesh \"a\" {\n    PointFloat[] points = [(0, 0, 0)]\n    custom uint[] i = [1]\n    uint u = 1\n}"
            ),
            "#usda 1.0\ndef Mesh \"a\" {\n    point3f[] points = [(0, 0, 0)]\n    custom int[] i = [1]\n    uint u = 1\n}"
        );
        assert_eq!(
            text("#usda 1.0\ndef \"a\" {\n    config token id = \"x\"\n}"),
            "#usda 1.0\ndef \"a\" {\n    uniform token id = \"x\"\n}"
        );
    }

    #[test]
    fn assets_over_time_keep_the_first_and_unknown_types_are_dropped() {
        assert_eq!(
            text(
                "#usda 1.0\ndef \"a\" {\n    asset f.timeSamples = {\n        1: @a.png@,\n        2: @b.png@,\n    }\n    asset g = \"c.png\"\n}"
            ),
            "#usda 1.0\ndef \"a\" {\n    asset f = @a.png@\n    asset g = @c.png@\n}"
        );
        assert_eq!(
            text(
                "#usda 1.0\ndef \"a\" {\n    pathExpression p = \"//\" (\n        doc = \"}\"\n    )\n    int x = 1\n    flaot y = 2\n}"
            ),
            "#usda 1.0\ndef \"a\" {\n    \n    int x = 1\n    \n}"
        );
    }

    #[test]
    fn variants_are_searched_and_comments_removed() {
        assert_eq!(
            text(
                "#usda 1.0\ndef \"a\" {\n    // note\n    variantSet \"v\" = {\n        \"x\" {\n            Vec3f t = (1, 2, 3)\n        }\n    }\n}"
            ),
            "#usda 1.0\ndef \"a\" {\n    \n    variantSet \"v\" = {\n        \"x\" {\n            float3 t = (1, 2, 3)\n        }\n    }\n}"
        );
    }

    #[test]
    fn repairing_damaged_text_terminates() {
        for source in [
            "#usda 1.0\ndef \"a\" {\n asset f = \"",
            "#usda 1.0\nfoo x = (",
            "/*",
            "//",
            "asset a.timeSamples = {",
            "@",
            "config",
            ". - +",
        ] {
            let _ = text(source);
        }
    }
}
