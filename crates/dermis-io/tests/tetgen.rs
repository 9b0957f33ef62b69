//! `TetGen`'s pairs of files: round trips, broken files.

mod common;
mod scenes;

use dermis_io::tetgen::read_bytes;
use dermis_io::{Error, ReadOptions};
use dermis_mesh::Scene;
use scenes::{only, read, write, written};

const NODES: &str = "# made by hand\n4 3 1 1\n1 0 0 0 0.5 1\n2 1 0 0 0.5 1\n3 0 1 0 0.5 1\n4 0 0 1e0 0.5 1\n# end\n";
const ELEMENTS: &str = "1 4 1\n1 1 2 3 4 7\n";

fn read_pair(nodes: &str, elements: &str) -> Result<Scene, Error> {
    read_bytes(nodes.as_bytes(), Some(elements.as_bytes()), &ReadOptions::default())
}

#[test]
fn indices_count_from_the_first_node() {
    let scene = read_pair(NODES, ELEMENTS).unwrap();
    assert_eq!(only(&scene).tets.as_ref().unwrap().tetrahedra(), [[0, 1, 2, 3]]);
    let from_zero = "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n";
    let ten_nodes = "1 10 0\n0 0 1 2 3 0 0 0 0 0 0\n";
    let again = read_pair(from_zero, ten_nodes).unwrap();
    assert_eq!(only(&again).tets, only(&scene).tets);
    assert!(scenes::has_note(&again, "10 nodes"));
}

#[test]
fn either_file_identifies_the_pair() {
    let scene = scenes::tet_scene();
    let (_folder, path) = written(&scene, "shape.ele");
    assert_eq!(only(&read(&path).unwrap()).tets, only(&scene).tets);
    let nodes = path.with_extension("node");
    assert_eq!(only(&read(&nodes).unwrap()).tets, only(&scene).tets);
    std::fs::remove_file(&path).unwrap();
    let points = read(&nodes).unwrap();
    assert!(only(&points).tets.is_none() && scenes::has_note(&points, "no .ele file"));
}

#[test]
fn a_surface_alone_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    assert!(write(&folder.path().join("box.node"), &scenes::still_scene()).unwrap_err().hint().is_some());
}

#[test]
fn rejects_inconsistent_data() {
    for (from, to) in [
        ("1 1 2 3 4 7", "1 1 2 3 5 7"),
        ("1 1 2 3 4 7", "1 0 2 3 4 7"),
        ("1 4 1\n", "1 5 1\n"),
        ("1 4 1\n", "18446744073709551615 4 1\n"),
    ] {
        assert!(read_pair(NODES, &ELEMENTS.replace(from, to)).is_err(), "{to}");
    }
    for (from, to) in [
        ("4 3 1 1", "4 2 1 1"),
        ("4 3 1 1", "4000000000 3 1 1"),
        ("\n3 0 1", "\n5 0 1"),
        ("1e0", "nan"),
        ("4 3 1", "4 3 99"),
    ] {
        assert!(read_pair(&NODES.replace(from, to), ELEMENTS).is_err(), "{to}");
    }
}

#[test]
fn survives_damage() {
    let options = ReadOptions::default();
    common::assert_survives(&common::damage(NODES.as_bytes()), |bytes| {
        read_bytes(bytes, Some(ELEMENTS.as_bytes()), &options)
    });
    common::assert_survives(&common::damage(ELEMENTS.as_bytes()), |bytes| {
        read_bytes(NODES.as_bytes(), Some(bytes), &options)
    });
}
