//! Posed error of levels of detail, compared with meshoptimizer with skin weights as attributes, at equal triangle
//! counts.
//!
//! Inputs are the arguments, or else a skin fitted to `sample:gallop` and the rig `sample:arm`. Recorded frames are
//! fitted with 20 bones first.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::sync::Arc;
use std::time::Instant;

use dermis::lod::posed_error;
use dermis::mesh::Level;
use dermis::prelude::*;

const RATIOS: [f64; 3] = [0.25, 0.1, 0.03];
const FRAMES: usize = 24;

fn main() -> dermis::Result<()> {
    let files: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let files = if files.is_empty() { vec!["sample:gallop".into(), "sample:arm".into()] } else { files };
    println!("posed RMS error in percent of the diagonal, {FRAMES} frames of all clips");
    for file in files {
        let scene = dermis::read(&file)?;
        let scene = if scene.objects.iter().any(|object| object.rig.is_some()) {
            scene
        } else {
            let fit = dermis::fit_skin(&scene.sequence()?, &FitOptions { bones: Bones::Count(20), ..default() })?;
            fit.to_scene()
        };
        for object in scene.objects.iter().filter(|object| object.rig.is_some() && object.mesh.triangle_count() > 0) {
            compare(&file, object)?;
        }
    }
    Ok(())
}

fn compare(file: &str, object: &Object) -> dermis::Result<()> {
    println!("{file}, {}: {} triangles", object.name, object.mesh.triangle_count());
    for ratio in RATIOS {
        let start = Instant::now();
        let options = LodOptions { ratios: vec![ratio], ..default() };
        let mut made = dermis::make_levels(object, &options)?;
        let seconds = start.elapsed().as_secs_f64();
        let ours = made.scene.objects.remove(0).at_level(0)?;
        let target = ours.mesh.triangle_count();
        let theirs = peer(object, 3 * target);
        let error = |level: &Object| posed_error(object, level, FRAMES).rms_percent;
        println!(
            "  {:5.1} %: {target:6} triangles {:.4} ({seconds:.2} s with measuring), meshoptimizer {:6} triangles {:.4}",
            100.0 * ratio,
            error(&ours),
            theirs.mesh.triangle_count(),
            error(&theirs)
        );
    }
    Ok(())
}

/// meshoptimizer's simplification of the points, with dense skin weights as attributes.
fn peer(object: &Object, target_indices: usize) -> Object {
    let rig = object.rig.as_ref().expect("a rig");
    let joints = rig.joints().len().min(32);
    let dense = rig.weights().to_dense(joints);
    let points: Vec<[f32; 3]> = object.mesh.points().iter().map(Vec3::to_array).collect();
    let bytes = meshopt::typed_to_bytes(&points);
    let vertices = meshopt::VertexDataAdapter::new(bytes, 12, 0).expect("positions of 12 bytes");
    let indices = meshopt::simplify_with_attributes_and_locks(
        object.mesh.triangles().as_flattened(),
        &vertices,
        &dense,
        &vec![1.0; joints],
        4 * joints,
        &vec![false; points.len()],
        target_indices,
        f32::MAX,
        meshopt::SimplifyOptions::None,
        None,
    );
    let mut new = vec![u32::MAX; points.len()];
    let mut kept = Vec::new();
    let mut renumber = |point: u32| {
        if new[point as usize] == u32::MAX {
            new[point as usize] = kept.len() as u32;
            kept.push(point);
        }
        new[point as usize]
    };
    let triangles = indices.chunks_exact(3).map(|t| [renumber(t[0]), renumber(t[1]), renumber(t[2])]).collect();
    let gather = |values: &[Vec3]| kept.iter().map(|&point| values[point as usize]).collect::<Vec<_>>();
    let shapes = rig.shapes().iter();
    let shape = |shape: &Shape| Shape { offsets: gather(&shape.offsets), normal_offsets: None, ..shape.clone() };
    let level = Level {
        mesh: Arc::new(TriMesh::new(gather(object.mesh.points()), triangles).expect("a part of the mesh")),
        weights: rig.weights().gather(&kept),
        shapes: shapes.map(shape).collect(),
        ..default()
    };
    Object { levels: vec![level], ..object.clone() }.at_level(0).expect("the object's own rig")
}
