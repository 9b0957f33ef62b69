//! Stack machine for pickles (protocols 0 to 5), without execution of code.
//!
//! Calls and constructions are recorded, not executed: [`Value::Object`] contains the class or function, its arguments
//! and the state that it would receive. Nothing is imported. Values are stored in one list and refer to each other
//! by index, so cycles and sharing need no special treatment; each opcode creates at most one value, and there are at
//! most [`MAX_VALUES`]. Long byte strings stay in the file.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::Error;

/// Maximum number of values. A body has a few hundred; a malformed file could contain one per byte.
const MAX_VALUES: usize = 1 << 20;
/// Maximum number of bytes of an integer; bodies contain no longer ones.
const MAX_INTEGER: usize = 8;

/// Index of a value in the list.
pub(super) type Id = usize;

/// Value of a pickle.
#[derive(Debug, Clone)]
pub(super) enum Value {
    None,
    Bool(bool),
    Integer(i64),
    /// A float, or an integer with more than 64 bits; bodies do not use them.
    OtherNumber,
    /// Bytes, or the text of Python 2, in the file.
    Bytes(Range<usize>),
    /// The same, with escape sequences resolved.
    OwnBytes(Vec<u8>),
    Text(String),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A class or function, `module.name`.
    Global(String),
    /// The result of calling `class` with `args`, and the state that it would receive.
    Object {
        class: Id,
        args: Id,
        state: Option<Id>,
    },
}

/// Interprets the pickle `bytes`; returns the values and the index of the result.
pub(super) fn run(bytes: &[u8]) -> Result<(Vec<Value>, Id), Error> {
    let mut machine =
        Machine { bytes, at: 0, values: Vec::new(), stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() };
    loop {
        match machine.array()? {
            [b'.'] => {
                let result = machine.pop()?;
                return Ok((machine.values, result));
            }
            [opcode] => machine.step(opcode)?,
        }
    }
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    values: Vec<Value>,
    stack: Vec<Id>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: HashMap<u64, Id>,
}

impl<'a> Machine<'a> {
    fn step(&mut self, opcode: u8) -> Result<(), Error> {
        match opcode {
            // The protocol and the frame have no effect.
            0x80 => self.take(1).map(|_| ()),
            0x95 => self.take(8).map(|_| ()),
            b'(' => {
                self.marks.push(self.stack.len());
                self.check_size()
            }
            b'0' => self.pop().map(|_| ()),
            b'1' => self.pop_mark().map(|_| ()),
            b'2' => {
                self.stack.push(self.top()?);
                self.check_size()
            }
            b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j' => self.memo(opcode),
            b'R' | 0x81 | 0x92 | b'b' | b'c' | 0x93 => self.object(opcode),
            b'a' | b'e' | b's' | b'u' => self.fill(opcode),
            _ => {
                let value = self.literal(opcode)?;
                self.push(value)
            }
        }
    }

    fn literal(&mut self, opcode: u8) -> Result<Value, Error> {
        Ok(match opcode {
            b'N' => Value::None,
            0x88 => Value::Bool(true),
            0x89 => Value::Bool(false),
            b'I' | b'L' => integer_of_text(self.line()?)?,
            b'J' => Value::Integer(i32::from_le_bytes(self.array()?).into()),
            b'K' => Value::Integer(u8::from_le_bytes(self.array()?).into()),
            b'M' => Value::Integer(u16::from_le_bytes(self.array()?).into()),
            0x8a | 0x8b => {
                let length = self.length(if opcode == 0x8a { 1 } else { 4 })?;
                integer_of_bytes(&self.bytes[self.take(length)?])
            }
            b'F' => {
                self.line()?;
                Value::OtherNumber
            }
            b'G' => {
                self.array::<8>()?;
                Value::OtherNumber
            }
            b'S' => Value::OwnBytes(unquoted(self.line()?)?),
            b'U' | b'C' => self.counted_bytes(1)?,
            b'T' | b'B' => self.counted_bytes(4)?,
            0x8e | 0x96 => self.counted_bytes(8)?,
            b'V' => Value::Text(unescaped_unicode(self.line()?)?),
            0x8c => self.counted_text(1)?,
            b'X' => self.counted_text(4)?,
            0x8d => self.counted_text(8)?,
            b']' => Value::List(Vec::new()),
            b')' => Value::Tuple(Vec::new()),
            b'}' => Value::Dict(Vec::new()),
            b'l' => Value::List(self.pop_mark()?),
            b't' => Value::Tuple(self.pop_mark()?),
            b'd' => Value::Dict(pairs(&self.pop_mark()?)?),
            0x85..=0x87 => {
                let count = usize::from(opcode - 0x84);
                let from = self.above_mark(count)?;
                Value::Tuple(self.stack.split_off(from))
            }
            _ => {
                let message = format!("unsupported opcode {opcode:#04x} at byte {} of the pickle", self.at - 1);
                return Err(Error::unsupported(message)
                    .with_hint("dermis reads pickled dictionaries of NumPy arrays and SciPy matrices; save as .npz"));
            }
        })
    }

    fn memo(&mut self, opcode: u8) -> Result<(), Error> {
        let key = match opcode {
            0x94 => self.memo.len() as u64,
            b'p' | b'g' => {
                let line = self.line()?;
                parsed(line).ok_or_else(|| Error::malformed("the pickle's memo has a key that is not a number"))?
            }
            b'q' | b'h' => u8::from_le_bytes(self.array()?).into(),
            _ => u32::from_le_bytes(self.array()?).into(),
        };
        if matches!(opcode, b'g' | b'h' | b'j') {
            let id = *self
                .memo
                .get(&key)
                .ok_or_else(|| Error::malformed("the pickle refers to a value that it has not stored"))?;
            self.stack.push(id);
            return self.check_size();
        }
        self.memo.insert(key, self.top()?);
        self.check_size()
    }

    fn object(&mut self, opcode: u8) -> Result<(), Error> {
        if opcode == b'b' {
            let (state, object) = (self.pop()?, self.top()?);
            let Value::Object { state: slot, .. } = &mut self.values[object] else {
                return Err(Error::malformed("the pickle sets the state of a value that is not an object"));
            };
            *slot = Some(state);
            return Ok(());
        }
        let value = match opcode {
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                Value::Global(format!("{}.{}", String::from_utf8_lossy(module), String::from_utf8_lossy(name)))
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (&self.values[module], &self.values[name]) {
                    (Value::Text(module), Value::Text(name)) => Value::Global(format!("{module}.{name}")),
                    _ => return Err(Error::malformed("the pickle has a class name that is not text")),
                }
            }
            _ => {
                if opcode == 0x92 {
                    self.pop()?;
                }
                let (args, class) = (self.pop()?, self.pop()?);
                Value::Object { class, args, state: None }
            }
        };
        self.push(value)
    }

    /// Adds values to the list or dictionary below them on the stack.
    fn fill(&mut self, opcode: u8) -> Result<(), Error> {
        let items = match opcode {
            b'a' => vec![self.pop()?],
            b's' => {
                let from = self.above_mark(2)?;
                self.stack.split_off(from)
            }
            _ => self.pop_mark()?,
        };
        let target = self.top()?;
        match (&mut self.values[target], opcode) {
            (Value::List(list), b'a' | b'e') => list.extend(items),
            (Value::Dict(dict), b's' | b'u') => dict.extend(pairs(&items)?),
            // The type of object that receives items does not matter, since it is not an array.
            (Value::Object { .. }, _) => {}
            _ => {
                return Err(Error::malformed(
                    "the pickle adds items to a value that is neither a list nor a dictionary",
                ));
            }
        }
        Ok(())
    }

    fn push(&mut self, value: Value) -> Result<(), Error> {
        self.stack.push(self.values.len());
        self.values.push(value);
        self.check_size()
    }

    fn check_size(&self) -> Result<(), Error> {
        if self.values.len().max(self.stack.len()).max(self.marks.len()).max(self.memo.len()) > MAX_VALUES {
            return Err(Error::unsupported(format!("the pickle contains more than {MAX_VALUES} values"))
                .with_hint("dermis reads pickled dictionaries of arrays; save as .npz"));
        }
        Ok(())
    }

    fn top(&self) -> Result<Id, Error> {
        self.stack.last().copied().ok_or_else(underflow)
    }

    fn pop(&mut self) -> Result<Id, Error> {
        let at = self.above_mark(1)?;
        let id = self.stack[at];
        self.stack.truncate(at);
        Ok(id)
    }

    /// The values since the last mark.
    fn pop_mark(&mut self) -> Result<Vec<Id>, Error> {
        let mark = self.marks.pop().ok_or_else(underflow)?;
        Ok(self.stack.split_off(mark))
    }

    /// Index of the first of the last `count` values; there must be no mark among them.
    fn above_mark(&self, count: usize) -> Result<usize, Error> {
        let floor = self.marks.last().copied().unwrap_or(0);
        self.stack.len().checked_sub(count).filter(|from| *from >= floor).ok_or_else(underflow)
    }

    fn take(&mut self, length: usize) -> Result<Range<usize>, Error> {
        let available = self.bytes.len() - self.at;
        if length > available {
            return Err(Error::truncated("the pickle", length as u64, available as u64));
        }
        self.at += length;
        Ok(self.at - length..self.at)
    }

    fn array<const K: usize>(&mut self) -> Result<[u8; K], Error> {
        let range = self.take(K)?;
        Ok(*self.bytes[range].first_chunk().expect("a range of K bytes"))
    }

    /// A length of `size` bytes.
    fn length(&mut self, size: usize) -> Result<usize, Error> {
        let mut whole = [0; 8];
        whole[..size].copy_from_slice(&self.bytes[self.take(size)?]);
        Ok(usize::try_from(u64::from_le_bytes(whole)).unwrap_or(usize::MAX))
    }

    fn counted_bytes(&mut self, size: usize) -> Result<Value, Error> {
        let length = self.length(size)?;
        Ok(Value::Bytes(self.take(length)?))
    }

    fn counted_text(&mut self, size: usize) -> Result<Value, Error> {
        let length = self.length(size)?;
        let text = std::str::from_utf8(&self.bytes[self.take(length)?]);
        text.map(|text| Value::Text(text.to_owned())).map_err(|_| Error::malformed("the pickle contains invalid text"))
    }

    /// The bytes up to the next end of line.
    fn line(&mut self) -> Result<&'a [u8], Error> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n');
        let length = length.ok_or_else(|| Error::truncated("a line of the pickle", 1, 0))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }
}

fn underflow() -> Error {
    Error::malformed("the pickle reads a value from an empty stack")
}

fn pairs(items: &[Id]) -> Result<Vec<(Id, Id)>, Error> {
    match items.as_chunks::<2>() {
        (pairs, []) => Ok(pairs.iter().map(|&[key, value]| (key, value)).collect()),
        _ => Err(Error::malformed("the pickle has a key without a value")),
    }
}

fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// A number in decimal digits; `00` and `01` are the truth values of old protocols.
fn integer_of_text(text: &[u8]) -> Result<Value, Error> {
    match text {
        b"00" => Ok(Value::Bool(false)),
        b"01" => Ok(Value::Bool(true)),
        _ => {
            let digits = text.strip_suffix(b"L").unwrap_or(text);
            parsed(digits).map(Value::Integer).ok_or_else(|| Error::malformed("the pickle contains an invalid number"))
        }
    }
}

/// A number in two's complement, low bytes first.
fn integer_of_bytes(bytes: &[u8]) -> Value {
    if bytes.len() > MAX_INTEGER {
        return Value::OtherNumber;
    }
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut whole = [if negative { 0xff } else { 0 }; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    Value::Integer(i64::from_le_bytes(whole))
}

/// The bytes of a quoted Python 2 string.
fn unquoted(line: &[u8]) -> Result<Vec<u8>, Error> {
    let wrong = || Error::malformed("the pickle contains a string with invalid quotes");
    let &[first, ref inner @ .., last] = line else { return Err(wrong()) };
    if first != last || !matches!(first, b'\'' | b'"') {
        return Err(wrong());
    }
    let (mut result, mut rest) = (Vec::with_capacity(inner.len()), inner);
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            result.push(*byte);
            continue;
        }
        let [escape, after @ ..] = rest else { return Err(wrong()) };
        rest = after;
        result.push(match escape {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let (digits, after) = rest.split_at_checked(2).ok_or_else(wrong)?;
                rest = after;
                hexadecimal(digits).and_then(|code| u8::try_from(code).ok()).ok_or_else(wrong)?
            }
            b'\\' | b'\'' | b'"' => *escape,
            _ => return Err(wrong()),
        });
    }
    Ok(result)
}

/// The text of Python's `raw-unicode-escape`: Latin-1 with `\uXXXX` and `\UXXXXXXXX`.
fn unescaped_unicode(line: &[u8]) -> Result<String, Error> {
    let (mut text, mut rest) = (String::with_capacity(line.len()), line);
    while let [byte, after @ ..] = rest {
        let digits = match (byte, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => 0,
        };
        let code = after.get(1..=digits).filter(|_| digits > 0).and_then(hexadecimal);
        if digits > 0 {
            let character = code.and_then(char::from_u32);
            text.push(character.ok_or_else(|| Error::malformed("the pickle contains an invalid escape"))?);
            rest = &after[1 + digits..];
        } else {
            text.push(char::from(*byte));
            rest = after;
        }
    }
    Ok(text)
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(pickle: &[u8]) -> Value {
        let (values, id) = run(pickle).unwrap();
        values[id].clone()
    }

    #[test]
    fn numbers_of_every_protocol_are_read() {
        for (pickle, expected) in [
            (&b"I-7\n."[..], -7),
            (b"L123L\n.", 123),
            (b"J\xff\xff\xff\xff.", -1),
            (b"K\xff.", 255),
            (b"M\x01\x02.", 513),
            (b"\x8a\x02\x00\x80.", -32768),
            (b"\x8a\x00.", 0),
        ] {
            assert!(matches!(result(pickle), Value::Integer(found) if found == expected), "{pickle:?}");
        }
    }

    #[test]
    fn escape_sequences_are_resolved() {
        assert!(matches!(result(b"S'a\\x00\\n\\'\\\\'\n."), Value::OwnBytes(bytes) if bytes == b"a\0\n'\\"));
        assert!(matches!(result(b"Va\xe9\\u2192\n."), Value::Text(text) if text == "aé→"));
    }

    #[test]
    fn calls_are_recorded_but_not_executed() {
        let (values, id) = run(b"cos\nsystem\n(S'true'\ntR.").unwrap();
        let Value::Object { class, .. } = values[id] else { panic!("no object") };
        assert!(matches!(&values[class], Value::Global(name) if name == "os.system"));
    }

    #[test]
    fn rejects_invalid_opcodes() {
        let wrong: [&[u8]; 14] = [
            b"", b".", b"K", b"(K\x01", b"0.", b"t.", b"K\x01\x85\x86.", b"(K\x01\x86.", b"h\x05.", b"K\x01K\x02a.",
            b"(K\x01d.", b"S'\\x4'\n.", b"K\x01K\x02b.", b"Pid\n.",
        ];
        for pickle in wrong {
            assert!(run(pickle).is_err(), "{pickle:?}");
        }
    }
}
