//! Pickled dictionaries of `NumPy` arrays and `SciPy` matrices, as SMPL's files are. No code of the file is executed.
//!
//! Arrays are stored as `numpy` writes them: `_reconstruct` and a state of shape, type, order and bytes (protocols 0 to
//! 4, Python 2 and 3), or `_frombuffer` (protocol 5). Matrices are those of `scipy.sparse`: compressed by rows or
//! columns, or coordinates. Everything else, such as the objects of `chumpy` in older files, is rejected if it is
//! needed and ignored if it is not.

mod machine;

use crate::error::Error;
use crate::mapped::Mapped;
use crate::npz::array::Array;
use crate::npz::arrays::{Arrays, Sparse};
use crate::npz::npy::{Dtype, Header};
use machine::{Id, Value};

/// Maximum number of dimensions, the same as in `NumPy`.
const MAX_DIMENSIONS: usize = 64;

/// An unpickled dictionary.
pub(super) struct Pickle {
    bytes: Mapped,
    values: Vec<Value>,
    entries: Vec<(Id, Id)>,
}

impl Pickle {
    /// Unpickles `bytes`.
    pub(super) fn open(bytes: Mapped) -> Result<Self, Error> {
        let (values, result) = machine::run(&bytes)?;
        let Value::Dict(entries) = &values[result] else {
            return Err(Error::unsupported("the pickle contains no dictionary of arrays"));
        };
        let entries = entries.clone();
        Ok(Self { bytes, values, entries })
    }

    /// The entry of a dictionary, the last if there are several.
    fn entry(&self, entries: &[(Id, Id)], name: &str) -> Option<Id> {
        let is_named = |(key, _): &&(Id, Id)| self.text(*key).is_some_and(|key| key == name.as_bytes());
        entries.iter().rev().find(is_named).map(|(_, value)| *value)
    }

    /// Text, including text of Python 2.
    fn text(&self, id: Id) -> Option<&[u8]> {
        match &self.values[id] {
            Value::Text(text) => Some(text.as_bytes()),
            Value::Bytes(range) => Some(&self.bytes[range.clone()]),
            Value::OwnBytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn tuple(&self, id: Id) -> Option<&[Id]> {
        match &self.values[id] {
            Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    fn is_true(&self, id: Id) -> bool {
        matches!(self.values[id], Value::Bool(true) | Value::Integer(1))
    }

    /// The class or function of an object, its arguments and its state.
    fn object(&self, id: Id) -> Option<(&str, &[Id], Option<Id>)> {
        let Value::Object { class, args, state } = &self.values[id] else { return None };
        let Value::Global(name) = &self.values[*class] else { return None };
        Some((name, self.tuple(*args)?, *state))
    }

    /// The class of an object made by `NEWOBJ` or `copyreg._reconstructor`, and its state.
    fn instance(&self, id: Id) -> Option<(&str, Id)> {
        let (name, args, state) = self.object(id)?;
        let name = match (name, args) {
            ("copy_reg._reconstructor" | "copyreg._reconstructor", [class, ..]) => match &self.values[*class] {
                Value::Global(name) => name,
                _ => return None,
            },
            _ => name,
        };
        Some((name, state?))
    }

    fn parse_array(&self, name: &str, id: Id) -> Result<Array, Error> {
        let (parts, fortran_order, data) = self.array_parts(id).ok_or_else(|| self.no_array(id))?;
        let (shape, dtype) = parts;
        let dtype = self.dtype(dtype).ok_or_else(|| Error::malformed("unknown type of array"))??;
        let header = Header { dtype, fortran_order, shape: self.shape(shape)?, payload_start: 0 };
        let (bytes, start, end) = self.payload(data).ok_or_else(|| self.no_array(data))?;
        Array::of_parts(name, header, bytes, start, end)
    }

    /// Shape and type of an array, true for column-major order, and the bytes.
    fn array_parts(&self, id: Id) -> Option<((Id, Id), bool, Id)> {
        let (name, args, state) = self.object(id)?;
        match (unprefixed(name)?, args) {
            ("multiarray._reconstruct", _) => {
                let &[_, shape, dtype, fortran, data] = self.tuple(state?)? else { return None };
                Some(((shape, dtype), self.is_true(fortran), data))
            }
            ("numeric._frombuffer", &[data, dtype, shape, order]) => {
                Some(((shape, dtype), self.text(order)? == b"F", data))
            }
            _ => None,
        }
    }

    /// Location of bytes: in the file, or in memory.
    fn payload(&self, id: Id) -> Option<(Mapped, usize, usize)> {
        let own = |bytes: Vec<u8>| {
            let length = bytes.len();
            Some((Mapped::of_bytes(bytes), 0, length))
        };
        match &self.values[id] {
            Value::Bytes(range) => Some((self.bytes.clone(), range.start, range.end)),
            Value::OwnBytes(bytes) => own(bytes.clone()),
            // Python 3 writes bytes in this way in protocols without a type for bytes.
            Value::Object { .. } => match self.object(id)? {
                ("_codecs.encode", &[text, _], _) => match &self.values[text] {
                    Value::Text(text) => own(text.chars().map(|c| u8::try_from(c).ok()).collect::<Option<_>>()?),
                    _ => None,
                },
                ("__builtin__.bytes" | "builtins.bytes" | "__builtin__.bytearray" | "builtins.bytearray", [], _) => {
                    own(Vec::new())
                }
                ("builtins.bytearray" | "__builtin__.bytearray", &[bytes, ..], _) => match &self.values[bytes] {
                    // Resolved once: nested bytearrays do not occur.
                    Value::Bytes(range) => Some((self.bytes.clone(), range.start, range.end)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// `numpy.dtype('f8', …)` with a state that contains the byte order.
    fn dtype(&self, id: Id) -> Option<Result<Dtype, Error>> {
        let ("numpy.dtype", &[kind, ..], state) = self.object(id)? else { return None };
        let order = state.and_then(|state| self.text(*self.tuple(state)?.get(1)?)).unwrap_or(b"|");
        let kind = self.text(kind)?;
        let kind = kind.strip_prefix(b"<").unwrap_or(kind);
        Some(Dtype::of_descr(&[order, kind].concat()))
    }

    fn shape(&self, id: Id) -> Result<Vec<usize>, Error> {
        let wrong = || Error::malformed("the shape of the array is not a list of lengths");
        let lengths = match &self.values[id] {
            Value::Tuple(lengths) if lengths.len() <= MAX_DIMENSIONS => lengths,
            _ => return Err(wrong()),
        };
        let length = |id: &Id| match self.values[*id] {
            Value::Integer(length) => usize::try_from(length).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        lengths.iter().map(length).collect()
    }

    /// Error of a value that is not an array.
    fn no_array(&self, id: Id) -> Error {
        let class = self.instance(id).map(|(name, _)| name).or_else(|| self.object(id).map(|(name, ..)| name));
        let what = class.map_or("something else".to_owned(), |class| format!("an object of Python's '{class}'"));
        let error = Error::unsupported(format!("expected an array, found {what}; code in pickles is never executed"));
        error.with_hint("load the file in Python and save it as .npz, with numpy.asarray(x) for every array")
    }

    fn parse_sparse(&self, name: &str, id: Id) -> Result<Option<Sparse>, Error> {
        let Some((class, state)) = self.instance(id).filter(|(class, _)| class.starts_with("scipy.sparse.")) else {
            return Ok(None);
        };
        let Value::Dict(entries) = &self.values[state] else { return Err(self.no_array(id)) };
        let member = |key: &str| self.entry(entries, key);
        let shape = member("_shape").or_else(|| member("shape")).ok_or_else(|| self.no_array(id))?;
        let &[rows, columns] = self.shape(shape)?.as_slice() else { return Err(self.no_array(id)) };
        let numbers = |key: &str| {
            let array = self.parse_array(name, member(key).ok_or_else(|| self.no_array(id))?)?;
            array.numbers()
        };
        let data = numbers("data")?;
        let kind = class.rsplit('.').next().unwrap_or_default();
        let (first, second) = match kind.get(..3) {
            Some("csr") => (expanded(&numbers("indptr")?, data.len())?, numbers("indices")?),
            Some("csc") => (numbers("indices")?, expanded(&numbers("indptr")?, data.len())?),
            Some("coo") => match member("coords").and_then(|coords| self.tuple(coords)) {
                Some(&[rows, columns]) => {
                    (self.parse_array(name, rows)?.numbers()?, self.parse_array(name, columns)?.numbers()?)
                }
                _ => (numbers("row")?, numbers("col")?),
            },
            _ => return Err(self.no_array(id)),
        };
        let entries = entries_of(&first, &second, &data, [rows, columns])?;
        Ok(Some(Sparse { shape: [rows, columns], entries }))
    }
}

impl Arrays for Pickle {
    fn array(&mut self, name: &'static str) -> Result<Option<Array>, Error> {
        let id = self.entry(&self.entries, name);
        id.map(|id| self.parse_array(name, id)).transpose().map_err(|error| error.at(name))
    }

    fn sparse(&mut self, name: &'static str) -> Result<Option<Sparse>, Error> {
        match self.entry(&self.entries, name) {
            Some(id) => self.parse_sparse(name, id).map_err(|error| error.at(name)),
            None => Ok(None),
        }
    }
}

/// A name inside `numpy.core`, which newer versions call `numpy._core`.
fn unprefixed(name: &str) -> Option<&str> {
    name.strip_prefix("numpy.core.").or_else(|| name.strip_prefix("numpy._core."))
}

/// Row of each of `count` entries, from the first entry of each row.
fn expanded(starts: &[f64], count: usize) -> Result<Vec<f64>, Error> {
    let rises = starts.is_sorted() && starts.first() == Some(&0.0) && starts.last() == Some(&(count as f64));
    if !rises {
        return Err(Error::malformed("the row offsets of the sparse matrix are not ascending"));
    }
    let row = |(row, ends): (usize, &[f64])| std::iter::repeat_n(row as f64, (ends[1] - ends[0]) as usize);
    Ok(starts.windows(2).enumerate().flat_map(row).collect())
}

fn entries_of(rows: &[f64], columns: &[f64], data: &[f64], shape: [usize; 2]) -> Result<Vec<(u32, u32, f64)>, Error> {
    let wrong = || Error::malformed("an entry of the sparse matrix is out of range");
    let index = |number: f64, below: usize| {
        let index = number as u32;
        (f64::from(index) == number && (index as usize) < below).then_some(index).ok_or_else(wrong)
    };
    if rows.len() != data.len() || columns.len() != data.len() {
        return Err(wrong());
    }
    let entry =
        |((&row, &column), &value): ((&f64, &f64), &f64)| Ok((index(row, shape[0])?, index(column, shape[1])?, value));
    rows.iter().zip(columns).zip(data).map(entry).collect()
}
