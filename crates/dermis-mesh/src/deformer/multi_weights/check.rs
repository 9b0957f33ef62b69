//! Validation of multi-weights read from files.

use super::MultiWeights;

/// Error for invalid multi-weights, or multi-weights of another rig.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MultiWeightsError {
    /// The settings of the deformer are invalid.
    #[error("invalid settings of multi-weights: {0}")]
    Settings(String),
    /// A list of numbers is missing or has the wrong type.
    #[error("the multi-weights have no {what} called '{name}'")]
    NoBuffer {
        /// Its name.
        name: &'static str,
        /// Its expected contents.
        what: &'static str,
    },
    /// The length of a list of numbers differs from that implied by the others.
    #[error("the multi-weights have {found} {what}, expected {expected}")]
    Count {
        /// Description of the counted items.
        what: &'static str,
        /// Actual number.
        found: usize,
        /// Expected number.
        expected: usize,
    },
    /// The offsets of the entries are not ascending.
    #[error("the multi-weights of point {point} have offsets that are not ascending")]
    Offsets {
        /// The offending point.
        point: usize,
    },
    /// The bones of a point are not in strictly ascending order.
    #[error("the multi-weights of point {point} do not list their bones in ascending order")]
    Order {
        /// The offending point.
        point: usize,
    },
    /// A bone index is out of range.
    #[error("the multi-weights of point {point} refer to bone {bone}, but the rig has {count} bones")]
    NoSuchBone {
        /// The offending point.
        point: usize,
        /// The bone index.
        bone: u32,
        /// The number of bones.
        count: usize,
    },
    /// A weight is NaN or infinite.
    #[error("the multi-weights of point {point} are not finite")]
    NotFinite {
        /// The offending point.
        point: usize,
    },
}

impl MultiWeights {
    /// Number of points.
    pub fn point_count(&self) -> usize {
        if self.parts.is_empty() { self.home.len() } else { self.parts.len() - 1 }
    }

    /// Total number of parts of all points.
    pub fn part_count(&self) -> usize {
        self.home.len()
    }

    /// Number of entries: pairs of a part and a bone.
    pub fn entry_count(&self) -> usize {
        self.bones.len()
    }

    /// Returns the bones and weights of a part.
    pub fn row(&self, part: usize) -> impl Iterator<Item = (u32, &[[f32; 4]; 3])> {
        let entries = self.offsets[part] as usize..self.offsets[part + 1] as usize;
        self.bones[entries.clone()].iter().copied().zip(&self.weights[entries])
    }

    /// Checks that these are valid multi-weights of `points` points and `bones` bones.
    pub fn check_for(&self, points: usize, bones: usize) -> Result<(), MultiWeightsError> {
        expect("points", self.point_count(), points)?;
        self.check()?;
        for point in 0..self.part_count() {
            let mut named = self.row(point).map(|(bone, _)| bone).chain([self.home[point]]);
            if let Some(bone) = named.find(|&bone| bone as usize >= bones) {
                return Err(MultiWeightsError::NoSuchBone { point, bone, count: bones });
            }
        }
        Ok(())
    }

    /// Checks that the lists are consistent and every number is finite.
    pub fn check(&self) -> Result<(), MultiWeightsError> {
        self.check_parts()?;
        expect("entry offsets", self.offsets.len(), self.part_count() + 1)?;
        if let Some(point) = self.offsets.windows(2).position(|ends| ends[0] > ends[1]) {
            return Err(MultiWeightsError::Offsets { point });
        }
        expect("entries before the first point", self.offsets[0] as usize, 0)?;
        expect("bones", self.bones.len(), self.offsets[self.part_count()] as usize)?;
        expect("weights", self.weights.len(), self.bones.len())?;
        for point in 0..self.part_count() {
            let entries = self.offsets[point] as usize..self.offsets[point + 1] as usize;
            if !self.bones[entries.clone()].is_sorted_by(|a, b| a < b) {
                return Err(MultiWeightsError::Order { point });
            }
            if !self.weights[entries].as_flattened().as_flattened().iter().all(|weight| weight.is_finite()) {
                return Err(MultiWeightsError::NotFinite { point });
            }
        }
        Ok(())
    }

    /// Checks that every part belongs to a point and every point has at least one part.
    fn check_parts(&self) -> Result<(), MultiWeightsError> {
        if self.parts.is_empty() {
            return expect("fractions of points that are one part", self.fractions.len(), 0);
        }
        expect("parts before the first point", self.parts[0] as usize, 0)?;
        if let Some(point) = self.parts.windows(2).position(|ends| ends[0] >= ends[1]) {
            return Err(MultiWeightsError::Offsets { point });
        }
        expect("home bones of parts", self.part_count(), self.parts[self.parts.len() - 1] as usize)?;
        expect("fractions of parts", self.fractions.len(), self.part_count())?;
        match self.fractions.iter().position(|fraction| !fraction.is_finite()) {
            Some(point) => Err(MultiWeightsError::NotFinite { point }),
            None => Ok(()),
        }
    }
}

/// Returns an error if the two numbers differ.
pub(super) fn expect(what: &'static str, found: usize, expected: usize) -> Result<(), MultiWeightsError> {
    if found == expected { Ok(()) } else { Err(MultiWeightsError::Count { what, found, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_points() -> MultiWeights {
        MultiWeights {
            home: vec![0, 1],
            offsets: vec![0, 2, 3],
            bones: vec![0, 1, 1],
            weights: vec![[[0.5; 4]; 3]; 3],
            ..MultiWeights::default()
        }
    }

    #[test]
    fn rejects_inconsistent_lists() {
        assert_eq!(two_points().check_for(2, 2), Ok(()));
        let broken = |change: fn(&mut MultiWeights)| {
            let mut weights = two_points();
            change(&mut weights);
            weights.check_for(2, 2).unwrap_err()
        };
        assert!(matches!(broken(|w| w.offsets = vec![0, 9, 3]), MultiWeightsError::Offsets { point: 1 }));
        assert!(matches!(broken(|w| w.offsets[0] = 1), MultiWeightsError::Count { .. }));
        assert!(matches!(broken(|w| w.offsets = vec![]), MultiWeightsError::Count { .. }));
        assert!(matches!(broken(|w| w.weights.truncate(1)), MultiWeightsError::Count { what: "weights", .. }));
        assert!(matches!(broken(|w| w.bones[0] = 1), MultiWeightsError::Order { point: 0 }));
        assert!(matches!(broken(|w| w.bones[2] = 7), MultiWeightsError::NoSuchBone { point: 1, bone: 7, count: 2 }));
        assert!(matches!(broken(|w| w.home[0] = 2), MultiWeightsError::NoSuchBone { point: 0, bone: 2, .. }));
        assert!(matches!(broken(|w| w.weights[2][1][3] = f32::NAN), MultiWeightsError::NotFinite { point: 1 }));
        assert!(matches!(broken(|w| w.home.truncate(1)), MultiWeightsError::Count { what: "points", .. }));
    }

    #[test]
    fn rejects_inconsistent_parts() {
        let whole = MultiWeights { parts: vec![0, 2], fractions: vec![0.25, 0.75], ..two_points() };
        assert_eq!(whole.check_for(1, 2), Ok(()));
        let broken = |change: fn(&mut MultiWeights)| {
            let mut weights = whole.clone();
            change(&mut weights);
            weights.check_for(weights.point_count(), 2).unwrap_err()
        };
        assert!(matches!(
            broken(|w| w.parts = vec![0, 1]),
            MultiWeightsError::Count { what: "home bones of parts", .. }
        ));
        assert!(matches!(broken(|w| w.parts = vec![0, 0, 2]), MultiWeightsError::Offsets { point: 0 }));
        assert!(matches!(
            broken(|w| w.fractions.truncate(1)),
            MultiWeightsError::Count { what: "fractions of parts", .. }
        ));
        assert!(matches!(broken(|w| w.fractions[1] = f32::NAN), MultiWeightsError::NotFinite { point: 1 }));
        assert!(matches!(broken(|w| w.parts = vec![]), MultiWeightsError::Count { .. }));
    }
}
