//! Wrinkles on coarse cloth.

use dermis_active::wrinkle::{self, ClothOptions, RestShape, WrinkledCloth};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::{MeshSequence, Scene};

use crate::error::Result;
use crate::files::ToScene;

/// Adds wrinkles to regions of a cloth that are compressed relative to its rest pose.
pub fn wrinkle(cloth: &MeshSequence, options: &ClothOptions) -> Result<WrinkledCloth> {
    wrinkle_with(cloth, RestShape::Pose, options, &NoProgress)
}

/// [`wrinkle()`] against any rest shape, with an observer.
pub fn wrinkle_with(
    cloth: &MeshSequence,
    rest: RestShape<'_>,
    options: &ClothOptions,
    progress: &dyn Progress,
) -> Result<WrinkledCloth> {
    Ok(wrinkle::wrinkle(cloth, rest, options, progress)?)
}

impl ToScene for WrinkledCloth {
    fn to_scene(&self) -> Scene {
        self.sequence.clone().named(self.coarse().name()).to_scene()
    }
}
