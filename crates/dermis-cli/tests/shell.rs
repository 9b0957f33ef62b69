//! Behaviour shared by all commands: help, usage errors, pipes, colours, completions, manual pages, progress and
//! Ctrl-C.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use common::{Sandbox, moving_box};
use dermis::prelude::*;

#[test]
fn help_has_examples_and_the_version_is_printed() {
    let sandbox = Sandbox::new();
    for command in [&["--help"][..], &["inspect", "--help"], &["convert", "--help"], &["sample", "--help"]] {
        let help = sandbox.succeed(command).stdout;
        assert!(help.contains("Examples:") && help.contains("Exit codes: 0"), "{help}");
    }
    assert_eq!(sandbox.succeed(&["--version"]).stdout, format!("dermis {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn usage_errors_have_the_form_of_other_errors() {
    let sandbox = Sandbox::new();
    let printed = sandbox.fail(&["convrt", "a", "b"]);
    assert_eq!(
        printed,
        "error: unrecognized subcommand 'convrt'\n  usage: dermis [OPTIONS] <COMMAND>\nhint: a similar subcommand \
         exists: 'convert'\n"
    );
    let printed = sandbox.fail(&["inspect", "a.npz", "--threads", "0"]);
    assert!(printed.starts_with("error: invalid value '0' for '--threads <N>'"), "{printed}");
    let printed = sandbox.fail(&["inspect"]);
    assert!(printed.contains("hint: see dermis inspect --help"), "{printed}");
}

#[test]
fn errors_are_printed_as_json_on_request() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run(&["convrt", "a", "b", "--format=json"]);
    assert_eq!(outcome.code, 2);
    let error = &outcome.json()["error"];
    assert_eq!(error["message"], "unrecognized subcommand 'convrt'");
    assert_eq!(error["hint"], "a similar subcommand exists: 'convert'");
    let outcome = sandbox.run(&["--format", "json", "convert", "missing.obj", "out.npz"]);
    assert_eq!(outcome.code, 2);
    let error = &outcome.json()["error"];
    for key in ["message", "path", "location", "details", "hint"] {
        assert!(error.as_object().unwrap().contains_key(key), "{key}");
    }
    assert_eq!(error["path"], "missing.obj");
}

#[test]
fn completions_and_manual_pages_contain_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.succeed(&["completions", shell]).stdout;
        assert!(script.contains("convert") && script.contains("rest-frame"), "{shell}");
    }
    assert!(sandbox.succeed(&["man"]).stdout.contains(".TH dermis 1"));
    let page = sandbox.succeed(&["man", "convert"]).stdout;
    assert!(page.contains("dermis\\-convert") && page.contains("rest\\-frame"), "{page}");
    let printed = sandbox.fail(&["man", "convrt"]);
    assert!(printed.contains("hint: did you mean 'convert'?"), "{printed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_or_full_stderr_does_not_end_the_work() {
    let sandbox = Sandbox::new();
    for (redirection, output) in [("2>&-", "closed.npz"), ("2>/dev/full", "full.npz")] {
        let line = format!("\"$0\" volume sample:arm -o {output} {redirection}");
        let program = sandbox.command(&[]).get_program().to_owned();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).arg(program).current_dir(sandbox.path("")).stdout(Stdio::null());
        assert!(shell.status().unwrap().success(), "{redirection}");
    }
}

#[test]
fn accepts_a_pipe_that_is_closed_early() {
    let sandbox = Sandbox::new();
    for arguments in [&["man"][..], &["completions", "bash"], &["--help"]] {
        let mut child = sandbox.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut printed = String::new();
        child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
        assert_eq!((child.wait().unwrap().code(), printed.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn colours_are_used_only_on_request() {
    let sandbox = Sandbox::new();
    let printed = |arguments: &[&str]| sandbox.fail(arguments).contains('\x1b');
    assert!(!printed(&["inspect", "missing.obj"]));
    assert!(printed(&["inspect", "missing.obj", "--color", "always"]));
    assert!(!printed(&["inspect", "missing.obj", "--color", "never"]));
}

#[test]
fn quick_work_shows_no_progress() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(5, 24.0));
    assert_eq!(sandbox.succeed(&["convert", "box.npz", "out.npz", "--threads", "1"]).stderr, "");
}

/// A cloth with so many points that its frames take seconds to write as text.
fn heavy() -> Scene {
    const SIDE: u32 = 200;
    let point = |at: u32| Vec3::new((at % SIDE) as f32, (at / SIDE) as f32, 0.123_456_7);
    let quad = |at: u32| [[at, at + 1, at + SIDE], [at + 1, at + SIDE + 1, at + SIDE]];
    let corners = (0..SIDE * (SIDE - 1)).filter(|at| at % SIDE + 1 < SIDE);
    let mesh = TriMesh::new((0..SIDE * SIDE).map(point).collect(), corners.flat_map(quad).collect()).unwrap();
    let frames = (0..150).flat_map(|frame| mesh.points().iter().map(move |&point| point + Vec3::Z * frame as f32));
    let positions = frames.collect();
    let sequence = MeshSequence::new(Arc::new(mesh), positions, 24.0).unwrap();
    Scene { objects: vec![Object::of_sequence("cloth", sequence)], ..Scene::default() }
}

#[cfg(unix)]
#[test]
fn slow_work_reports_progress_and_ctrl_c_leaves_no_files() {
    let sandbox = Sandbox::new();
    sandbox.write("cloth.npz", &heavy());
    let mut child = sandbox
        .command(&["convert", "cloth.npz", "out/cloth.%04d.obj"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = printed
        .find(|line| line.starts_with("writing out/cloth.%04d.obj: "))
        .expect("progress is reported before the work is complete");
    assert!(first.contains(" %") && !first.contains('\x1b'), "{first}");
    let interrupt = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let rest: Vec<String> = printed.collect();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{rest:?}");
    assert!(rest.contains(&"error: stopped; nothing was written".to_owned()), "{rest:?}");
    assert_eq!(sandbox.files(), ["cloth.npz"]);
}
