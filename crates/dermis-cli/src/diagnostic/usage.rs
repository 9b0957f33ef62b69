//! Report of invalid arguments.

use super::Diagnostic;

impl Diagnostic {
    /// Invalid arguments of the command whose words are `command`.
    pub(crate) fn of_usage(error: &clap::Error, command: &[&str]) -> Self {
        let text = error.render().to_string();
        let mut diagnostic = Self::new("");
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(message) = line.strip_prefix("error: ") {
                message.clone_into(&mut diagnostic.message);
            } else if let Some(tip) = line.strip_prefix("tip: ") {
                // Unknown options are rarely meant as values.
                let tip = Some(tip).filter(|tip| !tip.starts_with("to pass"));
                diagnostic = diagnostic.maybe_hint(tip.map(ToOwned::to_owned));
            } else if let Some(usage) = line.strip_prefix("Usage: ") {
                diagnostic = diagnostic.detail(format!("usage: {usage}"));
            } else if !line.starts_with("For more information") {
                diagnostic = diagnostic.detail(line);
            }
        }
        diagnostic.hint(format!("see {} --help", [&["dermis"], command].concat().join(" ")))
    }
}
