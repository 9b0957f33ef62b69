//! Scenes for the tests of Alembic.

use std::sync::Arc;

use dermis_io::{ReadOptions, WriteOptions, read_bytes};
use dermis_math::progress::NoProgress;
use dermis_mesh::polygons::PolygonMesh;
use dermis_mesh::{CornerData, Material, MeshSequence, Object, Polygons, Scene};
use glam::{Vec2, Vec3, Vec4};

use crate::common::SplitMix;

pub(crate) fn written(scene: &Scene) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.abc");
    dermis_io::write(&target, scene, &WriteOptions::default(), &NoProgress).unwrap();
    std::fs::read(target).unwrap()
}

pub(crate) fn read_back(bytes: &[u8]) -> Scene {
    read_bytes("abc", bytes, &ReadOptions::default()).unwrap()
}

pub(crate) fn scene_of(objects: Vec<Object>) -> Scene {
    Scene { objects, ..Scene::default() }
}

/// A closed prism with a hexagon at each end, UV seams, hard normals, colours and two materials.
pub(crate) fn prism() -> PolygonMesh {
    let ring = |k: u32| Vec2::from_angle(k as f32 * std::f32::consts::TAU / 6.0);
    let points = (0..12).map(|k| ring(k % 6).extend(if k < 6 { 0.0 } else { 2.0 })).collect();
    let mut corners: Vec<u32> = (0..6).rev().chain(6..12).collect();
    corners.extend((0..6).flat_map(|k| [k, (k + 1) % 6, 6 + (k + 1) % 6, 6 + k]));
    let sizes = vec![6, 6, 4, 4, 4, 4, 4, 4];
    let side = |k: u32| Vec2::from_angle((k as f32 + 0.5) * std::f32::consts::TAU / 6.0).extend(0.0);
    let normals: Vec<Vec3> = [Vec3::NEG_Z, Vec3::Z].into_iter().chain((0..6).map(side)).collect();
    let faces: Vec<u32> = sizes.iter().zip(0u32..).flat_map(|(&size, face)| vec![face; size as usize]).collect();
    let count = corners.len() as u32;
    PolygonMesh {
        points,
        polygons: Polygons { sizes, corners },
        normals: Some(CornerData { values: normals, indices: faces.clone() }),
        uvs: vec![
            CornerData {
                values: (0..count).map(|k| Vec2::new(k as f32 / 64.0, 0.25)).collect(),
                indices: (0..count).collect(),
            },
            CornerData { values: vec![Vec2::new(0.5, 0.75)], indices: vec![0; count as usize] },
        ],
        colors: vec![CornerData {
            values: vec![Vec4::new(0.1, 0.2, 0.3, 1.0), Vec4::ONE],
            indices: faces.iter().map(|face| face % 2).collect(),
        }],
        materials: ["caps", "sides"].map(|name| Material { name: name.into(), ..Material::default() }).to_vec(),
        polygon_materials: vec![0, 0, 1, 1, 1, 1, 1, 1],
    }
}

pub(crate) fn wobbling(frames: usize, rate: f64, start: f64) -> MeshSequence {
    let mesh = Arc::new(prism().into_tri_mesh().unwrap());
    let mut random = SplitMix(7);
    let mut positions = mesh.points().to_vec();
    for _ in 1..frames {
        positions.extend(mesh.points().iter().map(|point| point + Vec3::splat(random.unit())));
    }
    MeshSequence::new(mesh, positions, rate).unwrap().starting_at(start)
}
