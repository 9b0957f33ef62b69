//! First bytes of large files, which are compared with the format before the file is read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::Error;
use crate::format::{Format, Start};

/// Smaller files are read directly: their readers have more specific messages.
const MIN_CHECKED_BYTES: u64 = 16 << 20;
const HEAD_BYTES: u64 = 64;

/// Rejects a large regular file whose first bytes are not those of `format`.
pub(crate) fn check(format: &Format, path: &Path) -> Result<(), Error> {
    let file = File::open(path).map_err(|error| Error::from(error).in_file(path))?;
    let about = file.metadata().map_err(|error| Error::from(error).in_file(path))?;
    if !about.is_file() || about.len() < MIN_CHECKED_BYTES {
        return Ok(());
    }
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).map_err(|error| Error::from(error).in_file(path))?;
    if fits(format.start, &head) {
        return Ok(());
    }
    let message = format!("the file does not begin like a {} file", format.name);
    Err(Error::malformed(message).in_file(path).with_hint("check the extension, or copy or export the file again"))
}

fn fits(start: Start, head: &[u8]) -> bool {
    let Start { signatures, text } = start;
    let is_known = signatures.iter().any(|signature| head.starts_with(signature));
    let is_any = !text && signatures.is_empty();
    is_known || text && !head.contains(&0) || is_any && head.iter().any(|byte| *byte != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FORMATS;

    #[test]
    fn a_large_file_of_zeros_is_rejected_by_every_reader_without_reading_it() {
        let folder = tempfile::tempdir().unwrap();
        for format in &FORMATS {
            for extension in format.extensions {
                let path = folder.path().join("zeros").with_extension(extension);
                // A sparse file of 10 GiB, which uses no disk space.
                File::create(&path).unwrap().set_len(10 << 30).unwrap();
                let began = std::time::Instant::now();
                let error = check(format, &path).unwrap_err();
                assert!(error.to_string().contains("does not begin like"), "{extension}: {error}");
                assert!(began.elapsed().as_secs_f64() < 1.0, "{extension}");
            }
        }
    }

    #[test]
    fn a_large_binary_file_of_gmsh_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("body.msh");
        std::fs::write(&path, b"$MeshFormat\n4.1 1 8\n\x01\0\0\0\n$EndMeshFormat\n").unwrap();
        File::options().write(true).open(&path).unwrap().set_len(2 * MIN_CHECKED_BYTES).unwrap();
        check(Format::of_path(&path).unwrap(), &path).unwrap();
    }
}
