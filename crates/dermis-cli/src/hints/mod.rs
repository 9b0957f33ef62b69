//! Details and hints of library errors in terms of options. Libraries do not refer to options of the command line; only
//! [`options`] does.

mod envelope;
mod options;
mod picture;

use std::error::Error;

use dermis::active::volume::VolumeError;
use dermis::active::wrinkle::ClothError;
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
use dermis::render::PictureError;
use dermis::renderer::RenderError;
use dermis::skin::FitError;
use dermis::skin::envelope::TrainError;
use dermis::tet::tetrahedra::{Intersection, TetError};
use dermis::tissue::fem::ModelError;
use dermis::tissue::fit::SubjectError;
use dermis::tissue::layered::LayeredError;
use dermis::train_envelope::EnvelopeError;
use dermis::{EvaluateError, RetargetError, SelectError};

pub(crate) use options::hint;

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
    } else if let Some(EditError::Select(error)) = error.downcast_ref() {
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
    } else if let Some(PictureError::Select(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(PictureError::Evaluate(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(PictureError::Render(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(BatchError::Io(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(LayeredError::Tetrahedra(error)) = error.downcast_ref() {
        Some(error)
    } else if let Some(SubjectError::Layered(error)) = error.downcast_ref() {
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
        || matches!(error.downcast_ref(), Some(SubjectError::Stopped))
        || matches!(error.downcast_ref(), Some(LodError::Stopped))
        || matches!(error.downcast_ref(), Some(PackError::Stopped))
        || matches!(error.downcast_ref(), Some(EditError::Stopped))
        || matches!(error.downcast_ref(), Some(CollisionError::Stopped))
        || matches!(error.downcast_ref(), Some(LightError::Stopped))
        || matches!(error.downcast_ref(), Some(RenderError::Stopped))
}

/// Returns whether the error rejects a result rather than the input.
pub(crate) fn is_wrong_result(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(ClothError::Area { .. }))
        || matches!(error.downcast_ref(), Some(FitError::Invalid { .. }))
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
    let of_edit = error.downcast_ref().map(EditError::details);
    let of_picture = error.downcast_ref().map(PictureError::details);
    let of_batch = error.downcast_ref().map(BatchError::details);
    let of_layers = of_volume.or(of_kept_volume).or(of_envelope);
    of_select.or(of_retarget).or(of_layers).or(of_edit).or(of_picture).or(of_batch).unwrap_or_default()
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
