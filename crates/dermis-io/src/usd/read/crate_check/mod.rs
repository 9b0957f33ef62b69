//! Checks a `.usdc` file (a *crate*) before it is parsed: every count, index and offset that the `openusd` crate would
//! trust is compared with the available bytes.
//!
//! A crate is a header, a table of six sections, and values anywhere between. TOKENS are LZ4-compressed texts; STRINGS
//! refer to tokens; FIELDS pair a token (the field's name) with a 64-bit value, inline or at an offset ([`values`]);
//! FIELDSETS are runs of fields; PATHS are a tree in depth-first order; SPECS join a path and a field set. Integers are
//! stored as differences of 0, 1, 2 or 4 bytes ([`bytes::Cursor::packed_integers`]).
//!
//! The check rejects sizes beyond the file, arrays that are implausible for a file of this size, trees of paths that
//! visit a node twice (which would be traversed exponentially often), dictionaries that contain themselves, and
//! references that multiply ([`Arcs`]). Values that the parser misreads in older versions are listed for rewriting
//! ([`older`]).

mod bytes;
mod older;
mod values;

use std::collections::HashMap;

use bytes::Cursor;
pub(super) use older::Rewrites;

use super::arcs::Arcs;
use crate::budget::Budget;
use crate::error::Error;

/// Maximum nesting of prims; paths are stored in full, so memory is quadratic in the depth.
const MAX_NESTED: usize = 400;
/// Memory of a token, a path or a field in addition to its text, in bytes: an upper bound of its entries in the tables.
const ENTRY_BYTES: usize = 96;

/// Contents of the sections, as far as values refer to them.
struct Tables {
    version: (u8, u8),
    tokens: Vec<String>,
    /// The token of each string.
    strings: Vec<usize>,
    paths: Vec<Path>,
}

/// A path: its last element and its parent path.
#[derive(Clone, Default)]
struct Path {
    length: usize,
    parent: Option<usize>,
    token: usize,
}

/// Runs of fields.
struct FieldSets {
    /// The fields of all sets; −1 ends a set.
    fields: Vec<i32>,
    /// The number of fields from each index to the end of its set.
    lengths: Vec<usize>,
}

/// Rejects a crate that would exhaust the time or memory of its parser. Returns the values to rewrite in a crate of an
/// older version.
pub(super) fn check(bytes: &[u8], budget: &mut Budget) -> Result<Rewrites, Error> {
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
    let paths = find("PATHS").map_or(Ok(Vec::new()), |start| paths(bytes, start, &tokens, budget))?;
    let tables = Tables { version, tokens, strings, paths };
    let found = values::check(bytes, &tables, &fields)?;
    if let (Some(sets), Some(start)) = (find("FIELDSETS"), find("SPECS")) {
        let sets = field_sets(bytes, sets, fields.len(), budget)?;
        specs(bytes, start, &tables, &sets, &found.arcs, budget)?.check()?;
    }
    Ok(found.rewrites)
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

fn tokens(bytes: &[u8], start: u64, budget: &mut Budget) -> Result<Vec<String>, Error> {
    let mut section = Cursor::at(bytes, start)?;
    let count = section.u64()? as usize;
    let size = section.u64()? as usize;
    let text = section.unpacked(size, "the tokens", budget)?;
    if text.len() != size || text.last().is_some_and(|&byte| byte != 0) {
        return Err(Error::malformed("the table of tokens has the wrong length"));
    }
    budget.take("tokens", text.split(|&byte| byte == 0).count(), ENTRY_BYTES)?;
    // The text ends with a zero, which is not followed by a token.
    let text = text.split_last().map_or(&[][..], |(_, text)| text);
    let tokens: Vec<String> = if count == 0 && text.is_empty() {
        Vec::new()
    } else {
        text.split(|&byte| byte == 0).map(|token| String::from_utf8_lossy(token).into_owned()).collect()
    };
    if tokens.len() != count {
        return Err(Error::malformed(format!("there are {} tokens, but {count} are stated", tokens.len())));
    }
    Ok(tokens)
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

fn field_sets(bytes: &[u8], start: u64, field_count: usize, budget: &mut Budget) -> Result<FieldSets, Error> {
    const END: i32 = -1;
    let mut section = Cursor::at(bytes, start)?;
    let count = section.u64()? as usize;
    let fields = section.packed_integers(count, "field sets", budget)?;
    let mut lengths = vec![0usize; fields.len()];
    let mut length = 0;
    for (field, slot) in fields.iter().zip(&mut lengths).rev() {
        length = if *field == END { 0 } else { length + 1 };
        *slot = length;
        if *field != END {
            index(*field as u32, field_count, "field")?;
        }
    }
    Ok(FieldSets { fields, lengths })
}

/// Reads the paths, traversing their tree like the parser.
fn paths(bytes: &[u8], start: u64, tokens: &[String], budget: &mut Budget) -> Result<Vec<Path>, Error> {
    let mut section = Cursor::at(bytes, start)?;
    let path_count = section.u64()? as usize;
    budget.take("paths", path_count, ENTRY_BYTES)?;
    let count = section.u64()? as usize;
    let names = section.packed_integers(count, "paths", budget)?;
    let elements = section.packed_integers(count, "paths", budget)?;
    let jumps = section.packed_integers(count, "paths", budget)?;
    let mut paths = vec![Path::default(); path_count];
    let mut seen = vec![false; count];
    let mut pending = if count > 0 { vec![(0usize, None::<usize>, 0usize)] } else { Vec::new() };
    while let Some((mut at, mut parent, mut depth)) = pending.pop() {
        loop {
            let node = at;
            if seen.get(node).is_none_or(|seen| *seen) || depth > MAX_NESTED {
                return Err(Error::malformed("the path hierarchy has a cycle or is nested too deeply"));
            }
            seen[node] = true;
            at += 1;
            let name = index(names[node] as u32, path_count, "path")?;
            let token = index(elements[node].unsigned_abs(), tokens.len(), "token")?;
            let length = parent.map_or(1, |parent| paths[parent].length + 1 + tokens[token].len());
            budget.take("paths", length, 2)?;
            paths[name] = Path { length, parent, token };
            let (has_child, has_sibling) = (jumps[node] > 0 || jumps[node] == -1, jumps[node] >= 0);
            if has_child {
                if has_sibling {
                    pending.push((node.saturating_add(jumps[node] as usize), parent, depth));
                }
                (parent, depth) = (Some(name), depth + 1);
            }
            if !has_child && !has_sibling {
                break;
            }
        }
    }
    Ok(paths)
}

/// Checks the specs, and returns the arcs of prims and variants. `arcs` are the targets that fields refer to.
fn specs(
    bytes: &[u8],
    start: u64,
    tables: &Tables,
    sets: &FieldSets,
    arcs: &HashMap<usize, Vec<usize>>,
    budget: &mut Budget,
) -> Result<Arcs, Error> {
    const PRIM: i32 = 6;
    const VARIANT: i32 = 10;
    let mut section = Cursor::at(bytes, start)?;
    let count = section.u64()? as usize;
    budget.take("specs", count, ENTRY_BYTES)?;
    let paths = section.packed_integers(count, "specs", budget)?;
    let set_starts = section.packed_integers(count, "specs", budget)?;
    let kinds = section.packed_integers(count, "specs", budget)?;
    let mut found = Arcs::default();
    for ((path, set), kind) in paths.into_iter().zip(set_starts).zip(kinds) {
        let path = index(path as u32, tables.paths.len(), "path")?;
        let set = index(set as u32, sets.lengths.len(), "field set")?;
        // Sets can be shared, but are visited for each spec.
        budget.take("the fields of all specs", sets.lengths[set], ENTRY_BYTES)?;
        if !matches!(kind, PRIM | VARIANT) {
            continue;
        }
        for &field in &sets.fields[set..set + sets.lengths[set]] {
            for &target in arcs.get(&(field as usize)).into_iter().flatten() {
                budget.take("references", tables.paths[path].length + tables.paths[target].length, 4)?;
                found.add(&path_text(tables, path), &path_text(tables, target));
            }
        }
    }
    Ok(found)
}

/// A prim's path without the variants in it.
fn path_text(tables: &Tables, path: usize) -> String {
    // Parents are set before their children, and no path is its own ancestor during the traversal, but a path can occur
    // twice; the bound on the depth ends any cycle.
    let upwards = std::iter::successors(Some(path), |&path| tables.paths[path].parent).take(MAX_NESTED);
    let elements: Vec<&str> = upwards.map(|path| tables.tokens[tables.paths[path].token].as_str()).collect();
    let root = 1.min(elements.len());
    let names = elements[..elements.len() - root].iter().rev().filter(|name| !name.starts_with('{'));
    names.fold(String::new(), |path, name| path + "/" + name)
}

fn index(index: u32, count: usize, kind: &str) -> Result<usize, Error> {
    let index = index as usize;
    if index < count { Ok(index) } else { Err(Error::malformed(format!("there is no {kind} {index}, only {count}"))) }
}
