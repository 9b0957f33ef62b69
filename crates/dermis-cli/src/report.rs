//! The name of [`Diagnostic`](crate::diagnostic::Diagnostic) in commands that are not moved yet.

pub(crate) use crate::diagnostic::Diagnostic as Report;
