//! Other representations of a motion, for comparison: raw positions, a zipped Alembic file, and principal components.

use std::io::Write;
use std::sync::Arc;

use dermis_io::{WriteOptions, write};
use dermis_math::progress::NoProgress;
use dermis_math::symmetric_eigen::symmetric_eigen;
use dermis_mesh::glam::{DVec3, Vec3};
use dermis_mesh::{Clip, MeshSequence, Object, Rig, Shape, SkinWeights};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use rayon::prelude::*;
use serde::Serialize;

use super::{PackBudget, PackOptions, pack};
use crate::error::{Error, PackError, Result};
use crate::files::ToScene;

/// Number of ranks above the smallest that are tried: they leave more of the budget to quantization.
const MORE_RANKS: usize = 4;

/// Sizes of a motion in other forms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Positions of all frames and the triangles, as floats and 32-bit indices.
    pub raw: Rival,
    /// An Alembic file of the positions in all frames, compressed as in a `.zip` file.
    pub zipped_alembic: Rival,
    /// Principal components of the frames (Alexa & Müller 2000), packed like the asset, with the same attributes.
    pub principal_components: Rival,
}

/// One form of a motion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rival {
    /// Size in bytes.
    pub bytes: usize,
    /// E in percent.
    pub distortion_percent: f64,
    /// Number of principal components; 0 for other forms.
    pub rank: usize,
}

/// Sizes of the frames of `sequence` in other forms, those with losses at a distortion of at most `percent`.
pub fn compare(sequence: &MeshSequence, percent: f64) -> Result<Comparison> {
    let exact = |bytes: usize| Rival { bytes, distortion_percent: 0.0, rank: 0 };
    let mesh = sequence.mesh();
    let raw = 12 * (sequence.frame_count() * sequence.point_count() + mesh.triangle_count());
    Ok(Comparison {
        raw: exact(raw),
        zipped_alembic: exact(zipped_alembic(sequence)?),
        principal_components: PrincipalComponents::new(sequence)?.smallest(percent)?,
    })
}

fn zipped_alembic(sequence: &MeshSequence) -> Result<usize> {
    let folder = tempfile::tempdir().map_err(dermis_io::Error::from)?;
    let file = folder.path().join("frames.abc");
    // Without attributes: the writer would store normals for each frame.
    let bare = sequence.with_mesh(Arc::new(sequence.mesh().without_layout()))?;
    write(&file, &bare.to_scene(), &WriteOptions::default(), &NoProgress)?;
    let bytes = std::fs::read(&file).map_err(dermis_io::Error::from)?;
    let mut zipped = ZlibEncoder::new(Vec::new(), Compression::best());
    zipped.write_all(&bytes).map_err(dermis_io::Error::from)?;
    Ok(zipped.finish().map_err(dermis_io::Error::from)?.len())
}

/// Principal components of the frames about their mean.
struct PrincipalComponents<'a> {
    sequence: &'a MeshSequence,
    mean: Vec<DVec3>,
    centred: Vec<Vec<DVec3>>,
    /// Squared singular values, descending.
    energies: Vec<f64>,
    /// Unit vectors over the frames.
    directions: Vec<Vec<f64>>,
}

impl<'a> PrincipalComponents<'a> {
    fn new(sequence: &'a MeshSequence) -> Result<Self> {
        let count = sequence.frame_count();
        let mut centred = Vec::with_capacity(count);
        for frame in 0..count {
            centred.push(sequence.frame(frame)?.iter().map(|point| point.as_dvec3()).collect::<Vec<DVec3>>());
        }
        let mean: Vec<DVec3> = (0..sequence.point_count())
            .map(|point| centred.iter().map(|frame| frame[point]).sum::<DVec3>() / count as f64)
            .collect();
        for frame in &mut centred {
            frame.iter_mut().zip(&mean).for_each(|(point, mean)| *point -= *mean);
        }
        let product = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
        let gram: Vec<f64> = (0..count * count)
            .into_par_iter()
            .map(|at| if at % count < at / count { 0.0 } else { product(&centred[at / count], &centred[at % count]) })
            .collect();
        let eigen = symmetric_eigen(&gram, count);
        let energies = eigen.values.into_iter().map(|value| value.max(0.0)).collect();
        Ok(Self { sequence, mean, centred, energies, directions: eigen.vectors })
    }

    /// The smallest packed file within a distortion of `percent`.
    fn smallest(&self, percent: f64) -> Result<Rival> {
        let total: f64 = self.energies.iter().sum();
        let lost =
            |rank: usize| 100.0 * (self.energies[rank..].iter().sum::<f64>() / total.max(f64::MIN_POSITIVE)).sqrt();
        let first = (0..self.energies.len()).find(|&rank| lost(rank) < percent).unwrap_or(self.energies.len()).max(1);
        let mut best: Option<Rival> = None;
        for rank in first..(first + MORE_RANKS).min(self.energies.len() + 1) {
            let left = (percent * percent - lost(rank) * lost(rank)).max(0.0).sqrt();
            let options = PackOptions { budget: PackBudget::Error(left), shape_normals: false, keep_order: false };
            let packed = match pack(&self.object(rank)?, &options) {
                Ok(packed) => packed,
                // A rank whose error uses nearly all of the budget.
                Err(Error::Pack(PackError::TooExact { .. } | PackError::Error(_))) => continue,
                Err(error) => return Err(error),
            };
            let own = packed.measures.distortion_percent;
            let rival = Rival { bytes: packed.glb.len(), distortion_percent: own.hypot(lost(rank)), rank };
            if best.is_none_or(|best| rival.bytes < best.bytes) {
                best = Some(rival);
            }
        }
        best.ok_or_else(|| PackError::TooExact { asked: percent, reached: lost(self.energies.len().min(first)) }.into())
    }

    /// An object with the first `rank` components as shapes, whose weights have a root mean square of 1.
    fn object(&self, rank: usize) -> Result<Object> {
        let count = self.sequence.frame_count();
        let size = (count as f64).sqrt();
        let shape = |k: usize| {
            let offset = |point: usize| {
                let sum: DVec3 = (0..count).map(|frame| self.directions[k][frame] * self.centred[frame][point]).sum();
                (sum / size).as_vec3()
            };
            Shape {
                name: format!("component_{k}"),
                offsets: (0..self.mean.len()).into_par_iter().map(offset).collect(),
                normal_offsets: None,
            }
        };
        let points: Vec<Vec3> = self.mean.iter().map(|point| point.as_vec3()).collect();
        // With the same attributes as the asset.
        let mesh = Arc::new(self.sequence.mesh().with_points(points)?);
        let shapes: Vec<Shape> = (0..rank).map(shape).collect();
        let rig = Rig::new(&mesh, Vec::new(), SkinWeights::default(), shapes)?;
        let weights = (0..count).flat_map(|frame| (0..rank).map(move |k| (frame, k)));
        let weights = weights.map(|(frame, k)| (size * self.directions[k][frame]) as f32).collect();
        let clip = Clip::new(&rig, "frames", self.sequence.frame_rate_hz(), Vec::new(), weights)?;
        Ok(Object::of_rig("components", mesh, rig, vec![clip]))
    }
}
