//! Batches: many commands on many inputs, described by a job file in TOML.
//!
//! [`read_batch`] parses the file and expands patterns and matrices to [`Job`]s. A job depends on the jobs that it
//! names and on those whose outputs it reads. [`run_batch_with`] runs the jobs on all cores, within a memory budget. An
//! [`Executor`] runs one job; the command line starts a process for each, so that a crash affects no other job. Each
//! result is stored as a record ([`record`]) with hashes of all files that the job read and wrote. A job whose record
//! is current is not run again. Tables of the results ([`tables`]) contain no times, so they are the same bytes for any
//! order of the jobs and any number of machines.

mod expand;
mod file;
mod glob;
mod graph;
pub mod hash;
pub mod record;
mod results;
mod run_job;
mod schedule;
pub mod tables;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use crate::error::BatchError;
pub use file::OptionValue;
pub use results::{JobResult, Status, collect_results};
pub use run_job::{Execution, Executor, Exit, RunControl, run_job};
pub use schedule::{BatchOptions, available_memory, run_batch_with};

/// Version of dermis, which is part of the identity of a result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Options of commands that name files or folders to write, in addition to `output`.
pub const OUTPUT_OPTIONS: [(&str, &str); 7] = [
    ("light", "transfer"),
    ("tissue build", "save-tets"),
    ("tissue fit", "report"),
    ("tissue validate", "report"),
    ("tissue validate", "frames"),
    ("envelope train", "save-examples"),
    ("wrinkle", "curves"),
];

/// One run of a command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Job {
    /// Unique name, which is also the name of its log and record.
    pub name: String,
    /// Name of the entry in the job file.
    pub entry: String,
    /// Command, such as `skin` or `tissue fit`.
    pub command: String,
    /// Inputs, relative to the folder of the job file.
    pub inputs: Vec<String>,
    /// Output, relative to the folder of the job file.
    pub output: Option<String>,
    /// Options of the command in the order of the file, followed by those of the matrix.
    pub options: Vec<(String, OptionValue)>,
    /// Indices of the jobs that must be complete before this one, sorted.
    pub after: Vec<usize>,
    /// Limit of the memory that the job can use, in bytes; `None` estimates it from the size of the inputs.
    pub memory_bytes: Option<u64>,
    /// Time after which the job is stopped and fails, in seconds.
    pub timeout_s: Option<f64>,
}

/// The jobs of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Batch {
    /// The job file.
    pub file: PathBuf,
    /// Folder of the file; all paths of jobs are relative to it.
    pub folder: PathBuf,
    /// Folder of records, logs and tables.
    pub results: PathBuf,
    /// Budget of memory for all running jobs, in bytes, if the file sets one.
    pub memory_bytes: Option<u64>,
    /// Number of jobs that run at the same time, if the file sets one.
    pub parallel_jobs: Option<usize>,
    /// The jobs, in the order of the file.
    pub jobs: Vec<Job>,
}

impl Job {
    /// Paths that the job writes: its output and the values of [`OUTPUT_OPTIONS`].
    pub fn outputs(&self) -> Vec<&str> {
        self.output.as_deref().into_iter().chain(self.texts_of_options(true)).collect()
    }

    /// Texts that can be paths of files that the job reads: its inputs and the values of its other options.
    pub fn possible_inputs(&self) -> Vec<&str> {
        self.inputs.iter().map(String::as_str).chain(self.texts_of_options(false)).collect()
    }

    fn texts_of_options(&self, are_outputs: bool) -> impl Iterator<Item = &str> {
        let is_output = |name: &str| OUTPUT_OPTIONS.contains(&(self.command.as_str(), name));
        let options = self.options.iter().filter(move |(name, _)| is_output(name) == are_outputs);
        options.flat_map(|(_, value)| value.texts()).map(String::as_str)
    }

    fn is_called(&self, name: &str) -> bool {
        self.entry == name || self.name == name || dermis_io::glob_matches(name, &self.name)
    }
}

impl Batch {
    /// A path of a job, resolved against the folder of the file.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.join(path)
    }

    /// The log of a job.
    pub fn log(&self, job: &Job) -> PathBuf {
        self.results.join("logs").join(format!("{}.log", job.name))
    }

    /// Memory that is reserved for a job, in bytes.
    pub fn memory_of(&self, job: &Job) -> u64 {
        job.memory_bytes.unwrap_or_else(|| schedule::estimated_memory(self, job))
    }

    /// Locks the folder of results for this process; an error if another process has locked it.
    pub fn lock(&self) -> Result<File, BatchError> {
        std::fs::create_dir_all(&self.results).map_err(|error| BatchError::io(&self.results, error))?;
        let path = self.results.join("lock");
        let file = File::create(&path).map_err(|error| BatchError::io(&path, error))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(BatchError::Busy(self.results.clone())),
            // A file system without locks cannot detect a second process; both would write the same bytes.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        }
    }

    /// Indices of the jobs that `selection` names: jobs, entries, or patterns with `*` and `?`. All jobs if it is empty.
    pub fn select(&self, selection: &[String]) -> Result<Vec<usize>, BatchError> {
        for name in selection {
            if !self.jobs.iter().any(|job| job.is_called(name)) {
                let names = self.jobs.iter().map(|job| job.name.clone()).collect();
                return Err(BatchError::NoSuchJob { name: name.clone(), names });
            }
        }
        let is_selected = |job: &Job| selection.is_empty() || selection.iter().any(|name| job.is_called(name));
        Ok((0..self.jobs.len()).filter(|&index| is_selected(&self.jobs[index])).collect())
    }
}

/// Reads a job file and expands it to jobs. `results` replaces the folder of results of the file.
pub fn read_batch(file: &Path, results: Option<&Path>) -> Result<Batch, BatchError> {
    let text = std::fs::read_to_string(file).map_err(|error| BatchError::io(file, error))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parsed = file::parse(&text)?;
    let given = parsed.batch.results.as_ref().map(|results| folder.join(results));
    let default = || file.with_extension("results");
    let results = results.map(Path::to_path_buf).or(given).unwrap_or_else(default);
    let mut jobs = expand::expand(folder, &parsed.job)?;
    graph::connect(folder, &parsed.job, &mut jobs)?;
    Ok(Batch {
        file: file.to_path_buf(),
        folder: folder.to_path_buf(),
        results,
        memory_bytes: parsed.batch.memory.map(|size| size.0),
        parallel_jobs: parsed.batch.jobs.map(std::num::NonZeroUsize::get),
        jobs,
    })
}

#[cfg(test)]
mod tests;
