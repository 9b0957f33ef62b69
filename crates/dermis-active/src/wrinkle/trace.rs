//! Streamlines of the wrinkle field, traced triangle by triangle and exactly across edges (§4.1).
//!
//! Inside a triangle the tensors of its corners are interpolated, and the field is the eigenvector of the larger
//! eigenvalue in the plane of the triangle. Its sign follows the previous direction. Locations are recorded at uniform
//! distances on the rest shape.

use glam::{Mat3, Vec3};

use super::stretch::{Compression, trace as amount};
use super::surface::{Surface, SurfacePoint, advance, exit};

/// Maximum number of triangles that a streamline crosses.
const MAX_TRIANGLES: usize = 4000;
/// Minimum cosine between consecutive directions. A streamline ends if it bends more sharply.
const MIN_COSINE: f32 = 0.2;

/// Options of a streamline.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamlineOptions {
    /// Distance of consecutive locations on the rest shape.
    pub(super) step: f32,
    /// Compression below which a streamline ends.
    pub(super) min_compression: f32,
    /// Maximum length on the rest shape.
    pub(super) max_length: f32,
}

/// Traces a streamline from `start` while its locations satisfy `is_free`, against the sign of the field if
/// `backwards` is set. The result excludes `start`.
pub(super) fn streamline(
    surface: &Surface,
    field: &Compression,
    positions: &[Vec3],
    start: SurfacePoint,
    backwards: bool,
    options: StreamlineOptions,
    is_free: &dyn Fn(Vec3, &[Vec3]) -> bool,
) -> Vec<SurfacePoint> {
    let (mut line, mut visited) = (Vec::new(), Vec::new());
    let mut location = start;
    let mut heading: Option<Vec3> = None;
    let mut to_next = options.step;
    for _ in 0..MAX_TRIANGLES {
        let tensor = location.blend(&surface.triangles, &field.tensors);
        let corners = surface.corners(location.triangle, positions);
        let Some(along) = direction(&tensor, corners).filter(|_| amount(&tensor) >= options.min_compression) else {
            break;
        };
        let flips = heading.map_or(backwards, |heading| along.dot(heading) < 0.0);
        let along = if flips { -along } else { along };
        if heading.is_some_and(|heading| along.dot(heading) < MIN_COSINE) {
            break;
        }
        heading = Some(along);
        let Some(change) = in_weights(corners, along) else { break };
        let rest = surface.corners(location.triangle, &surface.rest);
        let speed = (rest[0] * change[0] + rest[1] * change[1] + rest[2] * change[2]).length();
        let (part, corner) = exit(location.weights, change);
        if !(speed > 0.0 && part.is_finite()) {
            break;
        }
        if part * speed > to_next {
            let part = to_next / speed;
            let weights = std::array::from_fn(|k| (location.weights[k] + part * change[k]).max(0.0));
            location = SurfacePoint { weights, ..location };
            to_next = options.step;
            let rest_position = surface.rest_of(location);
            if !is_free(rest_position, &visited) {
                break;
            }
            line.push(location);
            visited.push(rest_position);
            if line.len() as f32 * options.step > options.max_length {
                break;
            }
        } else {
            to_next -= part * speed;
            let Some(next) = surface.cross(advance(location, change, part, corner), corner) else { break };
            location = next;
        }
    }
    line
}

/// Eigenvector of the larger eigenvalue of `tensor` in the plane of a triangle; `None` if it has no direction.
fn direction(tensor: &Mat3, [a, b, c]: [Vec3; 3]) -> Option<Vec3> {
    let x = (b - a).try_normalize()?;
    let y = (c - a).reject_from_normalized(x).try_normalize()?;
    let (tx, ty) = (*tensor * x, *tensor * y);
    let (xx, xy, yy) = (tx.dot(x), tx.dot(y), ty.dot(y));
    let half = 0.5 * (xx - yy);
    if half.hypot(xy) <= 1e-3 * (xx + yy) {
        return None;
    }
    let (sine, cosine) = (0.5 * xy.atan2(half)).sin_cos();
    Some(x * cosine + y * sine)
}

/// Derivative of the barycentric coordinates along a direction in the plane of the triangle.
fn in_weights([a, b, c]: [Vec3; 3], along: Vec3) -> Option<[f32; 3]> {
    let (u, v) = (b - a, c - a);
    let (uu, uv, vv) = (u.dot(u), u.dot(v), v.dot(v));
    let determinant = uu * vv - uv * uv;
    if determinant <= 1e-10 * uu * vv {
        return None;
    }
    let (du, dv) = (along.dot(u), along.dot(v));
    let (y, z) = ((du * vv - dv * uv) / determinant, (dv * uu - du * uv) / determinant);
    Some([-y - z, y, z])
}
