use dermis_mesh::deformer::DeformerError;
use dermis_mesh::deformer::multi_weights::MultiWeightsLayer;
use dermis_mesh::{Deformer, Joint, StoredDeformer, TriMesh};
use glam::{DAffine3, DQuat, DVec3, Vec3};

use super::*;
use crate::envelope::half_error;

const BONES: usize = 7;

fn wave(k: usize, step: f64) -> f64 {
    (k as f64 * step + 0.4).sin()
}

fn vector(k: usize, step: f64) -> DVec3 {
    DVec3::new(wave(k, step), wave(k, 1.7 * step), wave(k, 2.3 * step))
}

/// Points around `offset`, a linear skin with deviations in all twelve weights, some points without their home bone.
fn example(points: usize, offset: DVec3) -> (TriMesh, Vec<Joint>, MultiWeights) {
    let rest: Vec<DVec3> = (0..points).map(|k| offset + 90.0 * vector(k, 0.7)).collect();
    let joints = (0..BONES).map(|k| Joint::at("", None, DAffine3::from_translation(offset + 60.0 * vector(k, 1.3))));
    let mut weights = MultiWeights { offsets: vec![0], ..MultiWeights::default() };
    for (k, rest) in rest.iter().enumerate() {
        let home = k % BONES;
        weights.home.push(home as u32);
        let bones: Vec<usize> = (0..BONES).filter(|bone| (bone + k) % 3 != 0).collect();
        for &bone in &bones {
            let weight = 1.0 / bones.len() as f64;
            // Deviations of the axes that preserve the sums of translations.
            let row = |j: usize| {
                let noise = 2.0 * vector(13 * k + 5 * bone + j, 0.9);
                (weight * *rest + noise).extend(weight).as_vec4().to_array()
            };
            weights.bones.push(bone as u32);
            weights.weights.push([row(0), row(1), row(2)]);
        }
        weights.offsets.push(weights.bones.len() as u32);
    }
    let triangles = (2..points as u32).map(|k| [k - 2, k - 1, k]).collect();
    let mesh = TriMesh::new(rest.iter().map(|p| p.as_vec3()).collect(), triangles).unwrap();
    (mesh, joints.collect(), weights)
}

fn pose_of(joints: &[Joint], amount: f64) -> Vec<DAffine3> {
    let rotation = |k: usize| {
        let rotation = DQuat::from_axis_angle(vector(k, 0.31).normalize(), amount * wave(k, 2.1));
        DAffine3::from_rotation_translation(rotation, 20.0 * amount * vector(k, 0.77))
    };
    joints.iter().enumerate().map(|(k, joint)| rotation(k) * joint.bind()).collect()
}

/// The formula of the documentation of the weights, in f64.
fn reference(weights: &MultiWeights, joints: &[Joint], transforms: &[DAffine3]) -> Vec<DVec3> {
    let skinning = |bone: usize| transforms[bone] * joints[bone].inverse_bind;
    let point = |point: usize| {
        let home = skinning(weights.home[point] as usize);
        let mut sum = DVec3::ZERO;
        for (bone, entry) in weights.row(point) {
            let relative = home.inverse() * skinning(bone as usize);
            for (j, row) in entry.iter().enumerate() {
                let matrix = relative.matrix3.row(j).extend(relative.translation[j]);
                sum[j] += row.iter().zip(matrix.to_array()).map(|(&w, m)| f64::from(w) * m).sum::<f64>();
            }
        }
        home.transform_point3(sum)
    };
    (0..weights.part_count()).map(point).collect()
}

fn posed(poser: &MultiPoser, transforms: &[DAffine3]) -> (Vec<Vec3>, Vec<Vec3>) {
    let (mut pose, mut points) = (MultiPose::default(), vec![Vec3::NAN; poser.point_count()]);
    let mut normals = points.clone();
    poser.set_bones(&mut pose, transforms);
    poser.pose_into(&mut pose, &mut points, Some(&mut normals));
    (points, normals)
}

fn stored(weights: &MultiWeights, precision: Precision) -> StoredDeformer {
    Deformer::from(MultiWeightsLayer::new(weights.clone(), precision).unwrap()).encode()
}

fn read(stored: StoredDeformer) -> Result<MultiWeights, DeformerError> {
    match Deformer::decode(stored)? {
        Deformer::MultiWeights(layer) => Ok(layer.weights().clone()),
        other => panic!("{other:?}"),
    }
}

fn max_distance(a: &[Vec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max)
}

#[test]
fn every_point_of_any_number_of_tasks_matches_the_formula() {
    for points in [1, 5, POINTS_PER_TASK - 1, POINTS_PER_TASK, 2 * POINTS_PER_TASK + 3] {
        let (mesh, joints, weights) = example(points, DVec3::ZERO);
        let poser = MultiPoser::new(&weights, &mesh, &joints, Precision::Single).unwrap();
        let transforms = pose_of(&joints, 1.2);
        let expected = reference(&weights, &joints, &transforms);
        // Precision of f32 for numbers of a few hundred and sums of sixty products.
        assert!(max_distance(&posed(&poser, &transforms).0, &expected) < 2e-4, "{points} points");
    }
}

#[test]
fn points_with_several_parts_are_the_mean_of_their_parts() {
    let (_, joints, mut weights) = example(600, DVec3::ZERO);
    weights.parts = (0..=300).map(|point| 2 * point).collect();
    weights.fractions = (0..300).flat_map(|k| [k as f32 / 299.0, 1.0 - k as f32 / 299.0]).collect();
    let mesh = TriMesh::new(vec![Vec3::ZERO; 300], vec![]).unwrap();
    let transforms = pose_of(&joints, 1.2);
    let parts = reference(&weights, &joints, &transforms);
    let mean = |k: usize| parts[2 * k].lerp(parts[2 * k + 1], f64::from(weights.fractions[2 * k + 1]));
    let expected: Vec<DVec3> = (0..300).map(mean).collect();
    let poser = MultiPoser::new(&weights, &mesh, &joints, Precision::Single).unwrap();
    assert!(max_distance(&posed(&poser, &transforms).0, &expected) < 4e-4);
    let single = read(stored(&weights, Precision::Single)).unwrap();
    assert_eq!(single, weights);
    let half = read(stored(&weights, Precision::Half)).unwrap();
    assert_eq!((half.parts, half.fractions), (weights.parts, weights.fractions));
}

#[test]
fn only_the_final_rounding_is_lost_far_from_the_origin() {
    let offset = DVec3::new(20_000.0, -3000.0, 500.0);
    let (mesh, joints, weights) = example(200, offset);
    let transforms = pose_of(&joints, 0.0);
    let poser = MultiPoser::new(&weights, &mesh, &joints, Precision::Single).unwrap();
    let rest = rest_points(&weights);
    // Half a unit in the last place of f32 at 20000.
    assert!(max_distance(&posed(&poser, &transforms).0, &rest) < 2e-3);
}

#[test]
fn half_precision_is_exact_at_rest_and_close_elsewhere() {
    let (mesh, joints, weights) = example(500, DVec3::new(30.0, 90.0, 0.0));
    let rest = pose_of(&joints, 0.0);
    let moved = pose_of(&joints, 0.8);
    let error = half_error(&weights, &mesh, &joints, [&rest[..]]).unwrap();
    assert!(error.max < 1e-4, "{error:?}");
    let error = half_error(&weights, &mesh, &joints, [&moved[..]]).unwrap();
    // 2⁻¹² of a few weights of some tens, times a rotation of less than one radian.
    assert!(error.rms > 1e-5 && error.rms < 0.02 && error.max < 0.1, "{error:?}");
}

#[test]
fn points_are_bitwise_identical_for_any_number_of_threads() {
    let (mesh, joints, weights) = example(5 * POINTS_PER_TASK + 7, DVec3::ONE);
    let transforms = pose_of(&joints, 0.9);
    for precision in [Precision::Single, Precision::Half] {
        let poser = MultiPoser::new(&weights, &mesh, &joints, precision).unwrap();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| posed(&poser, &transforms))
        };
        assert_eq!(on(1), on(3));
    }
}

#[test]
fn all_kernels_give_the_same_points() {
    let (mesh, joints, weights) = example(100, DVec3::ONE);
    let transforms = pose_of(&joints, 0.9);
    for precision in [Precision::Single, Precision::Half] {
        let poser = MultiPoser::new(&weights, &mesh, &joints, precision).unwrap();
        let (fast, _) = posed(&poser, &transforms);
        let mut pose = MultiPose::default();
        poser.set_bones(&mut pose, &transforms);
        let mut slow = vec![[0.0; 3]; poser.point_count()];
        poser.stream.pose_portably(&pose.pairs, &pose.homes, &mut slow);
        let slow: Vec<DVec3> = slow.into_iter().map(|p| Vec3::from_array(p).as_dvec3()).collect();
        assert!(max_distance(&fast, &slow) < 1e-4);
    }
}

#[test]
fn a_rotated_character_keeps_its_shape() {
    let (mesh, joints, weights) = example(300, DVec3::ZERO);
    let poser = MultiPoser::new(&weights, &mesh, &joints, Precision::Single).unwrap();
    let transforms = pose_of(&joints, 0.7);
    let whole = DAffine3::from_rotation_translation(DQuat::from_rotation_x(2.0), DVec3::new(50.0, -20.0, 9.0));
    let rotated: Vec<DAffine3> = transforms.iter().map(|transform| whole * *transform).collect();
    let (here, normals) = posed(&poser, &transforms);
    let (there, rotated_normals) = posed(&poser, &rotated);
    let expected: Vec<DVec3> = here.iter().map(|p| whole.transform_point3(p.as_dvec3())).collect();
    assert!(max_distance(&there, &expected) < 2e-4);
    let expected: Vec<DVec3> = normals.iter().map(|n| whole.transform_vector3(n.as_dvec3())).collect();
    assert!(max_distance(&rotated_normals, &expected) < 1e-3);
    assert!(normals.iter().all(|normal| (normal.length() - 1.0).abs() < 1e-5));
}

#[test]
fn points_of_a_singular_home_bone_are_finite() {
    let (mesh, joints, weights) = example(60, DVec3::ZERO);
    let poser = MultiPoser::new(&weights, &mesh, &joints, Precision::Half).unwrap();
    let mut transforms = pose_of(&joints, 0.3);
    transforms[2] = DAffine3::from_scale(DVec3::ZERO);
    let (points, normals) = posed(&poser, &transforms);
    assert!(points.iter().chain(&normals).all(|v| v.is_finite()));
    let bounds = points.iter().fold(0.0f32, |largest, p| largest.max(p.abs().max_element()));
    assert!(bounds < 400.0, "{bounds}");
}

#[test]
fn mirrored_and_scaled_bones_follow_the_formula() {
    let (mesh, joints, weights) = example(80, DVec3::ZERO);
    let poser = MultiPoser::new(&weights, &mesh, &joints, Precision::Single).unwrap();
    let mut transforms = pose_of(&joints, 0.5);
    transforms[1] *= DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0));
    transforms[3] *= DAffine3::from_scale(DVec3::splat(0.01));
    let expected = reference(&weights, &joints, &transforms);
    // A bone scaled by a hundredth magnifies relative transforms by a hundred.
    assert!(max_distance(&posed(&poser, &transforms).0, &expected) < 1e-2);
}

#[test]
fn rejects_weights_of_another_mesh_or_rig() {
    let (mesh, joints, weights) = example(20, DVec3::ZERO);
    let (other, ..) = example(21, DVec3::ZERO);
    assert!(MultiPoser::new(&weights, &other, &joints, Precision::Single).is_err());
    assert!(MultiPoser::new(&weights, &mesh, &joints[..3], Precision::Single).is_err());
}

mod stored {
    use dermis_mesh::Values;

    use super::*;

    #[test]
    fn weights_round_trip_through_a_deformer() {
        let (_, _, weights) = example(50, DVec3::ZERO);
        let back = read(stored(&weights, Precision::Single)).unwrap();
        assert_eq!(back, weights);
    }

    #[test]
    fn half_weights_round_trip_with_the_reported_error() {
        let (mesh, joints, weights) = example(50, DVec3::new(0.0, 120.0, 0.0));
        let back = read(stored(&weights, Precision::Half)).unwrap();
        let transforms = pose_of(&joints, 0.8);
        let reported = half_error(&weights, &mesh, &joints, [&transforms[..]]).unwrap();
        let [before, after] = [&weights, &back].map(|weights| {
            let poser = MultiPoser::new(weights, &mesh, &joints, Precision::Single).unwrap();
            posed(&poser, &transforms).0
        });
        let after: Vec<DVec3> = after.iter().map(|p| p.as_dvec3()).collect();
        let found = max_distance(&before, &after);
        assert!((found - reported.max).abs() < 0.1 * reported.max, "{found} is not {}", reported.max);
    }

    #[test]
    fn weights_of_any_size_round_trip_in_half_precision() {
        for scale in [1e-6f32, 1e7] {
            let (_, _, mut weights) = example(30, DVec3::ZERO);
            for row in weights.weights.iter_mut().flatten() {
                row[..3].iter_mut().for_each(|weight| *weight *= scale);
            }
            let back = read(stored(&weights, Precision::Half)).unwrap();
            let (before, after) = (rest_points(&weights), rest_points(&back));
            let error = before.iter().zip(&after).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(error < 1e-3 * f64::from(scale), "{scale}: {error}");
        }
    }

    #[test]
    fn rejects_mismatched_buffers() {
        let (_, _, weights) = example(20, DVec3::ZERO);
        for half in [Precision::Single, Precision::Half] {
            let whole = stored(&weights, half);
            let names: Vec<String> = whole.buffers.keys().cloned().collect();
            for name in names {
                let mut shorter = whole.clone();
                match shorter.buffers.get_mut(&name).unwrap() {
                    Values::F32(values) => values.truncate(7),
                    Values::U32(values) => values.truncate(7),
                    Values::U16(values) => values.truncate(7),
                }
                assert!(read(shorter).is_err(), "{half:?}, {name}");
                let mut missing = whole.clone();
                missing.buffers.remove(&name);
                assert!(read(missing).is_err(), "{half:?}, without {name}");
                let mut wild = whole.clone();
                wild.buffers.insert(name.clone(), Values::U32(vec![u32::MAX; 21]));
                assert!(read(wild).is_err(), "{half:?}, wild {name}");
            }
            let mut later = whole.clone();
            later.settings["version"] = 2.into();
            assert!(matches!(read(later), Err(DeformerError::MultiWeights(MultiWeightsError::Settings(_)))));
        }
    }

    #[test]
    fn half_weights_are_bitwise_identical_when_stored_again() {
        let (_, _, weights) = example(50, DVec3::new(0.0, 120.0, 0.0));
        let first = stored(&weights, Precision::Half);
        assert_eq!(Deformer::decode(first.clone()).unwrap().encode(), first);
    }
}
