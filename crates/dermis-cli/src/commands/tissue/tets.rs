//! The tetrahedra of a body that is built: which mesher fills the skin, or which file.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use dermis::build_body::{BuildBodyOptions, Tetgen};
use dermis::io::ReadOptions;
use dermis::io::tetgen::TetgenOptions;
use dermis::mesh::{Object, Scene, TetMesh, TriMesh, Units};
use dermis::tet::tetrahedra::TetOptions;
use dermis::tet::tetrahedra::lattice::LatticeOptions;
use dermis::tissue::layered::Mesher;

use crate::diagnostic::Diagnostic;
use crate::job::Job;
use crate::options::positive;

/// The source of the tetrahedra
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tetrahedra")]
pub(super) struct TetArgs {
    /// The mesher [default: built-in]
    #[arg(long, value_name = "NAME")]
    mesher: Option<MesherName>,
    /// Take the tetrahedra of this file (.node/.ele, .mesh, .msh); points of the skin must be nodes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mesher", "spacing", "separate"])]
    tets: Option<String>,
    /// The distance of nodes inside, in metres [default: so that there are 0.43 of them per point of the skin]
    #[arg(long, value_name = "M", value_parser = positive)]
    spacing: Option<f64>,
    /// Let points move by at most this, in metres, to part a skin that meets itself; with --mesher built-in
    #[arg(long, value_name = "M", value_parser = positive)]
    separate: Option<f64>,
    /// The program that --mesher tetgen runs [default: tetgen]
    #[arg(long, value_name = "PROGRAM", requires = "mesher")]
    tetgen: Option<PathBuf>,
    /// Write the tetrahedra to this file too (.node/.ele, .mesh, .msh, .npz)
    #[arg(long, value_name = "FILE")]
    pub(super) save_tets: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MesherName {
    /// Every face of the skin is one of the boundary
    BuiltIn,
    /// Cells of a lattice around the skin, also around one that is open or meets itself
    Lattice,
    /// The program of that name, which must be installed
    Tetgen,
}

impl TetArgs {
    /// Sets the mesher that is asked for.
    pub(super) fn apply(&self, options: &mut BuildBodyOptions, job: &Job<'_>) -> Result<(), Diagnostic> {
        let TetArgs { mesher, tets, spacing, separate, tetgen, .. } = self;
        let mesher = mesher.unwrap_or(MesherName::BuiltIn);
        for (given, acts, option, name) in [
            (separate.is_some(), mesher == MesherName::BuiltIn, "--separate", "built-in"),
            (tetgen.is_some(), mesher == MesherName::Tetgen, "--tetgen", "tetgen"),
        ] {
            if given && !acts {
                let message = format!("{option} has an effect only with --mesher {name}");
                return Err(Diagnostic::new(message).hint(format!("omit {option}")));
            }
        }
        options.build.mesher = match (tets, mesher) {
            (Some(file), _) => Mesher::Given(given_tets(file, job)?),
            (None, MesherName::Lattice) => {
                Mesher::Lattice(LatticeOptions { spacing: *spacing, ..LatticeOptions::default() })
            }
            (None, _) => {
                let separate = separate.unwrap_or(0.0);
                Mesher::Delaunay(TetOptions { spacing: *spacing, separate, ..TetOptions::default() })
            }
        };
        if mesher == MesherName::Tetgen {
            let program = tetgen.clone().unwrap_or_else(|| TetgenOptions::default().program);
            let options_of_program = TetgenOptions { program, ..TetgenOptions::default() };
            options.tetgen = Some(Tetgen { options: options_of_program, spacing: *spacing });
        }
        Ok(())
    }
}

fn given_tets(file: &str, job: &Job<'_>) -> Result<TetMesh, Diagnostic> {
    let scene = job.read(file, &ReadOptions::default())?;
    let tets = scene.objects.into_iter().find_map(|object| object.tets);
    Ok(Arc::unwrap_or_clone(tets.ok_or_else(|| Diagnostic::new("this file has no tetrahedra").in_file(file))?))
}

/// The tetrahedra with their boundary, for a file of their own.
pub(super) fn scene_of(tets: &TetMesh) -> Result<Scene, Diagnostic> {
    let mesh = Arc::new(TriMesh::new(tets.nodes().to_vec(), tets.boundary())?);
    let object = Object { tets: Some(Arc::new(tets.clone())), ..Object::of_mesh("inside", mesh) };
    let units = Units { metres_per_unit: Some(1.0), up_axis: None };
    Ok(Scene { objects: vec![object], units, ..Scene::default() })
}
