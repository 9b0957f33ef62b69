//! Pose to write to a format without motion.

use std::borrow::Cow;
use std::path::Path;

use dermis_mesh::Object;
use glam::Vec3;

use crate::error::Error;

/// Positions to write to a format with one pose: the stored pose, or the only frame.
pub(crate) fn still<'a>(object: &'a Object, target: &Path, hint: &str) -> Result<Cow<'a, [Vec3]>, Error> {
    match object.base_motion()? {
        None => Ok(object.rest_points()),
        Some(motion) if motion.frame_count() == 1 => Ok(Cow::Owned(motion.frame(0)?.into_owned())),
        Some(motion) => {
            let frames = motion.frame_count();
            Err(Error::unsupported(format!("the format stores one pose, but the object has {frames} frames"))
                .in_file(target)
                .with_hint(hint))
        }
    }
}
