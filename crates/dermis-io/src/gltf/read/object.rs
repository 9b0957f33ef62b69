//! Conversion of a node with a mesh to an object: its shape in scene space, its rig, and its clips.
//!
//! Joints determine the position of a skinned mesh, regardless of its node's transform (glTF 2.0, §3.7.3.3); its bind
//! shape is placed in the scene as [`crate::skeletons`] describes. A mesh below a joint, or below a node that moves, is
//! a rigid part: bound to that joint alone, in the bind pose of the skeleton. Any other mesh is transformed by its
//! node. Morph targets are the rig's blend shapes. The transforms and morph weights of the file without animation are
//! the rig's stored pose. Every rigged object has a clip for every animation that moves any object.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Layout, Note, Object, Rig, RigPose, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, Vec3};

use super::animation::Animation;
use super::deformers::read_deformers;
use super::document::Document;
use super::geometry::{Geometry, Target, read_geometry};
use super::materials::Materials;
use super::nodes::NodeTree;
use super::placement::Placement;
use super::sequence;
use super::skin::{add_masses, read_skin, skin_weights};
use crate::error::Error;
use crate::skeletons::{BoundSkin, NodeForest, Skeletons, SkinSource, scaled_right};

/// Deviation, relative to its size, up to which the bind transform of a node is its transform at rest.
const SAME_TRANSFORM: f64 = 1e-6;

/// Data from which objects are built.
pub(super) struct Builder<'a> {
    pub(super) document: &'a Document<'a>,
    tree: &'a NodeTree,
    all_animations: &'a [Animation<'a>],
    /// Animations that move joints or blend shapes.
    animations: Vec<&'a Animation<'a>>,
    materials: Materials<'a>,
    geometries: BTreeMap<usize, Rc<Geometry<'a>>>,
    pub(super) skeletons: Skeletons,
    /// Index of the bound skin of each skin of the file.
    pub(super) skins: BTreeMap<usize, usize>,
    /// The joints of each skeleton in all frames of each animation.
    motions: RefCell<BTreeMap<MotionKey, Arc<Vec<DAffine3>>>>,
}

/// Skeleton, and the animation that moves it or the number of frames in which it does not move.
type MotionKey = (usize, Result<usize, usize>);

/// Joints that move a mesh.
pub(super) enum Carrier<'a> {
    Skin(&'a BoundSkin),
    /// A rigid part of a joint of a skeleton.
    Joint(usize, usize),
    Nothing,
}

impl<'a> Builder<'a> {
    /// Finds the skeletons of the file.
    pub(super) fn new(
        document: &'a Document<'a>,
        tree: &'a NodeTree,
        animations: &'a [Animation<'a>],
    ) -> Result<Self, Error> {
        let mut builder = Self {
            document,
            tree,
            all_animations: animations,
            animations: Vec::new(),
            materials: Materials::new(document),
            geometries: BTreeMap::new(),
            skeletons: Skeletons::default(),
            skins: BTreeMap::new(),
            motions: RefCell::default(),
        };
        let mut sources = builder.skin_sources()?;
        sources.extend(builder.moving_parts(animations));
        if builder.meshes().next().is_none() {
            sources = builder.motion_sources(animations)?;
        }
        let forest = builder.forest(animations);
        builder.skeletons = Skeletons::new(&forest, &sources);
        let moves = |animation: &Animation<'_>| {
            let mut joints = builder.skeletons.list.iter().flat_map(|skeleton| &skeleton.nodes);
            let is_recorded = |node, mesh| sequence::is_marked(document, mesh) && animation.plays_frames(node);
            let mut meshes = builder.meshes();
            joints.any(|&node| animation.moves(node))
                || meshes.any(|(node, mesh)| animation.morphs(node) && !is_recorded(node, mesh))
        };
        let (moving, still): (Vec<_>, Vec<_>) = animations.iter().partition(|animation| moves(animation));
        for animation in still {
            if !builder.meshes().any(|(node, _)| animation.plays_frames(node)) {
                let name = &animation.name;
                document.note(Note::new(format!("the animation '{name}' moves no mesh and is skipped")));
            }
        }
        builder.animations = moving;
        Ok(builder)
    }

    /// The nodes of the scene with a mesh, and their meshes.
    fn meshes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.tree.scene.iter().filter_map(|&node| Some((node, self.document.root.nodes[node].mesh?)))
    }

    /// The skins of the file, those that move a mesh of the scene first.
    fn skin_sources(&mut self) -> Result<Vec<SkinSource>, Error> {
        let mut sources = Vec::new();
        let meshes: Vec<(usize, usize)> = self.meshes().collect();
        for (node, mesh) in meshes {
            let Some(skin) = self.document.root.nodes[node].skin else { continue };
            let geometry = self.geometry(mesh)?;
            if geometry.positions.is_empty() || geometry.influences.is_empty() {
                continue;
            }
            let number = if let Some(&number) = self.skins.get(&skin) {
                number
            } else {
                sources.push(read_skin(self.document, self.tree, skin)?);
                self.skins.insert(skin, sources.len() - 1);
                sources.len() - 1
            };
            sources[number].candidates.insert(0, self.tree.rest[node]);
            add_masses(&geometry, &mut sources[number].masses);
        }
        // A skin without a mesh binds the joints of rigid parts.
        for skin in (0..self.document.root.skins.len()).filter(|skin| !self.skins.contains_key(skin)) {
            sources.extend(read_skin(self.document, self.tree, skin).ok());
        }
        Ok(sources)
    }

    /// The topmost moving node above each mesh without a skin, as a joint.
    fn moving_parts(&self, animations: &[Animation<'_>]) -> Vec<SkinSource> {
        let moves = |&node: &usize| animations.iter().any(|animation| animation.moves(node));
        let unskinned = self.meshes().filter(|(node, _)| self.document.root.nodes[*node].skin.is_none());
        let topmost = unskinned.filter_map(|(node, _)| self.tree.upwards(node).filter(moves).last());
        let distinct: std::collections::BTreeSet<usize> = topmost.collect();
        let part = |node: usize| {
            let inverse_bind = Some(self.tree.rest[node].inverse()).filter(DAffine3::is_finite).unwrap_or_default();
            let (inverse_binds, candidates) = (vec![inverse_bind], Vec::new());
            SkinSource { nodes: vec![node], inverse_binds, masses: vec![1.0], candidates, parents: None }
        };
        distinct.into_iter().map(part).collect()
    }

    /// The skeleton of a file without meshes: its skins, or else the topmost nodes that move.
    fn motion_sources(&self, animations: &[Animation<'_>]) -> Result<Vec<SkinSource>, Error> {
        let skins = 0..self.document.root.skins.len();
        if !skins.is_empty() {
            return skins.map(|skin| read_skin(self.document, self.tree, skin)).collect();
        }
        let moves = |node: usize| animations.iter().any(|animation| animation.moves(node));
        let is_topmost = |&node: &usize| moves(node) && !self.tree.parents[node].is_some_and(moves);
        let nodes: Vec<usize> = self.tree.order.iter().copied().filter(is_topmost).collect();
        let bind = |&node: &usize| Some(self.tree.rest[node].inverse()).filter(DAffine3::is_finite).unwrap_or_default();
        let (inverse_binds, masses) = (nodes.iter().map(bind).collect(), vec![1.0; nodes.len()]);
        let source = SkinSource { nodes, inverse_binds, masses, candidates: Vec::new(), parents: None };
        Ok(if source.nodes.is_empty() { Vec::new() } else { vec![source] })
    }

    fn forest(&self, animations: &[Animation<'_>]) -> NodeForest<'a> {
        let nodes = &self.document.root.nodes;
        let can_be_joint = |(index, node): (usize, &crate::gltf::schema::Node)| {
            let is_part = node.mesh.is_some() && node.children.is_empty();
            let is_animated = animations.iter().any(|animation| animation.animates(index));
            node.camera.is_none() && (!is_part || is_animated)
        };
        NodeForest {
            parents: &self.tree.parents,
            order: &self.tree.order,
            rest: &self.tree.rest,
            names: nodes.iter().map(|node| node.name.clone()).collect(),
            can_be_joints: nodes.iter().enumerate().map(can_be_joint).collect(),
        }
    }

    /// The object that `node` places; `None` if it has no mesh, or one without vertices.
    pub(super) fn object(&mut self, node: usize) -> Result<Option<Object>, Error> {
        let Some(mesh) = self.document.root.nodes[node].mesh else {
            return Ok(None);
        };
        let geometry = self.geometry(mesh)?;
        if geometry.positions.is_empty() {
            return Ok(None);
        }
        let skin = self.document.root.nodes[node].skin.and_then(|skin| self.skins.get(&skin));
        let skin = skin.filter(|_| !geometry.influences.is_empty()).map(|&number| &self.skeletons.skins[number]);
        let source = Source { node, mesh, geometry: &geometry, skin };
        self.assemble(&source).map(Some).map_err(|error| error.at(format!("nodes[{node}]")))
    }

    /// The skeleton of a file without meshes as an object without points, whose clips move other rigs.
    pub(super) fn motion_only(&self) -> Result<Option<Object>, Error> {
        let Some(skeleton) = self.skeletons.list.first() else { return Ok(None) };
        let mesh = TriMesh::default();
        let rig = Rig::sharing(&mesh, Arc::clone(&skeleton.joints), SkinWeights::from_rows([[]; 0]), Vec::new())?;
        let clips = self.clips(None, &rig, Some(0), &[])?;
        let name = skeleton.joints.first().map_or_else(String::new, |joint| joint.name.clone());
        Ok(Some(Object::of_rig(name, Arc::new(mesh), rig, clips)))
    }

    pub(super) fn geometry(&mut self, mesh: usize) -> Result<Rc<Geometry<'a>>, Error> {
        if let Some(geometry) = self.geometries.get(&mesh) {
            return Ok(Rc::clone(geometry));
        }
        let geometry = Rc::new(read_geometry(self.document, mesh)?);
        self.geometries.insert(mesh, Rc::clone(&geometry));
        Ok(geometry)
    }

    fn assemble(&self, source: &Source<'_>) -> Result<Object, Error> {
        let (carrier, placement) = self.carrier(source);
        let mesh = Arc::new(self.placed(source.geometry, placement)?);
        let mut object = Object::of_mesh(self.name(source), Arc::clone(&mesh));
        let gather = |values: &Vec<f32>| {
            source.geometry.weld.point_vertices.iter().map(|&vertex| values[vertex as usize]).collect()
        };
        let scalars = &source.geometry.scalars;
        object.attributes = scalars.iter().map(|(name, values)| (name.clone(), gather(values))).collect();
        object.deformers = read_deformers(self.document, source.node)?;
        if let Some(frames) = sequence::recorded(self.document, source, self.all_animations, placement, &mesh)? {
            object.sequence = Some(frames);
            return Ok(object);
        }
        if !matches!(carrier, Carrier::Nothing) || !source.geometry.targets.is_empty() {
            let (rig, skeleton) = self.rig(source, &carrier, placement, &mesh)?;
            let default_weights = self.default_weights(source, rig.shapes().len());
            let clips = self.clips(Some(source.node), &rig, skeleton, &default_weights)?;
            object.clips = clips.into_iter().map(Arc::new).collect();
            let transforms = skeleton.map(|skeleton| Arc::clone(&self.skeletons.list[skeleton].rest));
            let pose = RigPose { transforms: transforms.unwrap_or_default(), shape_weights: default_weights };
            object.rig = Some(Arc::new(rig.with_stored_pose(pose)?));
        }
        Ok(object)
    }

    /// The joints that move a mesh, and the transform of its own points to the scene.
    pub(super) fn carrier<'s>(&'s self, source: &Source<'s>) -> (Carrier<'s>, DAffine3) {
        let rest = self.tree.rest[source.node];
        if let Some(skin) = source.skin {
            return (Carrier::Skin(skin), skin.placement);
        }
        let mut local = DAffine3::IDENTITY;
        for node in self.tree.upwards(source.node) {
            let Some((skeleton, joint)) = self.skeletons.joint_of(node) else {
                local = self.tree.locals[node].matrix * local;
                continue;
            };
            let of_skeleton = &self.skeletons.list[skeleton];
            let bind = scaled_right(of_skeleton.joints[joint].bind(), of_skeleton.factors[joint].recip());
            let size = bind.matrix3.x_axis.length().max(bind.translation.length());
            let is_rest = bind.abs_diff_eq(self.tree.rest[node], SAME_TRANSFORM * size);
            let placement = if is_rest { rest } else { bind * local };
            if placement.is_finite() {
                return (Carrier::Joint(skeleton, joint), placement);
            }
            break;
        }
        (Carrier::Nothing, rest)
    }

    fn name(&self, source: &Source<'_>) -> String {
        let root = &self.document.root;
        let names = [&root.nodes[source.node].name, &root.meshes[source.mesh].name];
        let named = names.into_iter().find(|name| !name.is_empty()).cloned();
        named.unwrap_or_else(|| format!("mesh {}", source.mesh))
    }

    /// The mesh as `placement` puts it.
    pub(super) fn placed(&self, geometry: &Geometry<'_>, placement: DAffine3) -> Result<TriMesh, Error> {
        let vertices = geometry.positions.len();
        let bytes_per_vertex = 40 + 8 * geometry.uvs.len() + 16 * geometry.colors.len();
        self.document.take("the mesh of a node", vertices, bytes_per_vertex)?;
        self.document.take("the mesh of a node", geometry.triangles.len(), 28)?;
        let transform = Placement::new(placement);
        let weld = &geometry.weld;
        let points = weld.point_vertices.iter().map(|&vertex| transform.point(geometry.positions[vertex as usize]));
        // A mirrored surface is seen from its back unless its triangles are reversed.
        let turned = |[a, b, c]: [u32; 3]| if transform.mirrors { [a, c, b] } else { [a, b, c] };
        let triangles: Vec<[u32; 3]> = geometry.triangles.iter().copied().map(turned).collect();
        let over_points = triangles.iter().map(|triangle| triangle.map(|vertex| weld.vertex_points[vertex as usize]));
        let mesh = TriMesh::new(points.collect(), over_points.collect())?;
        let (materials, triangle_materials) = self.materials_of(geometry)?;
        let layout = Layout {
            vertex_points: weld.vertex_points.clone(),
            triangles,
            polygons: None,
            normals: geometry.normals.as_ref().map(|normals| normals.iter().map(|&n| transform.normal(n)).collect()),
            tangents: geometry
                .tangents
                .as_ref()
                .map(|tangents| tangents.iter().map(|&t| transform.tangent(t)).collect()),
            uvs: geometry.uvs.clone(),
            colors: geometry.colors.clone(),
            materials,
            triangle_materials,
        };
        let plain = Layout::plain(&mesh);
        Ok(if layout == plain { mesh } else { mesh.with_layout(layout)? })
    }

    /// The materials that a mesh uses, in the order of their first use, and the one of each triangle.
    fn materials_of(&self, geometry: &Geometry<'_>) -> Result<(Vec<dermis_mesh::Material>, Vec<u32>), Error> {
        if geometry.materials.iter().all(|(material, _)| material.is_none()) {
            return Ok((Vec::new(), Vec::new()));
        }
        let mut numbers: BTreeMap<Option<usize>, u32> = BTreeMap::new();
        let mut materials = Vec::new();
        let mut triangle_materials = Vec::with_capacity(geometry.triangles.len());
        for &(material, triangles) in &geometry.materials {
            let number = if let Some(&number) = numbers.get(&material) {
                number
            } else {
                materials.push(self.materials.get(material)?);
                let number = materials.len() as u32 - 1;
                numbers.insert(material, number);
                number
            };
            triangle_materials.resize(triangle_materials.len() + triangles, number);
        }
        Ok((materials, triangle_materials))
    }

    /// The rig of an object, and the skeleton that it is on.
    pub(super) fn rig(
        &self,
        source: &Source<'_>,
        carrier: &Carrier<'_>,
        placement: DAffine3,
        mesh: &TriMesh,
    ) -> Result<(Rig, Option<usize>), Error> {
        let points = mesh.point_count();
        let (joints, skeleton, weights) = match carrier {
            Carrier::Skin(skin) => {
                self.document.take("joints", skin.joints.len(), size_of::<Joint>())?;
                self.document.take("skin weights", points, 8 + 32 * source.geometry.influences.len())?;
                let weights = skin_weights(source.geometry, &skin.order)?;
                (Arc::clone(&skin.joints), Some(skin.skeleton), weights)
            }
            Carrier::Joint(skeleton, joint) => {
                self.document.take("skin weights", points, 16)?;
                let weights = SkinWeights::from_rows((0..points).map(|_| [(*joint as u32, 1.0)]));
                (Arc::clone(&self.skeletons.list[*skeleton].joints), Some(*skeleton), weights)
            }
            Carrier::Nothing => (Arc::default(), None, SkinWeights::default()),
        };
        let shapes = self.shapes(source, placement)?;
        Ok((Rig::sharing(mesh, joints, weights, shapes)?, skeleton))
    }

    fn shapes(&self, source: &Source<'_>, placement: DAffine3) -> Result<Vec<Shape>, Error> {
        let geometry = source.geometry;
        let names = &self.document.root.meshes[source.mesh].extras.target_names;
        let transform = Placement::new(placement);
        let mut shapes = Vec::with_capacity(geometry.targets.len());
        for (index, target) in geometry.targets.iter().enumerate() {
            let normals = if target.normals.is_some() { geometry.positions.len() } else { 0 };
            self.document.take("morph targets", geometry.weld.point_vertices.len() + normals, 12)?;
            let offsets: &[Vec3] = bytemuck::cast_slice(&target.positions);
            let offsets = geometry.weld.point_vertices.iter().map(|&vertex| transform.offset(offsets[vertex as usize]));
            shapes.push(Shape {
                name: names.get(index).cloned().unwrap_or_default(),
                offsets: offsets.collect(),
                normal_offsets: normal_offsets(geometry, target, &transform)?,
            });
        }
        Ok(shapes)
    }

    /// A clip for each animation: the joints of `skeleton`, and the morph weights of `node`.
    fn clips(
        &self,
        node: Option<usize>,
        rig: &Rig,
        skeleton: Option<usize>,
        default_weights: &[f32],
    ) -> Result<Vec<Clip>, Error> {
        let shape_count = rig.shapes().len();
        let clip = |(index, &animation): (usize, &&Animation<'_>)| -> Result<Clip, Error> {
            let animated = match node.filter(|_| shape_count > 0) {
                Some(node) => animation.weights(self.document, node, shape_count)?,
                None => None,
            };
            let frames = animation.times.count;
            let weights = if let Some(weights) = animated {
                weights
            } else {
                self.document.take("morph weights", frames, 4 * shape_count)?;
                default_weights.repeat(frames)
            };
            let transforms = skeleton.map(|skeleton| self.motion(skeleton, index)).transpose()?.unwrap_or_default();
            let name = animation.name.clone();
            let clip = Clip::sharing(rig, name, animation.times.rate_hz, transforms, weights)?;
            Ok(clip.starting_at(animation.times.start_seconds))
        };
        self.animations.iter().enumerate().map(clip).collect()
    }

    /// The joints of a skeleton in all frames of an animation.
    fn motion(&self, skeleton: usize, animation: usize) -> Result<Arc<Vec<DAffine3>>, Error> {
        let (of_skeleton, animated) = (&self.skeletons.list[skeleton], self.animations[animation]);
        let moves = of_skeleton.nodes.iter().any(|&node| animated.moves(node));
        let key = (skeleton, if moves { Ok(animation) } else { Err(animated.times.count) });
        if let Some(known) = self.motions.borrow().get(&key) {
            return Ok(Arc::clone(known));
        }
        let transforms = if moves {
            let mut transforms = animated.transforms(self.document, self.tree, &of_skeleton.nodes)?;
            for (transform, &factor) in transforms.iter_mut().zip(of_skeleton.factors.iter().cycle()) {
                *transform = scaled_right(*transform, factor);
            }
            transforms
        } else {
            self.document.take("still joints", animated.times.count, 96 * of_skeleton.nodes.len())?;
            of_skeleton.rest.repeat(animated.times.count)
        };
        let transforms = Arc::new(transforms);
        self.motions.borrow_mut().insert(key, Arc::clone(&transforms));
        Ok(transforms)
    }

    /// The morph weights without animation: those of the node, or else those of the mesh.
    fn default_weights(&self, source: &Source<'_>, count: usize) -> Vec<f32> {
        let root = &self.document.root;
        if root.meshes[source.mesh].extras.dermis.as_ref().is_some_and(|mark| mark.bind_weights) {
            return vec![0.0; count];
        }
        let mut weights = match &root.nodes[source.node].weights {
            Some(weights) => weights.clone(),
            None => root.meshes[source.mesh].weights.clone(),
        };
        weights.resize(count, 0.0);
        weights
    }
}

/// A node with a mesh.
pub(super) struct Source<'a> {
    pub node: usize,
    pub mesh: usize,
    pub geometry: &'a Geometry<'a>,
    pub skin: Option<&'a BoundSkin>,
}

/// The change of vertex normals; rejected if it is not finite.
fn normal_offsets(
    geometry: &Geometry<'_>,
    target: &Target<'_>,
    transform: &Placement,
) -> Result<Option<Vec<Vec3>>, Error> {
    let (Some(offsets), Some(normals)) = (&target.normals, &geometry.normals) else {
        return Ok(None);
    };
    if offsets.iter().any(|number| !number.is_finite()) {
        return Err(Error::malformed("a morph target has a normal that is not finite"));
    }
    let offsets: &[Vec3] = bytemuck::cast_slice(offsets);
    Ok(Some(normals.iter().zip(offsets).map(|(&normal, &offset)| transform.normal_offset(normal, offset)).collect()))
}
