//! Quality of volume preservation: intersections, stretch and drift, on samples and on recorded data.

mod common;

use std::sync::Arc;

use common::shared_data;
use dermis::active::volume::{VolumeLayer, VolumeOptions, Workspace};
use dermis::evaluate;
use dermis::io::ReadOptions;
use dermis::mesh::adjacency::Edges;
use dermis::mesh::glam::Vec3;
use dermis::mesh::{Object, Scene};
use dermis::tet::tetrahedra::intersecting_pairs;

/// Largest allowed stretch of an edge by the correction.
const MAX_STRETCH: f32 = 1.5;

/// Checks every `step`th frame of every clip.
fn check(name: &str, object: &Object, step: usize) {
    let layer = Arc::new(VolumeLayer::new(object, &VolumeOptions::default()).unwrap());
    let triangles = object.mesh.triangles();
    let edges = Edges::new(object.mesh.point_count(), triangles);
    for motion in evaluate::motions(object).unwrap() {
        let clip = motion.clip.as_ref().unwrap();
        let (mut stretch, mut drift, mut pairs, mut worst) = (0.0f32, 0.0f64, [0usize; 2], (0isize, 0, [0; 2]));
        let mut work = Workspace::default();
        for frame in (0..motion.sequence.frame_count()).step_by(step) {
            let posed = motion.sequence.frame(frame).unwrap().into_owned();
            let mut kept = posed.clone();
            let volumes = layer.apply(&mut kept, Some(clip.transforms(frame)), 1.0, &mut work);
            drift = drift.max(volumes.drift(layer.volume_of(&kept)));
            let lengths = |points: &[Vec3], [a, b]: [u32; 2]| points[a as usize].distance(points[b as usize]);
            for &edge in edges.ends() {
                stretch = stretch.max(lengths(&kept, edge) / lengths(&posed, edge).max(1e-6));
            }
            let found = [&posed, &kept].map(|points| intersecting_pairs(points, triangles).len());
            let more = found[1] as isize - found[0] as isize;
            if more > worst.0 {
                worst = (more, frame, found);
            }
            pairs = [pairs[0] + found[0], pairs[1] + found[1]];
        }
        assert!(drift <= 1e-6 && stretch <= MAX_STRETCH, "{name} {}: {drift:e}, {stretch}", clip.name());
        println!(
            "{name} {}: drift {drift:.1e}, stretch {stretch:.2}, pairs {} -> {}, worst frame {} {:?}",
            clip.name(),
            pairs[0],
            pairs[1],
            worst.1,
            worst.2
        );
    }
}

fn objects(scene: Scene) -> impl Iterator<Item = Object> {
    scene.objects.into_iter().filter(|object| !object.clips.is_empty())
}

#[test]
fn kept_volume_neither_tears_nor_folds_the_skin() {
    let step = std::env::var("DERMIS_STEP").ok().and_then(|step| step.parse().ok()).unwrap_or(10);
    for name in ["arm", "hand"] {
        objects(dermis_samples::build(name).unwrap()).for_each(|object| check(name, &object, step));
    }
    for name in ["CesiumMan.glb", "horse-animations.glb"] {
        let Some(path) = shared_data(&format!("rigs/{name}")) else { continue };
        let scene = dermis::io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
        objects(scene).for_each(|object| check(name, &object, step));
    }
}
