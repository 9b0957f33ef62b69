//! Reading of inputs.

use std::path::Path;

use dermis::io::{Format, ReadOptions};
use dermis::mesh::Scene;

use crate::diagnostic::{Diagnostic, InFile};
use crate::watch::Watch;

/// Prefix of built-in inputs.
pub(crate) const SAMPLE: &str = "sample:";

/// Reads `source`, a file or `sample:NAME`.
pub(crate) fn read(source: &str, options: &ReadOptions, watch: &Watch) -> Result<Scene, Diagnostic> {
    let read = || dermis::io::read(source, options);
    let doing = if source.starts_with(SAMPLE) { "building" } else { "reading" };
    watch.during(&format!("{doing} {source}"), read).in_file(source)
}

/// Name of the format of a source.
pub(crate) fn format_name(source: &str) -> &'static str {
    if source.starts_with(SAMPLE) {
        return "sample";
    }
    Format::of_path(Path::new(source)).map_or("folder", |format| format.id)
}
