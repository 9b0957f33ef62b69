//! Generated scenes with everything that USD files can contain.

use std::f64::consts::TAU;
use std::sync::Arc;

use dermis_mesh::glam::{DAffine3, DMat3, DQuat, DVec3, Vec2, Vec3, Vec4};
use dermis_mesh::{
    AlphaMode, Clip, CornerData, Image, Joint, Material, MeshSequence, Object, PolygonMesh, Polygons, Rig, Sampler,
    Scene, Shape, SkinWeights, Texture, TriMesh, Units, UpAxis,
};

const RINGS: usize = 9;
const SIDES: usize = 6;

/// Objects of every kind in one scene.
pub(crate) fn everything() -> Scene {
    let objects = vec![rigged("arm"), recorded("flag"), still("rock"), shapes_only("face"), travelling("ball")];
    let units = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };
    Scene { objects, units, notes: Vec::new() }
}

/// A scene of one object.
pub(crate) fn alone(object: Object) -> Scene {
    Scene { objects: vec![object], ..Scene::default() }
}

/// A tube of quads along x, closed by two hexagons, with UVs that have a seam, normals, and two materials.
pub(crate) fn tube() -> TriMesh {
    let point = |ring: usize, side: usize| {
        let angle = side as f32 / SIDES as f32 * std::f32::consts::TAU;
        Vec3::new(ring as f32 * 0.25, angle.cos() * 0.3, angle.sin() * 0.3)
    };
    let points: Vec<Vec3> = (0..RINGS).flat_map(|ring| (0..SIDES).map(move |side| point(ring, side))).collect();
    let (mut sizes, mut corners, mut uvs, mut normals) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ring in 0..RINGS - 1 {
        for side in 0..SIDES {
            for (r, s) in [(ring, side), (ring + 1, side), (ring + 1, side + 1), (ring, side + 1)] {
                corners.push((r * SIDES + s % SIDES) as u32);
                uvs.push(Vec2::new(r as f32 / 8.0, s as f32 / SIDES as f32));
                normals.push((point(r, s % SIDES) * Vec3::new(0.0, 1.0, 1.0)).normalize());
            }
            sizes.push(4);
        }
    }
    let quads = sizes.len();
    for (ring, normal) in [(0, Vec3::NEG_X), (RINGS - 1, Vec3::X)] {
        for side in 0..SIDES {
            let side = if ring == 0 { side } else { SIDES - 1 - side };
            corners.push((ring * SIDES + side) as u32);
            uvs.push(Vec2::splat(0.5));
            normals.push(normal);
        }
        sizes.push(SIDES as u32);
    }
    let polygon_materials = (0..sizes.len()).map(|face| u32::from(face >= quads)).collect();
    let all = (0..corners.len() as u32).collect::<Vec<u32>>();
    let mesh = PolygonMesh {
        points,
        polygons: Polygons { sizes, corners },
        normals: Some(CornerData { values: normals, indices: all.clone() }),
        uvs: vec![CornerData { values: uvs, indices: all }],
        colors: Vec::new(),
        materials: materials(),
        polygon_materials,
    };
    mesh.into_tri_mesh().unwrap()
}

fn materials() -> Vec<Material> {
    let image = Arc::new(Image { name: "skin map.png".into(), mime_type: "image/png".into(), bytes: png() });
    let texture = |factor| Texture { image: Arc::clone(&image), uv_set: 0, factor, sampler: Sampler::default() };
    let skin = Material {
        name: "Skin #1".into(),
        base_color: [0.9, 0.7, 0.6, 1.0],
        base_color_texture: Some(texture(1.0)),
        normal_texture: Some(texture(1.0)),
        metallic_roughness_texture: Some(texture(1.0)),
        roughness: 0.4,
        ..Material::default()
    };
    let glass = Material {
        name: "glass".into(),
        base_color: [0.1, 0.2, 0.3, 0.5],
        emissive: [0.0, 0.25, 0.5],
        metallic: 1.0,
        alpha_mode: AlphaMode::Blend,
        ..Material::default()
    };
    vec![skin, glass]
}

/// A minimal image: one grey pixel.
pub(crate) fn png() -> Vec<u8> {
    const PIXEL: &[u8] = &[
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1,
        8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x68, 0, 0, 0,
        0x82, 0, 0x81, 0x77, 0xcd, 0x72, 0xb6, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    ];
    PIXEL.to_vec()
}

/// Three joints in a chain that bend the tube, scaled as a figure in centimetres, and two blend shapes.
pub(crate) fn rigged(name: &str) -> Object {
    let mesh = Arc::new(tube());
    let bind = |joint: usize| {
        let place = DVec3::new(joint as f64, 0.0, 0.0);
        DAffine3::from_scale_rotation_translation(DVec3::splat(0.01), DQuat::from_rotation_y(0.3), place)
    };
    let joint = |joint: usize| Joint::at(["root joint", "elbow", "elbow"][joint], joint.checked_sub(1), bind(joint));
    // The joints are listed children first, as some files do.
    let mut joints: Vec<Joint> = (0..3).rev().map(joint).collect();
    for joint in &mut joints {
        joint.parent = joint.parent.map(|parent| 2 - parent);
    }
    let weights = SkinWeights::from_rows(mesh.points().iter().map(|point| {
        let along = f64::from(point.x).min(2.0);
        let (before, t) = (along.floor() as u32, (along - along.floor()) as f32);
        if t == 0.0 { vec![(2 - before, 1.0)] } else { vec![(2 - before, 1.0 - t), (1 - before, t)] }
    }));
    let rig = Rig::new(&mesh, joints, weights, shapes(&mesh)).unwrap();
    let clip = |name: &str, frames: usize, speed: f64| {
        let (mut transforms, mut shape_weights) = (Vec::new(), Vec::new());
        for frame in 0..frames {
            let angle = speed * frame as f64;
            let turn = DAffine3::from_quat(DQuat::from_rotation_z(angle) * DQuat::from_rotation_x(0.5 * angle));
            let local = |joint: usize| if joint == 0 { bind(0) } else { bind(joint - 1).inverse() * bind(joint) };
            let (mut place, mut chain) = (DAffine3::from_translation(DVec3::Y * angle), Vec::new());
            for joint in 0..3 {
                place = place * local(joint) * turn;
                chain.push(place);
            }
            transforms.extend(chain.into_iter().rev());
            shape_weights.extend([angle.sin() as f32, 0.5]);
        }
        Clip::new(&rig, name, 30.0, transforms, shape_weights).unwrap().starting_at(0.1)
    };
    let clips = vec![clip("bend & twist", 7, 0.2), clip("twist", 3, -0.4)];
    Object::of_rig(name, mesh, rig, clips)
}

fn shapes(mesh: &TriMesh) -> Vec<Shape> {
    let points = mesh.points();
    let bulge = |p: &Vec3| Vec3::new(0.0, p.y, p.z) * (1.0 - (p.x - 1.0).abs()).max(0.0);
    let normal_offsets = Some(vec![Vec3::new(0.1, 0.0, 0.0); mesh.vertex_count()]);
    vec![
        Shape { name: "bulge".into(), offsets: points.iter().map(bulge).collect(), normal_offsets },
        Shape { name: "längs".into(), offsets: vec![Vec3::new(0.05, 0.0, 0.0); points.len()], normal_offsets: None },
    ]
}

/// A waving grid with vertex colours and a painted attribute.
pub(crate) fn recorded(name: &str) -> Object {
    let columns = 5usize;
    let place = |index: usize| (index % columns, index / columns);
    let count = columns * columns;
    let position = |index: usize, frame: usize| {
        let (x, y) = place(index);
        let wave = (x as f64 * 0.7 + frame as f64 * 0.4).sin() * 0.3;
        Vec3::new(x as f32 * 0.5, wave as f32, y as f32 * 0.5)
    };
    let mut corners = Vec::new();
    for index in 0..count {
        let (x, y) = place(index);
        if x + 1 < columns && y + 1 < columns {
            corners.extend([index, index + columns, index + columns + 1, index + 1].map(|corner| corner as u32));
        }
    }
    let colors = (0..count).map(|index| Vec4::new(index as f32 / count as f32, 0.5, 0.25, 0.75)).collect();
    let mesh = PolygonMesh {
        points: (0..count).map(|index| position(index, 0)).collect(),
        polygons: Polygons { sizes: vec![4; corners.len() / 4], corners: corners.clone() },
        colors: vec![CornerData { values: colors, indices: corners }],
        ..PolygonMesh::default()
    };
    let mesh = Arc::new(mesh.into_tri_mesh().unwrap());
    let positions = (0..6).flat_map(|frame| (0..count).map(move |index| position(index, frame))).collect();
    let sequence = MeshSequence::new(mesh, positions, 24.0).unwrap().starting_at(1.0 / 24.0);
    let mut object = Object::of_sequence(name, sequence);
    object.attributes.insert("stiffness".into(), (0..count).map(|index| index as f32).collect());
    object
}

/// A tetrahedron that does not move.
pub(crate) fn still(name: &str) -> Object {
    let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
    let mesh = TriMesh::new(points, vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]).unwrap();
    Object::of_mesh(name, Arc::new(mesh))
}

/// A mesh that only blend shapes move.
pub(crate) fn shapes_only(name: &str) -> Object {
    let mesh = Arc::new(tube());
    let rig = Rig::new(&mesh, Vec::new(), SkinWeights::default(), shapes(&mesh)).unwrap();
    let weights = (0..4).flat_map(|frame| [frame as f32 * 0.25, 1.0 - frame as f32]).collect();
    let clip = Clip::new(&rig, "talk", 12.0, Vec::new(), weights).unwrap();
    Object::of_rig(name, mesh, rig, vec![clip])
}

/// A mesh on one joint.
pub(crate) fn travelling(name: &str) -> Object {
    one_joint(name, |frame| {
        DAffine3::from_rotation_translation(DQuat::from_rotation_z(TAU * 0.1 * frame), DVec3::new(frame, 0.0, 1.0))
    })
}

/// A mesh on one joint with increasing shear.
pub(crate) fn sheared(name: &str) -> Object {
    one_joint(name, |frame| {
        DAffine3::from_mat3(DMat3::from_cols(DVec3::X, DVec3::new(0.3 * frame, 1.0, 0.0), DVec3::Z))
    })
}

fn one_joint(name: &str, place: impl Fn(f64) -> DAffine3) -> Object {
    let mesh = still(name).mesh;
    let weights = SkinWeights::from_rows(mesh.points().iter().map(|_| [(0, 1.0)]));
    let rig = Rig::new(&mesh, vec![Joint::at("carrier", None, DAffine3::IDENTITY)], weights, Vec::new()).unwrap();
    let transforms = (0..5).map(|frame| place(f64::from(frame))).collect();
    let clip = Clip::new(&rig, "move", 24.0, transforms, Vec::new()).unwrap();
    Object::of_rig(name, mesh, rig, vec![clip])
}
