//! Storage of a glTF file's bytes: `data:` URIs and files beside it.
//!
//! A file may name only what lies in its own folder or below: no absolute path, no `..`, no scheme. A file
//! from an untrusted source cannot read other parts of the disk.

use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// The media type and bytes of a `data:` URI; `None` if `uri` is not one.
pub(super) fn data_uri(uri: &str) -> Option<Result<(String, Vec<u8>), Error>> {
    let (head, data) = uri.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.split(';').next().unwrap_or_default().to_owned();
    let bytes = if head.ends_with(";base64") { base64(data.as_bytes()) } else { Some(percent_decoded(data)) };
    Some(bytes.map(|bytes| (media_type, bytes)).ok_or_else(|| Error::malformed("a data: URI is not valid base64")))
}

/// Reads the file that `uri` names beside the glTF file in `folder`.
pub(super) fn read_file(uri: &str, folder: Option<&Path>) -> Result<Vec<u8>, Error> {
    let Some(folder) = folder else {
        return Err(Error::unsupported(format!("the data lie in another file, '{}'", shortened(uri)))
            .with_hint("read it by its path, with that file beside it"));
    };
    let path = folder.join(relative_path(uri)?);
    if !path.is_file() {
        return Err(Error::malformed(format!("the file '{}' is missing", shortened(uri)))
            .with_hint("put it into the folder of the glTF file"));
    }
    std::fs::read(&path).map_err(|error| Error::from(error).in_file(path))
}

/// The path below the glTF file's folder that `uri` names.
fn relative_path(uri: &str) -> Result<PathBuf, Error> {
    let refused = || {
        Error::unsupported(format!("'{}' is not a file in the folder of the glTF file", shortened(uri)))
            .with_hint("only files beside the glTF file or below it are read")
    };
    let decoded = String::from_utf8(percent_decoded(uri)).map_err(|_| refused())?;
    // A colon is a scheme, or a drive on Windows; a backslash is a separator there.
    if decoded.is_empty() || decoded.contains([':', '\\', '\0']) {
        return Err(refused());
    }
    let path = PathBuf::from(decoded);
    let stays_below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if stays_below { Ok(path) } else { Err(refused()) }
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

fn shortened(uri: &str) -> String {
    const MOST: usize = 80;
    if uri.chars().count() <= MOST { uri.to_owned() } else { uri.chars().take(MOST).chain(['…']).collect() }
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
    fn names_with_spaces_are_found_and_paths_out_of_the_folder_refused() {
        assert_eq!(relative_path("a%20b/c.bin").unwrap(), Path::new("a b/c.bin"));
        for uri in ["../secret", "a/../../secret", "%2e%2e/secret", "/etc/passwd", "file:///x", "C:\\x", "..\\x", ""] {
            assert!(relative_path(uri).is_err(), "{uri}");
        }
    }
}
