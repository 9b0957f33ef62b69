//! Checks that the documentation and the help agree with the definition of the command line.

use std::path::{Path, PathBuf};

use clap::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The file `path` of the repository.
fn document(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All commands without subcommands, with the words that call them.
fn leaves(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let words = format!("{words}{}", sub.get_name());
        if sub.has_subcommands() {
            leaves(sub, &format!("{words} "), found);
        } else {
            found.push((words, sub.clone()));
        }
    }
}

/// The first command of a line as a shell reads it: words, quotes, no comments, pipes or redirections.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in line.chars() {
        let is_start = words.last().is_some_and(String::is_empty);
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '#' | '|' | '>' | '&') if is_start => break,
            (None, ' ') if is_start => {}
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("there is always a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn expect_valid(line: &str, location: &str) {
    let words = shell_words(line);
    if let Err(error) = super::command().try_get_matches_from(&words) {
        panic!("{location}: {line}\n{error}");
    }
}

/// Lines of fenced blocks in `sh` and `console` that call dermis.
fn shown_commands(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            in_block = !in_block && ["sh", "console"].contains(&language);
        } else if in_block {
            found.extend(Some(line.trim_start_matches("$ ")).filter(|line| line.starts_with("dermis ")));
        }
    }
    found
}

#[test]
fn every_command_is_in_the_overview_and_its_options_are_on_its_page() {
    let mut commands = Vec::new();
    leaves(&super::command(), "", &mut commands);
    let overview = document("docs/cli.md");
    for (words, command) in commands {
        let is_listed = overview.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{words} ")));
        assert!(is_listed, "docs/cli.md: no row of '{words}'");
        let options = command.get_arguments().filter(|option| !option.is_global_set());
        let longs: Vec<&str> = options.filter_map(|option| option.get_long()).collect();
        for long in longs.into_iter().filter(|long| !["help", "output", "force"].contains(long)) {
            let page = format!("docs/{}.md", words.split(' ').next().unwrap_or_default());
            let ends = [' ', '`', ',', '|', '\n', ']', '='];
            let text = document(&page);
            assert!(ends.iter().any(|end| text.contains(&format!("--{long}{end}"))), "{page}: --{long} is missing");
        }
    }
}

#[test]
fn the_overview_and_the_help_list_every_format() {
    for doc in [document("docs/cli.md"), super::after_help()] {
        for extension in dermis::io::readable_extensions() {
            let is_listed = doc.split(|c: char| !c.is_alphanumeric()).any(|word| word == extension);
            assert!(is_listed, ".{extension} is not listed");
        }
    }
}

#[test]
fn documented_commands_are_valid() {
    let (mut folders, mut count) = (vec![root().join("docs")], 0);
    let mut documents = vec![root().join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() { folders.push(entry) } else { documents.push(entry) }
        }
    }
    for path in documents.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(path).unwrap();
        for line in shown_commands(&text) {
            expect_valid(line, &path.display().to_string());
            count += 1;
        }
    }
    assert!(count > 10, "{count} commands");
}

#[test]
fn examples_of_the_help_are_valid() {
    fn check(command: &Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        // A description is separated by two spaces.
        let examples = help.lines().filter_map(|line| line.trim().split("  ").next());
        examples.filter(|line| line.starts_with("dermis ")).for_each(|line| expect_valid(line, command.get_name()));
        command.get_subcommands().for_each(check);
    }
    check(&super::command());
}
