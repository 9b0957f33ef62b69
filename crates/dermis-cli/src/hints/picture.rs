//! Hints on pictures.

use std::error::Error;

use dermis::render::PictureError;
use dermis::renderer::RenderError;

/// Hint for an error of a picture.
pub(super) fn picture(error: &(dyn Error + 'static)) -> Option<String> {
    let hint = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(PictureError::NoReference), _) => "provide the recorded motion with --sequence FILE",
        (Some(PictureError::NothingMoves(_)), _) => "omit --frame and --frames, or use a file with a motion",
        (Some(error), _) => return error.hint(),
        (_, Some(RenderError::Size { .. })) => "set --size to a size such as 1600x1200",
        (_, Some(RenderError::PanelSize { .. })) => "set a larger --size, or other --columns",
        _ => return None,
    };
    Some(hint.to_owned())
}
