//! Gmsh meshes: versions, text and binary, round trips, broken files.

mod common;
mod scenes;

use dermis_io::{Error, ReadOptions, read_bytes};
use dermis_mesh::Scene;
use scenes::{only, read, written};

fn read_default(bytes: &[u8]) -> Result<Scene, Error> {
    read_bytes("msh", bytes, &ReadOptions::default())
}

const TEXT_2: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"flesh\"\n$EndPhysicalNames\n$Nodes\n4\n\
                      7 0 0 0\n3 1 0 0\n4 0 1 0\n9 0 0 1e0\n$EndNodes\n$Elements\n3\n1 15 2 1 1 7\n2 2 2 1 1 7 4 3\n\
                      3 4 2 1 1 7 3 4 9\n$EndElements\n";

const TEXT_4: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n2 4 3 9\n2 1 0 3\n7\n3\n4\n0 0 0\n1 0 0\n0 1 0\n\
                      3 1 1 1\n9\n0 0 1 0.5 0.5 0.5\n$EndNodes\n$Elements\n2 2 1 2\n0 1 15 1\n1 7\n3 1 4 1\n2 7 3 4 9\n\
                      $EndElements\n";

fn binary_2() -> Vec<u8> {
    let mut bytes = b"$MeshFormat\n2.2 1 8\n".to_vec();
    bytes.extend(1i32.to_le_bytes());
    bytes.extend(b"\n$EndMeshFormat\n$Nodes\n4\n");
    for (tag, position) in [(7, [0.0; 3]), (3, [1.0, 0.0, 0.0]), (4, [0.0, 1.0, 0.0]), (9, [0.0, 0.0, 1.0f64])] {
        bytes.extend(i32::to_le_bytes(tag));
        bytes.extend(position.iter().flat_map(|x| x.to_le_bytes()));
    }
    bytes.extend(b"\n$EndNodes\n$Elements\n2\n");
    for number in [15, 1, 2, 1, 1, 1, 7, 4, 1, 2, 2, 1, 1, 7, 3, 4, 9] {
        bytes.extend(i32::to_le_bytes(number));
    }
    bytes.extend(b"\n$EndElements\n");
    bytes
}

fn binary_4() -> Vec<u8> {
    let mut bytes = b"$MeshFormat\n4.1 1 8\n".to_vec();
    bytes.extend(1i32.to_le_bytes());
    bytes.extend(b"\n$EndMeshFormat\n$Nodes\n");
    bytes.extend([1i64, 4, 3, 9].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend([3i32, 1, 0].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend([4i64, 7, 3, 4, 9].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend([0.0f64, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0].iter().flat_map(|x| x.to_le_bytes()));
    bytes.extend(b"\n$EndNodes\n$Elements\n");
    bytes.extend([1i64, 1, 1, 1].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend([3i32, 1, 4].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend([1i64, 1, 7, 3, 4, 9].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(b"\n$EndElements\n");
    bytes
}

#[test]
fn all_versions_yield_the_same_mesh() {
    for bytes in [TEXT_2.as_bytes().to_vec(), TEXT_4.as_bytes().to_vec(), binary_2(), binary_4()] {
        let scene = read_default(&bytes).unwrap();
        let tets = only(&scene).tets.as_ref().unwrap();
        assert_eq!(tets.tetrahedra(), [[0, 1, 2, 3]]);
        assert_eq!(tets.volumes(), [1.0 / 6.0]);
        assert_eq!(only(&scene).mesh.triangle_count(), 4);
    }
    assert!(scenes::has_note(&read_default(TEXT_2.as_bytes()).unwrap(), "1 of type 15"));
}

#[test]
fn tetrahedra_and_surfaces_round_trip() {
    for scene in [scenes::tet_scene(), scenes::still_scene()] {
        let (_folder, path) = written(&scene, "shape.msh");
        let back = read(&path).unwrap();
        scenes::assert_same_topology(&only(&back).mesh, &only(&scene).mesh);
        assert_eq!(only(&back).tets, only(&scene).tets);
    }
}

#[test]
fn rejects_inconsistent_data() {
    for (from, to) in [
        ("7 3 4 9", "7 3 4 8"),
        ("3 4 2 1 1", "3 99 2 1 1"),
        ("3 4 2 1 1", "3 4 -2 1 1"),
        ("$Nodes\n4", "$Nodes\n4000000000000"),
        ("$Elements\n3", "$Elements\n-3"),
        ("3 1 0 0", "7 1 0 0"),
        ("0 0 1e0", "0 0 nan"),
        ("2.2 0 8", "1.0 0 8"),
        ("2.2 0 8", "2.2 1 8"),
        ("$MeshFormat\n2", "$Mesh\n2"),
        ("$EndElements", "$End"),
    ] {
        assert!(read_default(TEXT_2.replace(from, to).as_bytes()).is_err(), "{to}");
    }
}

#[test]
fn survives_damage() {
    for valid in [TEXT_2.as_bytes().to_vec(), TEXT_4.as_bytes().to_vec(), binary_2(), binary_4()] {
        read_default(&valid).unwrap();
        common::assert_survives(&common::damage(&valid), read_default);
    }
}
