//! Displacement maps of a whole cloth animation, made frame by frame.

use std::sync::Arc;

use dermis_mesh::{MeshError, Note, SequenceError, TriMesh};

use super::cloth::Frames;
use super::{MapLayout, Samples, uv_triangles, with_atlas};

/// Displacement maps of a [`WrinkledCloth`](super::WrinkledCloth).
#[derive(Debug)]
pub struct HeightMaps {
    /// Texels a side.
    pub size: usize,
    /// The cloth with the UVs that were made for it; `None` if it has its own.
    pub atlas: Option<Arc<TriMesh>>,
    /// What was assumed or left out.
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
        let samples = frames.layer.samples(layout.spots.clone());
        let (outside, overlapping) = (layout.outside, layout.overlapping);
        let notes = [
            (outside > 0, format!("UVs of {outside} triangles reach out of the map and are cut off")),
            (overlapping > 0, format!("UVs overlap in {overlapping} texels; each shows the first triangle")),
        ];
        let notes = notes.into_iter().filter(|(holds, _)| *holds).map(|(_, message)| Note::new(message)).collect();
        Ok(Self { size, atlas, notes, frames, layout, samples })
    }

    /// The number of maps.
    pub fn frame_count(&self) -> usize {
        self.frames.motion.frame_count()
    }

    /// The heights of `frame` in scene units, `size` × `size` from the upper left corner.
    pub fn heights(&self, frame: usize) -> Result<Vec<f32>, SequenceError> {
        let Frames { layer, motion, curves, .. } = &*self.frames;
        let positions = motion.frame(frame)?;
        Ok(self.layout.image(&layer.apply(&positions, &curves[frame], &self.samples).heights))
    }

    /// The bounds of all heights.
    pub fn range(&self) -> [f32; 2] {
        let highest = self.frames.layer.highest();
        [-highest, highest]
    }
}
