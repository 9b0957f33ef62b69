//! Notes of readers and writers, as text and as JSON.

use dermis::mesh::Note;
use serde::Serialize;

use crate::terminal::Paint;

/// A note as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NoteFacts {
    message: String,
    location: Option<String>,
}

impl From<&Note> for NoteFacts {
    fn from(note: &Note) -> Self {
        Self { message: note.message.clone(), location: note.location.clone() }
    }
}

impl NoteFacts {
    /// Notes in order, without duplicates.
    pub(crate) fn each_once<'a>(notes: impl IntoIterator<Item = &'a Note>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for note in notes.into_iter().map(Self::from) {
            if !all.contains(&note) {
                all.push(note);
            }
        }
        all
    }

    /// `note: message (location)`.
    pub(crate) fn line(&self, paint: Paint) -> String {
        let location = self.location.as_ref().map(|location| format!(" ({location})")).unwrap_or_default();
        format!("{} {}{location}\n", paint.warning("note:"), self.message)
    }
}
