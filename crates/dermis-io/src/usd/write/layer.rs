//! The layer that is written: prims, attributes, relationships and metadata with typed values, as text or as a crate.

use glam::{DAffine3, Quat, Vec2, Vec3};

use crate::error::Error;

/// A value of an attribute; its type is in the declaration.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Token(&'a str),
    Text(&'a str),
    Asset(&'a str),
    Bool(bool),
    Float(f32),
    Vec3([f32; 3]),
    Vec4([f32; 4]),
    Ints(&'a [u32]),
    Floats(&'a [f32]),
    Vec2s(&'a [Vec2]),
    Vec3s(&'a [Vec3]),
    Quats(&'a [Quat]),
    Matrices(&'a [DAffine3]),
    Tokens(&'a [String]),
}

/// Metadata of a layer, a prim or an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Metadata {
    Token(&'static str, String),
    Int(&'static str, i32),
    Double(&'static str, f64),
    /// Schemas that are applied to a prim.
    Schemas(Vec<String>),
    /// A text in the prim's `customData`.
    Custom(&'static str, String),
}

/// Writer of a layer. Declarations are those of the text: `uniform token[] joints`.
pub(super) trait Layer {
    /// Begins the layer.
    fn begin(&mut self, metadata: &[Metadata]) -> Result<(), Error>;

    /// Opens a prim of the type `kind`.
    fn open(&mut self, kind: &str, name: &str, metadata: &[Metadata]) -> Result<(), Error>;

    /// Closes the prim.
    fn close(&mut self) -> Result<(), Error>;

    /// An attribute with its value, if it has one.
    fn attribute(&mut self, declaration: &str, value: Option<Value<'_>>, metadata: &[Metadata]) -> Result<(), Error>;

    /// An attribute that takes its value from another.
    fn connect(&mut self, declaration: &str, target: &str) -> Result<(), Error>;

    /// A relationship.
    fn relationship(&mut self, name: &str, targets: &[String]) -> Result<(), Error>;

    /// Begins the time samples of an attribute.
    fn open_samples(&mut self, declaration: &str) -> Result<(), Error>;

    fn sample(&mut self, time: f64, value: Value<'_>) -> Result<(), Error>;

    fn close_samples(&mut self) -> Result<(), Error>;

    /// Completes the layer.
    fn finish(&mut self) -> Result<(), Error>;
}

impl dyn Layer + '_ {
    /// An attribute with a value and without metadata.
    pub(super) fn value<'v>(&mut self, declaration: &str, value: impl Into<Value<'v>>) -> Result<(), Error> {
        self.attribute(declaration, Some(value.into()), &[])
    }

    /// An attribute without a value.
    pub(super) fn declare(&mut self, declaration: &str) -> Result<(), Error> {
        self.attribute(declaration, None, &[])
    }

    pub(super) fn token(&mut self, declaration: &str, value: &str) -> Result<(), Error> {
        self.attribute(declaration, Some(Value::Token(value)), &[])
    }
}

/// The metadata `interpolation`.
pub(super) fn interpolation(value: &str) -> Metadata {
    Metadata::Token("interpolation", value.to_owned())
}

macro_rules! from {
    ($($kind:ty => $variant:ident),* $(,)?) => {
        $(impl<'a> From<&'a $kind> for Value<'a> {
            fn from(value: &'a $kind) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

from! {
    [u32] => Ints, [f32] => Floats, [Vec2] => Vec2s, [Vec3] => Vec3s, [Quat] => Quats, [DAffine3] => Matrices,
    [String] => Tokens, Vec<u32> => Ints, Vec<f32> => Floats, Vec<Vec2> => Vec2s, Vec<Vec3> => Vec3s,
    Vec<DAffine3> => Matrices, Vec<String> => Tokens,
}
