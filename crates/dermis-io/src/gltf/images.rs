//! Which kind of image some bytes are, by their first few.

/// The media types that glTF's core knows, and what files of that type begin with.
const SIGNATURES: [(&str, &[u8]); 2] = [("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", &[0xff, 0xd8, 0xff])];

/// The media type of a PNG or JPEG; `None` for anything else.
pub(super) fn core_media_type(bytes: &[u8]) -> Option<&'static str> {
    SIGNATURES.iter().find(|(_, start)| bytes.starts_with(start)).map(|(media_type, _)| *media_type)
}
