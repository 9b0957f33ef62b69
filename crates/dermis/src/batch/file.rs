//! Contents of a job file.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use dermis_io::budget::parse_bytes;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::BatchError;

/// Smallest limit of memory that a file can set.
const MIN_BYTES: u64 = 1 << 20;

/// A job file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobFile {
    #[serde(default)]
    pub(super) batch: Settings,
    #[serde(default)]
    pub(super) job: Vec<Entry>,
}

/// Settings of the whole batch.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    pub(super) results: Option<PathBuf>,
    pub(super) memory: Option<Size>,
    pub(super) jobs: Option<NonZeroUsize>,
}

/// An entry `[[job]]`, which expands to one or more jobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) command: String,
    /// Patterns of files; one job per file.
    #[serde(default)]
    pub(super) each: Texts,
    #[serde(default)]
    pub(super) input: Texts,
    pub(super) output: Option<String>,
    #[serde(default)]
    pub(super) options: Options,
    /// Values of options; one job per combination.
    #[serde(default)]
    pub(super) matrix: Options,
    #[serde(default)]
    pub(super) after: Texts,
    pub(super) memory: Option<Size>,
    pub(super) timeout_s: Option<f64>,
}

/// Value of an option.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// A flag, given or not.
    Flag(bool),
    /// A text or number.
    Text(String),
    /// Several values of one option.
    List(Vec<String>),
}

impl OptionValue {
    /// The texts of the value; none of a flag.
    pub fn texts(&self) -> &[String] {
        match self {
            Self::Flag(_) => &[],
            Self::Text(text) => std::slice::from_ref(text),
            Self::List(texts) => texts,
        }
    }
}

/// Options in the order of the file.
#[derive(Debug, Default, Clone)]
pub(super) struct Options(pub(super) Vec<(String, OptionValue)>);

/// One text or a list of texts.
#[derive(Debug, Default, Clone)]
pub(super) struct Texts(pub(super) Vec<String>);

/// A number of bytes, such as `"2G"`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size(pub(super) u64);

/// Parses the text of a job file.
pub(super) fn parse(text: &str) -> Result<JobFile, BatchError> {
    let file: JobFile = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.get(..at).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
        BatchError::File { message: error.message().trim().replace('\n', "; "), line, column }
    })?;
    if file.job.is_empty() {
        return Err(BatchError::NoJobs);
    }
    for (index, entry) in file.job.iter().enumerate() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let name = &entry.name;
        if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(is_plain) {
            return Err(BatchError::Name(name.clone()));
        }
        if file.job[..index].iter().any(|other| other.name == *name) {
            return Err(BatchError::SameName(name.clone()));
        }
        if let Some(time) = entry.timeout_s.filter(|time| !(time.is_finite() && *time > 0.0)) {
            return Err(BatchError::Timeout { job: name.clone(), time });
        }
    }
    Ok(file)
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Texts;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or a list of strings")
            }

            fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Texts, A::Error> {
                let mut all = Vec::new();
                while let Some(text) = texts.next_element()? {
                    all.push(text);
                }
                Ok(Texts(all))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = parse_bytes(&text).filter(|bytes| *bytes >= MIN_BYTES);
        let invalid = || D::Error::custom(format!("invalid memory '{text}': it must be at least 1M, such as \"2G\""));
        bytes.map(Size).ok_or_else(invalid)
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        let option = |(name, value): (String, toml::Value)| {
            let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
            if !plain {
                return Err(D::Error::custom(format!("invalid name '{name}' of an option")));
            }
            let value = value_of(value).ok_or_else(|| {
                D::Error::custom(format!("invalid value of '{name}': use a string, number, boolean, or a list of them"))
            })?;
            // Names of options have hyphens; keys of TOML can have either.
            Ok((name.replace('_', "-"), value))
        };
        table.into_iter().map(option).collect::<Result<_, _>>().map(Options)
    }
}

fn value_of(value: toml::Value) -> Option<OptionValue> {
    match value {
        toml::Value::Boolean(flag) => Some(OptionValue::Flag(flag)),
        toml::Value::Array(values) => values.into_iter().map(text_of).collect::<Option<_>>().map(OptionValue::List),
        value => text_of(value).map(OptionValue::Text),
    }
}

fn text_of(value: toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}
