//! Training of multi-weights from the built-in arm and from small synthetic skeletons.

use std::sync::Arc;

use dermis_math::progress::NoProgress;
use dermis_mesh::volume::volume;
use dermis_mesh::{Clip, Joint, MeshSequence, Object, Rig, SkinWeights, TriMesh};
use dermis_skin::envelope::{
    Examples, ExamplesError, InfluenceMaps, MapOptions, MultiPose, MultiPoser, Precision, TrainError, TrainOptions,
    Trained, Underlying, automatic_influences, one_to_one, same_topology, train, validate,
};
use glam::{DAffine3, DQuat, DVec3, Vec3};

fn arm() -> Object {
    dermis_samples::build("arm").expect("the arm is built in").objects.swap_remove(0)
}

fn examples_of(object: &Object, frames: impl Iterator<Item = usize>) -> Examples {
    let (rig, shapes) = (object.rig.as_ref().unwrap(), object.sequence.as_ref().unwrap());
    let pairs: Vec<(usize, usize)> = frames.map(|frame| (frame, frame)).collect();
    let mut examples = Examples::new(&object.mesh, rig);
    examples.add(rig, &object.clips[0], shapes, &pairs, None).unwrap();
    examples
}

fn learned(object: &Object, examples: &Examples, options: &TrainOptions) -> Trained {
    let rig = object.rig.as_ref().unwrap();
    let maps = InfluenceMaps::from_weights(&object.mesh, rig, rig.weights(), &MapOptions::default());
    train(&object.mesh, rig, &maps, examples, options, &NoProgress).unwrap()
}

fn fixed(smoothness: f64) -> TrainOptions {
    TrainOptions { smoothness: Some(smoothness), ..TrainOptions::default() }
}

/// A tube along x bent by two joints that meet in its middle, and shapes that bulge with the bend. They bulge across
/// the axis of the bend, because a rotation about z does not affect the z of a point (MWE, Eq. 4).
struct Tube {
    object: Object,
    transforms: Vec<DAffine3>,
}

impl Tube {
    const RINGS: usize = 41;
    const AROUND: usize = 8;

    fn new(poses: usize, scale: f32, offset: DVec3) -> Self {
        let angle = |pose: usize| 1.4 * (0.9 * pose as f64).sin();
        Self::posed(&(0..poses).map(angle).collect::<Vec<_>>(), scale, offset)
    }

    fn posed(angles: &[f64], scale: f32, offset: DVec3) -> Self {
        let at = |ring: usize, k: usize| {
            let angle_around = std::f32::consts::TAU * k as f32 / Self::AROUND as f32;
            Vec3::new(ring as f32 / 10.0 - 2.0, 0.3 * angle_around.cos(), 0.3 * angle_around.sin())
        };
        let rest: Vec<Vec3> = (0..Self::RINGS * Self::AROUND).map(|i| at(i / Self::AROUND, i % Self::AROUND)).collect();
        let point = |ring: usize, k: usize| (ring * Self::AROUND + k % Self::AROUND) as u32;
        let quads = (0..(Self::RINGS - 1) * Self::AROUND).map(|i| (i / Self::AROUND, i % Self::AROUND));
        let triangles = quads.flat_map(|(r, k)| {
            let [a, b, c, d] = [point(r, k), point(r, k + 1), point(r + 1, k), point(r + 1, k + 1)];
            [[a, b, c], [b, d, c]]
        });
        let placed = |p: Vec3| scale * p + offset.as_vec3();
        let mesh = TriMesh::new(rest.iter().map(|&p| placed(p)).collect(), triangles.collect()).unwrap();
        let far = |p: &Vec3| (0.5 + 0.8 * p.x).clamp(0.0, 1.0);
        let rows = rest.iter().map(|p| [(0, 1.0 - far(p)), (1, far(p))]);
        let bind = DAffine3::from_translation(offset);
        let joints = vec![Joint::at("near", None, bind), Joint::at("far", Some(0), bind)];
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), vec![]).unwrap();
        let transforms: Vec<DAffine3> =
            angles.iter().flat_map(|&angle| [bind, bind * DAffine3::from_rotation_z(angle)]).collect();
        let clip = Clip::new(&rig, "bend", 24.0, transforms.clone(), vec![]).unwrap();
        let shape = |angle: f64| {
            let bulged = |p: &Vec3| {
                let swell = 1.0 + 0.3 * (1.0 - angle.cos() as f32) * (-4.0 * p.x * p.x).exp();
                let rotation = DQuat::from_rotation_z(angle * f64::from(far(p)));
                placed((rotation * Vec3::new(p.x, swell * p.y, p.z).as_dvec3()).as_vec3())
            };
            rest.iter().map(bulged).collect::<Vec<_>>()
        };
        let mesh = Arc::new(mesh);
        let shapes: Vec<Vec3> = angles.iter().flat_map(|&angle| shape(angle)).collect();
        let sequence = MeshSequence::new(Arc::clone(&mesh), shapes, 24.0).unwrap();
        Self {
            object: Object { sequence: Some(sequence), ..Object::of_rig("tube", mesh, rig, vec![clip]) },
            transforms,
        }
    }

    fn examples(&self) -> Examples {
        examples_of(&self.object, 0..self.transforms.len() / 2)
    }
}

fn errors(object: &Object, trained: &Trained, examples: &Examples) -> (f64, f64) {
    let result = validate(&trained.weights, &trained.linear, &object.mesh, examples, None).unwrap();
    (result.rms_error, result.linear_rms_error)
}

fn posed(object: &Object, trained: &Trained, transforms: &[DAffine3]) -> Vec<Vec3> {
    let joints = object.rig.as_ref().unwrap().joints();
    let poser = MultiPoser::new(&trained.weights, &object.mesh, joints, Precision::Single).unwrap();
    let (mut pose, mut points) = (MultiPose::default(), vec![Vec3::ZERO; object.mesh.point_count()]);
    poser.set_bones(&mut pose, transforms);
    poser.pose_into(&mut pose, &mut points, None);
    points
}

#[test]
fn preserves_volume_in_a_half_turn_in_which_linear_blending_collapses() {
    let arm = arm();
    let all = arm.clips[0].frame_count();
    let model = learned(&arm, &examples_of(&arm, (0..all).step_by(2)), &TrainOptions::default());
    // The half turn of the clip is complete at 2.3 seconds; odd frames are not among the examples.
    let frame = 55;
    let shape = posed(&arm, &model, arm.clips[0].transforms(frame));
    let rig = arm.rig.as_ref().unwrap();
    let linear = dermis_mesh::pose::bake(&arm.mesh, rig, &arm.clips[0]).unwrap();
    let near_wrist = |points: &[Vec3]| {
        let rest = arm.mesh.points();
        let ring: Vec<usize> = (0..rest.len()).filter(|&i| (0.50..0.535).contains(&rest[i].x)).collect();
        let centre = ring.iter().map(|&i| points[i]).sum::<Vec3>() / ring.len() as f32;
        ring.iter().map(|&i| points[i].distance(centre)).sum::<f32>() / ring.len() as f32
    };
    let whole = |points: &[Vec3]| volume(points, arm.mesh.triangles());
    let linear = linear.frame(frame).unwrap();
    let (rest, learned) = (whole(arm.mesh.points()), whole(&shape));
    println!(
        "volume {rest:.6} at rest, {learned:.6} learned, {:.6} linear; wrist {:.4} at rest, {:.4} learned, {:.4} linear",
        whole(&linear),
        near_wrist(arm.mesh.points()),
        near_wrist(&shape),
        near_wrist(&linear)
    );
    assert!((learned / rest - 1.0).abs() < 0.05);
    assert!(near_wrist(&shape) > 0.9 * near_wrist(arm.mesh.points()));
    assert!(near_wrist(&linear) < 0.75 * near_wrist(arm.mesh.points()));
}

#[test]
fn recovers_shapes_between_the_examples() {
    let tube = Tube::new(16, 1.0, DVec3::ZERO);
    let model = learned(&tube.object, &tube.examples(), &TrainOptions::default());
    let between = Tube::posed(&[-1.1, -0.4, 0.2, 0.9, 1.3], 1.0, DVec3::ZERO);
    let (rms, linear) = errors(&tube.object, &model, &between.examples());
    assert!(rms < 0.3 * linear, "{rms} {linear}");
}

#[test]
fn units_locations_and_global_rotations_have_no_effect() {
    let tube = Tube::new(12, 1.0, DVec3::ZERO);
    let plain = learned(&tube.object, &tube.examples(), &TrainOptions::default());
    let (error, _) = errors(&tube.object, &plain, &tube.examples());
    let scaled = Tube::new(12, 100.0, DVec3::ZERO);
    let model = learned(&scaled.object, &scaled.examples(), &TrainOptions::default());
    let (scaled_error, _) = errors(&scaled.object, &model, &scaled.examples());
    assert_eq!(model.smoothness, plain.smoothness);
    assert!((scaled_error / 100.0 - error).abs() < 1e-3 * error, "{scaled_error} {error}");
    let moved = Tube::new(12, 1.0, DVec3::new(8.0, -3.0, 5.0));
    let model = learned(&moved.object, &moved.examples(), &TrainOptions::default());
    let (moved_error, _) = errors(&moved.object, &model, &moved.examples());
    assert!((moved_error - error).abs() < 0.02 * error + 1e-6, "{moved_error} {error}");
    // A character that rotates and moves as a whole keeps its shape.
    let walk = DAffine3::from_rotation_translation(DQuat::from_rotation_y(2.0), DVec3::new(50.0, 0.0, 20.0));
    let there: Vec<DAffine3> = tube.transforms[2..4].iter().map(|joint| walk * *joint).collect();
    let (here, there) = (posed(&tube.object, &plain, &tube.transforms[2..4]), posed(&tube.object, &plain, &there));
    let distances = here.iter().zip(&there).map(|(a, b)| walk.transform_point3(a.as_dvec3()).distance(b.as_dvec3()));
    assert!(distances.fold(0.0, f64::max) < 1e-4);
}

#[test]
fn no_seam_is_visible_at_the_end_of_a_map() {
    let tube = Tube::new(12, 1.0, DVec3::ZERO);
    // Tight maps that end in the middle of the tube: the learned deformation must fade out with them.
    let rig = tube.object.rig.as_ref().unwrap();
    let options = MapOptions { widen: 4, reach: 0.0, max_bones: 12 };
    let maps = InfluenceMaps::from_weights(&tube.object.mesh, rig, rig.weights(), &options);
    let model = train(&tube.object.mesh, rig, &maps, &tube.examples(), &fixed(1e-9), &NoProgress).unwrap();
    // A pose far from all examples.
    let far = Tube::posed(&[1.9], 1.0, DVec3::ZERO);
    let shape = posed(&tube.object, &model, &far.transforms);
    let target = far.object.sequence.as_ref().unwrap().frame(0).unwrap().into_owned();
    let error = |i: usize| shape[i] - target[i];
    let jumps: Vec<f32> = (0..shape.len() - Tube::AROUND).map(|i| error(i).distance(error(i + Tube::AROUND))).collect();
    let largest_error = (0..shape.len()).map(|i| error(i).length()).fold(0.0, f32::max);
    let largest_jump = jumps.iter().copied().fold(0.0, f32::max);
    println!("largest error {largest_error}, largest jump between rings {largest_jump}");
    // The error can be large, but it must change smoothly between neighbours, so that no ring is visible.
    assert!(largest_jump < 0.4 * largest_error && largest_jump < 0.1, "{largest_jump} {largest_error}");
}

#[test]
fn zero_smoothness_fits_closest_and_infinite_smoothness_is_the_linear_skin() {
    let tube = Tube::new(12, 1.0, DVec3::ZERO);
    let error = |smoothness: f64| {
        let model = learned(&tube.object, &tube.examples(), &fixed(smoothness));
        errors(&tube.object, &model, &tube.examples())
    };
    let (exact, smooth, linear) = (error(0.0), error(1e-2), error(f64::INFINITY));
    assert!(exact.0 < smooth.0 && smooth.0 < linear.0, "{exact:?} {smooth:?} {linear:?}");
    assert!((linear.0 - linear.1).abs() < 1e-5, "{linear:?}");
}

#[test]
fn uninformative_examples_give_the_linear_skin() {
    // Shapes unrelated to the poses: noise that no smoothness predicts.
    let tube = Tube::new(24, 1.0, DVec3::ZERO);
    let wave = |k: usize| ((k as f32 * 78.233).sin() * 43758.547).fract() - 0.5;
    let rig = tube.object.rig.as_ref().unwrap();
    let linear = dermis_mesh::pose::bake(&tube.object.mesh, rig, &tube.object.clips[0]).unwrap();
    let noisy = linear.positions().unwrap().iter().enumerate();
    let noisy = noisy.map(|(k, p)| *p + 0.05 * Vec3::new(wave(3 * k), wave(3 * k + 1), wave(3 * k + 2))).collect();
    let shapes = MeshSequence::new(Arc::clone(&tube.object.mesh), noisy, 24.0).unwrap();
    let object = Object { sequence: Some(shapes), ..tube.object.clone() };
    let model = learned(&object, &examples_of(&object, 0..16), &TrainOptions::default());
    let (rms, linear) = errors(&object, &model, &examples_of(&object, 16..24));
    assert!(rms <= 1.02 * linear, "{rms} {linear}, smoothness {}", model.smoothness);
}

#[test]
fn weighted_poses_fit_closer_and_weight_0_is_ignored() {
    let tube = Tube::new(10, 1.0, DVec3::ZERO);
    let (rig, shapes) = (tube.object.rig.as_ref().unwrap(), tube.object.sequence.as_ref().unwrap());
    let pairs = one_to_one(&tube.object.clips[0], shapes).unwrap();
    let pose_error = |weights: Option<&[f64]>| {
        let mut examples = Examples::new(&tube.object.mesh, rig);
        examples.add(rig, &tube.object.clips[0], shapes, &pairs, weights).unwrap();
        let model = learned(&tube.object, &examples, &fixed(1e-3));
        validate(&model.weights, &model.linear, &tube.object.mesh, &examples, None).unwrap().poses[3].rms_error
    };
    let mut weights = [1.0; 10];
    let even = pose_error(None);
    weights[3] = 20.0;
    assert!(pose_error(Some(&weights)) < 0.8 * even);
    weights[3] = 0.0;
    assert!(pose_error(Some(&weights)) > even);
}

#[test]
fn identical_poses_with_different_shapes_are_averaged() {
    let tube = Tube::posed(&[0.0, 0.8, 0.8, -0.9], 1.0, DVec3::ZERO);
    let mut positions = tube.object.sequence.as_ref().unwrap().positions().unwrap().to_vec();
    let points = tube.object.mesh.point_count();
    // The second of the two equal poses is displaced; the mean has half the displacement.
    positions[2 * points..3 * points].iter_mut().for_each(|p| p.y += 0.2);
    let shapes = MeshSequence::new(Arc::clone(&tube.object.mesh), positions, 24.0).unwrap();
    let object = Object { sequence: Some(shapes), ..tube.object.clone() };
    let model = learned(&object, &examples_of(&object, 0..4), &fixed(0.0));
    assert!(model.notes.iter().any(|note| note.message.contains("averaged")), "{:?}", model.notes);
    let shape = posed(&object, &model, &tube.transforms[2..4]);
    let first = tube.object.sequence.as_ref().unwrap().frame(1).unwrap().into_owned();
    let mean_push = shape.iter().zip(&first).map(|(a, b)| a.y - b.y).sum::<f32>() / points as f32;
    assert!((mean_push - 0.1).abs() < 0.02, "{mean_push}");
}

#[test]
fn fits_fewer_poses_than_unknowns_with_the_smallest_weights_and_a_note() {
    let arm = arm();
    let model = learned(&arm, &examples_of(&arm, [0, 19, 55].into_iter()), &TrainOptions::default());
    assert!(model.notes.iter().any(|note| note.message.contains("more unknowns")), "{:?}", model.notes);
    let (rms, linear) = errors(&arm, &model, &examples_of(&arm, [0, 19, 55].into_iter()));
    assert!(rms < linear, "{rms} {linear}");
    let all = model.weights.weights.as_flattened().as_flattened();
    assert!(all.iter().all(|weight| weight.abs() < 10.0));
}

/// The tube with the far joint scaled in every second pose, and the shapes of the rig's own skin.
fn scaled_tube(scale: DVec3) -> Object {
    let tube = Tube::new(12, 1.0, DVec3::ZERO);
    let rig = tube.object.rig.as_ref().unwrap();
    let mut transforms = tube.transforms.clone();
    for joint in transforms.iter_mut().skip(1).step_by(4) {
        *joint *= DAffine3::from_scale(scale);
    }
    let clip = Clip::new(rig, "scaled", 24.0, transforms, vec![]).unwrap();
    let sequence = dermis_mesh::pose::bake(&tube.object.mesh, rig, &clip).unwrap();
    Object { clips: vec![Arc::new(clip)], sequence: Some(sequence), ..tube.object.clone() }
}

#[test]
fn learns_from_scaled_and_mirrored_joints() {
    for scale in [DVec3::splat(2.0), DVec3::new(-1.0, 1.0, 1.0)] {
        let object = scaled_tube(scale);
        let model = learned(&object, &examples_of(&object, 0..12), &TrainOptions::default());
        let (rms, _) = errors(&object, &model, &examples_of(&object, 0..12));
        assert!(rms < 1e-3, "{scale}: {rms}");
    }
}

#[test]
fn ignores_poses_with_a_singular_joint() {
    let object = scaled_tube(DVec3::ZERO);
    let model = learned(&object, &examples_of(&object, 0..12), &TrainOptions::default());
    assert!(model.notes.iter().any(|note| note.message.contains("singular")), "{:?}", model.notes);
    let (rms, _) = errors(&object, &model, &examples_of(&object, (1..12).step_by(2)));
    assert!(rms < 1e-3, "{rms}");
}

#[test]
fn learns_with_every_underlying_skin_and_automatic_maps() {
    let tube = Tube::new(12, 1.0, DVec3::ZERO);
    for underlying in [Underlying::Rigid, Underlying::Rig, Underlying::Best] {
        let model = learned(&tube.object, &tube.examples(), &TrainOptions { underlying, ..fixed(1e-9) });
        let (rms, linear) = errors(&tube.object, &model, &tube.examples());
        assert!(rms < 0.3 * linear, "{underlying:?}: {rms} {linear}");
    }
    let (mesh, rig, examples) = (&tube.object.mesh, tube.object.rig.as_ref().unwrap(), tube.examples());
    let bare = Rig::new(mesh, rig.joints().to_vec(), SkinWeights::from_rows(vec![vec![]; mesh.point_count()]), vec![]);
    let maps = automatic_influences(mesh, bare.as_ref().unwrap(), &examples, &MapOptions::default());
    let model = train(mesh, &bare.unwrap(), &maps, &examples, &fixed(1e-9), &NoProgress).unwrap();
    let (rms, linear) = errors(&tube.object, &model, &examples);
    assert!(rms < 0.3 * linear, "automatic: {rms} {linear}");
}

#[test]
fn weights_do_not_depend_on_the_number_of_threads() {
    let tube = Tube::new(12, 1.0, DVec3::ZERO);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learned(&tube.object, &tube.examples(), &TrainOptions::default()).weights)
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn rejects_mismatched_inputs() {
    let tube = Tube::new(6, 1.0, DVec3::ZERO);
    let (mesh, rig) = (&tube.object.mesh, tube.object.rig.as_ref().unwrap());
    let shapes = tube.object.sequence.as_ref().unwrap();
    let short = shapes.select(0, 4, 1).unwrap();
    assert!(matches!(
        one_to_one(&tube.object.clips[0], &short),
        Err(ExamplesError::Length { poses: 6, shapes: 4, .. })
    ));
    let other = TriMesh::new(mesh.points().to_vec(), mesh.triangles()[1..].to_vec()).unwrap();
    assert!(matches!(same_topology(mesh, &other), Err(ExamplesError::OtherTriangles)));
    let fewer = TriMesh::new(mesh.points()[1..].to_vec(), vec![]).unwrap();
    assert!(matches!(same_topology(mesh, &fewer), Err(ExamplesError::OtherMesh { .. })));
    let mut examples = Examples::new(mesh, rig);
    let added = examples.add(rig, &tube.object.clips[0], shapes, &[(0, 0)], Some(&[f64::NAN]));
    assert!(matches!(added, Err(ExamplesError::PoseWeight { pose: 0, .. })));
    let tight = MapOptions { widen: 0, reach: 0.0, max_bones: 12 };
    let mut rows: Vec<Vec<(u32, f32)>> = rig.weights().rows().map(Iterator::collect).collect();
    rows[7].clear();
    let maps = InfluenceMaps::from_weights(mesh, rig, &SkinWeights::from_rows(rows), &tight);
    let learn = |maps: &InfluenceMaps, examples: &Examples, options: &TrainOptions| {
        train(mesh, rig, maps, examples, options, &NoProgress).unwrap_err()
    };
    assert_eq!(learn(&maps, &tube.examples(), &fixed(0.0)), TrainError::NoInfluence { point: 7 });
    let whole = InfluenceMaps::from_weights(mesh, rig, rig.weights(), &tight);
    assert_eq!(learn(&whole, &Examples::new(mesh, rig), &fixed(0.0)), TrainError::NoPoses);
    assert!(matches!(learn(&whole, &tube.examples(), &fixed(-1.0)), TrainError::Option { .. }));
}
