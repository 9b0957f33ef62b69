//! Details and hints of library errors in terms of options. Libraries do not refer to options of the command line; only
//! this file does.

use std::error::Error;

use dermis::active::volume::VolumeError;
use dermis::active::wrinkle::{ClothError, WrinkleError};
use dermis::animations::AnimationsError;
use dermis::bodies::BodyFileError;
use dermis::io::{self, ErrorKind};
use dermis::keep_volume::KeepVolumeError;
use dermis::pose_model::PoseError;
use dermis::skin::FitError;
use dermis::skin::envelope::{ExamplesError, TrainError};
use dermis::tet::tetrahedra::{Intersection, TetError};
use dermis::tissue::fem::ModelError;
use dermis::tissue::layered::LayeredError;
use dermis::train_envelope::EnvelopeError;
use dermis::{EvaluateError, RetargetError, SelectError};
use dermis_view::ServeError;

/// Number of intersecting pairs of triangles that are listed.
const MAX_LISTED_PAIRS: usize = 8;

/// The error that `error` wraps transparently; message, source and hint are those of the wrapped error.
pub(crate) fn unwrapped<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let inner: Option<&(dyn Error + 'static)> = if let Some(error) = error.downcast_ref::<BodyFileError>() {
        match error {
            BodyFileError::File(error) => Some(error),
            BodyFileError::Select(error) => Some(error),
            BodyFileError::Retarget(error) => Some(error),
            BodyFileError::Layered(error) => Some(error),
            _ => None,
        }
    } else if let Some(error) = error.downcast_ref::<dermis::Error>() {
        Some(error.inner())
    } else if let Some(AnimationsError::Select(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(AnimationsError::Evaluate(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(SelectError::Evaluate(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(EvaluateError::Volume(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(KeepVolumeError::Volume { cause, .. }) = error.downcast_ref() {
        Some(cause)
    } else if let Some(KeepVolumeError::Evaluate(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(ClothError::Layer(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(LayeredError::Tetrahedra(error)) = error.downcast_ref() {
        Some(error)
    } else {
        None
    };
    inner.map_or(error, unwrapped)
}

/// Returns whether the error is a stop requested by the user.
pub(crate) fn is_stop(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref::<io::Error>().map(io::Error::kind), Some(ErrorKind::Stopped))
        || matches!(error.downcast_ref(), Some(FitError::Stopped))
        || matches!(error.downcast_ref(), Some(TrainError::Stopped))
        || matches!(error.downcast_ref(), Some(KeepVolumeError::Stopped))
        || matches!(error.downcast_ref(), Some(ClothError::Stopped))
        || matches!(error.downcast_ref(), Some(LayeredError::Stopped))
        || matches!(error.downcast_ref(), Some(TetError::Stopped))
}

/// Returns whether the error rejects a result rather than the input.
pub(crate) fn is_wrong_result(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(ClothError::Area { .. }))
        || matches!(error.downcast_ref(), Some(LayeredError::TooFar { .. }))
        || matches!(error.downcast_ref(), Some(EvaluateError::Extent { .. }))
        || matches!(error.downcast_ref(), Some(KeepVolumeError::Drift { .. }))
}

/// Message of errors whose own text is not suitable for the command line.
pub(crate) fn message(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(TetError::SelfIntersecting { count, .. }) = error.downcast_ref() {
        return Some(format!("the skin self-intersects in {count} pairs of triangles"));
    }
    let is_rigid = matches!(error.downcast_ref(), Some(LayeredError::Model(ModelError::NothingFree)));
    is_rigid.then(|| "no element of the body is simulated".to_owned())
}

/// Additional lines of the error.
pub(crate) fn details(error: &(dyn Error + 'static)) -> Vec<String> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return match error.kind() {
            ErrorKind::PointCountChanges { frame, expected, found } => {
                vec![format!("earlier frames have {expected} points, frame {frame} has {found}")]
            }
            _ => Vec::new(),
        };
    }
    if let Some(TetError::SelfIntersecting { count, pairs }) = error.downcast_ref() {
        return intersections(*count, pairs);
    }
    if let Some(BodyFileError::NoSuchShape { names, .. }) = error.downcast_ref() {
        let none = names.is_empty();
        return vec![if none { "shapes: none".to_owned() } else { format!("shapes: {}", names.join(", ")) }];
    }
    let of_select = error.downcast_ref().map(SelectError::details);
    let of_retarget = error.downcast_ref().map(RetargetError::details);
    let of_volume = error.downcast_ref().map(VolumeError::details);
    let of_kept_volume = error.downcast_ref().map(KeepVolumeError::details);
    let of_envelope = error.downcast_ref().map(EnvelopeError::details);
    of_select.or(of_retarget).or(of_volume).or(of_kept_volume).or(of_envelope).unwrap_or_default()
}

fn intersections(count: usize, pairs: &[Intersection]) -> Vec<String> {
    let line = |pair: &Intersection| {
        let ([first, second], at) = (pair.triangles, pair.position);
        format!("triangles {first} and {second} near ({:.3}, {:.3}, {:.3})", at.x, at.y, at.z)
    };
    let more = count.saturating_sub(MAX_LISTED_PAIRS);
    let rest = (more > 0).then(|| format!("and {more} more"));
    pairs.iter().take(MAX_LISTED_PAIRS).map(line).chain(rest).collect()
}

/// Hint for the error in terms of options.
pub(crate) fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return match error.kind() {
            ErrorKind::Exists => Some("use --force to replace it".to_owned()),
            _ => error.hint().map(ToOwned::to_owned),
        };
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
        return envelope(error);
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
    if let Some(error) = error.downcast_ref() {
        return pose(error);
    }
    if let Some(error) = error.downcast_ref() {
        return training(error);
    }
    if let Some(BodyFileError::Size { .. }) = error.downcast_ref() {
        return Some("give the unit with --metres-per-unit, such as 0.01 for centimetres");
    }
    if let Some(error) = error.downcast_ref() {
        return animations(error);
    }
    if let Some(BodyFileError::NoRig) = error.downcast_ref() {
        return Some("fit a rig with 'dermis tissue build --rig human', or give one with --rig FILE");
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
        FitError::TooFewFrames { .. } => Some("give an animated file, or more of its frames"),
        FitError::OtherMesh { .. } => Some("animations that share a skin must be of one mesh"),
        FitError::ClipCount { .. } => Some("name the clips with --clip, in the order of the inputs"),
        FitError::ClipLength { .. } => Some("give --frames or --fps so that both have the same frames"),
        _ => None,
    }
}

fn animations(error: &AnimationsError) -> Option<&'static str> {
    match error {
        AnimationsError::OtherPoints { .. } => Some("animations that share a skin must be of one mesh"),
        AnimationsError::OtherTriangles => Some("export both from the same mesh, with the same order of points"),
        AnimationsError::NoSuchFrame { .. } => Some("give --rest-frame a frame of the first animation"),
        _ => None,
    }
}

fn envelope(error: &ExamplesError) -> Option<&'static str> {
    match error {
        ExamplesError::Length { .. } => {
            Some("give one shape per frame of the clip, set their times with --pose-times, or select another --clip")
        }
        ExamplesError::OtherMesh { .. } | ExamplesError::OtherTriangles => {
            Some("export shapes and rig from one mesh with the same order of points")
        }
        ExamplesError::OtherSkeleton { .. } => Some("give a clip of the same skeleton"),
        _ => None,
    }
}

fn training(error: &TrainError) -> Option<&'static str> {
    match error {
        TrainError::NoInfluence { .. } => {
            Some("add skin weights, paint a map, widen the maps with --widen, or use --maps auto")
        }
        TrainError::NoPoses => Some("give at least one pose a weight above 0"),
        _ => None,
    }
}

fn training_set(error: &EnvelopeError) -> Option<String> {
    match error {
        EnvelopeError::NoJoints => Some("give a rigged file, or create one with 'dermis skin'".to_owned()),
        EnvelopeError::NoShapes => Some("give the shapes of the frames with --targets FILE".to_owned()),
        EnvelopeError::PoseTimes { .. } => {
            Some("give one time per shape with --pose-times, in the order of the shapes".to_owned())
        }
        EnvelopeError::NoSuchPose { .. } => {
            Some("give --pose-weight a frame of the clip, from 0, that --frames selects".to_owned())
        }
        EnvelopeError::NoMultiWeights => Some("train a model with 'dermis envelope train'".to_owned()),
        error => error.hint(),
    }
}

fn pose(error: &PoseError) -> Option<&'static str> {
    match error {
        PoseError::NoRig => Some("give a rigged file, or create one with 'dermis skin'"),
        PoseError::NoClip => Some("give a file with a clip with --rig FILE"),
        PoseError::NoOtherClip => Some("give a rigged and animated file to --rig"),
        _ => None,
    }
}

fn volume(error: &VolumeError) -> Option<&'static str> {
    match error {
        VolumeError::Open { .. } => Some("close the mesh, or use --cap to close it for the computation of the volume"),
        VolumeError::NoVolume { .. } => {
            Some("a flat or self-cancelling mesh cannot be corrected; select another with --mesh")
        }
        VolumeError::NoSuchAttribute { .. } => Some("give the name of an attribute of the file, or omit --attribute"),
        error => error.hint(),
    }
}

fn wrinkle(error: &WrinkleError) -> Option<&'static str> {
    match error {
        WrinkleError::RestPoints { .. } | WrinkleError::RestTopology { .. } => {
            Some("use the same mesh in another pose as the rest shape, or one of its frames with --rest-frame K")
        }
        WrinkleError::NoArea | WrinkleError::NoUvs => {
            Some("give a rest shape with --rest FILE, or a frame with --rest-frame K")
        }
        WrinkleError::Radius(_) => Some("give --min-radius in scene units, such as 0.02 for cloth in metres"),
        WrinkleError::Coarsen { .. } => Some("give --coarsen a number between 4 and the number of triangles"),
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
