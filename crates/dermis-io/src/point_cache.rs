//! What PC2 and MDD share: positions without faces, and the mesh that they move.

use std::path::Path;
use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::sequence::DEFAULT_FRAME_RATE_HZ;
use dermis_mesh::{FrameSource, MeshSequence, Note, Object, Scene, TriMesh, merge};
use glam::Vec3;

use crate::error::{Error, Problem};
use crate::obj;
use crate::options::ReadOptions;
use crate::output::Output;
use crate::raw_frames::RawFrames;
use crate::single::{Holds, single};

/// The mesh that the cache at `path` moves: the one asked for, or an OBJ file of the same name.
pub(crate) fn topology(
    path: &Path,
    options: &ReadOptions,
    notes: &mut Vec<Note>,
) -> Result<Option<Arc<TriMesh>>, Error> {
    let beside = path.with_extension("obj");
    let source = match &options.topology {
        Some(asked) => asked,
        None if beside.is_file() => &beside,
        None => return Ok(None),
    };
    let scene = crate::format::read_file(source, options)?;
    let (object, merged) = merge::single(&scene).map_err(|error| Error::from(error).in_file(source))?;
    notes.extend(scene.notes);
    notes.extend(merged);
    Ok(Some(object.mesh))
}

/// The scene of a cache whose frames are `frames`; without a mesh it is points, at rest in the first frame.
pub(crate) fn scene(
    name: &str,
    frames: RawFrames,
    (frame_rate_hz, start_seconds): (f64, f64),
    topology: Option<Arc<TriMesh>>,
    mut notes: Vec<Note>,
) -> Result<Scene, Error> {
    let points = frames.point_count();
    if points == 0 || frames.frame_count() == 0 {
        return Err(Error::malformed(format!("the cache holds {} frames of {points} points", frames.frame_count())));
    }
    let mesh = if let Some(mesh) = topology {
        if mesh.point_count() != points {
            let found = mesh.point_count();
            return Err(Error::malformed(format!("the cache moves {points} points, but the mesh has {found}"))
                .with_hint("name the mesh that the cache was made from with --topology"));
        }
        mesh
    } else {
        notes.push(Note::new("there is no mesh beside the cache (an .obj of the same name); it is points only"));
        let mut first = vec![Vec3::ZERO; points];
        frames.read_into(0, &mut first)?;
        Arc::new(TriMesh::new(first, Vec::new())?)
    };
    let sequence = MeshSequence::from_source(mesh, Arc::new(frames), frame_rate_hz)?.starting_at(start_seconds);
    Ok(Scene { objects: vec![Object::of_sequence(name, sequence)], notes, ..Scene::default() })
}

/// The object to write and its motion (one frame where it does not move); its mesh goes to an OBJ file beside.
pub(crate) fn prepare(scene: &Scene, target: &Path, output: &mut Output) -> Result<(MeshSequence, Vec<Note>), Error> {
    let (object, mut notes) = single(scene, Holds { surface: true, materials: true, ..Holds::default() })?;
    let beside = target.with_extension("obj");
    if !holds_the_mesh(&beside, &object.mesh) {
        notes.extend(obj::write_mesh(&object.name, &object.mesh, &beside, output)?);
    }
    let motion = if let Some(motion) = object.base_motion()? {
        motion
    } else {
        notes.push(Note::new("nothing moves; the cache holds the rest pose as its only frame"));
        let rest = object.mesh.points().to_vec();
        MeshSequence::new(Arc::clone(&object.mesh), rest, DEFAULT_FRAME_RATE_HZ)?
    };
    if i32::try_from(motion.point_count()).is_err() || i32::try_from(motion.frame_count()).is_err() {
        return Err(Error::unsupported("a point cache counts points and frames with 31 bits; these are more"));
    }
    Ok((motion, notes))
}

/// Whether the file is there already, with the same points and faces: between two caches of one mesh it stays.
fn holds_the_mesh(path: &Path, mesh: &TriMesh) -> bool {
    let same = |scene: Scene| scene.objects.iter().all(|object| same_shape(&object.mesh, mesh));
    path.is_file() && obj::read(path, &ReadOptions::default()).is_ok_and(same)
}

fn same_shape(a: &TriMesh, b: &TriMesh) -> bool {
    a.points() == b.points() && a.triangles() == b.triangles() && a.vertex_count() == b.vertex_count()
}

/// Writes each frame with `one`, watched by `progress`.
pub(crate) fn write_frames(
    motion: &MeshSequence,
    progress: &dyn Progress,
    mut one: impl FnMut(&[Vec3]) -> std::io::Result<()>,
) -> Result<(), Error> {
    let frames = motion.frame_count();
    for frame in 0..frames {
        if progress.report("frames", frame, frames).is_break() {
            return Err(Problem::Stopped.into());
        }
        one(&motion.frame(frame)?)?;
    }
    Ok(())
}
