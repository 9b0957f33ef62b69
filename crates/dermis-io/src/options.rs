//! Options of readers and writers.

use std::path::PathBuf;

use dermis_mesh::Units;

/// Options of [`crate::read`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// Sampling rate of animation curves, in frames per second. It is also the assumed rate of files that do not define
    /// one. `None`: the rate of the file's keys if they are on a grid, otherwise 24.
    pub frame_rate_hz: Option<f64>,
    /// Mesh with the faces of a point cache (PC2, MDD). `None`: a file of the same name with the extension `.obj`; if
    /// there is none, the result has only points.
    pub topology: Option<PathBuf>,
    /// Factor on all lengths. `None`: 1.
    pub scale: Option<f64>,
    /// Units and up axis that override those of the file. `None`: those of the file.
    pub units: Units,
    /// Folder above the file that contains all files that it can reference. `None`: the nearest folder above the file
    /// with a version control folder or a licence, else the folder of the file.
    pub root: Option<PathBuf>,
    /// Allows references to files in any folder.
    pub allow_parent: bool,
}

/// Options of [`crate::write`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteOptions {
    /// Replaces existing files.
    pub force: bool,
    /// Writes bones that shear to FBX as nested nodes, whose product is their exact motion, instead of rigid joints.
    pub nested_bones: bool,
}
