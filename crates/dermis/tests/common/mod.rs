//! Where recorded data is, if it is there.

use std::path::{Path, PathBuf};

/// The file `name` of the folder that `DERMIS_DATA` names; says aloud where it is missing.
pub(crate) fn shared_data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("DERMIS_DATA").map_or_else(beside, Into::into).join(name);
    if !path.exists() {
        eprintln!("skipped: {name} is not there");
    }
    path.exists().then_some(path)
}
