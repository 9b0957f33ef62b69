//! Scheduling of jobs on the cores of one machine within a budget of memory.
//!
//! A job starts when the jobs that it depends on are complete, a core is free, and its reserved memory fits the rest of
//! the budget; a job that runs alone always fits. The reserved memory is that of the file, or an estimate from the size
//! of the inputs. If the running jobs together exceed the budget although their estimates did not, the one that started
//! last is stopped and repeated later with a larger reservation. A job that alone exceeds the budget, or its own limit,
//! fails.
//!
//! The number of threads of a job is its part of the free cores, so that a batch with fewer jobs than cores uses all of
//! them. Results do not depend on the number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use dermis_math::progress::Progress;

use super::record::Record;
use super::results::{JobResult, of_records};
use super::run_job::{Execution, Executor, Exit, RunControl, finished, run_job};
use super::{Batch, Job};
use crate::error::BatchError;

/// Interval between checks of memory, progress and requests to stop.
const POLL: Duration = Duration::from_millis(50);
/// Estimate of the memory of a job: a part for the program and its working memory, and a multiple of the inputs.
const BASE_BYTES: u64 = 512 << 20;
const BYTES_PER_INPUT_BYTE: u64 = 8;
/// Factor of the reserved memory of a job that is repeated.
const LARGER: u64 = 2;
/// Fraction of the available memory that jobs use by default.
const DEFAULT_FRACTION: f64 = 0.8;

/// Options of [`run_batch_with`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchOptions {
    /// Number of threads of all jobs together.
    pub threads: usize,
    /// Maximum number of jobs at the same time; `None` is the number of threads.
    pub parallel_jobs: Option<usize>,
    /// Budget of memory for all running jobs, in bytes; `None` is 80 % of the available memory, without a limit if that
    /// is unknown.
    pub memory_bytes: Option<u64>,
    /// Runs jobs with a current record again, and replaces existing outputs.
    pub force: bool,
    /// The jobs to run; `None` is all. Jobs that they depend on are not run, and must have a current record.
    pub only: Option<Vec<usize>>,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            threads: rayon::current_num_threads(),
            parallel_jobs: None,
            memory_bytes: None,
            force: false,
            only: None,
        }
    }
}

/// A job that is running.
struct Running {
    control: Arc<RunControl>,
    reserved_bytes: u64,
    began: Instant,
    /// Number of jobs that were started before.
    order: usize,
    /// True if it was stopped in order to be repeated.
    is_repeated: bool,
    /// Reason of a stop after which the job has failed.
    failure: Option<String>,
}

/// A job that has ended.
type Ended = (usize, Result<Option<(Record, bool)>, BatchError>);

/// Jobs to run, running jobs and results.
struct Schedule<'a> {
    batch: &'a Batch,
    options: &'a BatchOptions,
    budget: u64,
    /// Jobs that have not been started, in order.
    waiting: Vec<usize>,
    running: BTreeMap<usize, Running>,
    /// Memory to reserve for jobs that are repeated.
    reservations: BTreeMap<usize, u64>,
    records: Vec<Option<(Record, bool)>>,
    started: usize,
}

/// Runs the jobs and returns the results of all. The observer receives the number of completed jobs; if it requests a
/// stop, running jobs are ended, and the others remain pending.
pub fn run_batch_with(
    batch: &Batch,
    options: &BatchOptions,
    executor: &dyn Executor,
    progress: &dyn Progress,
) -> Result<Vec<JobResult>, BatchError> {
    let mut schedule = Schedule::new(batch, options);
    let total = schedule.waiting.len();
    let (sender, ended) = channel();
    let mut is_stopped = false;
    let mut failure = None;
    std::thread::scope(|scope| {
        loop {
            if !is_stopped && failure.is_none() {
                while let Some((index, control)) = schedule.next() {
                    let sender: Sender<Ended> = sender.clone();
                    scope.spawn(move || {
                        let result = run_job(batch, index, executor, &control, options.force);
                        // The receiver exists until all jobs have ended.
                        let _ = sender.send((index, result));
                    });
                }
            }
            if schedule.running.is_empty() {
                break;
            }
            match ended.recv_timeout(POLL) {
                Ok((index, result)) => {
                    if let Err(error) = schedule.end(index, result) {
                        failure.get_or_insert(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => schedule.check_memory(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let done = total - schedule.waiting.len() - schedule.running.len();
            if progress.report("jobs", done, total).is_break() || failure.is_some() {
                is_stopped = true;
                schedule.running.values().for_each(|running| running.control.stop());
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(of_records(batch, &schedule.records)),
    }
}

impl<'a> Schedule<'a> {
    fn new(batch: &'a Batch, options: &'a BatchOptions) -> Self {
        let mut records = vec![None; batch.jobs.len()];
        let waiting = options.only.clone().unwrap_or_else(|| (0..batch.jobs.len()).collect());
        if options.only.is_some() {
            let dependencies = waiting.iter().flat_map(|&index| &batch.jobs[index].after);
            for &index in dependencies.filter(|index| !waiting.contains(index)) {
                records[index] = super::record::current(batch, &batch.jobs[index]).map(|record| (record, false));
            }
        }
        let available = || available_memory().map_or(u64::MAX, |bytes| (bytes as f64 * DEFAULT_FRACTION) as u64);
        Self {
            batch,
            options,
            budget: options.memory_bytes.or(batch.memory_bytes).unwrap_or_else(available),
            waiting,
            running: BTreeMap::new(),
            reservations: BTreeMap::new(),
            records,
            started: 0,
        }
    }

    /// The next job that can start, with its control; `None` if none can start now.
    fn next(&mut self) -> Option<(usize, Arc<RunControl>)> {
        let most = self.options.parallel_jobs.or(self.batch.parallel_jobs).unwrap_or(self.options.threads).max(1);
        let used_threads: usize = self.running.values().map(|running| running.control.threads).sum();
        let free = self.options.threads.saturating_sub(used_threads);
        if self.running.len() >= most || (free == 0 && !self.running.is_empty()) {
            return None;
        }
        let is_ready = |index: &usize| self.batch.jobs[*index].after.iter().all(|&other| self.is_usable(other));
        let ready: Vec<usize> = self.waiting.iter().copied().filter(is_ready).collect();
        let reserved: u64 = self.running.values().map(Running::held_bytes).sum();
        let fits =
            |index: &usize| self.running.is_empty() || reserved.saturating_add(self.reservation(*index)) <= self.budget;
        let index = ready.iter().copied().find(fits)?;
        // Jobs that start at the same time share the free cores.
        let starting = ready.len().min(most - self.running.len()).max(1);
        let control = Arc::new(RunControl::new((free / starting).max(1)));
        let running = Running {
            control: Arc::clone(&control),
            reserved_bytes: self.reservation(index),
            began: Instant::now(),
            order: self.started,
            is_repeated: false,
            failure: None,
        };
        self.started += 1;
        self.waiting.retain(|&other| other != index);
        self.running.insert(index, running);
        Some((index, control))
    }

    fn is_usable(&self, index: usize) -> bool {
        use super::record::Outcome::{Done, Missed};
        self.records[index].as_ref().is_some_and(|(record, _)| matches!(record.outcome, Done | Missed))
    }

    /// Memory to reserve for a job, at most the budget.
    fn reservation(&self, index: usize) -> u64 {
        let job = &self.batch.jobs[index];
        let known = self.reservations.get(&index).copied().or(job.memory_bytes);
        known.unwrap_or_else(|| estimated_memory(self.batch, job)).min(self.budget)
    }

    /// Stops jobs that exceed their limit, and the last job if all together exceed the budget.
    fn check_memory(&mut self) {
        let used: u64 = self.running.values().map(|running| running.control.memory()).sum();
        let is_alone = self.running.len() == 1;
        let batch = self.batch;
        for (&index, running) in &mut self.running {
            let limit = batch.jobs[index].memory_bytes.unwrap_or(u64::MAX);
            let limit = if is_alone { limit.min(self.budget) } else { limit };
            let memory = running.control.memory();
            if memory > limit && running.failure.is_none() {
                let [memory, limit] = [memory, limit].map(|bytes| bytes >> 20);
                running.failure = Some(format!("the job uses {memory} MiB of memory; its limit is {limit} MiB"));
                running.control.stop();
            }
        }
        let is_stopping = self.running.values().any(|running| running.control.is_stopped());
        if used <= self.budget || is_alone || is_stopping {
            return;
        }
        if let Some(last) = self.running.values_mut().max_by_key(|running| running.order) {
            last.is_repeated = true;
            last.control.stop();
        }
    }

    /// Records the end of a job.
    fn end(&mut self, index: usize, result: Result<Option<(Record, bool)>, BatchError>) -> Result<(), BatchError> {
        let Some(running) = self.running.remove(&index) else { return Ok(()) };
        match (result?, running.failure) {
            (Some(record), _) => self.records[index] = Some(record),
            (None, Some(reason)) => {
                let control = &running.control;
                let killed = Execution { exit: Exit::Killed(reason), summary: serde_json::Value::Null };
                let record = finished(self.batch, &self.batch.jobs[index], killed, running.began, control)?;
                self.records[index] = Some((record, true));
            }
            (None, None) if running.is_repeated => {
                let larger = running.reserved_bytes.max(running.control.peak()).saturating_mul(LARGER);
                self.reservations.insert(index, larger.min(self.budget));
                self.waiting.push(index);
                self.waiting.sort_unstable();
            }
            (None, None) => {
                self.waiting.push(index);
                self.waiting.sort_unstable();
            }
        }
        Ok(())
    }
}

impl Running {
    /// Reserved memory, or the used memory if it is larger.
    fn held_bytes(&self) -> u64 {
        self.reserved_bytes.max(self.control.memory())
    }
}

/// Estimate of the memory of a job, from the size of its inputs.
pub(super) fn estimated_memory(batch: &Batch, job: &Job) -> u64 {
    fn size(path: &std::path::Path, depth: usize) -> u64 {
        if depth == 0 || !path.is_dir() {
            return path.metadata().map_or(0, |data| data.len());
        }
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| size(&entry.path(), depth - 1)).sum()
    }
    const MAX_DEPTH: usize = 8;
    let bytes: u64 = job.possible_inputs().iter().map(|path| size(&batch.path(path), MAX_DEPTH)).sum();
    BASE_BYTES.saturating_add(bytes.saturating_mul(BYTES_PER_INPUT_BYTE))
}

/// Memory that programs can use without swapping, in bytes: that of the machine, or of the control group of the process
/// if it is less. `None` if the system does not report it.
pub fn available_memory() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.split_whitespace().next()?.parse::<u64>().ok()? << 10;
    let number = |file: &str| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|limit| limit.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    Some(group.map_or(machine, |group| group.min(machine)))
}
