//! A `.usdz` archive: the layer and its images, stored without compression at multiples of 64 bytes.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::material::Materials;
use crate::error::{Error, ErrorKind};
use crate::output::Job;

const ALIGNMENT: u16 = 64;

/// Writes the target of `job` with the crate in `layer` and the images of `materials`.
pub(super) fn write(layer: &mut File, materials: &Materials, job: &mut Job<'_>) -> Result<(), Error> {
    let stem = job.target.file_stem().map_or_else(|| "scene".into(), |stem| stem.to_string_lossy().into_owned());
    let mut archive = ZipWriter::new(job.create()?);
    let size = layer.seek(SeekFrom::End(0))?;
    layer.seek(SeekFrom::Start(0))?;
    // The first file is the one that is opened.
    begin(&mut archive, &format!("{stem}.usdc"), size)?;
    std::io::copy(layer, &mut archive)?;
    for (name, bytes) in materials.images() {
        begin(&mut archive, &name, bytes.len() as u64)?;
        archive.write_all(bytes)?;
    }
    let mut file = archive.finish().map_err(failed)?;
    Ok(file.flush()?)
}

fn begin<W: Write + Seek>(archive: &mut ZipWriter<W>, name: &str, size: u64) -> Result<(), Error> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .with_alignment(ALIGNMENT)
        .large_file(size >= u64::from(u32::MAX));
    archive.start_file(name, options).map_err(failed)
}

fn failed(error: zip::result::ZipError) -> Error {
    ErrorKind::Io(std::io::Error::other(error)).into()
}
