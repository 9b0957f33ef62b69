//! Multi-weights beyond the joint rotations of their training.

use std::sync::Arc;

use dermis::active::volume::{VolumeLayer, VolumeOptions};
use dermis::evaluate;
use dermis::mesh::glam::{DAffine3, DQuat};
use dermis::mesh::pose::bake;
use dermis::mesh::{Clip, Deformer, Object, Rig};
use dermis::skin::envelope::play;
use dermis::train_envelope::{EnvelopeOptions, ExampleOptions, TrainingSet, multi_weights, train_envelope};

/// Tolerance of the loss of volume; the volume around each joint is bounded to 1e-3 of its volume at rest.
const VOLUME_TOLERANCE: f64 = 2e-3;

/// The clip with all rotations of joints relative to their parents multiplied by `factor`.
fn exaggerated(rig: &Rig, clip: &Clip, factor: f64) -> Arc<Clip> {
    let frame = |frame: usize| {
        let poses = clip.transforms(frame);
        let mut world: Vec<DAffine3> = Vec::new();
        for (joint, pose) in rig.joints().iter().zip(poses) {
            let local = joint.parent.map_or(*pose, |parent| poses[parent].inverse() * *pose);
            let bind = joint.parent.map_or(joint.bind(), |parent| rig.joints()[parent].inverse_bind * joint.bind());
            let (_, bind_rotation, _) = bind.to_scale_rotation_translation();
            let (scale, rotation, translation) = local.to_scale_rotation_translation();
            let turned = rotation * bind_rotation.inverse();
            let turned = if turned.w < 0.0 { -turned } else { turned };
            let rotation = DQuat::from_scaled_axis(factor * turned.to_scaled_axis()) * bind_rotation;
            let local = DAffine3::from_scale_rotation_translation(scale, rotation, translation);
            world.push(joint.parent.map_or(local, |parent| world[parent] * local));
        }
        world
    };
    let transforms = (0..clip.frame_count()).flat_map(frame).collect();
    Arc::new(Clip::new(rig, clip.name(), clip.frame_rate_hz(), transforms, vec![]).unwrap())
}

#[test]
fn multi_weights_fade_to_the_linear_skin_beyond_their_training() {
    let scene = dermis_samples::build("arm").unwrap();
    let examples = ExampleOptions { frames: vec!["::8".parse().unwrap()], ..ExampleOptions::default() };
    let set = TrainingSet::new(&scene, &examples).unwrap();
    let model = train_envelope(&set, &EnvelopeOptions::default()).unwrap().scene.objects.remove(0);
    println!("margin {:?}", multi_weights(&model).unwrap().record.get("range_margin"));
    let mut least = f64::INFINITY;
    let rig = model.rig.clone().unwrap();
    let weights = multi_weights(&model).unwrap().weights();
    let layer = VolumeLayer::new(&model, &VolumeOptions::default()).unwrap();
    for factor in [1.0, 1.5, 2.0] {
        let clip = exaggerated(&rig, &model.clips[0].select(0, 144, 2).unwrap(), factor);
        let faded = evaluate::clip_motion(&model, &clip).unwrap();
        let plain = play(weights, &model.mesh, &rig, &clip, None, None).unwrap();
        let linear = bake(&model.mesh, &rig, &clip).unwrap();
        let (mut worst, mut worst_plain) = (f64::INFINITY, f64::INFINITY);
        for frame in 0..clip.frame_count() {
            let volume = |positions: &[_]| layer.volume_of(positions) / layer.rest_volume();
            let base = volume(&linear.frame(frame).unwrap());
            worst = worst.min(volume(&faded.sequence.frame(frame).unwrap()) / base);
            worst_plain = worst_plain.min(volume(&plain.frame(frame).unwrap()) / base);
            if factor == 1.0 {
                assert_eq!(faded.sequence.frame(frame).unwrap(), plain.frame(frame).unwrap());
            }
        }
        println!(
            "{factor} × the angles: least volume relative to the linear skin {worst:.3}, without fading {worst_plain:.3}"
        );
        // Nothing is changed at 1 ×; beyond, no volume is lost below the linear skin.
        least = if factor == 1.0 { worst.min(1.0) } else { least };
        assert!(worst >= least - VOLUME_TOLERANCE, "{factor}: {worst} {worst_plain}");
        let has_note = faded.warnings.iter().any(|note| note.message.contains("exceed the trained joint rotations"));
        assert_eq!(has_note, factor > 1.0);
    }
    let bare = Object { deformers: Vec::<Deformer>::new(), ..model };
    assert!(evaluate::motion(&bare).unwrap().unwrap().warnings.is_empty());
}
