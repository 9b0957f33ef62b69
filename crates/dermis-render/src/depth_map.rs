//! Depth of a geometry as seen from a distant light (Williams 1978), with filtered comparisons (Reeves et al. 1987).

use glam::{Vec2, Vec3};

/// Width of the empty border, in texels.
const BORDER: f32 = 2.0;

/// A parallel projection of a geometry along a direction: for each texel, the depth of the surface nearest to the light.
#[derive(Debug)]
pub(crate) struct DepthMap {
    /// Axes of the map, in texels per length.
    u: Vec3,
    v: Vec3,
    /// Towards the light.
    direction: Vec3,
    /// Texel of the origin of the scene.
    origin: Vec2,
    /// Length of a texel in the scene.
    pub(crate) texel: f32,
    size: usize,
    depths: Vec<f32>,
}

impl DepthMap {
    /// Map with `size` × `size` texels of the triangles, all of which are inside the sphere around `center`.
    pub(crate) fn new(
        direction: Vec3,
        size: usize,
        (center, radius): (Vec3, f32),
        positions: &[Vec3],
        triangles: &[[u32; 3]],
    ) -> Self {
        let (u, v) = direction.any_orthonormal_pair();
        let texel = 2.0 * radius.max(f32::MIN_POSITIVE) / (size as f32 - 2.0 * BORDER);
        let (u, v) = (u / texel, v / texel);
        let origin = Vec2::splat(0.5 * size as f32) - Vec2::new(center.dot(u), center.dot(v));
        let mut map = Self { u, v, direction, origin, texel, size, depths: vec![f32::NEG_INFINITY; size * size] };
        let at: Vec<Vec3> = positions.iter().map(|&point| map.texel_of(point)).collect();
        for triangle in triangles {
            map.fill(triangle.map(|corner| at[corner as usize]));
        }
        map
    }

    fn texel_of(&self, point: Vec3) -> Vec3 {
        let at = Vec2::new(point.dot(self.u), point.dot(self.v)) + self.origin;
        at.extend(point.dot(self.direction))
    }

    /// Raises the texels whose centres are inside the triangle.
    fn fill(&mut self, [a, b, c]: [Vec3; 3]) {
        let (low, high) = (a.min(b).min(c), a.max(b).max(c));
        let last = self.size as f32 - 1.0;
        // The first and last texel whose centre is inside the bounds.
        let [left, top] = [low.x, low.y].map(|at| (at - 0.5).ceil().clamp(0.0, last) as usize);
        let [right, bottom] = [high.x, high.y].map(|at| (at - 0.5).floor().clamp(-1.0, last) as isize);
        if right < left as isize || bottom < top as isize {
            return;
        }
        let (ab, ac) = (b - a, c - a);
        let area = ab.x * ac.y - ab.y * ac.x;
        if area == 0.0 {
            return;
        }
        let inverse = 1.0 / area;
        // Barycentric coordinates of b and c, and the depth, are linear in the map.
        let (beta_x, beta_y) = (ac.y * inverse, -ac.x * inverse);
        let (gamma_x, gamma_y) = (-ab.y * inverse, ab.x * inverse);
        for row in top..=bottom as usize {
            let y = row as f32 + 0.5 - a.y;
            let texels = &mut self.depths[row * self.size..(row + 1) * self.size];
            for (column, texel) in texels.iter_mut().enumerate().take(right as usize + 1).skip(left) {
                let x = column as f32 + 0.5 - a.x;
                let (beta, gamma) = (beta_x * x + beta_y * y, gamma_x * x + gamma_y * y);
                if beta >= 0.0 && gamma >= 0.0 && beta + gamma <= 1.0 {
                    *texel = texel.max(a.z + beta * ab.z + gamma * ac.z);
                }
            }
        }
    }

    /// Fraction of the light that reaches a point that [`Lookup`] has located, filtered over four texels.
    pub(crate) fn visibility(&self, [x, y, depth]: [f32; 3]) -> f32 {
        let last = (self.size - 2) as f32;
        if !(x >= 0.0 && y >= 0.0 && x <= last && y <= last) {
            return 1.0;
        }
        let (left, top) = (x as usize, y as usize);
        let (part_x, part_y) = (x - left as f32, y - top as f32);
        let first = top * self.size + left;
        let (above, below) = (&self.depths[first..first + 2], &self.depths[first + self.size..first + self.size + 2]);
        let is_lit = |texel: f32| f32::from(u8::from(texel <= depth));
        let above = is_lit(above[0]) + (is_lit(above[1]) - is_lit(above[0])) * part_x;
        let below = is_lit(below[0]) + (is_lit(below[1]) - is_lit(below[0])) * part_x;
        above + (below - above) * part_y
    }

    /// Coefficients of the location of a point in the map, relative to the centres of the texels.
    pub(crate) fn lookup(&self) -> Lookup {
        let Self { u, v, direction, origin, .. } = self;
        Lookup { rows: [*u, *v, *direction], shift: [origin.x - 0.5, origin.y - 0.5, 0.0] }
    }
}

/// A linear map from points to texels and depths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lookup {
    rows: [Vec3; 3],
    shift: [f32; 3],
}

impl Lookup {
    pub(crate) fn at(&self, point: Vec3) -> [f32; 3] {
        let axis = |row: usize| point.dot(self.rows[row]) + self.shift[row];
        [axis(0), axis(1), axis(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_shades_what_is_behind_it_and_nothing_else() {
        let positions = [[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]].map(Vec3::from);
        let map = DepthMap::new(Vec3::Y, 64, (Vec3::ZERO, 1.5), &positions, &[[0, 1, 2], [0, 2, 3]]);
        let visible = |point: Vec3| map.visibility(map.lookup().at(point));
        assert_eq!(visible(Vec3::new(0.3, -0.5, 0.2)), 0.0);
        assert_eq!(visible(Vec3::new(0.3, 0.5, 0.2)), 1.0);
        assert_eq!(visible(Vec3::new(1.3, -0.5, 0.2)), 1.0);
        assert_eq!(visible(Vec3::new(90.0, -0.5, 0.2)), 1.0);
        let edge = visible(Vec3::new(1.0, -0.5, 0.2));
        assert!((0.0..=1.0).contains(&edge));
    }

    #[test]
    fn a_mesh_without_extent_shades_nothing() {
        let map = DepthMap::new(Vec3::Y, 16, (Vec3::ZERO, 0.0), &[Vec3::ZERO; 3], &[[0, 1, 2]]);
        assert_eq!(map.visibility(map.lookup().at(Vec3::NEG_Y)), 1.0);
    }
}
