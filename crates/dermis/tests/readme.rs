//! The Rust section of the README is the example `skin`, word for word.

use std::path::Path;

fn from_prelude(text: &str) -> &str {
    &text[text.find("use dermis::prelude::*;").expect("a program begins with the prelude")..]
}

#[test]
fn the_program_of_the_readme_is_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let (readme, example) = (read("README.md"), read("examples/skin.rs"));
    let shown = from_prelude(&readme).split("```").next().unwrap();
    assert_eq!(shown, from_prelude(&example));
}
