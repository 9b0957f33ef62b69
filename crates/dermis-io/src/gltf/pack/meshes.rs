//! Vertices, triangles and blend shapes of packed files.

use std::collections::BTreeMap;

use dermis_mesh::weld::{Column, Weld, weld};

use super::encode::{Encoded, UNSIGNED_BYTE, UNSIGNED_SHORT};
use super::influences::{Sets, quantized};
use super::order::{VertexSet, vertex_set};
use super::{INDICES, POINT_ATTRIBUTE, Packer, VERTICES, bounds};
use crate::error::Error;
use crate::gltf::schema::{Accessor, MeshMark, Primitive};

/// Bits of a texture coordinate from 0 to 1.
const TEXTURE_BITS: u32 = 12;
/// Bits of a component of the normal offset of a blend shape.
const SHAPE_NORMAL_BITS: u32 = 6;
/// Bits of the largest value of a custom attribute.
const ATTRIBUTE_BITS: i32 = 16;

/// Numbers that distinguish points, by accessor.
type Columns = BTreeMap<usize, Vec<f32>>;

impl Packer<'_> {
    /// Packs all meshes; returns the old index of each vertex of each.
    pub(super) fn meshes(&mut self) -> Result<Vec<Vec<u32>>, Error> {
        let mut orders = Vec::new();
        for mesh in 0..self.document.root.meshes.len() {
            let primitives: Vec<&Primitive> = self.document.root.meshes[mesh].primitives.iter().collect();
            if primitives.windows(2).any(|pair| pair[0].attributes != pair[1].attributes) {
                return Err(Error::unsupported("primitives of a mesh with different vertices cannot be packed"));
            }
            let Some(&first) = primitives.first() else {
                orders.push(Vec::new());
                continue;
            };
            let set = vertex_set(self.document, &primitives, self.packing.keep_order)?;
            self.mesh(mesh, first, &set).map_err(|error| error.at(format!("meshes[{mesh}]")))?;
            orders.push(set.old);
        }
        Ok(orders)
    }

    fn mesh(&mut self, mesh: usize, primitive: &Primitive, set: &VertexSet) -> Result<(), Error> {
        for (accessor, corners) in &set.triangles {
            self.triangles(*accessor, corners, set.old.len())?;
        }
        let points = self.points(primitive, set)?;
        let mut columns = Columns::new();
        self.influences(primitive, set, &points, &mut columns)?;
        for (name, &accessor) in &primitive.attributes {
            if !self.is_done[accessor] {
                self.attribute(name, accessor, set, &mut columns)?;
            }
        }
        for target in &primitive.targets {
            for (name, &accessor) in target {
                self.shape(name, accessor, set, &mut columns)?;
            }
        }
        if !self.packing.shape_normals {
            for primitive in &mut self.root.meshes[mesh].primitives {
                primitive.targets.iter_mut().for_each(|target| target.retain(|name, _| name == "POSITION"));
            }
        }
        self.mark_points(mesh, primitive, &points, &columns)
    }

    /// The point of each vertex, numbered in the new order.
    fn points(&self, primitive: &Primitive, set: &VertexSet) -> Result<Vec<u32>, Error> {
        let marks = primitive.attributes.get(&format!("_{POINT_ATTRIBUTE}"));
        if let Some(&marks) = marks {
            let marks = set.gather(&self.document.floats(marks, 1)?);
            return Ok(weld(marks.len(), &[Column { values: &marks, width: 1 }]).vertex_points);
        }
        let mut columns = Vec::new();
        let sets = primitive
            .attributes
            .iter()
            .filter(|(name, _)| *name == "POSITION" || name.starts_with("JOINTS_") || name.starts_with("WEIGHTS_"));
        let offsets = primitive.targets.iter().filter_map(|target| target.get("POSITION"));
        for accessor in sets.map(|(_, accessor)| accessor).chain(offsets) {
            columns.push(set.gather(&self.vectors(*accessor)?));
        }
        let columns: Vec<Column<'_>> =
            columns.iter().map(|column| Column { values: column.as_flattened(), width: 4 }).collect();
        Ok(weld(set.old.len(), &columns).vertex_points)
    }

    fn triangles(&mut self, accessor: usize, corners: &[u32], vertices: usize) -> Result<(), Error> {
        if self.is_done[accessor] {
            return Ok(());
        }
        // The triangle codec rotates the corners of triangles.
        let (mode, compressed) = if self.packing.keep_order {
            ("INDICES", meshopt::encode_index_sequence(corners, vertices))
        } else {
            ("TRIANGLES", meshopt::encode_index_buffer(corners, vertices))
        };
        let compressed =
            compressed.map_err(|error| Error::unsupported(format!("the triangles cannot be compressed: {error}")))?;
        let old = self.document.accessor(accessor)?.clone();
        let bytes = match old.component_type {
            UNSIGNED_SHORT => corners.iter().flat_map(|&corner| (corner as u16).to_le_bytes()).collect(),
            _ => corners.iter().flat_map(|corner| corner.to_le_bytes()).collect(),
        };
        let stride = if old.component_type == UNSIGNED_SHORT { 2 } else { 4 };
        let encoded = Encoded::unchanged(bytes, stride, old.component_type);
        let view = self.compressed_view(&encoded, mode, &compressed, INDICES);
        self.set(accessor, Accessor { buffer_view: Some(view), byte_offset: None, ..old });
        Ok(())
    }

    fn influences(
        &mut self,
        primitive: &Primitive,
        set: &VertexSet,
        points: &[u32],
        columns: &mut Columns,
    ) -> Result<(), Error> {
        let of_set = |name: &str, number: usize| primitive.attributes.get(&format!("{name}_{number}")).copied();
        let accessors: Vec<(usize, usize)> =
            (0..).map_while(|number| Some((of_set("JOINTS", number)?, of_set("WEIGHTS", number)?))).collect();
        if accessors.is_empty() || self.is_done[accessors[0].0] {
            return Ok(());
        }
        let mut rows: Vec<Vec<(u16, f32)>> = vec![Vec::new(); set.old.len()];
        for &(joints, weights) in &accessors {
            let (joints, weights) = (set.gather(&self.vectors(joints)?), set.gather(&self.vectors(weights)?));
            for (row, (joints, weights)) in rows.iter_mut().zip(joints.iter().zip(&weights)) {
                row.extend(joints.iter().zip(weights).map(|(&joint, &weight)| (joint as u16, weight)));
            }
        }
        let found = quantized(&rows, points, accessors.len(), self.packing.weight_bits);
        let is_small = found.joints.iter().flatten().flatten().all(|&joint| u8::try_from(joint).is_ok());
        for (number, &(joints, weights)) in accessors.iter().enumerate() {
            self.words(joints, &found.joints, number, is_small, false, columns)?;
            self.words(weights, &found.weights, number, found.full == u16::from(u8::MAX), true, columns)?;
        }
        Ok(())
    }

    /// One set of joints or weights, in 8 or 16 bits.
    fn words(
        &mut self,
        accessor: usize,
        sets: &Sets,
        number: usize,
        is_small: bool,
        normalized: bool,
        columns: &mut Columns,
    ) -> Result<(), Error> {
        let words = sets[number].as_flattened();
        let (bytes, stride, component_type) = if is_small {
            (words.iter().map(|&word| word as u8).collect(), 4, UNSIGNED_BYTE)
        } else {
            (words.iter().flat_map(|word| word.to_le_bytes()).collect(), 8, UNSIGNED_SHORT)
        };
        let encoded = Encoded { bytes, stride, filter: None, component_type, normalized };
        columns.insert(accessor, words.iter().map(|&word| f32::from(word)).collect());
        self.compress(accessor, &encoded, VERTICES)
    }

    fn attribute(&mut self, name: &str, accessor: usize, set: &VertexSet, columns: &mut Columns) -> Result<(), Error> {
        if name == "POSITION" {
            return self.positions(accessor, set, columns);
        }
        let values = set.gather(&self.vectors(accessor)?);
        let encoded = match name {
            "NORMAL" | "TANGENT" => Encoded::directions(&values, self.packing.normal_bits),
            _ if name.starts_with("TEXCOORD_") => texture(&values),
            _ if name.starts_with("COLOR_") => Encoded::colors(&values),
            // The attribute that identifies points is written last.
            _ if name.strip_prefix('_') == Some(POINT_ATTRIBUTE) => return Ok(()),
            _ => {
                let values: Vec<f32> = values.iter().map(|value| value[0]).collect();
                let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
                let exponent = if largest > 0.0 { largest.log2().ceil() as i32 } else { 0 };
                Encoded::floats(&values, 1, exponent - ATTRIBUTE_BITS)
            }
        };
        self.compress(accessor, &encoded, VERTICES)
    }

    /// Positions or shape offsets as multiples of the step.
    fn positions(&mut self, accessor: usize, set: &VertexSet, columns: &mut Columns) -> Result<(), Error> {
        let step = self.step;
        let whole = |value: f32| (f64::from(value) / step).round().clamp(-32_767.0, 32_767.0) as i16;
        let values = set.gather(&self.vectors(accessor)?);
        let integers: Vec<[i16; 3]> = values.iter().map(|&[x, y, z, _]| [whole(x), whole(y), whole(z)]).collect();
        self.compress(accessor, &Encoded::integers(&integers), VERTICES)?;
        let floats: Vec<f32> = integers.as_flattened().iter().map(|&number| f32::from(number)).collect();
        let described = &mut self.root.accessors[accessor];
        (described.min, described.max) = bounds(&floats, 3);
        columns.insert(accessor, floats);
        Ok(())
    }

    fn shape(&mut self, name: &str, accessor: usize, set: &VertexSet, columns: &mut Columns) -> Result<(), Error> {
        if self.is_done[accessor] {
            return Ok(());
        }
        if name == "POSITION" {
            return self.positions(accessor, set, columns);
        }
        if !self.packing.shape_normals {
            self.is_done[accessor] = true;
            return Ok(());
        }
        let values = set.gather(&self.vectors(accessor)?);
        let vectors: Vec<[f32; 3]> = values.iter().map(|&[x, y, z, _]| [x, y, z]).collect();
        let fits = vectors.as_flattened().iter().all(|value| value.abs() <= 1.0);
        let encoded = if fits {
            Encoded::signed_units(&vectors, SHAPE_NORMAL_BITS)
        } else {
            Encoded::floats(vectors.as_flattened(), 3, 1 - SHAPE_NORMAL_BITS as i32)
        };
        self.compress(accessor, &encoded, VERTICES)
    }

    /// Marks the points of the vertices if a reader that joins equal vertices would not find them.
    fn mark_points(
        &mut self,
        mesh: usize,
        primitive: &Primitive,
        points: &[u32],
        columns: &Columns,
    ) -> Result<(), Error> {
        let name = format!("_{POINT_ATTRIBUTE}");
        let marked = primitive.attributes.get(&name).copied();
        let columns: Vec<Column<'_>> =
            columns.values().map(|values| Column { values, width: values.len() / points.len().max(1) }).collect();
        let Weld { vertex_points, .. } = weld(points.len(), &columns);
        if vertex_points == points || points.is_empty() {
            if let Some(accessor) = marked {
                self.is_done[accessor] = true;
            }
            for primitive in &mut self.root.meshes[mesh].primitives {
                primitive.attributes.remove(&name);
            }
            return Ok(());
        }
        let accessor = marked.unwrap_or_else(|| {
            let accessor = self.add(Accessor::default());
            let mesh = &mut self.root.meshes[mesh];
            mesh.extras.dermis.get_or_insert(MeshMark::default());
            for primitive in &mut mesh.primitives {
                primitive.attributes.insert(name.clone(), accessor);
            }
            accessor
        });
        let marks: Vec<f32> = points.iter().map(|&point| point as f32).collect();
        let encoded = Encoded::floats(&marks, 1, 0);
        let compressed = encoded.compressed()?;
        let view = self.compressed_view(&encoded, "ATTRIBUTES", &compressed, VERTICES);
        let described = Accessor {
            buffer_view: Some(view),
            component_type: encoded.component_type,
            count: marks.len(),
            shape: "SCALAR".to_owned(),
            ..Accessor::default()
        };
        self.set(accessor, described);
        Ok(())
    }
}

fn texture(values: &[[f32; 4]]) -> Encoded {
    let is_unit = |value: f32| (0.0..=1.0).contains(&value);
    if values.iter().all(|value| is_unit(value[0]) && is_unit(value[1])) {
        let steps = f32::from((1_u16 << TEXTURE_BITS) - 1);
        let word = |value: f32| ((value * steps).round() / steps * f32::from(u16::MAX)).round() as u16;
        let bytes =
            values.iter().flat_map(|value| [word(value[0]), word(value[1])]).flat_map(u16::to_le_bytes).collect();
        return Encoded { bytes, stride: 4, filter: None, component_type: UNSIGNED_SHORT, normalized: true };
    }
    let pairs: Vec<f32> = values.iter().flat_map(|value| [value[0], value[1]]).collect();
    Encoded::floats(&pairs, 2, -(TEXTURE_BITS as i32))
}
