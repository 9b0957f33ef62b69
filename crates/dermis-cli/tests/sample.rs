//! `dermis sample` and inputs called `sample:NAME`.

mod common;

use common::Place;
use dermis::samples::NAMES;

#[test]
fn every_sample_is_listed_and_inspected() {
    let place = Place::new();
    let list = place.succeed(&["sample", "--list", "--format", "json"]).json();
    let listed: Vec<&str> = list["samples"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(listed, NAMES);
    let text = place.succeed(&["sample", "--list"]).stdout;
    for name in NAMES {
        assert!(text.contains(name), "{name} is not in\n{text}");
        let facts = place.succeed(&["inspect", &format!("sample:{name}"), "--format", "json"]).json();
        assert_eq!(facts["format"], "sample");
        assert!(facts["objects"][0]["points"].as_u64().unwrap() > 100);
    }
}

#[test]
fn a_sample_is_written_as_convert_writes_it() {
    let place = Place::new();
    place.succeed(&["sample", "flag", "-o", "a.npz"]);
    place.succeed(&["convert", "sample:flag", "b.npz"]);
    assert_eq!(std::fs::read(place.path("a.npz")).unwrap(), std::fs::read(place.path("b.npz")).unwrap());
    assert!(place.fail(&["sample", "flag", "-o", "a.npz"]).contains("hint: use --force to replace it"));
    place.succeed(&["sample", "flag", "-o", "a.npz", "--force"]);
}

#[test]
fn the_number_of_threads_does_not_change_the_bytes() {
    let place = Place::new();
    place.succeed(&["convert", "sample:arm", "one.glb", "--threads", "1"]);
    place.succeed(&["convert", "sample:arm", "three.glb", "--threads", "3"]);
    assert_eq!(std::fs::read(place.path("one.glb")).unwrap(), std::fs::read(place.path("three.glb")).unwrap());
}

#[test]
fn a_mistyped_sample_gets_a_suggestion() {
    let place = Place::new();
    let said = place.fail(&["sample", "galop", "-o", "a.npz"]);
    assert!(said.contains("hint: a similar value exists: 'gallop'"), "{said}");
    let said = place.fail(&["convert", "sample:galop", "a.npz"]);
    assert!(said.starts_with("error: there is no sample called 'galop'\n  --> sample:galop\n"), "{said}");
    assert!(said.contains("hint: did you mean 'sample:gallop'?"), "{said}");
    assert_eq!(place.files(), [""; 0]);
}
