//! Which of a skin's shells bound the body.
//!
//! A shell bounds the body where the winding number is above one half on one side of it only. Shells within the body
//! (eyes, teeth) do not: their points become nodes inside. A shell that stands alone and looks inwards is turned.

use dermis_mesh::shells::shells;
use glam::DVec3;

use dermis_mesh::surface_tree::SurfaceTree;

/// How far off a triangle its sides are judged, in square roots of its area: far less than any skin is thick.
const OFF: f64 = 1e-7;

/// A skin's triangles by what they are to the body.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Outer {
    /// The triangles that bound the body, looking outwards.
    pub(super) triangles: Vec<[u32; 3]>,
    /// How many of them were turned.
    pub(super) turned: usize,
    /// How many triangles lie within the body.
    pub(super) within: usize,
    /// How many points have no triangle at all.
    pub(super) loose: usize,
}

/// Sorts the triangles of a skin; `tree` is over the same triangles.
pub(super) fn outer(points: &[DVec3], triangles: &[[u32; 3]], tree: &SurfaceTree) -> Outer {
    let shells = shells(points.len(), triangles);
    let mut outer = Outer { loose: shells.isolated_point_count(), ..Outer::default() };
    let area = |triangle: usize| area(points, triangles[triangle]).length();
    let mut largest: Vec<Option<usize>> = vec![None; shells.count];
    for (triangle, &shell) in shells.of_triangles.iter().enumerate() {
        let best = &mut largest[shell as usize];
        if best.is_none_or(|best| area(triangle) > area(best)) {
            *best = Some(triangle);
        }
    }
    let sides: Vec<[f64; 2]> =
        largest.into_iter().flatten().map(|triangle| sides(points, triangles[triangle], tree)).collect();
    for (&[a, b, c], &shell) in triangles.iter().zip(&shells.of_triangles) {
        let [front, back] = sides[shell as usize];
        if (front > 0.5) != (back > 0.5) {
            outer.triangles.push([a, b, c]);
        } else if front < -0.5 && back.abs() < 0.5 {
            outer.triangles.push([a, c, b]);
            outer.turned += 1;
        } else {
            outer.within += 1;
        }
    }
    if outer.triangles.is_empty() {
        // Too thin to tell: the skin is taken as it is.
        outer = Outer { triangles: triangles.to_vec(), loose: outer.loose, ..Outer::default() };
    }
    outer
}

/// The winding numbers in front of and behind a triangle.
fn sides(points: &[DVec3], triangle: [u32; 3], tree: &SurfaceTree) -> [f64; 2] {
    let [a, b, c] = triangle.map(|p| points[p as usize]);
    let area = area(points, triangle);
    let off = area.normalize_or_zero() * (OFF * area.length().sqrt());
    let middle = (a + b + c) / 3.0;
    [tree.winding(middle + off), tree.winding(middle - off)]
}

fn area(points: &[DVec3], triangle: [u32; 3]) -> DVec3 {
    let [a, b, c] = triangle.map(|p| points[p as usize]);
    (b - a).cross(c - a) / 2.0
}
