//! Options of the tetrahedra: a mesher, or a file.

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
use crate::options::{expect_effect, positive};

/// Source of the tetrahedra
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tetrahedra")]
pub(super) struct TetArgs {
    /// Select the mesher [default: built-in]
    #[arg(long, value_name = "NAME")]
    mesher: Option<MesherName>,
    /// Read tetrahedra from this file (.node/.ele, .mesh, .msh); the points of the skin must be nodes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mesher", "spacing", "separate"])]
    tets: Option<String>,
    /// Set the distance between inner nodes, in metres [default: derived from the skin, for about 0.43 inner nodes per point]
    #[arg(long, value_name = "M", value_parser = positive)]
    spacing: Option<f64>,
    /// With --mesher built-in, move points by at most this distance, in metres, to resolve self-intersections [default: 0]
    #[arg(long, value_name = "M", value_parser = positive)]
    separate: Option<f64>,
    /// Run this program for --mesher tetgen [default: tetgen]
    #[arg(long, value_name = "PROGRAM", requires = "mesher")]
    tetgen: Option<PathBuf>,
    /// Write the tetrahedra to this file (.node/.ele, .mesh, .msh, .npz)
    #[arg(long, value_name = "FILE")]
    pub(super) save_tets: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MesherName {
    /// Keep every face of the skin as a face of the tetrahedra
    BuiltIn,
    /// Cover the skin, which can be open or self-intersecting, with lattice cells
    Lattice,
    /// Run the external program tetgen, which must be installed
    Tetgen,
}

impl TetArgs {
    /// Applies the selected mesher to `options`.
    pub(super) fn apply(&self, options: &mut BuildBodyOptions, job: &Job<'_>) -> Result<(), Diagnostic> {
        let TetArgs { mesher, tets, spacing, separate, tetgen, .. } = self;
        let mesher = mesher.unwrap_or(MesherName::BuiltIn);
        expect_effect([
            (separate.is_some(), mesher == MesherName::BuiltIn, "--separate", "with --mesher built-in"),
            (tetgen.is_some(), mesher == MesherName::Tetgen, "--tetgen", "with --mesher tetgen"),
        ])?;
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
    Ok(Arc::unwrap_or_clone(tets.ok_or_else(|| Diagnostic::new("the file has no tetrahedra").in_file(file))?))
}

/// A scene of the tetrahedra with their boundary.
pub(super) fn scene_of(tets: &TetMesh) -> Result<Scene, Diagnostic> {
    let mesh = Arc::new(TriMesh::new(tets.nodes().to_vec(), tets.boundary())?);
    let object = Object { tets: Some(Arc::new(tets.clone())), ..Object::of_mesh("inside", mesh) };
    let units = Units { metres_per_unit: Some(1.0), up_axis: None };
    Ok(Scene { objects: vec![object], units, ..Scene::default() })
}
