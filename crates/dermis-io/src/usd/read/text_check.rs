//! Checks `.usda` text before it is parsed: the parser recurses into brackets, so their depth is bounded here, and the
//! composition follows arcs, so they are collected for [`Arcs`].
//!
//! This is not a parser. It distinguishes quotes, comments and brackets; a prim is a quoted name after `def`, `over`
//! or `class` (or a variant's name), and any `<path>` inside parentheses is an arc of the prim that the parentheses
//! belong to: relationships and connections have their paths outside of parentheses.

use super::arcs::Arcs;
use crate::budget::Budget;
use crate::error::Error;

/// Maximum nesting of brackets, for which the stack of the parser suffices.
const MAX_NESTED: usize = 400;

/// Rejects text for which the parser or the composition would need too much stack or memory.
pub(super) fn check(text: &[u8]) -> Result<(), Error> {
    let mut scan = Scan {
        text,
        at: 0,
        word: None,
        brackets: Vec::new(),
        prims: Vec::new(),
        named: None,
        arcs: Arcs::default(),
        budget: Budget::for_file(text.len() as u64),
    };
    while let Some(&byte) = text.get(scan.at) {
        scan.step(byte)?;
        scan.at += 1;
    }
    scan.arcs.check()
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The start and, once it is known, the end of the statement's first word.
    word: Option<(usize, Option<usize>)>,
    /// The open brackets; for braces, whether they opened a prim.
    brackets: Vec<(u8, bool)>,
    /// The names of the open prims.
    prims: Vec<&'a [u8]>,
    /// A prim whose name was read but which is not open yet.
    named: Option<&'a [u8]>,
    arcs: Arcs,
    budget: Budget,
}

impl Scan<'_> {
    fn step(&mut self, byte: u8) -> Result<(), Error> {
        match byte {
            b'(' | b'[' | b'{' => {
                let prim = if byte == b'{' { self.named.take() } else { None };
                self.brackets.push((byte, prim.is_some()));
                self.prims.extend(prim);
            }
            b')' | b']' | b'}' => {
                if let Some((_, true)) = self.brackets.pop() {
                    self.prims.pop();
                }
            }
            b'"' | b'\'' | b'@' => self.quoted(byte),
            b'#' => self.at = self.find(self.at, b'\n'),
            b'<' if self.brackets.iter().any(|(bracket, _)| *bracket == b'(') => self.path()?,
            _ => {}
        }
        self.word = match (byte, self.word) {
            (b'\n' | b'{' | b'}' | b';' | b'#', _) => None,
            (_, Some((start, None))) if byte.is_ascii_whitespace() => Some((start, Some(self.at))),
            (_, None) if !byte.is_ascii_whitespace() => Some((self.at, None)),
            (_, word) => word,
        };
        if self.brackets.len() > MAX_NESTED {
            return Err(Error::malformed(format!("brackets are nested more than {MAX_NESTED} deep")));
        }
        Ok(())
    }

    /// Skips quoted text: with one mark up to the end of the line, with three up to the next three.
    fn quoted(&mut self, mark: u8) {
        let start = self.at;
        self.at = quoted_end(self.text, start, mark);
        let word = self.word.and_then(|(first, end)| self.text.get(first..end.unwrap_or(start)));
        let names_prim = matches!(word, Some(b"def" | b"over" | b"class"));
        if mark == b'"' && self.brackets.last().is_none_or(|(bracket, _)| *bracket == b'{') && names_prim {
            self.named = self.text.get(start + 1..self.at);
        }
    }

    /// An arc of the prim that is named or open.
    fn path(&mut self) -> Result<(), Error> {
        let end = self.find(self.at, b'>');
        let own = || self.prims.iter().chain(&self.named);
        self.budget.take("references", own().map(|name| name.len() + 1).sum(), 2)?;
        let from = own().fold(String::new(), |path, name| path + "/" + &String::from_utf8_lossy(name));
        let target = String::from_utf8_lossy(self.text.get(self.at + 1..end).unwrap_or_default()).into_owned();
        self.arcs.add(&from, &target);
        self.at = end;
        Ok(())
    }

    /// The next `byte`, or the end.
    fn find(&self, from: usize, byte: u8) -> usize {
        self.text[from..].iter().position(|&found| found == byte).map_or(self.text.len(), |at| from + at)
    }
}

/// The last byte of the quoted text that starts at `start`.
pub(super) fn quoted_end(text: &[u8], start: usize, mark: u8) -> usize {
    let triple = [mark; 3];
    if text[start..].starts_with(&triple) {
        let inside = &text[start + 3..];
        return inside.windows(3).position(|three| three == triple).map_or(text.len(), |end| start + 3 + end + 2);
    }
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' => return at,
            _ if byte == mark => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_deep_brackets_but_not_in_text() {
        let deep = |count: usize| "def \"a\" {".repeat(count);
        assert!(check(deep(300).as_bytes()).is_ok());
        assert!(check(deep(500).as_bytes()).is_err());
        let quoted = format!("string a = \"{}\" # {}\n'''{}'''", "[".repeat(500), "(".repeat(500), "{\n".repeat(500));
        assert!(check(quoted.as_bytes()).is_ok());
    }

    #[test]
    fn rejects_references_that_multiply() {
        let level = |n: usize| {
            let both = format!("(references = [</a{}>, </b{}>])", n + 1, n + 1);
            format!("def Xform \"a{n}\" {both} {{}}\ndef Xform \"b{n}\" {both} {{}}\n")
        };
        let doubling = |levels: usize| (0..levels).map(level).collect::<String>();
        assert!(check(doubling(4).as_bytes()).is_ok());
        assert!(check(doubling(14).as_bytes()).is_err());
    }

    #[test]
    fn relationships_are_not_arcs() {
        let many = "rel a = [</b>, </b>]\n".repeat(1000);
        assert!(check(format!("def \"b\" {{\n{many}}}").as_bytes()).is_ok());
    }
}
