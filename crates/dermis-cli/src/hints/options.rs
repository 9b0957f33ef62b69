//! Hints that mention options of the command line.

use std::error::Error;

use dermis::active::volume::VolumeError;
use dermis::active::wrinkle::WrinkleError;
use dermis::animations::AnimationsError;
use dermis::batch::BatchError;
use dermis::bodies::BodyFileError;
use dermis::edit::EditError;
use dermis::error::CollisionError;
use dermis::io::{self, ErrorKind};
use dermis::keep_volume::KeepVolumeError;
use dermis::light::LightError;
use dermis::lod::LodError;
use dermis::pack::PackError;
use dermis::pose_model::PoseError;
use dermis::skin::FitError;
use dermis::tet::tetrahedra::TetError;
use dermis::tissue::fem::ModelError;
use dermis::tissue::layered::LayeredError;
use dermis::train_envelope::EnvelopeError;
use dermis::{RetargetError, SelectError};
use dermis_view::ServeError;

use super::envelope::{examples, training, training_set};
use super::picture::picture;

/// Hint for the error in terms of options.
pub(crate) fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return match error.kind() {
            ErrorKind::Exists => Some("use --force to replace it".to_owned()),
            ErrorKind::TooLarge { asked, .. } => {
                Some(format!("if the file is trusted, raise the limit: --max-memory {}M", asked.div_ceil(1 << 20)))
            }
            _ => error.hint().map(ToOwned::to_owned),
        };
    }
    if let Some(error) = error.downcast_ref::<LodError>() {
        return match error {
            LodError::NoSkin(_) => Some("fit a skin to the frames first: dermis skin FRAMES -o asset.glb".to_owned()),
            _ => error.hint().map(ToOwned::to_owned),
        };
    }
    if let Some(error) = error.downcast_ref::<EditError>() {
        return match error {
            EditError::NoSkin(_) => Some("fit a skin to the frames first: dermis skin FRAMES -o asset.glb".to_owned()),
            EditError::WhichMesh { .. } => Some("name the mesh that was edited with --mesh".to_owned()),
            _ => error.hint(),
        };
    }
    let of_light = error.downcast_ref().and_then(LightError::hint);
    let of_collision = error.downcast_ref().and_then(CollisionError::hint);
    if let Some(hint) = of_light.or(of_collision).or(error.downcast_ref().and_then(PackError::hint)) {
        return Some(hint.to_owned());
    }
    if let Some(hint) = picture(error) {
        return Some(hint);
    }
    if let Some(error) = error.downcast_ref::<SelectError>() {
        return match error {
            SelectError::NoSuchClip { names, .. } if names.is_empty() => Some("omit --clip".to_owned()),
            _ => error.hint(),
        };
    }
    if let Some(error) = error.downcast_ref::<EnvelopeError>() {
        return training_set(error);
    }
    option_hint(error).map(ToOwned::to_owned)
}

fn option_hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref() {
        return skin(error);
    }
    if let Some(error) = error.downcast_ref() {
        return examples(error);
    }
    if let Some(error) = error.downcast_ref() {
        return volume(error);
    }
    if let Some(error) = error.downcast_ref() {
        return wrinkle(error);
    }
    if let Some(error) = error.downcast_ref() {
        return tetrahedra(error);
    }
    if let Some(error) = error.downcast_ref::<RetargetError>() {
        return error.hint();
    }
    if let Some(KeepVolumeError::Drift { .. }) = error.downcast_ref() {
        return Some(
            "check the extents of rest pose and clip with 'dermis inspect'; select another rest pose with --rest-frame",
        );
    }
    if let Some(error) = error.downcast_ref::<KeepVolumeError>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref::<BatchError>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref() {
        return pose(error);
    }
    if let Some(error) = error.downcast_ref() {
        return training(error);
    }
    if let Some(BodyFileError::Size { .. }) = error.downcast_ref() {
        return Some("set the unit of the file with --units, such as cm");
    }
    if let Some(error) = error.downcast_ref() {
        return animations(error);
    }
    if let Some(BodyFileError::NoRig) = error.downcast_ref() {
        return Some("fit a rig with 'dermis tissue build --rig human', or provide one with --rig FILE");
    }
    if let Some(LayeredError::TooFar { .. }) = error.downcast_ref() {
        return Some("use more --substeps, a smaller --tolerance, weaker --forces, or stiffer flesh");
    }
    if let Some(LayeredError::Model(ModelError::NothingFree)) = error.downcast_ref() {
        return Some("set a thickness above 1: dermis tissue edit MODEL --thickness 1.3 -o MODEL");
    }
    if let Some(ServeError::Bind { .. }) = error.downcast_ref() {
        return Some("omit --port to use any free port");
    }
    None
}

fn skin(error: &FitError) -> Option<&'static str> {
    match error {
        FitError::TooFewFrames { .. } => Some("use an animated file, or select more of its frames"),
        FitError::Invalid { .. } => Some("check the input with 'dermis inspect'"),
        FitError::OtherMesh { .. } => Some("all animations of a skin must have the same mesh"),
        FitError::ClipCount { .. } => Some("select the clips with --clip, in the order of the inputs"),
        FitError::ClipLength { .. } => Some("use --frames or --fps so that both have the same number of frames"),
        _ => None,
    }
}

fn animations(error: &AnimationsError) -> Option<&'static str> {
    match error {
        AnimationsError::OtherPoints { .. } => Some("all animations of a skin must have the same mesh"),
        AnimationsError::OtherTriangles => Some("export both from the same mesh, with the same order of points"),
        AnimationsError::NoSuchFrame { .. } => Some("set --rest-frame to a frame of the first animation"),
        _ => None,
    }
}

fn pose(error: &PoseError) -> Option<&'static str> {
    match error {
        PoseError::NoRig => Some("use a rigged file, or create one with 'dermis skin'"),
        PoseError::NoClip => Some("provide a file that contains a clip with --rig FILE"),
        PoseError::NoOtherClip => Some("set --rig to a rigged and animated file"),
        _ => None,
    }
}

fn volume(error: &VolumeError) -> Option<&'static str> {
    match error {
        VolumeError::Open { .. } => Some("close the mesh, or use --cap to close it for the volume computation"),
        VolumeError::NoVolume { .. } => {
            Some("the mesh is flat, or its positive and negative volumes cancel; select another with --mesh")
        }
        VolumeError::NoSuchAttribute { .. } => Some("use the name of an attribute of the file, or omit --attribute"),
        error => error.hint(),
    }
}

fn wrinkle(error: &WrinkleError) -> Option<&'static str> {
    match error {
        WrinkleError::RestPoints { .. } | WrinkleError::RestTopology { .. } => {
            Some("use the same mesh in another pose as the rest shape, or one of its frames with --rest-frame K")
        }
        WrinkleError::NoArea | WrinkleError::NoUvs => {
            Some("provide a rest shape with --rest FILE, or select a frame with --rest-frame K")
        }
        WrinkleError::Radius(_) => Some("set --min-radius in scene units, such as 0.02 for cloth in metres"),
        WrinkleError::Coarsen { .. } => Some("set --coarsen to a number between 4 and the number of triangles"),
        _ => None,
    }
}

fn tetrahedra(error: &TetError) -> Option<&'static str> {
    match error {
        TetError::SelfIntersecting { .. } => {
            Some("remove the intersections, move points with --separate 0.01, or use --mesher lattice")
        }
        TetError::Open { .. }
        | TetError::NonManifold { .. }
        | TetError::Inconsistent { .. }
        | TetError::Degenerate { .. }
        | TetError::CoincidentPoints { .. } => Some("repair the skin, or use --mesher lattice"),
        _ => None,
    }
}
