use dermis_mesh::glam::{DAffine3, DVec3, Vec3};
use dermis_mesh::{Joint, Rig, SkinWeights, TriMesh};

use super::*;

/// A point whose x is the number of the frame.
fn counting(name: &str, frames: usize) -> Object {
    let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO], vec![]).unwrap());
    let positions = (0..frames).map(|frame| Vec3::X * frame as f32).collect();
    Object::of_sequence(name, MeshSequence::new(mesh, positions, 24.0).unwrap())
}

/// A point that each clip, given as name and frames, moves by one per frame.
fn rigged(name: &str, clips: &[(&str, usize)]) -> Object {
    let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO], vec![]).unwrap());
    let joints = vec![Joint::at("root", None, DAffine3::IDENTITY)];
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows([[(0, 1.0)]]), vec![]).unwrap();
    let at = |frame: usize| DAffine3::from_translation(DVec3::X * frame as f64);
    let clip = |&(name, frames)| Clip::new(&rig, name, 24.0, (0..frames).map(at).collect(), vec![]).unwrap();
    let clips = clips.iter().map(clip).collect();
    Object::of_rig(name, mesh, rig, clips)
}

fn scene(objects: Vec<Object>) -> Scene {
    Scene { objects, ..Scene::default() }
}

fn xs(object: &Object) -> Vec<f32> {
    let motion = object.base_motion().unwrap().unwrap();
    (0..motion.frame_count()).map(|frame| motion.frame(frame).unwrap()[0].x).collect()
}

#[test]
fn keeps_the_mesh_selected_by_a_part_of_its_path() {
    let objects = || vec![counting("/hero/body", 2), counting("/hero/hat", 2)];
    let asked = |mesh: &str| Selection { mesh: Some(mesh.into()), ..Selection::default() };
    let kept = select(scene(objects()), &asked("hat")).unwrap();
    assert_eq!(kept.objects.len(), 1);
    assert_eq!(kept.objects[0].name, "/hero/hat");
    assert_eq!(select(scene(objects()), &asked("/hero/*")).unwrap().objects.len(), 2);
    let error = select(scene(objects()), &asked("hero")).unwrap_err();
    assert_eq!(error.to_string(), "'hero' matches the names of 2 meshes");
    let error = select(scene(objects()), &asked("/hero/boddy")).unwrap_err();
    assert_eq!(error.hint().unwrap(), "did you mean '/hero/body'?");
    assert_eq!(error.details(), ["meshes: '/hero/body', '/hero/hat'"]);
}

#[test]
fn keeps_a_clip_by_name_or_number_over_all_objects() {
    let objects = || vec![rigged("body", &[("walk", 3), ("run", 4)]), rigged("tail", &[("run", 4)])];
    for wanted in ["run", "1", "un"] {
        let asked = Selection { clip: Some(wanted.into()), ..Selection::default() };
        let kept = select(scene(objects()), &asked).unwrap();
        assert!(kept.objects.iter().all(|object| object.clips.len() == 1 && object.clips[0].name() == "run"));
        assert!(kept.notes.is_empty());
    }
    let asked = Selection { clip: Some("walk".into()), ..Selection::default() };
    let kept = select(scene(objects()), &asked).unwrap();
    assert!(kept.objects[1].clips.is_empty());
    assert_eq!(kept.notes[0].message, "the clip 'walk' does not move this mesh; it keeps its rest pose");
}

#[test]
fn rejects_an_unknown_clip_and_lists_the_known_ones() {
    let asked = Selection { clip: Some("wlak".into()), ..Selection::default() };
    let error = select(scene(vec![rigged("body", &[("walk", 3), ("run", 4)])]), &asked).unwrap_err();
    assert_eq!(error.to_string(), "there is no clip called 'wlak'");
    assert_eq!(error.details(), ["clips: 'walk', 'run'"]);
    assert_eq!(error.hint().unwrap(), "did you mean 'walk'?");
    let error = select(scene(vec![counting("body", 3)]), &asked).unwrap_err();
    assert_eq!(error.details(), ["there are no clips"]);
}

#[test]
fn example_shapes_belong_to_the_first_clip_only() {
    let mut object = rigged("arm", &[("bend", 3), ("twist", 3)]);
    object.sequence = Some(counting("arm", 3).sequence.unwrap().with_mesh(Arc::clone(&object.mesh)).unwrap());
    let asked = |clip: &str| Selection { clip: Some(clip.into()), ..Selection::default() };
    assert!(select(scene(vec![object.clone()]), &asked("bend")).unwrap().objects[0].sequence.is_some());
    let twisted = select(scene(vec![object]), &asked("twist")).unwrap();
    assert!(twisted.objects[0].sequence.is_none());
    assert_eq!(twisted.notes.len(), 1);
}

#[test]
fn keeps_frames_of_sequences_and_clips() {
    let asked = Selection { frames: Some("1:-1:2".parse().unwrap()), ..Selection::default() };
    let kept = select(scene(vec![counting("a", 8), rigged("b", &[("walk", 8)])]), &asked).unwrap();
    for object in &kept.objects {
        assert_eq!(xs(object), [1.0, 3.0, 5.0]);
        assert_eq!(object.base_motion().unwrap().unwrap().frame_rate_hz(), 12.0);
    }
}

#[test]
fn rejects_a_range_without_frames_and_a_scene_without_motion() {
    let asked = Selection { frames: Some("5:5".parse().unwrap()), ..Selection::default() };
    let error = select(scene(vec![counting("horse", 8)]), &asked).unwrap_err();
    assert_eq!(error.to_string(), "the range 5:5 contains no frame of 'horse'");
    assert_eq!(error.details(), ["it has 8 frames, numbered from 0"]);
    let mut still = counting("stone", 1);
    still.sequence = None;
    let error = select(scene(vec![still]), &asked).unwrap_err();
    assert_eq!(error.to_string(), "a range of frames requires a motion, but the input contains none");
}

#[test]
fn resamples_only_motions_of_another_rate() {
    let asked = Selection { frame_rate_hz: Some(48.0), ..Selection::default() };
    let kept = select(scene(vec![counting("a", 3), rigged("b", &[("walk", 3)])]), &asked).unwrap();
    assert_eq!(xs(&kept.objects[0]), [0.0, 0.5, 1.0, 1.5, 2.0]);
    assert_eq!(xs(&kept.objects[1]), [0.0, 0.5, 1.0, 1.5, 2.0]);
    let same = Selection { frame_rate_hz: Some(24.000_001), ..Selection::default() };
    assert_eq!(
        select(scene(vec![counting("a", 3)]), &same).unwrap().objects[0].sequence.as_ref().unwrap().frame_rate_hz(),
        24.0
    );
}

#[test]
fn rejects_invalid_rates() {
    for rate in [0.0, -24.0, f64::NAN, f64::INFINITY] {
        let asked = Selection { frame_rate_hz: Some(rate), ..Selection::default() };
        let error = select(scene(vec![counting("a", 3)]), &asked).unwrap_err();
        assert!(matches!(error, SelectError::FrameRate(_)), "{error}");
    }
    let asked = Selection { frame_rate_hz: Some(1e12), ..Selection::default() };
    let error = select(scene(vec![counting("a", 3)]), &asked).unwrap_err();
    assert!(matches!(error, SelectError::TooManyFrames { .. }), "{error}");
}

#[test]
fn the_rest_frame_refers_to_all_frames() {
    let asked = Selection { frames: Some("4:6".parse().unwrap()), rest_frame: Some(2), ..Selection::default() };
    let kept = select(scene(vec![counting("a", 8), rigged("b", &[("walk", 8), ("run", 8)])]), &asked).unwrap();
    for object in &kept.objects {
        assert_eq!(object.mesh.points()[0].x, 2.0);
        assert_eq!(xs(object), [4.0, 5.0]);
        assert!(object.rig.is_none());
    }
    let message = "the rig is bound to the old rest pose; the object becomes the frames of the clip 'walk', and the other \
                   clips are dropped";
    assert_eq!(kept.notes, [Note::at("b", message)]);
}
