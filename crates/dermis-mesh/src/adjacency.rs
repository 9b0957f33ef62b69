//! Mesh adjacency: edges with their triangles, and the triangles and neighbours of each point.
//!
//! An edge is an unordered pair of points connected by a side of a triangle. A triangle that repeats a point is collapsed
//! to an edge and has no sides: counting them would make its neighbours appear disconnected or non-manifold.
//!
//! All lists are built by counting sort over points, in linear time for typical valences, and are in ascending order.

use std::cmp::Ordering;

use rayon::prelude::*;

/// A list of items for each owner, stored contiguously.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lists<T = u32> {
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    /// Number of lists.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns true if there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// List of one owner.
    pub fn of(&self, item: usize) -> &[T] {
        &self.items[self.starts[item]..self.starts[item + 1]]
    }

    /// All lists in order.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        self.starts.windows(2).map(|ends| &self.items[ends[0]..ends[1]])
    }
}

impl<T: Copy + Default + Send> Lists<T> {
    /// Groups `(owner, item)` pairs by owner, which must be below `count`; each list keeps the order of the pairs.
    pub(crate) fn group(count: usize, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut starts = vec![0; count + 1];
        for (owner, _) in pairs.clone() {
            starts[owner as usize + 1] += 1;
        }
        for owner in 0..count {
            starts[owner + 1] += starts[owner];
        }
        let mut next = starts.clone();
        let mut items = vec![T::default(); starts[count]];
        for (owner, item) in pairs {
            items[next[owner as usize]] = item;
            next[owner as usize] += 1;
        }
        Self { starts, items }
    }

    /// Sorts each list.
    pub(crate) fn par_sort_each(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync) {
        let mut rest = self.items.as_mut_slice();
        let mut lists = Vec::new();
        for ends in self.starts.windows(2) {
            let (list, tail) = rest.split_at_mut(ends[1] - ends[0]);
            rest = tail;
            if list.len() > 1 {
                lists.push(list);
            }
        }
        lists.into_par_iter().with_min_len(256).for_each(|list| list.sort_unstable_by(&compare));
    }
}

/// A triangle's use of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EdgeUse {
    /// The triangle.
    pub triangle: u32,
    /// True if the triangle traverses the edge from its lower to its higher point.
    pub forward: bool,
}

/// Edges of a mesh, sorted by their points, and the triangles that use each edge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edges {
    point_count: usize,
    triangle_count: usize,
    ends: Vec<[u32; 2]>,
    starts: Vec<usize>,
    uses: Vec<EdgeUse>,
}

impl Edges {
    /// Finds the edges of `triangles` over `point_count` points.
    ///
    /// # Panics
    /// If a triangle refers to a point that is not below `point_count`.
    pub fn new(point_count: usize, triangles: &[[u32; 3]]) -> Self {
        let mut sides = Lists::group(point_count, sides(triangles));
        sides.par_sort_each(Side::cmp);
        let mut result = Self {
            point_count,
            triangle_count: triangles.len(),
            ends: Vec::with_capacity(sides.items.len() / 2),
            starts: vec![0],
            uses: Vec::with_capacity(sides.items.len()),
        };
        for (lower, list) in sides.iter().enumerate() {
            for same in list.chunk_by(|a, b| a.higher == b.higher) {
                result.ends.push([lower as u32, same[0].higher]);
                result.uses.extend(same.iter().map(|side| side.used_by));
                result.starts.push(result.uses.len());
            }
        }
        result
    }

    /// Number of edges.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no edges.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of points of the mesh.
    pub fn point_count(&self) -> usize {
        self.point_count
    }

    /// Points of each edge, the lower first; edges are sorted.
    pub fn ends(&self) -> &[[u32; 2]] {
        &self.ends
    }

    /// Triangles that use an edge, in ascending order.
    pub fn uses(&self, edge: usize) -> &[EdgeUse] {
        &self.uses[self.starts[edge]..self.starts[edge + 1]]
    }

    /// All edges in order, with their points and triangles.
    pub fn iter(&self) -> impl Iterator<Item = ([u32; 2], &[EdgeUse])> {
        (0..self.len()).map(|edge| (self.ends[edge], self.uses(edge)))
    }

    /// Points connected to each point by an edge, in ascending order.
    pub fn point_neighbours(&self) -> Lists {
        // Edges are sorted, so each point receives its lower neighbours first, then its higher ones, in order.
        Lists::group(self.point_count, self.ends.iter().flat_map(|&[a, b]| [(a, b), (b, a)]))
    }

    /// Triangles that share an edge with each triangle, in ascending order.
    pub fn triangle_neighbours(&self) -> Lists {
        let pairs = (0..self.len()).flat_map(|edge| {
            let uses = self.uses(edge);
            uses.iter().flat_map(move |a| uses.iter().map(move |b| (a.triangle, b.triangle))).filter(|(a, b)| a != b)
        });
        let grouped = Lists::group(self.triangle_count, pairs);
        let mut result = Lists { starts: vec![0], items: Vec::with_capacity(grouped.items.len()) };
        for list in grouped.iter() {
            let start = result.items.len();
            result.items.extend_from_slice(list);
            result.items[start..].sort_unstable();
            dedup_from(&mut result.items, start);
            result.starts.push(result.items.len());
        }
        result
    }
}

/// Triangles of each point, in ascending order; a triangle that repeats the point is listed once.
///
/// # Panics
/// If a triangle refers to a point that is not below `point_count`.
pub fn point_triangles(point_count: usize, triangles: &[[u32; 3]]) -> Lists {
    let pairs = triangles.iter().enumerate().flat_map(|(triangle, &[a, b, c])| {
        let corners = [Some(a), (b != a).then_some(b), (c != a && c != b).then_some(c)];
        corners.into_iter().flatten().map(move |point| (point, triangle as u32))
    });
    Lists::group(point_count, pairs)
}

/// Returns true if a triangle repeats a point.
pub fn is_collapsed([a, b, c]: [u32; 3]) -> bool {
    a == b || b == c || c == a
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Side {
    higher: u32,
    used_by: EdgeUse,
}

/// Sides of all triangles that are not collapsed, each keyed by its lower point.
fn sides(triangles: &[[u32; 3]]) -> impl Iterator<Item = (u32, Side)> + Clone {
    let proper = triangles.iter().enumerate().filter(|(_, triangle)| !is_collapsed(**triangle));
    proper.flat_map(|(triangle, &[a, b, c])| {
        [(a, b), (b, c), (c, a)].map(|(from, to)| {
            let used_by = EdgeUse { triangle: triangle as u32, forward: from < to };
            (from.min(to), Side { higher: from.max(to), used_by })
        })
    })
}

/// Removes duplicates from the sorted items from `start` on.
fn dedup_from(items: &mut Vec<u32>, start: usize) {
    let mut kept = start;
    for at in start..items.len() {
        if at == start || items[at] != items[kept - 1] {
            items[kept] = items[at];
            kept += 1;
        }
    }
    items.truncate(kept);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A square of two triangles with the diagonal 0–2.
    const SQUARE: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

    #[test]
    fn lists_the_edges_of_a_square_with_their_triangles() {
        let edges = Edges::new(4, &SQUARE);
        assert_eq!(edges.ends(), [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]);
        let use_of = |triangle, forward| EdgeUse { triangle, forward };
        assert_eq!(edges.uses(1), [use_of(0, false), use_of(1, true)]);
        assert_eq!(edges.uses(2), [use_of(1, false)]);
    }

    #[test]
    fn lists_neighbours_in_ascending_order() {
        let edges = Edges::new(5, &SQUARE);
        let neighbours: Vec<_> = edges.point_neighbours().iter().map(<[u32]>::to_vec).collect();
        assert_eq!(neighbours, [vec![1, 2, 3], vec![0, 2], vec![0, 1, 3], vec![0, 2], vec![]]);
        assert_eq!(edges.triangle_neighbours().iter().collect::<Vec<_>>(), [[1], [0]]);
        let around: Vec<_> = point_triangles(5, &SQUARE).iter().map(<[u32]>::to_vec).collect();
        assert_eq!(around, [vec![0, 1], vec![0], vec![0, 1], vec![1], vec![]]);
    }

    #[test]
    fn a_triangle_that_repeats_a_point_has_no_sides() {
        let edges = Edges::new(3, &[[0, 1, 1], [0, 1, 2]]);
        assert_eq!(edges.len(), 3);
        assert!(edges.iter().all(|(_, uses)| uses.len() == 1));
        assert_eq!(point_triangles(3, &[[0, 1, 1]]).of(1), [0]);
    }

    #[test]
    fn triangles_with_two_common_edges_are_neighbours_once() {
        let lists = Edges::new(3, &[[0, 1, 2], [2, 1, 0]]).triangle_neighbours();
        assert_eq!((lists.of(0), lists.of(1)), (&[1][..], &[0][..]));
    }

    #[test]
    fn a_mesh_without_triangles_has_no_edges() {
        assert!(Edges::new(3, &[]).is_empty());
        assert_eq!(Edges::new(3, &[]).point_neighbours().len(), 3);
        assert!(Edges::new(0, &[]).triangle_neighbours().is_empty());
    }

    proptest! {
        #[test]
        fn every_side_of_a_proper_triangle_is_used_once(
            triangles in proptest::collection::vec(proptest::array::uniform3(0..12_u32), 0..40)
        ) {
            let edges = Edges::new(12, &triangles);
            let mut found: Vec<(u32, u32, u32)> = edges.iter().flat_map(|([low, high], uses)| {
                uses.iter().map(move |used| if used.forward { (used.triangle, low, high) } else { (used.triangle, high, low) })
            }).collect();
            found.sort_unstable();
            let proper = triangles.iter().enumerate().filter(|(_, triangle)| !is_collapsed(**triangle));
            let mut expected: Vec<_> =
                proper.flat_map(|(t, &[a, b, c])| [(a, b), (b, c), (c, a)].map(|(p, q)| (t as u32, p, q))).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
            prop_assert!(edges.ends().is_sorted_by(|a, b| a < b));
        }

        #[test]
        fn neighbours_are_mutual(triangles in proptest::collection::vec(proptest::array::uniform3(0..12_u32), 0..40)) {
            let edges = Edges::new(12, &triangles);
            for lists in [edges.point_neighbours(), edges.triangle_neighbours()] {
                for item in 0..lists.len() {
                    prop_assert!(lists.of(item).is_sorted_by(|a, b| a < b));
                    for &other in lists.of(item) {
                        prop_assert!(other as usize != item && lists.of(other as usize).contains(&(item as u32)));
                    }
                }
            }
        }
    }
}
