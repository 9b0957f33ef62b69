//! Notes of readers and writers, for people and for programs.

use dermis::mesh::Note;
use serde::Serialize;

use crate::terminal::Paint;

/// A note as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NoteFacts {
    message: String,
    place: Option<String>,
}

impl From<&Note> for NoteFacts {
    fn from(note: &Note) -> Self {
        Self { message: note.message.clone(), place: note.place.clone() }
    }
}

impl NoteFacts {
    /// The notes in order, each once.
    pub(crate) fn each_once<'a>(notes: impl IntoIterator<Item = &'a Note>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for note in notes.into_iter().map(Self::from) {
            if !all.contains(&note) {
                all.push(note);
            }
        }
        all
    }

    /// `note: message (place)`.
    pub(crate) fn line(&self, paint: Paint) -> String {
        let place = self.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        format!("{} {}{place}\n", paint.warning("note:"), self.message)
    }
}
