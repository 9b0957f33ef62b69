//! Looks through a `.usdc` file (a *crate*) before it is parsed: every count, index and offset that the `openusd` crate
//! would trust is checked against the bytes that are there.
//!
//! A crate is a header, a table of six sections, and values anywhere between. TOKENS are LZ4-compressed texts; STRINGS
//! name tokens; FIELDS pair a token (the field's name) with a 64-bit value, inline or at an offset ([`values`]);
//! FIELDSETS are runs of fields; PATHS are a tree in depth-first order; SPECS join a path and a field set. Integers are
//! stored as differences of 0, 1, 2 or 4 bytes ([`bytes::Cursor::packed_integers`]).
//!
//! What this refuses: sizes beyond the file, arrays that a file of this size cannot mean, trees of paths that visit a
//! node twice (which would be walked exponentially often), dictionaries that contain themselves.

mod bytes;
mod values;

use bytes::Cursor;

use crate::budget::Budget;
use crate::error::Error;

/// Prims within prims; paths are stored whole, so depth costs quadratic memory.
const MOST_NESTED: usize = 400;
/// What a token, a path or a field costs beside its text, in bytes: generously the size of its entries in the tables.
const ENTRY_BYTES: usize = 96;

/// What the sections hold, as far as values refer to it.
struct Tables {
    version: (u8, u8),
    /// The length of each token.
    tokens: Vec<usize>,
    /// The token of each string.
    strings: Vec<usize>,
    /// The length of each path.
    paths: Vec<usize>,
}

/// Refuses a crate that would make its parser run away.
pub(super) fn check(bytes: &[u8], budget: &mut Budget) -> Result<(), Error> {
    let mut header = Cursor::at(bytes, 0)?;
    header.take(8, "the header")?;
    let version = header.take(8, "the version")?;
    let version = (version[0], version[1]);
    if version.0 != 0 || !(4..=12).contains(&version.1) {
        let what = format!("version {}.{} of the .usdc format", version.0, version.1);
        return Err(Error::unsupported(what).with_hint("versions 0.4 to 0.12 are read; save the file again as .usda"));
    }
    let sections = sections(bytes, header.u64()?)?;
    let find = |name: &str| sections.iter().find(|(found, _)| found == name).map(|(_, start)| *start);
    let tokens = find("TOKENS").map_or(Ok(Vec::new()), |start| tokens(bytes, start, budget))?;
    let strings = find("STRINGS").map_or(Ok(Vec::new()), |start| strings(bytes, start, tokens.len()))?;
    let fields = find("FIELDS").map_or(Ok(Vec::new()), |start| fields(bytes, start, tokens.len(), budget))?;
    let sets = find("FIELDSETS").map_or(Ok(Vec::new()), |start| field_sets(bytes, start, fields.len(), budget))?;
    let paths = find("PATHS").map_or(Ok(Vec::new()), |start| paths(bytes, start, &tokens, budget))?;
    if let Some(start) = find("SPECS") {
        specs(bytes, start, paths.len(), &sets, budget)?;
    }
    let tables = Tables { version, tokens, strings, paths };
    values::check(bytes, &tables, &fields)
}

/// The names and starts of the sections that the table at `start` lists.
fn sections(bytes: &[u8], start: u64) -> Result<Vec<(String, u64)>, Error> {
    let mut table = Cursor::at(bytes, start)?;
    let count = table.count(32, "the table of sections")?;
    let mut sections = Vec::with_capacity(count);
    for _ in 0..count {
        let name = table.take(16, "a section's name")?;
        let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        let name = String::from_utf8_lossy(&name[..length]).into_owned();
        let (start, size) = (table.u64()?, table.u64()?);
        Cursor::at(bytes, start)?.expect(size, &name)?;
        sections.push((name, start));
    }
    Ok(sections)
}

fn tokens(bytes: &[u8], start: u64, budget: &mut Budget) -> Result<Vec<usize>, Error> {
    let mut section = Cursor::at(bytes, start)?;
    let count = section.u64()? as usize;
    let size = section.u64()? as usize;
    let text = section.unpacked(size, "the tokens", budget)?;
    if text.len() != size || text.last().is_some_and(|&byte| byte != 0) {
        return Err(Error::malformed("the tokens do not end where they should"));
    }
    budget.take("tokens", text.split(|&byte| byte == 0).count(), ENTRY_BYTES)?;
    let lengths: Vec<usize> = text.split(|&byte| byte == 0).map(<[u8]>::len).collect();
    // The text ends with a zero, behind which the split finds one more, empty token.
    let lengths = lengths[..lengths.len() - 1].to_vec();
    if lengths.len() != count {
        return Err(Error::malformed(format!("there are {} tokens, but {count} are announced", lengths.len())));
    }
    Ok(lengths)
}

fn strings(bytes: &[u8], start: u64, token_count: usize) -> Result<Vec<usize>, Error> {
    let mut section = Cursor::at(bytes, start)?;
    let count = section.count(4, "the strings")?;
    (0..count).map(|_| index(section.u32()?, token_count, "token")).collect()
}

/// The values of all fields.
fn fields(bytes: &[u8], start: u64, token_count: usize, budget: &mut Budget) -> Result<Vec<u64>, Error> {
    let mut section = Cursor::at(bytes, start)?;
    let count = section.u64()? as usize;
    for token in section.packed_integers(count, "fields", budget)? {
        index(token as u32, token_count, "token")?;
    }
    let size = count.saturating_mul(8);
    let values = section.unpacked(size, "the fields' values", budget)?;
    if values.len() != size {
        return Err(Error::malformed("there are fewer values than fields"));
    }
    let (values, _) = values.as_chunks::<8>();
    Ok(values.iter().map(|value| u64::from_le_bytes(*value)).collect())
}

/// For each index at which a set may start, the number of its fields.
fn field_sets(bytes: &[u8], start: u64, field_count: usize, budget: &mut Budget) -> Result<Vec<usize>, Error> {
    const END: i32 = -1;
    let mut section = Cursor::at(bytes, start)?;
    let count = section.u64()? as usize;
    let entries = section.packed_integers(count, "field sets", budget)?;
    let mut lengths = vec![0usize; entries.len()];
    let mut length = 0;
    for (entry, slot) in entries.iter().zip(&mut lengths).rev() {
        length = if *entry == END { 0 } else { length + 1 };
        *slot = length;
        if *entry != END {
            index(*entry as u32, field_count, "field")?;
        }
    }
    Ok(lengths)
}

/// The length of each path. The tree is walked as the parser walks it.
fn paths(bytes: &[u8], start: u64, tokens: &[usize], budget: &mut Budget) -> Result<Vec<usize>, Error> {
    let mut section = Cursor::at(bytes, start)?;
    let path_count = section.u64()? as usize;
    budget.take("paths", path_count, ENTRY_BYTES)?;
    let count = section.u64()? as usize;
    let names = section.packed_integers(count, "paths", budget)?;
    let elements = section.packed_integers(count, "paths", budget)?;
    let jumps = section.packed_integers(count, "paths", budget)?;
    let mut lengths = vec![0usize; path_count];
    let mut seen = vec![false; count];
    let mut pending = if count > 0 { vec![(0usize, 0usize, 0usize)] } else { Vec::new() };
    while let Some((mut at, mut parent_length, mut depth)) = pending.pop() {
        loop {
            let node = at;
            if seen.get(node).is_none_or(|seen| *seen) || depth > MOST_NESTED {
                return Err(Error::malformed("the tree of paths is not a tree, or too deep"));
            }
            seen[node] = true;
            at += 1;
            let name = index(names[node] as u32, path_count, "path")?;
            let token = index(elements[node].unsigned_abs(), tokens.len(), "token")?;
            lengths[name] = if parent_length == 0 { 1 } else { parent_length + 1 + tokens[token] };
            budget.take("paths", lengths[name], 2)?;
            let (has_child, has_sibling) = (jumps[node] > 0 || jumps[node] == -1, jumps[node] >= 0);
            if has_child {
                if has_sibling {
                    pending.push((node.saturating_add(jumps[node] as usize), parent_length, depth));
                }
                (parent_length, depth) = (lengths[name], depth + 1);
            } else if parent_length == 0 {
                // The root's siblings would be roots.
                parent_length = 1;
            }
            if !has_child && !has_sibling {
                break;
            }
        }
    }
    Ok(lengths)
}

fn specs(bytes: &[u8], start: u64, paths: usize, sets: &[usize], budget: &mut Budget) -> Result<(), Error> {
    let mut section = Cursor::at(bytes, start)?;
    let count = section.u64()? as usize;
    budget.take("specs", count, ENTRY_BYTES)?;
    for path in section.packed_integers(count, "specs", budget)? {
        index(path as u32, paths, "path")?;
    }
    let mut field_count = 0usize;
    for set in section.packed_integers(count, "specs", budget)? {
        field_count += sets[index(set as u32, sets.len(), "field set")?];
    }
    section.packed_integers(count, "specs", budget)?;
    // Sets may be shared, but are gone through for each spec.
    budget.take("the fields of all specs", field_count, ENTRY_BYTES)
}

fn index(index: u32, count: usize, kind: &str) -> Result<usize, Error> {
    let index = index as usize;
    if index < count { Ok(index) } else { Err(Error::malformed(format!("there is no {kind} {index}, only {count}"))) }
}
