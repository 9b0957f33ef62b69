//! `dermis sample` and inputs called `sample:NAME`.

mod common;

use common::Sandbox;
use dermis::samples::NAMES;

#[test]
fn every_sample_is_listed_and_inspected() {
    let sandbox = Sandbox::new();
    let list = sandbox.succeed(&["sample", "--list", "--format", "json"]).json();
    let listed: Vec<&str> = list["samples"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(listed, NAMES);
    let text = sandbox.succeed(&["sample", "--list"]).stdout;
    for name in NAMES {
        assert!(text.contains(name), "{name} is not in\n{text}");
        let facts = sandbox.succeed(&["inspect", &format!("sample:{name}"), "--format", "json"]).json();
        assert_eq!(facts["format"], "sample");
        assert!(facts["objects"][0]["points"].as_u64().unwrap() > 100);
    }
}

#[test]
fn a_sample_is_written_as_convert_writes_it() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["sample", "flag", "-o", "a.npz"]);
    sandbox.succeed(&["convert", "sample:flag", "b.npz"]);
    assert_eq!(std::fs::read(sandbox.path("a.npz")).unwrap(), std::fs::read(sandbox.path("b.npz")).unwrap());
    assert!(sandbox.fail(&["sample", "flag", "-o", "a.npz"]).contains("hint: use --force to replace it"));
    sandbox.succeed(&["sample", "flag", "-o", "a.npz", "--force"]);
}

#[test]
fn the_number_of_threads_does_not_change_the_bytes() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["convert", "sample:arm", "one.glb", "--threads", "1"]);
    sandbox.succeed(&["convert", "sample:arm", "three.glb", "--threads", "3"]);
    assert_eq!(std::fs::read(sandbox.path("one.glb")).unwrap(), std::fs::read(sandbox.path("three.glb")).unwrap());
}

#[test]
fn a_mistyped_sample_has_a_suggestion() {
    let sandbox = Sandbox::new();
    let printed = sandbox.fail(&["sample", "galop", "-o", "a.npz"]);
    assert!(printed.contains("hint: a similar value exists: 'gallop'"), "{printed}");
    let printed = sandbox.fail(&["convert", "sample:galop", "a.npz"]);
    assert!(printed.starts_with("error: there is no sample called 'galop'\n  --> sample:galop\n"), "{printed}");
    assert!(printed.contains("hint: did you mean 'sample:gallop'?"), "{printed}");
    assert_eq!(sandbox.files(), [""; 0]);
}
