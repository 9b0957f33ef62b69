//! Bound on the memory that reading a file may use.
//!
//! A few bytes can declare billions of elements. Readers compare stored data with the length of the file. Memory for
//! data that is not stored in full (a zero-filled accessor, a decompressed array, a sampled clip) is taken from a
//! budget that grows with the file, up to a limit of the process ([`set_max_memory`]).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind};

/// The largest expansion that deflate can reach is 1032:1; no other supported compression exceeds it.
const BYTES_PER_FILE_BYTE: u64 = 1032;
/// Bytes that even the smallest file can use, so that a tiny rig can have a long clip.
const FLOOR_BYTES: u64 = 256 << 20;
/// Beyond the limit of the process, a large file can still use this many times its size, the usual range of
/// compression.
const USUAL_EXPANSION: u64 = 8;
/// Default of [`max_memory`]: 2 GiB.
pub const DEFAULT_MAX_MEMORY: u64 = 2 << 30;

static MAX_MEMORY: AtomicU64 = AtomicU64::new(DEFAULT_MAX_MEMORY);

/// Bytes that a reader can still allocate in addition to those of the file.
#[derive(Debug, Clone)]
pub struct Budget {
    left: u64,
}

/// Limit of this process for the size of a file that is read into memory, and for the decompressed size of a small
/// file, in bytes.
pub fn max_memory() -> u64 {
    MAX_MEMORY.load(Ordering::Relaxed)
}

/// Sets the limit of [`max_memory`].
pub fn set_max_memory(bytes: u64) {
    MAX_MEMORY.store(bytes, Ordering::Relaxed);
}

/// A number of bytes with an optional suffix K, M, G or T for powers of 1024, such as `500M`; `None` if `text` has
/// another form.
pub fn parse_bytes(text: &str) -> Option<u64> {
    const UNITS: [char; 4] = ['K', 'M', 'G', 'T'];
    let text = text.trim().to_ascii_uppercase();
    let text = text.strip_suffix('B').unwrap_or(&text);
    let power = UNITS.iter().position(|unit| text.ends_with(*unit)).map_or(0, |index| index + 1);
    let number = text.strip_suffix(UNITS).unwrap_or(text).parse::<f64>().ok()?;
    let bytes = number * 1024f64.powi(power as i32);
    (0.0..1e18).contains(&bytes).then_some(bytes as u64)
}

/// Error for `what`, which would need more than `allowed` bytes.
pub(crate) fn too_large(what: &str, asked: u64, allowed: u64) -> Error {
    Error::from(ErrorKind::TooLarge { what: what.to_owned(), asked, allowed })
        .with_hint(format!("the memory limit is {} MiB; raise it if the file is trusted", max_memory() >> 20))
}

impl Budget {
    /// The budget of a file of `file_bytes` bytes.
    pub fn for_file(file_bytes: u64) -> Self {
        let limit = max_memory();
        let ceiling = limit.max(file_bytes.saturating_mul(USUAL_EXPANSION).min(limit.saturating_mul(USUAL_EXPANSION)));
        let left = file_bytes.saturating_mul(BYTES_PER_FILE_BYTE).max(FLOOR_BYTES);
        Self { left: left.min(ceiling.max(file_bytes)) }
    }

    /// Reserves `count` elements of `element_bytes` bytes, or returns the error that `what` is too large.
    pub fn take(&mut self, what: &str, count: usize, element_bytes: usize) -> Result<(), Error> {
        let asked = (count as u64).saturating_mul(element_bytes as u64);
        if asked > self.left {
            return Err(too_large(what, asked, self.left));
        }
        self.left -= asked;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_cannot_allocate_gigabytes() {
        let mut budget = Budget::for_file(100);
        assert!(budget.take("frames", 1 << 20, 12).is_ok());
        let error = budget.take("zeros", 1 << 40, 12).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TooLarge { .. }));
    }

    #[test]
    fn the_process_limit_bounds_the_decompressed_size() {
        let gigabyte = 1 << 30;
        assert!(Budget::for_file(4 << 20).take("zeros", 3 * gigabyte, 1).is_err(), "4 MiB that inflate to 3 GiB");
        assert!(Budget::for_file(1 << 30).take("frames", 6 * gigabyte, 1).is_ok(), "a large file, six times its size");
    }
}
