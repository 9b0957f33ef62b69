//! Summaries of a plan and of results.

use dermis::batch::{Batch, JobResult, Status, record};
use rayon::prelude::*;
use serde::{Serialize, Serializer};

use super::arguments::arguments;
use crate::commands;
use crate::job::Facts;
use crate::numbers::{counted, seconds};
use crate::text::Text;

/// JSON of a plan.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    batch: String,
    version: &'static str,
    results: String,
    jobs: Vec<Planned>,
}

/// A job of a plan.
#[derive(Debug, Serialize)]
struct Planned {
    name: String,
    command: Vec<String>,
    /// Names of jobs.
    after: Vec<String>,
    /// Memory that is reserved.
    memory_bytes: u64,
    /// True if its stored result is current.
    is_done: bool,
}

impl Plan {
    pub(super) fn new(batch: &Batch) -> Self {
        let root = commands::command();
        let is_done = |job| record::current(batch, job).is_some_and(|record| record.outcome != record::Outcome::Failed);
        let done: Vec<bool> = batch.jobs.par_iter().map(is_done).collect();
        let job = |(job, is_done): (&dermis::batch::Job, bool)| Planned {
            name: job.name.clone(),
            command: arguments(&root, job, false),
            after: job.after.iter().map(|&index| batch.jobs[index].name.clone()).collect(),
            memory_bytes: batch.memory_of(job),
            is_done,
        };
        Self {
            batch: batch.file.display().to_string(),
            version: dermis::batch::VERSION,
            results: batch.results.display().to_string(),
            jobs: batch.jobs.iter().zip(done).map(job).collect(),
        }
    }
}

impl Facts for Plan {
    fn write(&self, text: &mut Text) {
        let done = self.jobs.iter().filter(|job| job.is_done).count();
        text.title(&self.batch, format!("{}, {done} done", counted(self.jobs.len(), "job", "jobs")));
        let row = |job: &Planned| {
            let state = if job.is_done { "done" } else { "to do" };
            let words: Vec<&str> = job.command.iter().map(String::as_str).filter(|word| *word != "--").collect();
            vec![
                format!("  {}", job.name),
                state.to_owned(),
                format!("dermis {}", words.join(" ")),
                job.after.join(", "),
            ]
        };
        let rows: Vec<Vec<String>> = self.jobs.iter().map(row).collect();
        text.table(4, &["  job", "state", "command", "after"], &rows);
    }
}

/// JSON of results.
#[derive(Debug, Serialize)]
pub(super) struct Summary<'a> {
    batch: String,
    version: &'static str,
    results: String,
    #[serde(serialize_with = "as_object")]
    counts: Vec<(&'static str, usize)>,
    jobs: Vec<JobFacts<'a>>,
}

fn as_object<S: Serializer>(counts: &[(&str, usize)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().copied())
}

/// Result of a job.
#[derive(Debug, Serialize)]
struct JobFacts<'a> {
    name: &'a str,
    status: Status,
    message: Option<&'a str>,
    was_run: bool,
    seconds: f64,
    peak_memory_bytes: u64,
    output: Option<&'a str>,
    log: String,
}

impl<'a> Summary<'a> {
    /// Summary of `results`, the jobs `shown` of a batch.
    pub(super) fn new(batch: &'a Batch, results: &'a [JobResult], shown: &[usize]) -> Self {
        let job = |&index: &usize| {
            let (job, result) = (&batch.jobs[index], &results[index]);
            JobFacts {
                name: &result.name,
                status: result.status,
                message: result.message.as_deref(),
                was_run: result.was_run,
                seconds: result.seconds,
                peak_memory_bytes: result.peak_memory_bytes,
                output: job.output.as_deref(),
                log: batch.log(job).display().to_string(),
            }
        };
        let jobs: Vec<JobFacts<'a>> = shown.iter().map(job).collect();
        let all = [Status::Done, Status::Missed, Status::Failed, Status::Blocked, Status::Pending];
        let count = |status: Status| (status.name(), jobs.iter().filter(|job| job.status == status).count());
        Self {
            batch: batch.file.display().to_string(),
            version: dermis::batch::VERSION,
            results: batch.results.display().to_string(),
            counts: all.into_iter().map(count).collect(),
            jobs,
        }
    }

    /// A line for each job without a complete result.
    pub(super) fn problems(&self) -> Vec<String> {
        let is_problem = |job: &&JobFacts<'_>| job.status != Status::Done;
        let line = |job: &JobFacts<'_>| {
            let message = job.message.map(|message| format!(": {message}")).unwrap_or_default();
            format!("{} {}{message}", job.name, job.status.name())
        };
        self.jobs.iter().filter(is_problem).map(line).collect()
    }
}

impl Facts for Summary<'_> {
    fn write(&self, text: &mut Text) {
        let counts = self.counts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let skipped = self.jobs.iter().filter(|job| job.status.is_usable() && !job.was_run).count();
        let skipped = if skipped > 0 { format!(" ({skipped} from earlier runs)") } else { String::new() };
        text.title(&self.batch, format!("{}: {counts}{skipped}", counted(self.jobs.len(), "job", "jobs")));
        let row = |job: &JobFacts<'_>| {
            let time = if job.seconds > 0.0 { seconds(job.seconds) } else { String::new() };
            let last = job.message.or(job.output).unwrap_or_default();
            vec![format!("  {}", job.name), job.status.name().to_owned(), time, last.to_owned()]
        };
        let rows: Vec<Vec<String>> = self.jobs.iter().map(row).collect();
        text.table(4, &["  job", "status", "time", "output or message"], &rows);
    }
}
