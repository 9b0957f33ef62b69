//! Execution of a job as a process of its own.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use dermis::batch::{Batch, Execution, Executor, Exit, Job, RunControl};
use dermis::io::output::remove_abandoned;

use super::arguments::arguments;
use crate::commands;

/// Interval between checks of a process.
const POLL: Duration = Duration::from_millis(10);

/// Runs jobs as processes of the program `dermis`.
#[derive(Debug)]
pub(super) struct Processes {
    pub(super) program: PathBuf,
    /// Limit of the size of files for each job.
    pub(super) max_memory: u64,
}

impl Executor for Processes {
    fn execute(&self, batch: &Batch, job: &Job, control: &RunControl) -> std::io::Result<Execution> {
        let path = batch.log(job);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let mut log = File::create(&path)?;
        let mut output = tempfile::tempfile()?;
        for folder in job.outputs().into_iter().filter_map(|output| Path::new(output).parent()) {
            // Commands create and remove the last level themselves, which would affect jobs that run at the same time.
            std::fs::create_dir_all(batch.path(folder))?;
        }
        let words = arguments(&commands::command(), job, control.replaces_outputs());
        writeln!(log, "$ dermis {}", words.join(" "))?;
        let mut command = Command::new(&self.program);
        command.args(["--format=json", "--color=never"]);
        command.arg(format!("--threads={}", control.threads)).arg(format!("--max-memory={}", self.max_memory));
        command.args(words).current_dir(&batch.folder);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(log.try_clone()?);
        // Ctrl-C in a terminal is sent to all processes of a group. The batch itself ends its jobs.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let exit = wait(&mut child, job, control);
        if !matches!(exit, Ok(Exit::Code(_))) {
            // Errors mean that the process has already ended.
            let _ = child.kill();
            let _ = child.wait();
            job.outputs().iter().filter_map(|output| Path::new(output).parent()).for_each(|folder| {
                remove_abandoned(&batch.path(folder));
            });
        }
        let mut text = Vec::new();
        output.seek(SeekFrom::Start(0))?;
        output.read_to_end(&mut text)?;
        log.write_all(&text)?;
        Ok(Execution { exit: exit?, summary: summary_of(&String::from_utf8_lossy(&text)) })
    }
}

/// Waits for the end of a process, a request to stop, or its time limit.
fn wait(child: &mut Child, job: &Job, control: &RunControl) -> std::io::Result<Exit> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(exit_of(status));
        }
        if control.is_stopped() {
            return Ok(Exit::Stopped);
        }
        if let Some(limit) = job.timeout_s.filter(|limit| began.elapsed().as_secs_f64() > *limit) {
            return Ok(Exit::Killed(format!("stopped after its time limit of {limit} s")));
        }
        if let Some(bytes) = memory_of(child.id()) {
            control.report_memory(bytes);
        }
        std::thread::sleep(POLL);
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    if let Some(code) = status.code() {
        return Exit::Code(code);
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let reason = if signal == 9 { "killed, possibly because memory was exhausted" } else { "crashed" };
        return Exit::Killed(format!("{reason} (signal {signal})"));
    }
    Exit::Killed("ended without an exit code".to_owned())
}

/// Memory of a process without mapped files, in bytes; `None` if the system does not report it.
fn memory_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// The summary of a command: one JSON value per line. Several values become a list.
fn summary_of(text: &str) -> serde_json::Value {
    let mut values: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    match values.len() {
        0 => serde_json::Value::Null,
        1 => values.remove(0),
        _ => serde_json::Value::Array(values),
    }
}
