//! glTF as other programs write it: quantized, sparse, compressed, with curves, in several files.

mod common;
mod gltf_support;

use dermis_io::{ErrorKind, ReadOptions};
use dermis_mesh::AlphaMode;
use dermis_mesh::pose::bake;
use glam::Vec3;
use gltf_support::variants::*;
use gltf_support::*;
use serde_json::json;

#[test]
fn quantized_positions_are_scaled_back() {
    let scene = read(&quantized());
    let mesh = &scene.objects[0].mesh;
    assert_eq!(mesh.point_count(), (SIDES * RINGS) as usize);
    let vertex_points = &mesh.layout().unwrap().vertex_points;
    for (&point, expected) in vertex_points.iter().zip(unit_positions()) {
        let expected = expected * Vec3::new(2.0, 3.5, 2.0);
        assert!(mesh.points()[point as usize].distance(expected) < 1e-4);
    }
    let normal = mesh.layout().unwrap().normals.as_ref().unwrap()[0];
    // (0, 1, −1) by the inverse transpose of the scale.
    assert!(normal.distance(Vec3::new(0.0, 1.0 / 3.5, -0.5).normalize()) < 1e-6, "{normal}");
}

#[test]
fn sparse_targets_and_splines_are_evaluated() {
    let scene = read(&sparse_morph());
    let object = &scene.objects[0];
    assert_eq!(object.mesh.triangles(), [[0, 1, 2], [2, 1, 3]]);
    let clip = &object.clips[0];
    assert_eq!((clip.start_seconds(), clip.frame_rate_hz(), clip.frame_count()), (0.5, 10.0, 11));
    let posed = bake(&object.mesh, object.rig.as_ref().unwrap(), clip).unwrap();
    // The spline through (0, 0) and (1, 1) with slopes 1 and 1 is the line.
    for frame in 0..11 {
        let z: Vec<f32> = posed.frame(frame).unwrap().iter().map(|p| p.z).collect();
        let t = frame as f32 / 10.0;
        assert!((z[0]).abs() < 1e-6 && (z[1] - t).abs() < 1e-6 && (z[3] - 2.0 * t).abs() < 1e-6, "{z:?} at {t}");
    }
}

#[test]
fn a_node_that_moves_becomes_a_joint() {
    let scene = read(&moving_node());
    let object = &scene.objects[0];
    let rig = object.rig.as_ref().unwrap();
    assert_eq!((object.name.as_str(), rig.joints().len(), rig.joints()[0].name.as_str()), ("leaf", 1, "turner"));
    // Mirrored, so the corners are reversed.
    assert_eq!(object.mesh.points()[1], Vec3::new(-1.0, 0.0, 5.0));
    assert_eq!(object.mesh.layout().map_or(object.mesh.triangles(), |l| &l.triangles), [[0, 2, 1]]);
    let posed = bake(&object.mesh, rig, &object.clips[0]).unwrap();
    assert_eq!((posed.frame_count(), posed.frame_rate_hz()), (11, 10.0));
    let tip = |frame: usize| posed.frame(frame).unwrap()[1];
    assert!(tip(0).distance(Vec3::new(-1.0, 0.0, 5.0)) < 1e-6);
    assert!(tip(5).distance(Vec3::new(0.0, -1.0, 6.0)) < 1e-6, "{}", tip(5));
    assert!(tip(10).distance(Vec3::new(1.0, 0.0, 7.0)) < 1e-6, "{}", tip(10));
    let eighth = std::f32::consts::FRAC_1_SQRT_2;
    let between = bake_at(&moving_node(), 4.0).1;
    assert!(between.distance(Vec3::new(-eighth, -eighth, 5.0)) < 1e-6, "{between}");
}

/// Point 1 in frames 0 and 1 at another rate.
fn bake_at(bytes: &[u8], rate: f64) -> (Vec3, Vec3) {
    let options = ReadOptions { frame_rate_hz: Some(rate), ..ReadOptions::default() };
    let scene = dermis_io::read_bytes("glb", bytes, &options).unwrap();
    let object = &scene.objects[0];
    let posed = bake(&object.mesh, object.rig.as_ref().unwrap(), &object.clips[0]).unwrap();
    (posed.frame(0).unwrap()[1], posed.frame(1).unwrap()[1])
}

#[test]
fn a_node_of_zero_scale_at_rest_does_not_flatten_its_mesh() {
    let bytes = moving_node();
    let mut json = json_of(&bytes);
    json["nodes"][0]["scale"] = json!([0.0, 0.0, 0.0]);
    json["animations"][0]["channels"][1]["target"]["path"] = json!("scale");
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let scene = read(&glb(&json, &bytes[28 + length..]));
    let object = &scene.objects[0];
    assert_eq!(object.mesh.points()[1], Vec3::new(-1.0, 0.0, 5.0));
    assert_eq!(object.rest_points()[1], object.rest_points()[0], "the stored pose is flat");
    let posed = bake(&object.mesh, object.rig.as_ref().unwrap(), &object.clips[0]).unwrap();
    assert!(posed.frame(10).unwrap()[1].distance(Vec3::new(0.0, 0.0, 10.0)) < 1e-5);
}

#[test]
fn meshoptimizer_streams_are_decompressed() {
    let scene = read(&meshopt_compressed());
    let mesh = &scene.objects[0].mesh;
    assert_eq!(mesh.point_count(), (SIDES * RINGS) as usize);
    assert_eq!(mesh.triangle_count(), 2 * tube().triangle_count(), "two primitives");
    let layout = mesh.layout().unwrap();
    assert_eq!(layout.vertex_count(), tube().vertex_count(), "primitives that share vertices still do");
    for (&point, expected) in layout.vertex_points.iter().zip(unit_positions()) {
        assert_eq!(mesh.points()[point as usize], expected);
    }
    assert!(layout.normals.as_ref().unwrap()[0].distance(Vec3::new(0.6, 0.0, 0.8)) < 0.02);
}

#[test]
fn draco_streams_are_decompressed() {
    let scene = read(&draco_compressed());
    let mesh = &scene.objects[0].mesh;
    assert_eq!((mesh.point_count(), mesh.triangle_count()), ((SIDES * RINGS) as usize, tube().triangle_count()));
    let expected = unit_positions();
    for point in mesh.points() {
        // 11 bits by default.
        assert!(expected.iter().any(|p| p.distance(*point) < 1e-3), "{point}");
    }
}

#[test]
fn weights_are_normalized_and_nodes_of_skinned_meshes_ignored() {
    let scene = read(&loose_skin());
    let object = &scene.objects[0];
    let rig = object.rig.as_ref().unwrap();
    let tree: Vec<_> = rig.joints().iter().map(|joint| (joint.name.as_str(), joint.parent)).collect();
    assert_eq!(tree, [("root", None), ("tip", Some(2)), ("between", Some(0))]);
    let rows: Vec<Vec<(u32, f32)>> = rig.weights().rows().map(Iterator::collect).collect();
    assert_eq!(rows, [vec![(0, 0.5), (1, 0.5)], vec![(1, 1.0)], vec![(0, 1.0)]]);
    let posed = bake(&object.mesh, rig, &object.clips[0]).unwrap();
    let last = posed.frame(posed.frame_count() - 1).unwrap();
    assert_eq!(last[..], [Vec3::new(0.0, 2.5, 0.0), Vec3::new(1.0, 5.0, 0.0), Vec3::new(0.0, 1.0, 0.0)]);
}

#[test]
fn embedded_data_matrices_masks_and_three_component_colours_are_read() {
    let scene = read(&embedded_text());
    let mesh = &scene.objects[0].mesh;
    assert_eq!(mesh.points(), [Vec3::new(0.0, 0.0, 7.0), Vec3::new(1.0, 0.0, 7.0), Vec3::new(0.0, 2.0, 7.0)]);
    let layout = mesh.layout().unwrap();
    assert_eq!(layout.colors[0][1], color(Vec3::X));
    assert_eq!(layout.materials[0].alpha_mode, AlphaMode::Mask { cutoff: 0.5 });
    assert_eq!(layout.materials[0].base_color_texture.as_ref().unwrap().image.mime_type, "image/png");
    assert!(scene.notes.iter().any(|note| note.message.contains("lines")), "{:?}", scene.notes);
}

#[test]
fn external_files_are_found_only_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut file: serde_json::Value = serde_json::from_slice(&embedded_text()).unwrap();
    let numbers: Vec<u8> =
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0f32].iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::create_dir(folder.path().join("in side")).unwrap();
    std::fs::write(folder.path().join("in side/the data.bin"), &numbers).unwrap();
    let path = folder.path().join("in side/a.gltf");
    let try_uri = |file: &mut serde_json::Value, uri: &str| {
        file["buffers"][0]["uri"] = json!(uri);
        std::fs::write(&path, file.to_string()).unwrap();
        dermis_io::read(path.to_str().unwrap(), &ReadOptions::default())
    };
    assert_eq!(try_uri(&mut file, "the%20data.bin").unwrap().objects.len(), 1);
    assert_eq!(try_uri(&mut file, "./the data.bin").unwrap().objects.len(), 1);
    let absolute = folder.path().join("in side/the data.bin");
    for uri in ["../in%20side/the data.bin", absolute.to_str().unwrap(), "missing.bin", "http://example.com/x.bin"] {
        let error = try_uri(&mut file, uri).unwrap_err();
        assert!(error.hint().is_some() && error.location() == Some("buffers[0]"), "{uri}: {error}");
    }
    file["images"][0]["uri"] = json!("missing.png");
    let scene = try_uri(&mut file, "the%20data.bin").unwrap();
    assert!(scene.notes.iter().any(|note| note.message.contains("missing.png")), "{:?}", scene.notes);
}

#[test]
fn unknown_required_extensions_are_reported() {
    let mut file: serde_json::Value = serde_json::from_slice(&embedded_text()).unwrap();
    file["extensionsUsed"] = json!(["KHR_materials_ior", "X_magic"]);
    let read_it =
        |file: &serde_json::Value| dermis_io::read_bytes("glb", file.to_string().as_bytes(), &ReadOptions::default());
    let scene = read_it(&file).unwrap();
    assert!(scene.notes.iter().any(|note| note.message.contains("KHR_materials_ior")));
    file["extensionsRequired"] = json!(["KHR_materials_ior", "X_magic"]);
    let error = read_it(&file).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(what) if what.contains("X_magic") && !what.contains("KHR")));
}
