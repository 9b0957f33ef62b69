//! Streamlines of the wrinkle field, walked triangle by triangle, exactly across edges (§4.1).
//!
//! Inside a triangle the tensors of its corners are blended and the field is the larger eigenvector in the triangle's
//! plane; its sign follows the way so far. Places are kept at even distances on the rest shape.

use glam::{Mat3, Vec3};

use super::stretch::{Compression, trace as amount};
use super::surface::{Spot, Surface, advance, exit};

/// Triangles that a streamline crosses at most.
const MOST_TRIANGLES: usize = 4000;
/// Below this cosine a line has turned back.
const SHARPEST_TURN: f32 = 0.2;

/// How streamlines are followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Follow {
    /// The distance of places, on the rest shape.
    pub(super) step: f32,
    /// The compression below which a line ends.
    pub(super) least: f32,
    /// The longest line, on the rest shape.
    pub(super) longest: f32,
}

/// The places from `start` on, itself excluded, that `is_free`; against the field's own sign where `backwards`.
pub(super) fn streamline(
    surface: &Surface,
    field: &Compression,
    positions: &[Vec3],
    start: Spot,
    backwards: bool,
    follow: Follow,
    is_free: &dyn Fn(Vec3, &[Vec3]) -> bool,
) -> Vec<Spot> {
    let (mut line, mut places) = (Vec::new(), Vec::new());
    let mut spot = start;
    let mut heading: Option<Vec3> = None;
    let mut to_next = follow.step;
    for _ in 0..MOST_TRIANGLES {
        let tensor = spot.blend(&surface.triangles, &field.tensors);
        let corners = surface.corners(spot.triangle, positions);
        let Some(along) = direction(&tensor, corners).filter(|_| amount(&tensor) >= follow.least) else { break };
        let flips = heading.map_or(backwards, |heading| along.dot(heading) < 0.0);
        let along = if flips { -along } else { along };
        if heading.is_some_and(|heading| along.dot(heading) < SHARPEST_TURN) {
            break;
        }
        heading = Some(along);
        let Some(change) = in_weights(corners, along) else { break };
        let rest = surface.corners(spot.triangle, &surface.rest);
        let speed = (rest[0] * change[0] + rest[1] * change[1] + rest[2] * change[2]).length();
        let (part, corner) = exit(spot.weights, change);
        if !(speed > 0.0 && part.is_finite()) {
            break;
        }
        if part * speed > to_next {
            let part = to_next / speed;
            let weights = std::array::from_fn(|k| (spot.weights[k] + part * change[k]).max(0.0));
            spot = Spot { weights, ..spot };
            to_next = follow.step;
            let place = surface.rest_of(spot);
            if !is_free(place, &places) {
                break;
            }
            line.push(spot);
            places.push(place);
            if line.len() as f32 * follow.step > follow.longest {
                break;
            }
        } else {
            to_next -= part * speed;
            let Some(next) = surface.cross(advance(spot, change, part, corner), corner) else { break };
            spot = next;
        }
    }
    line
}

/// The larger eigenvector of `tensor` in the plane of a triangle; `None` where it has no direction.
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

/// How the barycentric coordinates change along a direction in the triangle's plane.
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
