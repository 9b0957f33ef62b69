//! Geometry: points, polygons, normals, UVs, colours, and shapes.

use dermis_mesh::geometry::point_normals;
use dermis_mesh::polygons::flip_v;
use dermis_mesh::{Object, PolygonMesh, Shape, TriMesh};
use glam::{DVec3, Vec3};

use super::file::{FbxFile, object};
use super::node::{Node, number, properties, property};
use crate::error::Error;
use crate::fbx::signed_shapes::Part;

/// Name of a UV set.
pub(super) fn uv_name(set: usize) -> String {
    if set == 0 { "UVMap".to_owned() } else { format!("UVMap_{set}") }
}

/// Writes the geometry of `shape` under the node `model`.
pub(super) fn write_geometry(file: &mut FbxFile, name: &str, shape: &PolygonMesh, model: i64) -> Result<i64, Error> {
    let id = file.id();
    let points: Vec<DVec3> = shape.points.iter().map(|point| point.as_dvec3()).collect();
    let mut node = object("Geometry", id, name, "Geometry", "Mesh").children([
        Node::of("GeometryVersion", 124),
        Node::of("Vertices", flat(&points)),
        Node::of("PolygonVertexIndex", polygon_indices(shape)),
    ]);
    let mut layers = Vec::new();
    if let Some(normals) = &shape.normals {
        let corners: Vec<DVec3> =
            normals.indices.iter().map(|&index| normals.values[index as usize].as_dvec3()).collect();
        node =
            node.child(element("LayerElementNormal", 0, 102, "", "Direct").child(Node::of("Normals", flat(&corners))));
        layers.push(Layer { kind: "LayerElementNormal", set: 0 });
    }
    for (set, uvs) in shape.uvs.iter().enumerate() {
        let values: Vec<f64> = uvs.values.iter().flat_map(|uv| flip_v(*uv).as_dvec2().to_array()).collect();
        let uv = element("LayerElementUV", set, 101, &uv_name(set), "IndexToDirect");
        node = node.child(uv.child(Node::of("UV", values)).child(Node::of("UVIndex", signed(&uvs.indices))));
        layers.push(Layer { kind: "LayerElementUV", set });
    }
    for (set, colors) in shape.colors.iter().enumerate() {
        let values: Vec<f64> = colors.values.iter().flat_map(|color| color.as_dvec4().to_array()).collect();
        let color = element("LayerElementColor", set, 101, &format!("Col{set}"), "IndexToDirect");
        let color = color.child(Node::of("Colors", values)).child(Node::of("ColorIndex", signed(&colors.indices)));
        node = node.child(color);
        layers.push(Layer { kind: "LayerElementColor", set });
    }
    if !shape.materials.is_empty() {
        node = node.child(material_element(shape));
        layers.push(Layer { kind: "LayerElementMaterial", set: 0 });
    }
    let layer_count = layers.iter().map(|layer| layer.set + 1).max().unwrap_or(0);
    node = node.children((0..layer_count).map(|set| layer_node(set, &layers)));
    file.object("Geometry", &node)?;
    file.connect(id, model);
    Ok(id)
}

/// The last corner of a polygon is marked by its complement.
fn polygon_indices(shape: &PolygonMesh) -> Vec<i32> {
    let mut indices = signed(&shape.polygons.corners);
    let mut end = 0;
    for &size in &shape.polygons.sizes {
        end += size as usize;
        if let Some(last) = end.checked_sub(1).and_then(|last| indices.get_mut(last)) {
            *last = !*last;
        }
    }
    indices
}

#[derive(Clone, Copy)]
struct Layer {
    kind: &'static str,
    set: usize,
}

/// Values per corner of polygons.
fn element(kind: &'static str, set: usize, version: i32, name: &str, reference: &str) -> Node {
    Node::of(kind, set as i32).children([
        Node::of("Version", version),
        Node::of("Name", name),
        Node::of("MappingInformationType", "ByPolygonVertex"),
        Node::of("ReferenceInformationType", reference),
    ])
}

fn material_element(shape: &PolygonMesh) -> Node {
    let materials: Vec<i32> =
        if shape.polygon_materials.is_empty() { vec![0] } else { signed(&shape.polygon_materials) };
    let is_one = materials.iter().all(|material| *material == materials[0]);
    let (mapping, materials) = if is_one { ("AllSame", vec![materials[0]]) } else { ("ByPolygon", materials) };
    Node::of("LayerElementMaterial", 0).children([
        Node::of("Version", 101),
        Node::of("Name", ""),
        Node::of("MappingInformationType", mapping),
        Node::of("ReferenceInformationType", "IndexToDirect"),
        Node::of("Materials", materials),
    ])
}

fn layer_node(set: usize, layers: &[Layer]) -> Node {
    let element = |layer: &Layer| {
        Node::new("LayerElement").child(Node::of("Type", layer.kind)).child(Node::of("TypedIndex", layer.set as i32))
    };
    let own = layers.iter().filter(|layer| layer.set == set).map(element);
    Node::of("Layer", set as i32).child(Node::of("Version", 100)).children(own)
}

/// The shapes of one mesh: a deformer with a channel for each.
pub(super) struct BlendShape {
    id: i64,
}

impl BlendShape {
    pub(super) fn write(file: &mut FbxFile, name: &str, geometry: i64) -> Result<Self, Error> {
        let id = file.id();
        let node = object("Deformer", id, name, "Deformer", "BlendShape").child(Node::of("Version", 100));
        file.object("Deformer", &node)?;
        file.connect(id, geometry);
        Ok(Self { id })
    }

    /// Writes a part of a shape with its channel, with the given stored `weight`; returns the channel.
    pub(super) fn channel(
        &self,
        file: &mut FbxFile,
        name: &str,
        offsets: &Offsets,
        part: Part,
        weight: f32,
    ) -> Result<i64, Error> {
        let (channel, target) = (file.id(), file.id());
        let name = &part.name(name);
        let percent = 100.0 * f64::from(weight);
        let mark = part.property().map(|(name, factor)| property(name, "Number", "", "U", [factor]));
        let node = object("Deformer", channel, name, "SubDeformer", "BlendShapeChannel").children([
            Node::of("Version", 100),
            properties(std::iter::once(number("DeformPercent", percent)).chain(mark)),
            Node::of("DeformPercent", percent),
            Node::of("FullWeights", vec![100.0f64]),
        ]);
        file.object("Deformer", &node)?;
        file.connect(channel, self.id);
        // Readers such as assimp require the normals.
        let shape = object("Geometry", target, name, "Geometry", "Shape").children([
            Node::of("Version", 100),
            Node::of("Indexes", offsets.points.clone()),
            Node::of("Vertices", flat(&scaled(&offsets.positions, part))),
            Node::of("Normals", flat(&scaled(&offsets.normals, part))),
        ]);
        file.object("Geometry", &shape)?;
        file.connect(target, channel);
        Ok(channel)
    }
}

/// The points that a shape moves, and their offsets.
pub(super) struct Offsets {
    points: Vec<i32>,
    positions: Vec<DVec3>,
    normals: Vec<DVec3>,
}

impl Offsets {
    /// The offsets that move the points of the mesh to `moved`, and rotate their normals.
    pub(super) fn to(mesh: &TriMesh, moved: &[Vec3]) -> Self {
        let positions: Vec<DVec3> =
            moved.iter().zip(mesh.points()).map(|(to, from)| to.as_dvec3() - from.as_dvec3()).collect();
        Self::new(&positions, &turned_normals(mesh, moved))
    }

    /// The offsets of a shape of a rig.
    pub(super) fn of_shape(object: &Object, shape: &Shape) -> Self {
        let positions: Vec<DVec3> = shape.offsets.iter().map(|offset| offset.as_dvec3()).collect();
        let normals = shape.normal_offsets.as_ref().map_or_else(
            || {
                let points = object.mesh.points().iter().zip(&shape.offsets);
                turned_normals(&object.mesh, &points.map(|(point, offset)| *point + *offset).collect::<Vec<_>>())
            },
            |normals| per_point(object, normals),
        );
        Self::new(&positions, &normals)
    }

    /// Points without an offset are skipped.
    fn new(positions: &[DVec3], normals: &[DVec3]) -> Self {
        let moves = |point: &usize| positions[*point] != DVec3::ZERO || normals[*point] != DVec3::ZERO;
        let mut points: Vec<usize> = (0..positions.len()).filter(moves).collect();
        // Readers expect at least one point, even in an empty shape.
        if points.is_empty() {
            points.push(0);
        }
        Self {
            positions: points.iter().map(|&point| positions[point]).collect(),
            normals: points.iter().map(|&point| normals[point]).collect(),
            points: points.into_iter().map(|point| point as i32).collect(),
        }
    }
}

/// Changes of the normals of points that move to `moved`.
fn turned_normals(mesh: &TriMesh, moved: &[Vec3]) -> Vec<DVec3> {
    let (before, after) = (point_normals(mesh.points(), mesh.triangles()), point_normals(moved, mesh.triangles()));
    before.iter().zip(after).map(|(before, after)| after.as_dvec3() - before.as_dvec3()).collect()
}

/// Means over the vertices of each point: shapes of FBX have one normal per point.
fn per_point(object: &Object, normals: &[Vec3]) -> Vec<DVec3> {
    let Some(layout) = object.mesh.layout() else {
        return normals.iter().map(|normal| normal.as_dvec3()).collect();
    };
    let mut sums = vec![(DVec3::ZERO, 0.0); object.mesh.point_count()];
    for (&point, normal) in layout.vertex_points.iter().zip(normals).filter(|(_, normal)| normal.is_finite()) {
        let (sum, count) = &mut sums[point as usize];
        *sum += normal.as_dvec3();
        *count += 1.0;
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { DVec3::ZERO }).collect()
}

fn scaled(vectors: &[DVec3], part: Part) -> Vec<DVec3> {
    vectors.iter().map(|vector| *vector * f64::from(part.factor)).collect()
}

fn flat(vectors: &[DVec3]) -> Vec<f64> {
    vectors.iter().flat_map(DVec3::to_array).collect()
}

fn signed(indices: &[u32]) -> Vec<i32> {
    indices.iter().map(|&index| index as i32).collect()
}
