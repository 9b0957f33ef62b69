//! Layered bodies as `NumPy` archives: SMPL's layout, which other programs read, and additional arrays for the interior.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | those of [`dermis_io::smpl`] | | the body and its motions |
//! | `tissue_nodes`, `tissue_tets` | `[M,3]`, `[m,4]` | the tetrahedra; the first N nodes are the skin unless it is embedded |
//! | `tissue_weights` | `[M,J]` | skin weights of all nodes |
//! | `tissue_shapedirs`, `tissue_posedirs` | `[M,3,K]`, `[M,3,P]` | shapes and pose shapes of all nodes |
//! | `tissue_pose_numbers` | `[P]` | index of the element of R(θ) − I, out of 9(J − 1), that drives each pose shape |
//! | `tissue_bone_nodes` | `[b]` | the nodes of bones |
//! | `tissue_skin_tets`, `tissue_skin_weights` | `[N]`, `[N,4]` | an embedded skin: tetrahedra and barycentric coordinates |
//! | `tissue_thickness`, `tissue_young_modulus` | `[N]` | d and Young's modulus in pascals under each point of the skin |
//! | `tissue_poisson_ratio`, `tissue_density`, `tissue_damping_rate` | one number | in kg/m³, 1/s |
//!
//! Lengths are metres.

use std::collections::BTreeMap;
use std::path::Path;

use dermis_body::{BodyModel, PoseShape};
use dermis_io::npz::arrays::{self, Array, ArrayWriter, Arrays};
use dermis_io::output::Output;
use dermis_io::smpl::{self, BodyFile};
use dermis_io::{Error, WriteOptions, Written, check_target};
use dermis_mesh::glam::Vec3;
use dermis_mesh::{Note, Shape, SkinWeights, TetMesh, UpAxis};
use dermis_tet::tetrahedra::lattice::Embedding;
use dermis_tissue::layered::{Flesh, LayeredBody, LayeredError, LayeredParts, SkinBinding, volume_model};

/// A layered body with its attributes and notes.
#[derive(Debug)]
pub struct LayeredFile {
    /// The body.
    pub body: LayeredBody,
    /// Attributes of the points of the skin, by name, including those of the flesh.
    pub attributes: BTreeMap<String, Vec<f32>>,
    /// Assumptions and omissions.
    pub notes: Vec<Note>,
}

/// Reads the layered body in the file `path` if it is an archive with one.
pub fn read_if_layered(path: &Path) -> Result<Option<LayeredFile>, Error> {
    let has_inside = |arrays: &mut dyn Arrays| match arrays.array("tissue_nodes")? {
        Some(_) => from_arrays(arrays).map(Some),
        None => Ok(None),
    };
    arrays::read(path, has_inside)
}

/// Reads the layered body in the file `path`.
pub fn read(path: &Path) -> Result<LayeredFile, Error> {
    arrays::read(path, from_arrays)
}

/// Reads the layered body in the contents of a file.
pub fn read_bytes(bytes: &[u8]) -> Result<LayeredFile, Error> {
    arrays::read_bytes(bytes, from_arrays)
}

pub(crate) fn from_arrays(arrays: &mut dyn Arrays) -> Result<LayeredFile, Error> {
    let Some(nodes) = arrays.array("tissue_nodes")? else {
        return Err(Error::malformed("the archive contains no layered body: it has no array 'tissue_nodes'")
            .with_hint("build a layered body from the model first"));
    };
    let BodyFile { model: body, motions, notes } = smpl::body(arrays)?;
    let tets = TetMesh::new(arrays::points(&nodes)?, quads(&needed(arrays, "tissue_tets")?)?)?;
    let binding = binding(arrays)?;
    let volume = volume(arrays, &body, &tets)?;
    let flesh = Flesh {
        thickness: needed(arrays, "tissue_thickness")?.floats()?,
        young_modulus_pa: needed(arrays, "tissue_young_modulus")?.floats()?,
        poisson_ratio: needed(arrays, "tissue_poisson_ratio")?.number()? as f32,
        density_kg_per_m3: needed(arrays, "tissue_density")?.number()? as f32,
        damping_rate_per_s: needed(arrays, "tissue_damping_rate")?.number()? as f32,
    };
    let parts = LayeredParts {
        body,
        motions,
        up: arrays::units_of(arrays)?.up_axis.unwrap_or(UpAxis::Y),
        binding,
        volume,
        bone_nodes: needed(arrays, "tissue_bone_nodes")?.indices()?,
        flesh,
        tets,
    };
    let mut attributes = arrays.attributes(parts.body.point_count())?;
    attributes.insert("tissue_thickness".to_owned(), parts.flesh.thickness.clone());
    attributes.insert("tissue_young_modulus".to_owned(), parts.flesh.young_modulus_pa.clone());
    Ok(LayeredFile { body: LayeredBody::new(parts).map_err(|error| invalid(&error))?, attributes, notes })
}

fn needed(arrays: &mut dyn Arrays, name: &'static str) -> Result<Array, Error> {
    arrays.array(name)?.ok_or_else(|| Error::malformed(format!("the layered body has no array '{name}'")))
}

fn quads(array: &Array) -> Result<Vec<[u32; 4]>, Error> {
    match array.shape_of("[tetrahedra, 4]")? {
        [_, 4] => Ok(array.indices()?.as_chunks::<4>().0.to_vec()),
        _ => Err(array.wrong_shape("[tetrahedra, 4]")),
    }
}

fn binding(arrays: &mut dyn Arrays) -> Result<SkinBinding, Error> {
    let Some(tetrahedra) = arrays.array("tissue_skin_tets")? else { return Ok(SkinBinding::Nodes) };
    let tetrahedra = tetrahedra.indices()?;
    let array = needed(arrays, "tissue_skin_weights")?;
    if array.shape() != [tetrahedra.len(), 4] {
        return Err(array.wrong_shape(&format!("[{}, 4]", tetrahedra.len())));
    }
    let weights = array.floats()?;
    let embedding = |(tetrahedron, &weights): (u32, &[f32; 4])| Embedding { tetrahedron, weights };
    Ok(SkinBinding::Embedded(tetrahedra.into_iter().zip(weights.as_chunks::<4>().0).map(embedding).collect()))
}

fn volume(arrays: &mut dyn Arrays, body: &BodyModel, tets: &TetMesh) -> Result<BodyModel, Error> {
    let (nodes, joints) = (tets.nodes().len(), body.joints().len());
    let weights = needed(arrays, "tissue_weights")?;
    if weights.shape() != [nodes, joints] {
        return Err(weights.wrong_shape(&format!("[{nodes}, {joints}]")));
    }
    let mut columns = |name: &'static str| match arrays.array(name)? {
        Some(array) => smpl::columns(&array, nodes),
        None => Ok(Vec::new()),
    };
    let (shapes, pose_shapes) = (columns("tissue_shapedirs")?, columns("tissue_posedirs")?);
    let numbers = match arrays.array("tissue_pose_numbers")? {
        Some(array) if array.shape() == [pose_shapes.len()] => array.indices()?,
        Some(array) => return Err(array.wrong_shape(&format!("[{}]", pose_shapes.len()))),
        None if pose_shapes.is_empty() => Vec::new(),
        None => return Err(Error::malformed("the layered body has no array 'tissue_pose_numbers'")),
    };
    let named = |(own, offsets): (&Shape, Vec<Vec3>)| Shape { name: own.name.clone(), offsets, normal_offsets: None };
    let shapes = body.shapes().iter().zip(shapes).map(named).collect();
    let numbered = |(number, offsets): (u32, Vec<Vec3>)| PoseShape { number: number as usize, offsets };
    let pose_shapes = numbers.into_iter().zip(pose_shapes).map(numbered).collect();
    let weights = SkinWeights::from_dense(&weights.floats()?, joints);
    volume_model(body, tets, weights, shapes, pose_shapes).map_err(|error| invalid(&error))
}

/// Writes a layered body to the archive `target`.
pub fn write(target: &Path, body: &LayeredBody, options: &WriteOptions) -> Result<Written, Error> {
    check_target(target, options)?;
    let mut output = Output::new(options.force);
    let mut writer = ArrayWriter::new(output.create(target)?);
    let parts = body.parts();
    smpl::write_body(&mut writer, &parts.body)?;
    smpl::write_motions(&mut writer, &parts.motions, parts.body.joints().len())?;
    write_inside(&mut writer, parts)?;
    writer.number("metres_per_unit", 1.0)?;
    writer.up_axis(parts.up)?;
    writer.finish()?;
    output.commit()
}

fn write_inside(writer: &mut ArrayWriter, parts: &LayeredParts) -> Result<(), Error> {
    let LayeredParts { tets, volume, flesh, .. } = parts;
    let (nodes, joints) = (tets.nodes().len(), volume.joints().len());
    let positions: Vec<f32> = tets.nodes().iter().flat_map(Vec3::to_array).collect();
    writer.floats("tissue_nodes", &[nodes, 3], &positions)?;
    writer.indices("tissue_tets", &[tets.tetrahedra().len(), 4], tets.tetrahedra().as_flattened())?;
    writer.floats("tissue_weights", &[nodes, joints], &volume.weights().to_dense(joints))?;
    if !volume.shapes().is_empty() {
        let columns: Vec<&[Vec3]> = volume.shapes().iter().map(|shape| &shape.offsets[..]).collect();
        smpl::write_columns(writer, "tissue_shapedirs", nodes, &columns)?;
    }
    if !volume.pose_shapes().is_empty() {
        let columns: Vec<&[Vec3]> = volume.pose_shapes().iter().map(|shape| &shape.offsets[..]).collect();
        smpl::write_columns(writer, "tissue_posedirs", nodes, &columns)?;
        let numbers: Vec<u32> = volume.pose_shapes().iter().map(|shape| shape.number as u32).collect();
        writer.indices("tissue_pose_numbers", &[numbers.len()], &numbers)?;
    }
    writer.indices("tissue_bone_nodes", &[parts.bone_nodes.len()], &parts.bone_nodes)?;
    if let SkinBinding::Embedded(embeddings) = &parts.binding {
        let tetrahedra: Vec<u32> = embeddings.iter().map(|embedding| embedding.tetrahedron).collect();
        let weights: Vec<f32> = embeddings.iter().flat_map(|embedding| embedding.weights).collect();
        writer.indices("tissue_skin_tets", &[tetrahedra.len()], &tetrahedra)?;
        writer.floats("tissue_skin_weights", &[tetrahedra.len(), 4], &weights)?;
    }
    writer.floats("tissue_thickness", &[flesh.thickness.len()], &flesh.thickness)?;
    writer.floats("tissue_young_modulus", &[flesh.young_modulus_pa.len()], &flesh.young_modulus_pa)?;
    writer.number("tissue_poisson_ratio", f64::from(flesh.poisson_ratio))?;
    writer.number("tissue_density", f64::from(flesh.density_kg_per_m3))?;
    writer.number("tissue_damping_rate", f64::from(flesh.damping_rate_per_s))
}

fn invalid(error: &LayeredError) -> Error {
    Error::malformed(error.to_string())
}
