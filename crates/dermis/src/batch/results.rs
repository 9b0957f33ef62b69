//! Results of a batch, from the records of its jobs.

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::Batch;
use super::hash::Hashed;
use super::record::{self, Outcome, Record};

/// Keys of summaries that are not measures: times, which differ between runs, and contents of other columns.
const TIME_KEYS: [&str; 2] = ["real_time_factor", "speed_up"];
const OTHER_KEYS: [&str; 7] = ["output", "files", "bytes", "read", "notes", "missed", "error"];
/// Maximum number of measures of a job.
const MAX_MEASURES: usize = 200;

/// Status of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It succeeded.
    Done,
    /// It wrote its output but did not reach a requested quality.
    Missed,
    /// It failed.
    Failed,
    /// It was not run because a job that it depends on failed.
    Blocked,
    /// It has not been run.
    Pending,
}

impl Status {
    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Missed => "missed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Pending => "pending",
        }
    }

    /// Returns whether the outputs of the job can be used by others.
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Done | Self::Missed)
    }
}

/// Result of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobResult {
    /// Name of the job.
    pub name: String,
    /// Its status.
    pub status: Status,
    /// The error, the qualities that were not reached, or the job that it waits for.
    pub message: Option<String>,
    /// True if it was run by this batch, false if the result is from a record.
    pub was_run: bool,
    /// Time of its run.
    pub seconds: f64,
    /// Largest memory of its run, in bytes; 0 if it was not measured.
    pub peak_memory_bytes: u64,
    /// Files that it read.
    pub inputs: Vec<Hashed>,
    /// Files that it wrote.
    pub outputs: Vec<Hashed>,
    /// Numbers, texts and flags of its summary without times; parts of nested values are joined by dots.
    pub measures: Vec<(String, Value)>,
}

/// Results of all jobs from their records, without running any. Records that are not current are ignored.
pub fn collect_results(batch: &Batch) -> Vec<JobResult> {
    let record = |job| record::current(batch, job).map(|record| (record, false));
    let records: Vec<Option<(Record, bool)>> = batch.jobs.par_iter().map(record).collect();
    of_records(batch, &records)
}

/// Results of all jobs from current records and whether they are new.
pub(super) fn of_records(batch: &Batch, records: &[Option<(Record, bool)>]) -> Vec<JobResult> {
    let mut statuses: Vec<Option<Status>> = records.iter().map(|record| record.as_ref().map(status_of)).collect();
    // Each round finds the jobs behind those of the last one; the longest chain has all jobs.
    let mut blockers: Vec<Option<usize>> = vec![None; records.len()];
    loop {
        let mut has_changed = false;
        for (index, job) in batch.jobs.iter().enumerate() {
            let is_blocker = |other: &&usize| matches!(statuses[**other], Some(Status::Failed | Status::Blocked));
            let blocker = job.after.iter().find(is_blocker).copied();
            // A job that failed before its dependency is blocked, since it must be repeated after it.
            if blocker.is_some() && !matches!(statuses[index], Some(Status::Blocked)) {
                statuses[index] = Some(Status::Blocked);
                blockers[index] = blocker;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    let result = |index: usize| {
        let status = statuses[index].unwrap_or(Status::Pending);
        let record = records[index].as_ref().filter(|_| status != Status::Blocked);
        let blocked_by = blockers[index].map(|other| format!("'{}' did not succeed", batch.jobs[other].name));
        JobResult {
            name: batch.jobs[index].name.clone(),
            status,
            message: blocked_by.or_else(|| record.and_then(|(record, _)| record.message.clone())),
            was_run: record.is_some_and(|(_, is_new)| *is_new),
            seconds: record.map_or(0.0, |(record, _)| record.seconds),
            peak_memory_bytes: record.map_or(0, |(record, _)| record.peak_memory_bytes),
            inputs: record.map(|(record, _)| record.inputs.clone()).unwrap_or_default(),
            outputs: record.map(|(record, _)| record.outputs.clone()).unwrap_or_default(),
            measures: record.map(|(record, _)| measures(&record.summary)).unwrap_or_default(),
        }
    };
    (0..records.len()).map(result).collect()
}

fn status_of((record, _): &(Record, bool)) -> Status {
    match record.outcome {
        Outcome::Started => Status::Pending,
        Outcome::Done => Status::Done,
        Outcome::Missed => Status::Missed,
        Outcome::Failed => Status::Failed,
    }
}

/// Scalars of a summary, in order.
fn measures(summary: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    add_measures("", summary, &mut found);
    found
}

fn add_measures(name: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    let joined = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        _ if found.len() >= MAX_MEASURES => {}
        Value::Object(map) => {
            let is_other = |key: &str| name.is_empty() && OTHER_KEYS.contains(&key);
            let is_time = |key: &str| key.contains("second") || TIME_KEYS.contains(&key);
            for (key, value) in map.iter().filter(|(key, _)| !is_time(key) && !is_other(key)) {
                add_measures(&joined(key), value, found);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                add_measures(&joined(&index.to_string()), value, found);
            }
        }
        Value::Null => {}
        scalar => found.push((name.to_owned(), scalar.clone())),
    }
}
