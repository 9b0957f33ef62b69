//! Notes about fits that are valid, but of little use.

use dermis_mesh::Note;

/// Near-rigid fraction below which the tolerance is unusual.
const MIN_NEAR_RIGID: f64 = 0.05;
/// Distortion in percent above which a skin does not represent the motion.
const MAX_DISTORTION_PERCENT: f64 = 50.0;

/// Notes about a skin with `distortion_percent`; `clusters` is ε and the near-rigid fraction, if mean shift was used.
pub(super) fn notes(clusters: Option<(f64, f64)>, distortion_percent: f64) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some((epsilon, fraction)) = clusters.filter(|(_, fraction)| *fraction < MIN_NEAR_RIGID) {
        let percent = 100.0 * fraction;
        notes.push(Note::new(format!(
            "only {percent:.1} % of the triangles are near-rigid at a rotation tolerance of {epsilon:.1e}; tolerances of 0.01 to \
             0.3 are usual"
        )));
    }
    if distortion_percent > MAX_DISTORTION_PERCENT {
        notes.push(Note::new(format!(
            "the skin does not reproduce the motion: its distortion is {distortion_percent:.0} %; the input may be noise, or may need more bones or corrections"
        )));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_a_tiny_tolerance_and_a_skin_of_noise() {
        assert!(notes(Some((0.05, 0.8)), 4.0).is_empty());
        assert!(notes(None, 4.0).is_empty());
        let noted = notes(Some((1e-9, 0.0)), 57.0);
        assert!(noted[0].message.contains("0.01 to 0.3") && noted[1].message.contains("57 %"), "{noted:?}");
    }
}
