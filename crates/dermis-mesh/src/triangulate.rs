//! Triangulation of a polygon.
//!
//! Convex polygons are triangulated as a fan from the first corner, concave ones by ear clipping (Meisters 1975) in the
//! plane of their area vector. A quad is split along its first diagonal unless that folds it over. The result always has
//! `n − 2` triangles; in degenerate and self-intersecting polygons some of them are arbitrary.
//!
//! A corner can become an ear only when a neighbour is removed, so clipping is quadratic. Very large concave polygons,
//! which occur only in defective files, are triangulated as fans.

use glam::Vec3;

/// Maximum number of corners of a polygon for ear clipping.
const MAX_CLIPPED_CORNERS: u32 = 1024;

/// Triangulates a polygon with `size ≥ 3` corners; appends triangles of the corners `0..size` to `triangles`.
pub(crate) fn triangulate(size: u32, position: impl Fn(u32) -> Vec3, triangles: &mut Vec<[u32; 3]>) {
    let fan = |apex: u32| (1..size - 1).map(move |k| [apex, (apex + k) % size, (apex + k + 1) % size]);
    if size == 3 {
        return triangles.extend(fan(0));
    }
    let area_of = |[a, b, c]: [u32; 3]| (position(b) - position(a)).cross(position(c) - position(a));
    let normal: Vec3 = fan(0).map(area_of).sum();
    let keeps_orientation = |apex: u32| fan(apex).all(|triangle| area_of(triangle).dot(normal) > 0.0);
    if keeps_orientation(0) {
        return triangles.extend(fan(0));
    }
    if size == 4 && keeps_orientation(1) {
        return triangles.extend(fan(1));
    }
    if size > MAX_CLIPPED_CORNERS || normal.length_squared() == 0.0 {
        return triangles.extend(fan(0));
    }
    clip_ears(size, position, normal, triangles);
}

fn clip_ears(size: u32, position: impl Fn(u32) -> Vec3, normal: Vec3, triangles: &mut Vec<[u32; 3]>) {
    let side = |a: u32, b: u32, c: u32| (position(b) - position(a)).cross(position(c) - position(a)).dot(normal);
    let is_ear = |ring: &Ring, corner: u32| {
        let (a, b, c) = ring.around(corner);
        // A corner at the position of one of the triangle's corners does not block the ear: an outline with a hole has a
        // bridge to the hole, and each end of the bridge occurs as two corners.
        let apart = |p: u32| [a, b, c].iter().all(|&q| position(p) != position(q));
        let inside = |p: u32| side(a, b, p) >= 0.0 && side(b, c, p) >= 0.0 && side(c, a, p) >= 0.0;
        side(a, b, c) > 0.0 && !ring.others(corner).any(|p| inside(p) && apart(p))
    };
    let mut ring = Ring::new(size);
    let mut ears: Vec<bool> = (0..size).map(|corner| is_ear(&ring, corner)).collect();
    for _ in 3..size {
        // A degenerate or self-intersecting polygon can have no ear: any corner is clipped, so that the count is n − 2.
        let cut = ring.iter().find(|&corner| ears[corner as usize]).unwrap_or(ring.start);
        let (before, _, after) = ring.around(cut);
        triangles.push([before, cut, after]);
        ring.remove(cut);
        for corner in [before, after] {
            ears[corner as usize] = is_ear(&ring, corner);
        }
    }
    let (before, last, after) = ring.around(ring.next[ring.start as usize]);
    triangles.push([before, last, after]);
}

/// Remaining corners, each with its neighbours.
struct Ring {
    start: u32,
    before: Vec<u32>,
    next: Vec<u32>,
}

impl Ring {
    fn new(size: u32) -> Self {
        let before = (0..size).map(|corner| (corner + size - 1) % size).collect();
        Self { start: 0, before, next: (0..size).map(|corner| (corner + 1) % size).collect() }
    }

    fn around(&self, corner: u32) -> (u32, u32, u32) {
        (self.before[corner as usize], corner, self.next[corner as usize])
    }

    /// Remaining corners in order.
    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let follow = |&corner: &u32| Some(self.next[corner as usize]).filter(|&next| next != self.start);
        std::iter::successors(Some(self.start), follow)
    }

    /// Remaining corners except `corner` and its neighbours.
    fn others(&self, corner: u32) -> impl Iterator<Item = u32> + '_ {
        let (before, _, after) = self.around(corner);
        let first = Some(self.next[after as usize]).filter(|&next| next != before);
        std::iter::successors(first, move |&at| Some(self.next[at as usize]).filter(|&next| next != before))
    }

    fn remove(&mut self, corner: u32) {
        let (before, _, after) = self.around(corner);
        self.next[before as usize] = after;
        self.before[after as usize] = before;
        if self.start == corner {
            self.start = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(outline: &[Vec3]) -> Vec<[u32; 3]> {
        let mut triangles = Vec::new();
        triangulate(outline.len() as u32, |corner| outline[corner as usize], &mut triangles);
        triangles
    }

    fn flat(outline: &[[f32; 2]]) -> Vec<Vec3> {
        outline.iter().map(|&[x, y]| Vec3::new(x, y, 0.0)).collect()
    }

    fn signed_areas(outline: &[Vec3]) -> Vec<f32> {
        let corner = |index: u32| outline[index as usize];
        cut(outline).iter().map(|&[a, b, c]| (corner(b) - corner(a)).cross(corner(c) - corner(a)).z / 2.0).collect()
    }

    #[test]
    fn triangulates_a_concave_polygon_inside_itself() {
        // An L of area 3, whose fan is inside only from some of its corners.
        let outline = flat(&[[1.0, 2.0], [0.0, 2.0], [0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0]]);
        let areas = signed_areas(&outline);
        assert_eq!(areas.len(), 4);
        assert!(areas.iter().all(|&area| area > 0.0), "{areas:?}");
        assert!((areas.iter().sum::<f32>() - 3.0).abs() < 1e-6);
    }

    #[test]
    fn splits_an_arrow_shaped_quad_along_its_inner_diagonal() {
        let outline = flat(&[[-1.0, -1.0], [0.0, -0.5], [1.0, -1.0], [0.0, 1.0]]);
        assert!(signed_areas(&outline).iter().all(|&area| area > 0.0));
    }

    #[test]
    fn triangulates_a_square_with_a_hole_connected_by_a_bridge() {
        let outline = flat(&[
            [0.0, 0.0],
            [3.0, 0.0],
            [3.0, 3.0],
            [0.0, 3.0],
            [0.0, 0.0],
            [1.0, 1.0],
            [1.0, 2.0],
            [2.0, 2.0],
            [2.0, 1.0],
            [1.0, 1.0],
        ]);
        let areas = signed_areas(&outline);
        assert!(areas.iter().all(|&area| area > 0.0), "{areas:?}");
        assert!((areas.iter().sum::<f32>() - 8.0).abs() < 1e-5);
    }

    #[test]
    fn triangulates_a_large_comb_in_reasonable_time() {
        let teeth = 250;
        let mut outline: Vec<[f32; 2]> = vec![[teeth as f32, -1.0], [teeth as f32, 0.0]];
        outline.extend((0..teeth).rev().flat_map(|k| [[k as f32 + 0.5, 9.0], [k as f32, 0.0]]));
        outline.push([0.0, -1.0]);
        let areas = signed_areas(&flat(&outline));
        assert_eq!(areas.len(), outline.len() - 2);
        assert!((areas.iter().sum::<f32>() - 250.0 * 5.5).abs() < 0.1);
        assert!(areas.iter().all(|&area| area >= 0.0));
    }

    #[test]
    fn degenerate_polygons_of_any_size_yield_all_triangles() {
        for size in [4, 5, 100, MAX_CLIPPED_CORNERS, MAX_CLIPPED_CORNERS + 1] {
            for outline in [vec![Vec3::ONE; size as usize], (0..size).map(|k| Vec3::X * k as f32).collect()] {
                assert_eq!(cut(&outline).len(), size as usize - 2);
            }
        }
    }

    proptest! {
        #[test]
        fn a_polygon_with_n_corners_yields_n_minus_two_triangles_over_all_corners(
            outline in proptest::collection::vec(proptest::array::uniform3(-3..3_i8), 4..30)
        ) {
            let outline: Vec<Vec3> = outline.iter().map(|p| Vec3::from(p.map(f32::from))).collect();
            let triangles = cut(&outline);
            prop_assert_eq!(triangles.len(), outline.len() - 2);
            let area = |[a, b, c]: [u32; 3]| {
                let [a, b, c] = [a, b, c].map(|corner| outline[corner as usize]);
                (b - a).cross(c - a)
            };
            // The area vector of a closed outline does not depend on its triangulation; the numbers are integers.
            let fan: Vec3 = (1..outline.len() as u32 - 1).map(|k| area([0, k, k + 1])).sum();
            prop_assert_eq!(triangles.iter().map(|&triangle| area(triangle)).sum::<Vec3>(), fan);
        }

        #[test]
        fn star_shaped_polygons_are_triangulated_without_folds(radii in proptest::collection::vec(0.2..1.0_f32, 3..40)) {
            let step = std::f32::consts::TAU / radii.len() as f32;
            let corner = |(k, radius): (usize, &f32)| Vec3::new((k as f32 * step).cos(), (k as f32 * step).sin(), 0.0) * *radius;
            let outline: Vec<Vec3> = radii.iter().enumerate().map(corner).collect();
            for area in signed_areas(&outline) {
                prop_assert!(area > -1e-6, "{area}");
            }
        }
    }
}
