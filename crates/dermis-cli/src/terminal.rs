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

/// Writes `value` to stdout as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> std::io::Result<()> {
    print(&(serde_json::to_string(value)? + "\n"))
}

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
