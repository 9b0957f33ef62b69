//! Arguments of the command of a job.

use clap::Command;
use dermis::batch::{Batch, Job, OptionValue};

use crate::commands;
use crate::diagnostic::Diagnostic;

/// Commands without a result that a batch could use.
const EXCLUDED: [&str; 4] = ["batch", "view", "completions", "man"];
/// Options that the batch sets itself, and the key to use instead.
const SET_BY_BATCH: [(&str, &str); 7] = [
    ("output", "the key 'output' of the job"),
    ("force", "'dermis batch --force'"),
    ("format", "'dermis batch --format'"),
    ("quiet", "'dermis batch --quiet'"),
    ("color", "'dermis batch --color'"),
    ("threads", "'dermis batch --threads'"),
    ("max-memory", "'dermis batch --max-memory'"),
];

/// Words of the command line of `job`. With `force`, existing outputs are replaced.
pub(super) fn arguments(root: &Command, job: &Job, force: bool) -> Vec<String> {
    let mut words: Vec<String> = job.command.split(' ').map(str::to_owned).collect();
    for (name, value) in &job.options {
        match value {
            OptionValue::Flag(true) => words.push(format!("--{name}")),
            OptionValue::Flag(false) => {}
            value => words.extend(value.texts().iter().map(|text| format!("--{name}={text}"))),
        }
    }
    let definition = definition_of(root, &job.command);
    let argument = |id: &str| definition.and_then(|command| command.get_arguments().find(|given| given.get_id() == id));
    // With an optional output, --force requires one.
    let is_writing = if argument("output").is_some() { job.output.is_some() } else { !job.outputs().is_empty() };
    if force && is_writing && argument("force").is_some() {
        words.push("--force".to_owned());
    }
    let is_positional = argument("output").is_some_and(clap::Arg::is_positional);
    words.extend(job.output.iter().filter(|_| !is_positional).map(|output| format!("--output={output}")));
    // Names of files can start with a hyphen.
    words.push("--".to_owned());
    words.extend(job.inputs.iter().cloned());
    words.extend(job.output.iter().filter(|_| is_positional).cloned());
    words
}

/// Checks the commands and options of all jobs, so that mistakes are found before the first job runs.
pub(super) fn check(batch: &Batch) -> Result<(), Diagnostic> {
    let root = commands::command();
    let mut checked = String::new();
    for job in &batch.jobs {
        let at = |diagnostic: Diagnostic| diagnostic.in_file(batch.file.display()).at(format!("job '{}'", job.name));
        if definition_of(&root, &job.command).is_none() {
            return Err(at(unknown_command(&root, &job.command)));
        }
        let set = SET_BY_BATCH.iter().find(|(name, _)| job.options.iter().any(|(given, _)| given == name));
        if let Some((name, instead)) = set {
            let diagnostic = Diagnostic::new(format!("'{name}' is not an option of a job"));
            return Err(at(diagnostic.hint(format!("use {instead}"))));
        }
        let words = [vec!["dermis".to_owned()], arguments(&root, job, false)].concat();
        // Jobs of one entry differ in their paths; each distinct command line is checked.
        let line = words.join("\0");
        if line != checked {
            let parsed = root.clone().try_get_matches_from(&words);
            let command: Vec<&str> = job.command.split(' ').collect();
            parsed.map_err(|error| at(Diagnostic::of_usage(&error, &command)))?;
            checked = line;
        }
    }
    Ok(())
}

/// Definition of a command by its words; `None` if it does not exist, needs a subcommand, or cannot be used in a batch.
fn definition_of<'a>(root: &'a Command, words: &str) -> Option<&'a Command> {
    let found = words.split(' ').try_fold(root, |command, word| {
        command.get_subcommands().find(|sub| sub.get_name() == word && !EXCLUDED.contains(&word))
    })?;
    (!found.is_subcommand_required_set()).then_some(found)
}

fn unknown_command(root: &Command, words: &str) -> Diagnostic {
    fn leaves(command: &Command, words: &str, names: &mut Vec<String>) {
        for sub in command.get_subcommands().filter(|sub| !EXCLUDED.contains(&sub.get_name())) {
            let words = format!("{words}{}", sub.get_name());
            leaves(sub, &format!("{words} "), names);
            if !sub.is_subcommand_required_set() {
                names.push(words);
            }
        }
    }
    let mut names = Vec::new();
    leaves(root, "", &mut names);
    let diagnostic = Diagnostic::new(format!("there is no command '{words}' for jobs"));
    diagnostic.detail(format!("commands: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_write_files_exist() {
        let root = commands::command();
        for (command, option) in dermis::batch::OUTPUT_OPTIONS {
            let definition = definition_of(&root, command).unwrap_or_else(|| panic!("{command}"));
            assert!(definition.get_arguments().any(|given| given.get_long() == Some(option)), "{command} --{option}");
        }
    }

    /// Every option that names a file to write must be in the list, or its file would be mistaken for an input.
    #[test]
    fn all_options_that_write_files_are_listed() {
        fn check(command: &Command, words: &str) {
            for sub in command.get_subcommands() {
                check(sub, format!("{words} {}", sub.get_name()).trim());
            }
            let is_written = |help: &str| help.starts_with("Write") || help.starts_with("Save");
            for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
                let (Some(long), Some(help)) = (option.get_long(), option.get_help()) else { continue };
                if is_written(&help.to_string()) && long != "output" && !EXCLUDED.contains(&words) {
                    let names = option.get_value_names().unwrap_or_default();
                    let names_file = names.iter().any(|name| name.starts_with("FILE") || name.starts_with("FOLDER"));
                    let is_listed = dermis::batch::OUTPUT_OPTIONS.contains(&(words, long));
                    assert!(is_listed || !names_file, "{words} --{long}: {help}");
                }
            }
        }
        check(&commands::command(), "");
    }
}
