//! The `.npy` header: element type, shape and order of an array.
//!
//! `"\x93NUMPY"`, major and minor version, the length of the text that follows (u16 in version 1, u32 in 2 and 3), and
//! a Python literal `{'descr': '<f4', 'fortran_order': False, 'shape': (48, 100, 3), }`. It is parsed, never evaluated.

use crate::error::Error;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Alignment of payloads, as the format requires, so that they can be mapped.
const ALIGNMENT: usize = 64;
/// Maximum number of dimensions, the same as in `NumPy`.
const MAX_DIMENSIONS: usize = 64;

/// Kind of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub(crate) enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    /// UTF-32 text.
    Text,
    /// Bytes of text.
    Bytes,
}

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dtype {
    /// Kind of an element.
    pub kind: Kind,
    /// The bytes of one element.
    pub size: usize,
    /// True for big-endian byte order.
    pub big_endian: bool,
}

impl Dtype {
    /// The type that `NumPy` writes as `descr`, such as `<f4`.
    pub(crate) fn of_descr(descr: &[u8]) -> Result<Self, Error> {
        let unknown = || {
            let descr = String::from_utf8_lossy(descr).into_owned();
            Error::unsupported(format!("unsupported array type '{descr}'"))
                .with_hint("floats, integers, booleans and text are supported")
        };
        let (order, rest) = match descr {
            [order @ (b'<' | b'>' | b'|' | b'='), rest @ ..] => (*order, rest),
            rest => (b'|', rest),
        };
        let [kind, digits @ ..] = rest else { return Err(unknown()) };
        if *kind == b'O' {
            return Err(Error::unsupported("the array contains pickled Python objects, which are not supported")
                .with_hint("save plain arrays: numpy.asarray(x, dtype=numpy.float32) before numpy.savez"));
        }
        let size: usize =
            std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or_else(unknown)?;
        let (kind, size) = match (kind, size) {
            (b'f', 2 | 4 | 8) => (Kind::Float, size),
            (b'i', 1 | 2 | 4 | 8) => (Kind::Signed, size),
            (b'u', 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
            (b'b', 1) => (Kind::Bool, size),
            (b'U', _) => (Kind::Text, size.checked_mul(4).ok_or_else(unknown)?),
            (b'S', _) => (Kind::Bytes, size),
            _ => return Err(unknown()),
        };
        Ok(Dtype { kind, size, big_endian: order == b'>' })
    }
}

/// A parsed header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// The type of the elements.
    pub dtype: Dtype,
    /// True for column-major order.
    pub fortran_order: bool,
    /// The length of each dimension; empty for a single number.
    pub shape: Vec<usize>,
    /// Offset of the elements.
    pub payload_start: usize,
}

impl Header {
    /// The number of elements; `None` if it overflows.
    pub(crate) fn element_count(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |count, &length| count.checked_mul(length))
    }

    /// Parses the header of an `.npy` file.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let truncated = |needed: usize| Error::truncated("the array's header", needed as u64, bytes.len() as u64);
        let (&magic, rest) = bytes.split_first_chunk::<6>().ok_or_else(|| truncated(MAGIC.len()))?;
        if &magic != MAGIC {
            return Err(Error::malformed("the array has no .npy header"));
        }
        let (&[major, _minor], rest) = rest.split_first_chunk::<2>().ok_or_else(|| truncated(8))?;
        let (length, text_start) = match (major, rest) {
            (1, &[a, b, ..]) => (usize::from(u16::from_le_bytes([a, b])), 10),
            (2 | 3, &[a, b, c, d, ..]) => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
            (1..=3, _) => return Err(truncated(12)),
            _ => return Err(Error::unsupported(format!("unknown version {major} of the .npy format"))),
        };
        let end = text_start + length;
        let text = bytes.get(text_start..end).ok_or_else(|| truncated(end))?;
        Literal { text, at: 0 }.header(end)
    }

    /// The bytes of a version 1 header for `shape` and `descr`, padded so that the payload is aligned.
    pub(crate) fn encode(descr: &str, shape: &[usize]) -> Vec<u8> {
        let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
        // A tuple of one element ends with a comma.
        let comma = if shape.len() == 1 { "," } else { "" };
        let lengths = lengths.join(", ");
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}{comma}), }}");
        let unpadded = MAGIC.len() + 4 + text.len() + 1;
        text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(ALIGNMENT) - unpadded));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    }
}

/// Parser for the subset of Python in which headers are written.
struct Literal<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Literal<'a> {
    fn header(mut self, payload_start: usize) -> Result<Header, Error> {
        let (mut dtype, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.skip(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match key {
                b"descr" => dtype = Some(self.dtype()?),
                b"fortran_order" => fortran_order = Some(self.truth()?),
                b"shape" => shape = Some(self.shape()?),
                _ => return Err(self.wrong("an unknown key")),
            }
            self.skip(b',');
        }
        match (dtype, fortran_order, shape) {
            (Some(dtype), Some(fortran_order), Some(shape)) => {
                Ok(Header { dtype, fortran_order, shape, payload_start })
            }
            _ => Err(self.wrong("descr, fortran_order or shape is missing")),
        }
    }

    fn wrong(&self, what: &str) -> Error {
        Error::malformed(format!("invalid array header: {what} at character {}", self.at))
    }

    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn skip(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Error> {
        if self.skip(wanted) { Ok(()) } else { Err(self.wrong(&format!("no '{}'", wanted as char))) }
    }

    fn string(&mut self) -> Result<&'a [u8], Error> {
        let quote = self.peek().filter(|c| matches!(c, b'\'' | b'"')).ok_or_else(|| self.wrong("no string"))?;
        let rest = &self.text[self.at + 1..];
        let length = rest.iter().position(|&c| c == quote).ok_or_else(|| self.wrong("an unterminated string"))?;
        self.at += length + 2;
        Ok(&rest[..length])
    }

    fn word(&mut self) -> &'a [u8] {
        self.peek();
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|c| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn truth(&mut self) -> Result<bool, Error> {
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err(self.wrong("neither True nor False")),
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, Error> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.skip(b')') {
            // Python 2 wrote long numbers as `3L`.
            let digits = self.word();
            let digits = digits.strip_suffix(b"L").unwrap_or(digits);
            let length = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            shape.push(length.ok_or_else(|| self.wrong("no length"))?);
            if shape.len() > MAX_DIMENSIONS {
                return Err(self.wrong("too many dimensions"));
            }
            self.skip(b',');
        }
        Ok(shape)
    }

    fn dtype(&mut self) -> Result<Dtype, Error> {
        if self.peek() == Some(b'[') {
            return Err(Error::unsupported("the array contains records; only numbers and text are supported"));
        }
        Dtype::of_descr(self.string()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header, Error> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        Header::parse(&bytes)
    }

    #[test]
    fn written_headers_are_read() {
        for shape in [&[][..], &[7], &[48, 100, 3]] {
            let bytes = Header::encode("<f4", shape);
            assert!(bytes.len().is_multiple_of(64));
            let header = Header::parse(&bytes).unwrap();
            assert_eq!((header.shape.as_slice(), header.payload_start), (shape, bytes.len()));
            assert_eq!(header.dtype, Dtype { kind: Kind::Float, size: 4, big_endian: false });
        }
    }

    #[test]
    fn reads_other_notations() {
        let header = parse("{\"shape\":(2L,),'fortran_order':True,'descr':'>i8'}").unwrap();
        assert_eq!((header.shape, header.fortran_order), (vec![2], true));
        assert_eq!(header.dtype, Dtype { kind: Kind::Signed, size: 8, big_endian: true });
    }

    #[test]
    fn rejects_pickles_records_and_invalid_text() {
        let with_type = |descr: &str| parse(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,)}}"));
        assert!(with_type("'|O'").unwrap_err().to_string().contains("pickled"));
        assert!(with_type("[('x', '<f4')]").unwrap_err().to_string().contains("records"));
        for descr in ["'<c8'", "'<M8[ns]'", "'<f'", "''", "'<f3'", "'<U99999999999999999999'"] {
            assert!(with_type(descr).is_err(), "{descr}");
        }
        for text in ["", "{", "{}", "{'shape': (1,", "{'shape': (-1,)}", "{'x': 1}", "{'descr': '<f4"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
