//! Scenes to write, and raw glTF files to read.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod variants;

use std::path::Path;
use std::sync::Arc;

use dermis_io::{ReadOptions, WriteOptions};
use dermis_math::progress::NoProgress;
use dermis_mesh::{
    Clip, Deformer, Image, Joint, Layout, Material, Object, Rig, Sampler, Scene, Shape, SkinWeights, StoredDeformer,
    Texture, TriMesh, Units, UpAxis, Values,
};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec2, Vec3, Vec4};
use serde_json::{Value, json};

/// Number of points around and along the tube.
pub(crate) const SIDES: u32 = 8;
pub(crate) const RINGS: u32 = 6;

/// glTF's own units.
pub(crate) const METRES: Units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };

/// One red pixel.
const PNG: [u8; 69] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49,
    0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xc9, 0xfe, 0x92, 0xef,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A tube along y with a UV seam and two materials.
pub(crate) fn tube() -> TriMesh {
    let point = |ring: u32, side: u32| {
        let angle = (side as f32 / SIDES as f32) * std::f32::consts::TAU;
        Vec3::new(angle.cos(), ring as f32 * 0.7, angle.sin())
    };
    let points: Vec<Vec3> = (0..RINGS).flat_map(|ring| (0..SIDES).map(move |side| point(ring, side))).collect();
    // Each ring has one vertex more than points, because of the seam.
    let around = SIDES + 1;
    let vertex_points: Vec<u32> =
        (0..RINGS).flat_map(|ring| (0..around).map(move |side| ring * SIDES + side % SIDES)).collect();
    let quads = (0..RINGS - 1).flat_map(|ring| (0..SIDES).map(move |side| ring * around + side));
    let triangles: Vec<[u32; 3]> =
        quads.flat_map(|v| [[v, v + around, v + 1], [v + 1, v + around, v + around + 1]]).collect();
    let over_points = triangles.iter().map(|t| t.map(|v| vertex_points[v as usize])).collect();
    let uv = |vertex: usize| {
        let (ring, side) = (vertex as u32 / around, vertex as u32 % around);
        Vec2::new(side as f32 / SIDES as f32, ring as f32 / RINGS as f32)
    };
    let count = vertex_points.len();
    let normals = vertex_points.iter().map(|&p| Vec3::new(points[p as usize].x, 0.0, points[p as usize].z).normalize());
    let image = Arc::new(Image { name: "red".into(), mime_type: "image/png".into(), bytes: PNG.to_vec() });
    let texture =
        Texture { image, uv_set: 0, factor: 1.0, sampler: Sampler { mag_filter: Some(9729), ..Sampler::default() } };
    let red = Material { name: "red".into(), base_color_texture: Some(texture), metallic: 0.25, ..Material::default() };
    let blue =
        Material { name: "blue".into(), base_color: [0.0, 0.25, 1.0, 0.5], double_sided: true, ..Material::default() };
    let layout = Layout {
        normals: Some(normals.collect()),
        uvs: vec![(0..count).map(uv).collect()],
        colors: vec![(0..count).map(|v| Vec4::new(v as f32 / count as f32, 0.5, 0.25, 1.0)).collect()],
        materials: vec![red, blue],
        triangle_materials: (0..triangles.len()).map(|t| u32::from(t >= triangles.len() / 2)).collect(),
        vertex_points,
        triangles,
        ..Layout::default()
    };
    TriMesh::new(points, over_points).unwrap().with_layout(layout).unwrap()
}

/// A chain of `joints` joints along the tube that bends (and, on request, shears) over `frames` frames in each clip.
pub(crate) fn rigged(joints: usize, frames: usize, clips: usize, shear: f64) -> Object {
    let mesh = Arc::new(tube());
    let height = 0.7 * f64::from(RINGS - 1);
    let step = height / joints as f64;
    let bind = |joint: usize| DAffine3::from_translation(DVec3::new(0.0, joint as f64 * step, 0.0));
    let described = (0..joints).map(|j| Joint::at(format!("joint {j}"), j.checked_sub(1), bind(j))).collect();
    let row = |point: &Vec3| {
        let at = f64::from(point.y) / step;
        let (low, t) = ((at.floor() as usize).min(joints - 1), (at.fract() as f32).clamp(0.0, 1.0));
        let high = (low + 1).min(joints - 1);
        if high == low { vec![(low as u32, 1.0)] } else { vec![(low as u32, 1.0 - t), (high as u32, t)] }
    };
    let weights = SkinWeights::from_rows(mesh.points().iter().map(row));
    let rig = Rig::new(&mesh, described, weights, vec![]).unwrap();
    let pose = |phase: f64| -> Vec<DAffine3> {
        let mut world = DAffine3::IDENTITY;
        (0..joints)
            .map(|joint| {
                let offset = DVec3::new(0.0, if joint == 0 { 0.0 } else { step }, 0.0);
                world *= DAffine3::from_rotation_translation(DQuat::from_rotation_z(0.4 * phase.sin()), offset);
                let sheared = DMat3::from_cols_array(&[1.0, shear * phase.cos(), 0.0, 0.0, 1.0, 0.0, shear, 0.0, 1.0]);
                world * DAffine3::from_mat3(sheared)
            })
            .collect()
    };
    let clips = (0..clips)
        .map(|clip| {
            let transforms = (0..frames).flat_map(|frame| pose(frame as f64 * 0.3 + clip as f64)).collect();
            Clip::new(&rig, format!("clip {clip}"), 24.0, transforms, vec![]).unwrap().starting_at(0.5)
        })
        .collect();
    Object::of_rig("tube", mesh, rig, clips)
}

/// The tube with two shapes, one of which changes normals, and a clip of their weights.
pub(crate) fn morphing() -> Object {
    let mesh = Arc::new(tube());
    let vertices = mesh.vertex_count();
    let bulge = mesh.points().iter().map(|p| 0.3 * Vec3::new(p.x, 0.0, p.z) * (p.y - 1.0)).collect();
    let lift = mesh.points().iter().map(|p| Vec3::new(0.0, 0.1 * p.x, 0.0)).collect();
    let shapes = vec![
        Shape {
            name: "bulge".into(),
            offsets: bulge,
            normal_offsets: Some(vec![Vec3::new(0.0, 0.125, 0.0); vertices]),
        },
        Shape { name: "lift".into(), offsets: lift, normal_offsets: None },
    ];
    let rig = Rig::new(&mesh, vec![], SkinWeights::default(), shapes).unwrap();
    let weights = (0..10).flat_map(|frame| [frame as f32 / 9.0, 1.0 - frame as f32 / 18.0]).collect();
    let clip = Clip::new(&rig, "morph", 30.0, vec![], weights).unwrap();
    Object::of_rig("tube", mesh, rig, vec![clip])
}

/// A layer with numbers of every kind.
pub(crate) fn deformer() -> Deformer {
    let buffers = [
        ("floats", Values::F32(vec![0.5, -3.25, 1e-20])),
        ("integers", Values::U32(vec![7, u32::MAX, 1 << 24 | 1])),
        ("bits", Values::U16(vec![0x3c00, u16::MAX, 1])),
    ];
    let buffers = buffers.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
    let settings = serde_json::from_str(r#"{"strength":2,"type":"melt"}"#).unwrap();
    Deformer::Unknown(StoredDeformer { settings, buffers })
}

pub(crate) fn scene_of(objects: Vec<Object>) -> Scene {
    Scene { objects, units: METRES, notes: vec![] }
}

/// The bytes of `scene` as a `.glb`.
pub(crate) fn glb_of(scene: &Scene) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.glb");
    write(&path, scene);
    std::fs::read(path).unwrap()
}

pub(crate) fn write(path: &Path, scene: &Scene) -> dermis_io::Written {
    dermis_io::write(path, scene, &WriteOptions::default(), &NoProgress).unwrap()
}

pub(crate) fn read(bytes: &[u8]) -> Scene {
    dermis_io::read_bytes("glb", bytes, &ReadOptions::default()).unwrap()
}

/// The scene after it was written to and read from a file with the given extension.
pub(crate) fn round_trip(scene: &Scene, extension: &str) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("a file.{extension}"));
    write(&path, scene);
    let read = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    // Mapped data must have been copied by now.
    for object in &read.objects {
        assert!(object.base_motion().unwrap().is_none_or(|motion| motion.load().is_ok()));
    }
    read
}

/// The JSON of a `.glb`.
pub(crate) fn json_of(glb: &[u8]) -> Value {
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&glb[20..20 + length]).unwrap()
}

/// A `.glb` of `json` and `binary`.
pub(crate) fn glb(json: &Value, binary: &[u8]) -> Vec<u8> {
    let mut json = serde_json::to_vec(json).unwrap();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut binary = binary.to_vec();
    binary.resize(binary.len().next_multiple_of(4), 0);
    let total = 12 + 8 + json.len() + 8 + binary.len();
    let mut bytes = b"glTF".to_vec();
    bytes.extend([2, total as u32, json.len() as u32].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(b"JSON");
    bytes.extend(json);
    bytes.extend((binary.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    bytes.extend(binary);
    bytes
}

/// A raw file to which accessors are added.
#[derive(Default)]
pub(crate) struct Raw {
    pub(crate) views: Vec<Value>,
    pub(crate) accessors: Vec<Value>,
    pub(crate) binary: Vec<u8>,
}

impl Raw {
    /// Adds a buffer view with `bytes` and returns its index.
    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        self.views.push(json!({ "buffer": 0, "byteOffset": self.binary.len(), "byteLength": bytes.len() }));
        self.binary.extend(bytes);
        self.views.len() - 1
    }

    /// Adds an accessor over `bytes` and returns its index.
    pub(crate) fn accessor(&mut self, bytes: &[u8], component: u32, shape: &str, count: usize) -> usize {
        let view = self.view(bytes);
        self.accessors.push(json!({ "bufferView": view, "componentType": component, "count": count, "type": shape }));
        self.accessors.len() - 1
    }

    pub(crate) fn floats(&mut self, numbers: &[f32], shape: &str, width: usize) -> usize {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.accessor(&bytes, 5126, shape, numbers.len() / width)
    }

    /// The file with the given other parts.
    pub(crate) fn finish(self, mut rest: Value) -> Vec<u8> {
        rest["asset"] = json!({ "version": "2.0" });
        rest["accessors"] = json!(self.accessors);
        rest["bufferViews"] = json!(self.views);
        let buffers = rest["buffers"].as_array().cloned().unwrap_or_default();
        let mut all = vec![json!({ "byteLength": self.binary.len() })];
        all.extend(buffers);
        rest["buffers"] = json!(all);
        glb(&rest, &self.binary)
    }
}
