//! OBJ: round trips, files as other programs write them, broken files, a real file.

mod common;
mod scenes;

use std::sync::Arc;

use dermis_io::{Error, ErrorKind, ReadOptions, read_bytes};
use dermis_mesh::glam::{Vec3, Vec4};
use dermis_mesh::{Image, Object, Sampler, Scene, Texture};
use scenes::{only, read, write, written};

fn read_default(bytes: &[u8]) -> Result<Scene, Error> {
    read_bytes("obj", bytes, &ReadOptions::default())
}

fn read_text(text: &str) -> Result<Scene, Error> {
    read_default(text.as_bytes())
}

#[test]
fn a_shape_keeps_seams_polygons_and_materials() {
    let scene = scenes::still_scene();
    let (_folder, path) = written(&scene, "box.obj");
    let back = read(&path).unwrap();
    let (found, expected) = (&only(&back).mesh, &only(&scene).mesh);
    assert_eq!(only(&back).name, "box");
    scenes::assert_same_topology(found, expected);
    scenes::assert_same_uvs(found, expected);
    scenes::assert_same_normals(found, expected);
    // Rounded by the conversion to sRGB and back.
    scenes::assert_same_colors(found, expected, 1e-5);
    let (found, expected) = (found.layout().unwrap(), expected.layout().unwrap());
    assert_eq!((&found.materials, &found.triangle_materials), (&expected.materials, &expected.triangle_materials));
    assert_eq!(back.notes, []);
}

#[test]
fn images_are_written_next_to_the_file_and_found_again() {
    let mut mesh = scenes::dressed_box();
    let mut layout = mesh.layout().unwrap().clone();
    let image = |name: &str, byte: u8| Image { name: name.into(), mime_type: "image/png".into(), bytes: vec![byte; 9] };
    let texture =
        |image: Image| Texture { image: Arc::new(image), uv_set: 0, factor: 1.0, sampler: Sampler::default() };
    layout.materials[0].base_color_texture = Some(texture(image("../skin.png", 1)));
    layout.materials[1].base_color_texture = Some(texture(image("skin.png", 2)));
    mesh = mesh.with_layout(layout).unwrap();
    let scene = Scene { objects: vec![Object::of_mesh("box", Arc::new(mesh))], ..Scene::default() };
    let (folder, path) = written(&scene, "box.obj");
    let mut files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["box.mtl", "box.obj", "box_skin.png", "box_skin_2.png"]);
    let back = read(&path).unwrap();
    let materials = &only(&back).mesh.layout().unwrap().materials;
    let bytes = |at: usize| materials[at].base_color_texture.as_ref().unwrap().image.bytes[0];
    assert_eq!((bytes(0), bytes(1)), (1, 2));
    write(&folder.path().join("other.obj"), &scene).unwrap();
    assert!(folder.path().join("other_skin.png").exists(), "shapes in one folder have separate images");
    let (again, _) = written(&back, "box.obj");
    assert!(again.path().join("box_skin.png").exists(), "the prefix is not repeated");
}

#[test]
fn reads_the_notations_of_other_programs() {
    let text = "# made elsewhere\r\no thing\r\nmtllib none.mtl\r\nv 0 0 0 1.0\r\nv 1e0 0.0 0 \r\n\tv 1 1. 0\r\nv .0 1 -0\r\n\
                vt 0.5 0.25\r\nvn 0 0 1\r\ng a b\r\ns off\r\nf -4/1/1 -3/1/1 \\\r\n  -2/1/1 -1/1/1\r\nusemtl red paint\r\n\
                f 1//1 2//1 3//1\r\nl 1 2\r\nf 1 2";
    let scene = read_text(text).unwrap();
    let mesh = &only(&scene).mesh;
    assert_eq!(mesh.points(), [Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.0), Vec3::Y]);
    assert_eq!(mesh.triangles(), [[0, 1, 2], [0, 2, 3], [0, 1, 2]]);
    let layout = mesh.layout().unwrap();
    assert_eq!(layout.triangle_materials, [1, 1, 0]);
    assert_eq!((layout.materials[0].name.as_str(), layout.materials[1].name.as_str()), ("red paint", ""));
    assert_eq!(only(&scene).name, "thing");
    for note in ["3 corners have no UV", "1 faces with fewer than 3 corners", "statements skipped: l"] {
        assert!(scenes::has_note(&scene, note), "{note}: {:?}", scene.notes);
    }
}

#[test]
fn points_are_neither_merged_nor_dropped() {
    let scene = read_text("v 0 0 0\nv 0 0 0\nv 1 0 0\nv 9 9 9\nv 0 1 0\nf 2 3 5\n").unwrap();
    assert_eq!(only(&scene).mesh.point_count(), 5);
    assert_eq!(only(&scene).mesh.triangles(), [[1, 2, 4]]);
}

#[test]
fn colours_after_positions_are_srgb() {
    let scene = read_text("v 0 0 0 1 0.5 0\nv 1 0 0 1 1 1\nv 0 1 0\nf 1 2 3").unwrap();
    let colors = &only(&scene).mesh.layout().unwrap().colors[0];
    assert!(colors[0].distance(Vec4::new(1.0, 0.214_041, 0.0, 1.0)) < 1e-5, "{}", colors[0]);
    assert_eq!(colors[2], Vec4::ONE);
}

#[test]
fn rejects_broken_lines_with_their_numbers() {
    for (text, line) in [
        ("v 0 0 0\nv 1 0\n", "line 2"),
        ("v 0 0 x\n", "line 1"),
        ("v 0 0 0\n\nf 1 2 0\n", "line 3"),
        ("v 0 0 0\nf 1 2 -5\n", "line 2"),
        ("v 0 0 0\nf 1 2 99999999999\n", "line 2"),
        ("v 0 0 0\nf 1 2 /1\n", "line 2"),
    ] {
        assert_eq!(read_text(text).unwrap_err().location(), Some(line), "{text}");
    }
    for text in ["", "hello", "v 0 0 0\nf 1 2 3\n", "v nan 0 0", "v 1e99 0 0", "v 0 0 0\nvt 0 0\nf 1/2 1/1 1/1"] {
        assert!(read_text(text).is_err(), "{text}");
    }
}

#[test]
fn a_moving_shape_needs_numbered_files() {
    let folder = tempfile::tempdir().unwrap();
    let error = write(&folder.path().join("box.obj"), &scenes::moving_scene()).unwrap_err();
    assert!(error.hint().unwrap().contains("box.%04d.obj"), "{error:?}");
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn survives_damage() {
    let (_folder, path) = written(&scenes::still_scene(), "box.obj");
    let dressed = std::fs::read(path).unwrap();
    let plain = b"v 0 0 0\nv 1 0 0 # comment\nv 0 1 0\nv 1 1 1\nf -4 -3 -2 -1\nf 1 2 \\\n 3\n".to_vec();
    for valid in [dressed, plain] {
        read_default(&valid).unwrap();
        common::assert_survives(&common::damage(&valid), read_default);
    }
    // Polygons with many corners, flat and self-intersecting.
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().concat();
    let corners = lines(20_000, &|k| format!(" {}", k * 7919 % 100 + 1));
    let points = lines(100, &|k| format!("v {} {} 0\n", k % 10, k * k % 37));
    let many = lines(200, &|k| format!("f{}\n", &corners[..3000 + k]));
    let huge = vec![
        ("one huge polygon".to_owned(), format!("{points}f{corners}\n").into_bytes()),
        ("many large polygons".to_owned(), format!("{points}{many}").into_bytes()),
    ];
    common::assert_survives(&huge, read_default);
}

#[test]
fn the_real_body_is_closed_and_survives_a_round_trip() {
    let Some(path) = common::shared_data("bodies/human_man.obj") else { return };
    let scene = read(&path).unwrap();
    assert_eq!((only(&scene).mesh.point_count(), only(&scene).mesh.triangle_count()), (6890, 13776));
    let (_folder, target) = written(&scene, "again.obj");
    scenes::assert_same_topology(&only(&read(&target).unwrap()).mesh, &only(&scene).mesh);
}
