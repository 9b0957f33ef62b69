//! The robust way out: cells of a lattice that cover the skin, which moves along with them.
//!
//! For skins that are open, meet themselves or have degenerate parts. Space is filled with the tetrahedra of a body-centred
//! lattice; those stay whose middle is inside by the generalized winding number, or that the skin passes through. The
//! points of the skin are no nodes: each lies in one tetrahedron and follows it by its barycentric coordinates.
//!
//! Two cubes that share a face have four tetrahedra between them, one per edge of the face, each with both middles of the
//! cubes. Where the cells' boundary touches itself in a point or an edge, the cells around that point are added, which
//! parts it, until the boundary is a closed manifold.

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

/// Cubes of the lattice, at most.
const MOST_CUBES: f64 = 3e7;
/// Samples of one triangle, at most, along each of its sides.
const MOST_SAMPLES: f64 = 4000.0;

/// Options of [`lattice_body`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LatticeOptions {
    /// The side of the lattice's cubes, in units of the skin; `None` is twice the mean edge of the skin. Smaller is finer.
    pub spacing: Option<f64>,
    /// The interval of points along the bones; `None` is the spacing.
    pub bone_interval: Option<f64>,
}

/// A point that follows a tetrahedron.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Embedding {
    /// Which tetrahedron.
    pub tetrahedron: u32,
    /// How much of each of its corners; they sum to 1.
    pub weights: [f32; 4],
}

impl Embedding {
    /// Where the point is, for tetrahedra with their nodes at `nodes`.
    pub fn position(&self, tetrahedra: &[[u32; 4]], nodes: &[Vec3]) -> Vec3 {
        let corners = tetrahedra[self.tetrahedron as usize];
        corners.iter().zip(self.weights).map(|(&corner, weight)| nodes[corner as usize] * weight).sum()
    }
}

/// A body of lattice cells with the skin inside.
#[derive(Debug, Clone, PartialEq)]
pub struct LatticeBody {
    /// The cells.
    pub mesh: TetMesh,
    /// Where each point of the skin is.
    pub skin: Vec<Embedding>,
    /// Where points along each bone are, at even intervals; those outside the cells are left out.
    pub bones: Vec<Vec<Embedding>>,
    /// The side of the lattice's cubes.
    pub spacing: f64,
    /// Dihedral angles and conditioning.
    pub quality: TetQuality,
    /// What was assumed or left out.
    pub notes: Vec<Note>,
}

/// Covers `skin` with cells of a lattice; any skin with triangles will do.
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
    cells.extend(lattice.inside(&tree));
    Lattice::part_touching(&mut cells);
    stages.begin("embedding the skin", 2)?;
    let (mesh, cells) = lattice.mesh(&cells)?;
    let interval = options.bone_interval.unwrap_or(lattice.spacing);
    let embed = |position: DVec3| lattice.embed(position, &cells, &mesh);
    let along = |&(head, tail): &(Vec3, Vec3)| -> Vec<Embedding> {
        let (head, tail) = (head.as_dvec3(), tail.as_dvec3());
        let parts = (head.distance(tail) / interval).round().clamp(1.0, MOST_SAMPLES) as usize;
        (0..=parts).filter_map(|k| embed(head.lerp(tail, k as f64 / parts as f64))).collect()
    };
    Ok(LatticeBody {
        skin: points.iter().map(|&p| embed(p)).collect::<Option<_>>().ok_or(TetError::NoTriangles)?,
        bones: bones.iter().map(along).collect(),
        spacing: lattice.spacing,
        quality: measure_quality(mesh.nodes(), mesh.tetrahedra()),
        notes,
        mesh,
    })
}

/// A tetrahedron between two cubes: the lower cube, the axis to the other, the edge of the face between them.
type Cell = ([i32; 3], u8, u8);

/// Cubes of one size.
struct Lattice {
    low: DVec3,
    spacing: f64,
    /// Cubes per axis.
    counts: IVec3,
}

impl Lattice {
    /// A lattice with a cube to spare on every side of the skin.
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
        let asked = spacing;
        while cubes(spacing) > MOST_CUBES {
            spacing *= 1.25;
        }
        if spacing > asked {
            notes.push(Note::new(format!("a spacing of {asked} would take too many cells; {spacing} was used")));
        }
        let counts = (size / spacing).floor().as_ivec3() + IVec3::splat(4);
        (Self { low: low - DVec3::splat(1.5 * spacing), spacing, counts }, notes)
    }

    fn to_lattice(&self, position: DVec3) -> DVec3 {
        (position - self.low) / self.spacing
    }

    /// The cell that contains a point: its cube, the face that it is nearest to, and the edge of that face.
    fn cell_of(&self, position: DVec3) -> Cell {
        let at = self.to_lattice(position);
        let cube = at.floor();
        let from_middle = at - cube - 0.5;
        let size = from_middle.abs();
        let axis = if size.x >= size.y && size.x >= size.z {
            0
        } else if size.y >= size.z {
            1
        } else {
            2
        };
        let mut lower = cube.as_ivec3();
        if from_middle[axis] < 0.0 {
            lower[axis] -= 1;
        }
        let (v, w) = (from_middle[(axis + 1) % 3], from_middle[(axis + 2) % 3]);
        let edge = if v.abs() >= w.abs() { u8::from(v >= 0.0) } else { 2 + u8::from(w >= 0.0) };
        (lower.to_array(), axis as u8, edge)
    }

    /// The corners of a cell, in half spacings from the lattice's origin: cubes have odd middles and even corners.
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
        // Positive: the edge turns around the axis from the lower to the upper middle.
        [middle, other, b, a].map(|corner| corner.to_array())
    }

    fn position(&self, half: [i32; 3]) -> DVec3 {
        self.low + IVec3::from(half).as_dvec3() * (self.spacing / 2.0)
    }

    /// The cells that triangles pass through, by samples a quarter of a spacing apart.
    fn crossed_by(&self, points: &[DVec3], triangles: &[[u32; 3]]) -> BTreeSet<Cell> {
        let mut cells: BTreeSet<Cell> = points.iter().map(|&p| self.cell_of(p)).collect();
        for triangle in triangles {
            let [a, b, c] = triangle.map(|p| points[p as usize]);
            let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
            let parts = (4.0 * longest / self.spacing).ceil().clamp(1.0, MOST_SAMPLES) as usize;
            for i in 0..=parts {
                for j in 0..=parts - i {
                    let (u, v) = (i as f64 / parts as f64, j as f64 / parts as f64);
                    cells.insert(self.cell_of(a + (b - a) * u + (c - a) * v));
                }
            }
        }
        cells
    }

    /// The cells whose middle is inside.
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

    /// Adds the cells around every point at which the boundary is not a disc, until there is none.
    fn part_touching(cells: &mut BTreeSet<Cell>) {
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

    /// Points at which the faces of the boundary are not one closed fan.
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

    /// The mesh of the cells, and which tetrahedron each cell is.
    fn mesh(&self, cells: &BTreeSet<Cell>) -> Result<(TetMesh, BTreeMap<Cell, u32>), TetError> {
        let corners: BTreeSet<[i32; 3]> = cells.iter().flat_map(|&cell| Self::corners(cell)).collect();
        let numbers: BTreeMap<[i32; 3], u32> = corners.iter().copied().zip(0..).collect();
        let nodes = corners.iter().map(|&corner| self.position(corner).as_vec3()).collect();
        let tets = cells.iter().map(|&cell| Self::corners(cell).map(|corner| numbers[&corner])).collect();
        Ok((TetMesh::new(nodes, tets)?, cells.iter().copied().zip(0..).collect()))
    }

    /// Where a point is, if a cell contains it.
    fn embed(&self, position: DVec3, cells: &BTreeMap<Cell, u32>, mesh: &TetMesh) -> Option<Embedding> {
        let &tetrahedron = cells.get(&self.cell_of(position))?;
        let [a, b, c, d] = mesh.tetrahedra()[tetrahedron as usize].map(|node| mesh.nodes()[node as usize].as_dvec3());
        let parts = [
            orient(position, b, c, d),
            orient(a, position, c, d),
            orient(a, b, position, d),
            orient(a, b, c, position),
        ];
        let whole: f64 = parts.iter().sum();
        Some(Embedding { tetrahedron, weights: parts.map(|part| (part / whole) as f32) })
    }
}

/// The cells above a cube along the three axes.
fn cells_of(cube: [i32; 3]) -> impl Iterator<Item = Cell> {
    (0..12).map(move |k| (cube, k / 4, k % 4))
}

/// Whether the edges of a link make one closed cycle.
fn is_one_cycle(link: &[[[i32; 3]; 2]]) -> bool {
    let mut ways: BTreeMap<[i32; 3], Vec<[i32; 3]>> = BTreeMap::new();
    for &[a, b] in link {
        ways.entry(a).or_default().push(b);
        ways.entry(b).or_default().push(a);
    }
    if ways.values().any(|ends| ends.len() != 2) {
        return false;
    }
    let [start, mut at] = link[0];
    let (mut before, mut length) = (start, 1);
    while at != start {
        let ends = &ways[&at];
        let next = if ends[0] == before { ends[1] } else { ends[0] };
        (before, at) = (at, next);
        length += 1;
    }
    length == ways.len()
}

#[cfg(test)]
mod tests {
    use dermis_math::progress::Silent;

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
        let body = lattice_body(&skin, &[(Vec3::ZERO, Vec3::X)], &options, &Silent).unwrap();
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
