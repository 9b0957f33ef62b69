//! One array of an archive: its header and its elements, converted to the types that meshes need.
//!
//! All numbers are converted via f64, which represents every f32 and every index exactly.

use half::f16;

use crate::error::Error;
use crate::mapped::Mapped;
use crate::npz::npy::{Dtype, Header, Kind};

/// An array whose elements were checked to be inside `bytes`.
#[derive(Debug, Clone)]
pub struct Array {
    /// The array's name, for messages.
    pub(crate) name: String,
    /// Description of its contents.
    pub(crate) header: Header,
    /// The bytes that contain it.
    pub(crate) bytes: Mapped,
    /// Offset of its elements.
    pub(crate) start: usize,
}

impl Array {
    /// The array whose `.npy` file is `bytes[start..end]`.
    pub(crate) fn parse(name: &str, bytes: Mapped, start: usize, end: usize) -> Result<Self, Error> {
        let file = bytes.get(start..end).unwrap_or_default();
        let header = Header::parse(file).map_err(|error| error.at(name))?;
        let start = start + header.payload_start;
        Self::of_parts(name, header, bytes, start, end)
    }

    /// The array that `header` describes, its elements in `bytes[start..end]`.
    pub(crate) fn of_parts(name: &str, header: Header, bytes: Mapped, start: usize, end: usize) -> Result<Self, Error> {
        let available = end.min(bytes.len()).saturating_sub(start);
        let needed = header.element_count().and_then(|count| count.checked_mul(header.dtype.size));
        if needed.is_none_or(|needed| needed > available) {
            let needed = needed.map_or(u64::MAX, |needed| needed as u64);
            return Err(Error::truncated("the array", needed, available as u64).at(name));
        }
        if header.dtype.size == 0 {
            return Err(Error::malformed("the elements of the array have a size of 0").at(name));
        }
        Ok(Self { name: name.to_owned(), header, bytes, start })
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// The shape, which must have `K` dimensions, none of them empty; `wanted` describes it, for the message.
    pub fn shape_of<const K: usize>(&self, wanted: &str) -> Result<[usize; K], Error> {
        let shape = <[usize; K]>::try_from(self.shape()).map_err(|_| self.wrong_shape(wanted))?;
        // If an array is empty in one dimension, its other lengths are not backed by data.
        if shape.contains(&0) { Err(self.wrong_shape(wanted)) } else { Ok(shape) }
    }

    /// Error with the expected shape of the array.
    pub fn wrong_shape(&self, wanted: &str) -> Error {
        Error::malformed(format!("the array has the shape {:?}; expected {wanted}", self.shape())).at(&self.name)
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        // Checked when the array was parsed.
        self.shape().iter().product()
    }

    /// All numbers, in row-major order.
    pub fn numbers(&self) -> Result<Vec<f64>, Error> {
        self.convert(|number| number)
    }

    /// All numbers as f32, in row-major order.
    pub fn floats(&self) -> Result<Vec<f32>, Error> {
        self.convert(|number| number as f32)
    }

    /// All numbers as indices below 2³², in row-major order.
    pub fn indices(&self) -> Result<Vec<u32>, Error> {
        let numbers = self.numbers()?;
        let whole = |(at, number): (usize, &f64)| {
            let index = *number as u32;
            if f64::from(index) == *number {
                Ok(index)
            } else {
                Err(Error::malformed(format!("number {at} is {number}, which is not a valid index")).at(&self.name))
            }
        };
        numbers.iter().enumerate().map(whole).collect()
    }

    /// The value of an array with one number.
    pub fn number(&self) -> Result<f64, Error> {
        match self.numbers()?.as_slice() {
            [number] => Ok(*number),
            _ => Err(self.wrong_shape("a single number")),
        }
    }

    /// All texts, in row-major order.
    pub fn texts(&self) -> Result<Vec<String>, Error> {
        let Dtype { kind, size, big_endian } = self.header.dtype;
        let bytes = self.payload();
        let unit = |unit: &[u8; 4]| {
            let code = if big_endian { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) };
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        let text = |element: &[u8]| match kind {
            Kind::Text => Some(element.as_chunks::<4>().0.iter().map(unit).collect::<String>()),
            Kind::Bytes => Some(String::from_utf8_lossy(element).into_owned()),
            _ => None,
        };
        (0..self.len())
            .map(|at| text(&bytes[at * size..(at + 1) * size]).map(|text| text.trim_end_matches('\0').to_owned()))
            .collect::<Option<Vec<String>>>()
            .ok_or_else(|| Error::malformed("the array contains numbers; expected text").at(&self.name))
    }

    fn payload(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len() * self.header.dtype.size]
    }

    fn convert<T: Copy + Default>(&self, from: impl Fn(f64) -> T) -> Result<Vec<T>, Error> {
        let Dtype { kind, size, big_endian } = self.header.dtype;
        let bytes = self.payload();
        let values = match (kind, size) {
            (Kind::Float, 2) => each(bytes, big_endian, |b| from(f16::from_le_bytes(b).to_f64())),
            (Kind::Float, 4) => each(bytes, big_endian, |b| from(f32::from_le_bytes(b).into())),
            (Kind::Float, 8) => each(bytes, big_endian, |b| from(f64::from_le_bytes(b))),
            (Kind::Signed, 1) => each(bytes, big_endian, |b| from(i8::from_le_bytes(b).into())),
            (Kind::Signed, 2) => each(bytes, big_endian, |b| from(i16::from_le_bytes(b).into())),
            (Kind::Signed, 4) => each(bytes, big_endian, |b| from(i32::from_le_bytes(b).into())),
            (Kind::Signed, 8) => each(bytes, big_endian, |b| from(i64::from_le_bytes(b) as f64)),
            (Kind::Unsigned | Kind::Bool, 1) => each(bytes, big_endian, |b| from(u8::from_le_bytes(b).into())),
            (Kind::Unsigned, 2) => each(bytes, big_endian, |b| from(u16::from_le_bytes(b).into())),
            (Kind::Unsigned, 4) => each(bytes, big_endian, |b| from(u32::from_le_bytes(b).into())),
            (Kind::Unsigned, 8) => each(bytes, big_endian, |b| from(u64::from_le_bytes(b) as f64)),
            _ => return Err(Error::malformed("the array contains text; expected numbers").at(&self.name)),
        };
        Ok(if self.header.fortran_order { last_index_fastest(&values, self.shape()) } else { values })
    }
}

fn each<T, const K: usize>(bytes: &[u8], big_endian: bool, number: impl Fn([u8; K]) -> T) -> Vec<T> {
    let (elements, _) = bytes.as_chunks::<K>();
    let ordered = |element: &[u8; K]| {
        let mut element = *element;
        if big_endian {
            element.reverse();
        }
        number(element)
    };
    elements.iter().map(ordered).collect()
}

/// Reorders a column-major array.
fn last_index_fastest<T: Copy + Default>(values: &[T], shape: &[usize]) -> Vec<T> {
    let mut result = Vec::with_capacity(values.len());
    let mut index = vec![0usize; shape.len()];
    let strides: Vec<usize> = shape
        .iter()
        .scan(1usize, |next, &length| {
            let stride = *next;
            *next *= length;
            Some(stride)
        })
        .collect();
    let mut from = 0;
    for _ in 0..values.len() {
        result.push(values[from]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            from += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            from -= index[axis] * strides[axis];
            index[axis] = 0;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(descr: &str, shape: &[usize], payload: &[u8]) -> Array {
        let bytes = [Header::encode(descr, shape).as_slice(), payload].concat();
        let end = bytes.len();
        Array::parse("test", Mapped::of_bytes(bytes), 0, end).unwrap()
    }

    #[test]
    fn fortran_order_is_converted() {
        let payload: Vec<u8> = (0..24).collect();
        let mut array = array("|u1", &[2, 3, 4], &payload);
        array.header.fortran_order = true;
        let numbers = array.numbers().unwrap();
        // Element (i, j, k) of a Fortran array is at i + 2j + 6k.
        assert_eq!(numbers[..5], [0.0, 6.0, 12.0, 18.0, 2.0]);
        assert_eq!(numbers[23], 23.0);
    }

    #[test]
    fn numbers_of_every_type_are_read() {
        assert_eq!(array("<f2", &[3], &[0, 0x3c, 1, 0, 0, 0xc0]).numbers().unwrap(), [1.0, 2f64.powi(-24), -2.0]);
        assert_eq!(array(">i2", &[1], &[0xff, 0xfe]).numbers().unwrap(), [-2.0]);
        assert_eq!(array("|b1", &[2], &[0, 1]).numbers().unwrap(), [0.0, 1.0]);
        assert_eq!(array("<u8", &[1], &[0xff; 8]).numbers().unwrap(), [2f64.powi(64)]);
        assert_eq!(array("<U2", &[1], &[b'h', 0, 0, 0, 0, 0, 0, 0]).texts().unwrap(), ["h"]);
        assert_eq!(array("|S3", &[1], b"ab\0").texts().unwrap(), ["ab"]);
    }

    #[test]
    fn rejects_invalid_indices() {
        assert!(array("<i4", &[1], &(-1i32).to_le_bytes()).indices().is_err());
        assert!(array("<f4", &[1], &1.5f32.to_le_bytes()).indices().is_err());
        assert!(array("<f4", &[1], &f32::NAN.to_le_bytes()).indices().is_err());
    }

    #[test]
    fn rejects_a_shape_larger_than_its_bytes() {
        let bytes = Header::encode("<f4", &[usize::MAX, 2]);
        let end = bytes.len();
        assert!(Array::parse("test", Mapped::of_bytes(bytes), 0, end).is_err());
    }
}
