//! `dermis batch`: jobs, dependencies, resume, failures, limits and Ctrl-C.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Sandbox, moving_box};
use serde_json::Value;

/// Conversions of all boxes, and fits of the results in a sweep.
const JOBS: &str = r#"
[[job]]
name = "convert"
command = "convert"
each = "in/*.npz"
output = "{stem}.abc"

[[job]]
name = "fit"
command = "skin"
each = "*.abc"
output = "{stem}-{rank}.glb"
options = { bones = 1 }
matrix = { rank = [0, 1] }
"#;

fn with_boxes(names: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("in")).unwrap();
    for (index, name) in names.iter().enumerate() {
        sandbox.write(&format!("in/{name}.npz"), &moving_box(4 + index, 24.0));
    }
    std::fs::write(sandbox.path("jobs.toml"), JOBS).unwrap();
    sandbox
}

fn text(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.path(name)).unwrap()
}

/// Names of jobs by status, and of those that were run.
fn names(summary: &Value, holds: impl Fn(&Value) -> bool) -> Vec<&str> {
    let jobs = summary["jobs"].as_array().unwrap().iter();
    jobs.filter(|job| holds(job)).map(|job| job["name"].as_str().unwrap()).collect()
}

fn was_run(summary: &Value) -> Vec<&str> {
    names(summary, |job| job["was_run"] == true)
}

#[test]
fn jobs_run_in_order_and_only_changes_are_repeated() {
    let sandbox = with_boxes(&["a", "b"]);
    let batch = || sandbox.succeed(&["batch", "jobs.toml", "--format", "json"]).json();
    let first = batch();
    assert_eq!(first["counts"]["done"], 6);
    assert_eq!(was_run(&first).len(), 6);
    assert!(["a.abc", "b-1.glb"].iter().all(|name| sandbox.path(name).is_file()));
    let tables = ["json", "csv"].map(|extension| text(&sandbox, &format!("jobs.results/results.{extension}")));
    assert!(tables[0].contains("\"distortion_percent\"") && !tables[0].contains("seconds"), "{}", tables[0]);
    assert!(tables[1].contains("fit-b-rank=1,skin,b.abc,bones=1 rank=1,done,,b-1.glb,"), "{}", tables[1]);
    assert!(text(&sandbox, "jobs.results/results.html").contains("logs/fit-a-rank=0.log"));
    assert!(text(&sandbox, "jobs.results/logs/fit-a-rank=0.log").starts_with("$ dermis skin --bones=1 --rank=0"));
    let second = batch();
    assert_eq!((was_run(&second).len(), &second["counts"]["done"]), (0, &Value::from(6)));
    assert_eq!(tables, ["json", "csv"].map(|extension| text(&sandbox, &format!("jobs.results/results.{extension}"))));
    // A new input, and an edited one.
    std::fs::remove_file(sandbox.path("in/a.npz")).unwrap();
    sandbox.write("in/a.npz", &moving_box(6, 24.0));
    assert_eq!(was_run(&batch()), ["convert-a", "fit-a-rank=0", "fit-a-rank=1"]);
    std::fs::write(sandbox.path("jobs.toml"), JOBS.replace("[0, 1]", "[0, 1, 2]")).unwrap();
    assert_eq!(was_run(&batch()), ["fit-a-rank=2", "fit-b-rank=2"]);
    let plan = sandbox.succeed(&["batch", "jobs.toml", "--plan", "--format", "json"]).json();
    assert!(names(&plan, |job| job["is_done"] == false).is_empty());
    assert_eq!(plan["jobs"][2]["after"][0], "convert-a");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let outputs = [["--threads", "1"], ["--threads", "4"]].map(|threads| {
        let sandbox = with_boxes(&["a", "b", "c"]);
        sandbox.succeed(&[&["batch", "jobs.toml"][..], &threads].concat());
        let files = ["b-1.glb", "c-0.glb", "jobs.results/results.json", "jobs.results/results.csv"];
        files.map(|file| std::fs::read(sandbox.path(file)).unwrap())
    });
    assert!(outputs[0] == outputs[1]);
}

#[test]
fn a_bad_input_stops_only_jobs_that_need_it() {
    let sandbox = with_boxes(&["a", "c"]);
    std::fs::write(sandbox.path("in/b.npz"), b"not an archive").unwrap();
    let outcome = sandbox.run(&["batch", "jobs.toml", "--format", "json"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let summary = outcome.json();
    assert_eq!(names(&summary, |job| job["status"] == "failed"), ["convert-b"]);
    assert_eq!(names(&summary, |job| job["status"] == "blocked"), ["fit-b-rank=0", "fit-b-rank=1"]);
    assert_eq!(names(&summary, |job| job["status"] == "done").len(), 6);
    assert_eq!(summary["missed"].as_array().unwrap().len(), 3);
    assert!(text(&sandbox, "jobs.results/logs/convert-b.log").contains("error:"));
    // The fixed input completes the batch.
    std::fs::remove_file(sandbox.path("in/b.npz")).unwrap();
    sandbox.write("in/b.npz", &moving_box(5, 24.0));
    let summary = sandbox.succeed(&["batch", "jobs.toml", "--format", "json"]).json();
    assert_eq!(was_run(&summary), ["convert-b", "fit-b-rank=0", "fit-b-rank=1"]);
}

#[test]
fn a_missed_target_is_exit_code_1_with_an_output() {
    let sandbox = Sandbox::new();
    let job = "[[job]]\nname = 'fit'\ncommand = 'skin'\ninput = 'sample:flag'\noutput = 'flag.glb'\n\
               options = { bones = 2, rank-error = 1e-9, refine = 2, frames = '::8' }";
    std::fs::write(sandbox.path("jobs.toml"), job).unwrap();
    let outcome = sandbox.run(&["batch", "jobs.toml", "--format", "json"]);
    assert_eq!((outcome.code, &outcome.json()["jobs"][0]["status"]), (1, &Value::from("missed")), "{}", outcome.stderr);
    let again = sandbox.run(&["batch", "jobs.toml", "--format", "json"]);
    assert_eq!((again.code, was_run(&again.json()).len()), (1, 0));
    assert!(sandbox.path("flag.glb").is_file());
}

#[test]
fn invalid_job_files_are_errors_before_any_job_runs() {
    let sandbox = with_boxes(&["a"]);
    for (from, to, expected) in [
        ("each = \"in/*.npz\"", "eech = \"in/*.npz\"", "unknown field `eech`"),
        ("in/*.npz", "in/*.none", "no file matches 'in/*.none'"),
        ("command = \"skin\"", "command = \"skn\"", "there is no command 'skn'"),
        ("command = \"skin\"", "command = \"view\"", "there is no command 'view'"),
        ("command = \"skin\"", "command = \"tissue\"", "there is no command 'tissue'"),
        ("bones = 1", "bonse = 1", "unexpected argument '--bonse'"),
        ("bones = 1", "bones = -3", "invalid value '-3'"),
        ("bones = 1", "output = 'x'", "'output' is not an option of a job"),
        ("name = \"convert\"", "name = \"convert\"\nafter = \"fit\"", "depend on each other"),
        ("{stem}-{rank}.glb", "all.glb", "both write all.glb"),
    ] {
        std::fs::write(sandbox.path("jobs.toml"), JOBS.replace(from, to)).unwrap();
        let error = sandbox.fail(&["batch", "jobs.toml"]);
        assert!(error.contains(expected) && error.contains("--> jobs.toml"), "{to}: {error}");
    }
    assert!(sandbox.fail(&["batch", "none.toml"]).contains("no such file"));
    assert!(sandbox.fail(&["batch", "jobs.toml", "--allow-parent"]).contains("has an effect only"));
    assert!(!sandbox.path("jobs.results").exists());
}

#[test]
fn existing_files_of_others_are_kept_without_force() {
    let sandbox = with_boxes(&["a"]);
    std::fs::write(sandbox.path("a-0.glb"), b"precious").unwrap();
    let outcome = sandbox.run(&["batch", "jobs.toml"]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("fit-a-rank=0 failed: the output already exists"), "{}", outcome.stderr);
    assert_eq!(std::fs::read(sandbox.path("a-0.glb")).unwrap(), b"precious");
    let summary = sandbox.succeed(&["batch", "jobs.toml", "--force", "--format", "json"]).json();
    assert_eq!(was_run(&summary).len(), 3);
}

#[test]
fn selected_jobs_use_results_of_earlier_runs_and_tables_can_be_written_later() {
    let sandbox = with_boxes(&["a", "b"]);
    let only = |names: &str| sandbox.run(&["batch", "jobs.toml", "--only", names, "--format", "json"]);
    let outcome = only("fit-a-rank=1");
    assert_eq!((outcome.code, &outcome.json()["jobs"][0]["status"]), (1, &Value::from("pending")));
    assert_eq!(only("convert").code, 0);
    assert_eq!(only("fit-a-*").code, 0);
    assert!(sandbox.fail(&["batch", "jobs.toml", "--only", "fti"]).contains("there is no job called 'fti'"));
    assert!(!sandbox.path("jobs.results/results.json").exists());
    let outcome = sandbox.run(&["batch", "jobs.toml", "--tables", "--format", "json"]);
    assert_eq!((outcome.code, &outcome.json()["counts"]["pending"]), (1, &Value::from(2)));
    let summary = sandbox.succeed(&["batch", "jobs.toml", "--format", "json"]).json();
    assert_eq!(was_run(&summary), ["fit-b-rank=0", "fit-b-rank=1"]);
    let table = text(&sandbox, "jobs.results/results.json");
    sandbox.succeed(&["batch", "jobs.toml", "--tables"]);
    assert_eq!(table, text(&sandbox, "jobs.results/results.json"));
}

#[cfg(target_os = "linux")]
#[test]
fn jobs_that_exceed_their_memory_or_time_fail_alone() {
    let sandbox = with_boxes(&["a"]);
    let slow = "[[job]]\nname = 'slow'\ncommand = 'skin'\ninput = 'sample:gallop'\noutput = 'slow.glb'\ntimeout_s = 0.2\n\
                [[job]]\nname = 'large'\ncommand = 'skin'\ninput = 'sample:gallop'\noutput = 'large.glb'\nmemory = '1M'";
    std::fs::write(sandbox.path("jobs.toml"), format!("{JOBS}\n{slow}")).unwrap();
    let outcome = sandbox.run(&["batch", "jobs.toml", "--format", "json"]);
    let summary = outcome.json();
    assert_eq!((outcome.code, &summary["counts"]["done"]), (1, &Value::from(3)), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("slow failed: stopped after its time limit of 0.2 s"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("MiB of memory; its limit is 1 MiB"), "{}", outcome.stderr);
    assert!(!sandbox.path("slow.glb").exists() && !sandbox.path("large.glb").exists());
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_all_jobs_within_half_a_second_and_the_next_run_continues() {
    let sandbox = with_boxes(&["a"]);
    let slow = "[[job]]\nname = 'slow'\ncommand = 'skin'\ninput = 'sample:gallop'\noutput = 'slow.glb'\n\
                after = 'convert'\nmatrix = { bones = [40] }";
    std::fs::write(sandbox.path("jobs.toml"), format!("{JOBS}\n{slow}")).unwrap();
    let mut command = sandbox.command(&["batch", "jobs.toml", "--threads", "2"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let log = sandbox.path("jobs.results/logs/slow-bones=40.log");
    let began = Instant::now();
    while !log.exists() && began.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // A second process cannot run the same batch.
    assert!(sandbox.fail(&["batch", "jobs.toml"]).contains("another process runs this batch"));
    let began = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let elapsed = began.elapsed();
    assert_eq!(output.status.code(), Some(2));
    assert!(elapsed < Duration::from_millis(500), "{elapsed:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("run the command again"), "{stderr}");
    assert!(!sandbox.path("slow.glb").exists());
    assert!(sandbox.files().iter().all(|name| !name.starts_with(".dermis-")), "{:?}", sandbox.files());
    let summary = sandbox.succeed(&["batch", "jobs.toml", "--only", "convert,fit", "--format", "json"]).json();
    assert!(!was_run(&summary).contains(&"convert-a"), "{summary}");
}

#[test]
fn changes_of_referenced_files_are_found() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["convert", "sample:flag", "flag.gltf"]);
    let job = "[[job]]\nname = 'copy'\ncommand = 'convert'\ninput = 'flag.gltf'\noutput = 'flag.npz'";
    std::fs::write(sandbox.path("jobs.toml"), job).unwrap();
    let batch = || sandbox.succeed(&["batch", "jobs.toml", "--format", "json"]).json();
    assert_eq!(was_run(&batch()).len(), 1);
    assert_eq!(was_run(&batch()).len(), 0);
    // A flipped bit of a coordinate in the binary buffer, which only the glTF file names.
    let buffer =
        sandbox.files().into_iter().find(|name| Path::new(name).extension().is_some_and(|e| e == "bin")).unwrap();
    let mut bytes = std::fs::read(sandbox.path(&buffer)).unwrap();
    bytes[4] ^= 1;
    std::fs::write(sandbox.path(&buffer), bytes).unwrap();
    assert_eq!(was_run(&batch()).len(), 1);
}
