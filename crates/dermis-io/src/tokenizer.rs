//! Words of a text file: numbers and keywords separated by white space.

use crate::error::Error;

/// The words of a file, without comments from `#` on.
#[derive(Debug, Clone)]
pub(crate) struct Tokenizer<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokenizer<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let rest = self.bytes[self.at..].trim_ascii_start();
            self.at = self.bytes.len() - rest.len();
            if rest.first() != Some(&b'#') {
                let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                self.at += length;
                return (length > 0).then_some(&rest[..length]);
            }
            self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        }
    }

    pub(crate) fn number<T: std::str::FromStr>(&mut self) -> Result<T, Error> {
        let word = self.next().ok_or_else(|| Error::truncated("a number", 1, 0))?;
        std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()).ok_or_else(|| {
            Error::malformed(format!("'{}' is not a number", String::from_utf8_lossy(&word[..word.len().min(32)])))
        })
    }

    /// A count of rows of `width` numbers each, checked against the length of the rest of the file.
    pub(crate) fn count(&mut self, width: usize) -> Result<usize, Error> {
        let count: usize = self.number()?;
        self.check_rows(count, width)?;
        Ok(count)
    }

    /// Returns whether the rest of the file suffices for `count` rows of `width` numbers.
    pub(crate) fn check_rows(&self, count: usize, width: usize) -> Result<(), Error> {
        let (needed, available) = (count.saturating_mul(2 * width), self.bytes.len() - self.at);
        if needed > available + 1 {
            return Err(Error::truncated(format!("{count} rows"), needed as u64, available as u64));
        }
        Ok(())
    }
}
