//! Patterns of paths: `*` and `?` match within a folder, `**` any number of folders.

use std::path::{Path, PathBuf};

use dermis_io::glob_matches;

/// Maximum depth of folders that `**` searches, which ends loops of links.
const MAX_DEPTH: usize = 32;

/// Returns whether `path` contains a wildcard.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// The folder in front of the first wildcard, with a separator at the end; empty if there is none.
pub(super) fn base(pattern: &str) -> &str {
    let wildcard = pattern.find(['*', '?']).unwrap_or(pattern.len());
    &pattern[..pattern[..wildcard].rfind('/').map_or(0, |slash| slash + 1)]
}

/// Files in `folder` that match `pattern`, relative to `folder`, sorted. Hidden files match only patterns that start
/// with a dot.
pub(super) fn files(folder: &Path, pattern: &str) -> Vec<String> {
    let start = base(pattern);
    let parts: Vec<&str> = pattern[start.len()..].split('/').filter(|part| !part.is_empty()).collect();
    let mut found = Vec::new();
    search(&folder.join(start), start, &parts, MAX_DEPTH, &mut found);
    found.sort();
    found.dedup();
    found
}

fn search(folder: &Path, prefix: &str, parts: &[&str], depth: usize, found: &mut Vec<String>) {
    let Some((first, rest)) = parts.split_first().filter(|_| depth > 0) else { return };
    if *first == "**" {
        search(folder, prefix, rest, depth, found);
    }
    let entries = std::fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path: PathBuf = entry.path();
        if *first == "**" {
            if path.is_dir() && !name.starts_with('.') {
                search(&path, &format!("{prefix}{name}/"), parts, depth - 1, found);
            }
        } else if part_matches(first, name) {
            if rest.is_empty() {
                found.push(format!("{prefix}{name}"));
            } else if path.is_dir() {
                search(&path, &format!("{prefix}{name}/"), rest, depth - 1, found);
            }
        }
    }
}

fn part_matches(part: &str, name: &str) -> bool {
    (!name.starts_with('.') || part.starts_with('.')) && glob_matches(part, name)
}

/// Returns whether the path `path` matches `pattern`.
pub(super) fn path_matches(pattern: &str, path: &str) -> bool {
    fn parts_match(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => (0..=path.len()).any(|skipped| parts_match(rest, &path[skipped..])),
            (Some((first, rest)), Some((name, others))) => part_matches(first, name) && parts_match(rest, others),
            _ => false,
        }
    }
    let [pattern, path] = [pattern, path].map(|text| text.split('/').collect::<Vec<_>>());
    parts_match(&pattern, &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_files_in_folders() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a.abc", "b.abc", ".c.abc", "sub/d.abc", "sub/deep/e.abc", "sub/f.glb"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"").unwrap();
        }
        for (pattern, expected) in [
            ("*.abc", vec!["a.abc", "b.abc"]),
            ("sub/*", vec!["sub/d.abc", "sub/deep", "sub/f.glb"]),
            ("*/?.glb", vec!["sub/f.glb"]),
            ("**/*.abc", vec!["a.abc", "b.abc", "sub/d.abc", "sub/deep/e.abc"]),
            ("none/*.abc", vec![]),
        ] {
            assert_eq!(files(folder.path(), pattern), expected, "{pattern}");
            assert!(expected.iter().all(|path| path_matches(pattern, path)), "{pattern}");
        }
        assert!(!path_matches("sub/*.abc", "a.abc") && path_matches("**/*.abc", "x/y/z.abc"));
    }
}
