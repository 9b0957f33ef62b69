//! Checks the values of a crate's fields: their memory, and that they are inside the file.
//!
//! A value is 64 bits: flags (array, inlined, compressed), a type, and 48 bits that are the value itself or its offset.

use std::collections::HashMap;

use super::bytes::Cursor;
use super::older::{Rewrites, has_rank, has_short_count};
use super::{Tables, index};
use crate::budget::Budget;
use crate::error::Error;

/// Maximum nesting of values: dictionaries in dictionaries.
const MAX_NESTED: usize = 24;
/// Upper bound of the memory of a value in addition to its contents.
const VALUE_BYTES: usize = 160;

const STRING: u64 = 10;
const TOKEN: u64 = 11;
const ASSET_PATH: u64 = 12;
const DICTIONARY: u64 = 31;
const TOKEN_LIST: u64 = 32;
const STRING_LIST: u64 = 33;
const PATH_LIST: u64 = 34;
const REFERENCE_LIST: u64 = 35;
const INT_LIST: u64 = 36;
const UINT64_LIST: u64 = 39;
const PATHS: u64 = 40;
const TOKENS: u64 = 41;
const VARIANTS: u64 = 45;
const TIME_SAMPLES: u64 = 46;
const PAYLOAD: u64 = 47;
const DOUBLES: u64 = 48;
const LAYER_OFFSETS: u64 = 49;
const STRINGS: u64 = 50;
const UNREGISTERED_LIST: u64 = 54;
const PAYLOAD_LIST: u64 = 55;
const TIME_CODE: u64 = 56;
const PATH_EXPRESSION: u64 = 57;
const RELOCATES: u64 = 58;

/// Bytes of one element of the types 1 to 30: numbers, texts by index, matrices, quaternions, vectors.
const ELEMENT_BYTES: [usize; 31] =
    [0, 1, 1, 4, 4, 8, 8, 2, 4, 8, 4, 4, 4, 32, 72, 128, 32, 16, 8, 16, 8, 4, 8, 24, 12, 6, 12, 32, 16, 8, 16];

/// References of the fields, and values to rewrite.
pub(super) struct Found {
    /// Paths in fields that may be arcs.
    pub(super) arcs: HashMap<usize, Vec<usize>>,
    pub(super) rewrites: Rewrites,
}

/// Checks the values of all `fields`.
pub(super) fn check(bytes: &[u8], tables: &Tables, fields: &[u64]) -> Result<Found, Error> {
    let mut steps = Budget::for_file(bytes.len() as u64);
    let mut rewrites = Rewrites::of_version(tables.version.1);
    let mut arcs = HashMap::new();
    for (field, &value) in fields.iter().enumerate() {
        // Fields are fetched one at a time, so each can use the whole budget.
        let budget = Budget::for_file(bytes.len() as u64);
        let mut walk = Walk { bytes, tables, budget, steps: &mut steps, rewrites: &mut rewrites, targets: Vec::new() };
        walk.value(value, 0)?;
        if matches!(value >> 48 & 0xff, PATH_LIST | REFERENCE_LIST | PAYLOAD | PAYLOAD_LIST) {
            arcs.insert(field, walk.targets);
        }
    }
    Ok(Found { arcs, rewrites })
}

struct Walk<'a> {
    bytes: &'a [u8],
    tables: &'a Tables,
    budget: Budget,
    steps: &'a mut Budget,
    rewrites: &'a mut Rewrites,
    /// The paths found so far.
    targets: Vec<usize>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: u64, depth: usize) -> Result<(), Error> {
        if depth > MAX_NESTED {
            return Err(Error::malformed(format!("values are nested more than {MAX_NESTED} deep")));
        }
        self.steps.take("values", 1, 64)?;
        self.budget.take("values", 1, VALUE_BYTES)?;
        let (is_array, is_inlined) = (value >> 63 == 1, value >> 62 & 1 == 1);
        let (kind, offset) = (value >> 48 & 0xff, value & ((1 << 48) - 1));
        if is_inlined {
            return self.inlined(kind, is_array, offset);
        }
        if is_array && (kind as usize) < ELEMENT_BYTES.len() || matches!(kind, DOUBLES) {
            return if offset == 0 { Ok(()) } else { self.array(kind, value >> 61 & 1 == 1, offset) };
        }
        if is_array && kind == TIME_CODE {
            return self.array(9, value >> 61 & 1 == 1, offset);
        }
        let mut cursor = Cursor::at(self.bytes, offset)?;
        match kind {
            STRING | PATH_EXPRESSION if !is_array => self.string(&mut cursor),
            TOKEN | ASSET_PATH => self.text(&mut cursor, kind != TOKEN),
            DICTIONARY => self.dictionary(offset, depth).map(drop),
            TOKEN_LIST..=UINT64_LIST | UNREGISTERED_LIST | PAYLOAD_LIST => self.list(kind, offset, depth),
            PATHS | TOKENS | STRINGS | PATH_EXPRESSION => self.indices(kind, &mut cursor),
            VARIANTS => {
                let count = cursor.count(8, "variant selections")?;
                (0..2 * count).try_for_each(|_| self.string(&mut cursor))
            }
            TIME_SAMPLES => self.time_samples(offset, depth),
            PAYLOAD => self.string(&mut cursor).and_then(|()| self.path(&mut cursor)),
            LAYER_OFFSETS => cursor.count(16, "layer offsets").map(drop),
            RELOCATES => {
                let count = cursor.count(8, "relocated paths")?;
                (0..2 * count).try_for_each(|_| self.path(&mut cursor))
            }
            _ => Ok(()),
        }
    }

    /// A value of at most 32 bits; texts are indices.
    fn inlined(&mut self, kind: u64, is_array: bool, payload: u64) -> Result<(), Error> {
        let payload = payload as u32;
        match kind {
            _ if is_array => Err(Error::malformed("an array cannot be stored inline")),
            TOKEN | ASSET_PATH | PATH_EXPRESSION => self.charge_token(payload),
            STRING => self.charge_string(payload),
            TOKEN_LIST..=TOKENS | VARIANTS..=STRINGS | UNREGISTERED_LIST..=PAYLOAD_LIST | RELOCATES => {
                Err(Error::malformed("a list cannot be stored inline"))
            }
            _ => Ok(()),
        }
    }

    fn array(&mut self, kind: u64, is_compressed: bool, offset: u64) -> Result<(), Error> {
        let mut cursor = Cursor::at(self.bytes, offset)?;
        let minor = self.tables.version.1;
        if kind == DOUBLES && has_short_count(minor) {
            let count = cursor.count(8, "an array")?;
            return self.budget.take("an array", count, 16);
        }
        let kind = if kind == DOUBLES { 9 } else { kind };
        let is_text = matches!(kind, STRING | ASSET_PATH);
        if is_text && !has_rank(minor) {
            return self.indices(STRINGS, &mut cursor);
        }
        if has_rank(minor) {
            cursor.u32()?;
        }
        let count = if has_short_count(minor) { u64::from(cursor.u32()?) } else { cursor.u64()? };
        if is_text {
            cursor.expect(4 * count, "an array of texts")?;
            self.rewrites.add_texts(offset, count as u32);
            return (0..count).try_for_each(|_| self.text(&mut cursor, true));
        }
        let size = ELEMENT_BYTES[kind as usize] as u64;
        let is_number = (3..=9).contains(&kind);
        if is_compressed && !is_number {
            return Err(Error::malformed("an array is marked as compressed, but its type cannot be"));
        }
        if is_compressed && count >= 4 {
            return self.packed_array(kind, count, &mut cursor);
        }
        cursor.expect(count.saturating_mul(size), "an array")?;
        // Counted twice: as stored and as converted.
        self.budget.take("an array", count as usize, 2 * size as usize)?;
        if kind == TOKEN {
            return (0..count).try_for_each(|_| self.text(&mut cursor, false));
        }
        Ok(())
    }

    /// Integers are packed; other numbers are packed integers, or a table and packed indices of it.
    fn packed_array(&mut self, kind: u64, count: u64, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        // The parser unpacks integers first and converts them.
        self.budget.take("a compressed array", usize::try_from(count).unwrap_or(usize::MAX), 24)?;
        let is_float = (7..=9).contains(&kind);
        if is_float && cursor.u8()? == b't' {
            let size = cursor.u32()? as usize * ELEMENT_BYTES[kind as usize];
            cursor.take(size, "the table of a compressed array")?;
        }
        cursor.count(1, "a compressed array").map(drop)
    }

    /// A count and as many indices of texts or paths.
    fn indices(&mut self, kind: u64, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let count = cursor.count(4, "a list")?;
        (0..count).try_for_each(|_| match kind {
            PATHS | PATH_LIST => self.path(cursor),
            TOKENS | TOKEN_LIST => self.text(cursor, false),
            _ => self.text(cursor, true),
        })
    }

    fn text(&mut self, cursor: &mut Cursor<'_>, is_string: bool) -> Result<(), Error> {
        let at = cursor.u32()?;
        if is_string { self.charge_string(at) } else { self.charge_token(at) }
    }

    fn string(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        self.text(cursor, true)
    }

    fn charge_string(&mut self, at: u32) -> Result<(), Error> {
        let token = self.tables.strings[index(at, self.tables.strings.len(), "string")?];
        self.charge_token(token as u32)
    }

    fn charge_token(&mut self, at: u32) -> Result<(), Error> {
        let length = self.tables.tokens[index(at, self.tables.tokens.len(), "token")?].len();
        self.budget.take("texts", length + 48, 2)
    }

    fn path(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let path = index(cursor.u32()?, self.tables.paths.len(), "path")?;
        self.targets.push(path);
        self.budget.take("paths", self.tables.paths[path].length + 48, 2)
    }

    /// Returns the offset after the dictionary.
    fn dictionary(&mut self, offset: u64, depth: usize) -> Result<u64, Error> {
        let mut cursor = Cursor::at(self.bytes, offset)?;
        // A key, and the distance to its value.
        let count = cursor.count(12, "a dictionary")?;
        for _ in 0..count {
            self.string(&mut cursor)?;
            cursor = self.follow(&mut cursor)?;
            let value = cursor.u64()?;
            self.value(value, depth + 1)?;
        }
        Ok((self.bytes.len() - cursor.left()) as u64)
    }

    /// The location of a distance relative to its own position.
    fn follow(&self, cursor: &mut Cursor<'_>) -> Result<Cursor<'a>, Error> {
        let here = (self.bytes.len() - cursor.left()) as u64;
        let distance = cursor.u64()? as i64;
        let there = here.checked_add_signed(distance);
        Cursor::at(
            self.bytes,
            there.ok_or_else(|| Error::malformed("a value has an offset before the start of the file"))?,
        )
    }

    fn time_samples(&mut self, offset: u64, depth: usize) -> Result<(), Error> {
        let mut cursor = Cursor::at(self.bytes, offset)?;
        let mut times = self.follow(&mut cursor)?;
        let times_location = self.bytes.len() - times.left();
        let times_value = times.u64()?;
        let mut values = self.follow(&mut times)?;
        let count = values.count(8, "time samples")?;
        let samples: Vec<u64> = (0..count).map(|_| values.u64()).collect::<Result<_, _>>()?;
        self.value(times_value, depth + 1)?;
        if times_value >> 48 == DOUBLES && has_short_count(self.tables.version.1) {
            self.rewrites.add_times(times_location, times_value & ((1 << 48) - 1));
        }
        samples.into_iter().try_for_each(|value| {
            let nested = value >> 48 & 0xff == TIME_SAMPLES;
            if nested {
                Err(Error::malformed("a time sample contains time samples"))
            } else {
                self.value(value, depth + 1)
            }
        })
    }

    /// A byte that indicates which of six lists follow, and these lists.
    fn list(&mut self, kind: u64, offset: u64, depth: usize) -> Result<(), Error> {
        let mut cursor = Cursor::at(self.bytes, offset)?;
        let lists = (cursor.u8()? & 0b0111_1110).count_ones();
        for _ in 0..lists {
            match kind {
                TOKEN_LIST | STRING_LIST | PATH_LIST | UNREGISTERED_LIST => self.indices(kind, &mut cursor)?,
                REFERENCE_LIST | PAYLOAD_LIST => self.arcs(kind, &mut cursor, depth)?,
                _ => {
                    let size = if matches!(kind, INT_LIST | 38) { 4 } else { 8 };
                    let count = cursor.count(size, "a list")?;
                    cursor.take(count * size, "a list")?;
                }
            }
        }
        Ok(())
    }

    /// References or payloads: a file, a prim, a layer offset, and for references a dictionary.
    fn arcs(&mut self, kind: u64, cursor: &mut Cursor<'a>, depth: usize) -> Result<(), Error> {
        let has_offset = kind == REFERENCE_LIST || self.tables.version.1 >= 8;
        let size = if has_offset { 24 } else { 8 };
        let count = cursor.count(size, "references")?;
        for _ in 0..count {
            self.string(cursor)?;
            self.path(cursor)?;
            cursor.take(size - 8, "a reference")?;
            self.budget.take("references", 1, VALUE_BYTES)?;
            if kind == REFERENCE_LIST {
                let here = (self.bytes.len() - cursor.left()) as u64;
                let behind = self.dictionary(here, depth + 1)?;
                *cursor = Cursor::at(self.bytes, behind)?;
            }
        }
        Ok(())
    }
}
