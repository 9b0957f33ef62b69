//! A scene that is ready to be drawn: evaluated motions, vertices, paints and joints.

use std::sync::Arc;

use dermis_mesh::glam::{Mat3, Vec3};
use dermis_mesh::layout::{AlphaMode, Image, Layout, Material, Sampler};
use dermis_mesh::{Clip, Note, Object, Rig, Scene, UpAxis};
use dermis_render::{
    DrawnJoint, Opacity, Paint, PaintTexture, Surface, Texture, Topology, Wrap, linear_of, oklch, skeleton,
};

use super::options::{Look, Normals, PanelFrame};
use super::posed_normals::{PosedNormals, Vertices};
use crate::error::PictureError;
use crate::evaluate::{self, Motion};
use crate::select::find_clip;

/// Colour of clay, in sRGB.
const CLAY: [u8; 3] = [0xd6, 0xcb, 0xbf];
const CLAY_ROUGHNESS: f32 = 0.62;
/// Colour of the joints of a skeleton unless joints have colours, in sRGB.
const JOINTS: [u8; 3] = [0xf2, 0xa3, 0x3a];
/// Difference of the hues of two successive joints: the golden angle separates any number of joints.
const HUE_STEP_DEGREES: f32 = 137.508;

/// A scene and its motion.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) actors: Vec<Actor>,
    /// Rotation that points the up axis of the scene to +Y.
    pub(super) upright: Mat3,
    /// Diagonal of all rest poses.
    pub(super) diagonal: f32,
    pub(super) notes: Vec<Note>,
}

/// An object and its motion.
#[derive(Debug)]
pub(super) struct Actor {
    pub(super) object: Object,
    pub(super) motion: Option<Motion>,
    vertices: Vertices,
    normals: PosedNormals,
    topology: Arc<Topology>,
    /// Colours of the vertices; empty: white.
    colors: Vec<[f32; 4]>,
}

impl Subject {
    pub(super) fn new(scene: &Scene, clip: Option<&str>, look: &Look, normals: Normals) -> Result<Self, PictureError> {
        let upright = match scene.units.up_axis {
            None | Some(UpAxis::Y) => Mat3::IDENTITY,
            Some(UpAxis::Z) => Mat3::from_cols(Vec3::X, Vec3::NEG_Z, Vec3::Y),
            Some(UpAxis::X) => Mat3::from_cols(Vec3::Y, Vec3::NEG_X, Vec3::Z),
        };
        let clip = clip.map(|clip| clip_number(scene, clip)).transpose()?;
        let mut notes = Vec::new();
        let mut textures = Textures::default();
        let drawn = scene.objects.iter().filter(|object| object.mesh.triangle_count() > 0);
        let actors = drawn
            .map(|object| {
                let motion = match clip {
                    Some(clip) if object.rig.is_some() && !object.clips.is_empty() => {
                        Some(evaluate::motion_of_clip(object, clip)?)
                    }
                    _ => evaluate::motion(object)?,
                };
                notes.extend(motion.iter().flat_map(|motion| motion.warnings.clone()));
                Ok(Actor::new(object, motion, look, normals, &mut textures))
            })
            .collect::<Result<Vec<_>, PictureError>>()?;
        if actors.is_empty() {
            return Err(PictureError::NoMesh);
        }
        if *look == Look::Bones && actors.iter().all(|actor| actor.joint_count() == 0) {
            return Err(PictureError::NoJoints);
        }
        notes.append(&mut textures.notes);
        let rest: Vec<Vec3> = actors.iter().flat_map(|actor| actor.object.mesh.points().iter().copied()).collect();
        let (low, high) = dermis_mesh::tri_mesh::bounds(&rest);
        Ok(Self { actors, upright, diagonal: (high - low).length(), notes })
    }

    /// Number of frames of the longest motion; 0 without motion.
    pub(super) fn frame_count(&self) -> usize {
        let counts = self.actors.iter().filter_map(|actor| Some(actor.motion.as_ref()?.sequence.frame_count()));
        counts.max().unwrap_or(0)
    }

    /// Index of the frame; `None` is the rest pose.
    pub(super) fn frame(&self, frame: PanelFrame) -> Result<Option<usize>, PictureError> {
        let count = self.frame_count();
        match frame {
            PanelFrame::Rest => Ok(None),
            PanelFrame::First => Ok((count > 0).then_some(0)),
            PanelFrame::Number(frame) if count == 0 => Err(PictureError::NothingMoves(frame)),
            PanelFrame::Number(frame) => {
                let at = if frame < 0 { frame.saturating_add(count as i64) } else { frame };
                let at = usize::try_from(at).ok().filter(|&at| at < count);
                at.map(Some).ok_or(PictureError::NoSuchFrame { frame, count })
            }
        }
    }

    /// Positions of all points in a frame, with Y up.
    pub(super) fn points(&self, frame: Option<usize>) -> Result<Vec<Vec<Vec3>>, PictureError> {
        let turned = |actor: &Actor| {
            let mut points = actor.points(frame)?;
            for point in &mut points {
                *point = self.upright * *point;
            }
            Ok(points)
        };
        self.actors.iter().map(turned).collect()
    }

    /// Surfaces for positions of all points; `colors` are colours per point that replace those of the look.
    pub(super) fn surfaces(&self, points: &[Vec<Vec3>], colors: Option<&[Vec<[f32; 3]>]>) -> Vec<Surface> {
        let surface = |(at, (actor, points)): (usize, (&Actor, &Vec<Vec3>))| {
            actor.surface(points, self.upright, colors.map(|colors| colors[at].as_slice()))
        };
        self.actors.iter().zip(points).enumerate().map(surface).collect()
    }

    /// The skeletons in a frame; those that several objects share are drawn once.
    pub(super) fn skeletons(&self, frame: Option<usize>, look: &Look) -> Result<Vec<Surface>, PictureError> {
        let mut drawn: Vec<&Arc<Vec<dermis_mesh::Joint>>> = Vec::new();
        let mut surfaces = Vec::new();
        for actor in &self.actors {
            let Some(rig) = actor.object.rig.as_ref().filter(|rig| !rig.joints().is_empty()) else { continue };
            if drawn.iter().any(|joints| Arc::ptr_eq(joints, rig.shared_joints())) {
                continue;
            }
            drawn.push(rig.shared_joints());
            surfaces.push(self.skeleton_of(actor, rig, frame, *look == Look::Bones));
        }
        if surfaces.is_empty() { Err(PictureError::NoJoints) } else { Ok(surfaces) }
    }

    fn skeleton_of(&self, actor: &Actor, rig: &Rig, frame: Option<usize>, is_colored: bool) -> Surface {
        let rest = rig.rest_pose();
        let transforms = match (frame, actor.clip()) {
            (Some(frame), Some(clip)) => clip.transforms(frame.min(clip.frame_count() - 1)),
            _ => &rest.transforms,
        };
        let joints: Vec<DrawnJoint> = rig
            .joints()
            .iter()
            .zip(transforms)
            .enumerate()
            .map(|(at, (joint, transform))| DrawnJoint {
                position: self.upright * transform.translation.as_vec3(),
                parent: joint.parent,
                color: if is_colored { joint_color(at) } else { linear_of(JOINTS) },
            })
            .collect();
        skeleton(&joints, self.diagonal)
    }
}

/// Index of a clip of the scene.
fn clip_number(scene: &Scene, wanted: &str) -> Result<usize, PictureError> {
    let longest = scene.objects.iter().max_by_key(|object| object.clips.len());
    let names: Vec<&str> = longest.iter().flat_map(|object| object.clips.iter().map(|clip| clip.name())).collect();
    Ok(find_clip(wanted, &names)?)
}

impl Actor {
    fn new(object: &Object, motion: Option<Motion>, look: &Look, normals: Normals, textures: &mut Textures) -> Self {
        let mesh = &object.mesh;
        let vertices = Vertices::new(mesh, normals);
        let posed = PosedNormals::new(mesh, &vertices, normals);
        let layout = mesh.layout();
        let mut topology = Topology { triangles: vertices.triangles.clone(), ..Topology::default() };
        topology.drawn_edges = layout.map_or_else(Vec::new, polygon_edges);
        let mut colors = Vec::new();
        match look {
            Look::Material => {
                let has_colors = layout.is_some_and(|layout| !layout.colors.is_empty());
                if let Some(layout) = layout {
                    let sources = |values: &Vec<_>| vertices.sources.iter().map(|&at| values[at as usize]).collect();
                    topology.uvs = layout.uvs.iter().map(sources).collect();
                    topology.paints =
                        layout.materials.iter().map(|material| textures.paint(material, &object.name)).collect();
                    topology.triangle_paints.clone_from(&layout.triangle_materials);
                    if let Some(set) = layout.colors.first() {
                        colors = vertices.sources.iter().map(|&at| set[at as usize].to_array()).collect();
                    }
                }
                if topology.paints.is_empty() {
                    topology.paints.push(if has_colors { Paint::default() } else { clay() });
                }
            }
            Look::Clay => topology.paints.push(clay()),
            Look::Normals => topology.paints.push(Paint::default()),
            Look::Bones => {
                topology.paints.push(Paint { roughness: CLAY_ROUGHNESS, ..Paint::default() });
                colors = bone_colors(object, &vertices);
            }
            Look::Heat(_) => topology.paints.push(Paint { roughness: 0.75, ..Paint::default() }),
        }
        let topology = Arc::new(topology);
        Self { object: object.clone(), motion, vertices, normals: posed, topology, colors }
    }

    pub(super) fn joint_count(&self) -> usize {
        self.object.rig.as_ref().map_or(0, |rig| rig.joints().len())
    }

    /// The clip that poses the joints; recorded frames of a rig are those of its first clip.
    pub(super) fn clip(&self) -> Option<&Arc<Clip>> {
        let motion = self.motion.as_ref()?;
        let same_length = |clip: &&Arc<Clip>| clip.frame_count() == motion.sequence.frame_count();
        motion.clip.as_ref().or_else(|| self.object.clips.first().filter(same_length))
    }

    /// Positions of the points in a frame; the last one if the motion is shorter, the rest pose if there is none.
    pub(super) fn points(&self, frame: Option<usize>) -> Result<Vec<Vec3>, PictureError> {
        match (&self.motion, frame) {
            (Some(motion), Some(frame)) => {
                Ok(motion.sequence.frame(frame.min(motion.sequence.frame_count() - 1))?.into_owned())
            }
            _ => Ok(self.object.rest_points().into_owned()),
        }
    }

    /// Normal of each point.
    pub(super) fn point_normals(&self, points: &[Vec3]) -> Vec<Vec3> {
        dermis_mesh::geometry::point_normals(points, self.object.mesh.triangles())
    }

    fn surface(&self, points: &[Vec3], upright: Mat3, colors: Option<&[[f32; 3]]>) -> Surface {
        // Stored normals are in the axes of the scene.
        let back = upright.transpose();
        let original: Vec<Vec3> = points.iter().map(|&point| back * point).collect();
        let normals = self.normals.at(&original).into_iter().map(|normal| upright * normal).collect();
        let split = |point: &u32| points[*point as usize];
        let positions = self.vertices.points.iter().map(split).collect();
        let colors = match colors {
            Some(colors) => {
                let color = |&point: &u32| {
                    let [r, g, b] = colors[point as usize];
                    [r, g, b, 1.0]
                };
                self.vertices.points.iter().map(color).collect()
            }
            None => self.colors.clone(),
        };
        Surface { topology: Arc::clone(&self.topology), positions, normals, colors }
    }
}

fn clay() -> Paint {
    let [r, g, b] = linear_of(CLAY);
    Paint { color: [r, g, b, 1.0], roughness: CLAY_ROUGHNESS, ..Paint::default() }
}

/// Linear colour of a joint.
fn joint_color(joint: usize) -> [f32; 3] {
    let lightness = [0.72, 0.62, 0.80][joint % 3];
    oklch(lightness, 0.15, 30.0 + HUE_STEP_DEGREES * joint as f32)
}

/// Colours of the joints, mixed by the weights of each vertex.
fn bone_colors(object: &Object, vertices: &Vertices) -> Vec<[f32; 4]> {
    let Some(rig) = object.rig.as_ref().filter(|rig| !rig.joints().is_empty()) else {
        return vec![[0.6, 0.6, 0.6, 1.0]; vertices.points.len()];
    };
    let colors: Vec<[f32; 3]> = (0..rig.joints().len()).map(joint_color).collect();
    let mixed = |&point: &u32| {
        let (mut sum, mut total) = ([0f32; 3], 0f32);
        for (joint, weight) in rig.weights().row(point as usize) {
            let weight = weight.max(0.0);
            total += weight;
            for (sum, color) in sum.iter_mut().zip(colors[joint as usize]) {
                *sum += weight * color;
            }
        }
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        [sum[0] * scale, sum[1] * scale, sum[2] * scale, 1.0]
    };
    vertices.points.iter().map(mixed).collect()
}

/// Edges of polygons, without the diagonals that split them into triangles; empty if all are triangles.
fn polygon_edges(layout: &Layout) -> Vec<u8> {
    let Some(polygons) = &layout.polygons else { return Vec::new() };
    let mut bits = Vec::with_capacity(layout.triangles.len());
    let mut triangles = layout.triangles.iter();
    for polygon in polygons.iter() {
        let is_edge = |from: u32, to: u32| {
            (0..polygon.len()).any(|at| {
                let (a, b) = (polygon[at], polygon[(at + 1) % polygon.len()]);
                (a, b) == (from, to) || (b, a) == (from, to)
            })
        };
        for triangle in triangles.by_ref().take(polygon.len().saturating_sub(2)) {
            let edge = |at: usize| u8::from(is_edge(triangle[at], triangle[(at + 1) % 3])) << at;
            bits.push(edge(0) | edge(1) | edge(2));
        }
    }
    bits
}

/// Decoded textures, shared between materials.
#[derive(Debug, Default)]
struct Textures {
    decoded: Vec<(Arc<Image>, Option<Arc<Texture>>)>,
    notes: Vec<Note>,
}

impl Textures {
    fn paint(&mut self, material: &Material, object: &str) -> Paint {
        // Formats that store only the names of materials are read with the default colour.
        if *material == (Material { name: material.name.clone(), ..Material::default() }) {
            return clay();
        }
        let opacity = match material.alpha_mode {
            AlphaMode::Opaque => Opacity::Opaque,
            AlphaMode::Mask { cutoff } => Opacity::Mask(cutoff),
            AlphaMode::Blend => Opacity::Blend,
        };
        let texture = material.base_color_texture.as_ref().and_then(|texture| {
            let decoded = self.decode(&texture.image, object)?;
            Some(PaintTexture { texture: decoded, uv_set: texture.uv_set as usize, wrap: wrap(texture.sampler) })
        });
        Paint {
            color: material.base_color,
            texture,
            metallic: material.metallic.clamp(0.0, 1.0),
            roughness: material.roughness.clamp(0.0, 1.0),
            emissive: material.emissive,
            opacity,
            is_unlit: false,
        }
    }

    fn decode(&mut self, image: &Arc<Image>, object: &str) -> Option<Arc<Texture>> {
        if let Some((_, texture)) = self.decoded.iter().find(|(known, _)| Arc::ptr_eq(known, image)) {
            return texture.clone();
        }
        let texture = match Texture::decode(image) {
            Ok(texture) => Some(Arc::new(texture)),
            Err(error) => {
                self.notes.push(Note::at(object, format!("{error}; the surface is drawn without it")));
                None
            }
        };
        self.decoded.push((Arc::clone(image), texture.clone()));
        texture
    }
}

fn wrap(sampler: Sampler) -> [Wrap; 2] {
    const CLAMP: u32 = 33071;
    const MIRROR: u32 = 33648;
    [sampler.wrap_s, sampler.wrap_t].map(|mode| match mode {
        CLAMP => Wrap::Clamp,
        MIRROR => Wrap::Mirror,
        _ => Wrap::Repeat,
    })
}
