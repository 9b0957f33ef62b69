//! FBX files that dermis writes, checked with ufbx and by reading them again.
//!
//! `writes_the_suite` writes the files and the expected positions to the folder `DERMIS_FBX_SUITE` for the checks of
//! `tests/clients`.

mod fbx_suite;
mod scenes;

use std::path::Path;
use std::sync::Arc;

use dermis_io::{ReadOptions, WriteOptions, Written};
use dermis_math::progress::NoProgress;
use dermis_mesh::glam::{DAffine3, DVec3, Vec3};
use dermis_mesh::{Clip, Object, Scene};
use fbx_suite::{Case, cases, expected, pixel};

/// Largest error of a position, as a fraction of the diagonal of the rest pose.
const LIMIT: f64 = 1e-5;

fn write(target: &Path, scene: &Scene, nested_bones: bool) -> Written {
    let options = WriteOptions { nested_bones, ..WriteOptions::default() };
    dermis_io::write(target, scene, &options, &NoProgress).unwrap()
}

fn written(case: &Case) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("case.fbx");
    write(&target, &case.scene, case.nested);
    (folder, target)
}

/// Positions of a mesh at `seconds` as ufbx evaluates skins and blend shapes.
fn in_ufbx(scene: &ufbx::Scene, name: &str, clip: Option<&str>, seconds: f64) -> Vec<DVec3> {
    let stack = clip.map(|clip| scene.anim_stacks.iter().find(|stack| *stack.element.name == *clip).unwrap());
    let anim = stack.map_or(&scene.anim, |stack| &stack.anim);
    let options = ufbx::EvaluateOpts { evaluate_skinning: true, ..ufbx::EvaluateOpts::default() };
    let posed = ufbx::evaluate_scene(scene, anim, seconds, options).unwrap();
    let node = posed.nodes.iter().find(|node| *node.element.name == *name).unwrap();
    let mesh = node.mesh.as_ref().unwrap();
    let vector = |v: &ufbx::Vec3| DVec3::new(v.x, v.y, v.z);
    let positions = mesh.skinned_position.values.iter();
    let place = |p: DVec3| {
        let m = &node.geometry_to_world;
        DVec3::new(
            m.m00 * p.x + m.m01 * p.y + m.m02 * p.z + m.m03,
            m.m10 * p.x + m.m11 * p.y + m.m12 * p.z + m.m13,
            m.m20 * p.x + m.m21 * p.y + m.m22 * p.z + m.m23,
        )
    };
    positions.map(|p| if mesh.skinned_is_local { place(vector(p)) } else { vector(p) }).collect()
}

#[test]
fn ufbx_sees_every_mesh_at_every_key_of_every_take() {
    for case in cases() {
        let (_folder, path) = written(&case);
        let bytes = std::fs::read(&path).unwrap();
        let scene = ufbx::load_memory(&bytes, ufbx::LoadOpts::default()).unwrap();
        assert!(scene.metadata.warnings.is_empty(), "{}: {}", case.name, &*scene.metadata.warnings[0].description);
        assert_eq!((scene.metadata.version, scene.metadata.ascii), (7500, false));
        for object in &case.scene.objects {
            let box_size = f64::from(object.mesh.diagonal());
            for motion in expected(object) {
                for (seconds, frame) in motion.seconds.iter().zip(&motion.frames) {
                    let found = in_ufbx(&scene, &object.name, motion.clip.as_deref(), *seconds);
                    assert_eq!(found.len(), frame.len());
                    let distance = |(a, b): (&DVec3, &Vec3)| a.distance(b.as_dvec3());
                    let worst = found.iter().zip(frame).map(distance).fold(0.0, f64::max) / box_size;
                    assert!(worst <= LIMIT, "{}, {}, {seconds} s: {worst:e}", case.name, object.name);
                }
            }
        }
    }
}

fn distance(a: &Clip, before: &Object, b: &Clip, after: &Object) -> f32 {
    let bake =
        |object: &Object, clip| dermis_mesh::pose::bake(&object.mesh, object.rig.as_ref().unwrap(), clip).unwrap();
    let (a, b) = (bake(before, a), bake(after, b));
    let (a, b) = (a.positions().unwrap(), b.positions().unwrap());
    assert_eq!(a.len(), b.len());
    a.iter().zip(b.iter()).map(|(p, q)| p.distance(*q)).fold(0.0, f32::max)
}

#[test]
fn reading_again_gives_the_same_rigs_clips_and_surfaces() {
    for case in cases() {
        let (_folder, path) = written(&case);
        let back = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(back.objects.len(), case.scene.objects.len(), "{}", case.name);
        let metres = case.scene.units.metres_per_unit.unwrap_or(1.0);
        assert!((back.units.metres_per_unit.unwrap() / metres - 1.0).abs() < 1e-12, "{}", case.name);
        assert_eq!(back.units.up_axis, Some(case.scene.units.up_axis.unwrap_or(dermis_mesh::UpAxis::Y)));
        for (before, after) in case.scene.objects.iter().zip(&back.objects) {
            same_object(case.name, before, after);
        }
    }
}

fn same_object(case: &str, before: &Object, after: &Object) {
    assert_eq!(before.name, after.name, "{case}");
    let (a, b) = (before.mesh.to_polygon_mesh(), after.mesh.to_polygon_mesh());
    assert_eq!((&a.points, &a.polygons), (&b.points, &b.polygons), "{case}");
    assert_eq!(a.uvs.len(), b.uvs.len(), "{case}");
    for (a, b) in a.uvs.iter().zip(&b.uvs) {
        let corner = |data: &dermis_mesh::CornerData<_>, corner: usize| data.values[data.indices[corner] as usize];
        assert!((0..a.indices.len()).all(|k| corner(a, k).abs_diff_eq(corner(b, k), 1e-6)), "{case}: UVs");
    }
    let normal = |data: &dermis_mesh::CornerData<Vec3>, corner: usize| data.values[data.indices[corner] as usize];
    if let (Some(a), Some(b)) = (&a.normals, &b.normals) {
        assert!((0..a.indices.len()).all(|k| normal(a, k).abs_diff_eq(normal(b, k), 1e-6)), "{case}: normals");
    }
    assert_eq!(a.polygon_materials, b.polygon_materials, "{case}");
    for (a, b) in a.materials.iter().zip(&b.materials) {
        assert_eq!((&a.name, a.base_color_texture.is_some()), (&b.name, b.base_color_texture.is_some()));
        assert!((a.roughness - b.roughness).abs() < 1e-5 && (a.metallic - b.metallic).abs() < 1e-5, "{case}: {b:?}");
        assert_eq!(a.emissive, b.emissive, "{case}");
    }
    if let Some(sequence) = &before.sequence {
        let found = after.sequence.as_ref().expect("recorded frames stay recorded frames");
        assert_eq!(found.frame_count(), sequence.frame_count());
        assert_eq!(
            (found.frame_rate_hz(), found.start_seconds()),
            (sequence.frame_rate_hz(), sequence.start_seconds())
        );
    }
    let (Some(rig), Some(found)) = (&before.rig, &after.rig) else {
        assert!(before.rig.is_none() && after.rig.is_none(), "{case}");
        return;
    };
    assert_eq!(rig.joints().len(), found.joints().len(), "{case}");
    assert_eq!(rig.weights().max_influences(), found.weights().max_influences(), "{case}");
    let shapes = |rig: &dermis_mesh::Rig| rig.shapes().iter().map(|shape| shape.name.clone()).collect::<Vec<_>>();
    assert_eq!(shapes(rig), shapes(found), "{case}");
    for (a, b) in rig.joints().iter().zip(found.joints()) {
        // The second of two equal names is numbered.
        assert!(a.name == b.name || b.name == format!("{}_2", a.name), "{case}: {} {}", a.name, b.name);
        assert!(case == "nested_bones" || a.parent == b.parent, "{case}");
        // The scale of a bind transform becomes part of the motion.
        let unscaled = |bind: DAffine3| {
            let (_, rotation, translation) = bind.to_scale_rotation_translation();
            DAffine3::from_rotation_translation(rotation, translation)
        };
        let (bind, found) = (unscaled(a.bind()), b.bind());
        assert!(bind.abs_diff_eq(found, 1e-6 * f64::from(before.mesh.diagonal())), "{case}: {bind} {found}");
    }
    assert_eq!(before.clips.len(), after.clips.len(), "{case}");
    for (a, b) in before.clips.iter().zip(&after.clips) {
        assert_eq!((a.name(), a.frame_count(), a.frame_rate_hz()), (b.name(), b.frame_count(), b.frame_rate_hz()));
        assert!((a.start_seconds() - b.start_seconds()).abs() < 1e-9, "{case}");
        let far = f64::from(distance(a, before, b, after)) / f64::from(before.mesh.diagonal());
        assert!(far <= LIMIT, "{case}: {far:e}");
    }
}

#[test]
fn bones_that_shear_become_rigid_with_the_error_in_a_note() {
    let case = cases().into_iter().find(|case| case.name == "nested_bones").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("rigid.fbx");
    let notes = write(&target, &case.scene, false).notes;
    let printed = notes.iter().find(|note| note.message.contains("rigid bones")).expect("the loss is noted");
    assert!(printed.message.contains("% of the diagonal") && printed.message.contains("nested_bones"), "{printed:?}");
    let back = dermis_io::read(target.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let (before, after) = (&case.scene.objects[0], &back.objects[0]);
    let far = f64::from(distance(&before.clips[0], before, &after.clips[0], after));
    let percent = 100.0 * far / f64::from(before.mesh.diagonal());
    assert!(printed.message.contains(&format!("{percent:.3} %")), "{percent} {printed:?}");
    for frame in 0..after.clips[0].frame_count() {
        for transform in after.clips[0].transforms(frame) {
            let gram = transform.matrix3.transpose() * transform.matrix3;
            assert!(gram.abs_diff_eq(dermis_mesh::glam::DMat3::IDENTITY, 1e-6), "{gram}");
        }
    }
}

#[test]
fn shear_from_rounding_is_not_noted() {
    let case = cases().into_iter().find(|case| case.name == "z_up").unwrap();
    let object = &case.scene.objects[0];
    let (rig, clip) = (object.rig.as_ref().unwrap(), &object.clips[0]);
    let rounded = |transform: &DAffine3| {
        let (_, rotation, translation) = transform.to_scale_rotation_translation();
        let mut rigid = DAffine3::from_rotation_translation(rotation, translation);
        rigid.matrix3.y_axis += 3e-6 * rigid.matrix3.x_axis;
        rigid
    };
    let frames = || 0..clip.frame_count();
    let transforms = frames().flat_map(|frame| clip.transforms(frame).iter().map(rounded)).collect();
    let weights = frames().flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
    let clip = Clip::new(rig, "rounded", clip.frame_rate_hz(), transforms, weights).unwrap();
    let mut scene = case.scene.clone();
    scene.objects[0].clips = vec![Arc::new(clip)];
    let folder = tempfile::tempdir().unwrap();
    let notes = write(&folder.path().join("rounded.fbx"), &scene, false).notes;
    assert!(notes.iter().all(|note| !note.message.contains("rigid bones")), "{notes:?}");
}

#[test]
fn the_bind_pose_has_every_joint_and_mesh() {
    for name in ["end_joints", "one_skeleton_two_meshes", "nested_bones"] {
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        let (_folder, path) = written(&case);
        let scene = ufbx::load_memory(&std::fs::read(path).unwrap(), ufbx::LoadOpts::default()).unwrap();
        assert_eq!(scene.poses.len(), 1);
        let posed = scene.poses[0].bone_poses.len();
        // All nodes except the root of the scene.
        assert_eq!(posed, scene.nodes.len() - 1, "{name}");
    }
    let case = cases().into_iter().find(|case| case.name == "one_skeleton_two_meshes").unwrap();
    let (_folder, path) = written(&case);
    let scene = ufbx::load_memory(&std::fs::read(path).unwrap(), ufbx::LoadOpts::default()).unwrap();
    assert_eq!(scene.nodes.len(), 1 + 2 + 3, "the skeleton is shared");
}

#[test]
fn images_are_embedded_once() {
    let case = cases().into_iter().find(|case| case.name == "textures").unwrap();
    let (_folder, path) = written(&case);
    let bytes = std::fs::read(&path).unwrap();
    let scene = ufbx::load_memory(&bytes, ufbx::LoadOpts::default()).unwrap();
    assert_eq!((scene.videos.len(), scene.textures.len()), (1, 2));
    let back = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let material = &back.objects[0].mesh.layout().unwrap().materials[1];
    assert_eq!(material.base_color_texture.as_ref().unwrap().image.bytes, pixel());
    assert!(material.normal_texture.is_some());
}

#[test]
fn rejects_negative_weights() {
    let mut case = cases().into_iter().find(|case| case.name == "skinned").unwrap();
    let object = &mut case.scene.objects[0];
    let rig = object.rig.as_ref().unwrap();
    let rows = (0..object.mesh.point_count()).map(|_| [(0, 1.25), (2, -0.25)]);
    let weights = dermis_mesh::SkinWeights::from_rows(rows);
    object.rig = Some(Arc::new(dermis_mesh::Rig::new(&object.mesh, rig.joints().to_vec(), weights, vec![]).unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let error = scenes::write(&folder.path().join("skin.fbx"), &case.scene).unwrap_err();
    assert!(error.to_string().contains("negative skin weights"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file remains");
}

#[test]
fn equal_scenes_are_equal_files() {
    let case = cases().into_iter().find(|case| case.name == "skinned_morph").unwrap();
    let [first, second] = [written(&case), written(&case)].map(|(_folder, path)| std::fs::read(path).unwrap());
    assert_eq!(first, second);
}

#[test]
fn hostile_joints_are_written_or_rejected_without_a_panic() {
    // Three joints, one with a bind transform that cannot be inverted.
    let scene = scenes::rigged_scene();
    let folder = tempfile::tempdir().unwrap();
    let written = write(&folder.path().join("rig.fbx"), &scene, false);
    assert!(written.notes.iter().any(|note| note.message.contains("rigid bones")), "{:?}", written.notes);
    write(&folder.path().join("nested.fbx"), &scene, true);
}

#[test]
#[ignore = "writes files for the checks of tests/clients"]
fn writes_the_suite() {
    let folder = std::env::var_os("DERMIS_FBX_SUITE").expect("the folder is in DERMIS_FBX_SUITE");
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).unwrap();
    let mut list = Vec::new();
    for case in cases() {
        let target = folder.join(format!("{}.fbx", case.name));
        let options = WriteOptions { force: true, nested_bones: case.nested };
        dermis_io::write(&target, &case.scene, &options, &NoProgress).unwrap();
        let mut meshes = Vec::new();
        for object in &case.scene.objects {
            for motion in expected(object) {
                let file = format!("{}.{}.f32", case.name, list.len() * 100 + meshes.len());
                let numbers = motion.frames.iter().flatten().flat_map(Vec3::to_array);
                let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
                std::fs::write(folder.join(&file), bytes).unwrap();
                meshes.push(serde_json::json!({
                    "mesh": object.name, "clip": motion.clip, "seconds": motion.seconds, "file": file,
                    "points": object.mesh.point_count(), "box": object.mesh.diagonal(),
                    "faces": object.mesh.triangles(),
                    "influences": object.rig.as_ref().map_or(0, |rig| rig.weights().max_influences()),
                }));
            }
        }
        let units = case.scene.units;
        let up = units.up_axis.map_or("Y", |axis| match axis {
            dermis_mesh::UpAxis::X => "X",
            dermis_mesh::UpAxis::Y => "Y",
            dermis_mesh::UpAxis::Z => "Z",
        });
        list.push(serde_json::json!({
            "name": case.name, "file": target.file_name().unwrap().to_str(), "up": up,
            "metres_per_unit": units.metres_per_unit.unwrap_or(1.0), "motions": meshes,
        }));
    }
    std::fs::write(folder.join("suite.json"), serde_json::to_string(&list).unwrap()).unwrap();
}
