//! BVH: hand-written skeletons and motions, and broken files.

mod common;

use std::fmt::Write;

use dermis_io::{Error, ReadOptions};
use dermis_mesh::glam::{DAffine3, DQuat, DVec3};
use dermis_mesh::{Object, Scene};

const WALK: &str = "HIERARCHY
ROOT Hips
{
    OFFSET 0.0 90.0 0.0
    CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
    JOINT mixamorig:Left Leg
    {
        OFFSET 10.0 -5.0 0.0
        CHANNELS 3 Yrotation Zrotation Xrotation
        End Site
        {
            OFFSET 0.0 -40.0 0.0
        }
    }
    JOINT Chest {
        OFFSET 0 20 0
        CHANNELS 0
    }
}
MOTION
Frames: 2
Frame Time: 0.0333333
0 90 0 0 0 0 0 0 0
5 91 -2 10 20 30 40 50 60
";

fn read(bytes: &[u8]) -> Result<Scene, Error> {
    dermis_io::read_bytes("bvh", bytes, &ReadOptions::default())
}

fn only(scene: &Scene) -> &Object {
    assert_eq!(scene.objects.len(), 1);
    &scene.objects[0]
}

fn turn(order: [(DVec3, f64); 3]) -> DQuat {
    order
        .iter()
        .fold(DQuat::IDENTITY, |turn, (axis, degrees)| turn * DQuat::from_axis_angle(*axis, degrees.to_radians()))
}

#[test]
fn joints_channels_and_rate_are_read() {
    let scene = read(WALK.as_bytes()).unwrap();
    let object = only(&scene);
    let rig = object.rig.as_ref().unwrap();
    let names: Vec<&str> = rig.joints().iter().map(|joint| joint.name.as_str()).collect();
    assert_eq!(names, ["Hips", "mixamorig:Left Leg", "mixamorig:Left Leg_end", "Chest"]);
    let parents: Vec<Option<usize>> = rig.joints().iter().map(|joint| joint.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(0)]);
    assert_eq!(rig.joints()[2].bind().translation, DVec3::new(10.0, 45.0, 0.0));
    let clip = &object.clips[0];
    assert_eq!((clip.frame_count(), clip.frame_rate_hz()), (2, 30.0));
    for (joint, transform) in rig.joints().iter().zip(clip.transforms(0)) {
        assert!(transform.abs_diff_eq(joint.bind(), 1e-12), "the first frame is the rest pose");
    }
    let hips = DAffine3::from_rotation_translation(
        turn([(DVec3::Z, 10.0), (DVec3::X, 20.0), (DVec3::Y, 30.0)]),
        DVec3::new(5.0, 91.0, -2.0),
    );
    let leg = DAffine3::from_rotation_translation(
        turn([(DVec3::Y, 40.0), (DVec3::Z, 50.0), (DVec3::X, 60.0)]),
        DVec3::new(10.0, -5.0, 0.0),
    );
    let found = clip.transforms(1);
    assert!(found[0].abs_diff_eq(hips, 1e-12));
    assert!(found[1].abs_diff_eq(hips * leg, 1e-9));
    assert!(found[2].abs_diff_eq(hips * leg * DAffine3::from_translation(DVec3::NEG_Y * 40.0), 1e-9));
    assert!(found[3].abs_diff_eq(hips * DAffine3::from_translation(DVec3::Y * 20.0), 1e-9));
    assert_eq!((scene.units.metres_per_unit, scene.units.up_axis), (None, None));
}

#[test]
fn variants_of_the_text_are_the_same_motion() {
    let expected = read(WALK.as_bytes()).unwrap();
    let commas: String = WALK
        .lines()
        .map(|line| if line.contains("OFFSET") { line.replace('.', ",") } else { line.to_owned() })
        .fold(String::new(), |text, line| text + &line + "\n");
    let variants = [
        WALK.replace('\n', "\r\n"),
        format!("\u{feff}{WALK}"),
        WALK.replace("    ", "\t").replace("HIERARCHY", "Hierarchy").replace("MOTION", "motion"),
        WALK.replace("5 91 -2", "5.0e0 91 -2"),
        WALK.replace("ROOT Hips\n{", "ROOT Hips {"),
        commas,
    ];
    for text in variants {
        let scene = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(only(&scene).clips, only(&expected).clips);
        assert_eq!(only(&scene).rig, only(&expected).rig);
    }
}

#[test]
fn a_skeleton_without_frames_is_a_rig() {
    let text = WALK.split("Frames:").next().unwrap().to_owned() + "Frames: 0\nFrame Time: 0.01\n";
    let scene = read(text.as_bytes()).unwrap();
    assert!(only(&scene).clips.is_empty() && only(&scene).rig.is_some());
    assert!(scene.notes.iter().any(|note| note.message.contains("without frames")));
}

#[test]
fn frames_beyond_the_stated_number_are_read_with_a_note() {
    let scene = read(WALK.replace("Frames: 2", "Frames: 1").as_bytes()).unwrap();
    assert_eq!(only(&scene).clips, only(&read(WALK.as_bytes()).unwrap()).clips);
    assert!(
        scene
            .notes
            .iter()
            .any(|note| note.message == "the header states the number of frames as 1, but there are 2; all are read")
    );
    for surplus in ["7 8 9", "text"] {
        let error = read(format!("{WALK}{surplus}\n").as_bytes()).unwrap_err();
        assert!(format!("{error:?}").contains("states 2 frames"), "{error:?}");
    }
}

#[test]
fn equal_names_are_numbered() {
    let text = WALK.replace("JOINT Chest", "JOINT Hips");
    let scene = read(text.as_bytes()).unwrap();
    assert_eq!(only(&scene).rig.as_ref().unwrap().joints()[3].name, "Hips_2");
    assert!(scene.notes.iter().any(|note| note.message.contains("numbered")));
}

#[test]
fn rejects_invalid_text_with_its_line() {
    let cases = [
        ("HIERARCHY", "HIERARCHIE", "begins with HIERARCHY"),
        ("CHANNELS 3", "CHANNELS 9", "0 to 6"),
        ("CHANNELS 3 Yrotation", "CHANNELS 3 Wrotation", "is not a channel"),
        ("CHANNELS 3 Yrotation", "CHANNELS 3 Zrotation", "occurs twice"),
        ("Frames: 2", "Frames: -1", "invalid number of frames"),
        ("Frames: 2", "Frames: 3", "end of the file; expected a number"),
        ("Frames: 2", "Frames: 999999999999999999999", "invalid number of frames"),
        ("Frame Time: 0.0333333", "Frame Time: 0", "must be positive"),
        ("Frame Time: 0.0333333", "Frame Time: nan", "not a finite number"),
        ("5 91 -2", "5 x -2", "is not a finite number"),
        ("    }\n}\nMOTION", "    }\nMOTION", "unexpected '"),
        ("OFFSET 10.0 -5.0 0.0", "OFFSET 10.0 -5.0", "is not a finite number"),
        ("JOINT Chest", "ROOT Chest", "unexpected '"),
    ];
    for (from, to, expected) in cases {
        assert!(WALK.contains(from), "{from}");
        let error = read(WALK.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{to}: {error}");
        assert!(error.location().is_some_and(|at| at.contains("line")), "{to}: {:?}", error.location());
    }
}

#[test]
fn survives_broken_text() {
    common::assert_survives(&common::damage(WALK.as_bytes()), read);
    let mut deep = "HIERARCHY\nROOT a\n{\n".to_owned();
    for joint in 0..100_000 {
        write!(deep, "JOINT j{joint}\n{{\n").unwrap();
    }
    assert!(read(deep.as_bytes()).unwrap_err().to_string().contains("nested"));
    assert!(read(b"HIERARCHY\nMOTION\nFrames: 1\nFrame Time: 1\n").is_err());
}
