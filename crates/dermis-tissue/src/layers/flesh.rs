//! A thickness of the layer from the shape of the body: thick flesh gets a thick layer.
//!
//! The paper fits `d` to scans, which leaves most of the skin at σ and raises belly, buttocks, thighs and chest. Without
//! scans, the distance from skin vertex i to the nearest bone b says the same. Taken alone it finds the trunk only, which
//! is far from the spine also where ribs are; so it is divided by the root of its median over that bone's vertices,
//! `t_i = |x_i − b| / √(median_b)`, half way to what stands out on each limb. Then `d_i = σ + clamp((t_i − t₀) / (t₁ − t₀))`,
//! from σ at `t₀` to σ + 1, the paper's colour scale, at the body's thickest flesh `t₁`, smoothed over the skin. Pinned
//! vertices, as those of end effectors, stay at σ. `t₀` is searched by halving until the layer has the asked part
//! of the elements: the part falls as `t₀` grows, and each try is one solve of the prepared field.

use dermis_body::Bone;
use dermis_mesh::TetMesh;
use glam::Vec3;
use rayon::prelude::*;

use super::{DistanceField, Layers, LayersError, SmoothOptions, THRESHOLD, smooth};

/// Halvings of the interval of `t₀`.
const HALVINGS: usize = 14;
/// `t₁` is this quantile of the distances that are not pinned: a few vertices far out must not set the scale.
const THICKEST: f64 = 0.98;

/// Options of [`flesh_thickness`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleshOptions {
    /// The part of the elements that the layer should have. Larger ones jiggle more and cost more.
    pub element_fraction: f64,
    /// How the thickness is smoothed over the skin.
    pub smoothing: SmoothOptions,
}

impl Default for FleshOptions {
    fn default() -> Self {
        Self { element_fraction: 0.3, smoothing: SmoothOptions::default() }
    }
}

/// A thickness and its layers; see [`flesh_thickness`].
#[derive(Debug, Clone, PartialEq)]
pub struct FleshThickness {
    /// `d_i` of each skin vertex.
    pub skin_values: Vec<f64>,
    /// The layers that it gives.
    pub layers: Layers,
    /// The thickness `t₀` from which on flesh is simulated.
    pub from_thickness: f64,
}

/// A thickness by distance to `bones` whose layer has the asked part of the elements, or all it can have.
///
/// `triangles` are those of the skin, by skin vertex.
///
/// # Panics
/// If there is not one pin per skin vertex, or a triangle names a vertex that does not exist.
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
            // With no range left (one distance, no bones) everything or nothing is thick.
            let part = ((distance - from) / (thickest - from).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            if pinned { THRESHOLD } else { THRESHOLD + part }
        };
        let raw: Vec<f64> = distances.iter().zip(pinned).map(value).collect();
        let skin_values = smooth(&points, triangles, &raw, pinned, &options.smoothing);
        let layers = Layers::new(mesh, field, &skin_values)?;
        Ok(FleshThickness { skin_values, layers, from_thickness: from })
    };
    // Below zero the ramp starts before the skin does, and the layer grows towards that of a uniform σ + 1.
    let (mut low, mut high) = (-thickest, thickest);
    let mut best = attempt(low)?;
    for _ in 0..HALVINGS {
        if best.layers.element_fraction() <= options.element_fraction && best.from_thickness == -thickest {
            break;
        }
        let next = attempt(0.5 * (low + high))?;
        let is_small = next.layers.element_fraction() <= options.element_fraction;
        *(if is_small { &mut high } else { &mut low }) = next.from_thickness;
        let miss = |found: &FleshThickness| (found.layers.element_fraction() - options.element_fraction).abs();
        if miss(&next) < miss(&best) {
            best = next;
        }
    }
    Ok(best)
}

/// The distance of each point from its nearest bone, over the root of the median of that bone's points.
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
    free.get((THICKEST * last as f64) as usize).copied().filter(|distance| distance.is_finite()).unwrap_or(0.0)
}
