//! Layered bodies from any file: selection of the rig, tetrahedra, inner weights and layers.

use std::path::Path;

use dermis_body::rigging::{Skeleton, fit_human};
use dermis_io::tetgen::{self, TetgenOptions};
use dermis_io::{WriteOptions, Written};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::glam::Vec3;
use dermis_mesh::{Note, TetMesh, TriMesh};
use dermis_tet::bone_weights::BoneWeightsOptions;
use dermis_tet::tetrahedra::points_along_bones;
use dermis_tissue::layered::{BuildOptions, BuildReport, LayeredBody, LayeredError, Mesher, build, rest_bones, rigged};

use crate::bodies::{Body, BodyFileError, BodyOptions, open_body};
use crate::files::Writable;
use crate::layered_file::{self, LayeredFile};

/// The skeleton that moves a body.
#[derive(Debug, Clone, Default)]
pub enum RigChoice {
    /// The skeleton of the body; an error if it has none.
    #[default]
    Own,
    /// A human skeleton fitted to the skin.
    Human,
    /// The skeleton of another body.
    Skeleton(Skeleton),
}

/// The program `TetGen`, in place of a mesher of [`BuildOptions`].
#[derive(Debug, Clone, PartialEq)]
pub struct Tetgen {
    /// The program.
    pub options: TetgenOptions,
    /// The distance of nodes along the bones, in metres. `None`: from the size of the triangles.
    pub spacing: Option<f64>,
}

/// Options of [`build_body`].
#[derive(Debug, Clone, Default)]
pub struct BuildBodyOptions {
    /// The skeleton.
    pub rig: RigChoice,
    /// The tetrahedra of a separate program. `None`: those of the mesher in `build`.
    pub tetgen: Option<Tetgen>,
    /// Tetrahedra, flesh and layers.
    pub build: BuildOptions,
}

/// A layered body with the report of its construction.
#[derive(Debug, Clone)]
pub struct BuiltBody {
    /// The body.
    pub body: LayeredBody,
    /// Quality and times.
    pub report: BuildReport,
    /// Notes on assumptions and omissions, including those of the reader.
    pub notes: Vec<Note>,
}

impl Writable for LayeredBody {
    fn write_to(&self, target: &Path, options: &WriteOptions, _: &dyn Progress) -> crate::Result<Written> {
        Ok(layered_file::write(target, self, options)?)
    }
}

impl Writable for BuiltBody {
    fn write_to(&self, target: &Path, options: &WriteOptions, progress: &dyn Progress) -> crate::Result<Written> {
        self.body.write_to(target, options, progress)
    }
}

/// Builds the layered body of `body`.
pub fn build_body(body: &Body, options: &BuildBodyOptions) -> crate::Result<BuiltBody> {
    Ok(build_body_with(body.clone(), options, &NoProgress)?)
}

/// [`build_body`] with an observer.
pub fn build_body_with(
    body: Body,
    options: &BuildBodyOptions,
    progress: &dyn Progress,
) -> Result<BuiltBody, BodyFileError> {
    let mut notes = body.notes;
    let mut options = options.clone();
    let skeleton = match (options.rig, &body.model) {
        (RigChoice::Own, None) => return Err(BodyFileError::NoRig),
        (RigChoice::Own, Some(_)) => None,
        (RigChoice::Human, _) => {
            let fitted = fit_human(&body.skin, body.up).map_err(LayeredError::from)?;
            notes.extend(fitted.notes);
            Some(fitted.skeleton)
        }
        (RigChoice::Skeleton(skeleton), _) => Some(skeleton),
    };
    let bones = match (&skeleton, &body.model) {
        (Some(skeleton), _) => skeleton.bones().iter().map(|bone| (bone.start, bone.end)).collect(),
        (None, model) => model.as_ref().map(rest_bones).unwrap_or_default(),
    };
    if let Some(tetgen) = &options.tetgen {
        options.build.mesher = Mesher::Given(run_tetgen(&body.skin, &bones, tetgen)?);
    }
    let (model, motions) = match (skeleton, body.model) {
        (None, Some(model)) => (model, body.motions),
        (None, None) => return Err(BodyFileError::NoRig),
        (Some(skeleton), _) => {
            let weights = BoneWeightsOptions::default();
            let rigged = rigged(&body.skin, &skeleton, options.build.mesher, &weights, progress)?;
            notes.extend(rigged.notes);
            options.build.mesher = rigged.mesher;
            (rigged.body, Vec::new())
        }
    };
    let (layered, report) = build(model, motions, body.up, &options.build, progress)?;
    notes.extend(report.notes.iter().cloned());
    Ok(BuiltBody { body: layered, report, notes })
}

/// Reads the layered body in `source`, a file or `sample:NAME`; a body that is not built yet is built with the
/// defaults.
pub fn read_layered(source: &str, progress: &dyn Progress) -> Result<LayeredFile, BodyFileError> {
    let (layered, mut body) = open_body(source, &BodyOptions::default())?;
    let attributes = std::mem::take(&mut body.attributes);
    if let Some(layered) = layered {
        return Ok(LayeredFile { body: layered, attributes, notes: body.notes });
    }
    let BuiltBody { body, mut notes, .. } = build_body_with(body, &BuildBodyOptions::default(), progress)?;
    notes.push(Note::new("the layered body was built with the default options"));
    Ok(LayeredFile { body, attributes, notes })
}

fn run_tetgen(skin: &TriMesh, bones: &[(Vec3, Vec3)], tetgen: &Tetgen) -> Result<TetMesh, BodyFileError> {
    let inner = points_along_bones(skin, bones, tetgen.spacing).map_err(LayeredError::from)?;
    Ok(tetgen::run(skin, &inner, &tetgen.options)?)
}
