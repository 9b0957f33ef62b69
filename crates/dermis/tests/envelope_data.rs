//! Errors of multi-weights on recorded data, if it is available.

mod common;

use common::shared_data;
use dermis::io::ReadOptions;
use dermis::math::progress::NoProgress;
use dermis::mesh::{MeshSequence, Object};
use dermis::skin::envelope::{
    Examples, InfluenceMaps, MapOptions, TrainOptions, Trained, Validation, train, trained_range, validate,
};

fn read(name: &str) -> Option<Object> {
    let scene = dermis::io::read(shared_data(name)?.to_str()?, &ReadOptions::default()).unwrap();
    scene.objects.into_iter().next()
}

/// Examples of the chosen frames.
fn examples(rigged: &Object, shapes: &MeshSequence, frames: &[usize]) -> Examples {
    let rig = rigged.rig.as_ref().unwrap();
    let pairs: Vec<(usize, usize)> = frames.iter().map(|&frame| (frame, frame)).collect();
    let mut examples = Examples::new(&rigged.mesh, rig);
    examples.add(rig, &rigged.clips[0], shapes, &pairs, None).unwrap();
    examples
}

fn trained(rigged: &Object, examples: &Examples, options: &TrainOptions) -> Trained {
    let rig = rigged.rig.as_ref().unwrap();
    let maps = InfluenceMaps::from_weights(&rigged.mesh, rig, rig.weights(), &MapOptions::default());
    train(&rigged.mesh, rig, &maps, examples, options, &NoProgress).unwrap()
}

fn split(rigged: &Object, shapes: &MeshSequence, is_test: impl Fn(usize) -> bool) -> (Trained, Validation) {
    let (test, learn): (Vec<usize>, Vec<usize>) = (0..shapes.frame_count()).partition(|&frame| is_test(frame));
    let model = trained(rigged, &examples(rigged, shapes, &learn), &TrainOptions::default());
    let held = examples(rigged, shapes, &test);
    let joints = rigged.rig.as_ref().unwrap().joints();
    let learned = examples(rigged, shapes, &learn);
    let range = trained_range(&model, &model.linear, &rigged.mesh, joints, &learned).unwrap();
    let plain = validate(&model.weights, &model.linear, &rigged.mesh, &held, None).unwrap();
    let result = validate(&model.weights, &model.linear, &rigged.mesh, &held, Some((&range, joints))).unwrap();
    println!("without fading {:.5}, {:?}", plain.rms_error, range.to_record()[1]);
    println!(
        "smoothness {:e}: rms {:.5} max {:.4}, linear rms {:.5} max {:.4}; {:?}",
        model.smoothness,
        result.rms_error,
        result.max_error,
        result.linear_rms_error,
        result.linear_max_error,
        model.seconds
    );
    if let Some(curve) = &model.curve {
        let errors: Vec<String> = curve.errors.iter().map(|(s, e)| format!("{s:.0e} {e:.5}")).collect();
        println!("  {} linear {:.5}", errors.join(", "), curve.linear_error);
    }
    (model, result)
}

#[test]
fn one_default_generalizes_on_every_split_of_the_elastic_bone() {
    let (Some(rigged), Some(recorded)) = (read("rigs/dembones_bone_skeleton.npz"), read("sequences/dembones_bone.npz"))
    else {
        return;
    };
    let shapes = recorded.sequence.unwrap();
    let interpolated = split(&rigged, &shapes, |frame| frame % 4 != 0).1;
    assert!(interpolated.rms_error <= 0.0023);
    let end = split(&rigged, &shapes, |frame| frame >= 300).1;
    assert!(end.rms_error <= 0.0091 && (end.linear_rms_error - 0.0331).abs() < 2e-4);
    let beginning = split(&rigged, &shapes, |frame| frame < 100).1;
    assert!(beginning.rms_error <= 0.0103 && (beginning.linear_rms_error - 0.0211).abs() < 2e-4);
    let all: Vec<usize> = (0..400).collect();
    let all = examples(&rigged, &shapes, &all);
    let exact = trained(&rigged, &all, &TrainOptions { smoothness: Some(0.0), ..TrainOptions::default() });
    let result = validate(&exact.weights, &exact.linear, &rigged.mesh, &all, None).unwrap();
    println!("all frames, smoothness 0: {:.5}, linear {:.5}", result.rms_error, result.linear_rms_error);
    assert!(result.rms_error <= 0.0040 && (result.linear_rms_error - 0.0266).abs() < 1e-4);
}

#[test]
fn halves_the_error_of_the_best_linear_skin_on_new_poses_of_a_body() {
    let Some(rigged) = read("rigs/derived_mpfb_poses.npz") else { return };
    let shapes = rigged.sequence.clone().unwrap();
    // The poses that `suggested_test` marks.
    let (_, result) = split(&rigged, &shapes, |frame| frame >= 75);
    assert!(result.rms_error <= 0.5 * result.linear_rms_error && result.max_error <= result.linear_max_error);
}
