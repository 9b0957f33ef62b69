//! Mesh operators on real files: closed and open surfaces, and suspicious geometry.
#![allow(missing_docs, reason = "tests")]

mod common;

use dermis_io::ReadOptions;
use dermis_math::progress::NoProgress;
use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{boundary_edges, boundary_loops, is_closed};
use dermis_mesh::problems::{self, ProblemKind};
use dermis_mesh::shells::shells;
use dermis_mesh::volume::volume;
use dermis_mesh::{Object, TriMesh};

fn first_object(name: &str) -> Option<Object> {
    let path = common::shared_data(name)?;
    let scene = dermis_io::read(path.to_str().expect("a path in UTF-8"), &ReadOptions::default()).expect(name);
    scene.objects.into_iter().next()
}

fn edges(mesh: &TriMesh) -> Edges {
    Edges::new(mesh.point_count(), mesh.triangles())
}

#[test]
fn cesium_man_is_closed_as_points_though_its_vertices_are_split() {
    let Some(object) = first_object("rigs/CesiumMan.glb") else { return };
    let mesh = &object.mesh;
    assert_eq!((mesh.vertex_count(), mesh.point_count()), (3273, 2338));
    assert!(is_closed(&edges(mesh)));
    assert_eq!(shells(mesh.point_count(), mesh.triangles()).count, 1);
    assert!(volume(mesh.points(), mesh.triangles()) > 0.0);
}

#[test]
fn closed_characters_are_closed_and_have_no_problems() {
    for name in ["rigs/Fox.glb", "rigs/horse-animations.glb", "sequences/cat-poses.npz", "sequences/pdance.npz"] {
        let Some(object) = first_object(name) else { return };
        assert!(is_closed(&edges(&object.mesh)), "{name}");
        let found = problems::of_object(&object, &NoProgress).expect(name);
        let serious: Vec<_> = found.iter().filter(|problem| !problem.kind.is_harmless()).collect();
        assert!(serious.is_empty(), "{name}: {serious:?}");
    }
}

#[test]
fn the_galloping_horse_is_open_along_nineteen_edges() {
    let Some(object) = first_object("sequences/horse-gallop.npz") else { return };
    let edges = edges(&object.mesh);
    assert!(!is_closed(&edges));
    assert_eq!(boundary_edges(&edges).len(), 19);
    assert_eq!(boundary_loops(&edges).iter().map(Vec::len).collect::<Vec<_>>(), [16, 3]);
    let found = problems::of_mesh(&object.mesh);
    assert_eq!(found.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [ProblemKind::OpenBoundary]);
}

#[test]
fn a_shirt_is_open_at_its_waist_neck_and_sleeves() {
    let Some(object) = first_object("sequences/vto_tshirt_shape00_128_02.npz") else { return };
    assert_eq!(boundary_loops(&edges(&object.mesh)).len(), 4);
}
