//! `dermis collide` as a user calls it.

mod common;

use common::Sandbox;

#[test]
fn two_hands_collide_only_if_they_are_near() {
    let sandbox = Sandbox::new();
    let run = |offset: &str| {
        let clips = ["--clip", "fist", "--other-clip", "wave"];
        let command =
            [&["collide", "sample:hand", "sample:hand", "--format", "json", "--offset", offset][..], &clips].concat();
        sandbox.succeed(&command).json()
    };
    let (near, far) = (run("0.05,0,0"), run("1,0,0"));
    assert_eq!(near["frames"], 48, "{near}");
    assert_eq!(near["contacts"].as_array().unwrap().len(), 48);
    let deepest = &near["contacts"][0]["deepest"];
    assert_eq!(deepest["objects"][0], "hand");
    assert!(deepest["depth"].as_f64().unwrap() > 0.0, "{deepest}");
    assert!(far["contacts"].as_array().unwrap().is_empty(), "{far}");
    let text = sandbox.succeed(&["collide", "sample:hand", "sample:hand", "--offset", "-0.05,0,0"]).stdout;
    assert!(text.contains("with contacts") && text.contains("deepest"), "{text}");
}

#[test]
fn rejects_frames_without_a_skin_and_unknown_clips() {
    let sandbox = Sandbox::new();
    let error = sandbox.fail(&["collide", "sample:gallop", "sample:hand"]);
    assert!(error.contains("no skin") && error.contains("fit a skin"), "{error}");
    let error = sandbox.fail(&["collide", "sample:hand", "sample:hand", "--clip", "sleep"]);
    assert!(error.contains("sleep"), "{error}");
    let error = sandbox.fail(&["collide", "sample:hand", "sample:hand", "--offset", "1,2"]);
    assert!(error.contains("three finite numbers"), "{error}");
}
