//! Skin posed by the server in double precision, with the stretch of its surface; a reference for the GPU.

use dermis::mesh::geometry::triangle_areas;
use dermis::mesh::glam::Vec3;
use dermis::mesh::pose::pose_into;
use dermis::mesh::{Clip, RigError, SequenceError};
use dermis::skin::Skin;

use super::{LiveDeformer, LiveFrame, Parameter, Scalar};

/// Maximum factor of the corrections.
const MAX_STRENGTH: f64 = 3.0;

/// Poses one clip of a skin, with corrections up to a rank and multiplied by a factor.
#[derive(Debug)]
pub struct PosedSkin {
    skin: Skin,
    clip: Clip,
    posed: Clip,
    rest_areas: Vec<f64>,
    rank: f64,
    strength: f64,
}

impl PosedSkin {
    /// Creates the deformer for clip number `clip` of `skin`; `None` if the clip does not exist.
    pub fn new(skin: Skin, clip: usize) -> Option<Self> {
        let clip = Clip::clone(skin.clips().get(clip)?);
        let rest_areas = triangle_areas(skin.mesh().points(), skin.mesh().triangles());
        Some(Self { rank: skin.rank() as f64, strength: 1.0, posed: clip.clone(), skin, clip, rest_areas })
    }

    fn adjusted(&self) -> Result<Clip, RigError> {
        let frames = || 0..self.clip.frame_count();
        let transforms = frames().flat_map(|frame| self.clip.transforms(frame).iter().copied()).collect();
        let adjust = |(shape, &weight): (usize, &f32)| {
            if (shape as f64) < self.rank { weight * self.strength as f32 } else { 0.0 }
        };
        let weights =
            frames().flat_map(|frame| self.clip.shape_weights(frame).iter().enumerate().map(adjust)).collect();
        Clip::new(self.skin.rig(), self.clip.name(), self.clip.frame_rate_hz(), transforms, weights)
    }

    /// For each point, the relative change of the area of its triangles.
    fn stretch(&self, positions: &[Vec3]) -> Vec<f32> {
        let triangles = self.skin.mesh().triangles();
        let mut areas = vec![(0.0, 0.0); positions.len()];
        for ((triangle, area), rest) in triangles.iter().zip(triangle_areas(positions, triangles)).zip(&self.rest_areas)
        {
            for &point in triangle {
                areas[point as usize].0 += area;
                areas[point as usize].1 += rest;
            }
        }
        areas.into_iter().map(|(now, rest)| if rest > 0.0 { (now / rest - 1.0) as f32 } else { 0.0 }).collect()
    }
}

impl LiveDeformer for PosedSkin {
    fn parameters(&self) -> Vec<Parameter> {
        let rank = self.skin.rank() as f64;
        if rank == 0.0 {
            return Vec::new();
        }
        vec![
            Parameter::slider("rank", "Rank", [0.0, rank], 1.0, self.rank),
            Parameter::slider("strength", "Correction strength", [0.0, MAX_STRENGTH], 0.05, self.strength),
        ]
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        match name {
            "rank" => self.rank = value.clamp(0.0, self.skin.rank() as f64),
            "strength" => self.strength = value.clamp(0.0, MAX_STRENGTH),
            _ => return false,
        }
        // Scaled weights of a valid clip are finite, so the clip is valid.
        if let Ok(clip) = self.adjusted() {
            self.posed = clip;
        }
        true
    }

    fn frame_count(&self) -> usize {
        self.clip.frame_count()
    }

    fn scalar(&self) -> Option<Scalar> {
        Some(Scalar { label: "area stretch", unit: String::new(), signed: true, range: None })
    }

    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError> {
        let mut positions = vec![Vec3::ZERO; self.skin.mesh().point_count()];
        pose_into(self.skin.mesh(), self.skin.rig(), &self.posed, frame, &mut positions);
        let scalars = self.stretch(&positions);
        Ok(LiveFrame { positions, scalars, ..LiveFrame::default() })
    }
}
