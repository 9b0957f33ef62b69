//! Connected shells: two triangles are in the same shell if a chain of triangles with shared points connects them.
//!
//! Shells are found by union–find over points and numbered in the order of their first triangles.

/// Shell of a point without triangles.
pub const ISOLATED: u32 = u32::MAX;

/// Shell of each triangle and point.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shells {
    /// Number of shells.
    pub count: usize,
    /// Shell of each triangle.
    pub of_triangles: Vec<u32>,
    /// Shell of each point; [`ISOLATED`] if it has no triangle.
    pub of_points: Vec<u32>,
}

impl Shells {
    /// Number of points without triangles.
    pub fn isolated_point_count(&self) -> usize {
        self.of_points.iter().filter(|&&shell| shell == ISOLATED).count()
    }
}

/// Finds the shells of `triangles` over `point_count` points.
///
/// # Panics
/// If a triangle refers to a point that is not below `point_count`.
pub fn shells(point_count: usize, triangles: &[[u32; 3]]) -> Shells {
    let mut parents: Vec<u32> = (0..point_count as u32).collect();
    for &[a, b, c] in triangles {
        join(&mut parents, a, b);
        join(&mut parents, a, c);
    }
    let mut shell_of_root = vec![ISOLATED; point_count];
    let mut count = 0;
    let mut of_triangles = Vec::with_capacity(triangles.len());
    for triangle in triangles {
        let shell = &mut shell_of_root[root(&mut parents, triangle[0]) as usize];
        if *shell == ISOLATED {
            *shell = count;
            count += 1;
        }
        of_triangles.push(*shell);
    }
    let of_points = (0..point_count as u32).map(|point| shell_of_root[root(&mut parents, point) as usize]).collect();
    Shells { count: count as usize, of_triangles, of_points }
}

fn join(parents: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(parents, a), root(parents, b));
    // The lower root becomes the parent, so that the forest depends only on the order of the triangles.
    parents[a.max(b) as usize] = a.min(b);
}

/// Root of a point's tree; halves the path to it.
fn root(parents: &mut [u32], mut point: u32) -> u32 {
    while parents[point as usize] != point {
        let above = parents[parents[point as usize] as usize];
        parents[point as usize] = above;
        point = above;
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_shapes::{beside, cube, grid};

    #[test]
    fn separates_shells_and_counts_isolated_points() {
        let (mut points, triangles) = beside(cube(), grid(3));
        points.push(glam::Vec3::ZERO);
        let shells = shells(points.len(), &triangles);
        assert_eq!((shells.count, shells.isolated_point_count()), (2, 1));
        assert!(shells.of_triangles[..12].iter().all(|&shell| shell == 0));
        assert!(shells.of_triangles[12..].iter().all(|&shell| shell == 1));
        assert_eq!((shells.of_points[7], shells.of_points[8], shells.of_points[24]), (0, 1, ISOLATED));
    }

    #[test]
    fn numbers_shells_by_their_first_triangle() {
        assert_eq!(shells(6, &[[5, 4, 3], [0, 1, 2], [3, 3, 5]]).of_triangles, [0, 1, 0]);
    }

    #[test]
    fn triangles_that_share_one_point_are_one_shell() {
        assert_eq!(shells(5, &[[0, 1, 2], [2, 3, 4]]).count, 1);
    }

    #[test]
    fn a_long_strip_in_the_worst_order_is_one_shell() {
        let triangles: Vec<[u32; 3]> = (0..200_000).rev().map(|k| [k, k + 1, k + 2]).collect();
        assert_eq!(shells(200_002, &triangles).count, 1);
    }

    #[test]
    fn an_empty_mesh_has_no_shells() {
        assert_eq!(shells(0, &[]).count, 0);
        assert_eq!(shells(4, &[]).isolated_point_count(), 4);
    }
}
