//! Skins from mesh sequences.

use dermis_math::progress::{Progress, Silent};
use dermis_mesh::MeshSequence;
use dermis_skin::{Animation, Fit, FitOptions, fit};

use crate::error::Result;

/// Fits a skin to a mesh sequence, whose mesh is the rest pose and whose name becomes that of the clip.
pub fn fit_skin(sequence: &MeshSequence, options: &FitOptions) -> Result<Fit> {
    fit_skin_with(std::slice::from_ref(sequence), options, &Silent)
}

/// [`fit_skin`] of several sequences of one mesh, with an observer.
pub fn fit_skin_with(sequences: &[MeshSequence], options: &FitOptions, progress: &dyn Progress) -> Result<Fit> {
    let animation =
        |sequence: &MeshSequence| Animation { name: sequence.name().to_owned(), sequence: sequence.clone() };
    let animations: Vec<Animation> = sequences.iter().map(animation).collect();
    let first = sequences.first().ok_or(dermis_skin::FitError::TooFewFrames { frames: 0 })?;
    Ok(fit(first.mesh(), &animations, options, progress)?)
}
