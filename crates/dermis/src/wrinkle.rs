//! Wrinkles on coarse cloth.

use std::sync::Arc;

use dermis_active::wrinkle::{
    self, ClothError, ClothOptions, FoldTraining, LearnOptions, LearnedCloth, LearnedFolds, RestShape, WrinkledCloth,
};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::glam::Vec3;
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

/// Learns the folds of a garment from a coarse and a fine simulation of the same motion.
pub fn train_wrinkles(coarse: &MeshSequence, fine: &MeshSequence, options: &LearnOptions) -> Result<FoldTraining> {
    train_wrinkles_with(coarse, fine, options, &NoProgress)
}

/// [`train_wrinkles`] with an observer.
pub fn train_wrinkles_with(
    coarse: &MeshSequence,
    fine: &MeshSequence,
    options: &LearnOptions,
    progress: &dyn Progress,
) -> Result<FoldTraining> {
    Ok(wrinkle::train_folds(coarse, fine, options, progress).map_err(ClothError::from)?)
}

/// Adds learned folds to a new motion of the coarse cloth of a garment.
pub fn wrinkle_learned(cloth: &MeshSequence, folds: &Arc<LearnedFolds>) -> Result<LearnedCloth> {
    wrinkle_learned_with(cloth, folds, None, &NoProgress)
}

/// [`wrinkle_learned`] with the rest shape of the coarse cloth, if it is not that of its mesh, and an observer.
pub fn wrinkle_learned_with(
    cloth: &MeshSequence,
    folds: &Arc<LearnedFolds>,
    rest: Option<&[Vec3]>,
    progress: &dyn Progress,
) -> Result<LearnedCloth> {
    Ok(wrinkle::apply_folds(folds, cloth, rest, progress)?)
}

impl ToScene for LearnedCloth {
    fn to_scene(&self) -> Scene {
        self.sequence.to_scene()
    }
}

impl ToScene for WrinkledCloth {
    fn to_scene(&self) -> Scene {
        self.sequence.clone().named(self.coarse().name()).to_scene()
    }
}
