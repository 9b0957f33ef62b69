//! Layout of summaries: titles, labelled rows, tables.

use std::fmt::Display;

use crate::terminal::{Paint, printable};

/// Width of the labels of rows.
const LABEL_WIDTH: usize = 14;

/// Text of a summary.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) paint: Paint,
    lines: String,
}

impl Text {
    pub(crate) fn new(paint: Paint) -> Self {
        Self { paint, lines: String::new() }
    }

    pub(crate) fn line(&mut self, words: impl Display) {
        self.lines.extend([words.to_string().as_str(), "\n"]);
    }

    /// `horse  8,431 points, 48 frames`.
    pub(crate) fn title(&mut self, name: &str, words: impl Display) {
        let words = words.to_string();
        let gap = if words.is_empty() { "" } else { "  " };
        self.line(format!("{}{gap}{words}", self.paint.title(name)));
    }

    /// A labelled row.
    pub(crate) fn row(&mut self, label: &str, words: impl Display) {
        self.row_at(1, label, words);
    }

    /// A labelled row with an indentation.
    pub(crate) fn row_at(&mut self, indent: usize, label: &str, words: impl Display) {
        let label = self.paint.faint(&format!("{label:LABEL_WIDTH$}"));
        self.line(format!("{:indent$}{label} {words}", "", indent = 2 * indent));
    }

    /// A table with the first `left` columns aligned left and the others right.
    pub(crate) fn table(&mut self, left: usize, header: &[&str], rows: &[Vec<String>]) {
        let length = |text: &str| text.chars().count();
        let width =
            |column: usize| rows.iter().map(|row| length(&row[column])).fold(length(header[column]), usize::max);
        let widths: Vec<usize> = (0..header.len()).map(width).collect();
        let line = |row: &[&str]| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (text, &width))| {
                if column < left { format!("{text:<width$}") } else { format!("{text:>width$}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        if header.iter().any(|name| !name.is_empty()) {
            self.line(self.paint.faint(&line(header)));
        }
        for row in rows {
            self.line(line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
        }
    }

    pub(crate) fn finish(self) -> String {
        printable(&self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_entries() {
        let mut text = Text::new(Paint::plain());
        let rows = [["rigid", "1.5"], ["flexible", "12.25"]].map(|row| row.map(str::to_owned).to_vec());
        text.table(1, &["bones", "E %"], &rows);
        assert_eq!(text.finish(), "bones       E %\nrigid       1.5\nflexible  12.25\n");
    }
}
