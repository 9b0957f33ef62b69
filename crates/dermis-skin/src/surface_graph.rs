//! Connected graph of the points of a mesh: the edges of its surface, and bridges between shells.
//!
//! Separate shells (eyes, teeth, buttons) and isolated points are joined by proximity: each is joined to the nearest
//! point outside of it, and the resulting groups to each other in turn (Borůvka), until the graph is connected. Nearest
//! points are searched on a grid, ring by ring; ties are resolved by the lowest index.

use std::collections::HashMap;

use dermis_mesh::adjacency::Edges;
use glam::{IVec3, Vec3};

/// Neighbours of each point over the surface.
#[derive(Debug, Clone)]
pub(crate) struct SurfaceGraph {
    /// The edges of the surface, without bridges.
    pub(crate) edges: Vec<[u32; 2]>,
    /// The bridges between shells.
    pub(crate) bridges: Vec<[u32; 2]>,
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl SurfaceGraph {
    /// Creates the graph of `triangles` over `points`.
    pub(crate) fn new(points: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let edges = Edges::new(points.len(), triangles).ends().to_vec();
        let bridges = bridges(points, &edges);
        let mut lists = vec![Vec::new(); points.len()];
        for &[a, b] in edges.iter().chain(&bridges) {
            lists[a as usize].push(b);
            lists[b as usize].push(a);
        }
        let mut starts = vec![0];
        let mut items = Vec::new();
        for mut list in lists {
            list.sort_unstable();
            items.extend(list);
            starts.push(items.len());
        }
        Self { edges, bridges, starts, items }
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Points joined to `point` by an edge or a bridge, ascending.
    pub(crate) fn neighbours(&self, point: usize) -> &[u32] {
        &self.items[self.starts[point]..self.starts[point + 1]]
    }

    /// Connected parts of `members`.
    pub(crate) fn parts(&self, members: &[u32]) -> Vec<Vec<u32>> {
        let mut open = vec![false; self.len()];
        for &member in members {
            open[member as usize] = true;
        }
        let mut parts = Vec::new();
        for &start in members {
            if !std::mem::replace(&mut open[start as usize], false) {
                continue;
            }
            let mut part = vec![start];
            let mut next = 0;
            while next < part.len() {
                for &neighbour in self.neighbours(part[next] as usize) {
                    if std::mem::replace(&mut open[neighbour as usize], false) {
                        part.push(neighbour);
                    }
                }
                next += 1;
            }
            parts.push(part);
        }
        parts
    }
}

/// Pairs of points that join the shells of `edges`.
fn bridges(points: &[Vec3], edges: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let mut roots: Vec<u32> = (0..points.len() as u32).collect();
    for &[a, b] in edges {
        join(&mut roots, a, b);
    }
    let mut bridges = Vec::new();
    let mut grid = None;
    loop {
        let labels: Vec<u32> = (0..points.len() as u32).map(|point| root(&mut roots, point)).collect();
        let mut sizes: HashMap<u32, usize> = HashMap::new();
        for &label in &labels {
            *sizes.entry(label).or_default() += 1;
        }
        if sizes.len() < 2 {
            return bridges;
        }
        // The largest shell is reached from the others.
        let largest =
            sizes.iter().max_by_key(|&(&label, &size)| (size, std::cmp::Reverse(label))).map(|(&label, _)| label);
        let grid = grid.get_or_insert_with(|| Grid::new(points));
        let mut nearest: HashMap<u32, (f32, u32, u32)> = HashMap::new();
        for point in (0..points.len() as u32).filter(|&point| Some(labels[point as usize]) != largest) {
            let label = labels[point as usize];
            let bound = nearest.get(&label).map_or(f32::INFINITY, |best| best.0);
            if let Some((distance, other)) = grid.nearest(points, &labels, point, bound) {
                nearest.insert(label, (distance, point, other));
            }
        }
        let mut found: Vec<(u32, (f32, u32, u32))> = nearest.into_iter().collect();
        found.sort_by(|a, b| a.1.0.total_cmp(&b.1.0).then(a.0.cmp(&b.0)));
        let before = bridges.len();
        for (_, (_, a, b)) in found {
            if root(&mut roots, a) != root(&mut roots, b) {
                join(&mut roots, a, b);
                bridges.push([a.min(b), a.max(b)]);
            }
        }
        if bridges.len() == before {
            return bridges;
        }
    }
}

fn root(roots: &mut [u32], mut point: u32) -> u32 {
    while roots[point as usize] != point {
        roots[point as usize] = roots[roots[point as usize] as usize];
        point = roots[point as usize];
    }
    point
}

fn join(roots: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(roots, a), root(roots, b));
    roots[a.max(b) as usize] = a.min(b);
}

/// Points by grid cell.
struct Grid {
    low: Vec3,
    size: f32,
    rings: i32,
    cells: HashMap<IVec3, Vec<u32>>,
}

impl Grid {
    fn new(points: &[Vec3]) -> Self {
        let (low, high) = dermis_mesh::tri_mesh::bounds(points);
        let per_axis = (points.len() as f32).cbrt().ceil().max(1.0);
        let size = ((high - low).max_element() / per_axis).max(f32::MIN_POSITIVE);
        let mut grid = Self { low, size, rings: per_axis as i32 + 1, cells: HashMap::new() };
        for (index, &point) in points.iter().enumerate() {
            grid.cells.entry(grid.cell(point)).or_default().push(index as u32);
        }
        grid
    }

    fn cell(&self, point: Vec3) -> IVec3 {
        ((point - self.low) / self.size).floor().as_ivec3()
    }

    /// Nearest point with another label, and its distance, if it is below `bound`.
    fn nearest(&self, points: &[Vec3], labels: &[u32], point: u32, mut bound: f32) -> Option<(f32, u32)> {
        let (position, label) = (points[point as usize], labels[point as usize]);
        let center = self.cell(position);
        let mut best = None;
        for ring in 0..=self.rings {
            if (ring - 1) as f32 * self.size > bound {
                break;
            }
            for offset in shell_of_cells(ring) {
                for &other in self.cells.get(&(center + offset)).into_iter().flatten() {
                    let distance = points[other as usize].distance(position);
                    if labels[other as usize] != label && distance < bound {
                        (bound, best) = (distance, Some((distance, other)));
                    }
                }
            }
        }
        best
    }
}

/// Cells at Chebyshev distance `ring` from the origin.
fn shell_of_cells(ring: i32) -> impl Iterator<Item = IVec3> {
    let side = -ring..=ring;
    side.clone().flat_map(move |x| {
        let side = side.clone();
        side.clone().flat_map(move |y| {
            let inside = x.abs() < ring && y.abs() < ring;
            let step = if inside { (2 * ring).max(1) as usize } else { 1 };
            side.clone().step_by(step).map(move |z| IVec3::new(x, y, z))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_shells_are_joined_at_their_nearest_points() {
        let shell = |x: f32| [Vec3::new(x, 0.0, 0.0), Vec3::new(x + 1.0, 0.0, 0.0), Vec3::new(x, 1.0, 0.0)];
        let points: Vec<Vec3> = [shell(0.0), shell(1.5), shell(9.0)].concat();
        let graph = SurfaceGraph::new(&points, &[[0, 1, 2], [3, 4, 5], [6, 7, 8]]);
        assert!(graph.neighbours(1).contains(&3) && graph.neighbours(4).contains(&6));
        assert_eq!(graph.parts(&(0..9).collect::<Vec<_>>()).len(), 1);
        assert_eq!(graph.parts(&[0, 2, 3, 8]).len(), 3);
    }

    #[test]
    fn points_without_triangles_and_coinciding_points_are_joined() {
        let points: Vec<Vec3> = (0..50).map(|k| Vec3::splat((k / 2) as f32)).collect();
        let graph = SurfaceGraph::new(&points, &[]);
        assert_eq!(graph.parts(&(0..50).collect::<Vec<_>>()).len(), 1);
        assert!(SurfaceGraph::new(&[], &[]).len() == 0);
    }
}
