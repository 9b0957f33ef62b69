//! One job: check of its record, execution, and new record.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::record::{self, Outcome, Record};
use super::{Batch, Job};
use crate::error::BatchError;

/// Longest error message of a job in characters.
const MAX_MESSAGE: usize = 1000;

/// Runs the command of a job.
pub trait Executor: Sync {
    /// Runs `job` in the folder of `batch` and writes its log. It reports the used memory to `control`, and ends the
    /// command when `control` requests a stop.
    fn execute(&self, batch: &Batch, job: &Job, control: &RunControl) -> std::io::Result<Execution>;
}

/// End of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It returned this exit code: 0 for success, 1 if a requested quality was not reached, others for errors.
    Code(i32),
    /// It was ended by the system or by the executor, for this reason.
    Killed(String),
    /// It was ended because `control` requested it.
    Stopped,
}

/// Result of an executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// End of the command.
    pub exit: Exit,
    /// Summary of the command, with the keys `files`, `read`, `missed` and `error` if it has them.
    pub summary: serde_json::Value,
}

/// State that the scheduler shares with the executor of a running job.
#[derive(Debug, Default)]
pub struct RunControl {
    /// Number of threads that the command may use.
    pub threads: usize,
    replaces_outputs: AtomicBool,
    stop: AtomicBool,
    memory: AtomicU64,
    peak: AtomicU64,
}

impl RunControl {
    /// State of a job that may use `threads` threads.
    pub fn new(threads: usize) -> Self {
        Self { threads, ..Self::default() }
    }

    /// Returns whether the command may replace existing outputs.
    pub fn replaces_outputs(&self) -> bool {
        self.replaces_outputs.load(Ordering::Relaxed)
    }

    /// Returns whether the command must end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Requests the end of the command.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Reports the memory that the command uses now, in bytes.
    pub fn report_memory(&self, bytes: u64) {
        self.memory.store(bytes, Ordering::Relaxed);
        self.peak.fetch_max(bytes, Ordering::Relaxed);
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

/// Runs the job `index` unless its record is current. Returns its record, and whether it was run; `None` if it was
/// stopped. With `force`, it is run in any case and replaces existing outputs.
pub fn run_job(
    batch: &Batch,
    index: usize,
    executor: &dyn Executor,
    control: &RunControl,
    force: bool,
) -> Result<Option<(Record, bool)>, BatchError> {
    let job = &batch.jobs[index];
    // A failure can have a temporary cause, such as a full disk, so that failed jobs are repeated.
    let current = || record::current(batch, job).filter(|record| record.outcome != Outcome::Failed);
    if let Some(record) = (!force).then(current).flatten() {
        return Ok(Some((record, false)));
    }
    let owned = force || record::owns_outputs(batch, job);
    control.replaces_outputs.store(owned, Ordering::Relaxed);
    let is_free = || job.outputs().iter().all(|output| batch.path(output).symlink_metadata().is_err());
    if owned || is_free() {
        record::store(batch, job, &started(job))?;
    }
    let began = Instant::now();
    let execution = executor.execute(batch, job, control).unwrap_or_else(|error| Execution {
        exit: Exit::Killed(format!("the command cannot be run: {error}")),
        summary: serde_json::Value::Null,
    });
    if execution.exit == Exit::Stopped {
        return Ok(None);
    }
    finished(batch, job, execution, began, control).map(|record| Some((record, true)))
}

/// Record of a job that has started.
fn started(job: &Job) -> Record {
    Record {
        key: record::key(job),
        outcome: Outcome::Started,
        message: None,
        inputs: Vec::new(),
        outputs: Vec::new(),
        summary: serde_json::Value::Null,
        seconds: 0.0,
        peak_memory_bytes: 0,
    }
}

/// Stores and returns the record of a job whose command has ended.
pub(super) fn finished(
    batch: &Batch,
    job: &Job,
    execution: Execution,
    began: Instant,
    control: &RunControl,
) -> Result<Record, BatchError> {
    let mut record = Record {
        seconds: began.elapsed().as_secs_f64(),
        peak_memory_bytes: control.peak(),
        outputs: record::outputs(batch, &texts(&execution.summary["files"])),
        ..started(job)
    };
    record.inputs = record::inputs(batch, job, &texts(&execution.summary["read"]), &record.outputs);
    (record.outcome, record.message) = judged(job, &execution, &record);
    record.summary = execution.summary;
    record::store(batch, job, &record)?;
    Ok(record)
}

fn judged(job: &Job, execution: &Execution, record: &Record) -> (Outcome, Option<String>) {
    let error = execution.summary["error"]["message"].as_str().map(str::to_owned);
    let missed = texts(&execution.summary["missed"]).join("; ");
    let has_output = job.output.is_none() || !record.outputs.is_empty();
    let (outcome, message) = match &execution.exit {
        Exit::Code(0) => (Outcome::Done, None),
        Exit::Code(1) if error.is_none() && has_output => (Outcome::Missed, Some(missed)),
        Exit::Code(code) => {
            let otherwise = || if missed.is_empty() { format!("exit code {code}") } else { missed };
            (Outcome::Failed, Some(error.unwrap_or_else(otherwise)))
        }
        Exit::Killed(reason) => (Outcome::Failed, Some(reason.clone())),
        Exit::Stopped => (Outcome::Started, None),
    };
    (outcome, message.map(|message| message.chars().take(MAX_MESSAGE).collect()))
}

/// The texts of a list in a summary.
fn texts(list: &serde_json::Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}
