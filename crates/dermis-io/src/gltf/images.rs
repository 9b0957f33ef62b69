//! Media type of an image from its first bytes.

/// The media types of core glTF, and the first bytes of their files.
const SIGNATURES: [(&str, &[u8]); 2] = [("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", &[0xff, 0xd8, 0xff])];

/// The media type of a PNG or JPEG; `None` for anything else.
pub(super) fn core_media_type(bytes: &[u8]) -> Option<&'static str> {
    SIGNATURES.iter().find(|(_, start)| bytes.starts_with(start)).map(|(media_type, _)| *media_type)
}
