//! From a node with a mesh to an object: its shape placed in the world, its rig, and its clips.
//!
//! A skinned mesh keeps its own coordinates: joints alone place it, whatever the node's transform (glTF 2.0, §3.7.3.3).
//! Any other mesh is placed by its node. If that node moves, the object gets a rig of one joint that moves with it; its
//! rest pose is that of the node when nothing is animated (or the mesh's own, where the node is flat then). Morph
//! targets are the rig's shapes; weights that are not 0 although nothing is animated are kept as a clip of one frame.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Layout, Object, Rig, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DVec3, Vec3, Vec4};

use super::animation::Animation;
use super::deformers::read_deformers;
use super::document::Document;
use super::geometry::{Geometry, Target, read_geometry};
use super::materials::Materials;
use super::nodes::NodeTree;
use super::sequence;
use super::skin::{Skin, read_skin, skin_weights};
use crate::error::Error;

/// The rate of a clip of one frame, which nobody will see.
const STILL_FRAME_RATE_HZ: f64 = dermis_mesh::sequence::DEFAULT_FRAME_RATE_HZ;

/// Parts that objects are made from.
pub(super) struct Builder<'a> {
    document: &'a Document<'a>,
    tree: &'a NodeTree,
    animations: &'a [Animation<'a>],
    materials: Materials<'a>,
    geometries: BTreeMap<usize, Rc<Geometry<'a>>>,
    skins: BTreeMap<usize, Rc<Skin>>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(document: &'a Document<'a>, tree: &'a NodeTree, animations: &'a [Animation<'a>]) -> Self {
        let (geometries, skins) = (BTreeMap::new(), BTreeMap::new());
        Self { document, tree, animations, materials: Materials::new(document), geometries, skins }
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
        let skin = match self.document.root.nodes[node].skin {
            Some(skin) if !geometry.influences.is_empty() => Some(self.skin(skin)?),
            _ => None,
        };
        let source = Source { node, mesh, geometry: &geometry, skin: skin.as_deref() };
        self.assemble(&source).map(Some).map_err(|error| error.at(format!("nodes[{node}]")))
    }

    fn geometry(&mut self, mesh: usize) -> Result<Rc<Geometry<'a>>, Error> {
        if let Some(geometry) = self.geometries.get(&mesh) {
            return Ok(Rc::clone(geometry));
        }
        let geometry = Rc::new(read_geometry(self.document, mesh)?);
        self.geometries.insert(mesh, Rc::clone(&geometry));
        Ok(geometry)
    }

    fn skin(&mut self, skin: usize) -> Result<Rc<Skin>, Error> {
        if let Some(skin) = self.skins.get(&skin) {
            return Ok(Rc::clone(skin));
        }
        let read = Rc::new(read_skin(self.document, self.tree, skin)?);
        self.skins.insert(skin, Rc::clone(&read));
        Ok(read)
    }

    fn assemble(&self, source: &Source<'_>) -> Result<Object, Error> {
        let moves = source.skin.is_none() && self.animations.iter().any(|animation| animation.moves(source.node));
        let rest = self.tree.rest[source.node];
        // A node that is flat at rest and grows later must not flatten the mesh for good.
        let own_space = source.skin.is_some() || (moves && !rest.inverse().is_finite());
        let placement = if own_space { DAffine3::IDENTITY } else { rest };
        let mesh = Arc::new(self.place(source.geometry, placement)?);
        let mut object = Object::of_mesh(self.name(source), Arc::clone(&mesh));
        let gather = |values: &Vec<f32>| {
            source.geometry.weld.point_vertices.iter().map(|&vertex| values[vertex as usize]).collect()
        };
        let scalars = &source.geometry.scalars;
        object.attributes = scalars.iter().map(|(name, values)| (name.clone(), gather(values))).collect();
        object.deformers = read_deformers(self.document, source.node)?;
        if let Some(frames) = sequence::recorded(self.document, source, self.animations, placement, &mesh)? {
            object.sequence = Some(frames);
            return Ok(object);
        }
        if source.skin.is_some() || moves || !source.geometry.targets.is_empty() {
            let (rig, nodes) = self.rig(source, moves, placement, &mesh)?;
            object.clips = self.clips(source, &rig, &nodes)?.into_iter().map(Arc::new).collect();
            object.rig = Some(Arc::new(rig));
        }
        Ok(object)
    }

    fn name(&self, source: &Source<'_>) -> String {
        let root = &self.document.root;
        let names = [&root.nodes[source.node].name, &root.meshes[source.mesh].name];
        let named = names.into_iter().find(|name| !name.is_empty()).cloned();
        named.unwrap_or_else(|| format!("mesh {}", source.mesh))
    }

    /// The mesh as `placement` puts it.
    fn place(&self, geometry: &Geometry<'_>, placement: DAffine3) -> Result<TriMesh, Error> {
        let vertices = geometry.positions.len();
        let bytes_per_vertex = 40 + 8 * geometry.uvs.len() + 16 * geometry.colors.len();
        self.document.take("the mesh of a node", vertices, bytes_per_vertex)?;
        self.document.take("the mesh of a node", geometry.triangles.len(), 28)?;
        let transform = Placement::new(placement);
        let weld = &geometry.weld;
        let points = weld.point_vertices.iter().map(|&vertex| transform.point(geometry.positions[vertex as usize]));
        // A mirrored surface is seen from its back unless its triangles turn the other way round.
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

    /// The rig of an object, and the nodes that are its joints.
    fn rig(
        &self,
        source: &Source<'_>,
        moves: bool,
        placement: DAffine3,
        mesh: &TriMesh,
    ) -> Result<(Rig, Vec<usize>), Error> {
        let points = mesh.point_count();
        let (joints, nodes, weights) = match source.skin {
            Some(skin) => {
                self.document.take("joints", skin.joints.len(), size_of::<Joint>())?;
                self.document.take("skin weights", points, 8 + 32 * source.geometry.influences.len())?;
                (skin.joints.clone(), skin.nodes.clone(), skin_weights(source.geometry))
            }
            None if moves => {
                self.document.take("skin weights", points, 16)?;
                let joint = Joint { name: self.name(source), parent: None, inverse_bind: placement.inverse() };
                (vec![joint], vec![source.node], SkinWeights::from_rows((0..points).map(|_| [(0, 1.0)])))
            }
            None => (Vec::new(), Vec::new(), SkinWeights::default()),
        };
        let shapes = self.shapes(source, placement)?;
        Ok((Rig::new(mesh, joints, weights, shapes)?, nodes))
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

    /// The clips of the animations that touch the object.
    fn clips(&self, source: &Source<'_>, rig: &Rig, nodes: &[usize]) -> Result<Vec<Clip>, Error> {
        let shape_count = rig.shapes().len();
        let default_weights = self.default_weights(source, shape_count);
        let mut clips = Vec::new();
        for animation in self.animations {
            let weights = match shape_count {
                0 => None,
                _ => animation.weights(self.document, source.node, shape_count)?,
            };
            if weights.is_none() && !nodes.iter().any(|&node| animation.moves(node)) {
                continue;
            }
            let transforms = animation.transforms(self.document, self.tree, nodes)?;
            let frames = animation.times.count;
            let weights = if let Some(weights) = weights {
                weights
            } else {
                self.document.take("morph weights", frames, 4 * shape_count)?;
                default_weights.repeat(frames)
            };
            let clip = Clip::new(rig, animation.name.clone(), animation.times.rate_hz, transforms, weights)?;
            clips.push(clip.starting_at(animation.times.start_seconds));
        }
        if clips.is_empty() && default_weights.iter().any(|weight| *weight != 0.0) {
            let still = nodes.iter().map(|&node| self.tree.rest[node]).collect();
            clips.push(Clip::new(rig, "default", STILL_FRAME_RATE_HZ, still, default_weights)?);
        }
        Ok(clips)
    }

    /// The morph weights if nothing is animated: the node's, or else the mesh's.
    fn default_weights(&self, source: &Source<'_>, count: usize) -> Vec<f32> {
        let root = &self.document.root;
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
    pub skin: Option<&'a Skin>,
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

/// Effect of a transform on positions, offsets, normals and tangents.
pub(super) struct Placement {
    affine: DAffine3,
    /// The inverse transpose of the linear part, up to scale.
    normals: DMat3,
    identity: bool,
    mirrors: bool,
}

impl Placement {
    pub(super) fn new(affine: DAffine3) -> Self {
        let linear = affine.matrix3;
        let determinant = linear.determinant();
        // The cofactors need no division, so they serve singular transforms too.
        let [x, y, z] = [linear.x_axis, linear.y_axis, linear.z_axis];
        let cofactors = DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
        let normals = if determinant < 0.0 { -cofactors } else { cofactors };
        Self { affine, normals, identity: affine == DAffine3::IDENTITY, mirrors: determinant < 0.0 }
    }

    pub(super) fn point(&self, point: Vec3) -> Vec3 {
        if self.identity { point } else { self.affine.transform_point3(point.as_dvec3()).as_vec3() }
    }

    fn offset(&self, offset: Vec3) -> Vec3 {
        if self.identity { offset } else { self.affine.transform_vector3(offset.as_dvec3()).as_vec3() }
    }

    fn normal(&self, normal: Vec3) -> Vec3 {
        if self.identity {
            return normal;
        }
        let turned = self.normals * normal.as_dvec3();
        turned.try_normalize().map_or(normal, DVec3::as_vec3)
    }

    fn normal_offset(&self, normal: Vec3, offset: Vec3) -> Vec3 {
        if self.identity {
            return offset;
        }
        let scale = (self.normals * normal.as_dvec3()).length_recip();
        if scale.is_finite() { (scale * (self.normals * offset.as_dvec3())).as_vec3() } else { offset }
    }

    fn tangent(&self, tangent: Vec4) -> Vec4 {
        if self.identity {
            return tangent;
        }
        let turned = self.affine.transform_vector3(tangent.truncate().as_dvec3());
        let sign = if self.mirrors { -tangent.w } else { tangent.w };
        turned.try_normalize().map_or(tangent, |unit| unit.as_vec3().extend(sign))
    }
}
