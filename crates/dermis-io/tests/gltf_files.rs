//! glTF with other files, other image formats, sparse indices, other versions and hidden nodes.

use std::path::Path;

use dermis_io::{Error, ReadOptions, WriteOptions};
use dermis_math::progress::NoProgress;
use dermis_mesh::Scene;

fn read(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    dermis_io::read(path.to_str().unwrap(), options)
}

fn read_text(json: &str) -> Result<Scene, Error> {
    dermis_io::read_bytes("gltf", json.as_bytes(), &ReadOptions::default())
}

/// A triangle whose positions are in the file `uri`; `more` is added to the JSON.
fn triangle(uri: &str, more: &str) -> String {
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],"buffers":[{{"uri":"{uri}","byteLength":36}}],
        "bufferViews":[{{"buffer":0,"byteLength":36}}],"accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}]{more}}}"#
    )
}

fn positions() -> Vec<u8> {
    [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn parent_folders_are_read_inside_the_project_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    std::fs::create_dir_all(root.join("models")).unwrap();
    std::fs::create_dir_all(root.join("data")).unwrap();
    std::fs::write(root.join("data/mesh.bin"), positions()).unwrap();
    let path = root.join("models/a.gltf");
    std::fs::write(&path, triangle("../data/mesh.bin", "")).unwrap();
    let error = read(&path, &ReadOptions::default()).unwrap_err();
    assert!(error.hint().unwrap().contains("root folder"), "{error} {:?}", error.hint());
    assert!(read(&path, &ReadOptions { allow_parent: true, ..ReadOptions::default() }).is_ok());
    assert!(read(&path, &ReadOptions { root: Some(root.clone()), ..ReadOptions::default() }).is_ok());
    std::fs::create_dir(root.join(".git")).unwrap();
    assert!(read(&path, &ReadOptions::default()).is_ok());
    std::fs::write(folder.path().join("outside.bin"), positions()).unwrap();
    std::fs::write(&path, triangle("../../outside.bin", "")).unwrap();
    assert!(read(&path, &ReadOptions::default()).is_err());
}

#[test]
fn webp_and_ktx2_images_are_kept_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mesh.bin"), [positions(), vec![0; 24]].concat()).unwrap();
    for (name, extension, bytes) in [
        ("a.webp", "EXT_texture_webp", b"RIFF\x04\0\0\0WEBPdata".to_vec()),
        ("a.ktx2", "KHR_texture_basisu", b"\xabKTX 20\xbb\r\n\x1a\nrest".to_vec()),
    ] {
        std::fs::write(folder.path().join(name), &bytes).unwrap();
        let more = format!(
            r#","extensionsUsed":["{extension}"],"extensionsRequired":["{extension}"],"images":[{{"uri":"{name}"}}],
            "textures":[{{"extensions":{{"{extension}":{{"source":0}}}}}}],
            "materials":[{{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":0}}}}}}]"#
        );
        let json = triangle("mesh.bin", &more)
            .replace(r#""byteLength":36}],"#, r#""byteLength":60}],"#)
            .replace(
                r#"[{"buffer":0,"byteLength":60}]"#,
                r#"[{"buffer":0,"byteLength":36},{"buffer":0,"byteOffset":36,"byteLength":24}]"#,
            )
            .replace(
                r#""type":"VEC3"}]"#,
                r#""type":"VEC3"},{"bufferView":1,"componentType":5126,"count":3,"type":"VEC2"}]"#,
            )
            .replace(r#"{"POSITION":0}}"#, r#"{"POSITION":0,"TEXCOORD_0":1},"material":0}"#);
        let path = folder.path().join("a.gltf");
        std::fs::write(&path, json).unwrap();
        let check = |scene: &Scene| {
            let materials = scene.objects[0].mesh.to_polygon_mesh().materials;
            assert_eq!(materials[0].base_color_texture.as_ref().unwrap().image.bytes, bytes, "{name}");
        };
        let scene = read(&path, &ReadOptions::default()).unwrap();
        check(&scene);
        assert!(scene.notes.iter().all(|note| !note.message.contains(extension)), "{:?}", scene.notes);
        let written = folder.path().join("b.glb");
        dermis_io::write(&written, &scene, &WriteOptions { force: true, ..WriteOptions::default() }, &NoProgress)
            .unwrap();
        check(&read(&written, &ReadOptions::default()).unwrap());
        let text = String::from_utf8_lossy(&std::fs::read(&written).unwrap()).into_owned();
        assert!(text.contains(&format!(r#""extensionsRequired":["{extension}"]"#)), "{name}");
    }
}

#[test]
fn sparse_indices_are_substituted() {
    let data: Vec<u8> = [
        positions(),
        [1.0f32, 1.0, 0.0].iter().flat_map(|number| number.to_le_bytes()).collect(),
        vec![0, 1, 2, 0],
        vec![1, 0, 0, 0],
        vec![3, 0, 0, 0],
    ]
    .concat();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mesh.bin"), &data).unwrap();
    let json = r#"{"asset":{"version":"2.0"},"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],"buffers":[{"uri":"mesh.bin","byteLength":60}],
        "bufferViews":[{"buffer":0,"byteLength":48},{"buffer":0,"byteOffset":48,"byteLength":4},
            {"buffer":0,"byteOffset":52,"byteLength":4},{"buffer":0,"byteOffset":56,"byteLength":4}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3"},
            {"bufferView":1,"componentType":5121,"count":3,"type":"SCALAR","sparse":{"count":1,
                "indices":{"bufferView":2,"componentType":5121},"values":{"bufferView":3}}}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1}]}]}"#;
    let path = folder.path().join("a.gltf");
    std::fs::write(&path, json).unwrap();
    let scene = read(&path, &ReadOptions::default()).unwrap();
    let mesh = &scene.objects[0].mesh;
    let corners: Vec<_> = mesh.triangles()[0].iter().map(|&point| mesh.points()[point as usize].to_array()).collect();
    assert_eq!(corners, [[0.0; 3], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
    std::fs::write(&path, json.replace(r#""count":3,"type":"SCALAR""#, r#""count":1,"type":"SCALAR""#)).unwrap();
    assert!(read(&path, &ReadOptions::default()).unwrap_err().to_string().contains("past the 1 elements"));
}

#[test]
fn older_versions_are_rejected_by_name() {
    for (json, version) in [
        (r#"{"asset":{"version":"1.0"},"nodes":{"a":{}},"meshes":{}}"#, "glTF 1.0"),
        (r#"{"nodes":{"a":{}},"accessors":{}}"#, "glTF 1.0"),
        (r#"{"asset":{"version":"0.8"},"nodes":{}}"#, "glTF 0.8"),
        (r#"{"asset":{"version":"1.1"},"nodes":[]}"#, "glTF 1.1"),
    ] {
        let error = read_text(json).unwrap_err();
        assert!(error.to_string().contains(version), "{error}");
        assert!(error.hint().unwrap().contains("glTF 2.0"));
    }
}

#[test]
fn rejects_writing_an_empty_scene() {
    let empty =
        read_text(r#"{"asset":{"version":"2.0"},"scenes":[{"nodes":[0]}],"nodes":[{"name":"empty"}]}"#).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.glb", "a.usdc", "a.fbx", "a.abc"] {
        let path = folder.path().join(name);
        let error = dermis_io::write(&path, &empty, &WriteOptions::default(), &NoProgress).unwrap_err();
        assert!(error.to_string().contains("nothing to write"), "{error}");
        assert!(!path.exists());
    }
}
