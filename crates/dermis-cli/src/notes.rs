//! Notes of readers and writers, as text and as JSON.

use dermis::mesh::Note;
use serde::Serialize;

use crate::terminal::Paint;

/// Option in notes of the libraries, and its name on the command line.
const NESTED_BONES: [&str; 2] = ["the option nested_bones", "--nested-bones"];

/// Number of locations that are listed after a message; the others are counted.
const MAX_LISTED_LOCATIONS: usize = 6;

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

    /// `note: message (locations)` for each message, in the order of their first occurrence.
    pub(crate) fn lines(notes: &[Self], paint: Paint) -> Vec<String> {
        let mut messages: Vec<(&str, Vec<&str>)> = Vec::new();
        for note in notes {
            let at = messages.iter().position(|(message, _)| *message == note.message).unwrap_or(messages.len());
            if at == messages.len() {
                messages.push((&note.message, Vec::new()));
            }
            messages[at].1.extend(note.location.as_deref());
        }
        let line = |(message, locations): &(&str, Vec<&str>)| {
            format!("{} {message}{}", paint.warning("note:"), in_brackets(locations))
        };
        messages.iter().map(line).collect()
    }
}

fn in_brackets(locations: &[&str]) -> String {
    let shown = locations.iter().take(MAX_LISTED_LOCATIONS).copied().collect::<Vec<_>>().join(", ");
    match locations.len().saturating_sub(MAX_LISTED_LOCATIONS) {
        _ if locations.is_empty() => String::new(),
        0 => format!(" ({shown})"),
        more => format!(" ({shown} and {more} more)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ColorChoice;

    #[test]
    fn equal_messages_are_one_line_with_all_locations() {
        let note = |location: &str| Note::at(location, "the rig is dropped");
        let mut notes = vec![note("body"), Note::new("alone"), note("belt")];
        let paint = Paint::for_stdout(ColorChoice::Never);
        let lines = NoteFacts::lines(&NoteFacts::each_once(&notes), paint);
        assert_eq!(lines, ["note: the rig is dropped (body, belt)", "note: alone"]);
        notes.extend((0..8).map(|k| note(&format!("card {k}"))));
        let lines = NoteFacts::lines(&NoteFacts::each_once(&notes), paint);
        assert_eq!(lines[0], "note: the rig is dropped (body, belt, card 0, card 1, card 2, card 3 and 4 more)");
    }
}
