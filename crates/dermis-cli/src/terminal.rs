//! Output to the terminal: colours, and pipes that are closed early.

use std::io::{ErrorKind, IsTerminal, Write};

use clap::ColorChoice;
use serde::Serialize;

/// Writes `text` to stdout.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes `bytes` to stdout. A pipe that is closed early, as in `dermis man | head`, ends the program without an error.
pub(crate) fn print_bytes(bytes: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(std::io::Error::other(format!("cannot write to stdout: {error}"))),
    }
}

/// Writes `text` to stderr. Progress and notes never end the work: a closed or full stderr is ignored.
pub(crate) fn write_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// `text` with control characters as escapes, except line breaks and the colours of [`Paint`]. Names in files can contain
/// sequences that change the state of a terminal.
pub(crate) fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let code = CODES.iter().find(|code| {
            rest.strip_prefix("\x1b[")
                .and_then(|rest| rest.strip_prefix(**code))
                .is_some_and(|rest| rest.starts_with('m'))
        });
        let length = match code {
            Some(code) => code.len() + 3,
            None => character.len_utf8(),
        };
        match character {
            '\n' => safe.push('\n'),
            _ if code.is_some() => safe.push_str(&rest[..length]),
            _ if character.is_control() => safe.extend(character.escape_default()),
            _ => safe.push(character),
        }
        rest = &rest[length..];
    }
    safe
}

/// Writes `value` to stdout as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> std::io::Result<()> {
    print(&(serde_json::to_string(value)? + "\n"))
}

/// Codes of the colours, and of their end.
const CODES: [&str; 6] = ["0", "1", "1;31", "33", "1;36", "2"];

/// Colours text if enabled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    colored: bool,
}

impl Paint {
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { colored: false }
    }

    pub(crate) fn for_stdout(choice: ColorChoice) -> Self {
        Self::new(choice, std::io::stdout().is_terminal())
    }

    pub(crate) fn for_stderr(choice: ColorChoice) -> Self {
        Self::new(choice, std::io::stderr().is_terminal())
    }

    fn new(choice: ColorChoice, is_terminal: bool) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let colored = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !unwanted,
        };
        Self { colored }
    }

    pub(crate) fn title(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub(crate) fn hint(self, text: &str) -> String {
        self.wrap("1;36", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colored { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_colours_kept() {
        let title = Paint { colored: true }.title("arm");
        assert_eq!(printable(&format!("{title}\n\x1b]0;x\x07é\t")), format!("{title}\n\\u{{1b}}]0;x\\u{{7}}é\\t"));
    }
}
