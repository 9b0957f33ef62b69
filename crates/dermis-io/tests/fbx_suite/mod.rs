//! Scenes for tests of the FBX writer, and the positions that every reader must obtain from them.

use std::f64::consts::TAU;
use std::sync::Arc;

use dermis_mesh::glam::{DAffine3, DMat3, DQuat, DVec3, EulerRot, Vec2, Vec3};
use dermis_mesh::pose::bake;
use dermis_mesh::{
    Clip, CornerData, Image, Joint, Material, MeshSequence, Object, PolygonMesh, Polygons, Rig, Sampler, Scene, Shape,
    SkinWeights, Texture, TriMesh, Units, UpAxis,
};

use crate::scenes;

/// A scene with its name.
pub(crate) struct Case {
    pub name: &'static str,
    pub scene: Scene,
    /// Writes bones that shear as nested nodes.
    pub nested: bool,
}

/// A motion of an object: the name of its clip, its times and its positions.
pub(crate) struct Expected {
    pub clip: Option<String>,
    pub seconds: Vec<f64>,
    pub frames: Vec<Vec<Vec3>>,
}

/// The motions of an object; its rest pose if it has none.
pub(crate) fn expected(object: &Object) -> Vec<Expected> {
    let times = |start: f64, rate: f64, count: usize| (0..count).map(|frame| start + frame as f64 / rate).collect();
    let of = |clip: Option<String>, motion: &MeshSequence| Expected {
        clip,
        seconds: times(motion.start_seconds(), motion.frame_rate_hz(), motion.frame_count()),
        frames: (0..motion.frame_count()).map(|frame| motion.frame(frame).unwrap().to_vec()).collect(),
    };
    match (&object.sequence, &object.rig) {
        (Some(sequence), _) => vec![of(Some("frames".into()), sequence)],
        (None, Some(rig)) if !object.clips.is_empty() => {
            let baked = |clip: &Arc<Clip>| of(Some(clip.name().into()), &bake(&object.mesh, rig, clip).unwrap());
            object.clips.iter().map(baked).collect()
        }
        _ => vec![Expected { clip: None, seconds: vec![0.0], frames: vec![object.mesh.points().to_vec()] }],
    }
}

const RINGS: usize = 9;
const SIDES: usize = 8;

/// A closed tube of quads along y from `low` to `high`, its caps single polygons, with UVs and normals.
fn tube(low: f32, high: f32, radius: f32) -> TriMesh {
    let mut points = Vec::new();
    for ring in 0..RINGS {
        let y = low + (high - low) * ring as f32 / (RINGS - 1) as f32;
        for side in 0..SIDES {
            let angle = side as f32 / SIDES as f32 * TAU as f32;
            points.push(Vec3::new(radius * angle.cos(), y, radius * angle.sin()));
        }
    }
    let (mut sizes, mut corners, mut normals, mut uvs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ring in 0..RINGS - 1 {
        for side in 0..SIDES {
            let next = (side + 1) % SIDES;
            let quad = [(ring, side), (ring + 1, side), (ring + 1, next), (ring, next)];
            sizes.push(4);
            for (k, (ring, side)) in quad.into_iter().enumerate() {
                corners.push((ring * SIDES + side) as u32);
                let angle = side as f32 / SIDES as f32 * TAU as f32;
                normals.push(Vec3::new(angle.cos(), 0.0, angle.sin()));
                // The seam has two UVs per point.
                let u = if side == 0 && k >= 2 { SIDES } else { side };
                uvs.push(Vec2::new(u as f32 / SIDES as f32, ring as f32 / (RINGS - 1) as f32));
            }
        }
    }
    for (ring, normal) in [(0, Vec3::NEG_Y), (RINGS - 1, Vec3::Y)] {
        sizes.push(SIDES as u32);
        for k in 0..SIDES {
            let side = if ring == 0 { k } else { SIDES - 1 - k };
            corners.push((ring * SIDES + side) as u32);
            normals.push(normal);
            uvs.push(Vec2::new(0.5 + 0.1 * k as f32 / SIDES as f32, 0.25));
        }
    }
    let count = corners.len() as u32;
    let material = Material { name: "clay".into(), base_color: [0.7, 0.4, 0.3, 1.0], ..Material::default() };
    let polygon_materials = vec![0; sizes.len()];
    PolygonMesh {
        points,
        polygons: Polygons { sizes, corners },
        normals: Some(CornerData { values: normals, indices: (0..count).collect() }),
        uvs: vec![CornerData { values: uvs, indices: (0..count).collect() }],
        colors: Vec::new(),
        materials: vec![material],
        polygon_materials,
    }
    .into_tri_mesh()
    .unwrap()
}

/// Rows of weights that fall off around the height of each joint, with the given number of influences.
fn falloff(mesh: &TriMesh, heights: &[f64], influences: usize) -> SkinWeights {
    let row = |point: &Vec3| {
        let mut row: Vec<(u32, f32)> = heights
            .iter()
            .enumerate()
            .map(|(joint, height)| (joint as u32, 1.0 / (0.05 + (f64::from(point.y) - height).abs()) as f32))
            .collect();
        row.sort_by(|a, b| b.1.total_cmp(&a.1));
        row.truncate(influences);
        let sum: f32 = row.iter().map(|(_, weight)| weight).sum();
        row.into_iter().map(|(joint, weight)| (joint, weight / sum)).collect::<Vec<_>>()
    };
    SkinWeights::from_rows(mesh.points().iter().map(row))
}

/// Description of a character.
struct Build {
    name: &'static str,
    joints: Vec<String>,
    influences: usize,
    /// Number of end joints, which move no point.
    ends: usize,
    bind_scale: f64,
    size: f64,
    offset: DVec3,
    swing: f64,
    stretch: f64,
    mirror: bool,
    shapes: Vec<(&'static str, f32)>,
    /// Range of the weights of the shapes.
    range: (f32, f32),
    clips: Vec<(&'static str, f64, usize, f64)>,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            name: "body",
            joints: ["hips", "spine", "head"].map(str::to_owned).to_vec(),
            influences: 3,
            ends: 0,
            bind_scale: 1.0,
            size: 1.0,
            offset: DVec3::ZERO,
            swing: 0.6,
            stretch: 0.0,
            mirror: false,
            shapes: Vec::new(),
            range: (0.0, 1.0),
            clips: vec![("wave", 24.0, 9, 0.0)],
        }
    }
}

impl Build {
    fn mesh(&self) -> Arc<TriMesh> {
        let mesh = tube(0.0, self.size as f32, (0.2 * self.size) as f32);
        let offset = self.offset.as_vec3();
        Arc::new(mesh.with_points(mesh.points().iter().map(|point| *point + offset).collect()).unwrap())
    }

    fn object(&self) -> Object {
        let mesh = self.mesh();
        let count = self.joints.len();
        let height = |joint: usize| self.size * joint as f64 / count as f64;
        let bind = |joint: usize| {
            // Joints lie along the limb and roll slightly, as in real rigs.
            let turn = DQuat::from_euler(EulerRot::XYZ, 0.3, 0.2 * joint as f64, 1.2);
            let place = self.offset + DVec3::Y * height(joint);
            DAffine3::from_scale_rotation_translation(DVec3::splat(self.bind_scale), turn, place)
        };
        let joint = |joint: usize| Joint::at(self.joints[joint].clone(), joint.checked_sub(1), bind(joint));
        let heights: Vec<f64> = (0..count - self.ends).map(|joint| self.offset.y + height(joint)).collect();
        let weights = falloff(&mesh, &heights, self.influences);
        let shape = |(index, (name, amount)): (usize, &(&str, f32))| Shape {
            name: (*name).into(),
            offsets: mesh
                .points()
                .iter()
                .map(|point| {
                    let fade = (point.y * (2.0 + index as f32)).sin();
                    Vec3::new(point.x, 0.1, point.z) * *amount * fade
                })
                .collect(),
            normal_offsets: None,
        };
        let shapes = self.shapes.iter().enumerate().map(shape).collect();
        let rig = Rig::new(&mesh, (0..count).map(joint).collect(), weights, shapes).unwrap();
        let clips = self.clips.iter().enumerate().map(|(number, clip)| self.clip(&rig, number, clip)).collect();
        Object::of_rig(self.name, mesh, rig, clips)
    }

    fn clip(&self, rig: &Rig, number: usize, &(name, rate, frames, start): &(&str, f64, usize, f64)) -> Clip {
        let mut transforms = Vec::new();
        let mut weights = Vec::new();
        for frame in 0..frames {
            let t = 0.37 * (frame + 1) as f64 + 2.0 * number as f64;
            let mut worlds: Vec<DAffine3> = Vec::new();
            for (index, joint) in rig.joints().iter().enumerate() {
                let parent = joint.parent.map(|parent| (worlds[parent], rig.joints()[parent].inverse_bind));
                let rest = parent.map_or(joint.bind(), |(_, inverse_bind)| inverse_bind * joint.bind());
                let phase = t + 0.5 * index as f64;
                let turn = DQuat::from_euler(
                    EulerRot::ZYX,
                    self.swing * phase.sin(),
                    self.swing * (0.7 * phase).cos(),
                    0.5 * self.swing * phase,
                );
                let mut scale = DVec3::ONE + self.stretch * DVec3::new(phase.sin(), (1.3 * phase).cos(), 0.5);
                if self.mirror && index == rig.joints().len() - 1 {
                    scale.x = -scale.x;
                }
                // Only the last joint scales along its own axes: others would shear their children.
                let scale = if index + 1 == rig.joints().len() { scale } else { DVec3::splat(scale.x.abs()) };
                let moved =
                    if index == 0 { DVec3::new(0.1 * phase.sin(), 0.05 * t, 0.0) * self.size } else { DVec3::ZERO };
                let local = rest * DAffine3::from_scale_rotation_translation(scale, turn, DVec3::ZERO);
                let world = parent.map_or(DAffine3::IDENTITY, |(world, _)| world) * local;
                worlds.push(DAffine3 { translation: world.translation + moved, ..world });
            }
            transforms.extend(worlds);
            for shape in 0..self.shapes.len() {
                let unit = 0.5 + 0.5 * ((t + shape as f64).sin() as f32);
                weights.push(self.range.0 + (self.range.1 - self.range.0) * unit);
            }
        }
        Clip::new(rig, name, rate, transforms, weights).unwrap().starting_at(start)
    }
}

fn scene(objects: Vec<Object>) -> Scene {
    let units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
    Scene { objects, units, ..Scene::default() }
}

fn in_units(objects: Vec<Object>, metres_per_unit: f64, up_axis: UpAxis) -> Scene {
    let units = Units { metres_per_unit: Some(metres_per_unit), up_axis: Some(up_axis) };
    Scene { units, ..scene(objects) }
}

fn numbered(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|joint| format!("{prefix}{joint}")).collect()
}

/// The shapes of `build` without its joints.
fn morphing(build: &Build) -> Object {
    let object = build.object();
    let rig = object.rig.as_ref().unwrap();
    let plain = Rig::new(&object.mesh, Vec::new(), SkinWeights::default(), rig.shapes().to_vec()).unwrap();
    let clip = |clip: &Arc<Clip>| {
        let weights = (0..clip.frame_count()).flat_map(|frame| clip.shape_weights(frame).to_vec()).collect();
        let plain = Clip::new(&plain, clip.name(), clip.frame_rate_hz(), Vec::new(), weights).unwrap();
        plain.starting_at(clip.start_seconds())
    };
    let clips = object.clips.iter().map(clip).collect();
    Object::of_rig(build.name, object.mesh, plain, clips)
}

/// A fitted skin: bones side by side at the origin that stretch and shear.
fn flexible() -> Object {
    let object = Build::default().object();
    let rig = object.rig.as_ref().unwrap();
    let joints = (0..3).map(|bone| Joint::at(format!("bone {bone}"), None, DAffine3::IDENTITY)).collect();
    let flexible = Rig::new(&object.mesh, joints, rig.weights().clone(), Vec::new()).unwrap();
    let transform = |frame: usize, bone: usize| {
        let t = 0.31 * frame as f64 + bone as f64;
        let shear = DMat3::from_cols(
            DVec3::new(1.0, 0.2 * t.sin(), 0.0),
            DVec3::new(0.1, 1.0 + 0.2 * t.cos(), 0.0),
            DVec3::new(0.0, 0.15 * t.cos(), 1.0),
        );
        DAffine3::from_mat3_translation(DMat3::from_rotation_z(0.4 * t.sin()) * shear, DVec3::X * 0.1 * t.sin())
    };
    let transforms = (0..8).flat_map(|frame| (0..3).map(move |bone| transform(frame, bone))).collect();
    let clip = Clip::new(&flexible, "flex", 24.0, transforms, Vec::new()).unwrap();
    Object::of_rig("flexible", object.mesh, flexible, vec![clip])
}

/// The smallest PNG: one pixel.
pub(crate) fn pixel() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&[200, 100, 50]).unwrap();
    bytes
}

fn textured() -> Object {
    let mut object = Build::default().object();
    let mesh = Arc::unwrap_or_clone(object.mesh);
    let mut layout = mesh.layout().unwrap().clone();
    let texture = Texture {
        image: Arc::new(Image { name: "skin.png".into(), mime_type: "image/png".into(), bytes: pixel() }),
        uv_set: 0,
        factor: 1.0,
        sampler: Sampler::default(),
    };
    let material = Material {
        name: "painted".into(),
        base_color_texture: Some(texture.clone()),
        normal_texture: Some(texture),
        emissive: [0.25, 0.5, 0.0],
        ..Material::default()
    };
    layout.materials.push(material);
    for (triangle, material) in layout.triangle_materials.iter_mut().enumerate() {
        // Both triangles of a quad have one material.
        *material = u32::from(triangle % 8 >= 4);
    }
    object.mesh = Arc::new(mesh.with_layout(layout).unwrap());
    object
}

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let plain = |name, scene| Case { name, scene, nested: false };
    let build = Build::default;
    let shapes = vec![("wide", 0.5), ("thin", -0.4)];
    let mut second = build();
    second.name = "clothes";
    second.size = 1.2;
    let body = build().object();
    let dress = {
        let mesh = Arc::new(tube(0.1, 0.8, 0.3));
        let rig = body.rig.as_ref().unwrap();
        let weights = falloff(&mesh, &[0.0, 1.0 / 3.0, 2.0 / 3.0], 3);
        let rig = Rig::new(&mesh, rig.joints().to_vec(), weights, Vec::new()).unwrap();
        let clips = body.clips.iter().map(|clip| Clip::clone(clip)).collect();
        Object::of_rig("dress", mesh, rig, clips)
    };
    let unicode = Build {
        name: "Körper 身体",
        joints: ["hüfte", "背骨", "голова"].map(str::to_owned).to_vec(),
        shapes: vec![("lächeln", 0.3)],
        clips: vec![("gehen ⟶", 30.0, 6, 0.0)],
        ..build()
    };
    let takes = vec![("walk", 24.0, 9, 0.0), ("run", 30.0, 6, 1.5), ("idle", 60.0, 3, 0.25)];
    vec![
        plain("static", scenes::still_scene()),
        plain("static_in_centimetres", in_units(scenes::still_scene().objects, 0.01, UpAxis::Y)),
        plain("recorded_frames", scenes::moving_scene()),
        plain("skinned", scene(vec![build().object()])),
        plain("skinned_without_clip", scene(vec![Build { clips: vec![], ..build() }.object()])),
        plain("scaled_joints", scene(vec![Build { stretch: 0.3, ..build() }.object()])),
        plain("mirrored_joint", scene(vec![Build { mirror: true, ..build() }.object()])),
        plain("bind_scale", scene(vec![Build { bind_scale: 0.01, ..build() }.object()])),
        plain("morph", scene(vec![morphing(&Build { shapes: shapes.clone(), ..build() })])),
        plain(
            "morph_beyond_one",
            scene(vec![morphing(&Build { shapes: shapes.clone(), range: (-1.5, 2.0), ..build() })]),
        ),
        plain("skinned_morph", scene(vec![Build { shapes, ..build() }.object()])),
        plain("one_skeleton_two_meshes", scene(vec![body, dress])),
        plain("two_skeletons_of_equal_names", scene(vec![build().object(), second.object()])),
        plain("several_takes", scene(vec![Build { clips: takes, ..build() }.object()])),
        plain("z_up", in_units(vec![build().object()], 1.0, UpAxis::Z)),
        plain("centimetres", in_units(vec![Build { size: 180.0, ..build() }.object()], 0.01, UpAxis::Y)),
        plain(
            "centimetres_z_up",
            in_units(vec![Build { size: 180.0, bind_scale: 100.0, ..build() }.object()], 0.01, UpAxis::Z),
        ),
        plain("inches_x_up", in_units(vec![Build { size: 70.0, ..build() }.object()], 0.0254, UpAxis::X)),
        plain("end_joints", scene(vec![Build { joints: numbered("joint", 5), ends: 2, ..build() }.object()])),
        plain(
            "eight_influences",
            scene(vec![Build { joints: numbered("j", 10), influences: 8, swing: 0.2, ..build() }.object()]),
        ),
        plain("unicode", scene(vec![unicode.object()])),
        plain(
            "many_turns",
            scene(vec![Build { swing: 9.0, clips: vec![("spin", 24.0, 40, 0.0)], ..build() }.object()]),
        ),
        plain(
            "long_chain",
            scene(vec![Build { joints: numbered("link", 60), influences: 4, swing: 0.05, ..build() }.object()]),
        ),
        plain("far_away", scene(vec![Build { offset: DVec3::new(30.0, -20.0, 12.0), ..build() }.object()])),
        plain(
            "nothing_moves",
            scene(vec![Build { swing: 0.0, clips: vec![("still", 24.0, 3, 0.0)], ..build() }.object()]),
        ),
        plain("textures", scene(vec![textured()])),
        plain(
            "odd_rate_negative_start",
            scene(vec![Build { clips: vec![("odd", 23.5, 6, -0.5)], ..build() }.object()]),
        ),
        Case { name: "nested_bones", scene: scene(vec![flexible()]), nested: true },
    ]
}
