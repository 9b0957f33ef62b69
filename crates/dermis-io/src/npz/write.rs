//! Conversion of a scene to arrays: uncompressed and aligned, so that frames can be mapped when they are read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::pose::bake_lazily;
use dermis_mesh::{Clip, MeshSequence, Note, Object, Rig, Shape, Units, UpAxis};
use glam::{DAffine3, Vec3};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::error::Error;
use crate::npz::npy::Header;
use crate::npz::{KEYS, deformers, layout, rig};
use crate::output::{Job, step};

/// Alignment of `.npy` headers and of the archive's entries, and therefore of payloads.
const ALIGNMENT: u16 = 64;
/// Maximum length of names in a zip archive.
pub(super) const MAX_NAME_BYTES: usize = 1000;

/// Writes `object` to `target`.
pub(crate) fn write(object: &Object, units: Units, job: &mut Job<'_>) -> Result<(), Error> {
    let mut writer = ArrayWriter::new(job.create()?);
    writer.shape(object, &mut job.notes)?;
    writer.units(units)?;
    writer.motion(object, job.progress)?;
    writer.finish()
}

/// Adds arrays to an archive.
#[derive(Debug)]
pub struct ArrayWriter {
    zip: ZipWriter<BufWriter<File>>,
}

impl ArrayWriter {
    /// An archive in `file`.
    pub fn new(file: BufWriter<File>) -> Self {
        Self { zip: ZipWriter::new(file) }
    }

    /// Completes the archive.
    pub fn finish(self) -> Result<(), Error> {
        Ok(self.zip.finish().map_err(zip_error)?.flush()?)
    }

    fn shape(&mut self, object: &Object, notes: &mut Vec<Note>) -> Result<(), Error> {
        let mesh = &object.mesh;
        self.texts_of_one("object_name", &object.name)?;
        self.floats("rest", &[mesh.point_count(), 3], bytemuck::cast_slice(mesh.points()))?;
        self.indices("faces", &[mesh.triangle_count(), 3], mesh.triangles().as_flattened())?;
        if let Some(own) = mesh.layout()
            && layout::write(self, own)?
        {
            notes.push(Note::at(
                &object.name,
                "only names and base colours of materials, and the first 8 UV and colour sets, are kept",
            ));
        }
        if let Some(tets) = &object.tets {
            self.indices("tets", &[tets.tetrahedra().len(), 4], tets.tetrahedra().as_flattened())?;
        }
        for (name, values) in &object.attributes {
            let is_key = KEYS.contains(&name.as_str()) || name.starts_with("vertex_") || deformers::is_key(name);
            if is_key || name.is_empty() || name.len() > MAX_NAME_BYTES || values.len() != mesh.point_count() {
                notes.push(Note::at(&object.name, format!("the attribute '{name}' is dropped: the name is reserved")));
                continue;
            }
            self.floats(name, &[values.len()], values)?;
        }
        if let Some(rig) = &object.rig {
            self.rig(rig)?;
        }
        deformers::write(self, object)
    }

    fn rig(&mut self, rig: &Rig) -> Result<(), Error> {
        let (joints, points) = (rig.joints(), rig.weights().point_count());
        if !joints.is_empty() {
            self.floats("weights", &[points, joints.len()], &rig.weights().to_dense(joints.len()))?;
            let usable = |bind: DAffine3| if bind.is_finite() { bind } else { DAffine3::IDENTITY };
            self.matrices("bind", &[joints.len()], joints.iter().map(|joint| usable(joint.bind())))?;
            self.matrices("inverse_bind", &[joints.len()], joints.iter().map(|joint| joint.inverse_bind))?;
            let parents: Vec<i32> =
                joints.iter().map(|joint| joint.parent.map_or(-1, |parent| parent as i32)).collect();
            self.array("parents", "<i4", &[joints.len()], parents.iter().flat_map(|p| p.to_le_bytes()).collect())?;
            let names: Vec<&str> = joints.iter().map(|joint| joint.name.as_str()).collect();
            self.texts("bone_names", &names)?;
            if let Some(pose) = rig.stored_pose() {
                self.matrices("stored_pose", &[joints.len()], pose.transforms.iter().copied())?;
            }
        }
        if let Some(pose) = rig.stored_pose().filter(|_| !rig.shapes().is_empty()) {
            self.floats("stored_coefficients", &[pose.shape_weights.len()], &pose.shape_weights)?;
        }
        let shapes = rig.shapes();
        if let Some(first) = shapes.first() {
            let offsets: Vec<Vec3> = shapes.iter().flat_map(|shape| shape.offsets.iter().copied()).collect();
            self.floats("basis", &[shapes.len(), first.offsets.len(), 3], bytemuck::cast_slice(&offsets))?;
            let names: Vec<&str> = shapes.iter().map(|shape| shape.name.as_str()).collect();
            self.texts("shape_names", &names)?;
            if let Some(vertices) = shapes.iter().find_map(|shape| Some(shape.normal_offsets.as_ref()?.len())) {
                let none = vec![Vec3::ZERO; vertices];
                let of_shape = |shape: &Shape| shape.normal_offsets.clone().unwrap_or_else(|| none.clone());
                let normals: Vec<Vec3> = shapes.iter().flat_map(of_shape).collect();
                self.floats("shape_normals", &[shapes.len(), vertices, 3], bytemuck::cast_slice(&normals))?;
            }
        } else if !joints.is_empty() {
            self.floats("basis", &[0, points, 3], &[])?;
        }
        Ok(())
    }

    fn units(&mut self, units: Units) -> Result<(), Error> {
        if let Some(metres) = units.metres_per_unit {
            self.number("metres_per_unit", metres)?;
        }
        units.up_axis.map_or(Ok(()), |axis| self.up_axis(axis))
    }

    /// Writes the up axis.
    pub fn up_axis(&mut self, axis: UpAxis) -> Result<(), Error> {
        let name = match axis {
            UpAxis::X => "X",
            UpAxis::Y => "Y",
            UpAxis::Z => "Z",
        };
        self.texts_of_one("up_axis", name)
    }

    fn motion(&mut self, object: &Object, progress: &dyn Progress) -> Result<(), Error> {
        if let Some(rig) = object.rig.as_ref().filter(|_| !object.clips.is_empty()) {
            self.clips(rig, &object.clips)?;
        }
        let motions: Vec<MeshSequence> = match (&object.sequence, &object.rig) {
            (Some(sequence), _) => vec![sequence.clone()],
            // Posed frames are only for other readers; without the layers they would be wrong.
            (None, Some(rig)) if object.deformers.is_empty() => {
                let posed = object.clips.iter().map(|clip| bake_lazily(&object.mesh, rig, clip));
                posed.collect::<Result<_, _>>()?
            }
            _ => Vec::new(),
        };
        let timing = |rate: f64, start: f64| [("fps", rate), ("start_seconds", start)];
        let of_clip = || object.clips.first().map(|clip| timing(clip.frame_rate_hz(), clip.start_seconds()));
        let first = motions.first().map(|motion| timing(motion.frame_rate_hz(), motion.start_seconds()));
        for (name, number) in first.or_else(of_clip).into_iter().flatten() {
            self.number(name, number)?;
        }
        if motions.is_empty() { Ok(()) } else { self.frames(&motions, progress) }
    }

    /// Writes the concatenated clips and, if there are several, arrays that separate them.
    fn clips(&mut self, rig: &Rig, clips: &[Arc<Clip>]) -> Result<(), Error> {
        let frames = || clips.iter().flat_map(|clip| (0..clip.frame_count()).map(move |frame| (clip, frame)));
        let (count, joints) = (frames().count(), rig.joints());
        if let [clip] = clips {
            self.texts_of_one("clip_name", clip.name())?;
        } else {
            let names: Vec<&str> = clips.iter().map(|clip| clip.name()).collect();
            self.texts("clip_names", &names)?;
            let counts: Vec<u32> = clips.iter().map(|clip| clip.frame_count() as u32).collect();
            self.indices("clip_frames", &[clips.len()], &counts)?;
            self.numbers("clip_fps", clips.iter().map(|clip| clip.frame_rate_hz()))?;
            self.numbers("clip_start_seconds", clips.iter().map(|clip| clip.start_seconds()))?;
        }
        if !joints.is_empty() {
            let posed = || frames().flat_map(|(clip, frame)| clip.transforms(frame).iter().zip(joints));
            let skin = posed().map(|(pose, joint)| *pose * joint.inverse_bind);
            self.matrices("skin", &[count, joints.len()], skin)?;
            if joints.iter().any(|joint| joint.inverse_bind != DAffine3::IDENTITY) {
                self.matrices("pose", &[count, joints.len()], posed().map(|(pose, _)| *pose))?;
            }
        }
        let weights: Vec<f32> = frames().flat_map(|(clip, frame)| clip.shape_weights(frame).iter().copied()).collect();
        self.floats("coefficients", &[count, rig.shapes().len()], &weights)
    }

    /// The frames of all `motions` in a row.
    fn frames(&mut self, motions: &[MeshSequence], progress: &dyn Progress) -> Result<(), Error> {
        let (frames, points) =
            (motions.iter().map(MeshSequence::frame_count).sum(), motions.first().map_or(0, MeshSequence::point_count));
        let header = Header::encode("<f4", &[frames, points, 3]);
        let bytes = header.len() as u64 + frames as u64 * points as u64 * size_of::<Vec3>() as u64;
        self.begin("frames", bytes)?;
        self.zip.write_all(&header)?;
        let all = motions.iter().flat_map(|motion| (0..motion.frame_count()).map(move |frame| (motion, frame)));
        for (done, (motion, frame)) in all.enumerate() {
            step(progress, "frames", done, frames)?;
            let positions = motion.frame(frame)?;
            self.zip.write_all(&little_endian(bytemuck::cast_slice(&positions)))?;
        }
        Ok(())
    }

    /// An array of f32.
    pub fn floats(&mut self, name: &str, shape: &[usize], numbers: &[f32]) -> Result<(), Error> {
        self.array(name, "<f4", shape, little_endian(numbers).into_owned())
    }

    /// An array of indices: i32, which most tools expect, or u32 if that is too small.
    pub fn indices(&mut self, name: &str, shape: &[usize], indices: &[u32]) -> Result<(), Error> {
        let descr = if indices.iter().all(|&index| i32::try_from(index).is_ok()) { "<i4" } else { "<u4" };
        self.array(name, descr, shape, indices.iter().flat_map(|index| index.to_le_bytes()).collect())
    }

    /// An array of texts, as UTF-32 padded to the longest.
    pub fn texts(&mut self, name: &str, texts: &[&str]) -> Result<(), Error> {
        let (width, bytes) = utf32(texts);
        self.array(name, &format!("<U{width}"), &[texts.len()], bytes)
    }

    /// A text without dimensions.
    pub fn texts_of_one(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let (width, bytes) = utf32(&[text]);
        self.array(name, &format!("<U{width}"), &[], bytes)
    }

    /// A list of f64.
    pub fn numbers(&mut self, name: &str, numbers: impl ExactSizeIterator<Item = f64>) -> Result<(), Error> {
        self.array(name, "<f8", &[numbers.len()], numbers.flat_map(f64::to_le_bytes).collect())
    }

    /// An f64 without dimensions.
    pub fn number(&mut self, name: &str, number: f64) -> Result<(), Error> {
        self.array(name, "<f8", &[], number.to_le_bytes().to_vec())
    }

    fn matrices(
        &mut self,
        name: &str,
        shape: &[usize],
        transforms: impl Iterator<Item = DAffine3>,
    ) -> Result<(), Error> {
        let numbers = transforms.flat_map(|transform| rig::matrix_rows(&transform)).flat_map(f64::to_le_bytes);
        self.array(name, "<f8", &[shape, &[4, 4]].concat(), numbers.collect())
    }

    /// An array of the type `descr` in `NumPy`'s notation, from its bytes.
    #[allow(clippy::needless_pass_by_value, reason = "callers make the bytes for this call")]
    pub fn array(&mut self, name: &str, descr: &str, shape: &[usize], payload: Vec<u8>) -> Result<(), Error> {
        let header = Header::encode(descr, shape);
        self.begin(name, (header.len() + payload.len()) as u64)?;
        self.zip.write_all(&header)?;
        Ok(self.zip.write_all(&payload)?)
    }

    fn begin(&mut self, name: &str, bytes: u64) -> Result<(), Error> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .with_alignment(ALIGNMENT)
            .large_file(u32::try_from(bytes).is_err());
        self.zip.start_file(format!("{name}.npy"), options).map_err(zip_error)
    }
}

fn utf32(texts: &[&str]) -> (usize, Vec<u8>) {
    // NumPy has no text of width 0.
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let padded = texts.iter().flat_map(|text| text.chars().chain(std::iter::repeat('\0')).take(width));
    (width, padded.flat_map(|character| u32::from(character).to_le_bytes()).collect())
}

/// The little-endian bytes of `numbers`.
fn little_endian(numbers: &[f32]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(numbers))
    } else {
        Cow::Owned(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
    }
}

fn zip_error(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => error.into(),
        error => Error::malformed(format!("the archive cannot be written: {error}")),
    }
}
