//! Reading what a user names.

use std::path::Path;

use dermis::io::{Format, ReadOptions};
use dermis::mesh::Scene;

use crate::diagnostic::{Diagnostic, InFile};
use crate::watch::Watch;

/// What the names of built-in inputs begin with.
pub(crate) const SAMPLE: &str = "sample:";

/// Reads `source`, a file or `sample:NAME`.
pub(crate) fn read(source: &str, options: &ReadOptions, watch: &Watch) -> Result<Scene, Diagnostic> {
    let read = || dermis::io::read(source, options);
    let doing = if source.starts_with(SAMPLE) { "building" } else { "reading" };
    watch.during(&format!("{doing} {source}"), read).in_file(source)
}

/// The word for a source's format.
pub(crate) fn format_name(source: &str) -> &'static str {
    if source.starts_with(SAMPLE) {
        return "sample";
    }
    Format::of_path(Path::new(source)).map_or("folder", |format| format.id)
}
