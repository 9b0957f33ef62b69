//! Guarantees of a fit, on motions with a known solution.

mod common;

use std::sync::Arc;

use common::{animation, elbow, moving, tube};
use dermis_math::progress::NoProgress;
use dermis_mesh::{MeshSequence, Object, TriMesh};
use dermis_skin::refine::RefineOptions;
use dermis_skin::{
    BoneModel, Bones, Corrections, Fit, FitError, FitOptions, PoseError, Skin, WeightMethod, fit, fit_weights,
};
use glam::{DVec3, Vec3};

fn with_bones(count: usize) -> FitOptions {
    FitOptions { bones: Bones::Count(count), ..FitOptions::default() }
}

fn paper() -> FitOptions {
    FitOptions { refine: RefineOptions { max_iterations: 0, ..RefineOptions::default() }, ..FitOptions::default() }
}

fn fitted(sequence: &MeshSequence, options: &FitOptions) -> Fit {
    fit(sequence.mesh(), &[animation("a", sequence)], options, &NoProgress).expect("the fit succeeds")
}

/// A tube that bends, twists and swells, so that a few bones cannot reproduce it exactly.
fn worm(frames: usize) -> MeshSequence {
    moving(tube(61), frames, |frame, p| {
        let t = frame as f32 / frames as f32 * std::f32::consts::TAU;
        let bend = 0.4 * (p.x * 1.3 + t).sin();
        let swell = 1.0 + 0.1 * (2.0 * p.x - t).cos();
        Vec3::new(p.x, p.y * swell + bend, p.z * swell + 0.2 * (p.x + 2.0 * t).sin())
    })
}

/// Points that belong to no triangle, and shells that do not touch.
fn scattered() -> MeshSequence {
    let tube = tube(20);
    let mut points = tube.points().to_vec();
    let mut triangles = tube.triangles().to_vec();
    for shell in 1..5u32 {
        let first = points.len() as u32;
        points.extend(tube.points().iter().map(|&p| p + Vec3::Y * 2.0 * shell as f32));
        triangles.extend(tube.triangles().iter().map(|t| t.map(|point| point + first)));
    }
    points.extend([Vec3::splat(9.0), Vec3::splat(-9.0)]);
    let mesh = TriMesh::new(points, triangles).expect("a valid mesh");
    moving(mesh, 8, |frame, p| {
        let shell = (p.y / 2.0).round();
        p + Vec3::X * (0.3 * frame as f32 * shell).sin()
    })
}

#[test]
fn recovers_two_rigid_halves_exactly_with_every_model() {
    let sequence = elbow(12);
    for bone_model in [BoneModel::Rigid, BoneModel::Scaled, BoneModel::Flexible] {
        let fit = fitted(&sequence, &FitOptions { bone_model, ..with_bones(2) });
        assert_eq!(fit.skin.bone_count(), 2);
        // Frames are f32: a millionth of the motion is their rounding.
        assert!(fit.measures.distortion_percent < 1e-2, "{bone_model:?}: {}", fit.measures.distortion_percent);
    }
}

#[test]
fn mean_shift_finds_the_halves_of_an_elbow() {
    let fit = fitted(&elbow(12), &paper());
    assert_eq!(fit.skin.bone_count(), 2);
    assert!(fit.near_rigid_fraction.is_some_and(|fraction| fraction > 0.9));
    assert!(fit.measures.distortion_percent < 2.0, "{}", fit.measures.distortion_percent);
}

#[test]
fn gives_the_requested_number_of_bones() {
    let sequence = worm(16);
    for count in [1, 2, 3, 7, 16, 40] {
        assert_eq!(fitted(&sequence, &with_bones(count)).skin.bone_count(), count);
        let options = FitOptions { bones: Bones::Count(count.min(7)), ..paper() };
        let fit = fitted(&sequence, &options);
        assert!(fit.skin.bone_count() == count.min(7) || !fit.notes.is_empty(), "{count}");
    }
}

#[test]
fn weights_are_convex_sorted_and_few() {
    let fit = fitted(&worm(16), &with_bones(9));
    for row in fit.skin.rig().weights().rows() {
        let weights: Vec<f32> = row.map(|(_, weight)| weight).collect();
        assert!((1..=4).contains(&weights.len()));
        assert!(weights.iter().all(|&weight| weight > 0.0) && weights.is_sorted_by(|a, b| a >= b));
        assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
}

#[test]
fn more_bones_iterations_and_influences_fit_better() {
    let sequence = worm(16);
    let error = |options: &FitOptions| fitted(&sequence, options).measures.distortion_percent;
    assert!(error(&with_bones(12)) < error(&with_bones(6)));
    assert!(error(&with_bones(6)) < error(&FitOptions { bones: Bones::Count(6), ..paper() }));
    assert!(error(&with_bones(8)) < error(&FitOptions { influences: 1, ..with_bones(8) }));
}

#[test]
fn keeps_the_rest_pose_bitwise_if_requested() {
    let sequence = worm(8);
    let refine = RefineOptions { keep_rest: true, ..RefineOptions::default() };
    let fit = fitted(&sequence, &FitOptions { refine, ..with_bones(5) });
    assert_eq!(fit.skin.mesh().points(), sequence.mesh().points());
}

#[test]
fn finds_the_fewest_bones_for_a_distortion() {
    let sequence = worm(16);
    let fit = fitted(&sequence, &FitOptions { bones: Bones::Distortion(5.0), ..FitOptions::default() });
    assert!(fit.measures.distortion_percent <= 5.0);
    let fewer = fitted(&sequence, &with_bones(fit.skin.bone_count() - 1));
    assert!(fewer.measures.distortion_percent > 5.0);
}

#[test]
fn corrections_reduce_the_error_with_each_rank_to_zero() {
    let sequence = worm(10);
    let fit = fitted(&sequence, &FitOptions { corrections: Corrections::Rank(10), ..with_bones(4) });
    let by_rank = &fit.measures.distortion_percent_by_rank;
    assert_eq!(by_rank.len(), fit.skin.rank() + 1);
    assert!(by_rank.is_sorted_by(|a, b| a >= b), "{by_rank:?}");
    // As many corrections as frames are exact except for the rounding to f32.
    assert!(by_rank[fit.skin.rank()] < 1e-3, "{by_rank:?}");
    let cut = fit.skin.with_rank(3).unwrap();
    let measured = dermis_skin::measure(&cut, &[sequence]).unwrap();
    assert_eq!(measured.distortion_percent, by_rank[3]);
}

#[test]
fn uses_the_fewest_corrections_for_a_distortion() {
    let corrections = Corrections::ForDistortion { percent: 1.0, max_rank: 16 };
    let fit = fitted(&worm(16), &FitOptions { corrections, ..with_bones(4) });
    let by_rank = &fit.measures.distortion_percent_by_rank;
    assert!(by_rank[fit.skin.rank()] <= 1.0 && by_rank[fit.skin.rank() - 1] > 1.0, "{by_rank:?}");
}

#[test]
fn corrected_normals_are_closer_than_uncorrected_ones() {
    let sequence = worm(16);
    let error = |rank: usize| {
        let options = FitOptions { corrections: Corrections::Rank(rank), ..with_bones(4) };
        fitted(&sequence, &options).measures.normal_error_rms
    };
    assert!(error(8) < 0.5 * error(0), "{} {}", error(8), error(0));
}

#[test]
fn tsvd_weights_may_be_negative_and_fit_no_worse() {
    let sequence = worm(16);
    let of = |weights: WeightMethod| fitted(&sequence, &FitOptions { weights, bones: Bones::Count(5), ..paper() });
    let nnls = of(WeightMethod::NonNegative);
    let tsvd = of(WeightMethod::Truncated { threshold: 1e-5 });
    let bounded = of(WeightMethod::BoundedNegative { bound: 0.2 });
    assert!(tsvd.measures.distortion_percent <= nnls.measures.distortion_percent * 1.001);
    let least = |fit: &Fit| fit.skin.rig().weights().rows().flatten().map(|(_, w)| w).fold(0.0f32, f32::min);
    assert!(least(&nnls) >= 0.0 && least(&tsvd) < 0.0);
    // Weights are divided by their sum afterwards, which is near 1.
    assert!(least(&bounded) >= -0.25, "{}", least(&bounded));
}

#[test]
fn recovers_the_weights_of_given_bones() {
    let sequence = elbow(12);
    let made = fitted(&sequence, &with_bones(2));
    let found = fit_weights(
        sequence.mesh(),
        &[animation("a", &sequence)],
        made.skin.rig(),
        made.skin.clips(),
        &FitOptions::default(),
        &NoProgress,
    )
    .unwrap();
    assert!(found.measures.distortion_percent < 1e-2);
    assert_eq!(found.skin.mesh().points(), sequence.mesh().points());
    let short = elbow(11);
    let error = fit_weights(
        short.mesh(),
        &[animation("short", &short)],
        made.skin.rig(),
        made.skin.clips(),
        &FitOptions::default(),
        &NoProgress,
    );
    assert!(matches!(error, Err(FitError::ClipLength { found: 12, expected: 11, .. })));
}

#[test]
fn several_animations_share_one_skin() {
    let (bend, wave) = (elbow(6), moving(tube(41), 9, |frame, p| p + Vec3::Y * (p.x + frame as f32).sin()));
    let animations = [animation("bend", &bend), animation("wave", &wave)];
    let fit = fit(bend.mesh(), &animations, &with_bones(8), &NoProgress).unwrap();
    let clips: Vec<(&str, usize)> = fit.skin.clips().iter().map(|clip| (clip.name(), clip.frame_count())).collect();
    assert_eq!(clips, [("bend", 6), ("wave", 9)]);
    assert!(fit.measures.distortion_percent < 5.0, "{}", fit.measures.distortion_percent);
}

#[test]
fn shells_that_do_not_touch_and_points_without_triangles_are_fitted() {
    for (options, limit) in [(with_bones(7), 1.0), (FitOptions::default(), 5.0), (paper(), 10.0)] {
        let fit = fitted(&scattered(), &options);
        assert!(fit.measures.distortion_percent < limit, "{options:?}: {}", fit.measures.distortion_percent);
    }
}

#[test]
fn a_static_input_is_one_bone_without_error() {
    let still = moving(tube(9), 4, |_, p| p);
    for options in [with_bones(1), FitOptions::default(), paper()] {
        let fit = fitted(&still, &options);
        assert_eq!((fit.skin.bone_count(), fit.measures.distortion_percent), (1, 0.0));
        assert!(fit.notes.iter().any(|note| note.message.contains("does not move")));
    }
}

#[test]
fn two_frames_are_enough_and_one_is_not() {
    assert!(fitted(&elbow(2), &with_bones(2)).measures.distortion_percent < 1e-2);
    let one = elbow(1);
    let error = fit(one.mesh(), &[animation("a", &one)], &with_bones(2), &NoProgress);
    assert!(matches!(error, Err(FitError::TooFewFrames { frames: 1 })));
}

#[test]
fn more_bones_than_points_are_rejected() {
    let sequence = moving(tube(2), 4, |frame, p| p * (1.0 + frame as f32));
    let error = fit(sequence.mesh(), &[animation("a", &sequence)], &with_bones(1000), &NoProgress).unwrap_err();
    assert_eq!(error.to_string(), "the number of bones is 1000; it must be 1 to 24, the number of points");
}

#[test]
fn flat_clusters_do_not_give_wild_bones() {
    // A flat sheet that bends: each cluster is flat, so its affine transform is undetermined along the normal.
    let points: Vec<Vec3> = (0..400).map(|k| Vec3::new((k % 20) as f32, (k / 20) as f32, 0.0)).collect();
    let corner = |x: u32, y: u32| y * 20 + x;
    let cell = |x: u32, y: u32| {
        let [a, b, c, d] = [corner(x, y), corner(x + 1, y), corner(x + 1, y + 1), corner(x, y + 1)];
        [[a, b, c], [a, c, d]]
    };
    let triangles = (0..19).flat_map(|y| (0..19).flat_map(move |x| cell(x, y))).collect();
    let sheet = TriMesh::new(points, triangles).unwrap();
    let sequence = moving(sheet, 10, |frame, p| Vec3::new(p.x, p.y, 0.2 * (p.x * 0.5 + frame as f32 * 0.6).sin()));
    for options in [with_bones(6), FitOptions::default(), paper()] {
        let fit = fitted(&sequence, &options);
        for clip in fit.skin.clips() {
            for frame in 0..clip.frame_count() {
                for bone in clip.transforms(frame) {
                    let m = bone.matrix3;
                    let size = m.x_axis.length().max(m.y_axis.length()).max(m.z_axis.length());
                    assert!(size < 3.0, "{size} in {options:?}");
                }
            }
        }
    }
}

#[test]
fn results_are_bitwise_identical_for_any_number_of_threads() {
    let sequence = worm(12);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool
            .install(|| fitted(&sequence, &FitOptions { corrections: Corrections::Rank(3), ..FitOptions::default() }));
        (fit.skin.mesh().points().to_vec(), fit.skin.rig().weights().clone(), Arc::clone(&fit.skin.clips()[0]))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn a_frame_is_posed_by_the_name_or_index_of_its_clip() {
    let (bend, wave) = (elbow(6), moving(tube(41), 9, |frame, p| p + Vec3::Y * (p.x + frame as f32).sin()));
    let skin = fit(bend.mesh(), &[animation("bend", &bend), animation("wave", &wave)], &with_bones(8), &NoProgress);
    let skin = skin.unwrap().skin;
    let posed = skin.pose("wave", 4).unwrap();
    assert_eq!((skin.pose(1, 4).unwrap(), skin.pose("wav", 4).unwrap()), (posed.clone(), posed.clone()));
    let exact = wave.frame(4).unwrap();
    assert!(posed.iter().zip(exact.iter()).all(|(a, b)| a.distance(*b) < 0.2));
    assert!(matches!(skin.pose("run", 0), Err(PoseError::Clip(_))));
    assert!(matches!(skin.pose("bend", 6), Err(PoseError::Frame { frame: 6, count: 6, .. })));
}

#[test]
fn bones_are_bound_inside_the_region_that_they_move() {
    let fit = fitted(&elbow(12), &with_bones(2));
    let joints = fit.skin.rig().joints();
    let hinges = joints.iter().map(|joint| joint.bind().translation.distance(DVec3::X * 2.0));
    // The half that moves is bound at the elbow; the pivot of the other is undetermined and stays at its mean.
    assert!(hinges.fold(f64::INFINITY, f64::min) < 0.1);
    assert!(joints.iter().all(|joint| (0.0..=4.0).contains(&joint.bind().translation.x)));
}

#[test]
fn every_bone_moves_one_connected_part_smoothly() {
    let sequence = worm(16);
    let with = |smoothness: f64| {
        let refine = RefineOptions { smoothness, ..RefineOptions::default() };
        fitted(&sequence, &FitOptions { refine, ..with_bones(9) })
    };
    let (plain, smooth, smoother) = (with(0.0), with(0.5), with(20.0));
    assert_eq!((smooth.quality.weights.parts_per_bone, smooth.quality.weights.stray_weight_percent), (1.0, 0.0));
    assert!(smooth.quality.weights.mean_influences < plain.quality.weights.mean_influences);
    assert!(smoother.quality.weights.weight_difference < smooth.quality.weights.weight_difference);
    assert!(smooth.measures.distortion_percent < 2.0 * plain.measures.distortion_percent);
    assert!(plain.measures.distortion_percent < smoother.measures.distortion_percent);
}

#[test]
fn a_refined_rest_pose_has_no_reversed_triangles() {
    let fit = fitted(&worm(16), &with_bones(4));
    assert_eq!(fit.quality.rest.flipped_rest_triangles, 0);
    assert!(fit.quality.rest.rest_energy_ratio < 1.1, "{}", fit.quality.rest.rest_energy_ratio);
}

#[test]
fn stored_normals_follow_the_frames() {
    // All frames are sheared, so that bones rotate the normals of the rest pose in the wrong direction.
    let sequence = moving(tube(41), 8, |frame, p| p + Vec3::Y * (0.8 * p.z + 0.1 * (p.x + frame as f32).sin()));
    let fit = fitted(&sequence, &with_bones(4));
    let plain = fit.skin.to_object("worm");
    let mesh = Arc::new(plain.mesh.without_layout());
    let plain = Skin::from_object(&Object { mesh, ..plain }).unwrap();
    let unfitted = dermis_skin::measure::shading::normal_error(&plain, &[sequence]).unwrap();
    assert!(fit.quality.normal_error_degrees.skinned < 0.5 * unfitted.skinned, "{unfitted:?}");
}
