//! Flesh whose rest shape follows the pose: held poses, folds, and the material of bodies of other sizes.

use dermis_body::BodyMotion;
use dermis_math::progress::NoProgress;
use dermis_mesh::UpAxis;
use dermis_samples::body_model;
use dermis_tissue::layered::{
    BodySimulation, BodySimulationOptions, BuildOptions, LayeredBody, SimulateOptions, YOUNG_MODULUS_PA, build,
    modulus_for_size, simulate,
};
use std::sync::OnceLock;

fn body() -> (LayeredBody, Vec<BodyMotion>) {
    static BODY: OnceLock<(LayeredBody, Vec<BodyMotion>)> = OnceLock::new();
    let made = || {
        let (model, motions) = body_model();
        (build(model, motions.clone(), UpAxis::Y, &BuildOptions::default(), &NoProgress).unwrap().0, motions)
    };
    BODY.get_or_init(made).clone()
}

fn options(follow_pose: bool) -> BodySimulationOptions {
    BodySimulationOptions { follow_pose, ..BodySimulationOptions::default() }
}

/// RMS distance of the skin from the posed skin in metres, and the number of inverted elements, in a held pose.
fn held(follow_pose: bool) -> (f64, usize) {
    let (body, motions) = body();
    let mut simulation = BodySimulation::new(body, options(follow_pose)).unwrap();
    // Arms down, which folds the armpits.
    simulation.start(&motions[1].poses[0], 1.0, &[]).unwrap();
    let pairs = || simulation.skin().iter().zip(simulation.posed_skin());
    let squares: f64 = pairs().map(|(a, b)| f64::from(a.distance_squared(*b))).sum();
    ((squares / simulation.skin().len() as f64).sqrt(), simulation.simulation().inverted_elements())
}

#[test]
fn a_held_pose_hardly_moves_the_skin() {
    let (template, follows) = (held(false), held(true));
    println!("held pose, rest of the template: {:.2} mm rms, {} inverted", 1e3 * template.0, template.1);
    println!("held pose, rest of the pose:     {:.2} mm rms, {} inverted", 1e3 * follows.0, follows.1);
    assert!(follows.0 < 0.25 * template.0 && follows.1 <= template.1, "{template:?} {follows:?}");
}

#[test]
fn clips_have_fewer_inverted_elements_with_the_rest_of_the_pose() {
    let (body, motions) = body();
    let mut sums = [0, 0];
    for motion in &motions {
        for (sum, follow_pose) in sums.iter_mut().zip([false, true]) {
            let options = SimulateOptions { body: options(follow_pose), ..SimulateOptions::default() };
            let short = BodyMotion { poses: motion.poses[..60].to_vec(), ..motion.clone() };
            let recording = simulate(body.clone(), short, options).unwrap();
            (0..60).for_each(|frame| drop(recording.sequence.frame(frame).unwrap()));
            let m = recording.measures();
            println!(
                "{:<14} follow {follow_pose:<5} inverted {:>2} at the end, {:>2} at most; {:.2} mm rms in motion, {:.2} settled; \
                 {:.2} ms per step, {:.2} ms per pose, {:.1} iterations, {:.1} times real time",
                motion.name,
                m.inverted_elements,
                m.max_inverted_elements,
                1e3 * m.displacement_rms,
                1e3 * m.static_displacement_rms,
                m.milliseconds_per_step,
                m.milliseconds_per_pose,
                m.cg_iterations,
                m.real_time_factor
            );
            *sum += m.max_inverted_elements;
        }
    }
    assert!(sums[1] <= sums[0], "{sums:?}");
}

#[test]
fn larger_bodies_are_stiffer() {
    assert_eq!([1.7, 2.39].map(modulus_for_size), [YOUNG_MODULUS_PA; 2]);
    let (large, small) = (modulus_for_size(7.5), modulus_for_size(0.12));
    assert!((large / YOUNG_MODULUS_PA - 9.0).abs() < 1e-4 && (small / YOUNG_MODULUS_PA - 0.1).abs() < 1e-4);
}
