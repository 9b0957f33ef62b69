//! Reading packed little-endian numbers and strings from a block.

use crate::error::Error;

/// Unread part of a block.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Cursor<'a> {
    /// Reads `bytes` from the start; `what` describes them in errors.
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| Error::truncated(self.what, count as u64, self.rest.len() as u64))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]: [u8; 1]| byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, Error> {
        self.array().map(f64::from_le_bytes)
    }

    /// A number of `1 << size_hint` bytes.
    pub(super) fn sized(&mut self, size_hint: u32) -> Result<u32, Error> {
        match size_hint {
            0 => self.u8().map(u32::from),
            1 => self.array().map(|bytes| u16::from_le_bytes(bytes).into()),
            2 => self.u32(),
            _ => Err(Error::malformed(format!("{} has numbers of an unknown size", self.what))),
        }
    }

    pub(super) fn text(&mut self, length: u32) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(self.bytes(length as usize)?).into_owned())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let bytes = self.bytes(N)?;
        // `bytes` has exactly N bytes.
        Ok(bytes.try_into().unwrap_or([0; N]))
    }
}
