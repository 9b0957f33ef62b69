//! Table of formats, the source of all lists in reading, writing, help texts and documentation.
//!
//! Each format is a Cargo feature. A format that is not compiled in keeps its row, so that the error for such a file
//! can name the feature.

use std::path::Path;

use dermis_mesh::{Object, Polygons, Scene, Units};
use glam::Vec3;

use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;
use crate::output::Job;
#[allow(clippy::wildcard_imports, reason = "which modules exist depends on the features")]
use crate::*;

/// One file format.
#[derive(Debug)]
pub struct Format {
    /// Identifier in summaries and JSON.
    pub id: &'static str,
    /// Name in texts.
    pub name: &'static str,
    /// Cargo feature of this crate and of `dermis` that enables it.
    pub feature: &'static str,
    /// Extensions of files that are read.
    pub extensions: &'static [&'static str],
    /// Extensions of files that are written.
    pub written_extensions: &'static [&'static str],
    /// Description of what is read.
    pub reads: &'static str,
    /// Description of what is written; empty if nothing is.
    pub writes: &'static str,
    /// Parts of a scene that a written file keeps.
    pub holds: Holds,
    /// Extensions of files that are complete only with other files.
    pub extensions_of_sets: &'static [&'static str],
    /// First bytes of a file.
    pub(crate) start: Start,
    /// True if frames are read from the file one by one, so that the file can be larger than memory.
    pub(crate) is_streamed: bool,
    /// True if a sequence is one file per frame.
    is_numbered: bool,
    pub(crate) reader: Option<Reader>,
    pub(crate) writer: Option<Writer>,
    pub(crate) frame_readers: Option<FrameReaders>,
}

/// Parts of a scene that a format stores in addition to points and faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a separate property of a format")]
pub struct Holds {
    /// Joints, skin weights, shapes and clips.
    pub rig: bool,
    /// Deformers on top of the rig; without this they are baked into the frames.
    pub layers: bool,
    /// Several frames in one file.
    pub motion: bool,
    /// Faces; otherwise they are in a separate file of the same name.
    pub faces: bool,
    /// Tetrahedra.
    pub tets: bool,
    /// Attributes of points.
    pub attributes: bool,
    /// Normals, one UV set and one colour set.
    pub surface: bool,
    /// Tangents, and any number of UV and colour sets.
    pub all_sets: bool,
    /// Materials.
    pub materials: bool,
    /// The length of a unit and the up axis.
    pub units: bool,
    /// Any length of a unit and any up axis.
    pub all_units: bool,
    /// Levels of detail.
    pub levels: bool,
    /// Rigs without a mesh.
    pub bare_rig: bool,
}

/// First bytes of the files of a format: one of the signatures, or text if `text`. With neither, any bytes but zeros.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub signatures: &'static [&'static [u8]],
    pub text: bool,
}

impl Start {
    const ANY: Self = Self { signatures: &[], text: false };
    const TEXT: Self = Self { signatures: &[], text: true };
}

impl Holds {
    const NONE: Self = Self {
        rig: false,
        layers: false,
        motion: false,
        faces: true,
        tets: false,
        attributes: false,
        surface: false,
        all_sets: false,
        materials: false,
        units: false,
        all_units: false,
        levels: false,
        bare_rig: false,
    };
}

/// A function that reads a file.
pub(crate) type Reader = fn(&Input, &ReadOptions) -> Result<Scene, Error>;

/// A function that reads the points and the polygons over points of one frame.
pub(crate) type FrameReader = fn(&[u8]) -> Result<(Vec<Vec3>, Polygons), Error>;

/// Readers of files that contain one frame: of the first file as a scene, and of the points of each file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameReaders {
    pub first: Reader,
    pub each: FrameReader,
}

/// A function that writes a scene, or the only object of a scene after merging.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Writer {
    Scene(fn(&Scene, &mut Job<'_>) -> Result<(), Error>),
    Object(fn(&Object, Units, &mut Job<'_>) -> Result<(), Error>),
}

/// `Some(value)` if the feature is enabled; otherwise `None`, and the value is not compiled.
macro_rules! if_feature {
    ($feature:literal, $value:expr) => {{
        #[cfg(feature = $feature)]
        {
            Some($value)
        }
        #[cfg(not(feature = $feature))]
        {
            None
        }
    }};
}

/// Properties that most formats have in common.
const BASE: Format = Format {
    id: "",
    name: "",
    feature: "",
    extensions: &[],
    written_extensions: &[],
    reads: "",
    writes: "",
    holds: Holds::NONE,
    extensions_of_sets: &[],
    start: Start::ANY,
    is_streamed: false,
    is_numbered: false,
    reader: None,
    writer: None,
    frame_readers: None,
};

/// All formats, in the order of lists.
pub static FORMATS: [Format; 14] = [
    Format {
        id: "gltf",
        name: "glTF",
        feature: "gltf",
        extensions: &["glb", "gltf"],
        written_extensions: &["glb", "gltf"],
        reads: "meshes, skins, morph targets, animation; sparse and quantized accessors, meshopt and Draco compression",
        writes: "the same, uncompressed; bones with shear as nested nodes, exact in every viewer; layers",
        holds: Holds {
            rig: true,
            layers: true,
            motion: true,
            attributes: true,
            surface: true,
            all_sets: true,
            materials: true,
            units: true,
            levels: true,
            bare_rig: true,
            ..Holds::NONE
        },
        extensions_of_sets: &["gltf"],
        start: Start { signatures: &[b"glTF"], text: true },
        reader: if_feature!("gltf", gltf::read),
        writer: if_feature!("gltf", Writer::Scene(gltf::write)),
        ..BASE
    },
    Format {
        id: "alembic",
        name: "Alembic",
        feature: "alembic",
        extensions: &["abc"],
        written_extensions: &["abc"],
        reads: "PolyMesh and SubD under animated transforms",
        writes: "animated PolyMesh with UVs, normals, face sets; rigid motion as transforms",
        holds: Holds { motion: true, surface: true, all_sets: true, materials: true, units: true, ..Holds::NONE },
        start: Start { signatures: &[b"Ogawa", b"\x89HDF"], text: false },
        is_streamed: true,
        reader: if_feature!("alembic", alembic::read),
        writer: if_feature!("alembic", Writer::Scene(alembic::write)),
        ..BASE
    },
    Format {
        id: "usd",
        name: "USD",
        feature: "usd",
        extensions: &["usda", "usd", "usdc", "usdz"],
        written_extensions: &["usda", "usd", "usdc", "usdz"],
        reads: "points over time, UsdSkel, blend shapes, preview materials",
        writes: "the same: text as `.usda`, binary as `.usdc` and `.usd`, with textures as `.usdz`",
        holds: Holds {
            rig: true,
            motion: true,
            surface: true,
            all_sets: true,
            materials: true,
            units: true,
            all_units: true,
            ..Holds::NONE
        },
        start: Start { signatures: &[b"PXR-USDC", b"PK", b"#usda"], text: true },
        reader: if_feature!("usd", usd::read),
        writer: if_feature!("usd", Writer::Scene(usd::write)),
        ..BASE
    },
    Format {
        id: "fbx",
        name: "FBX",
        feature: "fbx",
        extensions: &["fbx"],
        written_extensions: &["fbx"],
        reads: "meshes, skin clusters, blend shapes, animation",
        writes: "binary 7.5: the same, with materials, textures and several takes; shear as nested nodes on request",
        holds: Holds {
            rig: true,
            motion: true,
            surface: true,
            all_sets: true,
            materials: true,
            units: true,
            all_units: true,
            bare_rig: true,
            ..Holds::NONE
        },
        start: Start { signatures: &[b"Kaydara FBX Binary"], text: true },
        reader: if_feature!("fbx", fbx::read),
        writer: if_feature!("fbx", Writer::Scene(fbx::write)),
        ..BASE
    },
    Format {
        id: "bvh",
        name: "BVH",
        feature: "bvh",
        extensions: &["bvh"],
        reads: "skeletons and their motion, with channels in any order",
        start: Start::TEXT,
        reader: if_feature!("bvh", bvh::read),
        ..BASE
    },
    Format {
        id: "npz",
        name: "NumPy",
        feature: "npz",
        extensions: &["npz"],
        written_extensions: &["npz"],
        reads: "sequences, rigs with clips, bodies in SMPL's layout",
        writes: "sequences, rigs with clips, layers, tetrahedra",
        holds: Holds {
            rig: true,
            layers: true,
            motion: true,
            tets: true,
            attributes: true,
            surface: true,
            all_sets: true,
            materials: true,
            units: true,
            all_units: true,
            ..Holds::NONE
        },
        start: Start { signatures: &[b"PK"], text: false },
        is_streamed: true,
        reader: if_feature!("npz", |input, options| npz::read(input, options, smpl::object)),
        writer: if_feature!("npz", Writer::Object(npz::write)),
        ..BASE
    },
    Format {
        id: "pickle",
        name: "Pickle",
        feature: "npz",
        extensions: &["pkl"],
        reads: "bodies in SMPL's layout, pickled by Python 2 or 3; no code is executed",
        reader: if_feature!("npz", smpl::read_pickle),
        ..BASE
    },
    Format {
        id: "obj",
        name: "OBJ",
        feature: "obj",
        extensions: &["obj"],
        written_extensions: &["obj"],
        reads: "one file, a folder, a glob, or `walk.%04d.obj`; materials",
        writes: "one pose, or a file per frame",
        holds: Holds { surface: true, materials: true, ..Holds::NONE },
        start: Start::TEXT,
        is_numbered: true,
        reader: if_feature!("obj", obj::read),
        writer: if_feature!("obj", Writer::Object(obj::write)),
        frame_readers: if_feature!("obj", FrameReaders { first: obj::read, each: obj::read_frame }),
        ..BASE
    },
    Format {
        id: "ply",
        name: "PLY",
        feature: "ply",
        extensions: &["ply"],
        written_extensions: &["ply"],
        reads: "one file, a folder, a glob, or `walk.%04d.ply`; text and binary",
        writes: "one pose, or a file per frame, binary",
        holds: Holds { surface: true, attributes: true, ..Holds::NONE },
        start: Start { signatures: &[b"ply"], text: false },
        is_numbered: true,
        reader: if_feature!("ply", ply::read),
        writer: if_feature!("ply", Writer::Object(ply::write)),
        frame_readers: if_feature!("ply", FrameReaders { first: ply::read_unwelded, each: ply::read_frame }),
        ..BASE
    },
    Format {
        id: "pc2",
        name: "PC2",
        feature: "point-cache",
        extensions: &["pc2"],
        written_extensions: &["pc2"],
        reads: "animated points; faces from the OBJ file of the same name or from a given mesh",
        writes: "animated points, with an OBJ file for the faces",
        holds: Holds { motion: true, surface: true, materials: true, faces: false, ..Holds::NONE },
        extensions_of_sets: &["pc2"],
        start: Start { signatures: &[b"POINTCACHE2"], text: false },
        is_streamed: true,
        reader: if_feature!("point-cache", pc2::read),
        writer: if_feature!("point-cache", Writer::Object(pc2::write)),
        ..BASE
    },
    Format {
        id: "mdd",
        name: "MDD",
        feature: "point-cache",
        extensions: &["mdd"],
        written_extensions: &["mdd"],
        reads: "animated points; faces from the OBJ file of the same name or from a given mesh",
        writes: "animated points, with an OBJ file for the faces",
        holds: Holds { motion: true, surface: true, materials: true, faces: false, ..Holds::NONE },
        extensions_of_sets: &["mdd"],
        is_streamed: true,
        reader: if_feature!("point-cache", mdd::read),
        writer: if_feature!("point-cache", Writer::Object(mdd::write)),
        ..BASE
    },
    Format {
        id: "medit",
        name: "Medit",
        feature: "medit",
        extensions: &["mesh"],
        written_extensions: &["mesh"],
        reads: "triangles, quads, tetrahedra; text",
        writes: "triangles, quads, tetrahedra",
        holds: Holds { tets: true, ..Holds::NONE },
        start: Start::TEXT,
        reader: if_feature!("medit", medit::read),
        writer: if_feature!("medit", Writer::Object(medit::write)),
        ..BASE
    },
    Format {
        id: "gmsh",
        name: "Gmsh",
        feature: "gmsh",
        extensions: &["msh"],
        written_extensions: &["msh"],
        reads: "triangles, quads, tetrahedra; versions 2.2 and 4.1, text and binary",
        writes: "triangles, quads, tetrahedra; version 2.2 as text",
        holds: Holds { tets: true, ..Holds::NONE },
        // A binary file continues with bytes after the line of the version.
        start: Start { signatures: &[b"$"], text: true },
        reader: if_feature!("gmsh", gmsh::read),
        writer: if_feature!("gmsh", Writer::Object(gmsh::write)),
        ..BASE
    },
    Format {
        id: "tetgen",
        name: "TetGen",
        feature: "tetgen",
        extensions: &["node", "ele"],
        written_extensions: &["node", "ele"],
        reads: "tetrahedra, from the pair of files",
        writes: "tetrahedra, as a pair of files",
        holds: Holds { tets: true, ..Holds::NONE },
        extensions_of_sets: &["node", "ele"],
        start: Start::TEXT,
        reader: if_feature!("tetgen", tetgen::read),
        writer: if_feature!("tetgen", Writer::Object(tetgen::write)),
        ..BASE
    },
];

impl Format {
    /// Format of the extension of `path`.
    pub fn of_path(path: &Path) -> Result<&'static Self, Error> {
        let extension = extension_of(path);
        FORMATS.iter().find(|format| format.extensions.contains(&extension.as_str())).ok_or_else(|| {
            let message = match extension.as_str() {
                "" => "the name has no extension that identifies its format".to_owned(),
                _ => format!("'.{extension}' is not the extension of a supported format"),
            };
            let known: Vec<&str> = FORMATS.iter().flat_map(|format| format.extensions).copied().collect();
            Error::unsupported(message).in_file(path).with_hint(format!("known extensions: {}", known.join(" ")))
        })
    }

    /// Returns whether `path` has an extension of the format `id`.
    pub fn is_path_of(id: &str, path: &Path) -> bool {
        Self::of_path(path).is_ok_and(|format| format.id == id)
    }

    /// Returns whether this build reads the format.
    pub fn is_compiled_in(&self) -> bool {
        self.reader.is_some()
    }

    /// Returns whether a file contains only one object, so that several are merged.
    pub fn is_single_object(&self) -> bool {
        matches!(self.writer, Some(Writer::Object(_)))
    }

    /// Returns whether it is read and written as one file per frame.
    pub fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    /// Error of a format that is not compiled in.
    pub(crate) fn not_compiled_in(&self) -> Error {
        not_compiled_in(self.name, self.feature)
    }
}

/// Error of the format `name` without its Cargo feature.
pub(crate) fn not_compiled_in(name: &str, feature: &str) -> Error {
    Error::unsupported(format!("this build of dermis does not support {name}"))
        .with_hint(format!("build it with the Cargo feature '{feature}'"))
}

/// Extension of `path` in lower case; empty if it has none.
pub(crate) fn extension_of(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Extensions of the files that [`crate::write()`] can write.
pub fn writable_extensions() -> Vec<&'static str> {
    FORMATS.iter().flat_map(|format| format.written_extensions).copied().collect()
}

/// Extensions of the formats that satisfy `condition`, as in `.pc2, .mdd`.
pub(crate) fn extensions_where(condition: fn(&Format) -> bool) -> String {
    let extensions = FORMATS.iter().filter(|format| condition(format)).flat_map(|format| format.extensions);
    extensions.map(|extension| format!(".{extension}")).collect::<Vec<_>>().join(", ")
}

/// Names of the formats that are read and written as one file per frame, as in `OBJ and PLY`.
pub(crate) fn numbered_names(conjunction: &str) -> String {
    let names: Vec<&str> = FORMATS.iter().filter(|format| format.is_numbered).map(|format| format.name).collect();
    names.join(&format!(" {conjunction} "))
}

/// Extensions of the files that can be read alone, without other files.
pub fn single_file_extensions() -> Vec<&'static str> {
    let alone = |format: &'static Format| {
        format.extensions.iter().copied().filter(|extension| !format.extensions_of_sets.contains(extension))
    };
    FORMATS.iter().flat_map(alone).collect()
}

/// Extensions of the files that [`crate::read`] can read.
pub fn readable_extensions() -> Vec<&'static str> {
    FORMATS.iter().flat_map(|format| format.extensions).copied().collect()
}
