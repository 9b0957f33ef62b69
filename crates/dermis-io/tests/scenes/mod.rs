//! Scenes that use everything that a format can store, and comparisons of the results of round trips.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis_io::{Error, ReadOptions, WriteOptions, Written};
use dermis_math::progress::NoProgress;
use dermis_mesh::glam::{DAffine3, DQuat, DVec3, Vec2, Vec3, Vec4};
use dermis_mesh::{
    Clip, CornerData, Joint, Material, MeshSequence, Object, PolygonMesh, Polygons, Rig, Scene, Shape, SkinWeights,
    TetMesh, TriMesh, Units, UpAxis,
};

/// The quads of a box, over its eight corners.
const BOX: [[u32; 4]; 6] = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];

/// A box of quads with an unused additional point, UV seams, flat normals, colours and two materials.
pub fn dressed_box() -> TriMesh {
    let corner = |k: u32| Vec3::new((k & 1) as f32, (k >> 1 & 1) as f32 * 1.5, (k >> 2 & 1) as f32 / 3.0);
    let mut points: Vec<Vec3> = (0..8).map(corner).collect();
    points.push(Vec3::new(0.1, -7.25, 1e-3));
    let corners: Vec<u32> = BOX.as_flattened().to_vec();
    let face_of_corner: Vec<u32> = (0..24).map(|corner| corner / 4).collect();
    let normals = [Vec3::NEG_Z, Vec3::Z, Vec3::NEG_Y, Vec3::Y, Vec3::NEG_X, Vec3::X];
    let material =
        |name: &str, red: f32| Material { name: name.into(), base_color: [red, 0.25, 0.5, 1.0], ..Material::default() };
    PolygonMesh {
        colors: vec![CornerData {
            values: (0..9).map(|k| Vec4::new(if k % 2 == 0 { 1.0 } else { 0.0 }, 1.0, 0.0, 1.0)).collect(),
            indices: corners.clone(),
        }],
        polygons: Polygons { sizes: vec![4; 6], corners },
        normals: Some(CornerData { values: normals.to_vec(), indices: face_of_corner }),
        uvs: vec![CornerData {
            values: (0..24).map(|k| Vec2::new(k as f32 / 32.0, 0.25 + k as f32 / 64.0)).collect(),
            indices: (0..24).collect(),
        }],
        materials: vec![material("skin", 0.75), material("cloth", 0.5)],
        polygon_materials: vec![0, 1, 0, 1, 1, 0],
        points,
    }
    .into_tri_mesh()
    .unwrap()
}

/// `frames` frames in which the points of `mesh` swing; the first is not the rest pose.
pub fn swinging(mesh: TriMesh, frames: usize, frame_rate_hz: f64) -> MeshSequence {
    let swing =
        |frame: usize, point: Vec3| point + Vec3::new(0.1, 0.0, 0.3) * ((frame + 1) as f32 * 0.7 + point.y).sin();
    let positions = (0..frames).flat_map(|frame| mesh.points().iter().map(move |&point| swing(frame, point))).collect();
    MeshSequence::new(Arc::new(mesh), positions, frame_rate_hz).unwrap()
}

pub fn moving_scene() -> Scene {
    let mut object = Object::of_sequence("box", swinging(dressed_box(), 7, 30.0).starting_at(0.5));
    object.attributes.insert("stiffness".into(), (0..9).map(|k| k as f32 * 0.5).collect());
    Scene { objects: vec![object], ..Scene::default() }
}

pub fn still_scene() -> Scene {
    Scene { objects: vec![Object::of_mesh("box", Arc::new(dressed_box()))], ..Scene::default() }
}

/// Two tetrahedra and an unused node.
pub fn tet_scene() -> Scene {
    let nodes = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::ONE, Vec3::splat(1.0 / 3.0)];
    let tets = TetMesh::new(nodes, vec![[0, 1, 2, 3], [1, 2, 3, 4]]).unwrap();
    let mut object = Object::of_mesh("tets", Arc::new(tets.surface()));
    object.tets = Some(Arc::new(tets));
    Scene { objects: vec![object], ..Scene::default() }
}

/// Three joints, one of them with a bind transform that cannot be inverted, two shapes, a clip, tetrahedra, units.
pub fn rigged_scene() -> Scene {
    let mesh = Arc::new(dressed_box());
    let bind = |x: f64| DAffine3::from_rotation_translation(DQuat::from_rotation_z(x), DVec3::new(x, 0.5, -x));
    let mut joints = vec![
        Joint::at("root", None, bind(0.0)),
        Joint::at("arm", Some(0), bind(0.7)),
        Joint::at("hånd", Some(1), bind(1.1)),
    ];
    joints[2].inverse_bind.matrix3.z_axis = DVec3::ZERO;
    let weights = SkinWeights::from_rows((0..9u32).map(|k| [(k % 3, 0.75f32), ((k + 1) % 3, 0.25)]));
    let shape = |name: &str, amount: f32| Shape {
        name: name.into(),
        offsets: (0..9).map(|k| Vec3::Y * amount * k as f32).collect(),
        normal_offsets: Some(vec![Vec3::X * amount; mesh.vertex_count()]),
    };
    let rig = Rig::new(&mesh, joints, weights, vec![shape("bulge", 0.125), shape("smile", -0.5)]).unwrap();
    let pose = |frame: usize, joint: usize| bind(0.2 * frame as f64 + joint as f64);
    let transforms = (0..5).flat_map(|frame| (0..3).map(move |joint| pose(frame, joint))).collect();
    let clip = Clip::new(&rig, "wave", 25.0, transforms, (0..10).map(|k| k as f32 / 8.0).collect()).unwrap();
    let mut object = Object::of_rig("box", Arc::clone(&mesh), rig, vec![clip.starting_at(2.0)]);
    object.tets = Some(Arc::new(TetMesh::new(mesh.points().to_vec(), vec![[0, 1, 2, 4], [3, 1, 2, 7]]).unwrap()));
    let units = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };
    Scene { objects: vec![object], units, ..Scene::default() }
}

pub fn write(target: &Path, scene: &Scene) -> Result<Written, Error> {
    dermis_io::write(target, scene, &WriteOptions::default(), &NoProgress)
}

pub fn read(source: &Path) -> Result<Scene, Error> {
    dermis_io::read(source.to_str().unwrap(), &ReadOptions::default())
}

/// Writes `scene` as `name` into a new folder.
pub fn written(scene: &Scene, name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join(name);
    write(&target, scene).unwrap();
    (folder, target)
}

/// The only object of a scene.
pub fn only(scene: &Scene) -> &Object {
    assert_eq!(scene.objects.len(), 1);
    &scene.objects[0]
}

/// The same points and faces, in the same order, bit for bit.
pub fn assert_same_topology(found: &TriMesh, expected: &TriMesh) {
    assert_eq!(found.points(), expected.points());
    assert_eq!(found.triangles(), expected.triangles());
    assert_eq!(found.to_polygon_mesh().polygons, expected.to_polygon_mesh().polygons);
}

/// The same UVs at every corner, up to the rounding of flipping them.
pub fn assert_same_uvs(found: &TriMesh, expected: &TriMesh) {
    let uvs = |mesh: &TriMesh| -> Vec<Vec2> {
        let polygons = mesh.to_polygon_mesh();
        polygons.uvs[0].indices.iter().map(|&index| polygons.uvs[0].values[index as usize]).collect()
    };
    for (found, expected) in uvs(found).iter().zip(uvs(expected)) {
        assert!(found.distance(expected) < 1e-6, "{found} {expected}");
    }
}

/// The same normals at every corner.
pub fn assert_same_normals(found: &TriMesh, expected: &TriMesh) {
    let normals = |mesh: &TriMesh| -> Vec<Vec3> {
        let normals = mesh.to_polygon_mesh().normals.unwrap();
        normals.indices.iter().map(|&index| normals.values[index as usize]).collect()
    };
    assert_eq!(normals(found), normals(expected));
}

/// The same colours at every corner, to `tolerance`.
pub fn assert_same_colors(found: &TriMesh, expected: &TriMesh, tolerance: f32) {
    let colors = |mesh: &TriMesh| -> Vec<Vec4> {
        let polygons = mesh.to_polygon_mesh();
        polygons.colors[0].indices.iter().map(|&index| polygons.colors[0].values[index as usize]).collect()
    };
    for (found, expected) in colors(found).iter().zip(colors(expected)) {
        assert!(found.distance(expected) <= tolerance, "{found} {expected}");
    }
}

/// The same frames, bit for bit.
pub fn assert_same_frames(found: &MeshSequence, expected: &MeshSequence) {
    assert_eq!(found.frame_count(), expected.frame_count());
    for frame in 0..expected.frame_count() {
        assert_eq!(found.frame(frame).unwrap(), expected.frame(frame).unwrap(), "frame {frame}");
    }
}

pub fn has_note(scene: &Scene, part: &str) -> bool {
    scene.notes.iter().any(|note| note.message.contains(part))
}
