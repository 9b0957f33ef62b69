//! Input of all fits: the positions of all points in all frames, as one matrix.
//!
//! Column i is the trajectory of point i: x, y, z of frame 0, of frame 1, … Positions are centred and scaled so that
//! the rest pose has mean 0 and RMS radius 1, which keeps normal equations well conditioned in any unit and at any
//! location.

use dermis_mesh::{MeshSequence, SequenceError};
use faer::Mat;
use glam::{DVec3, Vec3};

/// Trajectories of N points over S frames (of one sequence, or of several concatenated).
#[derive(Debug, Clone)]
pub struct Trajectories {
    /// 3S × N, normalized.
    pub positions: Mat<f64>,
    /// Given rest pose, normalized.
    pub rest: Vec<DVec3>,
    /// ‖`p_i‖²` of each column.
    pub squared_norms: Vec<f64>,
    /// ‖P − `P_timeAverage‖²_F`, normalized: the reference of `distortion_percent`.
    pub variation: f64,
    /// Normalized = (given − centre) / scale.
    pub centre: DVec3,
    /// See `centre`.
    pub scale: f64,
}

impl Trajectories {
    /// Gathers the frames of `sequences`, which have the same topology; `rest` is the pose to deform.
    pub fn gather(sequences: &[MeshSequence], rest: &[Vec3]) -> Result<Self, SequenceError> {
        let points = rest.len();
        let frames: usize = sequences.iter().map(MeshSequence::frame_count).sum();
        let centre = rest.iter().map(|p| p.as_dvec3()).sum::<DVec3>() / points.max(1) as f64;
        let mean_square =
            rest.iter().map(|p| (p.as_dvec3() - centre).length_squared()).sum::<f64>() / points.max(1) as f64;
        let scale = if mean_square > 0.0 { mean_square.sqrt() } else { 1.0 };
        let normalize = |p: Vec3| (p.as_dvec3() - centre) / scale;
        let mut positions: Mat<f64> = Mat::zeros(3 * frames, points);
        let mut row = 0;
        let mut buffer = vec![Vec3::ZERO; points];
        for sequence in sequences {
            for frame in 0..sequence.frame_count() {
                sequence.read_into(frame, &mut buffer)?;
                for (point, &position) in buffer.iter().enumerate() {
                    let column = positions.col_as_slice_mut(point);
                    column[row..row + 3].copy_from_slice(&normalize(position).to_array());
                }
                row += 3;
            }
        }
        let squared_norms = columns(&positions).map(|column| column.iter().map(|x| x * x).sum()).collect();
        let variations: Vec<f64> = columns(&positions).map(variation_of).collect();
        Ok(Self {
            rest: rest.iter().map(|&p| normalize(p)).collect(),
            squared_norms,
            variation: variations.iter().sum(),
            positions,
            centre,
            scale,
        })
    }

    /// Number of points N.
    pub fn point_count(&self) -> usize {
        self.positions.ncols()
    }

    /// Number of frames S.
    pub fn frame_count(&self) -> usize {
        self.positions.nrows() / 3
    }

    /// Trajectory of one point.
    pub fn of(&self, point: usize) -> &[f64] {
        self.positions.col_as_slice(point)
    }

    /// `distortion_percent` of a fit whose squared error, normalized, is `squared_error`; 0 without motion.
    pub fn distortion_percent(&self, squared_error: f64) -> f64 {
        if self.variation > 0.0 { 100.0 * (squared_error.max(0.0) / self.variation).sqrt() } else { 0.0 }
    }
}

fn columns(matrix: &Mat<f64>) -> impl Iterator<Item = &[f64]> {
    (0..matrix.ncols()).map(|column| matrix.col_as_slice(column))
}

/// `Σ_t` ‖p^t − `mean_t` p‖² of one trajectory.
fn variation_of(trajectory: &[f64]) -> f64 {
    let frames = (trajectory.len() / 3).max(1) as f64;
    let mean = trajectory.chunks_exact(3).map(DVec3::from_slice).sum::<DVec3>() / frames;
    trajectory.chunks_exact(3).map(|p| (DVec3::from_slice(p) - mean).length_squared()).sum()
}
