//! Bound on the memory that reading a file may use.
//!
//! A few bytes can claim billions of elements. Readers check what lies in the file against the file's length, and
//! take what has no bytes of its own (a zero-filled accessor, a decompressed array, a sampled clip) from a budget that
//! grows with the file.

use crate::error::{Error, ErrorKind};

/// The largest expansion that deflate can reach is 1032:1; no other compression we read exceeds it.
const BYTES_PER_FILE_BYTE: u64 = 1032;
/// Bytes that even the smallest file may use, so that a tiny rig can have a long clip.
const FLOOR_BYTES: u64 = 256 << 20;
/// Limit for bytes that the file's own do not back.
const CEILING_BYTES: u64 = 16 << 30;

/// The bytes that a reader may still allocate beyond the file's own.
#[derive(Debug, Clone)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// The budget of a file of `file_bytes` bytes.
    pub fn for_file(file_bytes: u64) -> Self {
        Self { left: file_bytes.saturating_mul(BYTES_PER_FILE_BYTE).clamp(FLOOR_BYTES, CEILING_BYTES.max(file_bytes)) }
    }

    /// Takes the room of `count` elements of `element_bytes` bytes, or reports that `what` is too large.
    pub fn take(&mut self, what: &str, count: usize, element_bytes: usize) -> Result<(), Error> {
        let asked = (count as u64).saturating_mul(element_bytes as u64);
        if asked > self.left {
            return Err(ErrorKind::TooLarge { what: what.to_owned(), asked, allowed: self.left }.into());
        }
        self.left -= asked;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_cannot_claim_gigabytes() {
        let mut budget = Budget::for_file(100);
        assert!(budget.take("frames", 1 << 20, 12).is_ok());
        let error = budget.take("zeros", 1 << 40, 12).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TooLarge { .. }));
    }
}
