//! Levels of detail in assets.

use dermis::prelude::*;

fn made(name: &str, ratios: &[f64]) -> dermis::make_levels::LeveledScene {
    let scene = dermis::read(name).unwrap();
    dermis::make_levels(&scene, &LodOptions { ratios: ratios.to_vec(), ..default() }).unwrap()
}

#[test]
fn levels_round_trip_with_all_clips() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["sample:arm", "sample:hand"] {
        let made = made(name, &[0.5, 0.2]);
        for extension in ["glb", "gltf"] {
            let file = folder.path().join(format!("{}.{extension}", dermis::files::stem(name)));
            dermis::write(&file, &made).unwrap();
            let read = dermis::read(file.to_str().unwrap()).unwrap();
            assert!(read.notes.is_empty(), "{:?}", read.notes);
            assert_eq!(read.objects.len(), made.scene.objects.len());
            for (before, after) in made.scene.objects.iter().zip(&read.objects) {
                assert_eq!(after.levels.len(), 2);
                assert_eq!(after.clips.len(), before.clips.len());
                for number in 0..2 {
                    let (before, after) = (before.at_level(number).unwrap(), after.at_level(number).unwrap());
                    assert_eq!(after.mesh.triangle_count(), before.mesh.triangle_count());
                    let (a, b) = (before.sequence().unwrap(), after.sequence().unwrap());
                    let last = a.frame_count() - 1;
                    let tolerance = 1e-5 * before.mesh.diagonal();
                    for (a, b) in a.frame(last).unwrap().iter().zip(&*b.frame(last).unwrap()) {
                        assert!(a.distance(*b) < tolerance, "{a} is not {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn formats_without_levels_add_a_note_and_a_level_is_a_separate_scene() {
    let folder = tempfile::tempdir().unwrap();
    let made = made("sample:arm", &[0.25]);
    let target = folder.path().join("arm.npz");
    let written = dermis::write_with(&target, &made, &WriteOptions::default(), &NoProgress).unwrap();
    assert!(written.notes.iter().any(|note| note.message.contains("levels of detail")), "{:?}", written.notes);
    let level = made.at_level(0).unwrap();
    assert_eq!(level.objects[0].mesh.triangle_count(), made.objects[0].levels[0].triangles);
    assert!(level.objects[0].levels.is_empty());
}

#[test]
fn a_mesh_without_a_skin_is_simplified_at_rest_with_a_warning() {
    let mesh = dermis::read("sample:arm").unwrap().objects[0].mesh.clone();
    let still = Object::of_mesh("still", mesh);
    let made = dermis::make_levels(&still, &LodOptions { ratios: vec![0.5], ..default() }).unwrap();
    assert!(made.warnings[0].message.contains("no skin"), "{:?}", made.warnings);
    let frames = dermis::read("sample:gallop").unwrap();
    let error = dermis::make_levels(&frames, &LodOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no skin") && error.hint().is_some(), "{error}");
}
