//! Every system on a rig in centimetres with Z up, below a node of scale 0.01, compared with a clean copy of the
//! character.

use dermis::io::{ReadOptions, WriteOptions};
use dermis::mesh::{Object, Scene, Units, UpAxis};
use dermis::retarget::in_units;

const METRES: Units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
const CENTIMETRES: Units = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };

/// A sample as a production tool exports it: without the marks by which dermis recognizes its own units.
fn exported(name: &str) -> Scene {
    let mut scene = clean(name);
    for object in &mut scene.objects {
        *object = in_units(object, METRES, CENTIMETRES).unwrap().unwrap();
    }
    scene.units = CENTIMETRES;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exported.glb");
    dermis::io::write(&path, &scene, &WriteOptions::default(), &dermis::math::progress::NoProgress).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let mark = b"\"dermis\":";
    let places: Vec<usize> =
        bytes.windows(mark.len()).enumerate().filter(|(_, w)| w == mark).map(|(at, _)| at).collect();
    for at in places {
        bytes[at + 1..at + 7].copy_from_slice(b"others");
    }
    let scene = dermis::io::read_bytes("glb", &bytes, &ReadOptions::default()).unwrap();
    assert_eq!(scene.units, METRES);
    scene
}

/// The sample with its rig and first clip only.
fn clean(name: &str) -> Scene {
    let mut scene = dermis::io::read(&format!("sample:{name}"), &ReadOptions::default()).unwrap();
    assert_eq!(scene.units, METRES);
    scene.objects.retain(|object| object.rig.is_some());
    for object in &mut scene.objects {
        let Object { name, mesh, rig, clips, .. } = std::mem::take(object);
        let mesh = std::sync::Arc::new(mesh.without_layout());
        *object = Object { name, mesh, rig, clips: clips[..1].to_vec(), ..Object::default() };
    }
    scene
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 2e-3 * expected.abs().max(1e-6), "{what}: {found} is not {expected}");
}

#[test]
fn volume_preservation_does_not_depend_on_units() {
    let options = dermis::active::volume::VolumeOptions::default();
    let [clean, exported] = [clean("arm"), exported("arm")].map(|scene| dermis::keep_volume(&scene, &options).unwrap());
    assert_close(exported.objects[0].rest_volume, clean.objects[0].rest_volume, "rest volume");
    assert_eq!(exported.objects[0].joint_count, clean.objects[0].joint_count);
    assert_close(exported.drift_before(), clean.drift_before(), "drift before");
    assert!(exported.drift_after() < 1e-4, "{}", exported.drift_after());
}

#[test]
fn a_clip_is_transferred_between_the_copies() {
    let (clean, exported) = (clean("hand"), exported("hand"));
    let options = dermis::pose_model::PoseOptions::default();
    let posed = dermis::pose_model::pose_model(&clean, Some(&exported), &options).unwrap();
    let motion = |scene: &Scene| scene.objects[0].base_motion().unwrap().unwrap();
    let (found, expected) = (motion(&posed.scene), motion(&clean));
    assert_eq!(found.frame_count(), expected.frame_count());
    let diagonal = clean.objects[0].mesh.diagonal();
    for frame in [0, expected.frame_count() / 2, expected.frame_count() - 1] {
        for (a, b) in found.frame(frame).unwrap().iter().zip(&*expected.frame(frame).unwrap()) {
            assert!(a.distance(*b) < 1e-4 * diagonal, "frame {frame}: {a} is not {b}");
        }
    }
}
