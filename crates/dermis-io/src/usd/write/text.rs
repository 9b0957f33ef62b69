//! The text of a `.usda` file: indentation, numbers, lists and time samples, streamed to a writer.
//!
//! Numbers are printed with the fewest digits that preserve their bits.

use std::fmt::Display;
use std::io::Write;

use glam::{DAffine3, Quat, Vec2, Vec3};

use super::layer::{Layer, Metadata, Value};
use crate::error::Error;

/// Writer of a text.
pub(super) struct Text<'a> {
    out: &'a mut dyn Write,
    depth: usize,
}

impl<'a> Text<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, depth: 0 }
    }

    /// A whole line.
    fn line(&mut self, line: impl Display) -> Result<(), Error> {
        self.start(line)?;
        self.raw("\n")
    }

    /// Starts a line.
    fn start(&mut self, start: impl Display) -> Result<(), Error> {
        let width = 4 * self.depth;
        Ok(write!(self.out, "{:width$}{start}", "")?)
    }

    /// Continues a line.
    fn raw(&mut self, text: impl Display) -> Result<(), Error> {
        Ok(write!(self.out, "{text}")?)
    }

    /// Metadata at the end of the line.
    fn metadata(&mut self, metadata: &[Metadata]) -> Result<(), Error> {
        if metadata.is_empty() {
            return Ok(());
        }
        self.raw(" (\n")?;
        self.depth += 1;
        metadata.iter().try_for_each(|entry| self.line(printed(entry)))?;
        self.depth -= 1;
        self.start(")")
    }

    fn print(&mut self, value: Value<'_>) -> Result<(), Error> {
        match value {
            Value::Token(text) | Value::Text(text) => self.raw(quoted(text)),
            Value::Asset(path) => self.raw(format_args!("@{path}@")),
            Value::Bool(value) => self.raw(u8::from(value)),
            Value::Float(value) => self.raw(value),
            Value::Vec3([x, y, z]) => self.raw(format_args!("({x}, {y}, {z})")),
            Value::Vec4([x, y, z, w]) => self.raw(format_args!("({x}, {y}, {z}, {w})")),
            Value::Ints(items) => self.items(items),
            Value::Floats(items) => self.items(items),
            Value::Vec2s(items) => self.items(items),
            Value::Vec3s(items) => self.items(items),
            Value::Quats(items) => self.items(items),
            Value::Matrices(items) => self.items(items),
            Value::Tokens(items) => self.items(items),
        }
    }

    /// `[items]`.
    fn items<T: Item>(&mut self, items: &[T]) -> Result<(), Error> {
        self.raw("[")?;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.raw(", ")?;
            }
            item.print(self.out)?;
        }
        self.raw("]")
    }
}

impl Layer for Text<'_> {
    fn begin(&mut self, metadata: &[Metadata]) -> Result<(), Error> {
        self.start("#usda 1.0\n")?;
        self.start("(\n")?;
        metadata.iter().try_for_each(|entry| self.line(format_args!("    {}", printed(entry))))?;
        self.line(")\n")
    }

    fn open(&mut self, kind: &str, name: &str, metadata: &[Metadata]) -> Result<(), Error> {
        self.start(format_args!("def {kind} {}", quoted(name)))?;
        self.metadata(metadata)?;
        self.raw("\n")?;
        self.line("{")?;
        self.depth += 1;
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        self.depth -= 1;
        self.line("}")
    }

    fn attribute(&mut self, declaration: &str, value: Option<Value<'_>>, metadata: &[Metadata]) -> Result<(), Error> {
        self.start(declaration)?;
        if let Some(value) = value {
            self.raw(" = ")?;
            self.print(value)?;
        }
        self.metadata(metadata)?;
        self.raw("\n")
    }

    fn connect(&mut self, declaration: &str, target: &str) -> Result<(), Error> {
        self.line(format_args!("{declaration}.connect = <{target}>"))
    }

    fn relationship(&mut self, name: &str, targets: &[String]) -> Result<(), Error> {
        let paths: Vec<String> = targets.iter().map(|target| format!("<{target}>")).collect();
        match paths.as_slice() {
            [path] => self.line(format_args!("rel {name} = {path}")),
            paths => self.line(format_args!("rel {name} = [{}]", paths.join(", "))),
        }
    }

    fn open_samples(&mut self, declaration: &str) -> Result<(), Error> {
        self.line(format_args!("{declaration}.timeSamples = {{"))?;
        self.depth += 1;
        Ok(())
    }

    fn sample(&mut self, time: f64, value: Value<'_>) -> Result<(), Error> {
        self.start(format_args!("{time}: "))?;
        self.print(value)?;
        self.raw(",\n")
    }

    fn close_samples(&mut self) -> Result<(), Error> {
        self.close()
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }
}

fn printed(metadata: &Metadata) -> String {
    match metadata {
        Metadata::Token(key, value) => format!("{key} = {}", quoted(value)),
        Metadata::Int(key, value) => format!("{key} = {value}"),
        Metadata::Double(key, value) => format!("{key} = {value}"),
        Metadata::Schemas(schemas) => {
            let schemas: Vec<String> = schemas.iter().map(|schema| quoted(schema)).collect();
            format!("prepend apiSchemas = [{}]", schemas.join(", "))
        }
        Metadata::Custom(key, value) => format!("customData = {{\n        string {key} = {}\n    }}", quoted(value)),
    }
}

/// An element of a list.
trait Item {
    /// Prints it.
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()>;
}

impl Item for u32 {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        write!(out, "{self}")
    }
}

impl Item for f32 {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        // Without an exponent the smallest numbers would take dozens of digits.
        let size = self.abs();
        if size == 0.0 || (1e-4..1e9).contains(&size) { write!(out, "{self}") } else { write!(out, "{self:e}") }
    }
}

impl Item for Vec2 {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        tuple(out, &self.to_array())
    }
}

impl Item for Vec3 {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        tuple(out, &self.to_array())
    }
}

impl Item for Quat {
    /// The real part first.
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        tuple(out, &[self.w, self.x, self.y, self.z])
    }
}

impl Item for DAffine3 {
    /// Printed by rows: USD multiplies row vectors, so its rows are the columns of the transform.
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let columns = [self.matrix3.x_axis, self.matrix3.y_axis, self.matrix3.z_axis, self.translation];
        out.write_all(b"( ")?;
        for (row, column) in columns.iter().enumerate() {
            let w = u8::from(row == 3);
            let comma = if row == 3 { " " } else { ", " };
            write!(out, "({}, {}, {}, {w}){comma}", column.x, column.y, column.z)?;
        }
        out.write_all(b")")
    }
}

impl Item for String {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(quoted(self).as_bytes())
    }
}

fn tuple(out: &mut dyn Write, numbers: &[f32]) -> std::io::Result<()> {
    out.write_all(b"(")?;
    for (index, number) in numbers.iter().enumerate() {
        if index > 0 {
            out.write_all(b", ")?;
        }
        number.print(out)?;
    }
    out.write_all(b")")
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Other control characters have no common notation and are dropped from names.
            other if other.is_control() => quoted.push(' '),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_bit_for_bit() {
        let mut bits = 1u32;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = f32::from_bits(bits);
            if number.is_finite() {
                let mut text = Vec::new();
                number.print(&mut text).unwrap();
                let text = String::from_utf8(text).unwrap();
                assert_eq!(text.parse::<f32>().unwrap().to_bits(), number.to_bits(), "{text}");
            }
        }
    }

    #[test]
    fn quotes_are_escaped() {
        assert_eq!(quoted("a \"b\"\\\n"), r#""a \"b\"\\\n""#);
    }
}
