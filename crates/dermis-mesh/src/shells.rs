//! Connected shells: triangles belong together where a chain of shared points joins them.
//!
//! Found by union–find over points. Shells are numbered in the order of their first triangles.

/// The shell of a point that is in no triangle.
pub const ISOLATED: u32 = u32::MAX;

/// Which shell each triangle and point belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shells {
    /// The number of shells.
    pub count: usize,
    /// The shell of each triangle.
    pub of_triangles: Vec<u32>,
    /// The shell of each point; [`ISOLATED`] where it is in no triangle.
    pub of_points: Vec<u32>,
}

impl Shells {
    /// The number of points that are in no triangle.
    pub fn isolated_point_count(&self) -> usize {
        self.of_points.iter().filter(|&&shell| shell == ISOLATED).count()
    }
}

/// The shells of `triangles` over `point_count` points.
///
/// # Panics
/// If a triangle names a point that is not below `point_count`.
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
    // The lower root wins, so that the forest does not depend on more than the order of the triangles.
    parents[a.max(b) as usize] = a.min(b);
}

/// The root of a point's tree; halves the path to it on the way.
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
    fn separates_shells_and_counts_points_without_a_triangle() {
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
    fn nothing_has_no_shells() {
        assert_eq!(shells(0, &[]).count, 0);
        assert_eq!(shells(4, &[]).isolated_point_count(), 4);
    }
}
