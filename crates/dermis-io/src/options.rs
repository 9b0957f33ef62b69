//! Options of readers and writers.

use std::path::PathBuf;

use dermis_mesh::Units;

/// Options of [`crate::read`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// Sampling rate of animation curves, in frames per second. It is also the assumed rate of files that do not define
    /// one. `None`: the rate of the file's keys if they are on a grid, otherwise 24.
    pub frame_rate_hz: Option<f64>,
    /// The mesh whose faces a point cache (PC2, MDD) moves. `None`: a file of the same name with the extension `.obj`,
    /// and bare points if there is none.
    pub topology: Option<PathBuf>,
    /// Factor on all lengths. `None`: 1.
    pub scale: Option<f64>,
    /// Units and up axis in place of those that the file states; `None`: as it states.
    pub units: Units,
    /// Folder that contains all files that the file may name, above the file. `None`: the nearest folder above the file
    /// with a version control folder or a licence, else the folder of the file.
    pub root: Option<PathBuf>,
    /// Allow the file to name files in any folder.
    pub allow_parent: bool,
}

/// Options of [`crate::write`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WriteOptions {
    /// Replace what is there already.
    pub force: bool,
    /// Write bones that shear to FBX as nested nodes, whose product is exactly their motion, instead of rigid joints.
    pub nested_bones: bool,
}
