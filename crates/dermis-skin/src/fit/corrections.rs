//! Progressive corrections (SMA, §6): low-rank rest-pose displacements for the error that the bones leave.
//!
//! The displacement that would make frame t exact, `d^t = (T^t)⁻¹ p^t − p̄`, is gathered for all points and frames (3N
//! × S) and reduced by a truncated singular value decomposition: `d^t ≈ Ũ q^t` (Eq. 12). The leading r columns are the
//! best basis of any rank r, so a player can use any number of them. The decomposition is computed from the S × S Gram
//! matrix, which has the same right singular vectors: S is far smaller than 3N.
//!
//! The decomposition measures displacements in the rest pose. If bones compress a part of the skin, small errors of its
//! frames are large displacements there, and truncation can increase the error of the frames. The coefficients q^t are
//! therefore solved for once more in the frames, `min ‖p^t − T^t (p̄ + Ũ q^t)‖²`, so that corrections never increase the
//! error of a frame.
//!
//! Normals (Eq. 13, second form, which engines use): `n = F(ñ + Ñ q)`, where Ñ is the least-squares fit to the same q. A
//! refined skin leaves little displacement, whose columns alone do not represent the normals; the Gram matrix of
//! the normals is then added with the weight [`NORMAL_WEIGHT`]. This reduces the error of the normals at the cost of
//! a slightly larger error of the positions. The inverse of a transform that is nearly singular at a point is
//! regularized, so that noise is not amplified.

use dermis_mesh::geometry::point_normals;
use dermis_mesh::{MeshSequence, SequenceError, Shape};
use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve;
use faer::{Accum, Mat, Par, Side};
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

use crate::blend::{blend, palette};
use crate::blocks::in_blocks;
use crate::skin::{Skin, SkinError};

/// Ridge of the inversion of a point's transform, relative to its squared size.
const RIDGE: f64 = 1e-4;
/// Minimum singular value of a column, relative to the largest; smaller ones are rounding.
const NEGLIGIBLE: f64 = 1e-7;

/// Weight of the normals of a refined skin, relative to the displacements.
pub(super) const NORMAL_WEIGHT: f64 = 0.3;

/// Error of the computation of corrections.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorrectionError {
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The result is not a valid skin.
    #[error(transparent)]
    Skin(#[from] SkinError),
    /// The decomposition failed.
    #[error("the corrections cannot be decomposed: their numbers are too large")]
    Decomposition,
}

/// Returns `skin` with corrections of rank at most `rank`, computed from `sequences` (clip k plays the k-th). The columns
/// are those of the displacements, as in the paper.
pub fn correct(skin: &Skin, sequences: &[MeshSequence], rank: usize) -> Result<Skin, CorrectionError> {
    correct_weighted(skin, sequences, rank, 0.0)
}

/// [`correct`] with columns that reduce the error of displacements plus `normal_weight` times that of the normals, each
/// relative to its size.
pub(super) fn correct_weighted(
    skin: &Skin,
    sequences: &[MeshSequence],
    rank: usize,
    normal_weight: f64,
) -> Result<Skin, CorrectionError> {
    let bare = skin.with_rank(0)?;
    let frames = sequences.iter().map(MeshSequence::frame_count).sum::<usize>();
    let rank = rank.min(frames).min(3 * skin.mesh().point_count());
    if rank == 0 {
        return Ok(bare);
    }
    let gathered = gather(&bare, sequences)?;
    let directions = right_vectors(&gathered, rank, normal_weight)?;
    if directions.ncols() == 0 {
        return Ok(bare);
    }
    let (basis, coefficients) = scale_columns(&gathered.displacements, &directions);
    let coefficients = fit_coefficients(&bare, sequences, &basis, coefficients)?;
    let normals = fit_normals(&gathered.normals, &coefficients);
    let shapes = (0..basis.ncols()).map(|k| Shape {
        name: format!("correction_{k}"),
        offsets: as_vectors(basis.col_as_slice(k)),
        normal_offsets: Some(to_vertices(&bare, &as_vectors(normals.col_as_slice(k)))),
    });
    let shapes = shapes.collect();
    let mut first = 0;
    let per_clip = sequences.iter().map(|sequence| {
        let rows = first..first + sequence.frame_count();
        first = rows.end;
        rows.flat_map(|frame| (0..coefficients.ncols()).map(move |k| (frame, k)))
            .map(|(frame, k)| coefficients[(frame, k)] as f32)
            .collect()
    });
    let per_clip = per_clip.collect();
    Ok(bare.with_corrections(shapes, per_clip)?)
}

struct Gathered {
    /// 3N × S.
    displacements: Mat<f64>,
    /// Corrections of the rest normals, 3N × S.
    normals: Mat<f64>,
}

/// Clip and frame of all frames, in order.
fn frames_of(sequences: &[MeshSequence]) -> Vec<(usize, usize)> {
    let frames = |(clip, sequence): (usize, &MeshSequence)| (0..sequence.frame_count()).map(move |frame| (clip, frame));
    sequences.iter().enumerate().flat_map(frames).collect()
}

fn gather(skin: &Skin, sequences: &[MeshSequence]) -> Result<Gathered, SequenceError> {
    let points = skin.mesh().point_count();
    let triangles = skin.mesh().triangles();
    let rest_normals = skin.stored_normals();
    let jobs = frames_of(sequences);
    let columns: Vec<(Vec<f64>, Vec<f64>)> = jobs
        .par_iter()
        .map(|&(clip, frame)| {
            let given = sequences[clip].frame(frame)?;
            let normals = point_normals(&given, triangles);
            let palette = palette(skin.rig(), &skin.clips()[clip], frame);
            let mut displacements = Vec::with_capacity(3 * points);
            let mut normal_offsets = Vec::with_capacity(3 * points);
            for point in 0..points {
                let transform = blend(skin.rig(), &palette, point);
                let inverse = ridge_inverse(transform.matrix3);
                let rest = skin.mesh().points()[point].as_dvec3();
                let residual = given[point].as_dvec3() - transform.transform_point3(rest);
                displacements.extend((inverse * residual).to_array()); // d^t of Eq. 12
                let pulled_back = (inverse * normals[point].as_dvec3()).normalize_or_zero();
                normal_offsets.extend((pulled_back - rest_normals[point].as_dvec3()).to_array()); // Eq. 13
            }
            Ok((displacements, normal_offsets))
        })
        .collect::<Result<_, SequenceError>>()?;
    Ok(Gathered {
        displacements: Mat::from_fn(3 * points, jobs.len(), |row, column| columns[column].0[row]),
        normals: Mat::from_fn(3 * points, jobs.len(), |row, column| columns[column].1[row]),
    })
}

/// (`FᵀF` + μI)⁻¹Fᵀ: the inverse if F is well conditioned, and bounded otherwise.
fn ridge_inverse(linear: DMat3) -> DMat3 {
    let transposed = linear.transpose();
    let square = transposed * linear;
    let size = (square.x_axis.x + square.y_axis.y + square.z_axis.z) / 3.0;
    // If even the smallest stretch is well conditioned, the plain inverse makes full rank exact.
    let sound = linear.determinant().abs() > 0.05 * size.powf(1.5);
    if sound {
        return linear.inverse();
    }
    let ridge = RIDGE * size + f64::MIN_POSITIVE;
    (square + DMat3::from_diagonal(DVec3::splat(ridge))).inverse() * transposed
}

/// Right singular vectors of the `rank` largest singular values of displacements and normals, each relative to its
/// sum of squares.
fn right_vectors(gathered: &Gathered, rank: usize, normal_weight: f64) -> Result<Mat<f64>, CorrectionError> {
    let mut gram = gram(&gathered.displacements);
    let frames = gram.ncols();
    let size = trace(&gram);
    if size <= 0.0 {
        return Ok(Mat::zeros(frames, 0));
    }
    let of_normals = self::gram(&gathered.normals);
    let normal_size = trace(&of_normals);
    if normal_size > 0.0 {
        gram += of_normals * faer::Scale(normal_weight * size / normal_size);
    }
    let eigen = gram.self_adjoint_eigen(Side::Lower).map_err(|_| CorrectionError::Decomposition)?;
    // Eigenvalues are ascending.
    let value = |k: usize| eigen.S()[frames - 1 - k].max(0.0).sqrt();
    let kept = (0..rank).take_while(|&k| value(k) > NEGLIGIBLE * value(0) && value(k) > 0.0).count();
    Ok(Mat::from_fn(frames, kept, |row, k| eigen.U()[(row, frames - 1 - k)]))
}

/// `MᵀM`, summed in blocks of rows.
fn gram(matrix: &Mat<f64>) -> Mat<f64> {
    let columns = matrix.ncols();
    let parts = in_blocks(matrix.nrows(), |rows| {
        let block = matrix.as_ref().subrows(rows.start, rows.len());
        let mut gram = Mat::<f64>::zeros(columns, columns);
        matmul(gram.as_mut(), Accum::Replace, block.transpose(), block, 1.0, Par::Seq);
        gram
    });
    parts.into_iter().fold(Mat::<f64>::zeros(columns, columns), |sum, part| sum + part)
}

fn trace(matrix: &Mat<f64>) -> f64 {
    (0..matrix.ncols()).map(|k| matrix[(k, k)]).sum()
}

/// Basis and coefficients with D ≈ basis · coefficientsᵀ, scaled so that the largest coefficient of each column has
/// magnitude 1, the usual range of weights in engines.
fn scale_columns(matrix: &Mat<f64>, vectors: &Mat<f64>) -> (Mat<f64>, Mat<f64>) {
    let mut basis = matrix * vectors;
    let mut coefficients = vectors.clone();
    for k in 0..vectors.ncols() {
        let largest =
            vectors.col_as_slice(k).iter().fold(0.0f64, |most, q| if q.abs() > most.abs() { *q } else { most });
        basis.col_as_slice_mut(k).iter_mut().for_each(|x| *x *= largest);
        coefficients.col_as_slice_mut(k).iter_mut().for_each(|q| *q /= largest);
    }
    (basis, coefficients)
}

/// Coefficients with the smallest error of the frames for a given basis; those of `coefficients` in frames that do not
/// determine them.
fn fit_coefficients(
    skin: &Skin,
    sequences: &[MeshSequence],
    basis: &Mat<f64>,
    mut coefficients: Mat<f64>,
) -> Result<Mat<f64>, SequenceError> {
    let rank = basis.ncols();
    let fitted: Vec<Option<Vec<f64>>> = frames_of(sequences)
        .par_iter()
        .map(|&(clip, frame)| {
            let given = sequences[clip].frame(frame)?;
            let palette = palette(skin.rig(), &skin.clips()[clip], frame);
            let (mut square, mut right) = (Mat::<f64>::zeros(rank, rank), Mat::<f64>::zeros(rank, 1));
            let mut moved = vec![DVec3::ZERO; rank];
            for (point, rest) in skin.mesh().points().iter().enumerate() {
                let transform = blend(skin.rig(), &palette, point);
                let residual = given[point].as_dvec3() - transform.transform_point3(rest.as_dvec3());
                for (k, moved) in moved.iter_mut().enumerate() {
                    *moved = transform.matrix3 * DVec3::from_slice(&basis.col_as_slice(k)[3 * point..]);
                }
                for row in 0..rank {
                    right[(row, 0)] += moved[row].dot(residual);
                    (0..=row).for_each(|column| square[(row, column)] += moved[row].dot(moved[column]));
                }
            }
            Ok(solve_positive(square, &right).map(|q| q.col_as_slice(0).to_vec()))
        })
        .collect::<Result<_, SequenceError>>()?;
    for (frame, q) in fitted.into_iter().enumerate() {
        for (k, q) in q.into_iter().flatten().enumerate() {
            coefficients[(frame, k)] = q;
        }
    }
    Ok(coefficients)
}

/// Solution of a system with a positive definite matrix, given by its lower triangle; `None` if it is not definite.
fn solve_positive(mut matrix: Mat<f64>, right: &Mat<f64>) -> Option<Mat<f64>> {
    let ridge = NEGLIGIBLE * NEGLIGIBLE * trace(&matrix);
    (0..matrix.ncols()).for_each(|k| matrix[(k, k)] += ridge);
    let solution = matrix.llt(Side::Lower).ok()?.solve(right);
    let is_finite = (0..solution.ncols()).all(|k| solution.col_as_slice(k).iter().all(|x| x.is_finite()));
    is_finite.then_some(solution)
}

/// Least-squares Ñ of `normals ≈ Ñ · coefficientsᵀ`.
fn fit_normals(normals: &Mat<f64>, coefficients: &Mat<f64>) -> Mat<f64> {
    let right = coefficients.transpose() * normals.transpose();
    solve_positive(gram(coefficients), &right)
        .map_or_else(|| Mat::zeros(normals.nrows(), coefficients.ncols()), |solution| solution.transpose().to_owned())
}

fn as_vectors(column: &[f64]) -> Vec<Vec3> {
    column.chunks_exact(3).map(|p| DVec3::from_slice(p).as_vec3()).collect()
}

fn to_vertices(skin: &Skin, per_point: &[Vec3]) -> Vec<Vec3> {
    skin.mesh().layout().map_or_else(|| per_point.to_vec(), |layout| layout.split(per_point))
}
