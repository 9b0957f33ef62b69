//! Displacement maps of a cloth animation, computed frame by frame.

use std::sync::Arc;

use dermis_mesh::{MeshError, Note, SequenceError, TriMesh};

use super::cloth::Frames;
use super::{MapLayout, Samples, uv_triangles, with_atlas};

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
    samples: Samples,
}

impl HeightMaps {
    pub(super) fn new(frames: Arc<Frames>, size: usize) -> Result<Self, MeshError> {
        let cloth = frames.motion.mesh();
        let atlas = match uv_triangles(cloth) {
            Some(_) => None,
            None => Some(Arc::new(with_atlas(cloth)?)),
        };
        let uvs = uv_triangles(atlas.as_deref().unwrap_or(cloth)).unwrap_or_default();
        let layout = MapLayout::new(&uvs, &frames.layer.reached(&frames.curves), size);
        let samples = frames.layer.samples(layout.locations.clone());
        let (outside, overlapping) = (layout.outside, layout.overlapping);
        let notes = [
            (outside > 0, format!("{outside} triangles have UVs outside of the map and are clipped")),
            (overlapping > 0, format!("UVs overlap in {overlapping} texels; the first triangle is used")),
        ];
        let notes = notes.into_iter().filter(|(holds, _)| *holds).map(|(_, message)| Note::new(message)).collect();
        Ok(Self { size, atlas, notes, frames, layout, samples })
    }

    /// Number of maps.
    pub fn frame_count(&self) -> usize {
        self.frames.motion.frame_count()
    }

    /// Heights of `frame` in scene units, `size` × `size` values from the upper left corner.
    pub fn heights(&self, frame: usize) -> Result<Vec<f32>, SequenceError> {
        let Frames { layer, motion, curves, .. } = &*self.frames;
        let positions = motion.frame(frame)?;
        Ok(self.layout.image(&layer.apply(&positions, &curves[frame], &self.samples).heights))
    }

    /// Bounds of all heights.
    pub fn range(&self) -> [f32; 2] {
        let max_height = self.frames.layer.max_height();
        [-max_height, max_height]
    }
}
