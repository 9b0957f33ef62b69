//! Welding of split vertices: vertices that agree in all data of shape and motion are one point.

use std::cmp::Ordering;

use crate::first_equal::{first_equal, renumber};

/// Per-vertex data that must agree: `width` numbers for each vertex.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// Numbers, vertex by vertex.
    pub values: &'a [f32],
    /// Number of values per vertex.
    pub width: usize,
}

impl Column<'_> {
    /// Bits of the numbers of a vertex; −0 has the bits of 0.
    fn bits(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let start = vertex as usize * self.width;
        self.values[start..start + self.width].iter().map(|number| (number + 0.0).to_bits())
    }
}

/// Mapping between vertices and points.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Weld {
    /// Point of each vertex.
    pub vertex_points: Vec<u32>,
    /// First vertex of each point; points are numbered in this order.
    pub point_vertices: Vec<u32>,
}

/// Joins vertices whose numbers are bitwise equal (with −0 equal to 0) in all `columns`.
///
/// Typical columns are positions, skin weights and morph offsets: coincident vertices that move differently are not
/// joined. The first column should distinguish most vertices: the others are compared only if it agrees.
///
/// # Panics
/// If a column does not contain `width` numbers for each of the `vertex_count` vertices, or if there are more vertices
/// than 32-bit indices can address.
pub fn weld(vertex_count: usize, columns: &[Column<'_>]) -> Weld {
    for column in columns {
        assert_eq!(column.values.len(), vertex_count * column.width, "a column must have `width` numbers per vertex");
    }
    let count = u32::try_from(vertex_count).expect("vertex indices must fit in 32 bits");
    let bucket = |vertex: u32| columns.first().map_or(0, |first| spread(hash(first.bits(vertex)), count));
    let compare = |a: u32, b: u32| {
        let mut orders = columns.iter().map(|column| column.bits(a).cmp(column.bits(b)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let (vertex_points, point_vertices) = renumber(&first_equal(count, vertex_count, bucket, compare));
    Weld { vertex_points, point_vertices }
}

fn hash(words: impl Iterator<Item = u32>) -> u64 {
    // The odd integer nearest to 2⁶⁴ over the golden ratio mixes low bits into high bits.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    words.fold(0, |hash: u64, word| {
        let mixed = (hash ^ u64::from(word)).wrapping_mul(GOLDEN);
        mixed ^ (mixed >> 32)
    })
}

/// Scales a hash to `0..count`.
fn spread(hash: u64, count: u32) -> u32 {
    (((hash >> 32) * u64::from(count)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_equal_vertices_and_separates_those_that_move_differently() {
        let positions = [0.0, 1.0, -0.0, 0.0];
        let motion = [5.0, 5.0, 5.0, 6.0];
        let columns = [Column { values: &positions, width: 1 }, Column { values: &motion, width: 1 }];
        let weld = weld(4, &columns);
        assert_eq!(weld.vertex_points, [0, 1, 0, 2]);
        assert_eq!(weld.point_vertices, [0, 1, 3]);
    }

    #[test]
    fn no_vertices_yield_no_points() {
        assert_eq!(weld(0, &[Column { values: &[], width: 3 }]), Weld::default());
    }

    #[test]
    fn welds_coincident_vertices_that_move_differently_in_subquadratic_time() {
        let count = 300_000;
        let positions = vec![1.0; 3 * count];
        let motion: Vec<f32> = (0..count).map(|vertex| (vertex / 2) as f32).collect();
        let columns = [Column { values: &positions, width: 3 }, Column { values: &motion, width: 1 }];
        let start = std::time::Instant::now();
        assert_eq!(weld(count, &columns).point_vertices.len(), count / 2);
        // Comparing all pairs would take minutes; the sort takes a fraction of a second.
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn the_hash_distributes_grid_positions_over_the_buckets() {
        let count = 1 << 16;
        let mut load = vec![0; count as usize];
        for vertex in 0..count {
            let position = [(vertex & 0xff) as f32 * 0.25, (vertex >> 8) as f32 * 0.5, 1.0];
            load[spread(hash(position.map(f32::to_bits).into_iter()), count) as usize] += 1;
        }
        assert!(load.iter().all(|&vertices| vertices < 16), "{:?}", load.iter().max());
    }
}
