//! `NumPy` archives: named arrays in a zip file. Archives of `numpy.savez` and `numpy.savez_compressed` are read;
//! `numpy.load` reads the archives that are written.
//!
//! | arrays | shape | meaning |
//! |---|---|---|
//! | `rest`, `faces` | `[N,3]`, `[n,k]` | the shape; without `rest` it is the first frame |
//! | `frames`, `fps` or `times` | `[S,N,3]`, one number, `[S]` | recorded motion |
//! | `weights` | `[N,B]` | skin weights |
//! | `skin` | `[S,B,4,4]` | transform of the rest pose by each joint, `x' = Σ w·M·[x;1]` |
//! | `bind`, `pose` | `[B,4,4]`, `[S,B,4,4]` | joints at rest and over time, joint to world; `skin = pose · bind⁻¹` |
//! | `basis`, `coefficients` | `[M,N,3]`, `[S,M]` | blend shapes or corrections of the rest pose, and their weights |
//! | `parents`, `bone_names` | `[B]`, `[B]` | the joint hierarchy; −1 is a root |
//! | `tets` | `[m,4]` | tetrahedra over the points |
//! | `v_template`, `f`, `weights`, `kintree_table`, `J` or `J_regressor`, `shapedirs` | | a body in SMPL's layout |
//! | any other 1-D float array | `[N]` | an attribute |
//!
//! Additional arrays that are written so that all data can be read back: `inverse_bind`; `vertex_*`, `polygon_*`,
//! `triangle_materials`, `material_*` (see `layout`); `shape_*`, `clip_*` (see `rig`); `deformers` (see `deformers`);
//! `start_seconds`, `object_name`, `metres_per_unit`, `up_axis`. Positions are of points, not of vertices split at
//! seams. `docs/formats/npz.md` is the full list.
//!
//! Uncompressed frames are mapped when read, and written one at a time, so they can exceed memory.

mod archive;
pub(crate) mod array;
pub mod arrays;
mod deformers;
mod layout;
pub(crate) mod npy;
pub(crate) mod read;
pub(crate) mod rig;
pub(crate) mod write;

pub(crate) use read::read;
pub(crate) use write::write;

/// Reserved names of arrays, which cannot be names of attributes.
const KEYS: &[&str] = &[
    "J", "J_regressor", "J_shapedirs", "basis", "bind", "bone_names", "clip_fps", "clip_frames", "clip_name",
    "clip_names", "clip_start_seconds", "coefficients", "f", "faces", "fps", "frames", "inverse_bind", "joint_names",
    "kintree_table", "material_base_colors", "material_names", "metres_per_unit", "mocap_frame_rate",
    "mocap_framerate", "names", "object_name", "parents", "polygon_corners", "polygon_sizes", "pose", "posedirs",
    "poses", "rest", "shape_names", "shape_normals", "shapedirs", "skin", "start_seconds", "stored_coefficients",
    "stored_pose", "tets", "times", "trans", "triangle_materials", "up_axis", "v_template", "vertex_faces",
    "vertex_normals", "vertex_points", "vertex_tangents", "weights",
];
