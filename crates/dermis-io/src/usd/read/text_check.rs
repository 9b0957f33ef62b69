//! Looks through `.usda` text before it is parsed: the parser recurses into brackets, so their depth is bounded here.

use crate::error::Error;

/// Brackets within brackets. A prim four hundred levels down is no character's skin, and the parser has stack for it.
const MOST_NESTED: usize = 400;

/// Refuses text whose brackets are nested deeper than the parser's stack allows.
pub(super) fn check(text: &[u8]) -> Result<(), Error> {
    let (mut depth, mut at) = (0usize, 0usize);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' | b'@' => at = quoted_end(text, at, byte),
            b'#' => at += text[at..].iter().position(|&byte| byte == b'\n').unwrap_or(text.len() - at),
            _ => {}
        }
        if depth > MOST_NESTED {
            return Err(Error::malformed(format!("brackets are nested more than {MOST_NESTED} deep")));
        }
        at += 1;
    }
    Ok(())
}

/// The last byte of what is quoted from `start` on: by one mark up to the line's end, by three up to the next three.
fn quoted_end(text: &[u8], start: usize, mark: u8) -> usize {
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
}
