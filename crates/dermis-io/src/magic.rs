//! First bytes of large files, which are compared with the format before the file is read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::Error;
use crate::format::Format;

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
    if fits(format.id, &head) {
        return Ok(());
    }
    let message = format!("the file does not begin like a {} file", format.name);
    Err(Error::malformed(message).in_file(path).with_hint("check the extension, or copy or export the file again"))
}

fn fits(format: &str, head: &[u8]) -> bool {
    let begins = |signatures: &[&[u8]]| signatures.iter().any(|signature| head.starts_with(signature));
    let is_text = !head.contains(&0);
    match format {
        "npz" => begins(&[b"PK"]),
        "alembic" => begins(&[b"Ogawa", b"\x89HDF"]),
        "usd" => begins(&[b"PXR-USDC", b"PK", b"#usda"]) || is_text,
        "fbx" => begins(&[b"Kaydara FBX Binary"]) || is_text,
        "gltf" => begins(&[b"glTF"]) || is_text,
        "ply" => begins(&[b"ply"]),
        "pc2" => begins(&[b"POINTCACHE2"]),
        "obj" | "bvh" | "tetgen" | "gmsh" => is_text,
        // The first bytes are numbers or opcodes.
        _ => head.iter().any(|byte| *byte != 0),
    }
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
}
