//! Accessors: typed views of the file's bytes (glTF 2.0, §3.6.2), decoded to floats or indices.
//!
//! All component types are supported, normalized or not, with any stride and sparse substitution; accessors without a
//! buffer view are zeros. Every range is checked against the available bytes before anything is allocated. Tightly
//! packed floats are borrowed, so that hundreds of morph targets are read at memory speed.

use std::borrow::Cow;

use dermis_mesh::Values;

use super::document::{Document, missing};
use crate::error::Error;
use crate::gltf::schema::{Accessor, Sparse};

/// Numbers borrowed from the file if it stores them as f32, otherwise decoded.
pub(in crate::gltf) type Floats<'a> = Cow<'a, [f32]>;

/// A component type by its `OpenGL` number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn new(number: u32) -> Result<Self, Error> {
        Ok(match number {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => return Err(Error::malformed(format!("{number} is not a glTF component type"))),
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// Divisor of normalized integers; 1 for numbers that are not normalized.
    fn divisor(self) -> f32 {
        match self {
            Self::I8 => 127.0,
            Self::U8 => 255.0,
            Self::I16 => 32767.0,
            Self::U16 => 65535.0,
            Self::U32 | Self::F32 => 1.0,
        }
    }

    fn float(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Self::I8, &[a]) => f32::from(a as i8),
            (Self::U8, &[a]) => f32::from(a),
            (Self::I16, &[a, b]) => f32::from(i16::from_le_bytes([a, b])),
            (Self::U16, &[a, b]) => f32::from(u16::from_le_bytes([a, b])),
            (Self::U32, &[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) as f32,
            (Self::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            _ => 0.0,
        }
    }

    fn index(self, bytes: &[u8]) -> Option<u32> {
        match (self, bytes) {
            (Self::U8, &[a]) => Some(u32::from(a)),
            (Self::U16, &[a, b]) => Some(u32::from(u16::from_le_bytes([a, b]))),
            (Self::U32, &[a, b, c, d]) => Some(u32::from_le_bytes([a, b, c, d])),
            _ => None,
        }
    }
}

/// The number of components of an accessor's type.
pub(in crate::gltf) fn width(shape: &str) -> Result<usize, Error> {
    Ok(match shape {
        "SCALAR" => 1,
        "VEC2" => 2,
        "VEC3" => 3,
        "VEC4" | "MAT2" => 4,
        "MAT3" => 9,
        "MAT4" => 16,
        _ => return Err(Error::malformed(format!("'{shape}' is not a glTF accessor type"))),
    })
}

/// Divisor of the integers of an accessor.
pub(super) fn normalization(accessor: &Accessor) -> Result<f32, Error> {
    let component = Component::new(accessor.component_type)?;
    Ok(if accessor.normalized { component.divisor() } else { 1.0 })
}

/// Elements of an accessor in the file: their bytes, stride and size.
struct Elements<'a> {
    bytes: &'a [u8],
    stride: usize,
    size: usize,
    count: usize,
}

impl<'a> Elements<'a> {
    fn new(bytes: &'a [u8], offset: usize, stride: usize, size: usize, count: usize) -> Result<Self, Error> {
        let room = count.saturating_sub(1).saturating_mul(stride).saturating_add(size);
        let needed = if count == 0 { 0 } else { room };
        let available = bytes.len().saturating_sub(offset);
        if needed > available {
            return Err(Error::truncated("the accessor", needed as u64, available as u64));
        }
        Ok(Self { bytes: &bytes[offset.min(bytes.len())..], stride, size, count })
    }

    fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        let Self { bytes, stride, size, count } = *self;
        (0..count).map(move |element| &bytes[element * stride..element * stride + size])
    }

    fn tight(&self) -> Option<&'a [u8]> {
        (self.stride == self.size).then(|| &self.bytes[..self.count * self.size])
    }
}

impl Document<'_> {
    /// Description of an accessor in the file.
    pub(in crate::gltf) fn accessor(&self, index: usize) -> Result<&Accessor, Error> {
        let count = self.root.accessors.len();
        self.root.accessors.get(index).ok_or_else(|| missing("accessor", index, count))
    }

    /// The numbers of an accessor whose elements have `expected` components; all are finite.
    pub(in crate::gltf) fn floats(&self, index: usize, expected: usize) -> Result<Floats<'_>, Error> {
        let floats = self.floats_unchecked(index, expected)?;
        match floats.iter().position(|number| !number.is_finite()) {
            None => Ok(floats),
            Some(at) => Err(Error::malformed(format!("element {} is not a finite number", at / expected))
                .at(format!("accessors[{index}]"))),
        }
    }

    /// Like [`Document::floats`], for callers that check every number themselves.
    pub(super) fn floats_unchecked(&self, index: usize, expected: usize) -> Result<Floats<'_>, Error> {
        let accessor = self.accessor(index)?;
        self.decode_floats(accessor, expected).map_err(|error| error.at(format!("accessors[{index}]")))
    }

    /// The numbers of an accessor of indices.
    pub(in crate::gltf) fn indices(&self, index: usize) -> Result<Vec<u32>, Error> {
        let accessor = self.accessor(index)?;
        self.decode_indices(accessor).map_err(|error| error.at(format!("accessors[{index}]")))
    }

    /// The scalars of an accessor: unsigned integers as such, everything else as floats.
    pub(super) fn values(&self, index: usize) -> Result<Values, Error> {
        let accessor = self.accessor(index)?;
        match Component::new(accessor.component_type)? {
            Component::U32 => self.indices(index).map(Values::U32),
            Component::U16 if !accessor.normalized => {
                Ok(Values::U16(self.indices(index)?.into_iter().map(|value| value as u16).collect()))
            }
            _ => {
                // Several properties can refer to one accessor.
                self.take("numbers", accessor.count, 4)?;
                Ok(Values::F32(self.floats(index, 1)?.into_owned()))
            }
        }
    }

    fn decode_floats(&self, accessor: &Accessor, expected: usize) -> Result<Floats<'_>, Error> {
        let component = Component::new(accessor.component_type)?;
        let found = width(&accessor.shape)?;
        if found != expected {
            return Err(Error::malformed(format!("elements have {found} components; {expected} are required")));
        }
        // The columns of small-integer matrices are padded; no supported property uses such matrices.
        if accessor.shape.starts_with("MAT") && component != Component::F32 {
            return Err(Error::unsupported("matrices of integers are not supported"));
        }
        let floats = if let Some(elements) = self.elements(accessor, component, expected)? {
            self.floats_of(&elements, accessor, component)?
        } else {
            self.take("an accessor without data", accessor.count, 4 * expected)?;
            Cow::Owned(vec![0.0; accessor.count * expected])
        };
        match &accessor.sparse {
            Some(sparse) => self.substituted(floats.into_owned(), sparse, accessor, component, expected),
            None => Ok(floats),
        }
    }

    /// `None` if the accessor has no buffer view.
    fn elements(&self, accessor: &Accessor, component: Component, width: usize) -> Result<Option<Elements<'_>>, Error> {
        let Some(view) = accessor.buffer_view else {
            return Ok(None);
        };
        let size = component.bytes() * width;
        let stride = self.view_description(view)?.byte_stride.unwrap_or(size);
        Elements::new(self.view(view)?, accessor.byte_offset.unwrap_or(0), stride, size, accessor.count).map(Some)
    }

    fn floats_of<'b>(
        &self,
        elements: &Elements<'b>,
        accessor: &Accessor,
        component: Component,
    ) -> Result<Floats<'b>, Error> {
        if component == Component::F32
            && cfg!(target_endian = "little")
            && let Some(floats) = elements.tight().and_then(|bytes| bytemuck::try_cast_slice(bytes).ok())
        {
            return Ok(Cow::Borrowed(floats));
        }
        // Overlapping or repeated elements (a stride of 0) have fewer bytes than numbers.
        self.take("an accessor", elements.count, 4 * elements.size / component.bytes())?;
        let convert = converter(component, normalization(accessor)?);
        let mut floats = Vec::with_capacity(elements.count * elements.size / component.bytes());
        for element in elements.iter() {
            floats.extend(element.chunks_exact(component.bytes()).map(&convert));
        }
        Ok(Cow::Owned(floats))
    }

    /// Replaces the elements that a sparse accessor lists (§3.6.2.3).
    fn substituted(
        &self,
        mut floats: Vec<f32>,
        sparse: &Sparse,
        accessor: &Accessor,
        component: Component,
        width: usize,
    ) -> Result<Floats<'_>, Error> {
        let index_type = Component::new(sparse.indices.component_type)?;
        let (indices, values) = self.sparse_elements(sparse, component.bytes() * width)?;
        let convert = converter(component, normalization(accessor)?);
        for (index, value) in indices.iter().zip(values.iter()) {
            let index = index_type.index(index).ok_or_else(|| Error::malformed("sparse indices are not integers"))?;
            let start = (index as usize).saturating_mul(width);
            let Some(element) = floats.get_mut(start..start.saturating_add(width)) else {
                return Err(past_the_end(index, accessor));
            };
            for (number, bytes) in element.iter_mut().zip(value.chunks_exact(component.bytes())) {
                *number = convert(bytes);
            }
        }
        Ok(Cow::Owned(floats))
    }

    fn decode_indices(&self, accessor: &Accessor) -> Result<Vec<u32>, Error> {
        let component = Component::new(accessor.component_type)?;
        if width(&accessor.shape)? != 1 {
            return Err(Error::malformed("indices are not scalars"));
        }
        self.take("indices", accessor.count, 4)?;
        let not_integers = || Error::malformed("indices are not unsigned integers");
        let mut indices: Vec<u32> = match self.elements(accessor, component, 1)? {
            Some(elements) => {
                let indices: Option<_> = elements.iter().map(|bytes| component.index(bytes)).collect();
                indices.ok_or_else(not_integers)?
            }
            None => vec![0; accessor.count],
        };
        if let Some(sparse) = &accessor.sparse {
            let (places, values) = self.sparse_elements(sparse, component.bytes())?;
            let place_type = Component::new(sparse.indices.component_type)?;
            for (place, value) in places.iter().zip(values.iter()) {
                let place = place_type.index(place).ok_or_else(not_integers)?;
                let slot = indices.get_mut(place as usize).ok_or_else(|| past_the_end(place, accessor))?;
                *slot = component.index(value).ok_or_else(not_integers)?;
            }
        }
        Ok(indices)
    }

    /// Indices and values of a sparse accessor whose elements have `size` bytes.
    fn sparse_elements(&self, sparse: &Sparse, size: usize) -> Result<(Elements<'_>, Elements<'_>), Error> {
        let index_size = Component::new(sparse.indices.component_type)?.bytes();
        let (indices, values) = (&sparse.indices, &sparse.values);
        let places = self.view(indices.buffer_view)?;
        let places = Elements::new(places, indices.byte_offset, index_size, index_size, sparse.count)?;
        let values = Elements::new(self.view(values.buffer_view)?, values.byte_offset, size, size, sparse.count)?;
        Ok((places, values))
    }
}

fn past_the_end(index: u32, accessor: &Accessor) -> Error {
    Error::malformed(format!("sparse index {index} is past the {} elements", accessor.count))
}

/// Conversion of the bytes of a component to a float.
fn converter(component: Component, divisor: f32) -> impl Fn(&[u8]) -> f32 {
    move |bytes| {
        let number = component.float(bytes);
        // Normalized signed integers would fall below −1 by one step (§3.11).
        if divisor == 1.0 { number } else { (number / divisor).max(-1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(accessors: &str, views: &str, base64: &str) -> Vec<u8> {
        format!(
            r#"{{"asset":{{"version":"2.0"}},"accessors":[{accessors}],"bufferViews":[{views}],
            "buffers":[{{"byteLength":8,"uri":"data:;base64,{base64}"}}]}}"#
        )
        .into_bytes()
    }

    /// Bytes 0, 127, 128, 255, 1, 2, 3, 4.
    const BYTES: &str = "AH+A/wECAwQ=";

    #[test]
    fn integers_are_normalized_as_specified() {
        let accessors = r#"{"bufferView":0,"componentType":5120,"normalized":true,"count":2,"type":"VEC2"},
            {"bufferView":0,"componentType":5121,"normalized":true,"count":4,"type":"SCALAR"},
            {"bufferView":0,"componentType":5123,"count":2,"type":"VEC2"}"#;
        let bytes = document(accessors, r#"{"byteLength":8}"#, BYTES);
        let document = Document::open(&bytes, None).unwrap();
        assert_eq!(*document.floats(0, 2).unwrap(), [0.0, 1.0, -1.0, -1.0 / 127.0]);
        assert_eq!(*document.floats(1, 1).unwrap(), [0.0, 127.0 / 255.0, 128.0 / 255.0, 1.0]);
        assert_eq!(*document.floats(2, 2).unwrap(), [32512.0, 65408.0, 513.0, 1027.0]);
        assert!(document.floats(2, 3).is_err());
        assert!(document.floats(3, 1).is_err());
    }

    #[test]
    fn sparse_elements_replace_zeros() {
        let accessors = r#"{"componentType":5121,"count":5,"type":"SCALAR","sparse":{"count":2,
            "indices":{"bufferView":0,"byteOffset":4,"componentType":5121},"values":{"bufferView":0,"byteOffset":6}}}"#;
        let bytes = document(accessors, r#"{"byteLength":8}"#, BYTES);
        let document = Document::open(&bytes, None).unwrap();
        assert_eq!(*document.floats(0, 1).unwrap(), [0.0, 3.0, 4.0, 0.0, 0.0]);
    }

    #[test]
    fn rejects_ranges_past_the_view_and_implausible_counts() {
        let accessors = r#"{"bufferView":0,"componentType":5121,"count":9,"type":"SCALAR"},
            {"componentType":5126,"count":18446744073709551615,"type":"MAT4"},
            {"bufferView":0,"byteOffset":18446744073709551615,"componentType":5126,"count":1,"type":"SCALAR"},
            {"bufferView":1,"componentType":5121,"count":18446744073709551615,"type":"SCALAR"}"#;
        let bytes = document(accessors, r#"{"byteLength":8},{"byteLength":8,"byteStride":0}"#, BYTES);
        let document = Document::open(&bytes, None).unwrap();
        for (index, width) in [(0, 1), (1, 16), (2, 1), (3, 1)] {
            assert!(document.floats(index, width).is_err(), "accessor {index}");
            assert!(document.indices(index).is_err(), "accessor {index}");
        }
    }
}
