//! Access to recorded data.

use std::path::{Path, PathBuf};

/// The file `name` in the folder `DERMIS_DATA`; prints a message if it is missing.
pub(crate) fn shared_data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("DERMIS_DATA").map_or_else(beside, Into::into).join(name);
    if !path.exists() {
        eprintln!("skipped: no file {name}");
    }
    path.exists().then_some(path)
}
