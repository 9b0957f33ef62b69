//! Usability of fitted rigs, on a generated animal and on motions with a known solution.

mod common;

use common::{animation, elbow, moving, tube};
use dermis_math::progress::NoProgress;
use dermis_mesh::{MeshSequence, TriMesh};
use dermis_skin::measure::bone_condition::bone_condition;
use dermis_skin::refine::RefineOptions;
use dermis_skin::{BoneModel, Bones, Corrections, Fit, FitError, FitOptions, fit, fit_motion, measure};
use glam::{Quat, Vec3};

fn fitted(sequence: &MeshSequence, bones: usize, bone_model: BoneModel) -> Fit {
    let options = FitOptions { bones: Bones::Count(bones), bone_model, ..FitOptions::default() };
    fit(sequence.mesh(), &[animation("a", sequence)], &options, &NoProgress).expect("the fit succeeds")
}

/// Every `step`-th frame of the generated gallop.
fn gallop(step: usize) -> MeshSequence {
    let object = dermis_samples::build("gallop").expect("the sample exists").objects.remove(0);
    let sequence = object.base_motion().expect("its frames can be read").expect("it moves");
    sequence.select(0, sequence.frame_count(), step).expect("a valid selection")
}

/// A tube that bends and twists.
fn worm(frames: usize) -> MeshSequence {
    moving(tube(61), frames, |frame, p| {
        let t = frame as f32 / frames as f32 * std::f32::consts::TAU;
        let bend = 0.4 * (p.x * 1.3 + t).sin();
        Vec3::new(p.x, p.y + bend, p.z + 0.2 * (p.x + 2.0 * t).sin())
    })
}

/// A square of `side` × `side` cells in the plane z = 0, of size 1.
fn sheet(side: u32) -> TriMesh {
    let count = side + 1;
    let point = |k: u32| Vec3::new((k % count) as f32, (k / count) as f32, 0.0) / side as f32;
    let cell = |x: u32, y: u32| {
        let a = y * count + x;
        [[a, a + 1, a + count + 1], [a, a + count + 1, a + count]]
    };
    let triangles = (0..side).flat_map(|y| (0..side).flat_map(move |x| cell(x, y))).collect();
    TriMesh::new((0..count * count).map(point).collect(), triangles).expect("a valid mesh")
}

#[test]
fn bones_of_an_animal_can_be_edited() {
    let sequence = gallop(6);
    for (model, max_fade) in [(BoneModel::Flexible, 0.1), (BoneModel::Rigid, 0.05)] {
        let quality = fitted(&sequence, 20, model).quality;
        let weights = &quality.weights;
        assert!(weights.parts_per_bone <= 3.0 && weights.islands <= 15, "{model:?}: {weights:?}");
        assert!(weights.mean_influences <= 3.0 && weights.weight_difference <= 0.12, "{model:?}: {weights:?}");
        // Eight frames determine the rest pose less than a recorded sequence, for which the limit is 1.05.
        assert!(quality.rest.rest_energy_ratio <= 1.06, "{model:?}: {:?}", quality.rest);
        assert_eq!(quality.rest.flipped_rest_triangles, 0, "{model:?}");
        assert!(quality.crossfade_stretch_percent <= max_fade, "{model:?}: {}", quality.crossfade_stretch_percent);
    }
}

#[test]
fn weights_generalize_to_frames_that_were_not_fitted() {
    let sequence = worm(24);
    let frames = sequence.frame_count();
    let (seen, unseen) = (sequence.select(0, frames, 2).unwrap(), sequence.select(1, frames, 2).unwrap());
    for model in [BoneModel::Flexible, BoneModel::Rigid] {
        let fit = fitted(&seen, 6, model);
        let moved = fit_motion(&fit.skin, &[animation("unseen", &unseen)], model, &NoProgress).unwrap();
        let error = measure(&moved, std::slice::from_ref(&unseen)).unwrap().distortion_percent;
        assert!(error <= 1.1 * fit.measures.distortion_percent, "{model:?}: {error}, {:?}", fit.measures);
    }
}

#[test]
fn the_motion_of_known_bones_is_found_without_an_initial_guess() {
    let fit = fitted(&elbow(12), 2, BoneModel::Rigid);
    // Half a turn and a large distance away from all fitted poses.
    let far = moving(fit.skin.mesh().as_ref().clone(), 5, |frame, p| {
        let bent = if p.x > 2.0 { Vec3::X * 2.0 + Quat::from_rotation_z(0.5) * (p - Vec3::X * 2.0) } else { p };
        Quat::from_rotation_y(3.0) * bent + Vec3::splat(10.0 * frame as f32)
    });
    let moved = fit_motion(&fit.skin, &[animation("far", &far)], BoneModel::Rigid, &NoProgress).unwrap();
    assert_eq!((moved.clips().len(), moved.clips()[0].name()), (1, "far"));
    assert!(measure(&moved, &[far]).unwrap().distortion_percent < 0.1);
    let other = worm(4);
    let error = fit_motion(&fit.skin, &[animation("other", &other)], BoneModel::Rigid, &NoProgress);
    assert!(matches!(error, Err(FitError::OtherMesh { .. })));
}

#[test]
fn bones_of_thin_regions_keep_their_shape() {
    // A thin sheet with noise across it: the stretch of a bone along the normal is noise relative to the thickness.
    let noise = |point: f32, frame: f32| ((point * 12.9898 + frame * 78.233).sin() * 43_758.547).fract() - 0.5;
    let sequence = moving(sheet(24), 10, |frame, p| {
        let t = 0.6 * frame as f32;
        let wave = 0.1 * (4.0 * p.x + t).sin();
        p + Vec3::Z * (wave + 0.002 * noise(p.x * 97.0 + p.y, frame as f32)) + Vec3::X * (0.1 * t * p.y)
    });
    for bones in [4, 12] {
        let condition = bone_condition(&fitted(&sequence, bones, BoneModel::Flexible).skin);
        assert!(condition.max_condition <= 8.0 && condition.reflected_percent == 0.0, "{bones}: {condition:?}");
    }
}

#[test]
fn parts_that_rotate_alike_but_drift_apart_are_different_bones() {
    // A long beam that bends slightly everywhere: all rotations are within the tolerance of one mode, the ends are far apart.
    let length = 6.0;
    let sequence = moving(tube(61), 12, |frame, p| {
        let curvature = 0.5 / length * (0.5 * frame as f32).sin();
        let angle = curvature * p.x;
        let spine = Vec3::new(p.x, 0.5 * curvature * p.x * p.x, 0.0);
        spine + Quat::from_rotation_z(angle) * Vec3::new(0.0, p.y, p.z)
    });
    let refine = RefineOptions { max_iterations: 0, ..RefineOptions::default() };
    let of = |bone_model| {
        let options = FitOptions { refine, bone_model, ..FitOptions::default() };
        fit(sequence.mesh(), &[animation("a", &sequence)], &options, &NoProgress).unwrap()
    };
    let (rigid, flexible) = (of(BoneModel::Rigid), of(BoneModel::Flexible));
    assert!(rigid.skin.bone_count() > 1, "{}", rigid.measures.distortion_percent);
    assert!(rigid.measures.distortion_percent < 12.0, "{}", rigid.measures.distortion_percent);
    assert!(flexible.measures.distortion_percent < rigid.measures.distortion_percent);
}

#[test]
fn corrections_improve_the_normals_of_a_refined_fit() {
    let sequence = gallop(3);
    let of = |max_iterations: usize| {
        let refine = RefineOptions { max_iterations, ..RefineOptions::default() };
        let options = FitOptions { refine, corrections: Corrections::Rank(5), ..FitOptions::default() };
        fit(sequence.mesh(), &[animation("a", &sequence)], &options, &NoProgress).unwrap()
    };
    let (plain, refined) = (of(0), of(RefineOptions::default().max_iterations));
    let (unrefined_error, error) = (plain.measures.normal_error_rms, refined.measures.normal_error_rms);
    assert!(error <= unrefined_error, "{error} instead of {unrefined_error}");
    assert!(refined.measures.distortion_percent <= plain.measures.distortion_percent);
}
