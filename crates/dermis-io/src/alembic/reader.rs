//! Conversion of an archive to a scene.

use std::sync::Arc;

use dermis_mesh::sequence::DEFAULT_FRAME_RATE_HZ;
use dermis_mesh::{MeshSequence, Note, Object, Scene, Units};
use glam::Vec3;

use super::archive::{Archive, Metadata};
use super::frames::Frames;
use super::objects::{Opened, Walk, child_properties};
use super::poly_mesh::{FaceSet, FileMesh, POINT_BYTES, check_constant, notes_at, transform_points};
use super::property::{Compound, Kind, Pod, Property};
use super::sampling::{Grid, common_grid};
use super::transform::{Tracked, Transform};
use super::upright::{marked, upright};
use super::values::Arrays;
use crate::budget::Budget;
use crate::error::Error;
use crate::mapped::Mapped;
use crate::options::ReadOptions;

/// The archive's metadata key with the frame rate, which Blender and Maya write too.
pub(super) const FRAME_RATE_KEY: &str = "FramesPerTimeUnit";
/// The length of a unit; Alembic itself has no units.
pub(super) const METRES_PER_UNIT_KEY: &str = "dermis_metres_per_unit";

/// Reads all meshes of an archive.
pub(super) fn read(bytes: Mapped, options: &ReadOptions) -> Result<Scene, Error> {
    let archive = Archive::open(bytes)?;
    let mut budget = Budget::for_file(archive.ogawa.len() as u64);
    let mut reader = Reader::new(&archive, options);
    let mut arrays = Arrays { archive: &archive, budget: &mut budget };
    let mut walk = Walk::start(&mut arrays)?;
    while let Some(mut opened) = walk.next(&mut arrays)? {
        reader.visit(&mut arrays, &mut opened)?;
        walk.descend(opened);
    }
    Ok(reader.finish(&archive))
}

struct Reader {
    objects: Vec<Object>,
    notes: Vec<Note>,
    /// Types of objects that are not read: name of the schema, path of the first, and count.
    skipped: Vec<(String, String, usize)>,
    fallback_rate_hz: f64,
    /// True if neither the file nor the caller states a rate.
    rate_is_assumed: bool,
    assumed_rate_was_used: bool,
}

impl Reader {
    fn new(archive: &Archive, options: &ReadOptions) -> Self {
        let stated = archive.metadata.get(FRAME_RATE_KEY).and_then(|text| text.parse::<f64>().ok());
        let sensible = |rate: &f64| rate.is_finite() && *rate > 0.0;
        let rate = stated.filter(sensible).or(options.frame_rate_hz.filter(sensible));
        Self {
            objects: Vec::new(),
            notes: Vec::new(),
            skipped: Vec::new(),
            fallback_rate_hz: rate.unwrap_or(DEFAULT_FRAME_RATE_HZ),
            rate_is_assumed: rate.is_none(),
            assumed_rate_was_used: false,
        }
    }

    fn visit(&mut self, arrays: &mut Arrays<'_>, opened: &mut Opened) -> Result<(), Error> {
        let schema = opened.metadata.get("schema").unwrap_or_default();
        let kind = schema.strip_prefix("AbcGeom_").unwrap_or(schema);
        let kind = kind.split("_v").next().unwrap_or_default().to_owned();
        match kind.as_str() {
            // Sets of faces belong to their mesh and are read with it.
            "" | "FaceSet" => Ok(()),
            "Xform" => {
                let compound = opened.properties.inside(arrays.archive, ".xform", arrays.budget)?;
                let transform = Transform::read(arrays.archive, &compound, self.fallback_rate_hz);
                opened.node.transform = Some(transform.map_err(|error| error.at(opened.node.path()))?);
                Ok(())
            }
            "PolyMesh" | "SubD" => {
                let path = opened.node.path();
                arrays.budget.take("the names of objects", path.len(), 2)?;
                if kind == "SubD" {
                    self.notes.push(Note::at(&path, "the subdivision surface is read as its control mesh"));
                }
                let object = self.read_mesh(arrays, opened, &path).map_err(|error| error.at(&path))?;
                self.objects.extend(object);
                Ok(())
            }
            _ => {
                // The list is bounded: a malformed file can contain arbitrarily many types.
                const MAX_KINDS: usize = 16;
                let full = self.skipped.len() >= MAX_KINDS;
                match self.skipped.iter_mut().find(|(other, _, _)| *other == kind) {
                    Some((_, _, count)) => *count += 1,
                    None if full => {}
                    None => self.skipped.push((kind, opened.node.path(), 1)),
                }
                Ok(())
            }
        }
    }

    fn read_mesh(&mut self, arrays: &mut Arrays<'_>, opened: &Opened, path: &str) -> Result<Option<Object>, Error> {
        let geometry = opened.properties.inside(arrays.archive, ".geom", arrays.budget)?;
        let Some(mut positions) = self.positions(arrays.archive, &geometry)? else {
            self.notes.push(Note::at(path, "the mesh has no samples and is skipped"));
            return Ok(None);
        };
        let mut above: Vec<Transform> = opened.node.up().filter_map(|node| node.transform.clone()).collect();
        let grid = self.grid(arrays.archive, &mut positions, &mut above, path);
        let ogawa = &arrays.archive.ogawa;
        check_constant(ogawa, arrays.budget, &geometry, &positions, grid.as_ref())?;
        let points = positions.property.values(ogawa, 0)?.len() / POINT_BYTES;
        let restored = upright(marked(&arrays.archive.metadata)).inverse();
        let mut frames = Frames { ogawa: ogawa.clone(), above, restored, positions, points, grid };
        pay_for_frames(&mut frames, arrays.budget)?;

        let mut messages = Vec::new();
        let file_mesh = FileMesh::read(arrays, &geometry, points, &mut messages)?;
        let sets = face_sets(arrays, opened)?;
        let mut object = build(file_mesh, frames, &sets, &mut messages)?;
        self.notes.extend(notes_at(path, messages));
        path.clone_into(&mut object.name);
        Ok(Some(object))
    }

    fn positions(&self, archive: &Archive, geometry: &Compound) -> Result<Option<Tracked>, Error> {
        let Some(property) = geometry.find("P") else {
            return Err(Error::malformed("the mesh has no points 'P'"));
        };
        if (property.kind, property.pod, property.extent) != (Kind::Array, Pod::F32, 3) {
            return Err(Error::unsupported("the points 'P' are not triples of single-precision numbers"));
        }
        Tracked::new(archive, property, self.fallback_rate_hz)
    }

    /// The frames of the mesh; `None` if neither it nor a transform above it moves.
    fn grid(
        &mut self,
        archive: &Archive,
        positions: &mut Tracked,
        above: &mut [Transform],
        path: &str,
    ) -> Option<Grid> {
        let own = std::iter::once(positions).filter(|positions| !positions.property.is_constant());
        let moving: Vec<&mut Tracked> = own.chain(above.iter_mut().flat_map(Transform::moving)).collect();
        let unstated = archive.samplings.first().is_some_and(|sampling| sampling.is_unstated());
        let uses_fallback = unstated && moving.iter().any(|tracked| tracked.property.sampling == 0);
        self.assumed_rate_was_used |= uses_fallback && self.rate_is_assumed;
        let mut tracks: Vec<_> = moving.into_iter().map(|tracked| &mut tracked.track).collect();
        let (grid, interpolated) = common_grid(&mut tracks, self.fallback_rate_hz)?;
        if interpolated {
            let rate = grid.frame_rate_hz;
            let message = format!("its samples are not evenly spaced in time; they are interpolated at {rate} fps");
            self.notes.push(Note::at(path, message));
        }
        Some(grid)
    }

    fn finish(mut self, archive: &Archive) -> Scene {
        if self.assumed_rate_was_used {
            let rate = self.fallback_rate_hz;
            self.notes.push(Note::new(format!("the file states no frame rate; {rate} is assumed")));
        }
        for (kind, path, count) in self.skipped {
            let message = match count {
                1 => format!("an object of type '{kind}' is skipped"),
                _ => format!("{count} objects of type '{kind}' are skipped; this is the first"),
            };
            self.notes.push(Note::at(path, message));
        }
        Scene { objects: self.objects, units: units(&archive.metadata), notes: self.notes }
    }
}

/// Frames beyond the samples of the points and transforms count against the budget.
fn pay_for_frames(frames: &mut Frames, budget: &mut Budget) -> Result<(), Error> {
    let moving = frames.above.iter_mut().flat_map(Transform::moving).map(|tracked| &tracked.property);
    let stored = moving.map(Property::stored_samples).max().unwrap_or(0);
    let backed = stored.max(frames.positions.property.stored_samples());
    let repeated = frames.grid.map_or(1, |grid| grid.frames).saturating_sub(backed);
    budget.take("repeated frames", repeated, frames.points.saturating_mul(POINT_BYTES).max(1))
}

/// The sets of faces that are children of a mesh.
fn face_sets(arrays: &mut Arrays<'_>, opened: &Opened) -> Result<Vec<FaceSet>, Error> {
    let mut sets = Vec::new();
    for child in &opened.children {
        if !child.metadata.get("schema").is_some_and(|schema| schema.starts_with("AbcGeom_FaceSet")) {
            continue;
        }
        let compound = child_properties(arrays, child)?.inside(arrays.archive, ".faceset", arrays.budget)?;
        let faces = match compound.find(".faces") {
            Some(property) if property.samples > 0 => arrays.indices(property, 0)?,
            _ => Vec::new(),
        };
        sets.push(FaceSet { name: child.name.clone(), faces });
    }
    Ok(sets)
}

fn build(
    mut file_mesh: FileMesh,
    frames: Frames,
    sets: &[FaceSet],
    messages: &mut Vec<String>,
) -> Result<Object, Error> {
    let first_world = frames.world(0)?;
    // If the rest pose is stored separately, the only sample is a frame.
    let still = usize::from(file_mesh.rest.is_some());
    let points = if let Some(mut rest) = file_mesh.rest.take() {
        transform_points(&mut rest, &first_world);
        rest
    } else {
        let mut points = vec![Vec3::ZERO; frames.points];
        frames.read(0, &mut points)?;
        points
    };
    let attributes = std::mem::take(&mut file_mesh.attributes);
    let mesh = file_mesh.build(points, &first_world, sets, messages);
    let mesh = Arc::new(mesh.into_tri_mesh()?);
    let (count, rate_hz, start_seconds) = match &frames.grid {
        Some(grid) => (grid.frames, grid.frame_rate_hz, grid.start_seconds),
        None => (still, DEFAULT_FRAME_RATE_HZ, 0.0),
    };
    let mut object = if count > 0 && frames.points > 0 {
        let read = move |frame: usize, out: &mut [Vec3]| frames.read(frame, out).map_err(|error| error.of_frame(frame));
        let sequence = MeshSequence::from_fn(mesh, count, rate_hz, read)?;
        Object::of_sequence("", sequence.starting_at(start_seconds))
    } else {
        Object::of_mesh("", mesh)
    };
    object.attributes = attributes;
    Ok(object)
}

fn units(metadata: &Metadata) -> Units {
    Units {
        metres_per_unit: metadata
            .get(METRES_PER_UNIT_KEY)
            .and_then(|text| text.parse().ok())
            .filter(|metres: &f64| metres.is_finite() && *metres > 0.0),
        up_axis: marked(metadata),
    }
}
