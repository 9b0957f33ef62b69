//! `EXT_meshopt_compression` (and its successor `KHR_meshopt_compression`): buffer views that are compressed.
//!
//! A compressed view specifies bytes in another buffer, the number and size of its elements, their encoding and a
//! filter; meshoptimizer inverts both. The decoder is designed for untrusted input: it checks every read against the
//! encoded size and fails cleanly.

#![allow(unsafe_code, reason = "the decoders with a choice of element size and the filters have only a C interface")]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

use ::meshopt::ffi;

use super::document::Document;
use crate::error::Error;
use crate::gltf::schema::Meshopt;

/// The contents of a view, aligned for every component type.
pub(super) struct Decompressed {
    words: Vec<u64>,
    length: usize,
}

impl Decompressed {
    fn zeroed(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(8)], length }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }
}

/// The contents of all compressed views of `document`.
pub(super) fn decompress_views(document: &Document<'_>) -> Result<BTreeMap<usize, Decompressed>, Error> {
    let mut decompressed = BTreeMap::new();
    for (index, view) in document.root.buffer_views.iter().enumerate() {
        let extensions = &view.extensions;
        if let Some(compression) = extensions.khr_meshopt.as_ref().or(extensions.ext_meshopt.as_ref()) {
            let bytes = decompress(document, compression)
                .map_err(|error| error.at(format!("bufferViews[{index}].extensions.EXT_meshopt_compression")))?;
            decompressed.insert(index, bytes);
        }
    }
    Ok(decompressed)
}

fn decompress(document: &Document<'_>, compression: &Meshopt) -> Result<Decompressed, Error> {
    let &Meshopt { buffer, byte_offset, byte_length, byte_stride: stride, count, .. } = compression;
    let encoded = document.buffer_range(buffer, byte_offset, byte_length)?;
    document.take("a compressed buffer view", count, stride)?;
    let decoder: Decoder = match compression.mode.as_str() {
        "ATTRIBUTES" if stride > 0 && stride <= 256 && stride.is_multiple_of(4) => ffi::meshopt_decodeVertexBuffer,
        "TRIANGLES" if matches!(stride, 2 | 4) && count.is_multiple_of(3) => ffi::meshopt_decodeIndexBuffer,
        "INDICES" if matches!(stride, 2 | 4) => ffi::meshopt_decodeIndexSequence,
        "ATTRIBUTES" | "TRIANGLES" | "INDICES" => return Err(misfit("mode")),
        mode => return Err(Error::unsupported(format!("unknown mode '{mode}'"))),
    };
    let filter: Option<Filter> = match compression.filter.as_deref().unwrap_or("NONE") {
        "NONE" => None,
        "OCTAHEDRAL" if matches!(stride, 4 | 8) => Some(ffi::meshopt_decodeFilterOct),
        "QUATERNION" if stride == 8 => Some(ffi::meshopt_decodeFilterQuat),
        "EXPONENTIAL" if stride.is_multiple_of(4) => Some(ffi::meshopt_decodeFilterExp),
        "COLOR" if matches!(stride, 4 | 8) => Some(ffi::meshopt_decodeFilterColor),
        "OCTAHEDRAL" | "QUATERNION" | "EXPONENTIAL" | "COLOR" => return Err(misfit("filter")),
        name => return Err(Error::unsupported(format!("unknown filter '{name}'"))),
    };
    let mut decompressed = Decompressed::zeroed(count * stride);
    if !decode(&mut decompressed, encoded, stride, decoder) {
        return Err(Error::malformed("the compressed data is corrupt"));
    }
    if let Some(filter) = filter {
        apply(&mut decompressed, stride, filter);
    }
    Ok(decompressed)
}

fn misfit(what: &str) -> Error {
    Error::malformed(format!("the size or number of elements does not match the {what}"))
}

type Decoder = unsafe extern "C" fn(*mut c_void, usize, usize, *const u8, usize) -> c_int;
type Filter = unsafe extern "C" fn(*mut c_void, usize, usize);

fn decode(out: &mut Decompressed, encoded: &[u8], stride: usize, decoder: Decoder) -> bool {
    let count = out.length / stride;
    // SAFETY: the destination holds `count` elements of `stride` bytes and is aligned for them, the caller has chosen
    // a decoder that accepts this stride and count, and pointer and length of the source are those of a slice.
    let status = unsafe { decoder(out.words.as_mut_ptr().cast(), count, stride, encoded.as_ptr(), encoded.len()) };
    status == 0
}

fn apply(out: &mut Decompressed, stride: usize, filter: Filter) {
    // SAFETY: the buffer holds whole elements of `stride` bytes, is aligned for their components, and the caller has
    // chosen a filter that accepts this stride.
    unsafe { filter(out.words.as_mut_ptr().cast(), out.length / stride, stride) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(count: usize, stride: usize, encoded: &[u8], decoder: Decoder) -> Option<Decompressed> {
        let mut out = Decompressed::zeroed(count * stride);
        decode(&mut out, encoded, stride, decoder).then_some(out)
    }

    #[test]
    fn vertices_are_decoded_and_truncated_streams_rejected() {
        let vertices: Vec<[u8; 8]> = (0..100u8).map(|i| [i, 2, 3, i / 2, 5, 6, i, 8]).collect();
        let encoded = ::meshopt::encode_vertex_buffer(&vertices).unwrap();
        let whole = decoded(100, 8, &encoded, ffi::meshopt_decodeVertexBuffer).unwrap();
        assert_eq!(whole.as_bytes(), vertices.concat());
        assert!(decoded(100, 8, &encoded[..encoded.len() - 4], ffi::meshopt_decodeVertexBuffer).is_none());
    }

    #[test]
    fn the_exponential_filter_is_inverted() {
        // 2^-1 · 3 in 8 bits of exponent and 24 of mantissa.
        let mut number = Decompressed { words: vec![0xff00_0003], length: 4 };
        apply(&mut number, 4, ffi::meshopt_decodeFilterExp);
        assert_eq!(number.as_bytes(), 1.5f32.to_le_bytes());
    }
}
