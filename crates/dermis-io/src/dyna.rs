//! Registrations of the Dyna and DFAUST data sets: HDF5 files with a data set of shape `[N,3,F]` per sequence, named
//! `<subject>_<sequence>`, at 60 frames per second. Other data sets, such as `faces`, are skipped.

use std::path::Path;

use glam::Vec3;
#[cfg(feature = "hdf5")]
use hdf5_reader::Hdf5File;

use crate::error::Error;
use crate::format::extension_of;

/// Frames per second of the data sets.
pub const FRAME_RATE_HZ: f64 = 60.0;
/// Maximum number of coordinates in one sequence.
const MAX_NUMBERS: u64 = 1 << 30;

const EXTENSIONS: [&str; 2] = ["h5", "hdf5"];

/// A registered sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// Name of the subject.
    pub subject: String,
    /// Name of the sequence.
    pub sequence: String,
    /// Points of each frame.
    pub frames: Vec<Vec<Vec3>>,
}

/// Returns whether `path` has an extension of HDF5 files.
pub fn is_path_of(path: &Path) -> bool {
    EXTENSIONS.contains(&extension_of(path).as_str())
}

/// Reads the sequences of one subject: `subject`, or the only one in the file.
pub fn read(path: &Path, subject: Option<&str>) -> Result<Vec<Registration>, Error> {
    let bytes = crate::mapped::read_whole(path)?;
    of_bytes(bytes, subject).map_err(|error| error.in_file(path))
}

#[cfg(not(feature = "hdf5"))]
fn of_bytes(_: Vec<u8>, _: Option<&str>) -> Result<Vec<Registration>, Error> {
    Err(crate::format::not_compiled_in("HDF5", "hdf5"))
}

#[cfg(feature = "hdf5")]
fn of_bytes(bytes: Vec<u8>, subject: Option<&str>) -> Result<Vec<Registration>, Error> {
    let invalid = |error: hdf5_reader::error::Error| Error::malformed(format!("invalid HDF5 file: {error}"));
    let file = Hdf5File::from_vec(bytes).map_err(invalid)?;
    let mut datasets = file.root_group().and_then(|root| root.datasets()).map_err(invalid)?;
    datasets.sort_by(|a, b| a.name().cmp(b.name()));
    let mut found = Vec::new();
    for dataset in &datasets {
        let (&[points, 3, frames], Some((of, sequence))) = (dataset.shape(), dataset.name().split_once('_')) else {
            continue;
        };
        found.push((of.to_owned(), sequence.to_owned(), dataset, points, frames));
    }
    let mut subjects: Vec<&str> = found.iter().map(|(of, ..)| of.as_str()).collect();
    subjects.dedup();
    let chosen = match (subject, &subjects[..]) {
        (Some(wanted), all) if all.contains(&wanted) => wanted.to_owned(),
        (None, &[one]) => one.to_owned(),
        (_, []) => {
            let error = Error::malformed("the file has no sequences");
            return Err(error.with_hint("sequences are data sets of shape [N,3,F] called <subject>_<sequence>"));
        }
        (wanted, all) => {
            let message =
                wanted.map_or("the file has several subjects".to_owned(), |name| format!("no subject '{name}'"));
            return Err(Error::unsupported(message).with_hint(format!("choose one of the subjects: {}", all.join(" "))));
        }
    };
    let mut registrations = Vec::new();
    for (subject, sequence, dataset, points, frames) in found.into_iter().filter(|(of, ..)| *of == chosen) {
        if points.saturating_mul(frames).saturating_mul(3) > MAX_NUMBERS || frames == 0 || points == 0 {
            let message = format!("the sequence '{sequence}' has {points} points in {frames} frames");
            return Err(Error::malformed(message));
        }
        let numbers: Vec<f32> = match dataset.read_array::<f32>() {
            Ok(array) => array.into_iter().collect(),
            Err(_) => dataset.read_array::<f64>().map_err(invalid)?.into_iter().map(|number| number as f32).collect(),
        };
        let (points, count) = (points as usize, frames as usize);
        let at = |point: usize, axis: usize, frame: usize| numbers[(3 * point + axis) * count + frame];
        let frame = |frame: usize| -> Vec<Vec3> {
            (0..points).map(|point| Vec3::new(at(point, 0, frame), at(point, 1, frame), at(point, 2, frame))).collect()
        };
        registrations.push(Registration { subject, sequence, frames: (0..count).map(frame).collect() });
    }
    Ok(registrations)
}

#[cfg(all(test, feature = "hdf5"))]
mod tests {
    use super::*;

    const NONE: u64 = u64::MAX;

    /// A file with contiguous data sets of f32, as written by the HDF5 library with its oldest format.
    fn file(datasets: &[(&str, [u64; 3], Vec<f32>)]) -> Vec<u8> {
        let mut bytes = vec![0; 96];
        let mut entries: Vec<(u64, u64)> = Vec::new();
        let mut names = vec![0u8; 8];
        for (name, shape, numbers) in datasets {
            let at = bytes.len() as u64;
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let mut space = vec![1, 3, 0, 0, 0, 0, 0, 0];
            space.extend(shape.iter().flat_map(|size| size.to_le_bytes()));
            // Little-endian IEEE float of 32 bits.
            let float = [0x11, 0x20, 0x1f, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0, 0, 0, 0, 0].to_vec();
            let mut layout = vec![3, 1];
            layout.extend(at.to_le_bytes());
            layout.extend((4 * numbers.len() as u64).to_le_bytes());
            entries.push((names.len() as u64, header(&mut bytes, &[(1, space), (3, float), (8, layout)])));
            names.extend(name.bytes().chain([0]));
            names.resize(names.len().next_multiple_of(8), 0);
        }
        let heap_data = bytes.len() as u64;
        bytes.extend(&names);
        let heap = bytes.len() as u64;
        bytes.extend(b"HEAP\0\0\0\0");
        for number in [names.len() as u64, NONE, heap_data] {
            bytes.extend(number.to_le_bytes());
        }
        let node = bytes.len() as u64;
        bytes.extend(b"SNOD\x01\0");
        bytes.extend((entries.len() as u16).to_le_bytes());
        for (name, header) in &entries {
            bytes.extend([name.to_le_bytes(), header.to_le_bytes(), [0; 8], [0; 8], [0; 8]].concat());
        }
        bytes.resize(node as usize + 8 + 40 * 8, 0);
        let tree = bytes.len() as u64;
        bytes.extend(b"TREE\0\0\x01\0");
        for number in [NONE, NONE, 0, node, entries.last().map_or(0, |(name, _)| *name)] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.resize(tree as usize + 24 + 8 * (4 * 16 + 1), 0);
        let root = header(&mut bytes, &[(0x11, [tree.to_le_bytes(), heap.to_le_bytes()].concat())]);
        let mut head = b"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0\x04\0\x10\0\0\0\0\0".to_vec();
        for number in [0, NONE, bytes.len() as u64, NONE, 0, root, 1, tree, heap] {
            head.extend(number.to_le_bytes());
        }
        bytes[..head.len()].copy_from_slice(&head);
        bytes
    }

    /// Appends an object header with messages and returns its address.
    fn header(bytes: &mut Vec<u8>, messages: &[(u16, Vec<u8>)]) -> u64 {
        let at = bytes.len() as u64;
        let mut body = Vec::new();
        for (kind, data) in messages {
            let size = data.len().next_multiple_of(8);
            body.extend(kind.to_le_bytes());
            body.extend((size as u16).to_le_bytes());
            body.extend([0; 4]);
            body.extend(data);
            body.resize(body.len().next_multiple_of(8), 0);
        }
        bytes.extend([1, 0]);
        bytes.extend((messages.len() as u16).to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        at
    }

    #[test]
    fn reads_the_sequences_of_one_subject() {
        let numbers: Vec<f32> = (0..24).map(|k| k as f32).collect();
        let set = |name: &'static str| (name, [4, 3, 2], numbers.clone());
        let bytes = file(&[set("50004_hips"), set("50004_jumping_jacks"), set("50020_hips")]);
        let found = of_bytes(bytes.clone(), Some("50004")).unwrap();
        let names: Vec<&str> = found.iter().map(|sequence| sequence.sequence.as_str()).collect();
        assert_eq!(names, ["hips", "jumping_jacks"]);
        assert_eq!(found[0].frames.len(), 2);
        assert_eq!(found[0].frames[1][2], Vec3::new(13.0, 15.0, 17.0));
        let several = of_bytes(bytes.clone(), None).unwrap_err().to_string();
        assert!(several.contains("several subjects"), "{several}");
        assert!(of_bytes(bytes, Some("1")).unwrap_err().to_string().contains("no subject '1'"));
        let one = of_bytes(file(&[set("50004_hips")]), None).unwrap();
        assert_eq!((one.len(), one[0].subject.as_str()), (1, "50004"));
    }

    #[test]
    fn rejects_files_without_registrations() {
        assert!(of_bytes(b"not HDF5".to_vec(), None).is_err());
        let error = of_bytes(file(&[("faces_all", [4, 4, 2], vec![0.0; 32])]), None).unwrap_err();
        assert!(error.to_string().contains("no sequences"), "{error}");
        let whole = file(&[("50004_hips", [4, 3, 2], vec![0.0; 24])]);
        for length in (0..whole.len()).step_by(37) {
            // Any result is acceptable, but it must not panic.
            let _ = of_bytes(whole[..length].to_vec(), None);
        }
    }
}
