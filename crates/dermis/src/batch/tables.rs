//! Tables of results as JSON, CSV and HTML.
//!
//! The JSON and CSV files contain no times, so that they are the same bytes for every run with the same results. Times
//! and memory are in the HTML file and in the records.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::hash::Hashed;
use super::results::JobResult;
use super::{Batch, Job, OptionValue, VERSION, record};
use crate::error::BatchError;

/// Names of the tables in the folder of results.
const NAMES: [&str; 3] = ["results.json", "results.csv", "results.html"];

/// Columns of the CSV file before the measures.
const COLUMNS: [&str; 8] = ["job", "command", "inputs", "options", "status", "message", "output", "sha256"];

/// Contents of `results.json`.
#[derive(Serialize)]
struct Table<'a> {
    version: &'a str,
    jobs: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    command: &'a str,
    options: serde_json::Map<String, Value>,
    status: &'a str,
    message: Option<&'a str>,
    inputs: &'a [Hashed],
    outputs: &'a [Hashed],
    measures: serde_json::Map<String, Value>,
}

/// Writes the tables to the folder of results, and returns their paths.
pub fn write_tables(batch: &Batch, results: &[JobResult]) -> Result<Vec<PathBuf>, BatchError> {
    let paths = NAMES.map(|name| batch.results.join(name));
    let texts = [json(batch, results), csv(batch, results), html(batch, results)];
    let files: Vec<(PathBuf, String)> = paths.iter().cloned().zip(texts).collect();
    record::write(&files)?;
    Ok(paths.to_vec())
}

/// Table as JSON.
pub fn json(batch: &Batch, results: &[JobResult]) -> String {
    let rows = batch.jobs.iter().zip(results).map(|(job, result)| Row {
        name: &job.name,
        command: &job.command,
        options: job.options.iter().map(|(name, value)| (name.clone(), json_of(value))).collect(),
        status: result.status.name(),
        message: result.message.as_deref(),
        inputs: &result.inputs,
        outputs: &result.outputs,
        measures: result.measures.iter().cloned().collect(),
    });
    serde_json::to_string_pretty(&Table { version: VERSION, jobs: rows.collect() }).unwrap_or_default() + "\n"
}

fn json_of(value: &OptionValue) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Table as CSV (RFC 4180), one row per job, with a column per measure.
pub fn csv(batch: &Batch, results: &[JobResult]) -> String {
    let names = measure_names(results);
    let header = COLUMNS.iter().map(|name| (*name).to_owned()).chain(names.iter().map(|name| (*name).to_owned()));
    let mut text = csv_line(header);
    for (job, result) in batch.jobs.iter().zip(results) {
        let first = result.outputs.first();
        let cells = [
            job.name.clone(),
            job.command.clone(),
            job.inputs.join(" "),
            options_text(job),
            result.status.name().to_owned(),
            result.message.clone().unwrap_or_default(),
            job.output.clone().unwrap_or_default(),
            first.map(|output| output.sha256.clone()).unwrap_or_default(),
        ];
        text += &csv_line(cells.into_iter().chain(names.iter().map(|name| measure(result, name))));
    }
    text
}

fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let quoted = |cell: String| {
        if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    };
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

/// Names of the measures of all results, in the order of their first occurrence.
fn measure_names(results: &[JobResult]) -> Vec<&str> {
    let mut seen = std::collections::BTreeSet::new();
    let names = results.iter().flat_map(|result| &result.measures).map(|(name, _)| name.as_str());
    names.filter(|name| seen.insert(*name)).collect()
}

fn measure(result: &JobResult, name: &str) -> String {
    let value = result.measures.iter().find(|(other, _)| other == name).map(|(_, value)| value);
    match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// `bones=20 rank=5`.
fn options_text(job: &Job) -> String {
    let text = |(name, value): &(String, OptionValue)| match value {
        OptionValue::Flag(flag) => format!("{name}={flag}"),
        value => format!("{name}={}", value.texts().join(",")),
    };
    job.options.iter().map(text).collect::<Vec<_>>().join(" ")
}

const STYLE: &str = "body{font:14px system-ui,sans-serif;margin:2em;color:#222;background:#fff}\
table{border-collapse:collapse}th,td{padding:.3em .7em;border-bottom:1px solid #ddd;text-align:left;\
white-space:nowrap}th{position:sticky;top:0;background:#f4f4f4}td.n{text-align:right;font-variant-numeric:\
tabular-nums}.done{color:#176639}.missed{color:#8a5a00}.failed,.blocked{color:#a11}.pending{color:#666}";

/// Table as one HTML page, with times and memory.
pub fn html(batch: &Batch, results: &[JobResult]) -> String {
    let names = measure_names(results);
    let file = batch.file.file_name().map(|name| escaped(&name.to_string_lossy())).unwrap_or_default();
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{file}</title><style>{STYLE}</style>\n\
         <h1>{file}</h1>\n<p>dermis {VERSION}, {} jobs</p>\n<table>\n<tr>",
        results.len()
    );
    for name in ["job", "status", "message", "output", "seconds", "memory (MiB)"].iter().chain(&names) {
        let _ = write!(text, "<th>{}", escaped(name));
    }
    text.push('\n');
    for (job, result) in batch.jobs.iter().zip(results) {
        let (name, status) = (escaped(&job.name), result.status.name());
        let message = result.message.as_deref().map(escaped).unwrap_or_default();
        let output = job.output.as_deref().map(escaped).unwrap_or_default();
        let (time, memory) = (result.seconds, result.peak_memory_bytes >> 20);
        let _ = write!(
            text,
            "<tr><td><a href=\"logs/{name}.log\">{name}</a><td class=\"{status}\">{status}<td>{message}<td>{output}\
             <td class=\"n\">{time:.1}<td class=\"n\">{memory}"
        );
        for measure_name in &names {
            let _ = write!(text, "<td class=\"n\">{}", escaped(&measure(result, measure_name)));
        }
        text.push('\n');
    }
    text + "</table>\n</html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
