//! Media type of encoded images, by their first bytes.

/// Media types, the position and value of bytes that files of the type have.
const SIGNATURES: [(&str, usize, &[u8]); 6] = [
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", 0, &[0xff, 0xd8, 0xff]),
    ("image/webp", 8, b"WEBP"),
    ("image/ktx2", 0, b"\xabKTX 20\xbb\r\n\x1a\n"),
    ("image/avif", 4, b"ftypavif"),
    ("image/vnd-ms.dds", 0, b"DDS "),
];

/// Media type of an image that glTF supports, in its core or with an extension; `None` for other images.
pub(super) fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let is_of =
        |(_, at, signature): &&(&str, usize, &[u8])| bytes.get(*at..).is_some_and(|it| it.starts_with(signature));
    SIGNATURES.iter().find(is_of).map(|(media_type, ..)| *media_type)
}
