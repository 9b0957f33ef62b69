//! Vertices and triangles of a glTF mesh: all of its primitives merged into one shape.
//!
//! Primitives that refer to the same attributes share their vertices, as they do in the file. Triangles, strips and
//! fans become triangles; points and lines are skipped. An attribute that only some primitives have is padded if it has
//! a neutral value (UVs with 0, colours with white) and dropped otherwise (normals, tangents).

use std::collections::BTreeMap;

use bytemuck::Pod;
use dermis_mesh::Note;
use dermis_mesh::weld::{Column, Weld, weld};
use glam::{Vec2, Vec3, Vec4};

use super::accessor::{Floats, width};
use super::document::{Document, missing};
use super::draco::{self, DracoPrimitive};
use crate::error::Error;
use crate::gltf::POINT_ATTRIBUTE;
use crate::gltf::schema::{Material, Mesh, Primitive, TextureUse};

/// The modes of primitives.
const POINTS: u32 = 0;
const TRIANGLES: u32 = 4;
const STRIP: u32 = 5;
const FAN: u32 = 6;

/// Maximum number of sets of UVs or colours, and of custom attributes.
const MAX_SETS: usize = 64;

/// A mesh, before it is placed by a node.
#[derive(Debug, Default)]
pub(super) struct Geometry<'a> {
    pub positions: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    /// The material of each primitive and its number of triangles.
    pub materials: Vec<(Option<usize>, usize)>,
    pub normals: Option<Vec<Vec3>>,
    pub tangents: Option<Vec<Vec4>>,
    pub uvs: Vec<Vec<Vec2>>,
    pub colors: Vec<Vec<Vec4>>,
    /// Sets of four joints and four weights.
    pub influences: Vec<[Vec<[f32; 4]>; 2]>,
    /// Custom scalars per vertex.
    pub scalars: BTreeMap<String, Vec<f32>>,
    pub targets: Vec<Target<'a>>,
    /// Point of each vertex.
    pub weld: Weld,
}

/// A morph target: offsets of positions and, if the file has them, of normals.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub positions: Floats<'a>,
    pub normals: Option<Floats<'a>>,
}

/// Vertices that one or more primitives use.
struct Block<'a> {
    primitive: &'a Primitive,
    draco: Option<DracoPrimitive>,
    count: usize,
    first: u32,
}

/// The blocks of a mesh, by their contents.
#[derive(Default)]
struct Blocks<'a> {
    blocks: Vec<Block<'a>>,
    by_attributes: BTreeMap<(&'a Names, &'a Vec<Names>), usize>,
}

/// Attributes by name, as indices of accessors.
type Names = BTreeMap<String, usize>;

/// Reads mesh `index`.
pub(super) fn read_geometry<'a>(document: &'a Document<'_>, index: usize) -> Result<Geometry<'a>, Error> {
    let count = document.root.meshes.len();
    let mesh = document.root.meshes.get(index).ok_or_else(|| missing("mesh", index, count))?;
    read(document, mesh, index).map_err(|error| error.at(format!("meshes[{index}]")))
}

fn read<'a>(document: &'a Document<'_>, mesh: &'a Mesh, index: usize) -> Result<Geometry<'a>, Error> {
    let mut geometry = Geometry::default();
    let blocks = read_triangles(document, mesh, index, &mut geometry)?;
    if blocks.is_empty() {
        return Ok(geometry);
    }
    let merge = Merge { document, blocks: &blocks, location: format!("meshes[{index}]") };
    geometry.positions = merge.required("POSITION")?;
    geometry.normals = merge.where_all_have("NORMAL")?;
    if geometry.normals.is_none() && !geometry.triangles.is_empty() && !merge.has("NORMAL") {
        // Section 3.7.2.1: without normals, viewers shade the mesh flat.
        document.note(Note::at(&merge.location, "the mesh has no normals; it is shaded smooth instead of flat"));
    }
    geometry.tangents = merge.where_all_have::<[f32; 4]>("TANGENT")?.map(vectors);
    geometry.uvs = merge.sets("TEXCOORD", |merge, name| merge.filled(name, Vec2::ZERO))?;
    transform_uvs(&merge, &mut geometry.uvs);
    geometry.colors = merge.sets("COLOR", Merge::colors)?;
    let joints = merge.sets("JOINTS", |merge, name| merge.filled(name, [0.0; 4]))?;
    let weights = merge.sets("WEIGHTS", |merge, name| merge.filled(name, [0.0; 4]))?;
    geometry.influences = joints.into_iter().zip(weights).map(|(joints, weights)| [joints, weights]).collect();
    geometry.scalars = merge.scalars()?;
    geometry.targets = read_targets(document, &blocks)?;
    clear_unused_joints(&mut geometry.influences);
    let ours = mesh.extras.dermis.is_some();
    let marked = geometry.scalars.remove(POINT_ATTRIBUTE).filter(|_| ours).and_then(|points| marked_points(&points));
    geometry.weld = marked.unwrap_or_else(|| weld_vertices(&geometry));
    Ok(geometry)
}

/// Applies the texture transforms of the materials to the UVs. Textures of a material can have different ones; that of
/// its first texture is applied.
fn transform_uvs(merge: &Merge<'_, '_>, uvs: &mut [Vec<Vec2>]) {
    for block in merge.blocks {
        let material = block.primitive.material.and_then(|index| merge.document.root.materials.get(index));
        let Some(uses) = material.map(Material::textures) else { continue };
        let Some(first) = uses.first().filter(|first| first.extensions.transform.is_some()) else {
            if uses.iter().any(|used| used.extensions.transform.is_some()) {
                merge
                    .document
                    .note(Note::at(&merge.location, "the texture transform of a secondary texture is skipped"));
            }
            continue;
        };
        let same = |used: &&TextureUse| used.uv_set() != first.uv_set() || used.extensions == first.extensions;
        if !uses.iter().all(same) {
            let message = "the textures of a material have different transforms; that of the first is applied to all";
            merge.document.note(Note::at(&merge.location, message));
        }
        let range = block.first as usize..block.first as usize + block.count;
        if let Some(uvs) = uvs.get_mut(first.uv_set() as usize).and_then(|uvs| uvs.get_mut(range)) {
            for uv in uvs {
                *uv = first.transformed(*uv);
            }
        }
    }
}

/// Fills in triangles and materials; returns the blocks of vertices that they use.
fn read_triangles<'a>(
    document: &Document<'_>,
    mesh: &'a Mesh,
    index: usize,
    geometry: &mut Geometry<'_>,
) -> Result<Vec<Block<'a>>, Error> {
    let ours = mesh.extras.dermis.is_some();
    let mut blocks = Blocks::default();
    for primitive in &mesh.primitives {
        let mode = primitive.mode.unwrap_or(TRIANGLES);
        if mode < TRIANGLES && !(ours && mode == POINTS) {
            let what = if mode == POINTS { "points" } else { "lines" };
            document.note(Note::at(format!("meshes[{index}]"), format!("{what} are skipped")));
            continue;
        }
        let block = block_of(document, primitive, &mut blocks)?;
        let corners: Vec<u32> = match (&block.draco, primitive.indices) {
            (Some(draco), _) => draco.triangles.as_flattened().to_vec(),
            (None, Some(indices)) => document.indices(indices)?,
            (None, None) => (0..block.count as u32).collect(),
        };
        let before = geometry.triangles.len();
        cut_triangles(mode, &corners, block, &mut geometry.triangles)?;
        geometry.materials.push((primitive.material, geometry.triangles.len() - before));
    }
    Ok(blocks.blocks)
}

/// The block whose vertices `primitive` uses: an existing one, or a new one.
fn block_of<'a, 'b>(
    document: &Document<'_>,
    primitive: &'a Primitive,
    known: &'b mut Blocks<'a>,
) -> Result<&'b Block<'a>, Error> {
    let key = (&primitive.attributes, &primitive.targets);
    let compressed = primitive.extensions.draco.is_some();
    if let Some(&at) = known.by_attributes.get(&key).filter(|_| !compressed) {
        return Ok(&known.blocks[at]);
    }
    let at = known.blocks.len();
    let first = known.blocks.last().map_or(0, |last| last.first as usize + last.count);
    known.blocks.push(new_block(document, primitive, first)?);
    if !compressed {
        known.by_attributes.insert(key, at);
    }
    Ok(&known.blocks[at])
}

fn new_block<'a>(document: &Document<'_>, primitive: &'a Primitive, first: usize) -> Result<Block<'a>, Error> {
    let stream = &primitive.extensions.draco;
    let draco = stream.as_ref().map(|stream| draco::decompress(document, primitive, stream)).transpose()?;
    let &positions =
        primitive.attributes.get("POSITION").ok_or_else(|| Error::malformed("a primitive has no positions"))?;
    let count = match &draco {
        Some(draco) => draco.point_count,
        None => document.accessor(positions)?.count,
    };
    document.take("vertices", count, size_of::<Vec3>())?;
    let total = first.saturating_add(count);
    if u32::try_from(total).is_err() {
        return Err(Error::unsupported(format!("{total} vertices exceed the range of 32-bit indices")));
    }
    Ok(Block { primitive, draco, count, first: first as u32 })
}

/// Converts the corners of a primitive to triangles over the vertices of the mesh.
fn cut_triangles(mode: u32, corners: &[u32], block: &Block<'_>, out: &mut Vec<[u32; 3]>) -> Result<(), Error> {
    if let Some(at) = corners.iter().position(|&corner| corner as usize >= block.count) {
        return Err(Error::malformed(format!(
            "index {at} refers to vertex {}, but there are only {}",
            corners[at], block.count
        )));
    }
    let mut push = |corners: [u32; 3]| out.push(corners.map(|corner| corner + block.first));
    let proper = |[a, b, c]: &[u32; 3]| a != b && b != c && c != a;
    match mode {
        POINTS => {}
        TRIANGLES => {
            let (triangles, rest) = corners.as_chunks::<3>();
            if !rest.is_empty() {
                let count = corners.len();
                return Err(Error::malformed(format!("the number of corners, {count}, is not a multiple of 3")));
            }
            triangles.iter().copied().for_each(push);
        }
        // Strips repeat corners to jump; such degenerate triangles are not visible.
        STRIP => {
            let turned = |(at, window): (usize, &[u32])| match at % 2 {
                0 => [window[0], window[1], window[2]],
                _ => [window[1], window[0], window[2]],
            };
            corners.windows(3).enumerate().map(turned).filter(proper).for_each(push);
        }
        FAN => {
            let spokes = corners.iter().skip(1).zip(corners.iter().skip(2));
            spokes.map(|(&b, &c)| [b, c, corners[0]]).filter(proper).for_each(&mut push);
        }
        _ => return Err(Error::malformed(format!("{mode} is not a primitive mode"))),
    }
    Ok(())
}

/// Attributes of several blocks in a row.
struct Merge<'m, 'a> {
    document: &'m Document<'m>,
    blocks: &'m [Block<'a>],
    location: String,
}

impl Merge<'_, '_> {
    /// The numbers of a block's attribute, `components` for each vertex.
    fn block<'b>(&'b self, block: &'b Block<'_>, name: &str, components: usize) -> Result<Option<Floats<'b>>, Error> {
        let Some(&accessor) = block.primitive.attributes.get(name) else {
            return Ok(None);
        };
        let numbers = match block.draco.as_ref().and_then(|draco| draco.attribute(name)) {
            Some(numbers) => numbers,
            None => self.document.floats(accessor, components)?,
        };
        if numbers.len() != components * block.count {
            let (found, expected) = (numbers.len() / components, block.count);
            return Err(Error::malformed(format!("{name} has {found} elements, but there are {expected} vertices")));
        }
        Ok(Some(numbers))
    }

    fn merged<T: Pod>(&self, name: &str, fill: Option<T>) -> Result<Option<Vec<T>>, Error> {
        let count: usize = self.blocks.iter().map(|block| block.count).sum();
        self.document.take(name, count, size_of::<T>())?;
        let mut merged: Vec<T> = Vec::with_capacity(count);
        for block in self.blocks {
            match (self.block(block, name, size_of::<T>() / 4)?, fill) {
                (Some(numbers), _) => merged.extend_from_slice(bytemuck::cast_slice(&numbers)),
                (None, Some(fill)) => merged.resize(merged.len() + block.count, fill),
                (None, None) => return Ok(None),
            }
        }
        Ok(Some(merged))
    }

    fn has(&self, name: &str) -> bool {
        self.blocks.iter().any(|block| block.primitive.attributes.contains_key(name))
    }

    fn required<T: Pod>(&self, name: &str) -> Result<Vec<T>, Error> {
        self.merged(name, None)?.ok_or_else(|| Error::malformed(format!("a primitive has no {name}")))
    }

    fn filled<T: Pod>(&self, name: &str, fill: T) -> Result<Vec<T>, Error> {
        Ok(self.merged(name, Some(fill))?.unwrap_or_default())
    }

    fn where_all_have<T: Pod>(&self, name: &str) -> Result<Option<Vec<T>>, Error> {
        let merged = if self.has(name) { self.merged(name, None)? } else { None };
        if merged.is_none() && self.has(name) {
            let message = format!("only some primitives have {name}; it is skipped");
            self.document.note(Note::at(&self.location, message));
        }
        Ok(merged)
    }

    /// `NAME_0`, `NAME_1`, … up to the last that any primitive has.
    fn sets<T>(&self, name: &str, read: impl Fn(&Self, &str) -> Result<Vec<T>, Error>) -> Result<Vec<Vec<T>>, Error> {
        let names = (0..).map(|set| format!("{name}_{set}")).take_while(|name| self.has(name)).take(MAX_SETS);
        names.map(|name| read(self, &name)).collect()
    }

    /// Colours have three components or four.
    fn colors(&self, name: &str) -> Result<Vec<Vec4>, Error> {
        let mut merged = Vec::new();
        for block in self.blocks {
            self.document.take(name, block.count, size_of::<Vec4>())?;
            let accessor = block.primitive.attributes.get(name).map(|&index| self.document.accessor(index));
            let components = accessor.transpose()?.map_or(Ok(4), |accessor| width(&accessor.shape))?;
            match (self.block(block, name, components)?, components) {
                (Some(numbers), 4) => merged.extend(numbers.as_chunks::<4>().0.iter().copied().map(Vec4::from_array)),
                (Some(numbers), 3) => {
                    let colors: &[Vec3] = bytemuck::cast_slice(&numbers);
                    merged.extend(colors.iter().map(|color| color.extend(1.0)));
                }
                _ => merged.resize(merged.len() + block.count, Vec4::ONE),
            }
        }
        Ok(merged)
    }

    /// The custom attributes that are scalars, without their leading underscore.
    fn scalars(&self) -> Result<BTreeMap<String, Vec<f32>>, Error> {
        let mut scalars = BTreeMap::new();
        for block in self.blocks {
            for (name, &accessor) in &block.primitive.attributes {
                let Some(bare) = name.strip_prefix('_').filter(|bare| !scalars.contains_key(*bare)) else {
                    continue;
                };
                if scalars.len() < MAX_SETS && self.document.accessor(accessor)?.shape == "SCALAR" {
                    scalars.insert(bare.to_owned(), self.filled(name, 0.0)?);
                } else {
                    let message = format!("the custom attribute {name} is not a scalar and is skipped");
                    self.document.note(Note::at(&self.location, message));
                }
            }
        }
        Ok(scalars)
    }
}

/// `Vec4` is aligned more strictly than the floats of a file.
fn vectors(arrays: Vec<[f32; 4]>) -> Vec<Vec4> {
    arrays.into_iter().map(Vec4::from_array).collect()
}

fn read_targets<'a>(document: &'a Document<'_>, blocks: &[Block<'_>]) -> Result<Vec<Target<'a>>, Error> {
    let count = blocks.first().map_or(0, |block| block.primitive.targets.len());
    if blocks.iter().any(|block| block.primitive.targets.len() != count) {
        return Err(Error::malformed("the primitives of a mesh have different numbers of morph targets"));
    }
    (0..count)
        .map(|target| {
            let has_normals = blocks.iter().any(|block| block.primitive.targets[target].contains_key("NORMAL"));
            Ok(Target {
                positions: target_offsets(document, blocks, target, "POSITION")?,
                normals: has_normals.then(|| target_offsets(document, blocks, target, "NORMAL")).transpose()?,
            })
        })
        .collect()
}

/// Offsets of all vertices in one target: borrowed from the file if they are contiguous there.
fn target_offsets<'a>(
    document: &'a Document<'_>,
    blocks: &[Block<'_>],
    target: usize,
    name: &str,
) -> Result<Floats<'a>, Error> {
    let offsets = |block: &Block<'_>| {
        let Some(&accessor) = block.primitive.targets[target].get(name) else {
            document.take("a morph target without offsets", block.count, 12)?;
            return Ok(Floats::Owned(vec![0.0; 3 * block.count]));
        };
        let offsets = document.floats_unchecked(accessor, 3)?;
        if offsets.len() == 3 * block.count {
            return Ok(offsets);
        }
        let (found, expected) = (offsets.len() / 3, block.count);
        Err(Error::malformed(format!("morph target {target} has {found} elements, but there are {expected} vertices")))
    };
    if let [block] = blocks {
        return offsets(block);
    }
    let mut joined = Vec::new();
    for block in blocks {
        document.take("morph targets", block.count, 12)?;
        joined.extend_from_slice(&offsets(block)?);
    }
    Ok(Floats::Owned(joined))
}

/// The joint of an empty slot has no meaning and can be any number.
fn clear_unused_joints(influences: &mut [[Vec<[f32; 4]>; 2]]) {
    for [joints, weights] in influences {
        for (joints, weights) in joints.iter_mut().zip(weights) {
            for (joint, weight) in joints.iter_mut().zip(weights) {
                if *weight == 0.0 && joint != &0.0 {
                    *joint = 0.0;
                }
            }
        }
    }
}

/// Point indices stored by the writer of dermis; `None` if they are invalid.
fn marked_points(marks: &[f32]) -> Option<Weld> {
    const NONE: u32 = u32::MAX;
    // Floats represent integers exactly up to 2²⁴, and there are no more points than vertices.
    let whole = |mark: f32| (mark >= 0.0 && mark < marks.len() as f32 && mark.fract() == 0.0).then_some(mark as u32);
    let vertex_points: Vec<u32> = marks.iter().map(|&mark| whole(mark)).collect::<Option<_>>()?;
    let count = vertex_points.iter().max()? + 1;
    let mut point_vertices = vec![NONE; count as usize];
    for (vertex, &point) in vertex_points.iter().enumerate().rev() {
        point_vertices[point as usize] = vertex as u32;
    }
    (!point_vertices.contains(&NONE)).then_some(Weld { vertex_points, point_vertices })
}

/// Vertices with equal positions and equal motion are one point.
fn weld_vertices(geometry: &Geometry<'_>) -> Weld {
    let mut columns = vec![Column { values: bytemuck::cast_slice(&geometry.positions), width: 3 }];
    for set in geometry.influences.iter().flatten() {
        columns.push(Column { values: bytemuck::cast_slice(set), width: 4 });
    }
    columns.extend(geometry.targets.iter().map(|target| Column { values: &target.positions, width: 3 }));
    weld(geometry.positions.len(), &columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(mode: u32, corners: &[u32]) -> Vec<[u32; 3]> {
        let primitive = Primitive::default();
        let block = Block { primitive: &primitive, draco: None, count: 9, first: 10 };
        let mut out = Vec::new();
        cut_triangles(mode, corners, &block, &mut out).unwrap();
        out
    }

    #[test]
    fn strips_and_fans_keep_their_orientation() {
        assert_eq!(cut(STRIP, &[0, 1, 2, 3, 3, 4]), [[10, 11, 12], [12, 11, 13]]);
        assert_eq!(cut(FAN, &[0, 1, 2, 3]), [[11, 12, 10], [12, 13, 10]]);
        assert_eq!(cut(FAN, &[]), [[0u32; 3]; 0]);
        assert_eq!(cut(TRIANGLES, &[0, 1, 2]), [[10, 11, 12]]);
    }

    #[test]
    fn marks_that_skip_a_point_are_ignored() {
        let weld = marked_points(&[1.0, 0.0, 1.0]).unwrap();
        assert_eq!((weld.vertex_points.as_slice(), weld.point_vertices.as_slice()), (&[1, 0, 1][..], &[1, 0][..]));
        for marks in [&[0.0, 2.0][..], &[0.5], &[-1.0, 0.0], &[f32::NAN], &[0.0, 9.0], &[]] {
            assert!(marked_points(marks).is_none(), "{marks:?}");
        }
    }
}
