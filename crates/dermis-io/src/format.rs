//! Which format a file is in, and the two functions that serve all of them.

use std::path::Path;

use dermis_math::progress::Progress;
use dermis_mesh::Scene;

use crate::error::Error;
use crate::options::{ReadOptions, WriteOptions};
use crate::output::{Output, Written};
use crate::{alembic, fbx, gltf, mdd, medit, npz, obj, pc2, ply, usd};

/// The formats that dermis knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say all")]
pub enum Format {
    Glb,
    Gltf,
    Obj,
    Ply,
    Npz,
    Pc2,
    Mdd,
    Alembic,
    Usd,
    Usda,
    Fbx,
    Medit,
}

impl Format {
    /// The format that a path's ending names.
    pub fn of_path(path: &Path) -> Result<Self, Error> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        Ok(match ending.as_str() {
            "glb" => Self::Glb,
            "gltf" => Self::Gltf,
            "obj" => Self::Obj,
            "ply" => Self::Ply,
            "npz" => Self::Npz,
            "pc2" => Self::Pc2,
            "mdd" => Self::Mdd,
            "abc" => Self::Alembic,
            "usda" => Self::Usda,
            "usd" | "usdc" | "usdz" => Self::Usd,
            "fbx" => Self::Fbx,
            "mesh" => Self::Medit,
            _ => {
                return Err(Error::unsupported(format!("'.{ending}' is not an ending of a format that dermis knows"))
                    .in_file(path)
                    .with_hint("known endings: glb gltf obj ply npz pc2 mdd abc usda usd usdc usdz fbx mesh"));
            }
        })
    }
}

/// Reads whatever `source` names: a file, or a built-in `sample:NAME`.
pub fn read(source: &str, options: &ReadOptions) -> Result<Scene, Error> {
    let path = Path::new(source);
    let scene = match Format::of_path(path)? {
        Format::Glb | Format::Gltf => gltf::read(path, options),
        Format::Obj => obj::read(path, options),
        Format::Ply => ply::read(path, options),
        Format::Npz => npz::read(path, options),
        Format::Pc2 => pc2::read(path, options),
        Format::Mdd => mdd::read(path, options),
        Format::Alembic => alembic::read(path, options),
        Format::Usd | Format::Usda => usd::read(path, options),
        Format::Fbx => fbx::read(path, options),
        Format::Medit => medit::read(path, options),
    };
    scene.map_err(|error| error.in_file(path))
}

/// Writes `scene` to `target`, in the format that its ending names.
pub fn write(target: &Path, scene: &Scene, options: &WriteOptions, progress: &dyn Progress) -> Result<Written, Error> {
    let mut output = Output::new(options.force);
    let writer = match Format::of_path(target)? {
        Format::Glb | Format::Gltf => gltf::write,
        Format::Obj => obj::write,
        Format::Ply => ply::write,
        Format::Npz => npz::write,
        Format::Pc2 => pc2::write,
        Format::Mdd => mdd::write,
        Format::Alembic => alembic::write,
        Format::Usda => usd::write,
        Format::Medit => medit::write,
        format @ (Format::Usd | Format::Fbx) => {
            return Err(Error::unsupported(format!("{format:?} files are read but not written"))
                .in_file(target)
                .with_hint("write .usda, .abc or .glb instead"));
        }
    };
    let notes = writer(scene, target, &mut output, progress).map_err(|error| error.in_file(target))?;
    let mut written = output.commit()?;
    written.notes = notes;
    Ok(written)
}
