//! Rigs as production tools export them, compared with a clean copy of the same character: centimetres and Z up below a
//! node of scale 0.01, several meshes on one skeleton, end joints, rigid parts, and a stored pose that is not the bind
//! pose.

mod gltf_support;

use std::sync::Arc;

use dermis_io::{ReadOptions, WriteOptions};
use dermis_math::progress::NoProgress;
use dermis_mesh::{Clip, Joint, Object, Rig, RigPose, Scene, Shape, SkinWeights, TriMesh, Units, UpAxis};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use gltf_support::{glb, glb_of, json_of, read};

/// Frames of the clips.
const FRAMES: usize = 5;

/// Metres and Y up to the coordinates of a scene.
fn to_scene(units: Units) -> DAffine3 {
    match units.up_axis {
        Some(UpAxis::Z) => DAffine3::from_mat3(100.0 * DMat3::from_cols(DVec3::X, DVec3::Z, DVec3::NEG_Y)),
        _ => DAffine3::IDENTITY,
    }
}

/// A figure of 1.8 m: a body on three joints with an end joint, a visor on two of them, and a rigid hat; two clips.
/// `stored` is the frame of the first clip in which it is stored.
fn figure(units: Units, stored: Option<usize>) -> Scene {
    let scene = to_scene(units);
    let scale = scene.matrix3.x_axis.length();
    let at = |x: f64, y: f64, z: f64| scene.transform_point3(DVec3::new(x, y, z)).as_vec3();
    let heights = [0.9, 1.3, 1.6, 1.8];
    let names = ["mixamorig:Hips", "mixamorig:Spine", "mixamorig:Head", "mixamorig:HeadTop_End"];
    let turn = DQuat::from_mat3(&(scene.matrix3 * scale.recip()));
    let frame = |height: f64, bend: f64| {
        let world = DAffine3::from_rotation_translation(DQuat::from_rotation_z(bend), DVec3::Y * height);
        // A rigid frame in the coordinates of the scene.
        let moved = DAffine3::from_quat(turn) * world * DAffine3::from_quat(turn.inverse());
        DAffine3::from_mat3_translation(moved.matrix3, moved.translation * scale)
    };
    let joint = |k: usize| Joint::at(names[k], k.checked_sub(1), frame(heights[k], 0.0));
    let joints: Arc<Vec<Joint>> = Arc::new((0..4).map(joint).collect());
    let pose = |bend: f64| -> Vec<DAffine3> {
        let mut world = DAffine3::IDENTITY;
        let mut all = Vec::new();
        for k in 0..4 {
            let below = if k == 0 { DAffine3::IDENTITY } else { joints[k - 1].bind() };
            let local = below.inverse() * joints[k].bind();
            let bent = frame(0.0, if k == 3 { 0.0 } else { bend });
            world = world * local * DAffine3::from_mat3(bent.matrix3);
            all.push(world);
        }
        all
    };
    let bends = |amount: f64| -> Vec<DAffine3> { (0..FRAMES).flat_map(|k| pose(amount * k as f64)).collect() };
    let tube = |low: f64, high: f64, radius: f64| {
        let ring = |k: usize| low + (high - low) * k as f64 / 6.0;
        let points = (0..7).flat_map(|k| {
            [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)].map(|(x, z)| at(radius * x, ring(k), radius * z))
        });
        let quad = |k: u32, side: u32| {
            let (a, b) = (4 * k + side, 4 * k + (side + 1) % 4);
            [[a, a + 4, b], [b, a + 4, b + 4]]
        };
        TriMesh::new(points.collect(), (0..6).flat_map(|k| (0..4).flat_map(move |side| quad(k, side))).collect())
            .unwrap()
    };
    let weights = |mesh: &TriMesh, rigid: Option<u32>| {
        let row = |point: &Vec3| {
            let y = scene.inverse().transform_point3(point.as_dvec3()).y;
            let share = ((y - 1.1) / 0.4).clamp(0.0, 1.0) as f32;
            rigid.map_or_else(|| vec![(0, 1.0 - share), (1, share)], |joint| vec![(joint, 1.0)])
        };
        SkinWeights::from_rows(mesh.points().iter().map(row))
    };
    let shared: [Arc<Vec<DAffine3>>; 2] = [Arc::new(bends(0.1)), Arc::new(bends(-0.05))];
    let object = |name: &str, mesh: TriMesh, rigid: Option<u32>, shaped: bool| {
        let offset = scene.transform_vector3(DVec3::new(0.0, 0.0, 0.1)).as_vec3();
        let shape = Shape { name: "belly".into(), offsets: vec![offset; mesh.point_count()], normal_offsets: None };
        let shapes = if shaped { vec![shape] } else { vec![] };
        let rig = Rig::sharing(&mesh, Arc::clone(&joints), weights(&mesh, rigid), shapes).unwrap();
        let shape_weights = |weight: f32| vec![weight; rig.shapes().len()];
        let clips = ["walk", "idle"].iter().zip(&shared).map(|(name, transforms)| {
            let weights = (0..FRAMES).flat_map(|k| shape_weights(0.2 * k as f32)).collect();
            Clip::sharing(&rig, *name, 24.0, Arc::clone(transforms), weights).unwrap()
        });
        let clips = clips.collect();
        let rig = match stored {
            Some(frame) => {
                let transforms = Arc::new(shared[0][4 * frame..4 * frame + 4].to_vec());
                rig.clone().with_stored_pose(RigPose { transforms, shape_weights: shape_weights(0.5) }).unwrap()
            }
            None => rig.clone(),
        };
        Object::of_rig(name, Arc::new(mesh), rig, clips)
    };
    let objects = vec![
        object("Body", tube(0.0, 1.6, 0.2), None, true),
        object("Visor", tube(1.2, 1.5, 0.25), None, false),
        object("Hat", tube(1.6, 1.8, 0.1), Some(2), false),
    ];
    Scene { objects, units, notes: vec![] }
}

const METRES: Units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
const CENTIMETRES: Units = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };

/// The figure in centimetres below a node of scale 0.01, as in a file that does not state its units.
fn mixamo_like(stored: Option<usize>) -> Scene {
    let bytes = glb_of(&figure(CENTIMETRES, stored));
    let mut json = json_of(&bytes);
    json["asset"] = serde_json::json!({ "version": "2.0" });
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    read(&glb(&json, &bytes[28 + length..]))
}

fn assert_near(found: &[Vec3], expected: &[Vec3], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.distance(*expected) < 2e-5, "{what}: {found} is not {expected}");
    }
}

fn assert_same_scene(found: &Scene, expected: &Scene) {
    assert_eq!(found.objects.len(), expected.objects.len());
    for expected in &expected.objects {
        let found = found.objects.iter().find(|object| object.name == expected.name).unwrap();
        let name = &expected.name;
        assert_near(&found.rest_points(), &expected.rest_points(), &format!("{name} at rest"));
        assert_near(found.mesh.points(), expected.mesh.points(), &format!("{name} in its bind pose"));
        let clips = |object: &Object| object.clips.iter().map(|clip| clip.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(clips(found), clips(expected), "{name}");
        let (rig, other) = (found.rig.as_ref().unwrap(), expected.rig.as_ref().unwrap());
        assert_eq!(rig.joints().len(), other.joints().len(), "{name}");
        for joint in other.joints() {
            let own = rig.joints().iter().find(|own| own.name == joint.name).unwrap();
            assert!(own.bind().translation.distance(joint.bind().translation) < 2e-5, "{name}: {}", joint.name);
            assert!((own.bind().matrix3.determinant() - 1.0).abs() < 1e-4, "{name}: {} has a scale", joint.name);
        }
        for (a, b) in found.clips.iter().zip(&expected.clips) {
            for frame in 0..FRAMES {
                let mut points =
                    [vec![Vec3::ZERO; found.mesh.point_count()], vec![Vec3::ZERO; found.mesh.point_count()]];
                dermis_mesh::pose::pose_into(&found.mesh, rig, a, frame, &mut points[0]);
                dermis_mesh::pose::pose_into(&expected.mesh, other, b, frame, &mut points[1]);
                assert_near(&points[0], &points[1], &format!("{name}, frame {frame} of '{}'", a.name()));
            }
        }
    }
}

fn assert_one_skeleton(scene: &Scene) {
    let first = scene.objects[0].rig.as_ref().unwrap();
    for object in &scene.objects {
        let rig = object.rig.as_ref().unwrap();
        assert!(Arc::ptr_eq(rig.shared_joints(), first.shared_joints()), "{} has joints of its own", object.name);
        for (clip, other) in object.clips.iter().zip(&scene.objects[0].clips) {
            assert!(Arc::ptr_eq(clip.shared_transforms(), other.shared_transforms()), "{}", object.name);
        }
    }
}

#[test]
fn centimetres_below_a_scaled_root_match_the_clean_character() {
    for stored in [None, Some(3)] {
        let found = mixamo_like(stored);
        assert_eq!(found.units, METRES);
        assert_same_scene(&found, &figure(METRES, stored));
        assert_one_skeleton(&found);
    }
}

#[test]
fn the_stored_pose_and_the_skeleton_survive_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for stored in [None, Some(3)] {
        let clean = figure(METRES, stored);
        for extension in ["glb", "usda", "usdc"] {
            let path = folder.path().join(format!("figure.{extension}"));
            dermis_io::write(
                &path,
                &mixamo_like(stored),
                &WriteOptions { force: true, ..WriteOptions::default() },
                &NoProgress,
            )
            .unwrap();
            let back = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
            assert_same_scene(&back, &clean);
            assert_one_skeleton(&back);
        }
        // Formats that store one object keep the merged rig; those without rigs keep the stored pose.
        let mut still = mixamo_like(stored);
        let clean = |name: &str| clean.objects.iter().find(|object| object.name == name).unwrap();
        let expected: Vec<Vec3> =
            still.objects.iter().flat_map(|object| clean(&object.name).rest_points().into_owned()).collect();
        still.objects.iter_mut().for_each(|object| object.clips.clear());
        for extension in ["npz", "obj", "abc"] {
            let path = folder.path().join(format!("still.{extension}"));
            dermis_io::write(&path, &still, &WriteOptions { force: true, ..WriteOptions::default() }, &NoProgress)
                .unwrap();
            let back = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
            let found: Vec<Vec3> = back.objects.iter().flat_map(|object| object.rest_points().into_owned()).collect();
            assert_near(&found, &expected, extension);
        }
    }
}

#[test]
fn a_rigid_part_is_a_child_of_its_joint_without_a_skin() {
    let json = json_of(&glb_of(&figure(METRES, Some(2))));
    let nodes = json["nodes"].as_array().unwrap();
    let index = nodes.iter().position(|node| node["name"] == "Hat" && node["mesh"].is_u64()).unwrap();
    assert!(nodes[index]["skin"].is_null());
    let carries = |node: &serde_json::Value| {
        node["children"].as_array().is_some_and(|children| children.iter().any(|child| *child == index))
    };
    assert_eq!(nodes.iter().find(|node| carries(node)).unwrap()["name"], "mixamorig:Head");
    assert_eq!((json["skins"].as_array().unwrap().len(), json["animations"].as_array().unwrap().len()), (1, 2));
}

#[test]
fn a_mesh_bound_in_another_pose_shares_the_joints() {
    let mut scene = figure(METRES, None);
    let visor = &mut scene.objects[1];
    let rig = visor.rig.clone().unwrap();
    let other = |joint: &Joint| Joint {
        inverse_bind: DAffine3::from_rotation_x(0.1 * joint.name.len() as f64) * joint.inverse_bind,
        ..joint.clone()
    };
    let joints = rig.joints().iter().map(other).collect();
    let stored = RigPose { transforms: rig.bind_pose().transforms, shape_weights: vec![] };
    let rig = Rig::new(&visor.mesh, joints, rig.weights().clone(), vec![]).unwrap().with_stored_pose(stored).unwrap();
    visor.rig = Some(Arc::new(rig));
    let bytes = glb_of(&scene);
    assert_eq!(json_of(&bytes)["skins"].as_array().unwrap().len(), 2);
    let back = read(&bytes);
    assert_same_scene(&back, &scene);
    let [body, visor] = [0, 1].map(|k| &scene.objects[k]);
    assert!(back.objects[1].clips[0].moves_joints_like(&back.objects[0].clips[0]), "{} {}", body.name, visor.name);
}

#[test]
fn a_file_without_meshes_is_a_motion() {
    let scene = figure(METRES, Some(1));
    let bytes = glb_of(&scene);
    let mut json = json_of(&bytes);
    for node in json["nodes"].as_array_mut().unwrap() {
        let node = node.as_object_mut().unwrap();
        node.remove("mesh");
        node.remove("skin");
    }
    for with_skins in [true, false] {
        if !with_skins {
            json.as_object_mut().unwrap().remove("skins");
        }
        let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let motion = read(&glb(&json, &bytes[28 + length..]));
        let [object] = &motion.objects[..] else { panic!("{} objects", motion.objects.len()) };
        assert_eq!((object.mesh.point_count(), object.clips.len()), (0, 2));
        let joints = object.rig.as_ref().unwrap().joints();
        let head = joints.iter().position(|joint| joint.name == "mixamorig:Head").unwrap();
        let found = object.clips[0].transforms(3)[head];
        assert!(found.abs_diff_eq(scene.objects[0].clips[0].transforms(3)[2], 1e-5));
        // It is written as a motion, and rejected by formats that do not support it.
        assert_eq!(read(&glb_of(&motion)).objects[0].clips.len(), 2);
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("nothing.obj");
        assert!(dermis_io::write(&target, &motion, &WriteOptions::default(), &NoProgress).is_err());
    }
}
