//! Access to the transform of a bone in a frame, in the 3S × 4B matrix of all transforms.

use faer::Mat;
use glam::DVec3;

/// Columns of a 3×4 matrix.
pub(crate) type Affine = [DVec3; 4];

pub(crate) fn affine_at(transforms: &Mat<f64>, frame: usize, bone: usize) -> Affine {
    std::array::from_fn(|k| DVec3::from_slice(&transforms.col_as_slice(4 * bone + k)[3 * frame..3 * frame + 3]))
}

pub(crate) fn set_affine(transforms: &mut Mat<f64>, frame: usize, bone: usize, affine: Affine) {
    for (k, column) in affine.into_iter().enumerate() {
        transforms.col_as_slice_mut(4 * bone + k)[3 * frame..3 * frame + 3].copy_from_slice(&column.to_array());
    }
}
