//! A crate (`.usdc`), version 0.8: values are written immediately, tables at the end.
//!
//! A value is 64 bits: flags for arrays (63), inlined (62) and compressed (61) values, a type (48–55) and 48 bits that
//! are the value itself or its offset. A field is a token, its name, and a value; a spec is a path, a set of fields and
//! a kind. Paths are a tree in depth-first order: each has the token of its last element, negative for properties, and
//! a jump: −2 for a leaf, −1 if only a child follows, 0 if only a sibling follows, otherwise the distance to the
//! sibling. See `read::crate_check` for the tables.

mod prims;

use std::collections::HashMap;
use std::io::{Seek, Write};

use half::f16;

use super::layer::{Metadata, Value};
use super::packed::{packed, packed_integers};
use crate::error::Error;

const MAGIC: &[u8; 8] = b"PXR-USDC";
const VERSION: [u8; 8] = [0, 8, 0, 0, 0, 0, 0, 0];
const HEADER_SIZE: usize = 88;
/// Token 0, which cannot be the name of a property because its index has no negative.
const FIRST_TOKEN: &str = ";-)";
/// Arrays of at least this many integers are compressed.
const COMPRESSED: usize = 16;

const ARRAY: u64 = 1 << 63;
const INLINED: u64 = 1 << 62;
const PACKED: u64 = 1 << 61;

/// Types of values.
mod kind {
    pub(super) const BOOL: u64 = 1;
    pub(super) const INT: u64 = 3;
    pub(super) const FLOAT: u64 = 8;
    pub(super) const DOUBLE: u64 = 9;
    pub(super) const STRING: u64 = 10;
    pub(super) const TOKEN: u64 = 11;
    pub(super) const ASSET: u64 = 12;
    pub(super) const MATRIX_4D: u64 = 15;
    pub(super) const QUAT_F: u64 = 17;
    pub(super) const VEC_2F: u64 = 20;
    pub(super) const VEC_3F: u64 = 24;
    pub(super) const VEC_3H: u64 = 25;
    pub(super) const VEC_4F: u64 = 28;
    pub(super) const DICTIONARY: u64 = 31;
    pub(super) const TOKEN_LIST_OP: u64 = 32;
    pub(super) const PATH_LIST_OP: u64 = 34;
    pub(super) const TOKENS: u64 = 41;
    pub(super) const SPECIFIER: u64 = 42;
    pub(super) const VARIABILITY: u64 = 44;
    pub(super) const TIME_SAMPLES: u64 = 46;
    pub(super) const DOUBLES: u64 = 48;
}

/// Kinds of specs.
mod spec {
    pub(super) const ATTRIBUTE: i32 = 1;
    pub(super) const PRIM: i32 = 6;
    pub(super) const PSEUDO_ROOT: i32 = 7;
    pub(super) const RELATIONSHIP: i32 = 8;
}

/// Lists of a list operation.
const EXPLICIT: u8 = 0b11;
const PREPENDED: u8 = 0b10_0000;

/// Writer of a crate.
pub(super) struct Crate<W> {
    out: W,
    position: u64,
    tokens: Table,
    strings: Vec<u32>,
    string_of: HashMap<u32, u32>,
    fields: Vec<(u32, u64)>,
    field_of: HashMap<(u32, u64), u32>,
    field_sets: Vec<i32>,
    set_of: HashMap<Vec<u32>, i32>,
    paths: Vec<Path>,
    path_of: HashMap<(usize, u32, bool), usize>,
    /// Path, set of fields and kind.
    specs: Vec<(usize, i32, i32)>,
    /// The prims that are open, the pseudo-root first.
    open: Vec<Prim>,
    samples: Option<(usize, Vec<(f64, u64)>)>,
    /// Lists of times, many of which are equal.
    times: HashMap<Vec<u64>, u64>,
}

/// Texts by their order of first use.
#[derive(Default)]
struct Table {
    texts: Vec<String>,
    index_of: HashMap<String, u32>,
}

/// A path: its last element and its children.
#[derive(Default)]
struct Path {
    token: u32,
    is_property: bool,
    children: Vec<usize>,
}

/// A prim that is open.
struct Prim {
    path: usize,
    kind: i32,
    fields: Vec<(u32, u64)>,
    children: Vec<u32>,
    properties: Vec<Property>,
}

struct Property {
    token: u32,
    path: usize,
    kind: i32,
    fields: Vec<(u32, u64)>,
}

impl<W: Write + Seek> Crate<W> {
    pub(super) fn new(out: W) -> Self {
        let mut layer = Self {
            out,
            position: 0,
            tokens: Table::default(),
            strings: Vec::new(),
            string_of: HashMap::new(),
            fields: Vec::new(),
            field_of: HashMap::new(),
            field_sets: Vec::new(),
            set_of: HashMap::new(),
            paths: vec![Path::default()],
            path_of: HashMap::new(),
            specs: Vec::new(),
            open: Vec::new(),
            samples: None,
            times: HashMap::new(),
        };
        layer.token(FIRST_TOKEN);
        layer
    }

    fn token(&mut self, text: &str) -> u32 {
        if let Some(index) = self.tokens.index_of.get(text) {
            return *index;
        }
        let index = self.tokens.texts.len() as u32;
        // A zero ends a token in the file.
        self.tokens.texts.push(text.replace('\0', " "));
        self.tokens.index_of.insert(text.to_owned(), index);
        index
    }

    fn string(&mut self, text: &str) -> u32 {
        let token = self.token(text);
        let next = self.strings.len() as u32;
        let index = *self.string_of.entry(token).or_insert(next);
        if index == next {
            self.strings.push(token);
        }
        index
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes a value and returns its offset, a multiple of 8.
    fn at_offset(&mut self, bytes: &[u8]) -> Result<u64, Error> {
        let padding = (8 - self.position % 8) % 8;
        self.bytes(&[0; 8][..padding as usize])?;
        let offset = self.position;
        self.bytes(bytes)?;
        Ok(offset)
    }

    fn array(&mut self, kind: u64, count: usize, bytes: impl Iterator<Item = u8>) -> Result<u64, Error> {
        if count == 0 {
            return Ok(ARRAY | kind << 48);
        }
        let mut data = (count as u64).to_le_bytes().to_vec();
        data.extend(bytes);
        Ok(ARRAY | kind << 48 | self.at_offset(&data)?)
    }

    fn integers(&mut self, items: &[u32]) -> Result<u64, Error> {
        if items.len() < COMPRESSED {
            return self.array(kind::INT, items.len(), items.iter().flat_map(|item| item.to_le_bytes()));
        }
        let signed: Vec<i32> = items.iter().map(|&item| item as i32).collect();
        let packed = packed_integers(&signed);
        let mut data = (items.len() as u64).to_le_bytes().to_vec();
        data.extend((packed.len() as u64).to_le_bytes());
        data.extend(packed);
        Ok(ARRAY | PACKED | kind::INT << 48 | self.at_offset(&data)?)
    }

    /// The value of an attribute of the type `declared`.
    fn value(&mut self, declared: &str, value: Value<'_>) -> Result<u64, Error> {
        let inlined = |kind: u64, payload: u32| Ok(INLINED | kind << 48 | u64::from(payload));
        let floats = |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        match value {
            Value::Token(text) => inlined(kind::TOKEN, self.token(text)),
            Value::Text(text) => inlined(kind::STRING, self.string(text)),
            Value::Asset(path) => inlined(kind::ASSET, self.token(path)),
            Value::Bool(value) => inlined(kind::BOOL, u32::from(value)),
            Value::Float(value) => inlined(kind::FLOAT, value.to_bits()),
            Value::Vec3(value) => Ok(kind::VEC_3F << 48 | self.at_offset(&floats(&value))?),
            Value::Vec4(value) => Ok(kind::VEC_4F << 48 | self.at_offset(&floats(&value))?),
            Value::Ints(items) => self.integers(items),
            Value::Floats(items) => {
                self.array(kind::FLOAT, items.len(), items.iter().flat_map(|item| item.to_le_bytes()))
            }
            Value::Vec2s(items) => {
                let bytes = items.iter().flat_map(glam::Vec2::to_array).flat_map(f32::to_le_bytes);
                self.array(kind::VEC_2F, items.len(), bytes)
            }
            Value::Vec3s(items) if declared == "half3[]" => {
                let halves = items.iter().flat_map(glam::Vec3::to_array).map(f16::from_f32);
                self.array(kind::VEC_3H, items.len(), halves.flat_map(f16::to_le_bytes))
            }
            Value::Vec3s(items) => {
                let bytes = items.iter().flat_map(glam::Vec3::to_array).flat_map(f32::to_le_bytes);
                self.array(kind::VEC_3F, items.len(), bytes)
            }
            Value::Quats(items) => {
                // The real part last.
                let bytes = items.iter().flat_map(glam::Quat::to_array).flat_map(f32::to_le_bytes);
                self.array(kind::QUAT_F, items.len(), bytes)
            }
            Value::Matrices(items) => {
                // USD multiplies row vectors, so its rows are the columns of the transform.
                let numbers = items.iter().flat_map(|item| glam::DMat4::from(*item).to_cols_array());
                self.array(kind::MATRIX_4D, items.len(), numbers.flat_map(f64::to_le_bytes))
            }
            Value::Tokens(items) => {
                let indices: Vec<u32> = items.iter().map(|item| self.token(item)).collect();
                self.array(kind::TOKEN, indices.len(), indices.iter().flat_map(|index| index.to_le_bytes()))
            }
        }
    }

    fn metadata(&mut self, metadata: &[Metadata]) -> Result<Vec<(u32, u64)>, Error> {
        let mut fields = Vec::with_capacity(metadata.len());
        for entry in metadata {
            let (key, value) = match entry {
                Metadata::Token(key, value) => (*key, self.value("token", Value::Token(value))?),
                Metadata::Int(key, value) => (*key, INLINED | kind::INT << 48 | u64::from(*value as u32)),
                Metadata::Double(key, value) => (*key, kind::DOUBLE << 48 | self.at_offset(&value.to_le_bytes())?),
                Metadata::Schemas(schemas) => {
                    let indices = schemas.iter().map(|schema| self.token(schema)).collect();
                    ("apiSchemas", self.list_op(kind::TOKEN_LIST_OP, PREPENDED, indices)?)
                }
                Metadata::Custom(key, value) => ("customData", self.dictionary(key, value)?),
            };
            fields.push((self.token(key), value));
        }
        Ok(fields)
    }

    fn list_op(&mut self, kind: u64, lists: u8, indices: Vec<u32>) -> Result<u64, Error> {
        let mut data = vec![lists];
        data.extend((indices.len() as u64).to_le_bytes());
        data.extend(indices.into_iter().flat_map(u32::to_le_bytes));
        Ok(kind << 48 | self.at_offset(&data)?)
    }

    /// A dictionary with one text.
    fn dictionary(&mut self, key: &str, text: &str) -> Result<u64, Error> {
        let (key, value) = (self.string(key), self.value("string", Value::Text(text))?);
        let mut data = 1u64.to_le_bytes().to_vec();
        data.extend(key.to_le_bytes());
        // The value follows its distance.
        data.extend(8u64.to_le_bytes());
        data.extend(value.to_le_bytes());
        Ok(kind::DICTIONARY << 48 | self.at_offset(&data)?)
    }

    fn token_list(&mut self, tokens: &[u32]) -> Result<u64, Error> {
        let mut data = (tokens.len() as u64).to_le_bytes().to_vec();
        data.extend(tokens.iter().flat_map(|token| token.to_le_bytes()));
        Ok(kind::TOKENS << 48 | self.at_offset(&data)?)
    }

    /// The path below `parent`.
    fn path(&mut self, parent: usize, token: u32, is_property: bool) -> usize {
        if let Some(path) = self.path_of.get(&(parent, token, is_property)) {
            return *path;
        }
        let index = self.paths.len();
        self.paths.push(Path { token, is_property, children: Vec::new() });
        self.paths[parent].children.push(index);
        self.path_of.insert((parent, token, is_property), index);
        index
    }

    /// The path that a text such as `/World/mesh.points` denotes.
    fn path_named(&mut self, text: &str) -> u32 {
        let (prim, property) = text.split_once('.').map_or((text, None), |(prim, property)| (prim, Some(property)));
        let mut path = 0;
        for name in prim.split('/').filter(|name| !name.is_empty()) {
            let token = self.token(name);
            path = self.path(path, token, false);
        }
        if let Some(property) = property {
            let token = self.token(property);
            path = self.path(path, token, true);
        }
        path as u32
    }

    /// Index and type of the declared property of the open prim; it is created if it is new.
    fn property(&mut self, declaration: &str) -> Result<(usize, String), Error> {
        let mut words: Vec<&str> = declaration.split(' ').collect();
        let (Some(name), Some(declared)) = (words.pop(), words.pop()) else {
            return Err(Error::malformed(format!("'{declaration}' is not a declaration")));
        };
        let token = self.token(name);
        let (typed, named) = (self.token("typeName"), self.token(declared));
        let (custom, variability) = (self.token("custom"), self.token("variability"));
        let Some(prim) = self.open.last() else { return Err(Error::malformed("an attribute outside a prim")) };
        if let Some(index) = prim.properties.iter().position(|property| property.token == token) {
            return Ok((index, declared.to_owned()));
        }
        let path = self.path(prim.path, token, true);
        let mut fields = vec![(typed, INLINED | kind::TOKEN << 48 | u64::from(named))];
        fields.extend(words.contains(&"custom").then_some((custom, INLINED | kind::BOOL << 48 | 1)));
        fields.extend(words.contains(&"uniform").then_some((variability, INLINED | kind::VARIABILITY << 48 | 1)));
        Ok((self.add(Property { token, path, kind: spec::ATTRIBUTE, fields }), declared.to_owned()))
    }

    fn add(&mut self, property: Property) -> usize {
        let Some(prim) = self.open.last_mut() else { return 0 };
        prim.properties.push(property);
        prim.properties.len() - 1
    }

    fn set(&mut self, property: usize, name: &str, value: u64) {
        let token = self.token(name);
        if let Some(property) = self.open.last_mut().and_then(|prim| prim.properties.get_mut(property)) {
            property.fields.push((token, value));
        }
    }

    /// Stores a spec with its fields.
    fn spec(&mut self, path: usize, kind: i32, fields: &[(u32, u64)]) {
        let set: Vec<u32> = fields
            .iter()
            .map(|&field| {
                let next = self.fields.len() as u32;
                let index = *self.field_of.entry(field).or_insert(next);
                if index == next {
                    self.fields.push(field);
                }
                index
            })
            .collect();
        let next = self.field_sets.len() as i32;
        let start = *self.set_of.entry(set.clone()).or_insert(next);
        if start == next {
            self.field_sets.extend(set.iter().map(|&field| field as i32).chain([-1]));
        }
        self.specs.push((path, start, kind));
    }

    /// Closes the innermost prim.
    fn close_prim(&mut self) -> Result<(), Error> {
        let Some(mut prim) = self.open.pop() else { return Ok(()) };
        if !prim.properties.is_empty() {
            let names: Vec<u32> = prim.properties.iter().map(|property| property.token).collect();
            prim.fields.push((self.token("properties"), self.token_list(&names)?));
        }
        if !prim.children.is_empty() {
            prim.fields.push((self.token("primChildren"), self.token_list(&prim.children)?));
        }
        self.spec(prim.path, prim.kind, &prim.fields);
        for property in &prim.properties {
            self.spec(property.path, property.kind, &property.fields);
        }
        Ok(())
    }

    /// The tables, each with its name.
    fn tables(&self) -> [(&'static str, Vec<u8>); 6] {
        let counted = |count: usize| (count as u64).to_le_bytes().to_vec();
        let sized = |data: Vec<u8>| [(data.len() as u64).to_le_bytes().to_vec(), data].concat();
        let integers = |integers: &[i32]| sized(packed_integers(integers));
        let text: Vec<u8> = self.tokens.texts.iter().flat_map(|text| text.bytes().chain([0])).collect();
        let tokens = [counted(self.tokens.texts.len()), counted(text.len()), sized(packed(&text))];
        let strings =
            [counted(self.strings.len()), self.strings.iter().flat_map(|token| token.to_le_bytes()).collect()];
        let names: Vec<i32> = self.fields.iter().map(|(token, _)| *token as i32).collect();
        let values: Vec<u8> = self.fields.iter().flat_map(|(_, value)| value.to_le_bytes()).collect();
        let fields = [counted(self.fields.len()), integers(&names), sized(packed(&values))];
        let field_sets = [counted(self.field_sets.len()), integers(&self.field_sets)];
        let [indices, elements, jumps] = self.path_tree();
        let path_count = counted(self.paths.len());
        let paths = [path_count.clone(), path_count, integers(&indices), integers(&elements), integers(&jumps)];
        let column = |of: fn(&(usize, i32, i32)) -> i32| integers(&self.specs.iter().map(of).collect::<Vec<i32>>());
        let specs = [counted(self.specs.len()), column(|it| it.0 as i32), column(|it| it.1), column(|it| it.2)];
        [
            ("TOKENS", tokens.concat()),
            ("STRINGS", strings.concat()),
            ("FIELDS", fields.concat()),
            ("FIELDSETS", field_sets.concat()),
            ("PATHS", paths.concat()),
            ("SPECS", specs.concat()),
        ]
    }

    /// Index, element and jump of each path, in depth-first order.
    fn path_tree(&self) -> [Vec<i32>; 3] {
        let (mut indices, mut elements, mut jumps) = (Vec::new(), Vec::new(), Vec::new());
        // A path, and whether a sibling follows it; a jump is known when the subtree of the path has been traversed.
        enum Step {
            Enter(usize, bool),
            Leave(usize),
        }
        let mut pending = vec![Step::Enter(0, false)];
        while let Some(step) = pending.pop() {
            match step {
                Step::Leave(index) => jumps[index] = (indices.len() - index) as i32,
                Step::Enter(path, has_sibling) => {
                    let Path { token, is_property, children } = &self.paths[path];
                    let index = indices.len();
                    indices.push(path as i32);
                    elements.push(if *is_property { -(*token as i32) } else { *token as i32 });
                    jumps.push(match (children.is_empty(), has_sibling) {
                        (true, true) => 0,
                        (true, false) => -2,
                        (false, _) => -1,
                    });
                    if has_sibling && !children.is_empty() {
                        pending.push(Step::Leave(index));
                    }
                    for (index, &child) in children.iter().enumerate().rev() {
                        pending.push(Step::Enter(child, index + 1 < children.len()));
                    }
                }
            }
        }
        [indices, elements, jumps]
    }
}
