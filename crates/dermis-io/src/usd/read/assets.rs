//! Files that a USD stage can access: those of [`crate::neighbours`], or those in its own package.
//!
//! Layers and textures refer to each other by path. Identifiers here are paths relative to the folder that contains all
//! of them, `/`-separated and without `..`; an entry of a package is `package.usdz[entry]`, as everywhere in USD, and
//! that of a package in a package is `outer.usdz[inner.usdz[entry]]`. Absolute paths, and relative ones that lead out
//! of the folder, are not resolved, unless files in any folder are allowed. Every layer is checked
//! ([`super::crate_check`], [`super::text_check`]) before it is parsed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use openusd::ar::{self, Asset, ResolvedPath, Resolver};

use super::crate_check::Rewrites;
use super::{crate_check, text_check, text_repair};
use crate::budget::Budget;
use crate::error::Error;
use crate::neighbours::Neighbours;
use crate::options::ReadOptions;
use crate::reads;

/// Size limit of layers, packages and textures.
const MAX_BYTES: u64 = 16 << 30;

/// Maximum nesting of packages.
const MAX_NESTED_PACKAGES: usize = 8;

/// Source of files.
#[derive(Debug)]
enum Source {
    /// One file that has no neighbours.
    Memory { name: String, bytes: Vec<u8> },
    /// The files under a folder (canonical path).
    Folder(PathBuf),
}

/// The files of one stage.
#[derive(Debug)]
pub(super) struct Assets {
    source: Source,
    /// True if absolute paths are those of the file system.
    allows_absolute: bool,
    /// Names that were rejected because they lead out of the folder, in order.
    outside: RefCell<Vec<String>>,
    packages: RefCell<HashMap<String, Rc<Vec<u8>>>>,
    /// Checked layers, with their rewrites.
    checked: RefCell<HashMap<String, Rewrites>>,
    /// Total size of all opened layers, in bytes.
    layer_bytes: RefCell<u64>,
    /// Reason why the last layer was rejected; the parser returns only a text.
    rejection: RefCell<Option<Error>>,
}

impl Assets {
    /// A single file `bytes`. Also returns its identifier.
    pub(super) fn in_memory(bytes: &[u8]) -> (Self, String) {
        let extension = match bytes {
            [b'P', b'K', ..] => "usdz",
            bytes if bytes.starts_with(b"PXR-USDC") => "usdc",
            _ => "usda",
        };
        let name = format!("file.{extension}");
        (Self::new(Source::Memory { name: name.clone(), bytes: bytes.to_vec() }), name)
    }

    /// The file `path` and its neighbours. Also returns its identifier.
    pub(super) fn beside(path: &Path, options: &ReadOptions) -> Result<(Self, String), Error> {
        let path = path.canonicalize()?;
        let neighbours = Neighbours::around(&path, options)?;
        // Without a root, all paths of the file system are below the first part of the path.
        let root = neighbours.root.or_else(|| path.ancestors().last().map(Path::to_path_buf)).unwrap_or_default();
        let below =
            path.strip_prefix(&root).map_err(|_| Error::unsupported("the file is not below its root folder"))?;
        let parts = below.components().map(|part| part.as_os_str().to_str());
        let parts: Option<Vec<&str>> = parts.collect();
        let name = parts.ok_or_else(|| Error::unsupported("the file's path is not Unicode"))?.join("/");
        Ok((Self { allows_absolute: options.allow_parent, ..Self::new(Source::Folder(root)) }, name))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            allows_absolute: false,
            outside: RefCell::default(),
            packages: RefCell::default(),
            checked: RefCell::default(),
            layer_bytes: RefCell::default(),
            rejection: RefCell::default(),
        }
    }

    /// Total size of the layers opened so far, in bytes.
    pub(super) fn layer_bytes(&self) -> u64 {
        *self.layer_bytes.borrow()
    }

    /// Names that lead out of the folder.
    pub(super) fn take_outside(&self) -> Vec<String> {
        std::mem::take(&mut self.outside.borrow_mut())
    }

    /// `asset` as seen from the file `anchor`; `None` if it leaves the folder.
    pub(super) fn identifier(&self, asset: &str, anchor: &str) -> Option<String> {
        let absolute = asset.strip_prefix('/').filter(|_| self.allows_absolute);
        let found = absolute.map(str::to_owned).or_else(|| identifier_of(asset, anchor));
        if found.is_none() && asset.starts_with(['.', '/']) {
            let mut outside = self.outside.borrow_mut();
            if !outside.iter().any(|known| known == asset) {
                outside.push(asset.to_owned());
            }
        }
        found
    }

    /// Reason why a layer was rejected, if one was.
    pub(super) fn take_rejection(&self) -> Option<Error> {
        self.rejection.borrow_mut().take()
    }

    /// The file at `identifier`.
    pub(super) fn read(&self, identifier: &str) -> io::Result<Vec<u8>> {
        match ar::split_package_relative_path_inner(identifier) {
            None => self.read_file(identifier),
            // The package can be an entry of another one.
            Some((package, entry)) => {
                let cached = self.packages.borrow().get(&package).cloned();
                let bytes = match cached {
                    Some(bytes) => bytes,
                    None if package.matches('[').count() > MAX_NESTED_PACKAGES => {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, "packages are nested too deeply"));
                    }
                    None => Rc::new(self.read(&package)?),
                };
                self.packages.borrow_mut().insert(package, Rc::clone(&bytes));
                read_entry(&bytes, &entry)
            }
        }
    }

    fn read_file(&self, identifier: &str) -> io::Result<Vec<u8>> {
        match &self.source {
            Source::Memory { name, bytes } if name == identifier => Ok(bytes.clone()),
            Source::Memory { .. } => Err(io::ErrorKind::NotFound.into()),
            Source::Folder(_) => {
                let path = self.path_of(identifier).ok_or(io::ErrorKind::NotFound)?;
                let file = std::fs::File::open(&path)?;
                reads::add(&path);
                let length = file.metadata()?.len();
                if length > MAX_BYTES {
                    return Err(io::Error::new(
                        io::ErrorKind::FileTooLarge,
                        format!("{length} bytes exceed the size limit"),
                    ));
                }
                let mut bytes = Vec::with_capacity(length as usize);
                file.take(MAX_BYTES).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Path of the file, if it exists inside the folder after links are resolved.
    fn path_of(&self, identifier: &str) -> Option<PathBuf> {
        let Source::Folder(folder) = &self.source else { return None };
        let path = folder.join(identifier).canonicalize().ok()?;
        (path.starts_with(folder) && path.is_file()).then_some(path)
    }

    /// The first layer of a package that is itself in a package; the parser looks only into the outer one.
    fn layer_of_nested_package(&self, identifier: &str) -> Option<String> {
        let (_, entry) = ar::split_package_relative_path_inner(identifier)?;
        if !has_extension(&entry, &["usdz"]) {
            return None;
        }
        let bytes = self.read(identifier).ok()?;
        let archive = zip::ZipArchive::new(Cursor::new(&bytes[..])).ok()?;
        let first = archive.file_names().find(|name| has_extension(name, &["usd", "usda", "usdc"]))?;
        identifier_of(first, identifier)
    }

    fn exists(&self, identifier: &str) -> bool {
        match (&self.source, ar::split_package_relative_path_outer(identifier)) {
            (_, Some(_)) => self.read(identifier).is_ok(),
            (Source::Memory { name, .. }, None) => name == identifier,
            (Source::Folder(_), None) => self.path_of(identifier).is_some(),
        }
    }

    /// Checks a layer once; packages are only listed by the parser; their entries are checked individually.
    fn check(&self, identifier: &str, bytes: &[u8]) -> Result<(), Error> {
        if self.checked.borrow().contains_key(identifier) {
            return Ok(());
        }
        let is_named = |extension: &str| identifier.to_ascii_lowercase().ends_with(extension);
        if bytes.is_empty() {
            return Err(Error::malformed("the file is empty"));
        }
        if bytes.starts_with(b"PK") {
            let cut_off = "the package is truncated or corrupt: its list of files cannot be read";
            let again = "copy or export the file again";
            let opened = zip::ZipArchive::new(Cursor::new(bytes)).map(|_| ());
            return opened.map_err(|_| Error::malformed(cut_off).with_hint(again));
        }
        if is_named(".usdz") || is_named(".usdc") && !bytes.starts_with(b"PXR-USDC") {
            return Err(Error::malformed(
                "the contents do not match the extension: they are neither a package nor binary USD",
            ));
        }
        let rewrites = if bytes.starts_with(b"PXR-USDC") {
            crate_check::check(bytes, &mut Budget::for_file(bytes.len() as u64))?
        } else {
            text_check::check(bytes)?;
            Rewrites::default()
        };
        *self.layer_bytes.borrow_mut() += bytes.len() as u64;
        self.checked.borrow_mut().insert(identifier.to_owned(), rewrites);
        Ok(())
    }
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let found = name.rsplit_once('.').map(|(_, extension)| extension);
    found.is_some_and(|found| extensions.iter().any(|extension| found.eq_ignore_ascii_case(extension)))
}

fn read_entry(package: &[u8], entry: &str) -> io::Result<Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(package))?;
    let entry = archive.by_name(entry)?;
    // Entries of a package are stored, not compressed; none is larger than the package.
    let most = package.len() as u64;
    if entry.size() > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an entry of the package is larger than the package"));
    }
    let mut bytes = Vec::with_capacity(entry.size() as usize);
    entry.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn identifier_of(asset: &str, anchor: &str) -> Option<String> {
    if let Some((package, entry)) = ar::split_package_relative_path_outer(asset) {
        return Some(ar::join_package_relative_path(&identifier_of(&package, anchor)?, &entry));
    }
    if let Some((package, inner)) = ar::split_package_relative_path_outer(anchor) {
        return Some(ar::join_package_relative_path(&package, &identifier_of(asset, &inner)?));
    }
    if anchor.to_ascii_lowercase().ends_with(".usdz") {
        return Some(ar::join_package_relative_path(anchor, &join(asset, "")?));
    }
    join(asset, anchor)
}

fn join(asset: &str, anchor: &str) -> Option<String> {
    let asset = asset.replace('\\', "/");
    if asset.is_empty() || asset.starts_with('/') || asset.contains(':') {
        return None;
    }
    let mut parts: Vec<&str> = anchor.split('/').collect();
    parts.pop();
    for part in asset.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Resolver with which the stage opens its layers.
pub(super) struct Gate(pub(super) Rc<Assets>);

impl Resolver for Gate {
    fn create_identifier(&self, asset_path: &str, anchor: Option<&ResolvedPath>) -> String {
        match anchor {
            // An unresolved path keeps its name, for diagnostics.
            Some(anchor) => {
                self.0.identifier(asset_path, &anchor.to_string_lossy()).unwrap_or_else(|| asset_path.into())
            }
            None => asset_path.into(),
        }
    }

    fn resolve(&self, asset_path: &str) -> Option<ResolvedPath> {
        let layer = || self.0.layer_of_nested_package(asset_path);
        self.0.exists(asset_path).then(|| ResolvedPath::new(layer().unwrap_or_else(|| asset_path.to_owned())))
    }

    fn resolve_for_new_asset(&self, _asset_path: &str) -> Option<ResolvedPath> {
        None
    }

    fn open_asset(&self, resolved_path: &ResolvedPath) -> io::Result<Box<dyn Asset>> {
        let identifier = resolved_path.to_string_lossy();
        let bytes = self.0.read(&identifier)?;
        if let Err(error) = self.0.check(&identifier, &bytes) {
            let text = error.to_string();
            self.0.rejection.borrow_mut().get_or_insert(error);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let bytes = if bytes.starts_with(b"PK") {
            bytes
        } else if bytes.starts_with(b"PXR-USDC") {
            match self.0.checked.borrow().get(&*identifier) {
                Some(rewrites) => rewrites.applied(bytes),
                None => bytes,
            }
        } else {
            text_repair::repaired(&bytes).into_owned()
        };
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn get_modification_timestamp(&self, _asset_path: &str, _resolved_path: &ResolvedPath) -> Option<SystemTime> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_resolved_inside_the_folder() {
        assert_eq!(identifier_of("./b.usda", "sub/a.usda").as_deref(), Some("sub/b.usda"));
        assert_eq!(identifier_of("../b.png", "sub/a.usda").as_deref(), Some("b.png"));
        assert_eq!(identifier_of("../b.png", "a.usda"), None);
        assert_eq!(identifier_of("/etc/passwd", "a.usda"), None);
        assert_eq!(identifier_of("C:\\b.png", "a.usda"), None);
        assert_eq!(identifier_of("0/t.png", "p.usdz[a.usdc]").as_deref(), Some("p.usdz[0/t.png]"));
        assert_eq!(identifier_of("t.png", "p.usdz").as_deref(), Some("p.usdz[t.png]"));
        assert_eq!(identifier_of("t.png", "p.usdz[q.usdz]").as_deref(), Some("p.usdz[q.usdz[t.png]]"));
        assert_eq!(identifier_of("t.png", "p.usdz[q.usdz[a/b.usdc]]").as_deref(), Some("p.usdz[q.usdz[a/t.png]]"));
    }
}
