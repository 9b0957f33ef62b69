//! Packed assets: their error and size.

use dermis::pack::{PackedAsset, compare, pack_frames};
use dermis::prelude::*;

fn packed(input: &impl ToScene, budget: PackBudget) -> PackedAsset {
    dermis::pack(input, &PackOptions { budget, ..default() }).unwrap()
}

fn read_again(packed: &PackedAsset) -> Scene {
    dermis::io::read_bytes("glb", &packed.glb, &ReadOptions::default()).unwrap()
}

/// A skin with corrections, fitted to the sample.
fn skin() -> Scene {
    let sequence = dermis::read("sample:gallop").unwrap().sequence().unwrap();
    let options = FitOptions { bones: Bones::Count(8), corrections: dermis::skin::Corrections::Rank(2), ..default() };
    dermis::fit_skin(&sequence, &options).unwrap().to_scene()
}

#[test]
fn a_skin_is_within_its_budget_and_smaller_with_a_larger_one() {
    let scene = skin();
    let mut before = usize::MAX;
    for percent in [0.1, 1.0, 5.0] {
        let packed = packed(&scene, PackBudget::Error(percent));
        let measures = packed.measures;
        println!("{percent} %: {measures:?} {:?}", packed.packing);
        assert!(measures.distortion_percent <= percent && measures.distortion_percent > 0.3 * percent, "{measures:?}");
        assert!(measures.packed_bytes < before && 3 * measures.packed_bytes < measures.unpacked_bytes, "{measures:?}");
        before = measures.packed_bytes;
        let read = read_again(&packed);
        assert_eq!(read.objects[0].mesh.point_count(), scene.objects[0].mesh.point_count());
        assert_eq!(read.objects[0].clips[0].frame_count(), scene.objects[0].clips[0].frame_count());
        assert_eq!(read.objects[0].clips[0].frame_rate_hz(), scene.objects[0].clips[0].frame_rate_hz());
    }
}

#[test]
fn a_size_limit_is_met_or_rejected() {
    let scene = dermis::read("sample:arm").unwrap();
    let small = packed(&scene, PackBudget::Error(3.0));
    let limit = small.glb.len() * 6 / 5;
    let found = packed(&scene, PackBudget::Size(limit));
    assert!(found.glb.len() <= limit && found.measures.distortion_percent < small.measures.distortion_percent);
    let options = PackOptions { budget: PackBudget::Size(1000), ..default() };
    let error = dermis::pack(&scene, &options).unwrap_err();
    assert!(error.to_string().contains("1000 bytes") && error.hint().is_some(), "{error}");
}

#[test]
fn order_can_be_kept() {
    let scene = dermis::read("sample:arm").unwrap();
    let options = PackOptions { keep_order: true, ..default() };
    let packed = dermis::pack(&scene, &options).unwrap();
    let read = read_again(&packed);
    assert!(read.objects[0].mesh.triangles() == scene.objects[0].mesh.triangles());
    let diagonal = scene.objects[0].mesh.diagonal();
    for (then, now) in scene.objects[0].mesh.points().iter().zip(read.objects[0].mesh.points()) {
        assert!(then.distance(*now) < 0.01 * diagonal, "{then} {now}");
    }
}

#[test]
fn levels_and_slow_motion_are_packed() {
    let scene = dermis::read("sample:arm").unwrap();
    let levels = dermis::make_levels(&scene, &LodOptions { ratios: vec![0.2], ..default() }).unwrap();
    let packed = packed(&levels, PackBudget::Error(1.0));
    let read = read_again(&packed);
    assert_eq!(read.objects[0].levels.len(), 1);
    assert_eq!(read.objects[0].clips.len(), scene.objects[0].clips.len());
    for (then, now) in scene.objects[0].clips.iter().zip(&read.objects[0].clips) {
        assert_eq!((then.frame_count(), then.name()), (now.frame_count(), now.name()));
    }
}

#[test]
fn recorded_frames_and_static_meshes_are_packed() {
    let scene = dermis::read("sample:gallop").unwrap();
    let frames = packed(&scene, PackBudget::Error(1.0));
    let read = read_again(&frames);
    let sequence = read.objects[0].sequence.as_ref().expect("recorded frames");
    assert_eq!(sequence.frame_count(), scene.objects[0].sequence.as_ref().unwrap().frame_count());
    let still = Object::of_mesh("still", Arc::clone(&scene.objects[0].mesh));
    let still = packed(&still, PackBudget::Error(0.1));
    assert!(still.measures.distortion_percent <= 0.1);
    let diagonal = |scene: &Scene| scene.objects[0].mesh.diagonal();
    assert!((diagonal(&read_again(&still)) / diagonal(&scene) - 1.0).abs() < 0.01);
}

/// A tube along y, half of which rotates about its middle in 10 frames.
fn bending_tube() -> MeshSequence {
    const SIDES: usize = 32;
    let ring = |y: usize| {
        (0..SIDES).map(move |side| {
            let angle = std::f32::consts::TAU * side as f32 / SIDES as f32;
            Vec3::new(angle.cos(), 0.2 * y as f32 - 4.0, angle.sin())
        })
    };
    let points: Vec<Vec3> = (0..40).flat_map(ring).collect();
    let corner = |y: usize, side: usize| (y * SIDES + side % SIDES) as u32;
    let quads = (0..39).flat_map(|y| (0..SIDES).map(move |side| (y, side)));
    let triangles = quads.flat_map(|(y, side)| {
        let [a, b, c, d] = [corner(y, side), corner(y, side + 1), corner(y + 1, side + 1), corner(y + 1, side)];
        [[a, b, c], [a, c, d]]
    });
    let mesh = Arc::new(TriMesh::new(points.clone(), triangles.collect()).unwrap());
    let bent = |frame: usize| {
        let bend = dermis::mesh::glam::Quat::from_rotation_x(0.1 * frame as f32);
        points.iter().map(move |point| if point.y > 0.0 { bend * *point } else { *point }).collect::<Vec<_>>()
    };
    MeshSequence::new(mesh, (0..10).flat_map(bent).collect(), 24.0).unwrap()
}

#[test]
fn recorded_frames_become_the_smallest_skin_and_their_error_is_true() {
    let sequence = bending_tube();
    let options = PackOptions { budget: PackBudget::Error(1.0), keep_order: true, ..default() };
    let found = pack_frames(&sequence, &options).unwrap();
    let measures = found.packed.measures;
    println!("{} bones, {} corrections, {measures:?}", found.bones, found.rank);
    assert!(measures.distortion_percent <= 1.0 && found.bones <= 4, "{measures:?}");
    // The stated error is that of the file, relative to the recorded frames.
    let played = read_again(&found.packed).sequence().unwrap();
    let (mut square, mut variation) = (0.0, 0.0);
    for point in 0..sequence.point_count() {
        let recorded = |frame: usize| sequence.frame(frame).unwrap()[point].as_dvec3();
        let mean = (0..10).map(recorded).sum::<dermis::mesh::glam::DVec3>() / 10.0;
        for frame in 0..10 {
            square += played.frame(frame).unwrap()[point].as_dvec3().distance_squared(recorded(frame));
            variation += recorded(frame).distance_squared(mean);
        }
    }
    let percent = 100.0 * (square / variation).sqrt();
    assert!((percent - measures.distortion_percent).abs() < 1e-3, "{percent} {measures:?}");
    let frames = dermis::pack(&sequence, &options).unwrap().measures;
    assert!(2 * measures.packed_bytes < frames.packed_bytes, "{measures:?} {frames:?}");

    let size = PackOptions { budget: PackBudget::Size(measures.packed_bytes + 500), ..options };
    let limited = pack_frames(&sequence, &size).unwrap().packed.measures;
    assert!(limited.packed_bytes <= measures.packed_bytes + 500, "{limited:?}");
    let impossible = PackOptions { budget: PackBudget::Size(100), ..options };
    assert!(pack_frames(&sequence, &impossible).unwrap_err().to_string().contains("100 bytes"));
}

#[test]
fn channels_of_joints_that_rest_and_end_joints_are_dropped() {
    let scene = skin();
    let fitted = dermis::skin::Skin::from_object(&scene.objects[0]).unwrap();
    let with_ends = fitted.to_object_with_ends("horse").unwrap();
    let options = PackOptions { budget: PackBudget::Error(5.0), ..default() };
    let packed = dermis::pack(&with_ends, &options).unwrap();
    assert!(packed.warnings.iter().any(|note| note.message.contains("end joints")), "{:?}", packed.warnings);
    assert_eq!(read_again(&packed).objects[0].rig.as_ref().unwrap().joints().len(), 8);
    assert!(packed.measures.distortion_percent <= 5.0);
}

#[test]
fn rejects_invalid_budgets_and_empty_scenes() {
    let scene = dermis::read("sample:arm").unwrap();
    for percent in [0.0, -1.0, f64::NAN] {
        let options = PackOptions { budget: PackBudget::Error(percent), ..default() };
        assert!(dermis::pack(&scene, &options).unwrap_err().to_string().contains("positive"), "{percent}");
    }
    let error = dermis::pack(&scene, &PackOptions { budget: PackBudget::Error(1e-9), ..default() }).unwrap_err();
    assert!(error.to_string().contains("at least"), "{error}");
    let error = dermis::pack(&Scene::default(), &PackOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no points"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let packed = packed(&scene, PackBudget::Error(5.0));
    let error = dermis::write(folder.path().join("arm.gltf"), &packed).unwrap_err();
    assert!(error.to_string().contains(".glb"), "{error}");
}

#[test]
fn other_forms_of_a_motion_are_measured_at_the_same_distortion() {
    let sequence = dermis::read("sample:gallop").unwrap().sequence().unwrap();
    let coarse = compare(&sequence, 5.0).unwrap();
    let fine = compare(&sequence, 1.0).unwrap();
    for (percent, comparison) in [(5.0, &coarse), (1.0, &fine)] {
        let components = comparison.principal_components;
        println!("{percent} %: {comparison:?}");
        assert!(components.distortion_percent <= 1.001 * percent && components.distortion_percent > 0.5 * percent);
        assert!(components.bytes < comparison.zipped_alembic.bytes);
        assert!(comparison.zipped_alembic.bytes < comparison.raw.bytes);
    }
    assert!(coarse.principal_components.rank < fine.principal_components.rank);
    assert!(coarse.principal_components.bytes < fine.principal_components.bytes);
}
