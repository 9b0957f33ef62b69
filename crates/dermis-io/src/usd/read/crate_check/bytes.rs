//! Bounded reading of the bytes of a crate.

use crate::budget::Budget;
use crate::error::Error;

/// Maximum expansion of LZ4: 255 bytes for each stored byte.
const LZ4_EXPANSION: usize = 255;

/// A position in the file.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn at(bytes: &'a [u8], offset: u64) -> Result<Self, Error> {
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
        rest.map(|rest| Self { rest }).ok_or_else(|| Error::truncated("an offset", offset, bytes.len() as u64))
    }

    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Checks that `size` bytes follow.
    pub(super) fn expect(&self, size: u64, what: &str) -> Result<(), Error> {
        if size <= self.rest.len() as u64 { Ok(()) } else { Err(Error::truncated(what, size, self.rest.len() as u64)) }
    }

    pub(super) fn take(&mut self, size: usize, what: &str) -> Result<&'a [u8], Error> {
        self.expect(size as u64, what)?;
        let (taken, rest) = self.rest.split_at(size);
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.take(1, "a byte")?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        let bytes = self.take(4, "a number")?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from(self.u32()?) | u64::from(self.u32()?) << 32)
    }

    /// A count of elements of `size` bytes that follow.
    pub(super) fn count(&mut self, size: usize, what: &str) -> Result<usize, Error> {
        let count = self.u64()?;
        self.expect(count.saturating_mul(size as u64), what)?;
        Ok(count as usize)
    }

    /// A compressed block (its size, then the block) of at most `max_count` bytes.
    pub(super) fn unpacked(&mut self, max_count: usize, what: &str, budget: &mut Budget) -> Result<Vec<u8>, Error> {
        let size = self.count(1, what)?;
        let block = self.take(size, what)?;
        let Some((&chunks, packed)) = block.split_first() else {
            return Err(Error::truncated(what, 1, 0));
        };
        if chunks != 0 {
            return Err(Error::unsupported(format!("{what} are compressed in several chunks")));
        }
        let reachable = packed.len().saturating_mul(LZ4_EXPANSION).saturating_add(64);
        // The parser allocates the stated size before it reads the block.
        budget.take(what, max_count, 1)?;
        lz4_flex::block::decompress(packed, max_count.min(reachable))
            .map_err(|error| Error::malformed(format!("{what} cannot be decompressed")).detail(error.to_string()))
    }

    /// `count` 32-bit integers stored as differences: the most common difference, two bits per difference for its size
    /// in bytes, then the differences.
    pub(super) fn packed_integers(&mut self, count: usize, what: &str, budget: &mut Budget) -> Result<Vec<i32>, Error> {
        if count == 0 {
            self.unpacked(0, what, budget)?;
            return Ok(Vec::new());
        }
        let codes = count.div_ceil(4);
        let max_count = codes.saturating_add(count.saturating_mul(4)).saturating_add(4);
        let unpacked = self.unpacked(max_count, what, budget)?;
        let mut head = Cursor { rest: &unpacked };
        let common = head.u32()? as i32;
        let codes = head.take(codes, what)?;
        budget.take(what, count, 4)?;
        let mut value = 0i32;
        (0..count)
            .map(|at| {
                let difference = match codes[at / 4] >> (2 * (at % 4)) & 3 {
                    0 => common,
                    1 => i32::from(head.u8()? as i8),
                    2 => i32::from(i16::from_le_bytes([head.u8()?, head.u8()?])),
                    _ => head.u32()? as i32,
                };
                value = value.wrapping_add(difference);
                Ok(value)
            })
            .collect()
    }
}
