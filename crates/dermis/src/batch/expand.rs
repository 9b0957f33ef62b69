//! Expansion of the entries of a job file to jobs: one per file of `each` and per combination of `matrix`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::file::{Entry, OptionValue};
use super::{Job, glob};
use crate::error::BatchError;

/// Maximum number of jobs of one file.
const MAX_JOBS: usize = 100_000;
/// Prefix of built-in inputs.
const SAMPLE: &str = "sample:";

/// A file of `each`, and the pattern that matched it.
struct Match {
    path: String,
    /// Its part of the name of the job.
    label: String,
}

/// The jobs of all entries. Patterns match files and outputs of earlier entries, but not outputs of the same or later
/// entries, which exist only after the first run.
pub(super) fn expand(folder: &Path, entries: &[Entry]) -> Result<Vec<Job>, BatchError> {
    let mut own_outputs = vec![BTreeSet::new(); entries.len()];
    loop {
        let jobs = expand_without(folder, entries, &own_outputs)?;
        let mut grown = own_outputs.clone();
        for job in &jobs {
            let index = entries.iter().position(|entry| entry.name == job.entry).unwrap_or_default();
            let outputs: Vec<PathBuf> = job.outputs().iter().map(|output| normalized(output)).collect();
            grown[..=index].iter_mut().for_each(|banned| banned.extend(outputs.iter().cloned()));
        }
        if grown == own_outputs {
            return unique(jobs);
        }
        own_outputs = grown;
    }
}

/// The jobs of all entries; files of `banned` are not matched by the patterns of an entry.
fn expand_without(folder: &Path, entries: &[Entry], banned: &[BTreeSet<PathBuf>]) -> Result<Vec<Job>, BatchError> {
    let mut jobs: Vec<Job> = Vec::new();
    for (entry, banned) in entries.iter().zip(banned) {
        let earlier: Vec<String> =
            jobs.iter().flat_map(Job::outputs).map(|output| text_of(&normalized(output))).collect();
        let mut matches: Vec<Option<Match>> = Vec::new();
        for pattern in &entry.each.0 {
            matches.extend(matches_of(folder, pattern, &earlier, banned, entry)?.into_iter().map(Some));
        }
        if entry.each.0.is_empty() {
            matches.push(None);
        }
        let combinations = combinations(entry)?;
        if jobs.len() + matches.len().saturating_mul(combinations.len()) > MAX_JOBS {
            return Err(BatchError::TooManyJobs { job: entry.name.clone(), limit: MAX_JOBS });
        }
        for matched in &matches {
            for combination in &combinations {
                jobs.push(job_of(entry, matched.as_ref(), combination)?);
            }
        }
    }
    Ok(jobs)
}

/// Files of one text of `each`.
fn matches_of(
    folder: &Path,
    pattern: &str,
    earlier: &[String],
    banned: &BTreeSet<PathBuf>,
    entry: &Entry,
) -> Result<Vec<Match>, BatchError> {
    if pattern.starts_with(SAMPLE) || !glob::is_pattern(pattern) {
        let name = pattern.strip_prefix(SAMPLE).unwrap_or(pattern);
        return Ok(vec![Match { path: pattern.to_owned(), label: label(file_part(name)) }]);
    }
    let plain = pattern.strip_prefix("./").unwrap_or(pattern);
    let mut paths = glob::files(folder, plain);
    paths.retain(|path| !banned.contains(&normalized(path)));
    paths.extend(earlier.iter().filter(|output| glob::path_matches(plain, output)).cloned());
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        return Err(BatchError::NoMatch { job: entry.name.clone(), pattern: pattern.to_owned() });
    }
    let start = glob::base(plain).len();
    Ok(paths.into_iter().map(|path| Match { label: label(&path[start..]), path }).collect())
}

/// A path as a part of a name: without extension, and with `_` in place of characters that file names can lack.
fn label(path: &str) -> String {
    let end = path.rfind('.').filter(|&dot| dot > path.rfind('/').map_or(0, |slash| slash + 1)).unwrap_or(path.len());
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '=');
    path[..end].chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Combinations of the values of the matrix; the last option varies fastest.
fn combinations(entry: &Entry) -> Result<Vec<Vec<(String, OptionValue)>>, BatchError> {
    let mut all = vec![Vec::new()];
    for (name, values) in &entry.matrix.0 {
        let OptionValue::List(values) = values else {
            return Err(BatchError::Matrix { job: entry.name.clone(), option: name.clone() });
        };
        if values.is_empty() {
            return Err(BatchError::Matrix { job: entry.name.clone(), option: name.clone() });
        }
        if entry.options.0.iter().any(|(option, _)| option == name) {
            return Err(BatchError::SetTwice { job: entry.name.clone(), option: name.clone() });
        }
        let mut longer = Vec::with_capacity(all.len() * values.len());
        for combination in &all {
            for value in values {
                let value = match value.as_str() {
                    "true" => OptionValue::Flag(true),
                    "false" => OptionValue::Flag(false),
                    _ => OptionValue::Text(value.clone()),
                };
                longer.push([combination.as_slice(), &[(name.clone(), value)]].concat());
            }
        }
        all = longer;
        if all.len() > MAX_JOBS {
            return Err(BatchError::TooManyJobs { job: entry.name.clone(), limit: MAX_JOBS });
        }
    }
    Ok(all)
}

fn job_of(entry: &Entry, matched: Option<&Match>, combination: &[(String, OptionValue)]) -> Result<Job, BatchError> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut name = entry.name.clone();
    if let Some(Match { path, label }) = matched {
        let plain = path.strip_prefix(SAMPLE).unwrap_or(path);
        let file = file_part(plain);
        let parent = plain.trim_end_matches('/').rfind('/').map_or(".", |slash| &plain[..slash]);
        let stem = file.rfind('.').filter(|&dot| dot > 0).map_or(file, |dot| &file[..dot]);
        for (key, value) in [("path", path.as_str()), ("name", file), ("stem", stem), ("folder", parent)] {
            values.insert(key.to_owned(), value.to_owned());
        }
        name = format!("{name}-{label}");
    }
    for (option, value) in combination {
        let text = match value {
            OptionValue::Flag(flag) => flag.to_string(),
            value => value.texts().join(","),
        };
        name = format!("{name}-{option}={}", label_of_value(&text));
        values.insert(option.clone(), text);
    }
    let fill = |text: &String| filled(text, &values).map_err(|unknown| entry_error(entry, unknown, &values));
    let inputs = match (&entry.input.0[..], matched) {
        ([], Some(matched)) => vec![matched.path.clone()],
        (inputs, _) => inputs.iter().map(fill).collect::<Result<_, _>>()?,
    };
    let mut options = Vec::new();
    for (option, value) in &entry.options.0 {
        let value = match value {
            OptionValue::Flag(flag) => OptionValue::Flag(*flag),
            OptionValue::Text(text) => OptionValue::Text(fill(text)?),
            OptionValue::List(texts) => OptionValue::List(texts.iter().map(fill).collect::<Result<_, _>>()?),
        };
        options.push((option.clone(), value));
    }
    options.extend(combination.iter().cloned());
    let output = entry.output.as_ref().map(fill).transpose()?;
    if output.as_deref().is_some_and(|output| output == "-" || output.starts_with("-.")) {
        return Err(BatchError::Stdout(entry.name.clone()));
    }
    Ok(Job {
        name,
        entry: entry.name.clone(),
        command: entry.command.split_whitespace().collect::<Vec<_>>().join(" "),
        inputs,
        output,
        options,
        after: Vec::new(),
        memory_bytes: entry.memory.map(|size| size.0),
        timeout_s: entry.timeout_s,
    })
}

/// Unlike [`label`], values keep what follows a dot.
fn label_of_value(value: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '=');
    value.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn entry_error(entry: &Entry, placeholder: String, values: &BTreeMap<String, String>) -> BatchError {
    BatchError::Placeholder { job: entry.name.clone(), placeholder, known: values.keys().cloned().collect() }
}

/// `text` with `{name}` replaced by its value; `{{` and `}}` are braces. The error is an unknown or open placeholder.
fn filled(text: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        result.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            result.push_str(brace);
            rest = after;
            continue;
        }
        let end = rest.find('}').filter(|_| brace == "{").ok_or_else(|| format!("{brace}{rest}"))?;
        let value = values.get(&rest[..end].replace('_', "-"));
        result.push_str(value.ok_or_else(|| format!("{{{}}}", &rest[..end]))?);
        rest = &rest[end + 1..];
    }
    result.push_str(rest);
    Ok(result)
}

/// Makes the names of jobs unique, ignoring case, since they are also names of files.
fn unique(mut jobs: Vec<Job>) -> Result<Vec<Job>, BatchError> {
    let mut used: BTreeSet<String> = BTreeSet::new();
    for job in &mut jobs {
        let name = job.name.clone();
        let mut number = 1;
        while !used.insert(job.name.to_lowercase()) {
            number += 1;
            job.name = format!("{name}~{number}");
        }
    }
    let mut writers: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for job in &jobs {
        for output in job.outputs() {
            if let Some(other) = writers.insert(normalized(output), &job.name) {
                let jobs = [other.to_owned(), job.name.clone()];
                return Err(BatchError::SameOutput { output: output.to_owned(), jobs });
            }
        }
    }
    Ok(jobs)
}

/// The last part of a path.
fn file_part(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rfind('/').map_or(path, |slash| &path[slash + 1..])
}

/// A path without `.` and `..`, as far as possible without links.
pub(super) fn normalized(path: &str) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(parts.last(), Some(Component::Normal(_))) => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.into_iter().collect()
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}
