use dermis_mesh::pose::{bake_lazily, pose_into};
use dermis_mesh::{Clip, Joint, SkinWeights};

use super::*;

fn sample(name: &str) -> Object {
    dermis_samples::build(name).unwrap().objects.remove(0)
}

/// Relative volume error of a frame, before and after the correction.
#[derive(Debug)]
struct Drift {
    before: f64,
    after: f64,
}

/// Poses every `step`th frame and corrects it.
fn run(object: &Object, clip: &Clip, options: &VolumeOptions, step: usize) -> Vec<Drift> {
    let layer = VolumeLayer::new(object, options).unwrap();
    let mut work = Workspace::default();
    let frames = (0..clip.frame_count()).step_by(step);
    frames.map(|frame| corrected_frame(object, &layer, clip, frame, &mut work).1).collect()
}

fn corrected_frame(
    object: &Object,
    layer: &VolumeLayer,
    clip: &Clip,
    frame: usize,
    work: &mut Workspace,
) -> (Vec<Vec3>, Drift) {
    let mut positions = vec![Vec3::ZERO; object.mesh.point_count()];
    pose_into(&object.mesh, object.rig.as_ref().unwrap(), clip, frame, &mut positions);
    let volumes = layer.apply(&mut positions, Some(clip.transforms(frame)), 1.0, work);
    let drift = Drift { before: volumes.drift_before(), after: volumes.drift(layer.volume_of(&positions)) };
    (positions, drift)
}

fn worst(frames: &[Drift], drift: impl Fn(&Drift) -> f64) -> f64 {
    frames.iter().map(drift).fold(0.0, f64::max)
}

/// A tube along x, closed unless `open` is set, with a joint at each of `joints`.
fn tube(joints: &[f64], open: bool) -> Object {
    const RINGS: u32 = 41;
    const SIDES: u32 = 16;
    let position = |ring: u32, side: u32| {
        let (sine, cosine) = (std::f64::consts::TAU * f64::from(side) / f64::from(SIDES)).sin_cos();
        DVec3::new(0.1 * f64::from(ring), 0.4 * cosine, 0.4 * sine).as_vec3()
    };
    let mut points: Vec<Vec3> = (0..RINGS).flat_map(|ring| (0..SIDES).map(move |side| position(ring, side))).collect();
    let at = |ring: u32, side: u32| ring * SIDES + side % SIDES;
    let mut triangles: Vec<[u32; 3]> = (0..RINGS - 1)
        .flat_map(|ring| {
            (0..SIDES).map(move |side| [at(ring, side), at(ring, side + 1), at(ring + 1, side + 1), at(ring + 1, side)])
        })
        .flat_map(|[a, b, c, d]| [[a, c, b], [a, d, c]])
        .collect();
    if !open {
        let ends = [points.len() as u32, points.len() as u32 + 1];
        points.extend([Vec3::ZERO, Vec3::X * 4.0]);
        triangles.extend((0..SIDES).flat_map(|side| {
            [[ends[0], at(0, side), at(0, side + 1)], [ends[1], at(RINGS - 1, side + 1), at(RINGS - 1, side)]]
        }));
    }
    let mesh = Arc::new(TriMesh::new(points, triangles).unwrap());
    let smooth = |x: f64, joint: f64| {
        let t = ((x - joint) / 0.8 + 0.5).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    };
    let row = |x: f64| {
        let below: Vec<f64> = joints.iter().map(|&joint| smooth(x, joint)).collect();
        let weight = |k: usize| if k == 0 { 1.0 } else { below[k - 1] } - below.get(k).copied().unwrap_or(0.0);
        (0..=joints.len()).map(|k| (k as u32, weight(k) as f32)).collect::<Vec<_>>()
    };
    let weights = SkinWeights::from_rows(mesh.points().iter().map(|point| row(f64::from(point.x))));
    let bind = |x: f64| DAffine3::from_translation(DVec3::X * x);
    let chain = joints.iter().enumerate().map(|(k, &x)| Joint::at(format!("joint_{k}"), Some(k), bind(x)));
    let joints = std::iter::once(Joint::at("root", None, bind(0.0))).chain(chain).collect();
    let rig = Rig::new(&mesh, joints, weights, vec![]).unwrap();
    Object::of_rig("tube", mesh, rig, vec![])
}

/// Rotates the first joint of the tube by `angles`, one frame each.
fn bending(object: &Object, angles: &[f64]) -> Clip {
    let rig = object.rig.as_ref().unwrap();
    let frame = |&angle: &f64| {
        let mut world: Vec<DAffine3> = Vec::new();
        for (index, joint) in rig.joints().iter().enumerate() {
            let bind = joint.bind();
            let local = joint.parent.map_or(bind, |parent| rig.joints()[parent].inverse_bind * bind);
            let rotation = DAffine3::from_rotation_z(if index == 1 { angle } else { 0.0 });
            world.push(joint.parent.map_or(local, |parent| world[parent] * local) * rotation);
        }
        world
    };
    Clip::new(rig, "bend", 24.0, angles.iter().flat_map(frame).collect(), vec![]).unwrap()
}

#[test]
fn preserves_the_volume_of_arm_and_hand_to_rounding() {
    for name in ["arm", "hand"] {
        let object = sample(name);
        for clip in &object.clips {
            let frames = run(&object, clip, &VolumeOptions::default(), 5);
            let (before, after) = (worst(&frames, |drift| drift.before), worst(&frames, |drift| drift.after));
            println!("sample:{name} {}: {before:.2e} before, {after:.2e} after", clip.name());
            assert!(after <= 1e-6, "{name}: {after:e}");
        }
    }
}

#[test]
fn a_bent_elbow_is_corrected_locally() {
    let object = tube(&[1.0, 2.9], false);
    let clip = bending(&object, &[1.6]);
    let layer = VolumeLayer::new(&object, &VolumeOptions::default()).unwrap();
    let mut work = Workspace::default();
    let (_, frame) = corrected_frame(&object, &layer, &clip, 0, &mut work);
    assert!(frame.before > 0.01 && frame.after < 1e-6);
    let near = |point: &Vec3| (0.3..1.7).contains(&point.x);
    let moved = |wanted: bool| {
        let pairs = object.mesh.points().iter().zip(work.inflation()).filter(|(point, _)| near(point) == wanted);
        pairs.map(|(_, inflation)| inflation.abs()).fold(0.0, f32::max)
    };
    let (at_the_elbow, elsewhere) = (moved(true), moved(false));
    assert!(at_the_elbow > 0.01, "{at_the_elbow}");
    assert!(elsewhere < 1e-4 * at_the_elbow, "{elsewhere} against {at_the_elbow}");
}

#[test]
fn a_muscle_bulges_on_one_side_only() {
    let object = tube(&[2.0], false);
    let effects = effects_from_toml("\"joint_*\" = { effect = \"muscle\", axis = [0, 1, 0] }").unwrap();
    let layer = VolumeLayer::new(&object, &VolumeOptions { effects, ..VolumeOptions::default() }).unwrap();
    let largest = |angle: f64| {
        let mut work = Workspace::default();
        let (_, frame) = corrected_frame(&object, &layer, &bending(&object, &[angle]), 0, &mut work);
        assert!(frame.after < 1e-6);
        let side = |is_muscle: bool| {
            let points = object.mesh.points().iter().zip(work.inflation());
            let on_side = points.filter(|(point, _)| if is_muscle { point.y > 0.0 } else { point.y < -0.05 });
            on_side.map(|(_, inflation)| inflation.abs()).fold(0.0, f32::max)
        };
        (side(true), side(false))
    };
    for angle in [-0.7, 0.7] {
        let (muscle, other) = largest(angle);
        assert!(muscle > 0.01 && other < 1e-6, "{angle}: {muscle} {other}");
    }
    // In a sharp bend the stretch of the muscle is bounded; the body compensates the rest.
    for angle in [-2.0, 1.8] {
        let (muscle, other) = largest(angle);
        assert!(other < 0.1 * muscle, "{angle}: {muscle} {other}");
    }
}

#[test]
fn folds_oscillate_along_the_bone() {
    let object = tube(&[2.0], false);
    let effects = effects_from_toml("\"*\" = { effect = \"folds\", omega = 1.5, sigma = 0.8 }").unwrap();
    let layer = VolumeLayer::new(&object, &VolumeOptions { effects, ..VolumeOptions::default() }).unwrap();
    let mut work = Workspace::default();
    corrected_frame(&object, &layer, &bending(&object, &[1.2]), 0, &mut work);
    let ring = |x: f32| {
        let on_ring = |point: &Vec3| (point.x - x).abs() < 1e-4 && point.y > 0.39;
        let at = object.mesh.points().iter().position(on_ring).unwrap();
        work.inflation()[at]
    };
    // sin² is 0 at the joint and at each multiple of sigma / omega, and 1 halfway between.
    assert!(ring(2.3) > 3.0 * ring(2.0) && ring(2.3) > 1.5 * ring(2.5), "{} {} {}", ring(2.0), ring(2.3), ring(2.5));
}

#[test]
fn the_correction_is_continuous_in_the_pose() {
    let object = tube(&[1.2, 2.8], false);
    for effects in ["", "\"*\" = { effect = \"muscle\", axis = [0, 1, 0] }", "\"*\" = { effect = \"folds\" }"] {
        let options = VolumeOptions { effects: effects_from_toml(effects).unwrap(), ..VolumeOptions::default() };
        let layer = VolumeLayer::new(&object, &options).unwrap();
        let largest_step = |samples: i32| {
            let angles: Vec<f64> = (-samples..=samples).map(|k| 2.0 * f64::from(k) / f64::from(samples)).collect();
            let clip = bending(&object, &angles);
            let mut work = Workspace::default();
            let mut last: Option<Vec<f32>> = None;
            let mut largest = 0.0f32;
            for frame in 0..clip.frame_count() {
                corrected_frame(&object, &layer, &clip, frame, &mut work);
                let now = work.inflation().to_vec();
                if let Some(last) = last.replace(now.clone()) {
                    let steps = last.iter().zip(&now).map(|(a, b)| (a - b).abs());
                    largest = largest.max(steps.fold(0.0, f32::max));
                }
            }
            largest
        };
        // The size of a jump would not depend on the sampling rate. The steps of a continuous motion shrink to a
        // quarter, or slightly less if the steepest part falls between samples.
        let (coarse, fine) = (largest_step(96), largest_step(384));
        assert!(fine < 0.3 * coarse, "{effects}: {fine} at four times the rate, {coarse} before");
    }
}

#[test]
fn a_target_scales_the_whole_body() {
    let object = tube(&[2.0], false);
    let layer = VolumeLayer::new(&object, &VolumeOptions::default()).unwrap();
    let mut positions = object.mesh.points().to_vec();
    let clip = bending(&object, &[0.0]);
    let frame = layer.apply(&mut positions, Some(clip.transforms(0)), 1.1, &mut Workspace::default());
    assert!((layer.volume_of(&positions) / layer.rest_volume() - 1.1).abs() < 1e-6);
    assert!((frame.target / layer.rest_volume() - 1.1).abs() < 1e-12);
}

#[test]
fn profiles_and_painted_attributes_select_the_corrected_points() {
    let mut object = tube(&[2.0], false);
    let painted = object.mesh.points().iter().map(|point| if point.x > 2.55 { 1.0 } else { 0.0 }).collect();
    object.attributes.insert("calf".into(), painted);
    let clip = bending(&object, &[1.4]);
    for effects in ["\"*\" = { attribute = \"calf\" }", "\"*\" = { sigma = 1, profile = { x = [[0.5, 0], [0.8, 1]] } }"]
    {
        let options = VolumeOptions { effects: effects_from_toml(effects).unwrap(), ..VolumeOptions::default() };
        let layer = VolumeLayer::new(&object, &options).unwrap();
        let mut work = Workspace::default();
        let (_, frame) = corrected_frame(&object, &layer, &clip, 0, &mut work);
        assert!(frame.after < 1e-6);
        for (point, inflation) in object.mesh.points().iter().zip(work.inflation()) {
            assert!(point.x > 2.45 || inflation.abs() < 1e-5, "{effects}: {inflation} at {point}");
        }
    }
    let effects = effects_from_toml("\"*\" = { attribute = \"thigh\" }").unwrap();
    let error = VolumeLayer::new(&object, &VolumeOptions { effects, ..VolumeOptions::default() }).unwrap_err();
    assert_eq!(error.details(), ["attributes: calf"]);
}

#[test]
fn rejects_an_open_mesh_or_caps_it() {
    let object = tube(&[2.0], true);
    let error = VolumeLayer::new(&object, &VolumeOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "the mesh is open: it has 2 boundary loops");
    assert!(error.details()[0].starts_with("loop 0: 16 edges starting at point 0, centre (0.0000"));
    let capped = VolumeOptions { cap: true, ..VolumeOptions::default() };
    let frames = run(&object, &bending(&object, &[0.0, 0.7, 1.9]), &capped, 1);
    assert!(worst(&frames, |drift| drift.after) < 1e-6);
    let whole = VolumeOptions { mode: Mode::Global, ..capped };
    let frames = run(&object, &bending(&object, &[0.0, 0.7, 1.9]), &whole, 1);
    assert!(worst(&frames, |drift| drift.before) > 0.01 && worst(&frames, |drift| drift.after) < 1e-6);
}

#[test]
fn fast_mode_removes_most_of_the_drift() {
    let object = tube(&[1.2, 2.8], false);
    let clip = bending(&object, &[0.5, 1.0, 1.5]);
    let fast = VolumeOptions { mode: Mode::Fast, ..VolumeOptions::default() };
    for frame in run(&object, &clip, &fast, 1) {
        assert!(frame.after < 0.1 * frame.before, "{frame:?}");
    }
}

#[test]
fn rejects_a_flat_mesh_and_ignores_singular_transforms() {
    let flat = TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2], [0, 2, 1]]).unwrap();
    let error = VolumeLayer::new(&Object::of_mesh("flat", Arc::new(flat)), &VolumeOptions::default()).unwrap_err();
    assert!(matches!(error, VolumeError::NoVolume { .. }));
    let object = tube(&[2.0], false);
    let layer = VolumeLayer::new(&object, &VolumeOptions::default()).unwrap();
    let mut positions = vec![Vec3::ZERO; object.mesh.point_count()];
    let transforms = [DAffine3::from_scale(DVec3::ZERO); 2];
    layer.apply(&mut positions, Some(&transforms), 1.0, &mut Workspace::default());
    assert!(positions.iter().all(|point| point.is_finite()));
}

#[test]
fn a_stored_layer_reproduces_its_frames() {
    let mut object = tube(&[2.0], false);
    let clip = Arc::new(bending(&object, &[1.5]));
    let effects = effects_from_toml("\"joint*\" = { effect = \"muscle\", axis = [0, 1, 0], strength = 0.5 }").unwrap();
    let options = VolumeOptions { effects, target: "0:1,2:1.1".parse().unwrap(), ..VolumeOptions::default() };
    object.deformers.push(options.clone().into());
    let stored = object.deformers[0].encode();
    assert_eq!(dermis_mesh::Deformer::decode(stored).unwrap(), object.deformers[0]);
    let layer = Arc::new(VolumeLayer::new(&object, &options).unwrap());
    let posed = bake_lazily(&object.mesh, object.rig.as_ref().unwrap(), &clip).unwrap();
    let played = corrected(&layer, &posed, Some(&clip)).unwrap();
    let mut expected = posed.frame(0).unwrap().into_owned();
    layer.apply_separated(&mut expected, Some(clip.transforms(0)), 1.0, &mut Workspace::default());
    assert!(*played.frame(0).unwrap() == expected[..], "other positions than those of the layer");
}
