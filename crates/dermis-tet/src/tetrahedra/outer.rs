//! Classification of the shells of a skin.
//!
//! A shell bounds the body if the winding number exceeds one half on exactly one of its sides. Shells inside the body
//! (eyes, teeth) do not; their points become inner nodes. A separate shell that is oriented inwards is flipped.

use dermis_mesh::shells::shells;
use glam::DVec3;

use dermis_mesh::surface_tree::SurfaceTree;

/// Distance from a triangle at which its sides are classified, relative to the square root of its area. It is far below
/// the thickness of any skin.
const PROBE_DISTANCE: f64 = 1e-7;

/// Classified triangles of a skin.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Outer {
    /// Triangles that bound the body, oriented outwards.
    pub(super) triangles: Vec<[u32; 3]>,
    /// Number of triangles that were flipped.
    pub(super) flipped: usize,
    /// Number of triangles inside the body.
    pub(super) within: usize,
    /// Number of points without triangles.
    pub(super) loose: usize,
}

/// Classifies the triangles of a skin; `tree` contains the same triangles.
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
            outer.flipped += 1;
        } else {
            outer.within += 1;
        }
    }
    if outer.triangles.is_empty() {
        // The skin is too thin to classify and is used unchanged.
        outer = Outer { triangles: triangles.to_vec(), loose: outer.loose, ..Outer::default() };
    }
    outer
}

/// Winding numbers in front of and behind a triangle.
fn sides(points: &[DVec3], triangle: [u32; 3], tree: &SurfaceTree) -> [f64; 2] {
    let [a, b, c] = triangle.map(|p| points[p as usize]);
    let area = area(points, triangle);
    let offset = area.normalize_or_zero() * (PROBE_DISTANCE * area.length().sqrt());
    let middle = (a + b + c) / 3.0;
    [tree.winding(middle + offset), tree.winding(middle - offset)]
}

fn area(points: &[DVec3], triangle: [u32; 3]) -> DVec3 {
    let [a, b, c] = triangle.map(|p| points[p as usize]);
    (b - a).cross(c - a) / 2.0
}
