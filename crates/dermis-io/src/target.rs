//! Whether an output can be written, to be asked before the work that makes it.

use std::path::Path;

use crate::error::{Error, Problem};
use crate::format::Format;
use crate::numbered;
use crate::options::WriteOptions;
use crate::output::is_taken;

/// The endings of the files that [`crate::write`] makes.
pub const WRITABLE_ENDINGS: [&str; 13] =
    ["glb", "gltf", "abc", "usda", "npz", "obj", "ply", "pc2", "mdd", "mesh", "msh", "node", "ele"];

/// Checks that `target` has an ending that is written, that its place is free or may be taken, and that its folder
/// exists or can be made.
pub fn check_target(target: &Path, options: &WriteOptions) -> Result<(), Error> {
    check_ending(target)?;
    numbered::check_pattern(target)?;
    if target.is_dir() {
        return Err(Error::malformed("the output is a folder").in_file(target).with_hint("name a file in it"));
    }
    if !options.force && is_taken(target) {
        return Err(Error::from(Problem::Exists).in_file(target).with_hint("use --force to replace it"));
    }
    if !options.force {
        numbered::check_free(target)?;
    }
    check_folder(target)
}

fn check_ending(target: &Path) -> Result<(), Error> {
    let ending = target.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    if WRITABLE_ENDINGS.contains(&ending.as_str()) {
        return Ok(());
    }
    let message = match Format::of_path(target) {
        Ok(_) => format!("'.{ending}' files are read but not written"),
        Err(_) if ending.is_empty() => "the output's name has no ending that says its format".to_owned(),
        Err(_) => format!("'.{ending}' is not the ending of a format that dermis writes"),
    };
    let hint = format!("choose one of {}", WRITABLE_ENDINGS.map(|ending| format!(".{ending}")).join(" "));
    Err(Error::unsupported(message).in_file(target).with_hint(hint))
}

/// The last level of folders is made when writing; those above it must be there.
fn check_folder(target: &Path) -> Result<(), Error> {
    let named = |path: &Path| path.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_path_buf);
    let Some(folder) = named(target) else {
        return Ok(());
    };
    if folder.is_dir() || (!folder.exists() && named(&folder).is_none_or(|above| above.is_dir())) {
        return Ok(());
    }
    let message = if folder.exists() { "the output's folder is a file" } else { "the output's folder does not exist" };
    Err(Error::malformed(message).in_file(&folder).with_hint("make the folder first, or choose another place"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(target: &Path, force: bool) -> String {
        check_target(target, &WriteOptions { force }).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn says_what_is_wrong_before_anything_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("there.npz"), b"old").unwrap();
        std::fs::create_dir(at("folder.npz")).unwrap();
        assert_eq!(message(&at("new.npz"), false), "fine");
        assert_eq!(message(&at("new/new.npz"), false), "fine");
        assert_eq!(message(&at("there.npz"), true), "fine");
        assert_eq!(message(&at("there.npz"), false), "the output exists already");
        assert_eq!(message(&at("folder.npz"), true), "the output is a folder");
        assert_eq!(message(&at("not/there/new.npz"), false), "the output's folder does not exist");
        assert_eq!(message(&at("there.npz/new.npz"), false), "the output's folder is a file");
        assert_eq!(message(&at("new.fbx"), false), "'.fbx' files are read but not written");
        assert_eq!(message(&at("new.xyz"), false), "'.xyz' is not the ending of a format that dermis writes");
        assert_eq!(message(&at("new"), false), "the output's name has no ending that says its format");
    }

    #[test]
    fn every_writable_ending_is_that_of_a_format() {
        for ending in WRITABLE_ENDINGS {
            assert!(Format::of_path(Path::new(&format!("a.{ending}"))).is_ok(), "{ending}");
        }
    }
}
