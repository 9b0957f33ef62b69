//! Medit meshes: round trips, broken files, real files.

mod common;
mod scenes;

use dermis_io::{Error, ReadOptions, read_bytes};
use dermis_mesh::Scene;
use scenes::{only, read, write, written};

fn read_default(bytes: &[u8]) -> Result<Scene, Error> {
    read_bytes("mesh", bytes, &ReadOptions::default())
}

const TETRAHEDRON: &str = "MeshVersionFormatted 2\nDimension\n3\n# corners\nVertices\n4\n0 0 0 1\n1 0 0 1\n0 1 0 1\n\
                           0 0 1e0 1\nCorners\n2\n1\n2\nTetrahedra 1\n1 2 3 4 7\nEnd\n";

#[test]
fn tetrahedra_give_their_boundary() {
    let scene = read_default(TETRAHEDRON.as_bytes()).unwrap();
    let object = only(&scene);
    assert_eq!(object.tets.as_ref().unwrap().tetrahedra(), [[0, 1, 2, 3]]);
    assert_eq!((object.mesh.point_count(), object.mesh.triangle_count()), (4, 4));
    assert!(scenes::has_note(&scene, "sections skipped: Corners"));
}

#[test]
fn tetrahedra_and_surfaces_round_trip() {
    for scene in [scenes::tet_scene(), scenes::still_scene()] {
        let (_folder, path) = written(&scene, "shape.mesh");
        let back = read(&path).unwrap();
        scenes::assert_same_topology(&only(&back).mesh, &only(&scene).mesh);
        assert_eq!(only(&back).tets, only(&scene).tets);
    }
}

#[test]
fn a_moving_shape_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let error = write(&folder.path().join("box.mesh"), &scenes::moving_scene()).unwrap_err();
    assert!(error.hint().is_some());
}

#[test]
fn rejects_inconsistent_data() {
    for (from, to) in [
        ("1 2 3 4 7", "1 2 3 5 7"),
        ("1 2 3 4 7", "0 2 3 4 7"),
        ("1 2 3 4 7", "1 2 3 -4 7"),
        ("Vertices\n4", "Vertices\n4000000000000"),
        ("Tetrahedra 1", "Tetrahedra 18446744073709551615"),
        ("0 0 1e0 1", "0 0 nan 1"),
        ("Dimension\n3", "Dimension\n2"),
        ("MeshVersion", "Mesh"),
        ("Vertices", "Points"),
        ("Corners", "12"),
    ] {
        assert!(read_default(TETRAHEDRON.replace(from, to).as_bytes()).is_err(), "{to}");
    }
}

#[test]
fn survives_damage() {
    let (_folder, path) = written(&scenes::still_scene(), "box.mesh");
    for valid in [std::fs::read(path).unwrap(), TETRAHEDRON.as_bytes().to_vec()] {
        read_default(&valid).unwrap();
        common::assert_survives(&common::damage(&valid), read_default);
    }
}

#[test]
fn real_files_have_the_documented_counts() {
    for (name, nodes, tetrahedra) in [("tets/spot.mesh", 837, 2288), ("tets/spot_high.mesh", 1762, 4678)] {
        let Some(path) = common::shared_data(name) else { continue };
        let scene = read(&path).unwrap();
        let object = only(&scene);
        let tets = object.tets.as_ref().unwrap();
        assert_eq!((tets.nodes().len(), tets.tetrahedra().len()), (nodes, tetrahedra), "{name}");
        let (_folder, target) = written(&scene, "again.mesh");
        assert_eq!(only(&read(&target).unwrap()).tets, object.tets);
    }
}
