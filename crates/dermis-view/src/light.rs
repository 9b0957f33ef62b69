//! Stored radiance transfer of an asset (`dermis light --transfer`).

use std::path::Path;

use dermis::io::npz::arrays;

/// Reduced transfer: weights of each point, and values of each coefficient and frame.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredLight {
    /// Number of components.
    pub rank: usize,
    /// Number of points.
    pub points: usize,
    /// Number of frames.
    pub frames: usize,
    /// Number of coefficients of a transfer vector.
    pub coefficients: usize,
    /// Weights of each point, point by point.
    pub weights: Vec<f32>,
    /// Values of each component: `rank` numbers for each coefficient, frame by frame.
    pub values: Vec<f32>,
}

/// Error of reading stored light.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LightFileError {
    /// The archive cannot be read.
    #[error("{0}")]
    Read(#[from] dermis::io::Error),
    /// An array is missing or has another shape.
    #[error(
        "the archive has no radiance transfer: '{0}' is missing or has another shape; it needs a singular value decomposition"
    )]
    Array(&'static str),
    /// The light belongs to another asset.
    #[error("the light has {found} {what}, but the asset has {expected}")]
    Other {
        /// Compared quantity.
        what: &'static str,
        /// In the archive.
        found: usize,
        /// Of the asset.
        expected: usize,
    },
}

impl StoredLight {
    /// Reads the archive at `path`.
    pub fn read(path: &Path) -> Result<Self, LightFileError> {
        let (weights, values) =
            arrays::read(path, |arrays| Ok((arrays.array("light_weights")?, arrays.array("light_values")?)))?;
        let weights = weights.ok_or(LightFileError::Array("light_weights"))?;
        let values = values.ok_or(LightFileError::Array("light_values"))?;
        let [points, rank] = *weights.shape() else {
            return Err(LightFileError::Array("light_weights"));
        };
        let [frames, coefficients, columns] = *values.shape() else {
            return Err(LightFileError::Array("light_values"));
        };
        if columns != rank || rank == 0 || coefficients == 0 || frames == 0 {
            return Err(LightFileError::Array("light_values"));
        }
        Ok(Self { rank, points, frames, coefficients, weights: weights.floats()?, values: values.floats()? })
    }

    /// Light that each point reflects in a frame, with the first `rank` components, under light with the given
    /// coefficients in spherical harmonics.
    pub fn reflected(&self, frame: usize, rank: usize, light: &[f64]) -> Vec<f32> {
        let rank = rank.min(self.rank);
        let first = frame.min(self.frames - 1) * self.coefficients * self.rank;
        let factors: Vec<f32> = (0..rank)
            .map(|component| {
                let value =
                    |(at, light): (usize, &f64)| f64::from(self.values[first + at * self.rank + component]) * light;
                light.iter().take(self.coefficients).enumerate().map(value).sum::<f64>() as f32
            })
            .collect();
        let dot = |row: &[f32]| row.iter().zip(&factors).map(|(weight, factor)| weight * factor).sum::<f32>().max(0.0);
        self.weights.chunks_exact(self.rank).map(dot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reflected_light_is_the_product_of_weights_values_and_light() {
        let light = StoredLight {
            rank: 2,
            points: 2,
            frames: 2,
            coefficients: 1,
            weights: vec![1.0, 0.0, 0.5, 2.0],
            values: vec![1.0, 1.0, 3.0, -1.0],
        };
        assert_eq!(light.reflected(0, 2, &[2.0]), [2.0, 5.0]);
        assert_eq!(light.reflected(1, 2, &[1.0]), [3.0, 0.0], "negative light is clamped");
        assert_eq!(light.reflected(1, 1, &[1.0]), [3.0, 1.5]);
    }
}
