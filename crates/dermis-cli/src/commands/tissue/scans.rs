//! Scans of a subject as arguments of `fit` and `validate`.

use std::path::PathBuf;

use dermis::fit_tissue::read_scans;
use dermis::mesh::Note;
use dermis::tissue::fit::Scan;
use dermis::tissue::layered::LayeredBody;

use crate::diagnostic::{Diagnostic, InFile};

/// Scans of a subject.
#[derive(Debug, clap::Args)]
pub(super) struct ScanArgs {
    /// Read these mesh sequences of the subject: files, or folders of files
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    scans: Vec<PathBuf>,
    /// Use this subject of an HDF5 file (Dyna, DFAUST) [default: the only one]
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
}

impl ScanArgs {
    /// Reads the scans for `body`, with notes.
    pub(super) fn read(&self, body: &LayeredBody) -> Result<(Vec<Scan>, Vec<Note>), Diagnostic> {
        read_scans(&self.scans, body, self.subject.as_deref()).in_file(self.scans[0].display())
    }
}
