//! Files that an input can reference: textures, buffers, layers, caches.
//!
//! An untrusted file must not access the rest of the disk. It can reference files inside a root folder: the one given
//! by the caller, or else the project folder, which is the nearest folder above the file that contains a version
//! control folder or a licence. Without either it is the folder of the file. Links are resolved before the check.

use std::path::{Component, Path, PathBuf};

use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;

/// Folders of version control systems.
const VERSION_CONTROL: [&str; 6] = [".git", ".hg", ".svn", ".jj", ".bzr", ".plastic"];
/// Prefixes of the names of licence files.
const LICENCES: [&str; 4] = ["license", "licence", "copying", "unlicense"];
/// Number of levels above a file that are searched for its project.
const MAX_LEVELS: usize = 32;

/// Files around an input.
#[derive(Debug, Clone)]
pub(crate) struct Neighbours {
    /// Folder of the input (canonical path).
    pub folder: PathBuf,
    /// Folder that contains all files that the input can reference (canonical path); `None` if it can reference any
    /// file.
    pub root: Option<PathBuf>,
}

impl Neighbours {
    /// The files around `input`; `None` if it is in memory and has none.
    pub(crate) fn of(input: &Input, options: &ReadOptions) -> Result<Option<Self>, Error> {
        let Some(path) = &input.path else { return Ok(None) };
        Self::around(path, options).map(Some)
    }

    /// The files around the file `path`.
    pub(crate) fn around(path: &Path, options: &ReadOptions) -> Result<Self, Error> {
        let file = path.canonicalize()?;
        let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        if options.allow_parent {
            return Ok(Self { folder, root: None });
        }
        let root = match &options.root {
            None => project_root(&folder).unwrap_or_else(|| folder.clone()),
            Some(named) => {
                let root = named.canonicalize().map_err(|error| Error::from(error).in_file(named))?;
                if !folder.starts_with(&root) {
                    let message = format!("the root folder '{}' does not contain the file", named.display());
                    return Err(Error::unsupported(message).with_hint("specify a folder above the file"));
                }
                root
            }
        };
        Ok(Self { folder, root: Some(root) })
    }

    /// The existing file that `name` refers to, relative to the folder of the input.
    pub(crate) fn find(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        let is_outside = self.leaves_root(Path::new(name));
        let found = path.canonicalize().ok().filter(|found| found.is_file() && !is_outside);
        match found {
            Some(found) if self.root.as_ref().is_none_or(|root| found.starts_with(root)) => Ok(found),
            None if !is_outside => Err(Error::malformed(format!("the file '{}' is missing", shortened(name)))
                .with_hint("put it at this path, relative to the file that refers to it")),
            _ => Err(Error::unsupported(format!("'{}' is outside the project folder", shortened(name)))
                .with_hint("specify a root folder above both files, or allow files in any folder")),
        }
    }

    /// Returns true if the name alone leads out of the root; the file system is not accessed in this case.
    fn leaves_root(&self, name: &Path) -> bool {
        let Some(root) = &self.root else { return false };
        let mut depth = self.folder.strip_prefix(root).map_or(0, |below| below.components().count());
        for part in name.components() {
            match part {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::ParentDir => match depth.checked_sub(1) {
                    Some(above) => depth = above,
                    None => return true,
                },
                Component::RootDir | Component::Prefix(_) => return !name.starts_with(root),
            }
        }
        false
    }
}

/// The project that `folder` belongs to; never the home folder, the folder of temporary files or a folder above them.
fn project_root(folder: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
    let limits: Vec<PathBuf> =
        home.into_iter().chain([std::env::temp_dir()]).filter_map(|limit| limit.canonicalize().ok()).collect();
    let allowed = |folder: &&Path| folder.parent().is_some() && !limits.iter().any(|limit| limit.starts_with(folder));
    let folders = || folder.ancestors().take(MAX_LEVELS).take_while(allowed);
    let controlled = |folder: &&Path| VERSION_CONTROL.iter().any(|name| folder.join(name).exists());
    folders().find(controlled).or_else(|| folders().find(|folder| has_licence(folder))).map(Path::to_path_buf)
}

fn has_licence(folder: &Path) -> bool {
    let is_licence = |name: &str| LICENCES.iter().any(|start| name.to_ascii_lowercase().starts_with(start));
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_name().to_str().is_some_and(is_licence))
}

/// A name, shortened for a message.
pub(crate) fn shortened(name: &str) -> String {
    const MAX_LENGTH: usize = 80;
    if name.chars().count() <= MAX_LENGTH {
        name.to_owned()
    } else {
        name.chars().take(MAX_LENGTH).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["secret.png", "project/textures/skin.png", "project/models/hero.gltf"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"x").unwrap();
        }
        folder
    }

    #[test]
    fn files_of_the_project_are_found_and_others_rejected() {
        let folder = tree();
        let hero = folder.path().join("project/models/hero.gltf");
        let found = |options: &ReadOptions, name: &str| Neighbours::around(&hero, options).unwrap().find(name);
        let plain = ReadOptions::default();
        assert!(found(&plain, "hero.gltf").is_ok());
        let error = found(&plain, "../textures/skin.png").unwrap_err();
        assert!(error.hint().unwrap().contains("root folder"), "{error}");
        for (marker, is_folder) in [("project/.git", true), ("project/LICENSE.txt", false)] {
            let marker = folder.path().join(marker);
            if is_folder {
                std::fs::create_dir(&marker).unwrap();
            } else {
                std::fs::write(&marker, b"").unwrap();
            }
            assert!(found(&plain, "../textures/skin.png").is_ok());
            assert!(found(&plain, "../../secret.png").is_err());
            assert!(found(&plain, folder.path().join("secret.png").to_str().unwrap()).is_err());
            if is_folder { std::fs::remove_dir(marker).unwrap() } else { std::fs::remove_file(marker).unwrap() }
        }
        let named = ReadOptions { root: Some(folder.path().to_path_buf()), ..ReadOptions::default() };
        assert!(found(&named, "../../secret.png").is_ok());
        let missing = found(&named, "../../nothing.png").unwrap_err();
        assert!(missing.to_string().contains("is missing"), "{missing}");
        let any = ReadOptions { allow_parent: true, ..ReadOptions::default() };
        assert!(found(&any, "../../secret.png").is_ok());
        let elsewhere = ReadOptions { root: Some(folder.path().join("project/textures")), ..ReadOptions::default() };
        assert!(Neighbours::around(&hero, &elsewhere).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_project_are_rejected() {
        let folder = tree();
        std::os::unix::fs::symlink(folder.path().join("secret.png"), folder.path().join("project/models/link.png"))
            .unwrap();
        let hero = folder.path().join("project/models/hero.gltf");
        assert!(Neighbours::around(&hero, &ReadOptions::default()).unwrap().find("link.png").is_err());
    }
}
