//! Robust lattice mesher: lattice cells that cover the skin, with the skin embedded in them.
//!
//! For skins that are open, self-intersecting or degenerate. Space is filled with the tetrahedra of a body-centred
//! cubic lattice; a cell is kept if its centre is inside by the generalized winding number, or if the skin passes
//! through it. The points of the skin are not nodes: each lies in a tetrahedron and follows it by its barycentric
//! coordinates.
//!
//! Between two cubes that share a face there are four tetrahedra, one per edge of the face, each with the centres of both
//! cubes as corners. If the boundary of the cells touches itself at a point or an edge, the cells around that point are
//! added until the boundary is a closed manifold.

use std::collections::{BTreeMap, BTreeSet};

use dermis_math::progress::Progress;
use dermis_mesh::{Note, TetMesh, TriMesh};
use glam::{DVec3, IVec3, Vec3};
use rayon::prelude::*;

use super::check::mean_edge;
use super::predicates::orient;
use super::quality::{TetQuality, measure_quality};
use super::{Stages, TetError};
use dermis_mesh::surface_tree::SurfaceTree;

/// Maximum number of lattice cubes.
const MAX_CUBES: f64 = 3e7;
/// Maximum number of samples along each side of a triangle or along a bone.
const MAX_SAMPLES: f64 = 4000.0;

/// Options of [`lattice_body`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LatticeOptions {
    /// Side of the lattice cubes, in units of the skin; `None` is twice the mean edge of the skin. Smaller is finer.
    pub spacing: Option<f64>,
    /// Interval of points along the bones, in units of the skin; `None` is the spacing.
    pub bone_interval: Option<f64>,
}

/// A point embedded in a tetrahedron.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Embedding {
    /// Index of the tetrahedron.
    pub tetrahedron: u32,
    /// Barycentric coordinates, which sum to 1.
    pub weights: [f32; 4],
}

impl Embedding {
    /// Position of the point for the given node positions.
    pub fn position(&self, tetrahedra: &[[u32; 4]], nodes: &[Vec3]) -> Vec3 {
        let corners = tetrahedra[self.tetrahedron as usize];
        corners.iter().zip(self.weights).map(|(&corner, weight)| nodes[corner as usize] * weight).sum()
    }
}

/// A body of lattice cells with an embedded skin.
#[derive(Debug, Clone, PartialEq)]
pub struct LatticeBody {
    /// Mesh of the cells.
    pub mesh: TetMesh,
    /// Embedding of each skin point.
    pub skin: Vec<Embedding>,
    /// Embeddings of points along each bone, at even intervals; points outside the cells are dropped.
    pub bones: Vec<Vec<Embedding>>,
    /// Side of the lattice cubes.
    pub spacing: f64,
    /// Fraction of the cells that are inside and not crossed by the skin; small for sheets and coarse lattices.
    pub inner_fraction: f64,
    /// Dihedral angles and conditioning.
    pub quality: TetQuality,
    /// Notes about changed options.
    pub notes: Vec<Note>,
}

/// Covers `skin` with lattice cells; any skin with triangles is accepted.
pub fn lattice_body(
    skin: &TriMesh,
    bones: &[(Vec3, Vec3)],
    options: &LatticeOptions,
    progress: &dyn Progress,
) -> Result<LatticeBody, TetError> {
    super::check_lengths(bones, options.spacing, options.bone_interval)?;
    if skin.triangles().is_empty() {
        return Err(TetError::NoTriangles);
    }
    let stages = Stages { progress };
    stages.begin("covering the skin", 0)?;
    let points: Vec<DVec3> = skin.points().iter().map(|p| p.as_dvec3()).collect();
    let (lattice, notes) = Lattice::around(skin, &points, options.spacing);
    let tree = SurfaceTree::new(&points, skin.triangles());
    let mut cells = lattice.crossed_by(&points, skin.triangles());
    stages.begin("filling the inside", 1)?;
    let crossed = cells.len();
    cells.extend(lattice.inside(&tree));
    let inner_fraction = (cells.len() - crossed) as f64 / cells.len() as f64;
    Lattice::separate_touching(&mut cells);
    stages.begin("embedding the skin", 2)?;
    let (mesh, cells) = lattice.mesh(&cells)?;
    let interval = options.bone_interval.unwrap_or(lattice.spacing);
    let embed = |position: DVec3| lattice.embed(position, &cells, &mesh);
    let along = |&(head, tail): &(Vec3, Vec3)| -> Vec<Embedding> {
        let (head, tail) = (head.as_dvec3(), tail.as_dvec3());
        let parts = (head.distance(tail) / interval).round().clamp(1.0, MAX_SAMPLES) as usize;
        (0..=parts).filter_map(|k| embed(head.lerp(tail, k as f64 / parts as f64))).collect()
    };
    Ok(LatticeBody {
        skin: points.iter().map(|&p| embed(p)).collect::<Option<_>>().ok_or(TetError::NoTriangles)?,
        bones: bones.iter().map(along).collect(),
        spacing: lattice.spacing,
        inner_fraction,
        quality: measure_quality(mesh.nodes(), mesh.tetrahedra()),
        notes,
        mesh,
    })
}

/// A tetrahedron between two cubes: the lower cube, the axis to the other cube, and an edge of their common face.
type Cell = ([i32; 3], u8, u8);

/// A grid of cubes.
struct Lattice {
    low: DVec3,
    spacing: f64,
    /// Number of cubes per axis.
    counts: IVec3,
}

impl Lattice {
    /// Creates a lattice with a margin of one cube around the skin.
    fn around(skin: &TriMesh, points: &[DVec3], spacing: Option<f64>) -> (Self, Vec<Note>) {
        let (low, high) = skin.bounds();
        let (low, high) = (low.as_dvec3(), high.as_dvec3());
        let mean = mean_edge(points, skin.triangles());
        let mut spacing = spacing.unwrap_or(2.0 * mean);
        let size = high - low;
        let mut notes = Vec::new();
        if spacing.is_nan() || spacing <= 0.0 {
            spacing = size.max_element().max(f64::MIN_POSITIVE.sqrt());
        }
        let cubes = |spacing: f64| (size / spacing + 4.0).to_array().iter().product::<f64>();
        let requested = spacing;
        while cubes(spacing) > MAX_CUBES {
            spacing *= 1.25;
        }
        if spacing > requested {
            notes.push(Note::new(format!("a spacing of {requested} gives too many cells; {spacing} was used instead")));
        }
        let counts = (size / spacing).floor().as_ivec3() + IVec3::splat(4);
        (Self { low: low - DVec3::splat(1.5 * spacing), spacing, counts }, notes)
    }

    fn to_lattice(&self, position: DVec3) -> DVec3 {
        (position - self.low) / self.spacing
    }

    /// Cell that contains a point, from its cube, the nearest face of that cube and the nearest edge of that face.
    fn cell_of(&self, position: DVec3) -> Cell {
        let at = self.to_lattice(position);
        let cube = at.floor();
        let from_center = at - cube - 0.5;
        let size = from_center.abs();
        let axis = if size.x >= size.y && size.x >= size.z {
            0
        } else if size.y >= size.z {
            1
        } else {
            2
        };
        let mut lower = cube.as_ivec3();
        if from_center[axis] < 0.0 {
            lower[axis] -= 1;
        }
        let (v, w) = (from_center[(axis + 1) % 3], from_center[(axis + 2) % 3]);
        let edge = if v.abs() >= w.abs() { u8::from(v >= 0.0) } else { 2 + u8::from(w >= 0.0) };
        (lower.to_array(), axis as u8, edge)
    }

    /// Corners of a cell, in half spacings from the origin of the lattice: centres of cubes are odd, corners even.
    fn corners((lower, axis, edge): Cell) -> [[i32; 3]; 4] {
        let axis = axis as usize;
        let (v, w) = ((axis + 1) % 3, (axis + 2) % 3);
        let middle = IVec3::from(lower) * 2 + 1;
        let mut other = middle;
        other[axis] += 2;
        let corner = |along_v: i32, along_w: i32| {
            let mut corner = middle;
            corner[axis] += 1;
            corner[v] += along_v;
            corner[w] += along_w;
            corner
        };
        let [a, b] = match edge {
            0 => [corner(-1, -1), corner(-1, 1)],
            1 => [corner(1, 1), corner(1, -1)],
            2 => [corner(1, -1), corner(-1, -1)],
            _ => [corner(-1, 1), corner(1, 1)],
        };
        // Positive orientation: the edge is counter-clockwise around the axis from the lower to the upper centre.
        [middle, other, b, a].map(|corner| corner.to_array())
    }

    fn position(&self, half: [i32; 3]) -> DVec3 {
        self.low + IVec3::from(half).as_dvec3() * (self.spacing / 2.0)
    }

    /// Cells that triangles pass through, found by samples a quarter of a spacing apart.
    fn crossed_by(&self, points: &[DVec3], triangles: &[[u32; 3]]) -> BTreeSet<Cell> {
        let mut cells: BTreeSet<Cell> = points.iter().map(|&p| self.cell_of(p)).collect();
        for triangle in triangles {
            let [a, b, c] = triangle.map(|p| points[p as usize]);
            let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
            let parts = (4.0 * longest / self.spacing).ceil().clamp(1.0, MAX_SAMPLES) as usize;
            for i in 0..=parts {
                for j in 0..=parts - i {
                    let (u, v) = (i as f64 / parts as f64, j as f64 / parts as f64);
                    cells.insert(self.cell_of(a + (b - a) * u + (c - a) * v));
                }
            }
        }
        cells
    }

    /// Cells whose centre is inside.
    fn inside(&self, tree: &SurfaceTree) -> Vec<Cell> {
        let IVec3 { x: nx, y: ny, z: nz } = self.counts;
        let layer = |z: i32| -> Vec<Cell> {
            let mut found = Vec::new();
            for (y, x) in (0..ny).flat_map(|y| (0..nx).map(move |x| (y, x))) {
                for cell in cells_of([x, y, z]) {
                    let middle = Self::corners(cell).map(|corner| self.position(corner)).iter().sum::<DVec3>() / 4.0;
                    if tree.is_inside(middle) {
                        found.push(cell);
                    }
                }
            }
            found
        };
        (0..nz).into_par_iter().flat_map_iter(layer).collect()
    }

    /// Adds the cells around every point at which the boundary is not a disk, until there is none.
    fn separate_touching(cells: &mut BTreeSet<Cell>) {
        loop {
            let touching = Self::touching_points(cells);
            if touching.is_empty() {
                return;
            }
            for point in touching {
                let cube = IVec3::from(point.map(|half| half.div_euclid(2)));
                for k in 0..64 {
                    let near = cube + IVec3::new(k % 4 - 2, k / 4 % 4 - 2, k / 16 - 2);
                    cells.extend(cells_of(near.to_array()).filter(|&cell| Self::corners(cell).contains(&point)));
                }
            }
        }
    }

    /// Points at which the faces of the boundary do not form a single closed fan.
    fn touching_points(cells: &BTreeSet<Cell>) -> Vec<[i32; 3]> {
        let mut faces: BTreeMap<[[i32; 3]; 3], u32> = BTreeMap::new();
        for &cell in cells {
            let corners = Self::corners(cell);
            for skipped in 0..4 {
                let mut face = [0, 1, 2].map(|k| corners[(skipped + 1 + k) % 4]);
                face.sort_unstable();
                *faces.entry(face).or_default() += 1;
            }
        }
        let mut links: BTreeMap<[i32; 3], Vec<[[i32; 3]; 2]>> = BTreeMap::new();
        for ([a, b, c], _) in faces.into_iter().filter(|&(_, uses)| uses == 1) {
            links.entry(a).or_default().push([b, c]);
            links.entry(b).or_default().push([a, c]);
            links.entry(c).or_default().push([a, b]);
        }
        links.into_iter().filter(|(_, link)| !is_one_cycle(link)).map(|(point, _)| point).collect()
    }

    /// Mesh of the cells, and the index of the tetrahedron of each cell.
    fn mesh(&self, cells: &BTreeSet<Cell>) -> Result<(TetMesh, BTreeMap<Cell, u32>), TetError> {
        let corners: BTreeSet<[i32; 3]> = cells.iter().flat_map(|&cell| Self::corners(cell)).collect();
        let indices: BTreeMap<[i32; 3], u32> = corners.iter().copied().zip(0..).collect();
        let nodes = corners.iter().map(|&corner| self.position(corner).as_vec3()).collect();
        let tets = cells.iter().map(|&cell| Self::corners(cell).map(|corner| indices[&corner])).collect();
        Ok((TetMesh::new(nodes, tets)?, cells.iter().copied().zip(0..).collect()))
    }

    /// Embedding of a point, if a cell contains it.
    fn embed(&self, position: DVec3, cells: &BTreeMap<Cell, u32>, mesh: &TetMesh) -> Option<Embedding> {
        let &tetrahedron = cells.get(&self.cell_of(position))?;
        let [a, b, c, d] = mesh.tetrahedra()[tetrahedron as usize].map(|node| mesh.nodes()[node as usize].as_dvec3());
        let volumes = [
            orient(position, b, c, d),
            orient(a, position, c, d),
            orient(a, b, position, d),
            orient(a, b, c, position),
        ];
        let total: f64 = volumes.iter().sum();
        Some(Embedding { tetrahedron, weights: volumes.map(|volume| (volume / total) as f32) })
    }
}

/// Cells between a cube and the next cubes along the three axes.
fn cells_of(cube: [i32; 3]) -> impl Iterator<Item = Cell> {
    (0..12).map(move |k| (cube, k / 4, k % 4))
}

/// Returns true if the edges of a link form a single closed cycle.
fn is_one_cycle(link: &[[[i32; 3]; 2]]) -> bool {
    let mut adjacent: BTreeMap<[i32; 3], Vec<[i32; 3]>> = BTreeMap::new();
    for &[a, b] in link {
        adjacent.entry(a).or_default().push(b);
        adjacent.entry(b).or_default().push(a);
    }
    if adjacent.values().any(|ends| ends.len() != 2) {
        return false;
    }
    let [start, mut at] = link[0];
    let (mut before, mut length) = (start, 1);
    while at != start {
        let ends = &adjacent[&at];
        let next = if ends[0] == before { ends[1] } else { ends[0] };
        (before, at) = (at, next);
        length += 1;
    }
    length == adjacent.len()
}

#[cfg(test)]
mod tests {
    use dermis_math::progress::NoProgress;

    use super::*;

    fn lattice() -> Lattice {
        Lattice { low: DVec3::new(-3.0, 1.0, 2.0), spacing: 0.5, counts: IVec3::splat(8) }
    }

    #[test]
    fn cells_are_positive_and_contain_their_points() {
        let lattice = lattice();
        for k in 0..500_u64 {
            let number = |k: u64| (super::super::delaunay::scramble(k) >> 11) as f64 / (1u64 << 53) as f64;
            let position = lattice.low + 1.0 + DVec3::new(number(3 * k), number(3 * k + 1), number(3 * k + 2)) * 2.0;
            let [a, b, c, d] = Lattice::corners(lattice.cell_of(position)).map(|corner| lattice.position(corner));
            assert!(orient(a, b, c, d) > 0.0);
            let sides = [
                orient(position, b, c, d),
                orient(a, position, c, d),
                orient(a, b, position, d),
                orient(a, b, c, position),
            ];
            assert!(sides.iter().all(|&side| side > -1e-12), "{sides:?}");
        }
    }

    #[test]
    fn covers_an_open_skin_and_embeds_its_points() {
        // Three sides of a cube.
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::new(1.0, 1.0, 0.0)];
        let skin = TriMesh::new(points.clone(), vec![[0, 2, 1], [1, 2, 4], [0, 1, 3], [0, 3, 2]]).unwrap();
        let options = LatticeOptions { spacing: Some(0.2), ..LatticeOptions::default() };
        let body = lattice_body(&skin, &[(Vec3::ZERO, Vec3::X)], &options, &NoProgress).unwrap();
        for (embedding, point) in body.skin.iter().zip(points) {
            assert!(embedding.position(body.mesh.tetrahedra(), body.mesh.nodes()).distance(point) < 1e-6);
        }
        assert_eq!(body.bones[0].len(), 6);
        assert!((body.quality.smallest_dihedral_degrees - 60.0).abs() < 1e-3);
        let surface = body.mesh.surface();
        let edges = dermis_mesh::adjacency::Edges::new(surface.point_count(), surface.triangles());
        assert!(dermis_mesh::boundary::is_closed(&edges));
        assert!(dermis_mesh::boundary::non_manifold_edges(&edges).is_empty());
    }
}
