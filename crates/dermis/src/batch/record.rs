//! Records of jobs: the identity of a result, and hashes of all files that were read and written.
//!
//! A record is current if the job has the same command, options, inputs and version, every file that it read has the
//! same contents, and so does every file that it wrote. Before a job starts, its record is replaced by one without a
//! result, so that outputs of an interrupted run are recognized as outputs of the batch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dermis_io::output::Output;
use serde::{Deserialize, Serialize};

use super::expand::normalized;
use super::hash::{self, Hashed};
use super::{Batch, Job, VERSION};
use crate::error::BatchError;

/// Version of the format of records; records of other versions are not current.
const FORMAT: u32 = 1;

/// Result of a job that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The job has not ended, or was interrupted.
    Started,
    /// It succeeded.
    Done,
    /// It wrote its output but did not reach a requested quality.
    Missed,
    /// It failed.
    Failed,
}

/// Record of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Identity of command, inputs, options and version; see [`key`].
    pub key: String,
    /// The result.
    pub outcome: Outcome,
    /// The error, or the qualities that were not reached.
    pub message: Option<String>,
    /// Files that were read, sorted by path.
    pub inputs: Vec<Hashed>,
    /// Files that were written, sorted by path.
    pub outputs: Vec<Hashed>,
    /// Summary of the command.
    pub summary: serde_json::Value,
    /// Time of the run.
    pub seconds: f64,
    /// Largest memory of the run, in bytes; 0 if it was not measured.
    pub peak_memory_bytes: u64,
}

/// Identity of the result of `job`: everything that determines it except the contents of files.
pub fn key(job: &Job) -> String {
    let identity = (FORMAT, VERSION, &job.command, &job.inputs, &job.output, &job.options);
    hash::of_bytes(serde_json::to_string(&identity).unwrap_or_default().as_bytes())
}

/// Path of the record of `job`.
fn path(batch: &Batch, job: &Job) -> PathBuf {
    batch.results.join("records").join(format!("{}.json", job.name))
}

/// The stored record of `job`; `None` if there is none or it is unreadable, which repeats the job.
pub fn load(batch: &Batch, job: &Job) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(path(batch, job)).ok()?).ok()
}

/// Stores the record of `job`.
pub fn store(batch: &Batch, job: &Job, record: &Record) -> Result<(), BatchError> {
    let path = path(batch, job);
    let text = serde_json::to_string_pretty(record).unwrap_or_default() + "\n";
    write(&[(path, text)])
}

/// Writes text files as a whole, and creates their folders.
pub(super) fn write(files: &[(PathBuf, String)]) -> Result<(), BatchError> {
    let mut output = Output::new(true);
    for (path, text) in files {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| BatchError::io(folder, error))?;
        output.write_all(path, text.as_bytes())?;
    }
    output.commit()?;
    Ok(())
}

/// The stored record of `job` if it is current.
pub fn current(batch: &Batch, job: &Job) -> Option<Record> {
    let record = load(batch, job).filter(|record| record.outcome != Outcome::Started && record.key == key(job))?;
    let is_same = |file: &Hashed| hash_of(batch, &file.path).is_some_and(|found| found.sha256 == file.sha256);
    // An input that did not exist is not in the list.
    let is_listed = |path: &&str| record.inputs.iter().any(|file| file.path == **path);
    let mut new = job.possible_inputs().into_iter().filter(|path| !is_listed(path));
    let is_current = !new.any(|path| exists(batch, path)) && record.inputs.iter().chain(&record.outputs).all(is_same);
    is_current.then_some(record)
}

/// Returns whether the existing outputs of `job` were written by its last run and have not been changed since.
pub fn owns_outputs(batch: &Batch, job: &Job) -> bool {
    load(batch, job).is_some_and(|record| {
        let is_same = |file: &Hashed| {
            !exists(batch, &file.path) || hash_of(batch, &file.path).is_some_and(|found| found.sha256 == file.sha256)
        };
        record.outcome == Outcome::Started || (!record.outputs.is_empty() && record.outputs.iter().all(is_same))
    })
}

/// Hashes of the files that `job` read: its inputs, and those that its summary lists.
pub(super) fn inputs(batch: &Batch, job: &Job, read: &[String], written: &[Hashed]) -> Vec<Hashed> {
    let outputs: BTreeSet<PathBuf> =
        written.iter().map(|file| file.path.as_str()).chain(job.outputs()).map(normalized).collect();
    let read = read.iter().map(|path| relative(batch, path));
    let all: BTreeSet<String> = job.possible_inputs().into_iter().map(str::to_owned).chain(read).collect();
    all.iter().filter(|path| !outputs.contains(&normalized(path))).filter_map(|path| hash_of(batch, path)).collect()
}

/// Hashes of files that were written.
pub(super) fn outputs(batch: &Batch, written: &[String]) -> Vec<Hashed> {
    let all: BTreeSet<String> = written.iter().map(|path| relative(batch, path)).collect();
    all.iter().filter_map(|path| hash_of(batch, path)).collect()
}

fn exists(batch: &Batch, path: &str) -> bool {
    batch.path(path).exists() || hash_of(batch, path).is_some()
}

/// Hash of a path; `None` if it does not exist or cannot be read.
fn hash_of(batch: &Batch, path: &str) -> Option<Hashed> {
    hash::of_path(&batch.folder, path).ok().flatten()
}

/// An absolute path inside the folder of the batch, relative to it. Other paths are not changed.
fn relative(batch: &Batch, path: &str) -> String {
    let folder = batch.folder.canonicalize().unwrap_or_else(|_| batch.folder.clone());
    Path::new(path)
        .strip_prefix(folder)
        .map_or_else(|_| path.to_owned(), |inside| inside.to_string_lossy().into_owned())
}
