//! Runs the commands of the documentation and compares their output with the output that it shows.
//!
//! CONTRIBUTING.md describes the convention. `DERMIS_UPDATE_DOCS=1` replaces the shown output instead of comparing it.

mod common;

use std::path::{Path, PathBuf};

use common::{Outcome, Sandbox};

/// Relative tolerance of numbers: results differ slightly between processors.
const TOLERANCE: f64 = 0.05;
/// Numbers of smaller magnitude are rounding errors and compared by this bound only.
const ROUNDING: f64 = 1e-6;
/// A line of this matches any number of lines; at the end of a line it matches the rest of the line.
const ELLIPSIS: &str = "…";

/// README.md and all Markdown files under docs.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut folders, mut found) = (vec![root.join("docs")], vec![root.join("README.md")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.extension() {
                _ if entry.is_dir() => folders.push(entry),
                Some(extension) if extension == "md" => found.push(entry),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// Output of a command: stdout, or the error on stderr without the progress before it.
fn output(outcome: &Outcome) -> String {
    let error = outcome.stderr.find("error:").map_or("", |at| &outcome.stderr[at..]);
    format!("{}{}", outcome.stdout, if outcome.code == 0 { "" } else { error })
}

/// Runs the commands of a document in a new folder. Returns the document with the actual output, and mismatches.
fn check(text: &str) -> (String, Vec<String>) {
    let sandbox = Sandbox::new();
    let (mut updated, mut mismatches) = (String::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        updated.extend([line, "\n"]);
        if let Some(name) = line.strip_prefix("```toml ") {
            let mut contents = String::new();
            while let Some(line) = lines.next_if(|line| *line != "```") {
                contents.extend([line, "\n"]);
            }
            std::fs::write(sandbox.path(name), &contents).unwrap();
            updated += &contents;
            continue;
        }
        if line != "```console" {
            continue;
        }
        while let Some(command) = lines.next_if(|line| line.starts_with("$ ")) {
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && *line != "```") {
                expected.extend([line, "\n"]);
            }
            let words: Vec<&str> = command[2..].split_whitespace().collect();
            assert_eq!(words.first(), Some(&"dermis"), "only dermis is run: {command}");
            let found = output(&sandbox.run(&words[1..]));
            let is_current = matches(&expected, &found);
            // Output that still matches keeps the documented times.
            updated.extend([command, "\n", if is_current { &expected } else { &found }]);
            if !is_current {
                mismatches.push(format!("{command}\n--- documented\n{expected}--- printed\n{found}"));
            }
        }
    }
    (updated, mismatches)
}

/// Returns whether the output agrees with the documented one; see [`tokens`].
fn matches(expected: &str, found: &str) -> bool {
    fn match_lines(expected: &[&str], found: &[&str]) -> bool {
        match (expected, found) {
            ([], []) => true,
            ([first, rest @ ..], _) if first.trim() == ELLIPSIS => {
                (0..=found.len()).any(|skipped| match_lines(rest, &found[skipped..]))
            }
            ([first, rest @ ..], [line, others @ ..]) => match_line(first, line) && match_lines(rest, others),
            _ => false,
        }
    }
    match_lines(&expected.lines().collect::<Vec<_>>(), &found.lines().collect::<Vec<_>>())
}

fn match_line(expected: &str, found: &str) -> bool {
    let shown = expected.trim_end().strip_suffix(ELLIPSIS);
    let (expected, found) = (tokens(shown.unwrap_or(expected)), tokens(found));
    let has_length = if shown.is_some() { expected.len() <= found.len() } else { expected.len() == found.len() };
    has_length && expected.iter().zip(&found).all(|(a, b)| a == b || are_close(a, b))
}

/// Compares numbers within the tolerance and two units of the last digit.
fn are_close(a: &str, b: &str) -> bool {
    let (Ok(x), Ok(y)) = (a.parse::<f64>(), b.parse::<f64>()) else { return false };
    let decimals = a.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let last_digit = if a.contains('e') { 0.0 } else { 0.1_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX)) };
    (x - y).abs() <= TOLERANCE * x.abs().max(y.abs()) + 2.0 * last_digit + ROUNDING
}

/// Words and numbers of a line without times and speeds.
///
/// `in 3.2 s (read 1.1 s, …)` at the end of a line is removed, since short stages are not listed; other numbers before
/// a unit of time or speed become `#`. Bars of `▪` become one.
fn tokens(line: &str) -> Vec<String> {
    const TIMES: [&str; 5] = ["s", "ms", "min", "frames/s", "vertices/s"];
    const PUNCTUATION: &[char] = &['(', ')', ',', ';', ':'];
    let is_time = |words: &[&str]| {
        let unit = words.first().map_or("", |word| word.trim_end_matches(PUNCTUATION));
        TIMES.contains(&unit) || words.starts_with(&["times", "real"])
    };
    let line = line.find(") in ").map_or(line, |at| &line[..=at]);
    let line = line.strip_prefix("done in ").map_or(line, |_| "done");
    let words: Vec<&str> = line.split_whitespace().collect();
    let token = |at: usize| {
        let word = words[at].trim_matches(PUNCTUATION).replace(',', "");
        match word.parse::<f64>() {
            Ok(_) if is_time(&words[at + 1..]) => "#".to_owned(),
            _ if word.starts_with('▪') => "▪".to_owned(),
            _ => word,
        }
    };
    (0..words.len()).map(token).collect()
}

#[test]
fn documented_commands_print_the_documented_output() {
    let update = std::env::var_os("DERMIS_UPDATE_DOCS").is_some();
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
    let documents: Vec<PathBuf> =
        documents().into_iter().filter(|path| read(path).contains("\n```console\n")).collect();
    assert!(!documents.is_empty(), "the documentation has no commands");
    let results: Vec<(String, Vec<String>)> = std::thread::scope(|scope| {
        let runs: Vec<_> = documents.iter().map(|path| scope.spawn(move || check(&read(path)))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for (path, (updated, _)) in documents.iter().zip(&results).filter(|_| update) {
        std::fs::write(path, updated).unwrap();
    }
    let named = documents.iter().zip(&results).flat_map(|(path, (_, mismatches))| {
        mismatches.iter().map(|mismatch| format!("{}: {mismatch}", path.display()))
    });
    let mismatches: Vec<String> = named.collect();
    assert!(update || mismatches.is_empty(), "{}", mismatches.join("\n"));
}

#[test]
fn output_is_compared_without_times_and_within_a_tolerance() {
    assert!(matches("wrote a.glb (703 kB) in 3.2 s (read 1.1 s)\n", "wrote a.glb (700 kB) in 9.0 s\n"));
    assert!(!matches("wrote a.glb (703 kB) in 3.2 s\n", "wrote b.glb (703 kB) in 3.2 s\n"));
    assert!(matches(
        "drift 6.956 % before, 8.4e-9 after, 0.29 ms per frame\n",
        "drift 6.957 % before, 1e-9 after, 1.2 ms per frame\n"
    ));
    assert!(!matches("33 bones\n", "40 bones\n"));
    assert!(matches("speed  1.8 ms per step: 2.2 times real time\n", "speed  9 ms per step: 0.4 times real time\n"));
    assert!(matches("area 0.61 %, …\n", "area 0.61 %, 72.6 ms per frame\n"));
    assert!(matches("a\n…\nd\n", "a\nb\nc\nd\n") && !matches("a\n…\ne\n", "a\nb\n"));
}
