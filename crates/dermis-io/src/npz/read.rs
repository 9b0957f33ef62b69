//! Conversion of arrays to a scene.

use std::collections::BTreeMap;
use std::sync::Arc;

use dermis_mesh::{Clip, MeshSequence, Note, Object, PolygonMesh, Polygons, Scene, TetMesh, TriMesh, Units, UpAxis};
use glam::Vec3;

use crate::error::Error;
use crate::frame_rate;
use crate::input::Input;
use crate::mapped::Mapped;
use crate::npz::archive::Archive;
use crate::npz::array::Array;
use crate::npz::arrays::Arrays;
use crate::npz::npy::{Header, Kind};
use crate::npz::{deformers, layout, rig};
use crate::options::ReadOptions;
use crate::raw_frames::{RawFrames, Scalar};

/// An archive that is being read, with the names of the used arrays and notes.
pub(super) struct Reader<'a> {
    archive: Archive,
    used: Vec<&'static str>,
    pub options: &'a ReadOptions,
    pub notes: Vec<Note>,
}

impl Reader<'_> {
    /// The array `name`, if there is one; it is marked as used.
    pub(super) fn take(&mut self, name: &'static str) -> Result<Option<Array>, Error> {
        self.used.push(name);
        self.archive.get(name)
    }

    /// The names of all arrays.
    pub(super) fn names(&self) -> Vec<String> {
        self.archive.names().map(str::to_owned).collect()
    }

    /// The array `name`, whose name is computed.
    pub(super) fn array(&mut self, name: &str) -> Result<Option<Array>, Error> {
        self.archive.get(name)
    }

    /// Returns whether there is an array `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.archive.has(name)
    }
}

/// Times of frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    pub frame_rate_hz: f64,
    pub start_seconds: f64,
}

/// A function that creates an object from the arrays of a body in SMPL's layout.
pub(crate) type BodyReader = fn(&mut dyn Arrays) -> Result<(Object, Vec<Note>), Error>;

/// Reads an archive: a body with `body`, or an object in the layout of dermis.
pub(crate) fn read(input: &Input, options: &ReadOptions, body: BodyReader) -> Result<Scene, Error> {
    let archive = Archive::open(input.bytes.clone())?;
    let mut reader = Reader { archive, used: Vec::new(), options, notes: Vec::new() };
    let mut object = if reader.has("v_template") {
        let (object, notes) = body(&mut reader)?;
        reader.notes.extend(notes);
        object
    } else {
        object(&mut reader)?
    };
    object.name = text(reader.take("object_name")?)?.unwrap_or_else(|| input.name.clone());
    let units = units_of(&mut reader)?;
    rest_of_the_arrays(&mut reader, &mut object)?;
    Ok(Scene { objects: vec![object], units, notes: reader.notes })
}

impl Arrays for Reader<'_> {
    fn array(&mut self, name: &'static str) -> Result<Option<Array>, Error> {
        self.take(name)
    }

    fn names(&self) -> Vec<String> {
        self.archive.names_in_order()
    }

    fn named(&mut self, name: &str) -> Result<Option<Array>, Error> {
        self.archive.get(name)
    }

    fn attributes(&mut self, points: usize) -> Result<Attributes, Error> {
        Ok(self.rest(points)?.0)
    }
}

/// Calls `read` with the arrays of the archive `bytes` and returns its result.
pub(crate) fn with_arrays<T>(
    bytes: Mapped,
    read: impl FnOnce(&mut dyn Arrays) -> Result<T, Error>,
) -> Result<T, Error> {
    let options = ReadOptions::default();
    let mut reader = Reader { archive: Archive::open(bytes)?, used: Vec::new(), options: &options, notes: Vec::new() };
    read(&mut reader)
}

fn object(reader: &mut Reader<'_>) -> Result<Object, Error> {
    let frames = reader.take("frames")?;
    let mesh = Arc::new(mesh(reader, frames.as_ref())?);
    let moves = ["frames", "pose", "skin", "coefficients"].iter().any(|key| reader.has(key));
    let timing = if moves { timing(reader)? } else { Timing { frame_rate_hz: 1.0, start_seconds: 0.0 } };
    let mut sequence = frames.map(|frames| sequence(&frames, &mesh, timing)).transpose()?;
    let (rig, clips) = rig::read(reader, &mesh, timing)?;
    // If the frames are those of several clips, the object keeps the frames of the first clip.
    if let (Some(all), [first, _, ..]) = (&sequence, clips.as_slice())
        && all.frame_count() == clips.iter().map(Clip::frame_count).sum::<usize>()
    {
        sequence = Some(all.select(0, first.frame_count(), 1)?);
    }
    if let (Some(sequence), Some(clip)) = (&sequence, clips.first())
        && sequence.frame_count() != clip.frame_count()
    {
        let (frames, poses) = (sequence.frame_count(), clip.frame_count());
        reader.notes.push(Note::new(format!("there are {frames} frames but {poses} poses; they do not correspond")));
    }
    Ok(Object {
        tets: tets(reader, &mesh)?,
        mesh,
        sequence,
        rig: rig.map(Arc::new),
        clips: clips.into_iter().map(Arc::new).collect(),
        deformers: deformers::read(reader)?,
        ..Object::default()
    })
}

fn mesh(reader: &mut Reader<'_>, frames: Option<&Array>) -> Result<TriMesh, Error> {
    let points = match (reader.take("rest")?, frames) {
        (Some(rest), _) => points(&rest)?,
        (None, Some(frames)) => {
            reader.notes.push(Note::new("there is no rest pose; the first frame is used"));
            first_frame(frames)?
        }
        (None, None) => {
            let names: Vec<&str> = reader.archive.names().take(12).collect();
            return Err(Error::malformed(
                "the archive contains no shape: neither 'rest' nor 'frames' nor 'v_template'",
            )
            .detail(format!("its arrays are: {}", names.join(", ")))
            .with_hint("save rest [N,3], faces [n,3] and frames [S,N,3]"));
        }
    };
    let mesh = if let Some(array) = reader.take("faces")? {
        faces(points, &array)?
    } else {
        reader.notes.push(Note::new("there are no faces; only points are read"));
        TriMesh::new(points, Vec::new())?
    };
    layout::read(reader, mesh)
}

/// The positions in an array `[N,3]`.
pub fn points(array: &Array) -> Result<Vec<Vec3>, Error> {
    match array.shape_of("[points, 3]")? {
        [_, 3] => Ok(bytemuck::cast_vec::<[f32; 3], Vec3>(triples(&array.floats()?))),
        _ => Err(array.wrong_shape("[points, 3]")),
    }
}

/// Numbers in groups of three; a remainder is dropped.
pub(crate) fn triples<T: Copy>(numbers: &[T]) -> Vec<[T; 3]> {
    numbers.as_chunks::<3>().0.to_vec()
}

fn first_frame(frames: &Array) -> Result<Vec<Vec3>, Error> {
    let [_, points, _] = frame_shape(frames)?;
    let (sequence, mut first) = (raw_frames(frames)?, vec![Vec3::ZERO; points]);
    match sequence {
        Frames::Raw(raw) => dermis_mesh::FrameSource::read_into(&raw, 0, &mut first)?,
        Frames::Memory(all) => first.copy_from_slice(&all[..points]),
    }
    Ok(first)
}

fn frame_shape(frames: &Array) -> Result<[usize; 3], Error> {
    match frames.shape_of("[frames, points, 3]")? {
        shape @ [_, _, 3] => Ok(shape),
        _ => Err(frames.wrong_shape("[frames, points, 3]")),
    }
}

enum Frames {
    Raw(RawFrames),
    Memory(Vec<Vec3>),
}

fn raw_frames(array: &Array) -> Result<Frames, Error> {
    let [frames, points, _] = frame_shape(array)?;
    let dtype = array.header.dtype;
    let scalar = match (dtype.kind, dtype.size, dtype.big_endian) {
        (Kind::Float, 4, false) => Some(Scalar::F32Little),
        (Kind::Float, 4, true) => Some(Scalar::F32Big),
        (Kind::Float, 8, false) => Some(Scalar::F64Little),
        (Kind::Float, 8, true) => Some(Scalar::F64Big),
        _ => None,
    };
    match scalar.filter(|_| !array.header.fortran_order) {
        Some(scalar) => RawFrames::new(array.bytes.clone(), array.start, frames, points, scalar).map(Frames::Raw),
        None => Ok(Frames::Memory(bytemuck::cast_vec(triples(&array.floats()?)))),
    }
}

fn sequence(array: &Array, mesh: &Arc<TriMesh>, timing: Timing) -> Result<MeshSequence, Error> {
    let [_, points, _] = frame_shape(array)?;
    if points != mesh.point_count() {
        return Err(Error::malformed(format!("the frames have {points} points, the shape has {}", mesh.point_count()))
            .at("frames"));
    }
    let sequence = match raw_frames(array)? {
        Frames::Raw(raw) => MeshSequence::from_source(Arc::clone(mesh), Arc::new(raw), timing.frame_rate_hz),
        Frames::Memory(positions) => MeshSequence::new(Arc::clone(mesh), positions, timing.frame_rate_hz),
    };
    Ok(sequence?.starting_at(timing.start_seconds))
}

/// The mesh of `points` and the polygons in an array [n,k].
pub(crate) fn faces(points: Vec<Vec3>, array: &Array) -> Result<TriMesh, Error> {
    const WANTED: &str = "[faces, 3] (or more corners)";
    let &[count, size] = array.shape() else { return Err(array.wrong_shape(WANTED)) };
    let corners = array.indices()?;
    match size {
        0..3 => Err(array.wrong_shape(WANTED)),
        3 => Ok(TriMesh::new(points, triples(&corners))?),
        _ => {
            let sizes = vec![size as u32; corners.len() / size];
            debug_assert_eq!(sizes.len(), count);
            let polygons = Polygons { sizes, corners };
            Ok(PolygonMesh { points, polygons, ..PolygonMesh::default() }.into_tri_mesh()?)
        }
    }
}

fn timing(reader: &mut Reader<'_>) -> Result<Timing, Error> {
    let rate = reader.take("fps")?.map(|array| array.number()).transpose()?;
    let times = reader.take("times")?.map(|array| array.numbers()).transpose()?;
    let start = reader.take("start_seconds")?.map(|array| array.number()).transpose()?;
    let (frame_rate_hz, first) = match (rate, times) {
        (Some(rate), times) => (rate, times.and_then(|times| times.first().copied()).unwrap_or(0.0)),
        (None, Some(times)) => frame_rate::of_times_or_assumed(&times, reader.options, &mut reader.notes),
        (None, None) => (frame_rate::assumed(reader.options, &mut reader.notes), 0.0),
    };
    let start_seconds = start.unwrap_or(first);
    if !start_seconds.is_finite() {
        return Err(
            Error::malformed(format!("invalid start time {start_seconds}: it must be finite")).at("start_seconds")
        );
    }
    Ok(Timing { frame_rate_hz, start_seconds })
}

fn tets(reader: &mut Reader<'_>, mesh: &TriMesh) -> Result<Option<Arc<TetMesh>>, Error> {
    let Some(array) = reader.take("tets")? else {
        return Ok(None);
    };
    let &[_, 4] = array.shape() else { return Err(array.wrong_shape("[tetrahedra, 4]")) };
    let tetrahedra = array.indices()?.as_chunks::<4>().0.to_vec();
    Ok(Some(Arc::new(TetMesh::new(mesh.points().to_vec(), tetrahedra)?)))
}

/// The value of an array with one text.
pub(crate) fn text(array: Option<Array>) -> Result<Option<String>, Error> {
    match array {
        Some(array) => Ok(array.texts()?.into_iter().next()),
        None => Ok(None),
    }
}

/// The units that `arrays` state.
pub fn units_of(arrays: &mut dyn Arrays) -> Result<Units, Error> {
    let metres = arrays.array("metres_per_unit")?.map(|array| array.number()).transpose()?;
    if let Some(metres) = metres.filter(|metres| !(metres.is_finite() && *metres > 0.0)) {
        return Err(
            Error::malformed(format!("invalid unit of {metres} metres: it must be positive")).at("metres_per_unit")
        );
    }
    let up_axis = match text(arrays.array("up_axis")?)?.as_deref() {
        None => None,
        Some("X") => Some(UpAxis::X),
        Some("Y") => Some(UpAxis::Y),
        Some("Z") => Some(UpAxis::Z),
        Some(other) => return Err(Error::malformed(format!("the up axis is '{other}', not X, Y or Z")).at("up_axis")),
    };
    Ok(Units { metres_per_unit: metres, up_axis })
}

/// Prefix of the arrays of a layered body, which are not part of a scene.
const INSIDE: &str = "tissue_";

/// Values per point, by name.
type Attributes = BTreeMap<String, Vec<f32>>;

/// Unknown arrays: arrays with a float per point are kept as attributes, all others are listed in a note.
fn rest_of_the_arrays(reader: &mut Reader<'_>, object: &mut Object) -> Result<(), Error> {
    let (attributes, mut dropped) = reader.rest(object.mesh.point_count())?;
    object.attributes = attributes;
    object.attributes.retain(|name, _| !deformers::is_key(name));
    dropped.retain(|name| !name.starts_with(INSIDE) && !deformers::is_key(name));
    if !dropped.is_empty() {
        reader.notes.push(Note::new(format!("arrays skipped: {}", dropped.join(", "))));
    }
    Ok(())
}

impl Reader<'_> {
    /// The unused arrays with a float for each of `points` points, and the names of all other unused arrays.
    fn rest(&mut self, points: usize) -> Result<(Attributes, Vec<String>), Error> {
        let unknown: Vec<String> =
            self.archive.names().filter(|name| !self.used.contains(name)).map(str::to_owned).collect();
        let (mut attributes, mut others) = (BTreeMap::new(), Vec::new());
        for name in unknown {
            // An array that cannot be read (a pickle) is an error only if it is used.
            let header = self.archive.header(&name).ok().flatten();
            let fits = |header: Header| header.dtype.kind == Kind::Float && header.shape == [points];
            if header.is_some_and(fits)
                && let Some(array) = self.archive.get(&name)?
            {
                attributes.insert(name, array.floats()?);
            } else {
                others.push(name);
            }
        }
        Ok((attributes, others))
    }
}
