//! Alembic: round trips, and files as other programs write them.

mod common;
mod ogawa;

use std::ops::ControlFlow;
use std::sync::Arc;

use dermis_io::{ErrorKind, ReadOptions, WriteOptions, read, read_bytes};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::{Clip, Joint, MeshSequence, Object, Rig, SkinWeights, TriMesh, UpAxis};
use glam::{DAffine3, DVec3, Vec3, Vec4};
use ogawa::shapes::{prism, read_back, scene_of, wobbling, written};
use ogawa::{ACYCLIC, F32, I32, U32, archive, array, compound, floats, integers, scalar, tetrahedron, transform};

const TRANSLATE: u8 = 0x10;
const SCALE: u8 = 0x00;
const ROTATE_Z: u8 = 0x60;
const MATRIX: u8 = 0x30;

fn assert_same_motion(found: &MeshSequence, expected: &MeshSequence) {
    assert_eq!(found.frame_count(), expected.frame_count());
    for frame in 0..expected.frame_count() {
        assert_eq!(found.frame(frame).unwrap(), expected.frame(frame).unwrap(), "frame {frame}");
    }
}

fn volume(mesh: &TriMesh) -> f32 {
    let corner = |index: u32| mesh.points()[index as usize];
    mesh.triangles().iter().map(|&[a, b, c]| corner(a).dot(corner(b).cross(corner(c))) / 6.0).sum()
}

#[test]
fn a_static_mesh_keeps_polygons_seams_colours_and_materials() {
    let mesh = Arc::new(prism().into_tri_mesh().unwrap());
    let mut object = Object::of_mesh("/body/bodyShape", Arc::clone(&mesh));
    object.attributes.insert("weight".into(), (0..12).map(|k| k as f32).collect());
    let scene = read_back(&written(&scene_of(vec![object.clone()])));
    let found = &scene.objects[0];
    assert_eq!(found.name, "/body/bodyShape");
    assert!(found.sequence.is_none());
    assert_eq!(found.attributes, object.attributes);
    assert_eq!(found.mesh.points(), mesh.points());
    assert_eq!(found.mesh.triangles(), mesh.triangles());
    let (found, expected) = (found.mesh.layout().unwrap(), mesh.layout().unwrap());
    assert_eq!((&found.vertex_points, &found.polygons), (&expected.vertex_points, &expected.polygons));
    assert_eq!((&found.normals, &found.colors), (&expected.normals, &expected.colors));
    assert_eq!((&found.materials, &found.triangle_materials), (&expected.materials, &expected.triangle_materials));
    // These UVs are exact after two flips; others would have a rounding error.
    assert_eq!(found.uvs, expected.uvs);
}

#[test]
fn frames_rate_and_start_are_kept_exactly() {
    for (rate, start) in [(24.0, 0.0), (23.976, 1.5), (30000.0 / 1001.0, -0.25), (12.5, 41.6)] {
        let motion = wobbling(9, rate, start);
        let scene = read_back(&written(&scene_of(vec![Object::of_sequence("body", motion.clone())])));
        let found = scene.objects[0].sequence.as_ref().unwrap();
        assert_eq!((found.frame_rate_hz(), found.start_seconds()), (rate, start));
        assert_eq!(scene.objects[0].name, "/body/bodyShape");
        assert_same_motion(found, &motion);
        assert_eq!(found.mesh().triangles(), motion.mesh().triangles());
        assert!(scene.notes.is_empty(), "{:?}", scene.notes);
    }
}

#[test]
fn repeated_frames_are_stored_once() {
    let rest = prism().into_tri_mesh().unwrap();
    let shape = |k: usize| rest.points().iter().map(move |point| point + Vec3::X * k as f32);
    // Held at both ends and in between, and returning to an earlier shape.
    let order = [0, 0, 0, 1, 1, 2, 0, 1, 1, 1];
    let positions: Vec<Vec3> = order.iter().flat_map(|&k| shape(k)).collect();
    let motion = MeshSequence::new(Arc::new(rest.without_layout()), positions, 24.0).unwrap();
    let bytes = written(&scene_of(vec![Object::of_sequence("body", motion.clone())]));
    assert_same_motion(read_back(&bytes).objects[0].sequence.as_ref().unwrap(), &motion);
    let numbers: Vec<f32> = rest.points().iter().flat_map(Vec3::to_array).collect();
    let block = floats(&numbers);
    assert_eq!(bytes.windows(block.len()).filter(|window| *window == block).count(), 1);
}

#[test]
fn a_rest_pose_that_is_not_a_frame_is_kept() {
    let motion = wobbling(4, 24.0, 0.0);
    let late = motion.select(1, 4, 1).unwrap();
    let scene = read_back(&written(&scene_of(vec![Object::of_sequence("body", late.clone())])));
    let found = &scene.objects[0];
    assert_eq!(found.mesh.points(), motion.mesh().points());
    assert_eq!(found.mesh.layout().unwrap().normals, motion.mesh().layout().unwrap().normals);
    assert_same_motion(found.sequence.as_ref().unwrap(), &late);
}

#[test]
fn several_objects_keep_paths_and_order_and_equal_names_are_numbered() {
    let object = |name: &str| Object::of_mesh(name, Arc::new(prism().into_tri_mesh().unwrap()));
    let names = ["/a/b/one", "/a/b/two", "/a/three", "four", "four", "x/y", "", "/five"];
    let mut objects: Vec<Object> = names.iter().map(|name| object(name)).collect();
    objects.push(Object::of_sequence("/a/moving", wobbling(3, 25.0, 0.0)));
    objects.push(Object::of_sequence("/a/slow", wobbling(3, 5.0, 2.0)));
    let bytes = written(&scene_of(objects));
    let found: Vec<String> = read_back(&bytes).objects.into_iter().map(|object| object.name).collect();
    let expected = [
        "/a/b/one", "/a/b/two", "/a/three", "/a/moving", "/a/slow", "/four/fourShape", "/four/fourShape_1",
        "/x_y/x_yShape", "/object/objectShape", "/five/fiveShape",
    ];
    assert_eq!(found, expected);
    let scene = read_back(&bytes);
    let rates: Vec<f64> =
        scene.objects.iter().filter_map(|object| Some(object.sequence.as_ref()?.frame_rate_hz())).collect();
    assert_eq!(rates, [25.0, 5.0]);
    // Writing the scene again gives the same bytes.
    assert_eq!(written(&read_back(&written(&scene))), written(&scene));
}

#[test]
fn units_are_kept_and_other_programs_read_the_scene_with_y_up() {
    let mesh = Arc::new(prism().into_tri_mesh().unwrap());
    let sliding: Vec<Vec3> =
        (0..3u8).flat_map(|k| mesh.points().iter().map(move |&point| point + Vec3::Z * f32::from(k))).collect();
    let rigid = MeshSequence::new(Arc::clone(&mesh), sliding, 24.0).unwrap();
    for axis in [UpAxis::X, UpAxis::Y, UpAxis::Z] {
        let objects =
            [Object::of_mesh("/still/body", Arc::clone(&mesh)), Object::of_sequence("moving", wobbling(3, 24.0, 0.0))];
        let mut scene =
            scene_of(objects.into_iter().chain([Object::of_sequence("/a/b/rigid", rigid.clone())]).collect());
        scene.units.metres_per_unit = Some(0.01);
        scene.units.up_axis = Some(axis);
        let bytes = written(&scene);
        let found = read_back(&bytes);
        assert_eq!(found.units, scene.units);
        // Without the mark, the file is that of another program.
        let mark = b"dermis_source_up_axis";
        let at = bytes.windows(mark.len()).position(|window| window == mark).expect("a mark");
        let mut unmarked = bytes.clone();
        unmarked[at..at + mark.len()].copy_from_slice(b"another_source_upaxis");
        let upright = read_back(&unmarked);
        assert_eq!(upright.units.up_axis, None);
        let rotated = |point: Vec3| match axis {
            UpAxis::X => Vec3::new(-point.y, point.x, point.z),
            UpAxis::Y => point,
            UpAxis::Z => Vec3::new(point.x, point.z, -point.y),
        };
        for ((object, found), upright) in scene.objects.iter().zip(&found.objects).zip(&upright.objects) {
            assert_eq!(found.mesh.points(), object.mesh.points(), "{axis:?} {}", object.name);
            let expected: Vec<Vec3> = object.mesh.points().iter().map(|&point| rotated(point)).collect();
            assert_eq!(upright.mesh.points(), expected, "{axis:?} {}", object.name);
            if let (Some(motion), Some(found)) = (&object.sequence, &found.sequence) {
                assert_same_motion(found, motion);
                let last = motion.frame_count() - 1;
                let expected: Vec<Vec3> = motion.frame(last).unwrap().iter().map(|&point| rotated(point)).collect();
                assert_eq!(upright.sequence.as_ref().unwrap().frame(last).unwrap()[..], expected);
            }
        }
    }
}

#[test]
fn a_rig_is_written_as_frames_with_a_note() {
    let mesh = Arc::new(prism().into_tri_mesh().unwrap());
    let weights = SkinWeights::from_rows(vec![[(0, 1.0)]; 12]);
    let rig = Rig::new(&mesh, vec![Joint::at("root", None, DAffine3::IDENTITY)], weights, vec![]).unwrap();
    let steps = (0..3).map(|k| DAffine3::from_translation(DVec3::X * f64::from(k))).collect();
    let clip = Clip::new(&rig, "walk", 30.0, steps, vec![]).unwrap();
    let object = Object::of_rig("body", Arc::clone(&mesh), rig, vec![clip]);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.abc");
    let written = dermis_io::write(&target, &scene_of(vec![object]), &WriteOptions::default(), &NoProgress).unwrap();
    assert!(written.notes.iter().any(|note| note.message.contains("clip 'walk'")), "{:?}", written.notes);
    let scene = read(target.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let motion = scene.objects[0].sequence.as_ref().unwrap();
    assert_eq!((motion.frame_count(), motion.frame_rate_hz()), (3, 30.0));
    assert_eq!(motion.frame(2).unwrap()[0], mesh.points()[0] + Vec3::X * 2.0);
}

#[test]
fn rigid_motion_is_a_transform_above_points_stored_once() {
    let points = (0..400u32).map(|k| Vec3::new((k % 20) as f32, (k / 20) as f32, (k % 7) as f32) * 0.1).collect();
    let mesh = Arc::new(TriMesh::new(points, vec![[0, 1, 20], [1, 21, 20]]).unwrap());
    let turn = |frame: usize, speed: f64| {
        let angle = speed * (frame + 1) as f64;
        let turn = DAffine3::from_axis_angle(DVec3::new(1.0, 2.0, 2.0) / 3.0, angle);
        DAffine3::from_translation(DVec3::new(3.0, 0.0, angle)) * turn
    };
    let spinning = |name: &str, speed: f64, frames: usize| {
        let placed = |frame: usize| {
            let place = turn(frame, speed);
            mesh.points().iter().map(move |point| place.transform_point3(point.as_dvec3()).as_vec3())
        };
        let positions = (0..frames).flat_map(placed).collect();
        Object::of_sequence(name, MeshSequence::new(Arc::clone(&mesh), positions, 24.0).unwrap())
    };
    let objects = vec![
        spinning("wheel", 0.3, 40),
        spinning("/car/left", 0.1, 40),
        spinning("/car/right", -0.2, 40),
        Object::of_mesh("/car/body", Arc::clone(&mesh)),
    ];
    let bytes = written(&scene_of(objects.clone()));
    let samples = 3 * 40 * mesh.point_count() * 12;
    assert!(bytes.len() < samples / 10, "{} bytes for {samples} of points", bytes.len());
    let back = read_back(&bytes);
    let names: Vec<&str> = back.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names, ["/wheel/wheelShape", "/car/left/leftShape", "/car/right/rightShape", "/car/body"]);
    for (before, after) in objects.iter().zip(&back.objects) {
        assert_eq!(before.mesh.points(), after.mesh.points(), "the rest pose");
        let (Some(before), Some(after)) = (&before.sequence, &after.sequence) else {
            assert!(before.sequence.is_none() && after.sequence.is_none());
            continue;
        };
        assert_eq!((before.frame_count(), before.frame_rate_hz()), (after.frame_count(), after.frame_rate_hz()));
        for frame in 0..before.frame_count() {
            let pairs =
                before.frame(frame).unwrap().into_owned().into_iter().zip(after.frame(frame).unwrap().into_owned());
            let far = pairs.map(|(a, b)| a.distance(b)).fold(0.0, f32::max);
            assert!(far < 3e-6, "frame {frame} is {far} off");
        }
    }
}

#[test]
fn stopped_writing_leaves_no_files() {
    struct StopAt(usize);
    impl Progress for StopAt {
        fn report(&self, _: &str, done: usize, _: usize) -> ControlFlow<()> {
            if done >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let scene = scene_of(vec![Object::of_sequence("body", wobbling(9, 24.0, 0.0))]);
    let target = folder.path().join("out.abc");
    let error = dermis_io::write(&target, &scene, &WriteOptions::default(), &StopAt(4)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Stopped));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn alembic_faces_are_oriented_outwards() {
    let scene = read_back(&archive(vec![tetrahedron("body", &[0.0])], &[(1.0, vec![0.0])]));
    assert!((volume(&scene.objects[0].mesh) - 1.0 / 6.0).abs() < 1e-6);
    assert_eq!(scene.objects[0].mesh.triangles()[0], [2, 1, 0]);
    // A mirroring transform above the mesh does not reverse its faces.
    let mirrored = transform("mirror", &[SCALE], &[&[-1.0, 1.0, 1.0]], vec![tetrahedron("body", &[0.0])]);
    let scene = read_back(&archive(vec![mirrored], &[(1.0, vec![0.0])]));
    assert!((volume(&scene.objects[0].mesh) - 1.0 / 6.0).abs() < 1e-6);
    assert!(scene.notes[0].message.contains("mirror"));
}

#[test]
fn transforms_apply_from_the_mesh_upwards_and_the_first_operation_last() {
    let matrix: Vec<f64> = vec![1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 5., 1.];
    let inner = transform(
        "inner",
        &[TRANSLATE, ROTATE_Z, SCALE],
        &[&[1., 2., 3., 90., 2., 2., 2.]],
        vec![tetrahedron("body", &[0.0])],
    );
    let outer = transform("outer", &[MATRIX], &[&matrix], vec![inner]);
    let scene = read_back(&archive(vec![outer], &[(1.0, vec![0.0])]));
    assert_eq!(scene.objects[0].name, "/outer/inner/body");
    // (1, 0, 0) is scaled to (2, 0, 0), rotated to (0, 2, 0), moved to (1, 4, 3), and raised by 5.
    assert!(scene.objects[0].mesh.points()[1].distance(Vec3::new(1.0, 4.0, 8.0)) < 1e-6);
}

#[test]
fn a_moving_transform_above_a_static_mesh_is_a_sequence() {
    let inner = transform("inner", &[TRANSLATE], &[&[0., 0., 1.]], vec![tetrahedron("body", &[0.0])]);
    let outer = transform("outer", &[TRANSLATE], &[&[1., 0., 0.], &[2., 0., 0.], &[4., 0., 0.]], vec![inner.clone()]);
    let samplings = [(0.04, vec![0.4])];
    let scene = read_back(&archive(vec![outer.clone()], &samplings));
    let motion = scene.objects[0].sequence.as_ref().unwrap();
    assert_eq!((motion.frame_count(), motion.frame_rate_hz(), motion.start_seconds()), (3, 25.0, 0.4));
    let firsts: Vec<Vec3> = (0..3).map(|frame| motion.frame(frame).unwrap()[0]).collect();
    assert_eq!(firsts, [Vec3::new(1., 0., 1.), Vec3::new(2., 0., 1.), Vec3::new(4., 0., 1.)]);
    // A transform that does not inherit is not moved by those above it.
    let mut cut = outer;
    cut.children[0] = inner.with(scalar(".inherits", ogawa::BOOL, 1, vec![vec![0]]));
    let scene = read_back(&archive(vec![cut], &samplings));
    assert_eq!(scene.objects[0].mesh.points()[0], Vec3::Z);
}

#[test]
fn times_are_uniform_uneven_or_unstated() {
    let at = |sampling: (f64, Vec<f64>)| read_back(&archive(vec![tetrahedron("body", &[0., 1., 4.])], &[sampling]));
    let even = at((ACYCLIC, vec![1.0, 1.1, 1.2]));
    let motion = even.objects[0].sequence.as_ref().unwrap();
    assert_eq!((motion.frame_count(), motion.frame_rate_hz(), motion.start_seconds()), (3, 10.0, 1.0));
    let uneven = at((ACYCLIC, vec![0.0, 0.5, 1.0 + 0.25]));
    let motion = uneven.objects[0].sequence.as_ref().unwrap();
    assert_eq!((motion.frame_count(), motion.frame_rate_hz()), (31, 24.0));
    assert!((motion.frame(21).unwrap()[0].x - 2.5).abs() < 1e-6, "{:?}", motion.frame(21));
    assert!(uneven.notes[0].message.contains("interpolated"));

    let unstated = {
        let mut body = tetrahedron("body", &[0., 1., 4.]);
        body.properties[0].members[0].sampling = 0;
        archive(vec![body], &[])
    };
    let scene = read_back(&unstated);
    assert_eq!(scene.objects[0].sequence.as_ref().unwrap().frame_rate_hz(), 24.0);
    assert_eq!(scene.notes[0].message, "the file states no frame rate; 24 is assumed");
    let options = ReadOptions { frame_rate_hz: Some(60.0), ..ReadOptions::default() };
    let scene = read_bytes("abc", &unstated, &options).unwrap();
    assert_eq!(scene.objects[0].sequence.as_ref().unwrap().frame_rate_hz(), 60.0);
    assert!(scene.notes.is_empty());
}

#[test]
fn rejects_changing_topology_with_frame_and_location() {
    let mut body = tetrahedron("body", &[0., 1., 2., 3.]);
    body.properties[0].members[0].samples[2].extend(floats(&[9., 9., 9.]));
    let group = transform("group", &[TRANSLATE], &[&[0., 0., 0.]], vec![body]);
    let error = read_bytes("abc", &archive(vec![group], &[(0.04, vec![0.0])]), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::PointCountChanges { frame: 2, expected: 4, found: 5 }), "{error}");
    assert_eq!(error.location(), Some("/group/body"));
    assert_eq!(error.details(), ["frames 0–1 have 4 points, frame 2 has 5"]);
    assert!(error.hint().is_some_and(|hint| hint.contains("constant topology")));

    let faces = [[0, 1, 2], [0, 1, 2], [0, 2, 1]].map(|face| integers(&face)).to_vec();
    let body = tetrahedron("body", &[0., 1., 2.]).with(array(".faceIndices", I32, 1, faces).sampled(1)).with(array(
        ".faceCounts",
        I32,
        1,
        vec![integers(&[3])],
    ));
    let error = read_bytes("abc", &archive(vec![body], &[(0.04, vec![0.0])]), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TopologyChanges { frame: 2 }), "{error}");
}

#[test]
fn instances_are_transformed_by_their_parents() {
    let source = transform("source", &[TRANSLATE], &[&[1., 0., 0.]], vec![tetrahedron("body", &[0.0])]);
    let place = transform("place", &[TRANSLATE], &[&[0., 5., 0.]], vec![ogawa::Object::instance("copy", "/source")]);
    let scene = read_back(&archive(vec![source, place], &[(1.0, vec![0.0])]));
    let names: Vec<&str> = scene.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names, ["/source/body", "/place/copy/body"]);
    assert_eq!(scene.objects[1].mesh.points()[0], Vec3::new(1.0, 5.0, 0.0));
}

#[test]
fn attributes_of_every_scope_are_read() {
    let fitting = "isGeomParam=true;interpretation=vector;geoScope=";
    let per_point = floats(&[0., 0., 1., 0., 0., 1., 1., 1.]);
    let uvs = array("uv", F32, 2, vec![per_point.clone()]).with_metadata(&format!("{fitting}vtx"));
    let scene = read_back(&archive(vec![tetrahedron("body", &[0.]).with(uvs)], &[(1.0, vec![0.0])]));
    let mesh = &scene.objects[0].mesh;
    assert_eq!((mesh.vertex_count(), mesh.layout().unwrap().uvs.len()), (4, 1));

    // Per face, indexed, in a further set; the values' scope is not stated.
    let indices = array(".indices", U32, 1, vec![integers(&[0, 1, 1, 0])]);
    let values = array(".vals", F32, 4, vec![floats(&[1., 0., 0., 1., 0., 1., 0., 1.])]);
    let colors = compound("tint", vec![values, indices]);
    let colors = colors.with_metadata("isGeomParam=true;interpretation=rgba;podExtent=4;geoScope=uni");
    let more = compound(".arbGeomParams", vec![colors, array("maps/heat", F32, 1, vec![floats(&[1., 2., 3., 4.])])]);
    let scene = read_back(&archive(vec![tetrahedron("body", &[0.]).with(more)], &[(1.0, vec![0.0])]));
    let layout = scene.objects[0].mesh.layout().unwrap();
    let first = layout.triangles[0][0] as usize;
    assert_eq!(layout.colors[0][first], Vec4::new(1., 0., 0., 1.));
    assert_eq!(scene.objects[0].attributes["maps/heat"], [1., 2., 3., 4.]);

    let misfit = array("uv", F32, 2, vec![floats(&[0.; 10])]).with_metadata(&format!("{fitting}fvr"));
    let scene = read_back(&archive(vec![tetrahedron("body", &[0.]).with(misfit)], &[(1.0, vec![0.0])]));
    assert!(scene.notes[0].message.contains("'uv' does not match"), "{:?}", scene.notes);
}

#[test]
fn other_objects_are_noted_and_subdivision_surfaces_are_meshes() {
    let other = |name: &str, schema: &str| ogawa::Object { schema: schema.into(), ..tetrahedron(name, &[0.]) };
    let objects = vec![
        other("eye", "AbcGeom_Camera_v1"),
        other("hair", "AbcGeom_Curve_v2"),
        other("fur", "AbcGeom_Curve_v2"),
        other("smooth", "AbcGeom_SubD_v1"),
    ];
    let scene = read_back(&archive(objects, &[(1.0, vec![0.0])]));
    assert_eq!(scene.objects.len(), 1);
    let notes: Vec<String> = scene.notes.iter().map(|note| format!("{:?} {}", note.location, note.message)).collect();
    assert!(notes[0].contains("control mesh"));
    assert_eq!(notes[1], "Some(\"/eye\") an object of type 'Camera' is skipped");
    assert_eq!(notes[2], "Some(\"/hair\") 2 objects of type 'Curve' are skipped; this is the first");
}

#[test]
fn faces_without_area_are_skipped_with_a_note() {
    let body = tetrahedron("body", &[0.])
        .with(array(".faceIndices", I32, 1, vec![integers(&[0, 1, 0, 1, 2, 3])]))
        .with(array(".faceCounts", I32, 1, vec![integers(&[2, 3, 0, 1])]));
    let scene = read_back(&archive(vec![body], &[(1.0, vec![0.0])]));
    assert_eq!(scene.objects[0].mesh.triangles(), [[2, 1, 0]]);
    assert!(scene.notes[0].message.starts_with("3 faces with fewer"), "{:?}", scene.notes);
}

#[test]
fn rejects_other_containers_with_a_hint() {
    let hdf5 = [b"\x89HDF\r\n\x1a\n".as_slice(), &[0; 64]].concat();
    let error = read_bytes("abc", &hdf5, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("HDF5") && error.hint().is_some_and(|hint| hint.contains("Ogawa")));
    let mut unclosed = archive(vec![], &[]);
    unclosed[5] = 0;
    assert!(read_bytes("abc", &unclosed, &ReadOptions::default()).unwrap_err().to_string().contains("never closed"));
    assert!(read_bytes("abc", b"hello, this is text", &ReadOptions::default()).is_err());
    assert!(read("missing.abc", &ReadOptions::default()).is_err());
}

#[test]
fn reads_the_bone_of_dem_bones() {
    let Some(path) = common::shared_data("formats/Bone_Anim.abc") else { return };
    let scene = read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    assert_eq!(scene.objects.len(), 1);
    let motion = scene.objects[0].sequence.as_ref().unwrap();
    assert_eq!((motion.frame_count(), motion.point_count(), motion.mesh().triangle_count()), (400, 754, 1504));
    assert_eq!((motion.frame_rate_hz(), motion.start_seconds()), (24.0, 1.0 / 24.0));
    assert!((volume(motion.mesh()) - 2.522).abs() < 1e-3);
    let back = read_back(&written(&scene));
    assert_same_motion(back.objects[0].sequence.as_ref().unwrap(), motion);
    assert_eq!(back.objects[0].mesh, scene.objects[0].mesh);
}

#[test]
fn reads_a_cloth_from_unity() {
    let Some(path) = common::shared_data("formats/Cloth-10frames.abc") else { return };
    let scene = read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let sizes: Vec<_> =
        scene.objects.iter().map(|object| (object.mesh.point_count(), object.sequence.is_some())).collect();
    assert_eq!(sizes, [(515, false), (121, true)]);
    let motion = scene.objects[1].sequence.as_ref().unwrap();
    assert_eq!((motion.frame_count(), motion.frame_rate_hz()), (10, 30.0));
    assert!(scene.notes.iter().any(|note| note.message.contains("'Camera'")));
    let back = read_back(&written(&scene));
    assert_same_motion(back.objects[1].sequence.as_ref().unwrap(), motion);
    assert_eq!(back.objects[1].mesh.triangles(), motion.mesh().triangles());
}
