//! Conversion of a scene to an archive.
//!
//! An object's name is its path if it begins with `/`: the last component is the name of the mesh, the others are those
//! of identity transforms. Any other name becomes a transform of that name with the mesh below it, since clients show
//! the name of the transform. Rigid motion ([`super::rigid_motion`]) is stored in a transform above the mesh that no
//! other mesh shares. The topmost transforms rotate the scene to Y up ([`super::upright`]). Objects are written from
//! the last to the first, each before its parents.

use std::collections::HashMap;
use std::io::{Seek, Write};

use dermis_math::progress::Progress;
use dermis_mesh::{MeshSequence, Note, Object, Scene};
use glam::{DAffine3, DMat4};

use super::mesh_writer::{MESH_OBJECT, MeshToWrite, write_mesh};
use super::objects::MAX_DEPTH;
use super::ogawa_writer::OgawaWriter;
use super::property::{Kind, Pod};
use super::property_writer::{ArchiveWriter, Members, MetadataStrings, PropertyWriter, Type, Written, write_object};
use super::reader::{FRAME_RATE_KEY, METRES_PER_UNIT_KEY};
use super::rigid_motion::rigid_motion;
use super::upright::{mark, upright};
use crate::error::Error;
use crate::output::{Job, step};

/// The version of the Alembic library whose layout this follows, as the archive states it.
const LIBRARY_VERSION: u32 = 10808;
const TRANSFORM_OBJECT: &str = "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform";
/// The operation of a transform that is a matrix.
const MATRIX_OPERATION: u8 = 3 << 4;
const TRANSFORM_COMPOUND: &str = "schema=AbcGeom_Xform_v3";

/// Writes all objects of `scene`. Notes list what could not be written.
pub(crate) fn write(scene: &Scene, job: &mut Job<'_>) -> Result<(), Error> {
    let mut samplings = Samplings::default();
    let mut meshes = Vec::new();
    for object in &scene.objects {
        let motion = object.base_motion().map_err(|error| Error::from(error).at(&object.name))?;
        let sampling = motion.as_ref().map_or(0, |motion| samplings.index(motion));
        job.notes.extend(notes_on(object));
        let transforms = motion.as_ref().map_or(Ok(None), rigid_motion)?;
        meshes.push(MeshToWrite { object, motion, sampling, transforms });
    }
    let mut archive = ArchiveWriter { ogawa: OgawaWriter::start(job.create()?)?, strings: MetadataStrings::default() };
    let top = write_tree(&mut archive, &meshes, upright(scene.units.up_axis), job.progress)?;
    let entries = [
        archive.ogawa.block(&[&0u32.to_le_bytes()])?,
        archive.ogawa.block(&[&LIBRARY_VERSION.to_le_bytes()])?,
        top.entry(),
        archive.ogawa.block(&[metadata(scene, &samplings).as_bytes()])?,
        archive.ogawa.block(&[&samplings.block()])?,
        archive.ogawa.block(&[&archive.strings.block()])?,
    ];
    let root = archive.ogawa.group(&entries)?;
    Ok(archive.ogawa.finish(root)?)
}

/// The distinct time samplings, after the one that every archive begins with.
#[derive(Debug, Default)]
struct Samplings(Vec<Sampling>);

#[derive(Debug)]
struct Sampling {
    frame_rate_hz: f64,
    start_seconds: f64,
    max_samples: u32,
}

impl Samplings {
    fn index(&mut self, motion: &MeshSequence) -> u32 {
        let (frame_rate_hz, start_seconds) = (motion.frame_rate_hz(), motion.start_seconds());
        let samples = motion.frame_count() as u32;
        let same = |other: &Sampling| (other.frame_rate_hz, other.start_seconds) == (frame_rate_hz, start_seconds);
        let index = self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(Sampling { frame_rate_hz, start_seconds, max_samples: 0 });
            self.0.len() - 1
        });
        self.0[index].max_samples = self.0[index].max_samples.max(samples);
        index as u32 + 1
    }

    fn block(&self) -> Vec<u8> {
        let mut block = sampling_bytes(1, 1.0, 0.0);
        for sampling in &self.0 {
            block.extend(sampling_bytes(sampling.max_samples, 1.0 / sampling.frame_rate_hz, sampling.start_seconds));
        }
        block
    }
}

fn sampling_bytes(max_samples: u32, period: f64, start: f64) -> Vec<u8> {
    let mut bytes = max_samples.to_le_bytes().to_vec();
    bytes.extend(period.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes
}

fn metadata(scene: &Scene, samplings: &Samplings) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut pairs = Vec::new();
    if let Some(sampling) = samplings.0.first() {
        pairs.push(format!("{FRAME_RATE_KEY}={}", sampling.frame_rate_hz));
    }
    pairs.push(format!("_ai_AlembicVersion=Alembic 1.8.8 (layout written by dermis {version})"));
    pairs.push(format!("_ai_Application=dermis {version}"));
    if let Some(metres) = scene.units.metres_per_unit {
        pairs.push(format!("{METRES_PER_UNIT_KEY}={metres}"));
    }
    pairs.extend(scene.units.up_axis.map(mark));
    pairs.join(";")
}

fn notes_on(object: &Object) -> Vec<Note> {
    let mut messages = Vec::new();
    if object.rig.is_some() {
        messages.push(match (&object.sequence, object.clips.first()) {
            (Some(_), _) => "the rig is dropped; the recorded frames are written".to_owned(),
            (None, Some(clip)) => format!("the rig is dropped; its clip '{}' is written as frames", clip.name()),
            (None, None) => "the rig is dropped; the rest pose is written".to_owned(),
        });
        if object.clips.len() > 1 {
            messages.push(format!("{} more clips are dropped", object.clips.len() - 1));
        }
    }
    if object.tets.is_some() {
        messages.push("the tetrahedra are dropped".to_owned());
    }
    if let Some(layout) = object.mesh.layout() {
        if !layout.materials.is_empty() {
            messages.push("only the names of materials are kept, as face sets".to_owned());
        }
        if layout.tangents.is_some() {
            messages.push("the tangents are dropped".to_owned());
        }
    }
    messages.into_iter().map(|message| Note::at(&object.name, message)).collect()
}

/// Objects by path: each a mesh or a transform, listed after those above it. The first is the top.
#[derive(Debug)]
struct Tree {
    nodes: Vec<TreeNode>,
    by_name: HashMap<(usize, String), usize>,
}

#[derive(Debug, Default)]
struct TreeNode {
    name: String,
    mesh: Option<usize>,
    /// The mesh whose rigid motion this transform has.
    carries: Option<usize>,
    children: Vec<usize>,
}

impl Tree {
    fn new(meshes: &[MeshToWrite<'_>]) -> Self {
        let mut tree = Self { nodes: vec![TreeNode::default()], by_name: HashMap::new() };
        let paths: Vec<(Vec<String>, String)> = meshes.iter().map(|mesh| path_of(&mesh.object.name)).collect();
        for (mesh, (above, own)) in paths.iter().enumerate() {
            let moves = meshes[mesh].transforms.is_some();
            let (mut above, mut own) = (above.clone(), own.clone());
            if moves && paths.iter().filter(|(other, _)| other.starts_with(&above)).count() > 1 {
                above.push(own.clone());
                own.push_str("Shape");
            }
            let mut parent = 0;
            for (depth, name) in above.iter().enumerate() {
                let carries = Some(mesh).filter(|_| moves && depth + 1 == above.len());
                let existing = tree.by_name.get(&(parent, name.clone())).copied();
                let is_shared = |node: &usize| tree.nodes[*node].mesh.is_none() && tree.nodes[*node].carries.is_none();
                let transform = existing.filter(is_shared).filter(|_| carries.is_none());
                parent = transform.unwrap_or_else(|| tree.add(parent, name, None));
                tree.nodes[parent].carries = carries;
            }
            tree.add(parent, &own, Some(mesh));
        }
        tree
    }

    /// Adds a node with a name that is unique among the children of `parent`.
    fn add(&mut self, parent: usize, name: &str, mesh: Option<usize>) -> usize {
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let free = |name: &String| !self.by_name.contains_key(&(parent, name.clone()));
        let name = std::iter::once(name.to_owned()).chain(numbered).find(free).unwrap_or_default();
        let node = self.nodes.len();
        self.by_name.insert((parent, name.clone()), node);
        self.nodes.push(TreeNode { name, mesh, ..TreeNode::default() });
        self.nodes[parent].children.push(node);
        node
    }
}

/// The transforms above a mesh and its own name.
fn path_of(name: &str) -> (Vec<String>, String) {
    let clean = |part: &str| part.replace(|c: char| c == '/' || c.is_control(), "_");
    let mut parts: Vec<String> = match name.strip_prefix('/') {
        Some(path) => path.split('/').filter(|part| !part.is_empty()).map(clean).collect(),
        None => vec![clean(name)],
    };
    // Levels beyond the depth that readers support are joined into one name; the mesh itself is one level deeper.
    let surplus = parts.split_off(parts.len().min(MAX_DEPTH / 2));
    if !surplus.is_empty() {
        parts.push(surplus.join("_"));
    }
    parts.retain(|part| !part.is_empty());
    match parts.pop() {
        Some(last) if parts.is_empty() => (vec![last.clone()], format!("{last}Shape")),
        Some(last) => (parts, last),
        None => (vec!["object".to_owned()], "objectShape".to_owned()),
    }
}

fn write_tree<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    meshes: &[MeshToWrite<'_>],
    upright: DAffine3,
    progress: &dyn Progress,
) -> Result<Written, Error> {
    let tree = Tree::new(meshes);
    let frames = |mesh: &MeshToWrite<'_>| match (&mesh.motion, &mesh.transforms) {
        (Some(motion), None) => motion.frame_count(),
        _ => 1,
    };
    let total = meshes.iter().map(frames).sum();
    let mut done = 0;
    let mut step = || {
        done += 1;
        step(progress, "writing frames", done - 1, total)
    };
    let mut written: Vec<Option<Written>> = vec![None; tree.nodes.len()];
    for (index, node) in tree.nodes.iter().enumerate().rev() {
        written[index] = Some(match node.mesh.map(|mesh| &meshes[mesh]) {
            Some(mesh) => write_mesh(archive, mesh, &mut step).map_err(|error| error.at(&mesh.object.name))?,
            None => write_transform(archive, &tree, index, &written, meshes, upright)?,
        });
    }
    let _ = progress.report("writing frames", total, total);
    written[0].ok_or_else(|| Error::malformed("there is nothing to write"))
}

/// Writes a transform, or the top, whose children are written.
fn write_transform<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    tree: &Tree,
    index: usize,
    written: &[Option<Written>],
    meshes: &[MeshToWrite<'_>],
    upright: DAffine3,
) -> Result<Written, Error> {
    let mut children = Members::default();
    for &child in &tree.nodes[index].children {
        let kind = if tree.nodes[child].mesh.is_some() { MESH_OBJECT } else { TRANSFORM_OBJECT };
        if let Some(object) = written[child] {
            children.add_object(archive, &tree.nodes[child].name, kind, object);
        }
    }
    let carried = tree.nodes[index].carries.map(|mesh| &meshes[mesh]);
    let outer = if tree.nodes[0].children.contains(&index) { upright } else { DAffine3::IDENTITY };
    let motion = carried.and_then(|mesh| Some((mesh.transforms.as_deref()?, mesh.sampling)));
    let (transforms, sampling) = match motion {
        Some((transforms, sampling)) => (transforms.iter().map(|&transform| outer * transform).collect(), sampling),
        None if outer == DAffine3::IDENTITY => (Vec::new(), 0),
        None => (vec![outer], 0),
    };
    let properties =
        if index == 0 { Members::default() } else { transform_properties(archive, &transforms, sampling)? };
    Ok(write_object(archive, properties, children)?)
}

/// The properties of a transform: matrices over time, one matrix, or none for the identity.
fn transform_properties<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    transforms: &[DAffine3],
    sampling: u32,
) -> Result<Members, Error> {
    const FLAG: Type = Type { kind: Kind::Scalar, pod: Pod::Bool, extent: 1 };
    const OPERATIONS: Type = Type { kind: Kind::Scalar, pod: Pod::U8, extent: 1 };
    const CHANNELS: Type = Type { kind: Kind::Array, pod: Pod::U32, extent: 1 };
    const MATRIX: Type = Type { kind: Kind::Scalar, pod: Pod::F64, extent: 16 };
    let mut compound = Members::default();
    let mut inherits = PropertyWriter::new(".inherits", "", FLAG, 0);
    inherits.push(&mut archive.ogawa, &[1])?;
    compound.add(archive, &inherits)?;
    if !transforms.is_empty() {
        let mut operations = PropertyWriter::new(".ops", "", OPERATIONS, 0);
        operations.push(&mut archive.ogawa, &[MATRIX_OPERATION])?;
        compound.add(archive, &operations)?;
        let mut values = PropertyWriter::new(".vals", "", MATRIX, sampling);
        for transform in transforms {
            // Alembic multiplies row vectors, so its rows are the columns of the transform.
            let numbers = DMat4::from(*transform).to_cols_array();
            values.push(&mut archive.ogawa, &numbers.map(f64::to_le_bytes).concat())?;
        }
        compound.add(archive, &values)?;
        let mut identity = PropertyWriter::new("isNotConstantIdentity", "", FLAG, 0);
        identity.push(&mut archive.ogawa, &[1])?;
        compound.add(archive, &identity)?;
    }
    if transforms.len() > 1 {
        let mut channels = PropertyWriter::new(".animChans", "", CHANNELS, 0);
        let moving: Vec<u8> = (0..MATRIX.extent).flat_map(u32::to_le_bytes).collect();
        channels.push(&mut archive.ogawa, &moving)?;
        compound.add(archive, &channels)?;
    }
    let mut properties = Members::default();
    properties.add_compound(archive, ".xform", TRANSFORM_COMPOUND, compound)?;
    Ok(properties)
}
