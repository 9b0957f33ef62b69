//! FBX beyond linear skins: in-betweens, dual quaternions, geometry caches, and textures in other files.

use std::path::Path;

use dermis_io::ReadOptions;
use dermis_mesh::glam::Vec3;
use dermis_mesh::{Deformer, Object, Scene};

/// A quad on two bones, one of which rises by two units within a second; a shape that lifts one corner; a material.
const QUAD: &str = include_str!("fixtures/quad.fbx");

fn read(text: &str) -> Scene {
    dermis_io::read_bytes("fbx", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn read_file(path: &Path) -> Scene {
    dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap()
}

/// The quad with more objects and connections.
fn quad_with(objects: &str, connections: &str) -> String {
    assert!(QUAD.contains("\tModel: 3,") && QUAD.contains("\tC: \"OO\",3,0"), "the text contains the insertion points");
    QUAD.replacen("\tModel: 3,", &format!("{objects}\tModel: 3,"), 1).replacen(
        "\tC: \"OO\",3,0",
        &format!("{connections}\tC: \"OO\",3,0"),
        1,
    )
}

fn frame(object: &Object, frame: usize) -> Vec<Vec3> {
    object.base_motion().unwrap().unwrap().frame(frame).unwrap().into_owned()
}

fn near(found: Vec3, expected: [f32; 3]) {
    assert!(found.distance(Vec3::from(expected)) < 1e-5, "{found} is not {expected:?}");
}

#[test]
fn in_betweens_are_reached_at_their_weights() {
    let half = "\tGeometry: 7, \"Geometry::Half\", \"Shape\" {\n\t\tVersion: 100\n\t\tIndexes: *1 {\n\t\t\ta: 3\n\t\t}\n\
                \t\tVertices: *3 {\n\t\t\ta: 2,0,0\n\t\t}\n\t}\n";
    let text = quad_with(half, "\tC: \"OO\",7,21\n");
    let text = text.replace("FullWeights: *1 {\n\t\t\ta: 100", "FullWeights: *2 {\n\t\t\ta: 50,100");
    let scene = read(&text);
    let object = &scene.objects[0];
    let names: Vec<&str> = object.rig.as_ref().unwrap().shapes().iter().map(|shape| shape.name.as_str()).collect();
    assert_eq!(names, ["Lift_50", "Lift"]);
    assert!(scene.notes.iter().all(|note| !note.message.contains("in-between")), "{:?}", scene.notes);
    // The weight of the channel rises from 0 to 1 within 24 frames.
    for (at, expected) in [
        (0, [0.0, 1.0, 0.0]),
        (6, [1.0, 1.0, 0.0]),
        (12, [2.0, 1.0, 0.0]),
        (18, [1.0, 1.0, 0.5]),
        (24, [0.0, 1.0, 1.0]),
    ] {
        near(frame(object, at)[3], expected);
    }
}

#[test]
fn dual_quaternion_skins_are_layers() {
    let skin = "\"Skin\" {\n\t\tVersion: 101\n";
    let dual = QUAD.replace(skin, &format!("{skin}\t\tSkinningType: \"DualQuaternion\"\n"));
    let scene = read(&dual);
    assert_eq!(scene.objects[0].deformers.iter().map(Deformer::kind).collect::<Vec<_>>(), ["dual_quaternions"]);
    assert!(read(QUAD).objects[0].deformers.is_empty());
    // glTF keeps the layer.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dual.glb");
    dermis_io::write(&path, &scene, &dermis_io::WriteOptions::default(), &dermis_math::progress::NoProgress).unwrap();
    assert_eq!(read_file(&path).objects[0].deformers, scene.objects[0].deformers);
}

/// A PC2 file of `frames`, one per frame from 0.
fn pc2(frames: &[[[f32; 3]; 4]]) -> Vec<u8> {
    let mut bytes = b"POINTCACHE2\0".to_vec();
    bytes.extend(1i32.to_le_bytes().into_iter().chain(4i32.to_le_bytes()));
    bytes.extend(0f32.to_le_bytes().into_iter().chain(1f32.to_le_bytes()));
    bytes.extend((frames.len() as i32).to_le_bytes());
    bytes.extend(frames.iter().flatten().flatten().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// The quad with a geometry cache in the file `name`.
fn cached_quad(name: &str) -> String {
    let property = |name: &str, value: &str| format!("\t\t\tP: \"{name}\", \"KString\", \"\", \"\", \"{value}\"\n");
    let objects = format!(
        "\tDeformer: 40, \"Deformer::Cache\", \"VertexCacheDeformer\" {{\n\t\tVersion: 100\n\t}}\n\
         \tCache: 41, \"Cache::Cache\", \"\" {{\n\t\tVersion: 100\n\t\tProperties70:  {{\n{}{}\
         \t\t\tP: \"CacheFileType\", \"enum\", \"\", \"\",1\n\t\t}}\n\t}}\n",
        property("CacheFileName", name),
        property("CacheAbsoluteFileName", &format!("D:\\elsewhere\\{name}")),
    );
    quad_with(&objects, "\tC: \"OO\",40,1\n\tC: \"OO\",41,40\n")
}

#[test]
fn geometry_caches_replace_the_skin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quad.fbx");
    std::fs::create_dir(folder.path().join("quad_fpc")).unwrap();
    std::fs::write(&path, cached_quad("quad_fpc\\cache.pc2")).unwrap();
    let shape = |z: f32| [[0.0, 0.0, z], [1.0, 0.0, z], [1.0, 1.0, z], [0.0, 1.0, 2.0 * z]];
    std::fs::write(folder.path().join("quad_fpc/cache.pc2"), pc2(&[shape(0.0), shape(0.5), shape(1.0)])).unwrap();
    let scene = read_file(&path);
    let object = &scene.objects[0];
    assert!(object.rig.is_none());
    let sequence = object.sequence.as_ref().unwrap();
    assert_eq!((sequence.frame_count(), sequence.frame_rate_hz()), (3, 24.0));
    near(frame(object, 1)[3], [0.0, 1.0, 1.0]);
    near(frame(object, 2)[0], [0.0, 0.0, 1.0]);
    // A missing cache is reported, and the skin is used.
    std::fs::remove_dir_all(folder.path().join("quad_fpc")).unwrap();
    let scene = read_file(&path);
    assert!(scene.objects[0].rig.is_some());
    assert!(scene.notes.iter().any(|note| note.message.contains("the geometry cache is skipped")), "{:?}", scene.notes);
}

#[test]
fn rejects_a_cache_of_another_mesh() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quad.fbx");
    std::fs::write(&path, cached_quad("cache.pc2")).unwrap();
    let mut bytes = pc2(&[[[0.0; 3]; 4]; 2]);
    bytes[16] = 3;
    std::fs::write(folder.path().join("cache.pc2"), bytes).unwrap();
    let error = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("4 points"), "{error}");
}

#[test]
fn textures_are_found_next_to_the_file() {
    let texture = "\tTexture: 50, \"Texture::Skin\", \"\" {\n\t\tType: \"TextureVideoClip\"\n\t\tVersion: 202\n\
                   \t\tFileName: \"C:\\work\\skin.png\"\n\t\tRelativeFilename: \"..\\textures\\skin.png\"\n\t}\n";
    let text = quad_with(texture, "\tC: \"OP\",50,6, \"DiffuseColor\"\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quad.fbx");
    std::fs::write(&path, text).unwrap();
    let scene = read_file(&path);
    assert!(scene.notes.iter().any(|note| note.message.contains("base colour texture")), "{:?}", scene.notes);
    let png = b"\x89PNG\r\n\x1a\nrest";
    std::fs::write(folder.path().join("skin.png"), png).unwrap();
    let scene = read_file(&path);
    let materials = scene.objects[0].mesh.to_polygon_mesh().materials;
    let image = &materials[0].base_color_texture.as_ref().unwrap().image;
    assert_eq!(
        (image.name.as_str(), image.mime_type.as_str(), image.bytes.as_slice()),
        ("skin.png", "image/png", &png[..])
    );
}
