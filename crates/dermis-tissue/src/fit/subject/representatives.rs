//! Representative points of the skin (Kim et al. 2017, §5.5) and the spreading of their values.

use glam::Vec3;

use super::{SubjectError, SubjectOptions};
use crate::layered::LayeredBody;
use crate::layers::THRESHOLD;

/// Relative depth beyond σ from which skin counts as soft.
const SOFT_DEPTH: f64 = 0.02;

/// Representative points and their weights.
#[derive(Debug, Clone)]
pub(super) struct Representatives {
    pub(super) points: Vec<u32>,
    /// Points of the skin over flesh.
    pub(super) soft: Vec<u32>,
    /// Weight of each representative point at each point of the skin, in rows.
    pub(super) spread: Vec<f64>,
}

impl Representatives {
    /// The given points, or points chosen from the soft skin of `body` by farthest-point sampling.
    pub(super) fn new(body: &LayeredBody, options: &SubjectOptions) -> Result<Self, SubjectError> {
        let (points, flesh) = (body.body().mesh().points(), body.flesh());
        let is_soft = |&p: &u32| f64::from(flesh.thickness[p as usize]) > THRESHOLD + SOFT_DEPTH;
        Self::among(body, (0..points.len() as u32).filter(is_soft).collect(), options)
    }

    /// The same among the points `soft`.
    pub(super) fn among(body: &LayeredBody, soft: Vec<u32>, options: &SubjectOptions) -> Result<Self, SubjectError> {
        let points = body.body().mesh().points();
        if soft.is_empty() {
            return Err(SubjectError::NoFlesh);
        }
        if let Some(&point) = options.given_points.iter().find(|&&point| point as usize >= points.len()) {
            return Err(SubjectError::NoSuchPoint { point, points: points.len() });
        }
        let chosen = match &options.given_points[..] {
            [] => farthest_points(points, &soft, options.representative_points),
            given => given.to_vec(),
        };
        let spread = spread(points, &chosen);
        Ok(Self { points: chosen, soft, spread })
    }

    pub(super) fn count(&self) -> usize {
        self.points.len()
    }

    /// Value at a point of the skin of a field given at the representative points.
    pub(super) fn at(&self, point: usize, values: &[f64]) -> f64 {
        self.spread[point * self.count()..][..self.count()].iter().zip(values).map(|(a, b)| a * b).sum()
    }

    /// The representative point with the largest weight at each point of the skin.
    pub(super) fn clusters(&self) -> Vec<usize> {
        let largest = |row: &[f64]| (0..row.len()).fold(0, |best, k| if row[k] > row[best] { k } else { best });
        self.spread.chunks_exact(self.count()).map(largest).collect()
    }
}

/// Farthest-point sampling of `count` of the `candidates`.
pub fn farthest_points(points: &[Vec3], candidates: &[u32], count: usize) -> Vec<u32> {
    let mut chosen: Vec<u32> = candidates.first().copied().into_iter().collect();
    let mut distances: Vec<f32> = vec![f32::MAX; candidates.len()];
    while let Some(&last) = chosen.last().filter(|_| chosen.len() < count.min(candidates.len())) {
        for (distance, &candidate) in distances.iter_mut().zip(candidates) {
            *distance = distance.min(points[candidate as usize].distance_squared(points[last as usize]));
        }
        let farthest = (0..candidates.len()).fold(0, |best, k| if distances[k] > distances[best] { k } else { best });
        chosen.push(candidates[farthest]);
    }
    chosen
}

/// Normalized Gaussian weights of the representative points at every point; their width is the mean spacing.
fn spread(points: &[Vec3], representative: &[u32]) -> Vec<f64> {
    let at = |&p: &u32| points[p as usize];
    let nearest = |p: &u32| {
        let others = representative.iter().filter(|other| *other != p);
        f64::from(others.map(|other| at(other).distance(at(p))).fold(f32::MAX, f32::min))
    };
    let spacing = representative.iter().map(nearest).sum::<f64>() / representative.len().max(1) as f64;
    let width = 2.0 * (0.6 * spacing).powi(2);
    let row = |point: &Vec3| -> Vec<f64> {
        let squared: Vec<f64> = representative.iter().map(|p| f64::from(at(p).distance_squared(*point))).collect();
        let least = squared.iter().copied().fold(f64::MAX, f64::min);
        let weights: Vec<f64> = squared.iter().map(|d| (-(d - least) / width).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    };
    points.iter().flat_map(row).collect()
}
