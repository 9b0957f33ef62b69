use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dermis_math::progress::Progress;
use serde_json::json;

use super::*;

/// Writes the contents of its inputs, and its options, to its output.
#[derive(Default)]
struct Copier {
    runs: Mutex<Vec<String>>,
    running: AtomicUsize,
    most: AtomicUsize,
    time: Duration,
    /// Memory that each job reports.
    memory: BTreeMap<String, u64>,
    /// A file that each job reads in addition to its inputs.
    referenced: Option<String>,
}

impl Executor for Copier {
    fn execute(&self, batch: &Batch, job: &Job, control: &RunControl) -> std::io::Result<Execution> {
        self.runs.lock().unwrap().push(job.name.clone());
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        control.report_memory(self.memory.get(&job.name).copied().unwrap_or(0));
        let began = Instant::now();
        while began.elapsed() < self.time && !control.is_stopped() {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        if control.is_stopped() {
            return Ok(Execution { exit: Exit::Stopped, summary: json!(null) });
        }
        let mut text = format!("{:?}", job.options);
        for input in &job.inputs {
            match std::fs::read_to_string(batch.path(input)) {
                Ok(found) => text += &found,
                Err(error) => {
                    let summary = json!({ "error": { "message": error.to_string() } });
                    return Ok(Execution { exit: Exit::Code(2), summary });
                }
            }
        }
        if text.contains("crash") {
            return Ok(Execution { exit: Exit::Killed("crashed".to_owned()), summary: json!(null) });
        }
        let output = job.output.as_deref().unwrap_or("out");
        if !control.replaces_outputs() && batch.path(output).exists() {
            let summary = json!({ "error": { "message": "the file already exists" } });
            return Ok(Execution { exit: Exit::Code(2), summary });
        }
        std::fs::write(batch.path(output), &text)?;
        let missed: &[&str] = if text.contains("weak") { &["error above 2"] } else { &[] };
        let read: Vec<&String> = self.referenced.iter().chain(&job.inputs).collect();
        let summary = json!({
            "length": text.len(), "part": { "milliseconds_per_step": 3.5, "values": [1, 2] },
            "files": [output], "read": read, "missed": missed, "seconds": { "total": 1.0 },
        });
        Ok(Execution { exit: Exit::Code(i32::from(!missed.is_empty())), summary })
    }
}

/// Requests a stop after some reports.
struct StopAfter(AtomicUsize);

impl Progress for StopAfter {
    fn report(&self, _stage: &str, _done: usize, _total: usize) -> ControlFlow<()> {
        let left = self.0.load(Ordering::SeqCst);
        self.0.store(left.saturating_sub(1), Ordering::SeqCst);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn never() -> StopAfter {
    StopAfter(AtomicUsize::new(usize::MAX))
}

fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn batch_of(folder: &Path, text: &str) -> Result<Batch, BatchError> {
    std::fs::write(folder.join("jobs.toml"), text).unwrap();
    read_batch(&folder.join("jobs.toml"), None)
}

fn run(batch: &Batch, executor: &Copier, options: &BatchOptions) -> Vec<JobResult> {
    executor.runs.lock().unwrap().clear();
    run_batch_with(batch, options, executor, &never()).unwrap()
}

fn statuses(results: &[JobResult]) -> Vec<&str> {
    results.iter().map(|result| result.status.name()).collect()
}

fn error_of(text: &str) -> String {
    let folder = folder_with(&[("a.txt", "a"), ("b.txt", "b")]);
    batch_of(folder.path(), text).unwrap_err().to_string()
}

const CHAIN: &str = r#"
[[job]]
name = "copy"
command = "convert"
each = "*.txt"
output = "{stem}.one"

[[job]]
name = "sweep"
command = "skin"
each = "*.one"
output = "{stem}-{bones}.two"
options = { rank = 3, fast_mode = true }
matrix = { bones = [10, 20] }
"#;

#[test]
fn patterns_and_matrices_expand_to_jobs_with_dependencies() {
    let folder = folder_with(&[("a.txt", "a"), ("b.txt", "b"), ("ignored.bin", "")]);
    let batch = batch_of(folder.path(), CHAIN).unwrap();
    let names: Vec<&str> = batch.jobs.iter().map(|job| job.name.as_str()).collect();
    let sweep = ["sweep-a-bones=10", "sweep-a-bones=20", "sweep-b-bones=10", "sweep-b-bones=20"];
    assert_eq!(names, [&["copy-a", "copy-b"][..], &sweep].concat());
    assert_eq!(batch.jobs[2].after, [0]);
    assert_eq!(batch.jobs[5].after, [1]);
    assert_eq!(batch.jobs[4].output.as_deref(), Some("b-10.two"));
    let options: Vec<&str> = batch.jobs[4].options.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(options, ["rank", "fast-mode", "bones"]);
    // Outputs that exist after the first run do not change the plan.
    for name in ["a.one", "b.one", "a-10.two", "a-20.two"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    assert_eq!(batch_of(folder.path(), CHAIN).unwrap(), batch);
    assert_eq!(batch.select(&["copy".to_owned(), "*bones=20".to_owned()]).unwrap(), [0, 1, 3, 5]);
}

#[test]
fn outputs_of_an_entry_are_not_its_inputs() {
    let folder = folder_with(&[("a.glb", ""), ("a-small.glb", "")]);
    let text = "[[job]]\nname = 'pack'\ncommand = 'pack'\neach = '*.glb'\noutput = '{stem}-small.glb'";
    let batch = batch_of(folder.path(), text).unwrap();
    assert_eq!(batch.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["pack-a"]);
}

#[test]
fn rejects_invalid_files() {
    for (text, expected) in [
        ("", "the file contains no [[job]]"),
        ("[[job]]\nname = 'a'\ncommand = 'skin'\ninputs = 'x'", "unknown field `inputs`"),
        ("[batch]\nmemry = '1G'\n", "unknown field `memry`"),
        ("[batch]\nmemory = '1X'\n", "invalid memory '1X'"),
        ("[[job]]\nname = 'a'", "missing field `command`"),
        ("[[job]\n", "invalid"),
        ("[[job]]\nname = 'a/b'\ncommand = 'skin'", "invalid name 'a/b'"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\n[[job]]\nname = 'a'\ncommand = 'y'", "two jobs are called 'a'"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\ntimeout_s = -1", "invalid timeout_s -1"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\neach = '*.none'", "no file matches '*.none'"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\noutput = '{stem}.x'", "unknown placeholder '{stem}'"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\noutput = '{stem'", "unknown placeholder '{stem'"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\nmatrix = { bones = 3 }", "'bones' in matrix must be a list"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\nmatrix = { n = [1] }\noptions = { n = 2 }", "'n' is in both"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\neach = '*.txt'\noutput = 'o'", "both write o"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\noutput = '-'", "must be a file"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\ninput = 'o'\noutput = './o'", "would replace its input o"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\nafter = 'b'", "there is no job called 'b'"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\nafter = 'a'", "depend on each other: a after a"),
        ("[[job]]\nname = 'a'\ncommand = 'x'\noptions = { n = { m = 1 } }", "invalid value of 'n'"),
    ] {
        let error = error_of(text);
        assert!(error.contains(expected), "{text}\n{error}");
    }
    let cycle = "[[job]]\nname = 'a'\ncommand = 'x'\ninput = 'o2'\noutput = 'o1'\n\
                 [[job]]\nname = 'b'\ncommand = 'x'\ninput = 'o1'\noutput = 'o2'";
    assert_eq!(error_of(cycle), "the jobs depend on each other: a after b after a");
    let error = batch_of(folder_with(&[]).path(), "[[job]]\nname = 'a'\ncommand = 'x'\ntipe = 1").unwrap_err();
    assert_eq!(error.location().as_deref(), Some("4:1"));
}

#[test]
fn only_changed_jobs_are_repeated() {
    let folder = folder_with(&[("a.txt", "a"), ("b.txt", "b"), ("ref.bin", "1")]);
    let batch = batch_of(folder.path(), CHAIN).unwrap();
    let executor = Copier { referenced: Some("ref.bin".to_owned()), ..Copier::default() };
    let options = BatchOptions { threads: 4, ..BatchOptions::default() };
    let runs = |executor: &Copier| executor.runs.lock().unwrap().len();
    let first = run(&batch, &executor, &options);
    assert_eq!((statuses(&first), runs(&executor)), (vec!["done"; 6], 6));
    assert_eq!(
        first[0].measures.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["length", "part.values.0", "part.values.1"]
    );
    let tables = [tables::json(&batch, &first), tables::csv(&batch, &first)];
    let second = run(&batch, &executor, &options);
    assert_eq!((statuses(&second), runs(&executor)), (vec!["done"; 6], 0));
    assert_eq!(tables, [tables::json(&batch, &second), tables::csv(&batch, &second)]);
    assert_eq!(tables[0], tables::json(&batch, &collect_results(&batch)));
    // An input: its job and those that read its output.
    std::fs::write(folder.path().join("a.txt"), "new").unwrap();
    run(&batch, &executor, &options);
    assert_eq!(runs(&executor), 3);
    // An output that was removed.
    std::fs::remove_file(folder.path().join("b-20.two")).unwrap();
    run(&batch, &executor, &options);
    assert_eq!(*executor.runs.lock().unwrap(), ["sweep-b-bones=20"]);
    // A file that an input references.
    std::fs::write(folder.path().join("ref.bin"), "2").unwrap();
    run(&batch, &executor, &options);
    assert_eq!(runs(&executor), 6);
    // An option.
    let changed = batch_of(folder.path(), &CHAIN.replace("rank = 3", "rank = 4")).unwrap();
    run(&changed, &executor, &options);
    assert_eq!(runs(&executor), 4);
    run(&changed, &executor, &BatchOptions { force: true, ..options });
    assert_eq!(runs(&executor), 6);
}

#[test]
fn a_bad_job_stops_only_those_that_depend_on_it() {
    let folder = folder_with(&[("a.txt", "crash"), ("b.txt", "weak"), ("c.txt", "c")]);
    let batch = batch_of(folder.path(), CHAIN).unwrap();
    let executor = Copier::default();
    let results = run(&batch, &executor, &BatchOptions { threads: 2, ..BatchOptions::default() });
    let sweep = ["blocked", "blocked", "missed", "missed", "done", "done"];
    assert_eq!(statuses(&results), [&["failed", "missed", "done"][..], &sweep].concat());
    assert_eq!(results[0].message.as_deref(), Some("crashed"));
    assert_eq!(results[3].message.as_deref(), Some("'copy-a' did not succeed"));
    assert_eq!(tables::json(&batch, &results), tables::json(&batch, &collect_results(&batch)));
    // Failed jobs are repeated, others are not.
    std::fs::write(folder.path().join("a.txt"), "a").unwrap();
    let results = run(&batch, &executor, &BatchOptions { threads: 2, ..BatchOptions::default() });
    assert_eq!(statuses(&results)[..4], ["done", "missed", "done", "done"]);
    assert_eq!(executor.runs.lock().unwrap().len(), 3);
}

#[test]
fn files_of_others_are_not_replaced() {
    let folder = folder_with(&[("a.txt", "a"), ("a.one", "precious")]);
    let text = "[[job]]\nname = 'copy'\ncommand = 'convert'\ninput = 'a.txt'\noutput = 'a.one'";
    let batch = batch_of(folder.path(), text).unwrap();
    let (executor, options) = (Copier::default(), BatchOptions::default());
    let contents = || std::fs::read_to_string(folder.path().join("a.one")).unwrap();
    for _ in 0..2 {
        assert_eq!(statuses(&run(&batch, &executor, &options)), ["failed"]);
        assert_eq!(contents(), "precious");
    }
    std::fs::remove_file(folder.path().join("a.one")).unwrap();
    assert_eq!(statuses(&run(&batch, &executor, &options)), ["done"]);
    // Its own output is replaced after a change of the input, unless it was edited.
    std::fs::write(folder.path().join("a.txt"), "b").unwrap();
    assert_eq!(statuses(&run(&batch, &executor, &options)), ["done"]);
    std::fs::write(folder.path().join("a.one"), "edited").unwrap();
    assert_eq!(statuses(&run(&batch, &executor, &options)), ["failed"]);
    assert_eq!(contents(), "edited");
    let force = BatchOptions { force: true, ..options };
    assert_eq!(statuses(&run(&batch, &executor, &force)), ["done"]);
}

#[test]
fn running_jobs_share_cores_and_memory() {
    let files: Vec<(String, String)> = (0..8).map(|index| (format!("{index}.txt"), index.to_string())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let text = "[[job]]\nname = 'copy'\ncommand = 'convert'\neach = '*.txt'\noutput = '{stem}.one'\nmemory = '400M'";
    let most = |options: BatchOptions| {
        let folder = folder_with(&files);
        let batch = batch_of(folder.path(), text).unwrap();
        let executor = Copier { time: Duration::from_millis(60), ..Copier::default() };
        assert_eq!(statuses(&run(&batch, &executor, &options)), ["done"; 8]);
        executor.most.load(Ordering::SeqCst)
    };
    let options = BatchOptions { threads: 4, memory_bytes: Some(8 << 30), ..BatchOptions::default() };
    // On a busy machine, a job can end before the next one starts.
    assert!((2..=4).contains(&most(options.clone())));
    assert!(most(BatchOptions { memory_bytes: Some(1 << 30), ..options.clone() }) <= 2);
    assert_eq!(most(BatchOptions { memory_bytes: Some(1 << 20), ..options.clone() }), 1);
    assert!(most(BatchOptions { parallel_jobs: Some(3), ..options }) <= 3);
}

#[test]
fn jobs_that_exceed_the_memory_are_repeated_alone_or_fail() {
    let folder = folder_with(&[("a.txt", "a"), ("b.txt", "b"), ("c.txt", "c")]);
    let text = "[[job]]\nname = 'copy'\ncommand = 'convert'\neach = '*.txt'\noutput = '{stem}.one'";
    let batch = batch_of(folder.path(), text).unwrap();
    let memory = [("copy-a", 900 << 20), ("copy-b", 900 << 20), ("copy-c", 3 << 30)];
    let memory = memory.map(|(name, bytes)| (name.to_owned(), bytes)).into();
    let executor = Copier { time: Duration::from_millis(200), memory, ..Copier::default() };
    let options = BatchOptions { threads: 2, memory_bytes: Some(1200 << 20), ..BatchOptions::default() };
    let results = run(&batch, &executor, &options);
    assert_eq!(statuses(&results), ["done", "done", "failed"]);
    assert!(results[2].message.as_deref().unwrap().contains("its limit is 1200 MiB"), "{:?}", results[2]);
    // The estimates let two jobs start together; one of them was repeated.
    assert!(executor.runs.lock().unwrap().len() > 3);
}

#[test]
fn a_stop_ends_running_jobs_and_the_next_run_continues() {
    let folder = folder_with(&[("a.txt", "a"), ("b.txt", "b")]);
    let text = "[[job]]\nname = 'copy'\ncommand = 'convert'\neach = '*.txt'\noutput = '{stem}.one'";
    let batch = batch_of(folder.path(), text).unwrap();
    let executor = Copier { time: Duration::from_secs(20), ..Copier::default() };
    let began = Instant::now();
    let options = BatchOptions { threads: 1, ..BatchOptions::default() };
    let results = run_batch_with(&batch, &options, &executor, &StopAfter(AtomicUsize::new(1))).unwrap();
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    assert_eq!(statuses(&results), ["pending", "pending"]);
    // An output of the interrupted run is not mistaken for a file of another program.
    std::fs::write(folder.path().join("a.one"), "half").unwrap();
    assert_eq!(statuses(&run(&batch, &Copier::default(), &options)), ["done", "done"]);
}

#[test]
fn a_selected_job_needs_the_results_of_its_dependencies() {
    let folder = folder_with(&[("a.txt", "a")]);
    let batch = batch_of(folder.path(), CHAIN).unwrap();
    let executor = Copier::default();
    let only = |index: usize| BatchOptions { only: Some(vec![index]), ..BatchOptions::default() };
    assert_eq!(statuses(&run(&batch, &executor, &only(1))), ["pending"; 3]);
    assert_eq!(statuses(&run(&batch, &executor, &only(0))), ["done", "pending", "pending"]);
    assert_eq!(statuses(&run(&batch, &executor, &only(1))), ["done", "done", "pending"]);
}

#[test]
fn tables_quote_texts() {
    let folder = folder_with(&[("a.txt", "a")]);
    let text =
        "[[job]]\nname = 'copy'\ncommand = 'convert'\ninput = 'a.txt'\noutput = 'a,\"1\".one'\noptions.x = '<b>'";
    let batch = batch_of(folder.path(), text).unwrap();
    let results = run(&batch, &Copier::default(), &BatchOptions::default());
    assert!(tables::csv(&batch, &results).contains("\"a,\"\"1\"\".one\""));
    assert!(tables::html(&batch, &results).contains("a,&quot;1&quot;.one"));
    let written = tables::write_tables(&batch, &results).unwrap();
    assert!(written.iter().all(|path| path.is_file()));
}
