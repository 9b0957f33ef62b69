//! Geometry caches: the points of a mesh over time in files next to the FBX file (PC2, or MCX and MCC with their XML).
//!
//! The library parses them; it opens only the files that [`Neighbours`] finds. A cache replaces the skin and the blend
//! shapes of its mesh, as in the programs that write them. Its points are in the space of the mesh, which the node can
//! move as well.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use dermis_mesh::{MeshSequence, Note, Object, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

use super::rig::{Joints, transform_at};
use super::{Reader, affine, allocator};
use crate::error::Error;
use crate::neighbours::Neighbours;
use crate::reads;

/// Bytes that the library can allocate for a cache; its frames are read one by one.
const LIBRARY_BYTES: usize = 256 << 20;

impl Reader<'_> {
    /// The recorded frames of a mesh with a cache; `None` if it has none, or if it is skipped with a note.
    pub(super) fn cached(
        &mut self,
        node: &ufbx::Node,
        mesh: &ufbx::Mesh,
        shaped: &Arc<TriMesh>,
        joints: &Joints<'_>,
    ) -> Result<Option<Object>, Error> {
        let name = node.element.name.to_string();
        let mut skipped = None;
        for deformer in mesh.cache_deformers.iter() {
            let Some(file) = &deformer.file else { continue };
            match self.load_cache(file) {
                Ok(cache) => {
                    if let Some(channel) = points_channel(&cache, &deformer.channel) {
                        let frames = self.cached_frames(node, mesh, shaped, joints, channel)?;
                        return Ok(Some(Object::of_sequence(name, frames)));
                    }
                    // A mesh can have several, such as one of its normals.
                    let message = format!("the geometry cache '{}' contains no points of the mesh", &*file.filename);
                    skipped = skipped.or(Some(message));
                }
                Err(error) => skipped = skipped.or(Some(format!("the geometry cache is skipped: {error}"))),
            }
        }
        self.notes.extend(skipped.map(|message| Note::at(&name, message)));
        Ok(None)
    }

    fn load_cache(&self, file: &ufbx::CacheFile) -> Result<ufbx::GeometryCacheRoot, Error> {
        let path = self.beside(&[&file.relative_filename, &file.filename, &file.absolute_filename])?;
        let neighbours = self.neighbours.as_ref();
        let open = |name: &str, _: &ufbx::OpenFileInfo| opened(neighbours, name);
        let options = ufbx::GeometryCacheOpts {
            temp_allocator: allocator(LIBRARY_BYTES),
            result_allocator: allocator(LIBRARY_BYTES),
            open_file_cb: ufbx::OpenFileCb::Ref(&open),
            frames_per_second: self.scene.settings.frames_per_second,
            ..ufbx::GeometryCacheOpts::default()
        };
        ufbx::load_geometry_cache(&path.to_string_lossy(), options)
            .map_err(|error| Error::malformed(format!("{} ('{}')", &*error.description, &*file.filename)))
    }

    fn cached_frames(
        &mut self,
        node: &ufbx::Node,
        mesh: &ufbx::Mesh,
        shaped: &Arc<TriMesh>,
        joints: &Joints<'_>,
        channel: &ufbx::CacheChannel,
    ) -> Result<MeshSequence, Error> {
        let times: Vec<f64> = channel.frames.iter().map(|frame| frame.time).collect();
        let (start, end) = times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &t| (a.min(t), b.max(t)));
        let count = ((end - start) * self.rate_hz + 1e-6).floor() + 1.0;
        if !(count.is_finite() && count >= 1.0) {
            return Err(Error::malformed("the frames of the geometry cache have no times"));
        }
        let count = count.min(1e15) as usize;
        // The cache has its own budget, by its own size.
        let bytes: u64 = channel.frames.iter().map(|frame| frame.data_total_bytes).sum();
        let mut budget = crate::budget::Budget::for_file(bytes);
        budget.take("frames of the geometry cache", count.saturating_mul(mesh.num_vertices), size_of::<Vec3>())?;
        let neighbours = self.neighbours.as_ref();
        let open = |name: &str, _: &ufbx::OpenFileInfo| opened(neighbours, name);
        let anim = joints.takes.first().map_or(&*self.scene.anim, |take| &*take.stack.anim);
        let geometry = affine(&node.geometry_to_node);
        let mut buffer = vec![ufbx::Vec3::default(); mesh.num_vertices];
        let mut positions = Vec::with_capacity(count * mesh.num_vertices);
        for frame in 0..count {
            let time = start + frame as f64 / self.rate_hz;
            let options =
                ufbx::GeometryCacheDataOpts { open_file_cb: ufbx::OpenFileCb::Ref(&open), ..Default::default() };
            let read = ufbx::sample_geometry_cache_vec3(channel, time, &mut buffer, options);
            if read != mesh.num_vertices {
                let message =
                    format!("the mesh has {} points, but {read} points of its cache were read", mesh.num_vertices);
                return Err(Error::malformed(message).with_hint("export the file and its cache again"));
            }
            let world: DAffine3 = transform_at(anim, node, time, &mut HashMap::new()) * geometry;
            positions.extend(buffer.iter().map(|p| world.transform_point3(DVec3::new(p.x, p.y, p.z)).as_vec3()));
        }
        let sequence = MeshSequence::new(Arc::clone(shaped), positions, self.rate_hz)?;
        Ok(sequence.starting_at(start))
    }
}

/// The channel of a deformer: the only one, or that of its name, if it has positions.
fn points_channel<'a>(cache: &'a ufbx::GeometryCacheRoot, name: &str) -> Option<&'a ufbx::CacheChannel> {
    let is_positions = |channel: &&ufbx::CacheChannel| {
        matches!(channel.interpretation, ufbx::CacheInterpretation::VertexPosition | ufbx::CacheInterpretation::Points)
    };
    let only = cache.channels.first().filter(|_| cache.channels.len() == 1);
    only.or_else(|| cache.channels.iter().find(|channel| *channel.name == *name)).filter(is_positions)
}

/// A file of a cache, if access is allowed.
fn opened(neighbours: Option<&Neighbours>, name: &str) -> Option<ufbx::Stream> {
    let path = neighbours?.find(&name.replace('\\', "/")).ok()?;
    let file = File::open(Path::new(&path)).ok()?;
    reads::add(Path::new(&path));
    Some(ufbx::Stream::File(file))
}
