//! `dermis light` as a user calls it.

mod common;

use common::Sandbox;

#[test]
fn ambient_occlusion_is_in_the_colours_and_the_transfer_in_an_archive() {
    let sandbox = Sandbox::new();
    let command =
        ["light", "sample:arm", "--rays", "16", "--rank", "3", "--order", "3", "-o", "lit.glb", "--format", "json"];
    let answer = sandbox.succeed(&[&command[..], &["--transfer", "light.npz"]].concat()).json();
    assert_eq!((&answer["frames"], &answer["coefficients"], &answer["rank"]), (&144.into(), &9.into(), &3.into()));
    let errors: Vec<f64> =
        answer["errors"].as_array().unwrap().iter().map(|error| error["error_percent"].as_f64().unwrap()).collect();
    assert!(errors.len() == 3 && errors.windows(2).all(|pair| pair[1] <= pair[0]), "{answer}");
    let object = sandbox.read("lit.glb").objects.remove(0);
    let layout = object.mesh.layout().unwrap();
    let dark = layout.colors[0].iter().filter(|color| color.x < 0.6 * layout.colors[0][0].x.max(0.5)).count();
    assert!(dark > 0 && object.clips.len() == 1);
    assert!(sandbox.path("light.npz").exists());

    let nmf = ["light", "sample:arm", "--rays", "4", "--rank", "2", "--method", "nmf", "--ground", "none"];
    let answer = sandbox.succeed(&[&nmf[..], &["-o", "nmf.glb", "--format", "json"]].concat()).json();
    assert_eq!(answer["errors"].as_array().unwrap().len(), 2);
    assert!(answer["ground"].is_null());
}

#[test]
fn rejects_options_out_of_range() {
    let sandbox = Sandbox::new();
    for (arguments, expected) in [
        (&["--order", "6"][..], "order"),
        (&["--ground", "floor"], "lowest"),
        (&["--sun", "1,0,0"], "--method nmf"),
        (&["--transfer", "light.json"], ".npz"),
        (&["--clip", "sleep"], "sleep"),
    ] {
        let error = sandbox.fail(&[&["light", "sample:arm", "-o", "out.glb"][..], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(!sandbox.path("out.glb").exists());
}
