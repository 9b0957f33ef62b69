//! Ray casts against a posed tree.

use dermis_mesh::surface_tree::barycentric;
use glam::DVec3;

use crate::posed::{PosedTree, Sphere};
use crate::triangles::crossing;

/// A ray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Start.
    pub origin: DVec3,
    /// Direction, of any length except 0.
    pub direction: DVec3,
}

/// First triangle on a ray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RayHit {
    /// The triangle.
    pub triangle: u32,
    /// Distance from the origin.
    pub distance: f64,
    /// Point at which the ray hits the triangle.
    pub point: DVec3,
    /// Unit normal of the triangle, for counter-clockwise front faces.
    pub normal: DVec3,
    /// Weights of the corners of the triangle at the point.
    pub barycentric: [f64; 3],
}

impl PosedTree<'_> {
    /// First triangle on a ray within a distance; `None` if there is none, or if the length of the direction is 0. If
    /// several triangles are equally near, the one with the lowest index is returned.
    pub fn cast_ray(&mut self, ray: &Ray, max_distance: f64) -> Option<RayHit> {
        let direction = ray.direction.try_normalize()?;
        let (mut nearest, mut hit) = (max_distance, None);
        let mut open = vec![(0.0, self.root())];
        while let Some((entry, node)) = open.pop() {
            if entry > nearest {
                continue;
            }
            if let Some(children) = self.children(node) {
                let mut met: Vec<(f64, u32)> = children
                    .into_iter()
                    .filter_map(|child| Some((entered(ray.origin, direction, &self.sphere(child))?, child)))
                    .collect();
                // The nearer child is visited first.
                met.sort_by(|a, b| b.0.total_cmp(&a.0));
                open.extend(met);
                continue;
            }
            for triangle in self.leaf(node) {
                let corners = self.triangle(triangle);
                let Some(distance) = crossing(ray.origin, direction, &corners, nearest) else { continue };
                let is_first = hit.is_none_or(|(known, _)| distance < nearest || triangle < known);
                if is_first {
                    (nearest, hit) = (distance, Some((triangle, corners)));
                }
            }
        }
        let (triangle, corners) = hit?;
        let point = ray.origin + nearest * direction;
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero();
        Some(RayHit { triangle, distance: nearest, point, normal, barycentric: barycentric(corners, point) })
    }
}

/// Distance at which a ray enters a sphere; 0 if it starts inside, `None` if it misses.
fn entered(origin: DVec3, direction: DVec3, sphere: &Sphere) -> Option<f64> {
    let to = sphere.centre - origin;
    let along = to.dot(direction);
    let beside = (to - along * direction).length_squared();
    let half = sphere.radius * sphere.radius - beside;
    if half < 0.0 {
        return None;
    }
    let half = half.sqrt();
    (along + half >= 0.0).then(|| (along - half).max(0.0))
}
