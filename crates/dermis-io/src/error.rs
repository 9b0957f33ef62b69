//! Errors of files: the kind, the location, and a hint.

use std::fmt;
use std::path::{Path, PathBuf};

use dermis_body::BodyError;
use dermis_mesh::deformer::DeformerError;
use dermis_mesh::merge::MergeError;
use dermis_mesh::{MeshError, RigError, SequenceError};

/// Error of a file: its kind, location, and a hint.
///
/// `Display` prints only the headline; [`Error::path`], [`Error::location`], [`Error::details`] and [`Error::hint`]
/// return the rest as data.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    location: Option<String>,
    details: Vec<String>,
    hint: Option<String>,
}

/// Kind of an error, with its values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Error of the operating system.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is truncated.
    #[error("the file is truncated: {what} needs {needed} bytes, but only {available} remain")]
    Truncated {
        /// The part that was being read.
        what: String,
        /// Number of bytes required.
        needed: u64,
        /// Number of bytes that remain.
        available: u64,
    },
    /// The contents contradict the format.
    #[error("{0}")]
    Malformed(String),
    /// The contents are valid, but not supported.
    #[error("{0}")]
    Unsupported(String),
    /// The file requires more memory than its size justifies.
    #[error("{what} would require {asked} bytes, more than the limit of {allowed} for this file")]
    TooLarge {
        /// The part that was being read.
        what: String,
        /// Number of bytes that it would need.
        asked: u64,
        /// Number of bytes that the reader can still use.
        allowed: u64,
    },
    /// The number of points changes within an animation.
    #[error("the point count changes at frame {frame}")]
    PointCountChanges {
        /// The first frame that differs.
        frame: usize,
        /// The number of points in the frames before it.
        expected: usize,
        /// The number of points in this frame.
        found: usize,
    },
    /// The faces change within an animation.
    #[error("the faces change at frame {frame}")]
    TopologyChanges {
        /// The first frame that differs.
        frame: usize,
    },
    /// The output exists.
    #[error("the output already exists")]
    Exists,
    /// The work was stopped by its observer.
    #[error("stopped before the output was complete; nothing was written")]
    Stopped,
    /// The arrays do not form a valid mesh.
    #[error("{0}")]
    Mesh(#[from] MeshError),
    /// The frames do not form a valid sequence.
    #[error("{0}")]
    Sequence(#[from] SequenceError),
    /// The joints do not form a valid rig.
    #[error("{0}")]
    Rig(#[from] RigError),
    /// The arrays do not form a valid body model.
    #[error("{0}")]
    Body(#[from] BodyError),
    /// A stored layer is invalid.
    #[error("{0}")]
    Deformer(#[from] DeformerError),
    /// The objects cannot be merged into one, as the format requires.
    #[error("{0}")]
    Merge(#[from] MergeError),
}

impl Error {
    /// The contents contradict the format.
    pub fn malformed(what: impl Into<String>) -> Self {
        ErrorKind::Malformed(what.into()).into()
    }

    /// The contents are not supported.
    pub fn unsupported(what: impl Into<String>) -> Self {
        ErrorKind::Unsupported(what.into()).into()
    }

    /// The file is truncated.
    pub fn truncated(what: impl Into<String>, needed: u64, available: u64) -> Self {
        ErrorKind::Truncated { what: what.into(), needed, available }.into()
    }

    /// Sets the file, unless it is already set.
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.0.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Sets the location inside the file (the path of an object, an accessor, a line), unless it is already set.
    pub fn at(mut self, location: impl Into<String>) -> Self {
        self.0.location.get_or_insert_with(|| location.into());
        self
    }

    /// Adds a line of detail.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.details.push(detail.into());
        self
    }

    /// Sets a hint on how to fix the problem, unless it is already set.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Error of a sequence whose frame `frame` cannot be read.
    pub(crate) fn of_frame(self, frame: usize) -> SequenceError {
        SequenceError::Source { frame, cause: Box::new(self) }
    }

    /// The kind, with its values.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The file.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The location inside the file.
    pub fn location(&self) -> Option<&str> {
        self.0.location.as_deref()
    }

    /// Further lines of the message.
    pub fn details(&self) -> &[String] {
        &self.0.details
    }

    /// Hint on how to fix the problem.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.kind)
    }
}

impl<P: Into<ErrorKind>> From<P> for Error {
    fn from(kind: P) -> Self {
        let kind = kind.into();
        Self(Box::new(Inner { kind, path: None, location: None, details: Vec::new(), hint: None }))
    }
}
