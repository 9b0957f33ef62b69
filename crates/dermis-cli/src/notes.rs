//! Notes of readers and writers, as text and as JSON.

use dermis::mesh::Note;
use serde::Serialize;

use crate::terminal::Paint;

/// Option in notes of the libraries, and its name on the command line.
const NESTED_BONES: [&str; 2] = ["the option nested_bones", "--nested-bones"];

/// A note as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NoteFacts {
    message: String,
    location: Option<String>,
}

impl From<&Note> for NoteFacts {
    fn from(note: &Note) -> Self {
        let [in_library, here] = NESTED_BONES;
        Self { message: note.message.replace(in_library, here), location: note.location.clone() }
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
