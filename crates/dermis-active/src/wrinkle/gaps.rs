//! Distances between layers of cloth that are near in space and far apart on the cloth.
//!
//! Points of other layers are found in a grid over the posed points. Points belong to another layer if they are farther
//! away on the rest shape than the search reaches in space. The distance is measured along the normal, to points whose
//! distance from the normal is less than the length of an edge: those of the layer that faces the point. In sharp creases
//! of the coarse cloth, the normals of neighbours cross, so that heights would make the cloth intersect itself; the
//! distance is small there as well.

use glam::Vec3;

use super::grid::Grid;
use super::surface::Surface;

/// Displacement between the points of the coarse cloth by smoothing, as a fraction of the distance to another layer.
pub(super) const MAX_BULGE: f32 = 0.3;
/// Reach of the search, in mean sides of the rest triangles.
const REACH: f32 = 1.0;
/// Distance on the rest shape at which points belong to another layer, in reaches.
const APART: f32 = 3.0;

/// Cosines of the angle between the normals of a point and of a triangle around it at which a crease is sharp, and flat.
const CREASE_COSINES: [f32; 2] = [0.6, 0.95];
/// Distance in a crease halfway between flat and sharp, in mean sides.
const CREASE_GAP: f32 = 0.1;

/// Distance of each point to the nearest other layer, or to itself in a crease; very large if there is none.
pub(super) fn gaps(surface: &Surface, positions: &[Vec3], normals: &[Vec3]) -> Vec<f32> {
    let reach = REACH * super::default_side(surface);
    let none = vec![NO_GAP * reach; positions.len()];
    if !(reach > 0.0 && reach.is_finite()) {
        return none;
    }
    let mut grid: Grid<u32> = Grid::new(reach);
    for (point, position) in positions.iter().enumerate() {
        grid.insert(*position, point as u32);
    }
    let gap = |point: usize| {
        let others = grid.near(positions[point], reach).filter_map(|(_, other)| {
            let other = other as usize;
            let is_other = surface.rest[point].distance(surface.rest[other]) > APART * reach;
            is_other.then(|| (positions[other] - positions[point]).dot(normals[point]).abs())
        });
        others.fold(NO_GAP * reach, f32::min)
    };
    let flatness = flatness(surface, positions, normals);
    let of_point = |point: usize| {
        let flat = flatness[point];
        gap(point).min(CREASE_GAP * reach * flat / (1.0 - flat).max(CREASE_GAP / NO_GAP))
    };
    (0..positions.len()).map(of_point).collect()
}

/// 1 at points of flat cloth, 0 in sharp creases.
fn flatness(surface: &Surface, positions: &[Vec3], normals: &[Vec3]) -> Vec<f32> {
    let mut least = vec![1.0f32; positions.len()];
    for triangle in &surface.triangles {
        let [a, b, c] = triangle.map(|point| positions[point as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for &point in triangle {
            least[point as usize] = least[point as usize].min(normal.dot(normals[point as usize]));
        }
    }
    let [sharp, flat] = CREASE_COSINES;
    let smooth = |cosine: f32| {
        let t = ((cosine - sharp) / (flat - sharp)).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    };
    least.into_iter().map(smooth).collect()
}

/// Distance of points without another layer nearby, in reaches: far more than any height.
const NO_GAP: f32 = 1e3;
