//! Displacement maps of a cloth animation, computed frame by frame.

use std::sync::Arc;

use dermis_mesh::{MeshError, Note, SequenceError, TriMesh};
use rayon::prelude::*;

use super::buckle::weights_in;
use super::frames::{Frames, Shape, StoredHeights};
use super::{MapLayout, Samples, SurfacePoint, uv_triangles, with_atlas};

/// Displacement maps of a [`WrinkledCloth`](super::WrinkledCloth).
#[derive(Debug)]
pub struct HeightMaps {
    /// Texels per side.
    pub size: usize,
    /// Cloth with the generated UVs; `None` if it has its own.
    pub atlas: Option<Arc<TriMesh>>,
    /// Assumptions made and data dropped.
    pub notes: Vec<Note>,
    frames: Arc<Frames>,
    layout: MapLayout,
    texels: Texels,
}

/// Sampled locations of the map.
#[derive(Debug)]
enum Texels {
    /// Locations on the coarse cloth.
    Samples(Samples),
    /// Points of the refined cloth with their weights.
    Refined(Vec<([u32; 3], [f32; 3])>),
}

impl HeightMaps {
    pub(super) fn new(frames: Arc<Frames>, size: usize) -> Result<Self, MeshError> {
        let cloth = frames.motion.mesh();
        let atlas = match uv_triangles(cloth) {
            Some(_) => None,
            None => Some(Arc::new(with_atlas(cloth)?)),
        };
        let uvs = uv_triangles(atlas.as_deref().unwrap_or(cloth)).unwrap_or_default();
        let near = match &frames.shape {
            Shape::Curves { curves, .. } => frames.layer.reached(curves),
            Shape::Heights(_) => vec![false; cloth.triangle_count()],
        };
        let layout = MapLayout::new(&uvs, &near, size);
        let texels = match &frames.shape {
            Shape::Curves { .. } => Texels::Samples(frames.layer.samples(layout.locations.clone())),
            Shape::Heights(stored) => Texels::Refined(refined_weights(&layout.locations, stored, cloth.triangles())),
        };
        let (outside, overlapping) = (layout.outside, layout.overlapping);
        let notes = [
            (outside > 0, format!("{outside} triangles have UVs outside of the map and are clipped")),
            (overlapping > 0, format!("UVs overlap in {overlapping} texels; the first triangle is used")),
        ];
        let notes = notes.into_iter().filter(|(holds, _)| *holds).map(|(_, message)| Note::new(message)).collect();
        Ok(Self { size, atlas, notes, frames, layout, texels })
    }

    /// Number of maps.
    pub fn frame_count(&self) -> usize {
        self.frames.motion.frame_count()
    }

    /// Heights of `frame` in scene units, `size` × `size` values from the upper left corner.
    pub fn heights(&self, frame: usize) -> Result<Vec<f32>, SequenceError> {
        let heights = match (&self.frames.shape, &self.texels) {
            (Shape::Curves { curves, .. }, Texels::Samples(samples)) => {
                let positions = self.frames.motion.frame(frame)?;
                self.frames.layer.apply(&positions, &curves[frame], samples).heights
            }
            (Shape::Heights(stored), Texels::Refined(texels)) => {
                let heights = stored.heights(frame);
                let blend = |(points, weights): &([u32; 3], [f32; 3])| {
                    (0..3).map(|k| weights[k] * heights[points[k] as usize]).sum()
                };
                texels.iter().map(blend).collect()
            }
            _ => vec![0.0; self.layout.locations.len()],
        };
        Ok(self.layout.image(&heights))
    }

    /// Bounds of all heights.
    pub fn range(&self) -> [f32; 2] {
        let max_height = self.frames.max_height();
        [-max_height, max_height]
    }
}

/// Refined triangle and barycentric coordinates of each location on the coarse cloth.
fn refined_weights(
    locations: &[SurfacePoint],
    stored: &StoredHeights,
    coarse: &[[u32; 3]],
) -> Vec<([u32; 3], [f32; 3])> {
    let refined = &stored.refined;
    let mut children = vec![Vec::new(); coarse.len()];
    for (corners, &origin) in refined.mesh.triangles().iter().zip(&refined.origins) {
        let inside = corners.map(|point| weights_in(refined.locations[point as usize], origin, coarse));
        children[origin as usize].push((*corners, inside));
    }
    let of_location = |location: &SurfacePoint| {
        let parts = children[location.triangle as usize].iter();
        let found = parts.map(|(corners, inside)| (*corners, within(*inside, location.weights)));
        let least = |weights: &[f32; 3]| weights.iter().copied().fold(f32::INFINITY, f32::min);
        let best = found.max_by(|a, b| least(&a.1).total_cmp(&least(&b.1)));
        best.map_or(([0; 3], [0.0; 3]), |(corners, weights)| (corners, weights.map(|weight| weight.clamp(0.0, 1.0))))
    };
    locations.par_iter().map(of_location).collect()
}

/// Coordinates of `weights` in a triangle whose corners are given by weights in the same coarse triangle.
fn within([a, b, c]: [[f32; 3]; 3], weights: [f32; 3]) -> [f32; 3] {
    let plane = |from: [f32; 3], to: [f32; 3]| [to[1] - from[1], to[2] - from[2]];
    let cross = |u: [f32; 2], v: [f32; 2]| u[0] * v[1] - u[1] * v[0];
    let (ab, ac, ap) = (plane(a, b), plane(a, c), plane(a, weights));
    let area = cross(ab, ac);
    let (y, z) = (cross(ap, ac) / area, cross(ab, ap) / area);
    [1.0 - y - z, y, z]
}
