//! `dermis wrinkle --model`: folds learned from a fine simulation.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use dermis::active::wrinkle::coarse_cloth;
use dermis::mesh::glam::Vec3;
use dermis::mesh::{MeshSequence, Note, Object, Scene};
use dermis::{fold_file, wrinkle_learned_with};

use super::summary::Summary;
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::Output;

/// The cloth of the input.
pub(super) struct Cloth {
    pub(super) input: String,
    pub(super) name: String,
    pub(super) motion: MeshSequence,
    /// Rest shape from a file.
    pub(super) rest: Option<Vec<Vec3>>,
    pub(super) coarsen: Option<usize>,
    /// True if the rest shape is to be derived from UVs.
    pub(super) is_pattern: bool,
}

/// Adds learned folds to the object `index` of `scene`, writes it and prints a summary.
pub(super) fn run(
    model: &Path,
    cloth: Cloth,
    (mut scene, index): (Scene, usize),
    output: &Output,
    mut job: Job<'_>,
) -> Result<ExitCode, Diagnostic> {
    let Cloth { input, name, motion, rest, coarsen, is_pattern } = cloth;
    if is_pattern {
        return Err(Diagnostic::new("a sewing pattern cannot be compared with the rest shape of learned folds")
            .hint("omit --rest, or give the rest shape as a file"));
    }
    let folds = Arc::new(fold_file::read(model)?);
    let motion = match coarsen {
        Some(triangles) => coarse_cloth(&motion, triangles).map_err(dermis::Error::from).in_file(&input)?,
        None => motion,
    };
    let found = job.stoppable(|watch| wrinkle_learned_with(&motion, &folds, rest.as_deref(), watch)).in_file(&input)?;
    job.clock.lap("wrinkle");
    scene.notes.extend(found.notes.iter().map(|note| Note::at(&name, note.message.clone())));
    job.notes.append(&mut scene.notes);
    scene.objects[index] = Object::of_sequence(name.clone(), found.sequence.clone());
    job.write(&output.output, &scene, &output.options(), &input)?;
    job.summarize(&Summary {
        input,
        name,
        frames: motion.frame_count(),
        min_radius: None,
        map_height: folds.parts().limits.iter().copied().fold(0.0, f32::max),
        triangles_before: motion.mesh().triangle_count(),
        triangles_after: found.sequence.mesh().triangle_count(),
        curves: None,
        measures: found.measures,
    })
}
