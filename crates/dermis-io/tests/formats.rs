//! The table of formats: the documents match it, and every row is consistent.

use std::path::{Path, PathBuf};

use dermis_io::{FORMATS, Format, ReadOptions};

fn document(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

fn dotted(extensions: &[&str]) -> String {
    extensions.iter().map(|extension| format!("`.{extension}`")).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_readme_has_the_table() {
    let readme = document("README.md");
    for format in &FORMATS {
        let writes = if format.writes.is_empty() { "–" } else { format.writes };
        let Format { name, feature, reads, .. } = format;
        let row = format!("| {name} {} | `{feature}` | {reads} | {writes} |", dotted(format.extensions));
        assert!(readme.contains(&row), "README.md lacks this row:\n{row}");
    }
}

#[test]
fn the_command_line_document_lists_the_extensions() {
    let document = document("docs/cli.md");
    for (list, extensions) in
        [("read", dermis_io::readable_extensions()), ("written", dermis_io::writable_extensions())]
    {
        let listed = format!("`{}`", extensions.join(" "));
        assert!(document.contains(&listed), "docs/cli.md does not list the formats that are {list}:\n{listed}");
    }
}

#[test]
fn every_row_is_a_feature_and_is_found_by_its_extensions() {
    let manifest = document("crates/dermis-io/Cargo.toml");
    for format in &FORMATS {
        assert!(manifest.contains(&format!("\n{} = [", format.feature)), "{}", format.feature);
        assert_eq!(format.writes.is_empty(), format.written_extensions.is_empty(), "{}", format.name);
        for extension in format.extensions {
            let found = Format::of_path(&PathBuf::from(format!("a.{extension}"))).unwrap();
            assert_eq!(found.id, format.id);
        }
        assert!(format.written_extensions.iter().all(|written| format.extensions.contains(written)));
    }
}

#[test]
fn the_error_of_a_disabled_format_names_its_feature() {
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS.iter().filter(|format| !format.is_compiled_in()) {
        let path = folder.path().join(format!("a.{}", format.extensions[0]));
        std::fs::write(&path, b"").unwrap();
        let error = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap_err();
        assert!(error.hint().is_some_and(|hint| hint.contains(&format!("'{}'", format.feature))), "{error}");
    }
}
