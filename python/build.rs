//! Extracts the documentation of the module from its type stubs, so that `help` and editors show the same text.
//!
//! The documentation of the function `f`, class `C` and method `C.m` becomes the file of this name in `OUT_DIR`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const STUBS: &str = "dermis/_dermis.pyi";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={STUBS}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let text = fs::read_to_string(STUBS)?;
    let (mut class, mut name) = (String::new(), None);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("class ") {
            class = identifier(rest);
            name = Some(class.clone());
        } else if let Some(rest) = line.strip_prefix("def ") {
            name = Some(identifier(rest));
        } else if let Some(rest) = line.strip_prefix("    def ") {
            name = Some(format!("{class}.{}", identifier(rest)));
        } else if let (Some(documented), Some(first)) = (&name, line.trim_start().strip_prefix("\"\"\"")) {
            write(&out, documented, first, line.len() - line.trim_start().len(), &mut lines)?;
            name = None;
        }
    }
    Ok(())
}

/// Identifier at the start of `text`.
fn identifier(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

/// Writes the docstring that starts with `first`; its other lines follow in `lines`.
fn write<'a>(
    out: &Path,
    name: &str,
    first: &str,
    indent: usize,
    lines: &mut impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    let mut text = first.trim_end_matches("\"\"\"").to_owned();
    if !first.ends_with("\"\"\"") {
        for line in lines.by_ref() {
            let line = line.get(indent..).unwrap_or("");
            if line == "\"\"\"" {
                break;
            }
            text.push('\n');
            text.push_str(line);
        }
    }
    fs::write(out.join(name), text)
}
