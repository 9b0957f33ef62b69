//! PLY: round trips, files as other programs write them, broken files.

mod common;
mod scenes;

use dermis_io::{Error, ReadOptions, read_bytes};
use dermis_mesh::Scene;
use dermis_mesh::glam::{Vec2, Vec3, Vec4};
use scenes::{only, read, written};

fn read_default(bytes: &[u8]) -> Result<Scene, Error> {
    read_bytes("ply", bytes, &ReadOptions::default())
}

fn text(head: &str, body: &str) -> Vec<u8> {
    format!("ply\nformat ascii 1.0\n{head}end_header\n{body}").into_bytes()
}

const VERTICES: &str = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
const FACES: &str = "element face 1\nproperty list uchar int vertex_indices\n";

/// A square as two triangles whose shared edge is split, in any encoding, with every scalar type.
fn square(encoding: &str) -> Vec<u8> {
    let head = "comment made elsewhere\nelement camera 1\nproperty double focus\nproperty list uchar char name\n\
                element vertex 6\nproperty double x\nproperty float y\nproperty short z\nproperty float nx\n\
                property float ny\nproperty float nz\nproperty float u\nproperty float v\nproperty uchar red\n\
                property ushort green\nproperty float blue\nproperty float quality\nproperty int group\n\
                element face 2\nproperty uint flags\nproperty list ushort uint vertex_index\n";
    let mut bytes = format!("ply\nformat {encoding} 1.0\n{head}end_header\n").into_bytes();
    let mut put = |number: f64, kind: char| {
        let stored = match kind {
            'c' => vec![number as u8],
            's' => (number as u16).to_be_bytes().to_vec(),
            'i' => (number as u32).to_be_bytes().to_vec(),
            'f' => (number as f32).to_be_bytes().to_vec(),
            _ => number.to_be_bytes().to_vec(),
        };
        match encoding {
            "ascii" => bytes.extend(format!("{number} ").bytes()),
            "binary_little_endian" => bytes.extend(stored.iter().rev()),
            _ => bytes.extend(stored),
        }
    };
    put(50.0, 'd');
    put(2.0, 'c');
    put(104.0, 'c');
    put(105.0, 'c');
    for (vertex, (x, y)) in [(0, 0), (1, 0), (1, 1), (0, 0), (1, 1), (0, 1)].into_iter().enumerate() {
        let surface = [(0.0, 'f'), (0.0, 'f'), (1.0, 'f'), (vertex as f64 / 8.0, 'f'), (0.25, 'f')];
        let rest = [(255.0, 'c'), (65535.0, 's'), (1.0, 'f'), (f64::from(x + 2 * y), 'f'), (7.0, 'i')];
        put(f64::from(x), 'd');
        put(f64::from(y), 'f');
        put(3.0, 's');
        surface.into_iter().chain(rest).for_each(|(number, kind)| put(number, kind));
    }
    for face in [[0, 1, 2], [3, 4, 5]] {
        put(1.0, 'i');
        put(3.0, 's');
        for corner in face {
            put(f64::from(corner), 'i');
        }
    }
    bytes
}

#[test]
fn every_encoding_yields_the_same_mesh() {
    for encoding in ["ascii", "binary_little_endian", "binary_big_endian"] {
        let scene = read_default(&square(encoding)).unwrap();
        let object = only(&scene);
        assert_eq!(object.mesh.point_count(), 4, "vertices at the same position are one point: {encoding}");
        assert_eq!(object.mesh.triangles(), [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(object.mesh.points()[3], Vec3::new(0.0, 1.0, 3.0));
        let layout = object.mesh.layout().unwrap();
        assert_eq!((layout.vertex_count(), layout.colors[0][0]), (6, Vec4::ONE));
        assert_eq!(layout.uvs[0][1], Vec2::new(0.125, 0.75));
        assert_eq!(object.attributes["quality"], [0.0, 1.0, 3.0, 2.0]);
        assert_eq!(object.attributes["group"], [7.0; 4]);
        assert!(scenes::has_note(&scene, "elements skipped: camera"));
        assert!(scenes::has_note(&scene, "6 vertices have 4 positions"));
    }
}

#[test]
fn a_shape_keeps_its_seams() {
    let mut scene = scenes::still_scene();
    scene.objects[0].attributes.insert("stiffness".into(), (0..9).map(|k| k as f32).collect());
    let (_folder, path) = written(&scene, "box.ply");
    let back = read(&path).unwrap();
    let (found, expected) = (only(&back), only(&scene));
    scenes::assert_same_topology(&found.mesh, &expected.mesh);
    scenes::assert_same_uvs(&found.mesh, &expected.mesh);
    scenes::assert_same_normals(&found.mesh, &expected.mesh);
    scenes::assert_same_colors(&found.mesh, &expected.mesh, 1e-2);
    assert_eq!(found.attributes, expected.attributes);
}

#[test]
fn points_without_faces_keep_their_colours() {
    let head = "element vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\n\
                property uchar green\nproperty uchar blue\n";
    let scene = read_default(&text(head, "0 0 0 255 0 0\n0 0 0 0 0 255\n")).unwrap();
    assert_eq!(only(&scene).mesh.point_count(), 2);
    assert_eq!(only(&scene).mesh.layout().unwrap().colors[0][1], Vec4::new(0.0, 0.0, 1.0, 1.0));
}

#[test]
fn rejects_inconsistent_data() {
    let body = "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    let valid = format!("{VERTICES}{FACES}");
    read_default(&text(&valid, body)).unwrap();
    let points = VERTICES.to_owned() + "property int point\n";
    for (what, head, body) in [
        ("a corner that does not exist", valid.as_str(), "0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n"),
        ("a negative corner", &valid, "0 0 0\n1 0 0\n0 1 0\n3 0 1 -1\n"),
        ("a negative list", &valid, "0 0 0\n1 0 0\n0 1 0\n-3 0 1 2\n"),
        ("a list beyond the file", &valid, "0 0 0\n1 0 0\n0 1 0\n250 0 1 2\n"),
        ("a position that is not finite", &valid, "0 0 0\nnan 0 0\n0 1 0\n3 0 1 2\n"),
        ("a word for a number", &valid, "0 0 0\n1 zero 0\n0 1 0\n3 0 1 2\n"),
        ("vertices without z", "element vertex 1\nproperty float x\nproperty float y\n", "0 0\n"),
        ("more vertices than bytes", "element vertex 4000000000\nproperty float x\n", "0 0\n"),
        ("elements without properties", "element vertex 18446744073709551615\n", "0 0\n"),
        ("strange elements without properties", "element strange 18446744073709551615\n", "0 0\n"),
        ("no vertices", "", ""),
        ("an unknown type", "element vertex 1\nproperty quad x\n", "0\n"),
        ("a property without an element", "property float x\n", "0\n"),
        ("vertices of one point at different positions", &points, "0 0 0 0\n1 0 0 0\n0 1 0 1\n"),
        ("a point without vertices", &points, "0 0 0 0\n1 0 0 2\n0 1 0 2\n"),
        ("more points than vertices", &points, "0 0 0 0\n1 0 0 4000000000\n0 1 0 2\n"),
    ] {
        assert!(read_default(&text(head, body)).is_err(), "{what}");
    }
    assert!(read_default(b"ply\nformat ascii 1.0\n").is_err());
    assert!(read_default(b"plywood\n").is_err());
}

#[test]
fn survives_damage() {
    let (_folder, path) = written(&scenes::still_scene(), "box.ply");
    let mut inputs = vec![std::fs::read(path).unwrap()];
    inputs.extend(["ascii", "binary_little_endian", "binary_big_endian"].map(square));
    for valid in inputs {
        read_default(&valid).unwrap();
        common::assert_survives(&common::damage(&valid), read_default);
    }
}
