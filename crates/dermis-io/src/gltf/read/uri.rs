//! Locations of the data of a glTF file: `data:` URIs and files next to it.
//!
//! Only relative paths within [`crate::neighbours`] are allowed.

use crate::error::Error;
use crate::mapped::read_whole;
use crate::neighbours::{Neighbours, shortened};

/// The media type and bytes of a `data:` URI; `None` if `uri` is not one.
pub(super) fn data_uri(uri: &str) -> Option<Result<(String, Vec<u8>), Error>> {
    let (head, data) = uri.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.split(';').next().unwrap_or_default().to_owned();
    let bytes = if head.ends_with(";base64") { base64(data.as_bytes()) } else { Some(percent_decoded(data)) };
    Some(bytes.map(|bytes| (media_type, bytes)).ok_or_else(|| Error::malformed("a data: URI is not valid base64")))
}

/// Reads the file at `uri`, one of the `neighbours` of the glTF file.
pub(super) fn read_file(uri: &str, neighbours: Option<&Neighbours>) -> Result<Vec<u8>, Error> {
    let Some(neighbours) = neighbours else {
        return Err(Error::unsupported(format!("the data is in another file, '{}'", shortened(uri)))
            .with_hint("read it by its path, with that file next to it"));
    };
    read_whole(&neighbours.find(&file_name(uri)?)?)
}

/// The relative path of `uri`.
fn file_name(uri: &str) -> Result<String, Error> {
    let rejected = || {
        Error::unsupported(format!("'{}' is not the relative path of a file", shortened(uri)))
            .with_hint("only files with a relative path are read")
    };
    let decoded = String::from_utf8(percent_decoded(uri)).map_err(|_| rejected())?;
    // A colon indicates a scheme, or a drive on Windows; a backslash is a separator on Windows.
    let is_absolute = decoded.starts_with('/');
    if decoded.is_empty() || is_absolute || decoded.contains([':', '\\', '\0']) { Err(rejected()) } else { Ok(decoded) }
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%').then(|| digit(at + 1).zip(digit(at + 2))).flatten();
        let (decoded_byte, length) = escaped.map_or((byte, 1), |(high, low)| ((high * 16 + low) as u8, 3));
        decoded.push(decoded_byte);
        at += length;
    }
    decoded
}

/// Standard or URL-safe alphabet, with or without padding.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for &byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b'\n' | b'\r' => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            decoded.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length_is_decoded() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob")] {
            let (media_type, decoded) = data_uri(&format!("data:text/plain;base64,{text}")).unwrap().unwrap();
            assert_eq!((media_type.as_str(), decoded.as_slice()), ("text/plain", bytes.as_bytes()));
        }
        assert!(data_uri("data:;base64,*").unwrap().is_err());
        assert!(data_uri("mesh.bin").is_none());
    }

    #[test]
    fn names_with_spaces_are_decoded_and_anything_but_relative_paths_rejected() {
        assert_eq!(file_name("a%20b/c.bin").unwrap(), "a b/c.bin");
        assert_eq!(file_name("../c.bin").unwrap(), "../c.bin");
        for uri in ["/etc/passwd", "file:///x", "C:\\x", "..\\x", ""] {
            assert!(file_name(uri).is_err(), "{uri}");
        }
    }
}
