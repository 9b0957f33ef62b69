//! Common parts of PC2 and MDD: positions without faces, and the mesh that they move.

use std::path::Path;
use std::sync::Arc;

use dermis_mesh::sequence::DEFAULT_FRAME_RATE_HZ;
use dermis_mesh::{FrameSource, MeshSequence, Note, Object, Scene, TriMesh};
use glam::Vec3;

use crate::error::Error;
use crate::input::Input;
use crate::obj;
use crate::options::ReadOptions;
use crate::output::Job;
use crate::raw_frames::RawFrames;

/// Frames of a cache with their rate and the time of the first in seconds.
pub(crate) struct Cache {
    pub frames: RawFrames,
    pub frame_rate_hz: f64,
    pub start_seconds: f64,
    pub notes: Vec<Note>,
}

impl Cache {
    /// The scene of the cache: points without faces, whose rest pose is the first frame.
    pub(crate) fn into_scene(self, name: &str) -> Result<Scene, Error> {
        let (frames, points) = (self.frames.frame_count(), self.frames.point_count());
        if points == 0 || frames == 0 {
            return Err(Error::malformed(format!("the cache contains {frames} frames of {points} points")));
        }
        let mut first = vec![Vec3::ZERO; points];
        self.frames.read_into(0, &mut first)?;
        let mesh = Arc::new(TriMesh::new(first, Vec::new())?);
        let sequence = MeshSequence::from_source(mesh, Arc::new(self.frames), self.frame_rate_hz)?;
        let object = Object::of_sequence(name, sequence.starting_at(self.start_seconds));
        Ok(Scene { objects: vec![object], notes: self.notes, ..Scene::default() })
    }
}

/// The motion to write (one frame if there is no motion); the mesh of the object is written to an OBJ file of the same
/// name.
pub(crate) fn prepare(object: &Object, job: &mut Job<'_>) -> Result<MeshSequence, Error> {
    let beside = job.target.with_extension("obj");
    if !holds_the_mesh(&beside, &object.mesh) {
        obj::write_mesh(&object.name, &object.mesh, &beside, job)?;
    }
    let motion = if let Some(motion) = object.base_motion()? {
        motion
    } else {
        job.notes.push(Note::new("there is no motion; the rest pose is written as the only frame of the cache"));
        let rest = object.mesh.points().to_vec();
        MeshSequence::new(Arc::clone(&object.mesh), rest, DEFAULT_FRAME_RATE_HZ)?
    };
    if i32::try_from(motion.point_count()).is_err() || i32::try_from(motion.frame_count()).is_err() {
        return Err(Error::unsupported("the numbers of points and frames exceed the 31 bits of a point cache"));
    }
    Ok(motion)
}

/// Returns whether the file already exists with the same points and faces; several caches of one mesh then share it.
fn holds_the_mesh(path: &Path, mesh: &TriMesh) -> bool {
    let same = |scene: Scene| scene.objects.iter().all(|object| same_shape(&object.mesh, mesh));
    path.is_file()
        && Input::open(path, false).and_then(|file| obj::read(&file, &ReadOptions::default())).is_ok_and(same)
}

fn same_shape(a: &TriMesh, b: &TriMesh) -> bool {
    a.points() == b.points() && a.triangles() == b.triangles() && a.vertex_count() == b.vertex_count()
}

/// Writes each frame with `one` and reports progress to `job`.
pub(crate) fn write_frames(
    motion: &MeshSequence,
    job: &Job<'_>,
    mut one: impl FnMut(&[Vec3]) -> std::io::Result<()>,
) -> Result<(), Error> {
    let frames = motion.frame_count();
    for frame in 0..frames {
        job.step(frame, frames)?;
        one(&motion.frame(frame)?)?;
    }
    Ok(())
}
