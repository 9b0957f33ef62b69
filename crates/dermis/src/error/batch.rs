//! Errors of batches.

use std::path::{Path, PathBuf};

/// Number of names that are listed.
const MAX_LISTED: usize = 20;

/// Reasons why a batch cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The file is not valid TOML, or has unknown keys.
    #[error("invalid job file: {message}")]
    File {
        /// The error.
        message: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// The file has no jobs.
    #[error("the file contains no [[job]]")]
    NoJobs,
    /// The name of an entry cannot be the name of a file.
    #[error("invalid name '{0}' of a job: use letters, digits, '_', '-' and '.'")]
    Name(String),
    /// Two entries have the same name.
    #[error("two jobs are called '{0}'")]
    SameName(String),
    /// A time limit is not positive.
    #[error("job '{job}': invalid timeout_s {time}: it must be positive")]
    Timeout {
        /// The job.
        job: String,
        /// The time limit.
        time: f64,
    },
    /// A pattern matches no file.
    #[error("job '{job}': no file matches '{pattern}'")]
    NoMatch {
        /// The job.
        job: String,
        /// The pattern.
        pattern: String,
    },
    /// A placeholder has no value.
    #[error("job '{job}': unknown placeholder '{placeholder}'")]
    Placeholder {
        /// The job.
        job: String,
        /// The placeholder.
        placeholder: String,
        /// Names with a value.
        known: Vec<String>,
    },
    /// An option of a matrix has no list of values.
    #[error("job '{job}': '{option}' in matrix must be a list of at least one value")]
    Matrix {
        /// The job.
        job: String,
        /// The option.
        option: String,
    },
    /// An option is set in both options and matrix.
    #[error("job '{job}': '{option}' is in both options and matrix")]
    SetTwice {
        /// The job.
        job: String,
        /// The option.
        option: String,
    },
    /// The file expands to too many jobs.
    #[error("job '{job}' expands to too many jobs: the limit is {limit}")]
    TooManyJobs {
        /// The job.
        job: String,
        /// The limit.
        limit: usize,
    },
    /// Two jobs write the same file.
    #[error("the jobs '{}' and '{}' both write {output}", jobs[0], jobs[1])]
    SameOutput {
        /// The file.
        output: String,
        /// The jobs.
        jobs: [String; 2],
    },
    /// A job writes to stdout.
    #[error("job '{0}': the output of a job must be a file")]
    Stdout(String),
    /// A job reads its own output.
    #[error("job '{job}' would replace its input {input}")]
    ReadsOwnOutput {
        /// The job.
        job: String,
        /// The file.
        input: String,
    },
    /// No job has that name.
    #[error("there is no job called '{name}'")]
    NoSuchJob {
        /// The name.
        name: String,
        /// All names.
        names: Vec<String>,
    },
    /// Jobs depend on each other; each is after the next.
    #[error("the jobs depend on each other: {}", .0.join(" after "))]
    Cycle(Vec<String>),
    /// Another process runs the batch.
    #[error("another process runs this batch")]
    Busy(PathBuf),
    /// A file of the batch cannot be read or written.
    #[error(transparent)]
    Io(#[from] dermis_io::Error),
}

impl BatchError {
    /// Error of a file.
    pub(crate) fn io(path: &Path, error: std::io::Error) -> Self {
        Self::Io(dermis_io::Error::from(error).in_file(path))
    }

    /// Location in the job file, as `line:column`.
    pub fn location(&self) -> Option<String> {
        match self {
            Self::File { line, column, .. } => Some(format!("{line}:{column}")),
            _ => None,
        }
    }

    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        let list = |kind: &str, names: &[String]| {
            let more = names.len().saturating_sub(MAX_LISTED);
            let shown = names.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
            vec![if more > 0 { format!("{kind}: {shown} and {more} more") } else { format!("{kind}: {shown}") }]
        };
        match self {
            Self::NoSuchJob { names, .. } => list("jobs", names),
            Self::Placeholder { known, .. } if !known.is_empty() => list("placeholders", known),
            Self::Busy(folder) => vec![format!("folder of results: {}", folder.display())],
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoJobs => Some("add an entry [[job]] with name, command, input and output"),
            Self::SameName(_) => Some("names identify logs and dependencies: make them unique"),
            Self::NoMatch { .. } => Some("patterns are relative to the folder of the job file"),
            Self::Placeholder { .. } => {
                Some("placeholders are {path}, {name}, {stem} and {folder} of 'each', and the options of 'matrix'")
            }
            Self::SetTwice { .. } => Some("remove it from options"),
            Self::SameOutput { .. } => {
                Some("use placeholders in the output, such as {stem} or an option of the matrix")
            }
            Self::ReadsOwnOutput { .. } => Some("choose another output"),
            Self::Cycle(_) => {
                Some("remove one of the dependencies: 'after', or an input that is the output of another job")
            }
            Self::Busy(_) => Some("wait for it, or use another folder of results"),
            _ => None,
        }
    }
}
