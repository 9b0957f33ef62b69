//! `dermis report` and the errors of `dermis view`.

mod common;

use common::{Outcome, Sandbox, box_mesh, moving_box};
use dermis::mesh::glam::DVec3;
use dermis::prelude::*;

/// A box that a joint moves along x like [`moving_box`], displaced upwards by `off` in the last frame.
fn skinned_box(frames: usize, off: f64) -> Scene {
    let mesh = Arc::new(box_mesh());
    let joints = vec![Joint::at("root", None, DAffine3::IDENTITY)];
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows([[(0, 1.0)]; 8]), vec![]).unwrap();
    let at = |frame: usize| DVec3::new(frame as f64, if frame + 1 == frames { off } else { 0.0 }, 0.0);
    let transforms = (0..frames).map(|frame| DAffine3::from_translation(at(frame))).collect();
    let clip = Clip::new(&rig, "move", 24.0, transforms, vec![]).unwrap();
    Scene { objects: vec![Object::of_rig("box", mesh, rig, vec![clip])], ..Scene::default() }
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(4, 24.0));
    sandbox.write("fit.glb", &skinned_box(4, 0.5));
    sandbox
}

/// Returns whether this build has a page; prints a message if not.
fn has_page(outcome: &Outcome) -> bool {
    let missing = outcome.stderr.contains("does not contain the page");
    if missing {
        eprintln!("skipped: the page was not built");
    }
    !missing
}

#[test]
fn a_report_has_the_measures_and_is_one_file() {
    let sandbox = sandbox();
    let asked = ["report", "fit.glb", "--sequence", "box.npz", "-o", "fit.html", "--format", "json"];
    let outcome = sandbox.run(&asked);
    if !has_page(&outcome) {
        return;
    }
    let report = &outcome.json()["report"];
    let fit = &report["fits"][0];
    // Half a unit in one of four frames; the box's diagonal is √3.
    let expected = 100.0 * 0.5 / 3f64.sqrt();
    assert!((fit["measures"]["max_error_percent"].as_f64().unwrap() - expected).abs() < 1e-4, "{fit}");
    assert_eq!((fit["rms_by_frame"].as_array().unwrap().len(), report["points"].as_u64()), (4, Some(8)));
    let html = std::fs::read_to_string(sandbox.path("fit.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("fit.glb") && !html.contains("src=\"http"));
    assert!(sandbox.fail(&asked).contains("already exists"));
}

#[test]
fn the_motion_of_a_report_is_converted_to_the_units_of_the_fits() {
    let sandbox = sandbox();
    let scaled = dermis::io::ReadOptions { scale: Some(100.0), ..dermis::io::ReadOptions::default() };
    let scene = dermis::io::read(sandbox.path("box.npz").to_str().unwrap(), &scaled).unwrap();
    sandbox.write("large.npz", &scene);
    let report = |asked: &[&str]| {
        let outcome =
            sandbox.run(&[&["report", "fit.glb", "-o", "x.html", "--force", "--format", "json"], asked].concat());
        has_page(&outcome)
            .then(|| outcome.json()["report"]["fits"][0]["measures"]["max_error_percent"].as_f64().unwrap())
    };
    let Some(plain) = report(&["--sequence", "box.npz"]) else { return };
    let corrected = report(&["--sequence", "large.npz", "--scale", "0.01"]).unwrap();
    assert!((corrected - plain).abs() < 1e-3, "{corrected} is not {plain}");
}

#[test]
fn rejects_other_extensions_and_notes_missing_frames() {
    let sandbox = sandbox();
    let mut asked = ["report", "fit.glb", "--sequence", "box.npz", "-o", "fit.txt", "--frames", "2:60"];
    let error = sandbox.fail(&asked);
    assert!(error.contains("a report is an HTML file") && error.contains("fit.html"), "{error}");
    asked[5] = "fit.htm";
    let outcome = sandbox.run(&asked);
    if has_page(&outcome) {
        assert!(
            outcome.stdout.contains("the frames 2:60 exceed the 4 existing ones; the 3D view shows 2 to 3"),
            "{}",
            outcome.stdout
        );
    }
}

#[test]
fn rejects_a_fit_of_another_motion() {
    let sandbox = sandbox();
    sandbox.write("long.npz", &moving_box(9, 24.0));
    let outcome = sandbox.run(&["report", "fit.glb", "--sequence", "long.npz", "-o", "fit.html"]);
    if has_page(&outcome) {
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.contains("'fit.glb' has no clip that matches the sequence"), "{}", outcome.stderr);
        assert!(!sandbox.path("fit.html").exists());
    }
}

#[test]
fn rejects_an_unwritable_output_before_serving() {
    let sandbox = sandbox();
    let outcome = sandbox.run(&["view", "fit.glb", "--no-open", "-o", "box.npz"]);
    if has_page(&outcome) {
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.contains("already exists"), "{}", outcome.stderr);
        let error = sandbox.fail(&["view", "fit.glb", "--no-open", "-o", "/proc/x.glb"]);
        assert!(!cfg!(target_os = "linux") || error.contains("cannot be written"), "{error}");
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port().to_string();
        let error = sandbox.fail(&["view", "fit.glb", "--no-open", "--port", &port]);
        assert!(error.contains(&format!("port {port} cannot be used")), "{error}");
    }
}
