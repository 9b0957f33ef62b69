//! Errors of a skin relative to a sequence, by frame and by point.
//!
//! [`crate::measure()`] summarizes the quality of a skin in single numbers; this module reports errors frame by frame,
//! point by point and as a distribution, for plots and heat maps. Errors are distances in the units of the scene.

use dermis_mesh::pose::pose_into;
use dermis_mesh::{MeshSequence, SequenceError};
use glam::Vec3;
use rayon::prelude::*;

use crate::skin::Skin;

/// Number of bins of [`Comparison::histogram`].
pub const HISTOGRAM_BINS: usize = 40;

/// Errors of a clip relative to a sequence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Root mean square error over all points, per frame.
    pub rms_by_frame: Vec<f64>,
    /// Largest error of any point, per frame.
    pub max_by_frame: Vec<f64>,
    /// Number of errors, over all points and frames, in each of [`HISTOGRAM_BINS`] equal bins from 0 to
    /// [`Comparison::max_error`].
    pub histogram: Vec<u64>,
    /// Largest error of all.
    pub max_error: f64,
}

/// Returns true if clip `clip` of `skin` can play `sequence`: it has the same points and triangles, and as many frames.
pub fn can_play(skin: &Skin, clip: usize, sequence: &MeshSequence) -> bool {
    let (skin_mesh, sequence_mesh) = (skin.mesh(), sequence.mesh());
    skin_mesh.point_count() == sequence_mesh.point_count()
        && (skin_mesh.triangles() == sequence_mesh.triangles() || sequence_mesh.triangle_count() == 0)
        && skin.clips().get(clip).is_some_and(|clip| clip.frame_count() == sequence.frame_count())
}

/// Compares clip `clip` of `skin` with `sequence`, frame by frame.
///
/// # Panics
/// If there is no such clip, or the sequence has more frames or other points.
pub fn compare(skin: &Skin, clip: usize, sequence: &MeshSequence) -> Result<Comparison, SequenceError> {
    let frames = || (0..sequence.frame_count()).into_par_iter();
    let largest = |errors: &[f32]| f64::from(errors.iter().copied().fold(0.0, f32::max));
    let sums = frames().map(|frame| {
        let errors = frame_errors(skin, clip, sequence, frame)?;
        let squares: f64 = errors.iter().map(|&error| f64::from(error) * f64::from(error)).sum();
        Ok(((squares / errors.len().max(1) as f64).sqrt(), largest(&errors)))
    });
    let (rms_by_frame, max_by_frame): (Vec<f64>, Vec<f64>) =
        sums.collect::<Result<Vec<_>, SequenceError>>()?.into_iter().unzip();
    let max_error = max_by_frame.iter().copied().fold(0.0, f64::max);
    let counts = frames().map(|frame| Ok(binned(&frame_errors(skin, clip, sequence, frame)?, max_error)));
    let mut histogram = vec![0; HISTOGRAM_BINS];
    for counts in counts.collect::<Result<Vec<_>, SequenceError>>()? {
        histogram.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    Ok(Comparison { rms_by_frame, max_by_frame, histogram, max_error })
}

/// Error of each point in frame `frame`.
///
/// # Panics
/// As [`compare`], or if there is no such frame.
pub fn frame_errors(
    skin: &Skin,
    clip: usize,
    sequence: &MeshSequence,
    frame: usize,
) -> Result<Vec<f32>, SequenceError> {
    let given = sequence.frame(frame)?;
    let mut played = vec![Vec3::ZERO; given.len()];
    pose_into(skin.mesh(), skin.rig(), &skin.clips()[clip], frame, &mut played);
    Ok(given.iter().zip(&played).map(|(given, played)| given.distance(*played)).collect())
}

fn binned(errors: &[f32], max_error: f64) -> Vec<u64> {
    let mut counts = vec![0; HISTOGRAM_BINS];
    for &error in errors {
        let fraction = if max_error > 0.0 { f64::from(error) / max_error } else { 0.0 };
        counts[((fraction * HISTOGRAM_BINS as f64) as usize).min(HISTOGRAM_BINS - 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dermis_mesh::{Clip, Joint, Object, Rig, SkinWeights, TriMesh};
    use glam::{DAffine3, DVec3};

    use super::*;

    /// Triangle that a joint moves along x, one unit per frame.
    fn sliding() -> (Skin, Arc<TriMesh>) {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap());
        let joints = vec![Joint::at("root", None, DAffine3::IDENTITY)];
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows([[(0, 1.0)]; 3]), vec![]).unwrap();
        let at = |frame: usize| DAffine3::from_translation(DVec3::X * frame as f64);
        let clip = Clip::new(&rig, "slide", 24.0, (0..4).map(at).collect(), vec![]).unwrap();
        let object = Object::of_rig("triangle", Arc::clone(&mesh), rig, vec![clip]);
        (Skin::from_object(&object).unwrap(), mesh)
    }

    /// Motion of the skin, except for point 1, which is `off` too high in frame 2.
    fn sequence(mesh: &Arc<TriMesh>, frames: usize, off: f32) -> MeshSequence {
        let mut positions: Vec<Vec3> =
            (0..frames).flat_map(|frame| mesh.points().iter().map(move |&p| p + Vec3::X * frame as f32)).collect();
        positions[2 * 3 + 1].y += off;
        MeshSequence::new(Arc::clone(mesh), positions, 24.0).unwrap()
    }

    #[test]
    fn an_error_shows_in_its_frame_and_in_the_last_bin() {
        let (skin, mesh) = sliding();
        let comparison = compare(&skin, 0, &sequence(&mesh, 4, 0.3)).unwrap();
        assert!((comparison.max_error - 0.3).abs() < 1e-6);
        assert_eq!(comparison.max_by_frame.iter().filter(|&&error| error > 0.0).count(), 1);
        assert!((comparison.rms_by_frame[2] - 0.3 / 3f64.sqrt()).abs() < 1e-6);
        assert_eq!((comparison.histogram[0], comparison.histogram[HISTOGRAM_BINS - 1]), (11, 1));
    }

    #[test]
    fn a_perfect_skin_has_all_errors_in_the_first_bin() {
        let (skin, mesh) = sliding();
        let comparison = compare(&skin, 0, &sequence(&mesh, 4, 0.0)).unwrap();
        assert_eq!((comparison.max_error, comparison.histogram[0]), (0.0, 12));
    }

    #[test]
    fn a_sequence_of_another_length_cannot_be_played() {
        let (skin, mesh) = sliding();
        assert!(can_play(&skin, 0, &sequence(&mesh, 4, 0.0)));
        assert!(!can_play(&skin, 0, &sequence(&mesh, 5, 0.0)));
        assert!(!can_play(&skin, 1, &sequence(&mesh, 4, 0.0)));
    }
}
