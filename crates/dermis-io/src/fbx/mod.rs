//! FBX: binary and ASCII files are read through the `ufbx` library, binary ones are written ([`write()`]).
//!
//! Each node with a mesh becomes an object. Skin clusters and blend shape channels become a rig (`rig`), and each
//! animation stack with curves becomes a clip, sampled at the file's frame rate. A mesh below a joint or a moving node
//! is a rigid part of it; a mesh without motion is transformed to scene space. Units, axes and rate are kept, not
//! converted.
//!
//! The memory of the library is bounded by the size of the file, and it does not open other files; geometry caches and
//! textures are opened here, if they are among the [`crate::neighbours`] of the file.

mod cache;
mod material;
mod mesh;
mod rig;
mod shapes;
mod signed_shapes;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use dermis_mesh::pose::bake;
use dermis_mesh::{Image, Note, Object, Scene, Units, UpAxis};
use glam::{DAffine3, DVec3};

use crate::budget::Budget;
use crate::error::Error;
use crate::frame_rate;
use crate::input::Input;
use crate::neighbours::Neighbours;
use crate::options::ReadOptions;
pub(crate) use write::write;

/// Property of an animation stack: its frame rate, which can differ from that of the file.
const CLIP_RATE: &str = "dermis_frame_rate_hz";
/// Property of a skin: the parents of its joints, −1 for none, if their nodes are siblings.
const JOINT_PARENTS: &str = "dermis_joint_parents";
/// Property of a node: the blend shapes of its mesh are recorded frames.
const RECORDED: &str = "dermis_recorded_frames";

/// Bytes that the library can allocate per byte of the file, and for the smallest file.
const LIBRARY_BYTES_PER_BYTE: usize = 128;
const LIBRARY_BYTES: usize = 128 << 20;
/// Maximum nesting of nodes.
const MAX_NESTED: u32 = 4096;

/// Reads a file.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    let bytes = &*input.bytes;
    let scene = load(bytes)?;
    let stated = scene.settings.frames_per_second;
    let mut notes = Vec::new();
    let asked = options.frame_rate_hz.filter(|rate| rate.is_finite() && *rate > 0.0);
    let stated = Some(stated).filter(|rate| rate.is_finite() && *rate > 0.0);
    let rate_hz = asked.or(stated).unwrap_or_else(|| frame_rate::assumed(options, &mut notes));
    let mut reader = Reader {
        scene: &scene,
        rate_hz,
        asked: asked.is_some(),
        budget: Budget::for_file(bytes.len() as u64),
        notes,
        neighbours: Neighbours::of(input, options)?,
        images: BTreeMap::new(),
    };
    let mut joints = rig::Joints::new(&mut reader)?;
    let mut objects = Vec::new();
    for node in scene.nodes.iter() {
        if let Some(mesh) = &node.mesh {
            let object = reader.object(node, mesh, &mut joints);
            objects.push(object.map_err(|error| error.at(node.element.name.to_string()))?);
        }
    }
    if objects.is_empty() {
        let motion = joints.motion_only(&mut reader)?;
        objects.extend(motion.map(|(name, rig, clips)| Object::of_rig(name, Arc::default(), rig, clips)));
    }
    let up_axis = match scene.settings.axes.up {
        ufbx::CoordinateAxis::PositiveX => Some(UpAxis::X),
        ufbx::CoordinateAxis::PositiveY => Some(UpAxis::Y),
        ufbx::CoordinateAxis::PositiveZ => Some(UpAxis::Z),
        _ => None,
    };
    let metres_per_unit = Some(scene.settings.unit_meters).filter(|length| length.is_finite() && *length > 0.0);
    Ok(Scene { objects, units: Units { metres_per_unit, up_axis }, notes: reader.notes })
}

fn load(bytes: &[u8]) -> Result<ufbx::SceneRoot, Error> {
    let limit = bytes.len().saturating_mul(LIBRARY_BYTES_PER_BYTE).saturating_add(LIBRARY_BYTES);
    let options = ufbx::LoadOpts {
        temp_allocator: allocator(limit),
        result_allocator: allocator(limit),
        file_format: ufbx::FileFormat::Fbx,
        load_external_files: false,
        node_depth_limit: MAX_NESTED,
        // With helper nodes for unusual scale inheritance, the world transform of a node is that of its parent times
        // its own.
        inherit_mode_handling: ufbx::InheritModeHandling::HelperNodes,
        ..ufbx::LoadOpts::default()
    };
    ufbx::load_memory(bytes, options).map_err(|error| {
        let error_type = error.type_;
        let problem = Error::malformed(format!("invalid FBX file: {}", &*error.description));
        if error_type == ufbx::ErrorType::UnrecognizedFileFormat {
            problem.with_hint("is it an FBX file?")
        } else {
            problem
        }
    })
}

fn allocator(memory_limit: usize) -> ufbx::AllocatorOpts {
    ufbx::AllocatorOpts { memory_limit, ..ufbx::AllocatorOpts::default() }
}

struct Reader<'a> {
    scene: &'a ufbx::Scene,
    rate_hz: f64,
    /// True if the rate is the caller's.
    asked: bool,
    budget: Budget,
    notes: Vec<Note>,
    /// Files that the file can reference; `None` if it is in memory.
    neighbours: Option<Neighbours>,
    /// Images of other files, by the name in the texture.
    images: BTreeMap<String, Option<Arc<Image>>>,
}

impl Reader<'_> {
    /// The rate at which an animation stack is sampled.
    fn rate_of(&self, stack: &ufbx::AnimStack) -> f64 {
        let own = stack.element.props.find_prop(CLIP_RATE).map(|rate| rate.value_vec4.x);
        own.filter(|rate| !self.asked && rate.is_finite() && *rate > 0.0).unwrap_or(self.rate_hz)
    }

    /// The first of `names` that is an accessible file: by its path, or by its file name next to the FBX file.
    fn beside(&self, names: &[&str]) -> Result<PathBuf, Error> {
        let Some(neighbours) = &self.neighbours else {
            return Err(Error::unsupported("the data is in another file").with_hint("read the FBX file by its path"));
        };
        let mut problem = None;
        for name in names.iter().filter(|name| !name.is_empty()) {
            let name = name.replace('\\', "/");
            let last = name.rsplit('/').next().unwrap_or_default();
            // Absolute paths are those of the machine that wrote the file.
            for name in [name.as_str(), last] {
                match neighbours.find(name) {
                    Ok(path) => return Ok(path),
                    Err(error) => problem = problem.or(Some(error)),
                }
            }
        }
        Err(problem.unwrap_or_else(|| Error::malformed("the file does not reference another file")))
    }

    fn object(&mut self, node: &ufbx::Node, mesh: &ufbx::Mesh, joints: &mut rig::Joints<'_>) -> Result<Object, Error> {
        let name = node.element.name.to_string();
        let (carrier, placement) = joints.carrier(node);
        if !placement.is_finite() {
            return Err(Error::malformed("the transform of the mesh is not finite"));
        }
        self.budget.take("the mesh", mesh.num_indices.saturating_add(mesh.num_vertices), 128)?;
        let shaped = Arc::new(mesh::shape(node, mesh, placement, self)?);
        if let Some(object) = self.cached(node, mesh, &shaped, joints)? {
            return Ok(object);
        }
        match joints.rig(self, mesh, &shaped, (carrier, placement))? {
            Some((rig, clips)) if node.element.props.find_prop(RECORDED).is_some() && !clips.is_empty() => {
                Ok(Object::of_sequence(name, bake(&shaped, &rig, &clips[0])?))
            }
            Some((rig, clips)) => {
                let layer = rig::dual_quaternions(mesh).filter(|_| !rig.joints().is_empty());
                let deformers = layer.map(Into::into).into_iter().collect();
                Ok(Object { deformers, ..Object::of_rig(name, shaped, rig, clips) })
            }
            None => Ok(Object::of_mesh(name, shaped)),
        }
    }
}

/// The matrices of the library are affine and column-major.
fn affine(m: &ufbx::Matrix) -> DAffine3 {
    DAffine3::from_cols(
        DVec3::new(m.m00, m.m10, m.m20),
        DVec3::new(m.m01, m.m11, m.m21),
        DVec3::new(m.m02, m.m12, m.m22),
        DVec3::new(m.m03, m.m13, m.m23),
    )
}
