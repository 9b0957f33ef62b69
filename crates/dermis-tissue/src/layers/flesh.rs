//! Relative depth of the layer from the shape of the body: thick flesh gets a thick layer.
//!
//! The paper fits `d` to scans, which leaves most of the skin at σ and raises belly, buttocks, thighs and chest.
//! Without scans, the distance from skin point i to the nearest bone b is a substitute. The plain distance selects
//! only the trunk, where the skin is far from the spine even over the ribs. It is therefore divided by the square root
//! of its median over the points of that bone, `t_i = |x_i − b| / √(median_b)`, a compromise between absolute
//! thickness and thickness relative to the limb. Then `d_i = σ + clamp((t_i − t₀) / (t₁ − t₀))` rises from σ at `t₀` to
//! σ + 1, the upper end of the paper's colour scale, at the thickest flesh `t₁`, and is smoothed over the skin. Pinned
//! points, such as those of end effectors, stay at σ. `t₀` is found by bisection so that the layer has the requested
//! fraction of the elements: the fraction decreases with `t₀`, and each evaluation is one solve with the factorized
//! field.

use dermis_body::Bone;
use dermis_mesh::TetMesh;
use glam::Vec3;
use rayon::prelude::*;

use super::{DistanceField, Layers, LayersError, SmoothOptions, THRESHOLD, smooth};

/// Bisection steps of the search for `t₀`.
const BISECTION_STEPS: usize = 14;
/// Quantile of the distances of unpinned points that gives `t₁`, so that a few outliers do not set the scale.
const THICKEST_QUANTILE: f64 = 0.98;

/// Options of [`flesh_thickness`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleshOptions {
    /// Requested fraction of the elements in the layer. Larger layers jiggle more and are slower.
    pub element_fraction: f64,
    /// Smoothing of the relative depth over the skin.
    pub smoothing: SmoothOptions,
}

impl Default for FleshOptions {
    fn default() -> Self {
        Self { element_fraction: 0.3, smoothing: SmoothOptions::default() }
    }
}

/// Relative depths by flesh thickness and the resulting layers; see [`flesh_thickness`].
#[derive(Debug, Clone, PartialEq)]
pub struct FleshThickness {
    /// Relative depth `d_i` of each skin point.
    pub relative_depths: Vec<f64>,
    /// Layers for these depths.
    pub layers: Layers,
    /// Thickness `t₀` above which flesh is simulated.
    pub from_thickness: f64,
}

/// Computes relative depths from the distance to `bones`, such that the layer has the requested fraction of the elements,
/// or as many as possible.
///
/// `triangles` are those of the skin, indexed by skin point.
///
/// # Panics
/// If the number of pins differs from the number of skin points, or a triangle index is out of range.
pub fn flesh_thickness(
    mesh: &TetMesh,
    triangles: &[[u32; 3]],
    field: &DistanceField,
    bones: &[Bone],
    pinned: &[bool],
    options: &FleshOptions,
) -> Result<FleshThickness, LayersError> {
    let points: Vec<Vec3> = field.skin().iter().map(|&node| mesh.nodes()[node as usize]).collect();
    let distances = relative_distances(&points, bones);
    let thickest = thickest(&distances, pinned);
    let attempt = |from: f64| {
        let value = |(distance, &pinned): (&f64, &bool)| {
            // For an empty range (equal distances, no bones) the result is either 0 or 1.
            let fraction = ((distance - from) / (thickest - from).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            if pinned { THRESHOLD } else { THRESHOLD + fraction }
        };
        let raw: Vec<f64> = distances.iter().zip(pinned).map(value).collect();
        let relative_depths = smooth(&points, triangles, &raw, pinned, &options.smoothing);
        let layers = Layers::new(mesh, field, &relative_depths)?;
        Ok(FleshThickness { relative_depths, layers, from_thickness: from })
    };
    // A negative `t₀` raises even the thinnest flesh, up to a layer close to that of a uniform depth of σ + 1.
    let (mut low, mut high) = (-thickest, thickest);
    let mut best = attempt(low)?;
    for _ in 0..BISECTION_STEPS {
        if best.layers.element_fraction() <= options.element_fraction && best.from_thickness == -thickest {
            break;
        }
        let next = attempt(0.5 * (low + high))?;
        let is_small = next.layers.element_fraction() <= options.element_fraction;
        *(if is_small { &mut high } else { &mut low }) = next.from_thickness;
        let error = |found: &FleshThickness| (found.layers.element_fraction() - options.element_fraction).abs();
        if error(&next) < error(&best) {
            best = next;
        }
    }
    Ok(best)
}

/// Distance `t_i` of each point from its nearest bone, divided by the square root of the median over the points of that
/// bone.
fn relative_distances(points: &[Vec3], bones: &[Bone]) -> Vec<f64> {
    let nearest = |&at: &Vec3| {
        let distances = bones.iter().map(|bone| f64::from(bone.distance(at))).enumerate();
        distances.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::INFINITY))
    };
    let nearest: Vec<(usize, f64)> = points.par_iter().map(nearest).collect();
    let mut of_bones: Vec<Vec<f64>> = vec![Vec::new(); bones.len().max(1)];
    for &(bone, distance) in &nearest {
        of_bones[bone].push(distance);
    }
    let median = |distances: &mut Vec<f64>| {
        distances.sort_by(f64::total_cmp);
        distances.get(distances.len() / 2).copied().unwrap_or(1.0).max(f64::MIN_POSITIVE)
    };
    let medians: Vec<f64> = of_bones.iter_mut().map(median).collect();
    nearest.into_iter().map(|(bone, distance)| distance / medians[bone].sqrt()).collect()
}

fn thickest(distances: &[f64], pinned: &[bool]) -> f64 {
    let mut free: Vec<f64> = distances.iter().zip(pinned).filter(|(_, pinned)| !**pinned).map(|(d, _)| *d).collect();
    free.sort_by(f64::total_cmp);
    let last = free.len().saturating_sub(1);
    free.get((THICKEST_QUANTILE * last as f64) as usize).copied().filter(|distance| distance.is_finite()).unwrap_or(0.0)
}
