//! Finding the points behind split vertices: vertices that agree in everything that concerns shape are one point.

use std::cmp::Ordering;

use crate::first_equal::{first_equal, number};

/// One per-vertex array that must agree: `width` numbers for each vertex.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The numbers, vertex after vertex.
    pub values: &'a [f32],
    /// How many belong to one vertex.
    pub width: usize,
}

impl Column<'_> {
    /// The bits of a vertex's numbers; −0 has the bits of 0.
    fn bits(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let start = vertex as usize * self.width;
        self.values[start..start + self.width].iter().map(|number| (number + 0.0).to_bits())
    }
}

/// Which point each vertex is, and which vertex speaks for each point.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Weld {
    /// The point of each vertex.
    pub vertex_points: Vec<u32>,
    /// The first vertex of each point; points are numbered in this order.
    pub point_vertices: Vec<u32>,
}

/// Joins the vertices whose numbers are equal, bit for bit (but −0 is 0), in all `columns`.
///
/// Give it positions, skin weights and morph offsets: vertices that lie together but move apart stay apart. The first
/// column should tell most vertices apart: only where it agrees are the others looked at.
///
/// # Panics
/// If a column does not hold `width` numbers for each of the `vertex_count` vertices, or there are more vertices than
/// 32-bit indices can name.
pub fn weld(vertex_count: usize, columns: &[Column<'_>]) -> Weld {
    for column in columns {
        assert_eq!(column.values.len(), vertex_count * column.width, "a column holds `width` numbers per vertex");
    }
    let count = u32::try_from(vertex_count).expect("vertices are named by 32-bit indices");
    let bucket = |vertex: u32| columns.first().map_or(0, |first| spread(hash(first.bits(vertex)), count));
    let compare = |a: u32, b: u32| {
        let mut orders = columns.iter().map(|column| column.bits(a).cmp(column.bits(b)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let (vertex_points, point_vertices) = number(&first_equal(count, vertex_count, bucket, compare));
    Weld { vertex_points, point_vertices }
}

fn hash(words: impl Iterator<Item = u32>) -> u64 {
    // The odd number nearest to 2⁶⁴ over the golden ratio mixes low bits into high ones.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    words.fold(0, |hash: u64, word| {
        let mixed = (hash ^ u64::from(word)).wrapping_mul(GOLDEN);
        mixed ^ (mixed >> 32)
    })
}

/// A hash scaled down to `0..count`.
fn spread(hash: u64, count: u32) -> u32 {
    (((hash >> 32) * u64::from(count)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_equal_vertices_and_keeps_those_that_move_apart() {
        let positions = [0.0, 1.0, -0.0, 0.0];
        let motion = [5.0, 5.0, 5.0, 6.0];
        let columns = [Column { values: &positions, width: 1 }, Column { values: &motion, width: 1 }];
        let weld = weld(4, &columns);
        assert_eq!(weld.vertex_points, [0, 1, 0, 2]);
        assert_eq!(weld.point_vertices, [0, 1, 3]);
    }

    #[test]
    fn no_vertices_make_no_points() {
        assert_eq!(weld(0, &[Column { values: &[], width: 3 }]), Weld::default());
    }

    #[test]
    fn vertices_that_all_lie_together_but_move_apart_take_no_quadratic_time() {
        let count = 300_000;
        let positions = vec![1.0; 3 * count];
        let motion: Vec<f32> = (0..count).map(|vertex| (vertex / 2) as f32).collect();
        let columns = [Column { values: &positions, width: 3 }, Column { values: &motion, width: 1 }];
        let start = std::time::Instant::now();
        assert_eq!(weld(count, &columns).point_vertices.len(), count / 2);
        // Comparing each with each would take minutes; the sort takes a fraction of a second.
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn the_hash_spreads_positions_of_a_grid_over_the_buckets() {
        let count = 1 << 16;
        let mut load = vec![0; count as usize];
        for vertex in 0..count {
            let position = [(vertex & 0xff) as f32 * 0.25, (vertex >> 8) as f32 * 0.5, 1.0];
            load[spread(hash(position.map(f32::to_bits).into_iter()), count) as usize] += 1;
        }
        assert!(load.iter().all(|&vertices| vertices < 16), "{:?}", load.iter().max());
    }
}
