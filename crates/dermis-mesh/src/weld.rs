//! Finding the points behind split vertices: vertices that agree in everything that concerns shape are one point.

use std::collections::HashMap;

/// One per-vertex array that must agree: `width` numbers for each vertex.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The numbers, vertex after vertex.
    pub values: &'a [f32],
    /// How many belong to one vertex.
    pub width: usize,
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
/// Give it positions, skin weights and morph offsets: vertices that lie together but move apart stay apart.
///
/// # Panics
/// If a column does not hold `width` numbers for each of the `vertex_count` vertices.
pub fn weld(vertex_count: usize, columns: &[Column<'_>]) -> Weld {
    for column in columns {
        assert_eq!(column.values.len(), vertex_count * column.width, "a column holds `width` numbers per vertex");
    }
    const NONE: u32 = u32::MAX;
    let row = |column: &Column<'_>, vertex: u32| {
        let start = vertex as usize * column.width;
        start..start + column.width
    };
    // Points that agree in the first column form a chain; the other columns are compared along it, not hashed, so
    // hundreds of morph targets cost nothing where positions are distinct.
    let mut chains: HashMap<Vec<u32>, u32> = HashMap::with_capacity(vertex_count);
    let mut next: Vec<u32> = Vec::new();
    let mut result = Weld { vertex_points: Vec::with_capacity(vertex_count), point_vertices: Vec::new() };
    for vertex in 0..vertex_count as u32 {
        let key = columns.first().map_or_else(Vec::new, |first| {
            first.values[row(first, vertex)].iter().map(|number| (number + 0.0).to_bits()).collect()
        });
        let head = chains.entry(key).or_insert(NONE);
        let mut point = *head;
        while point != NONE {
            let other = result.point_vertices[point as usize];
            if columns.iter().skip(1).all(|c| same_numbers(&c.values[row(c, vertex)], &c.values[row(c, other)])) {
                break;
            }
            point = next[point as usize];
        }
        if point == NONE {
            point = result.point_vertices.len() as u32;
            result.point_vertices.push(vertex);
            next.push(*head);
            *head = point;
        }
        result.vertex_points.push(point);
    }
    result
}

fn same_numbers(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a + 0.0).to_bits() == (b + 0.0).to_bits())
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
}
