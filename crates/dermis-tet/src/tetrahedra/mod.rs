//! Tetrahedra that fill a skin: every point of the skin is a node, every face of the skin a face of the boundary.
//!
//! 1. Nodes inside: along the bones, and a body-centred lattice (`nodes`).
//! 2. Delaunay tetrahedra of all points (`delaunay`).
//! 3. Recovery of the skin's edges and faces by flips, and by points on the skin where flips do not do (`recover`).
//! 4. Carving (`carve`); points on the skin are moved inside (`suppress`).
//! 5. Improvement by flips, by moving, removing and adding nodes inside (`improve`).
//!
//! Signs are exact, ties are broken by index and every parallel part keeps the order of its results, so that the same
//! skin gives the same tetrahedra everywhere. Written from the papers; no code of `TetGen` (AGPL) is used.

mod carve;
mod check;
mod complex;
mod cone;
mod delaunay;
mod edge_removal;
mod improve;
mod intersections;
pub mod lattice;
mod nodes;
mod outer;
mod predicates;
pub mod quality;
mod recover;
mod separate;
mod suppress;

use std::collections::HashSet;

use dermis_math::progress::Progress;
use dermis_mesh::volume::volume;
use dermis_mesh::{MeshError, Note, TetMesh, TriMesh};
use glam::{DVec3, Vec3};

use complex::{Complex, NONE, sorted};
use dermis_mesh::surface_tree::SurfaceTree;
use improve::ImproveOptions;
pub use intersections::Intersection;
use outer::Outer;
use quality::{TetQuality, measure_quality};
use recover::{Constraints, Recovered, Split};

/// The interval of points along bones where no lattice sets it, in mean edges of the skin.
const INTERVAL_IN_EDGES: f64 = 1.4;
/// Nodes of the lattice, at most.
const MOST_LATTICE_NODES: f64 = 5e6;

/// Options of [`tetrahedralize`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TetOptions {
    /// The side of the cubes of the lattice inside, in units of the skin; `None` chooses it by `inner_nodes`.
    pub spacing: Option<f64>,
    /// Lattice nodes per point of the skin, about, where no spacing is given. More is finer and slower.
    pub inner_nodes: f64,
    /// The interval of nodes along the bones; `None` is the spacing of the lattice's neighbours.
    pub bone_interval: Option<f64>,
    /// Tetrahedra with a smaller dihedral angle, or a larger one than 180° minus this, are worked on, in degrees.
    pub goal_dihedral_degrees: f64,
    /// Points are added where a dihedral angle stays smaller, in degrees.
    pub least_dihedral_degrees: f64,
    /// Rounds of improvement, at most.
    pub improvement_passes: usize,
    /// Where the skin meets itself, points may be moved by at most this, in units of the skin; 0 makes it an error.
    pub separate: f64,
}

impl Default for TetOptions {
    fn default() -> Self {
        Self {
            spacing: None,
            inner_nodes: 0.5,
            bone_interval: None,
            goal_dihedral_degrees: 20.0,
            least_dihedral_degrees: 15.0,
            improvement_passes: 8,
            separate: 0.0,
        }
    }
}

/// A body of tetrahedra.
#[derive(Debug, Clone, PartialEq)]
pub struct TetBody {
    /// The nodes are the points of the skin, in order, then those of the bones, then the others.
    pub mesh: TetMesh,
    /// How many of the first nodes are points of the skin.
    pub skin_nodes: usize,
    /// The nodes along each bone, from its head to its tail; bones that meet share a node.
    pub bone_nodes: Vec<Vec<u32>>,
    /// The side of the lattice's cubes.
    pub spacing: f64,
    /// How many triangles of the skin are faces of the boundary.
    pub recovered_faces: usize,
    /// How many triangles the skin has.
    pub skin_faces: usize,
    /// Nodes on the boundary that are no points of the skin.
    pub extra_boundary_nodes: usize,
    /// The volume inside the boundary against the skin's, relative.
    pub volume_error: f64,
    /// Dihedral angles and conditioning.
    pub quality: TetQuality,
    /// How the recovery went.
    pub recovery: RecoveryCounts,
    /// What was assumed or left out.
    pub notes: Vec<Note>,
}

impl TetBody {
    /// The part of the skin's triangles that are faces of the boundary, from 0 to 1.
    pub fn recovered_fraction(&self) -> f64 {
        self.recovered_faces as f64 / self.skin_faces.max(1) as f64
    }
}

/// How the skin was recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecoveryCounts {
    /// Edges of the skin that the Delaunay tetrahedra did not have.
    pub missing_edges: usize,
    /// Faces that were missing when the edges were there.
    pub missing_faces: usize,
    /// Points that were put on the skin for a while.
    pub splits: usize,
}

/// Why a skin gets no tetrahedra.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TetError {
    /// There is nothing to fill.
    #[error("the skin has no triangles")]
    NoTriangles,
    /// The skin has holes.
    #[error("the skin is open: {count} edges have one triangle only, the first between points {} and {} near {position}; close the holes or use the lattice mesher", edge[0], edge[1])]
    Open {
        /// How many edges.
        count: usize,
        /// The first of them.
        edge: [u32; 2],
        /// Where it is.
        position: Vec3,
    },
    /// More than two triangles meet in an edge.
    #[error("{count} edges of the skin have more than two triangles, the first between points {} and {} near {position}; split the surface there or use the lattice mesher", edge[0], edge[1])]
    NonManifold {
        /// How many edges.
        count: usize,
        /// The first of them.
        edge: [u32; 2],
        /// Where it is.
        position: Vec3,
    },
    /// Neighbouring triangles look to different sides.
    #[error("the skin's triangles disagree about outside at {count} edges, the first between points {} and {} near {position}; make the winding consistent or use the lattice mesher", edge[0], edge[1])]
    Inconsistent {
        /// How many edges.
        count: usize,
        /// The first of them.
        edge: [u32; 2],
        /// Where it is.
        position: Vec3,
    },
    /// A triangle has no area.
    #[error(
        "{count} triangles of the skin have no area, the first is triangle {triangle} near {position}; remove them or use the lattice mesher"
    )]
    Degenerate {
        /// The first of them.
        triangle: usize,
        /// How many.
        count: usize,
        /// Where it is.
        position: Vec3,
    },
    /// Two points that triangles use are in the same place.
    #[error("points {} and {} of the skin are both at {position}; weld them or use the lattice mesher", points[0], points[1])]
    SamePlace {
        /// The two points.
        points: [u32; 2],
        /// Where they are.
        position: Vec3,
    },
    /// The skin meets itself.
    #[error(
        "the skin meets itself in {count} pairs of triangles{}; part them, allow points to move, or use the lattice mesher",
        listed(pairs)
    )]
    SelfIntersecting {
        /// How many pairs of triangles meet.
        count: usize,
        /// The first of them.
        pairs: Vec<Intersection>,
    },
    /// A bone is not finite.
    #[error("bone {bone} has a coordinate that is not finite")]
    BadBone {
        /// Which.
        bone: usize,
    },
    /// An option is out of range.
    #[error("{what} must be a positive number, but is {value}")]
    BadOption {
        /// Which.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// Tetrahedra made elsewhere do not have a point of the skin.
    #[error(
        "point {point} of the skin, at {position}, is no node of the given tetrahedra; mesh this skin, without moving its points"
    )]
    MissingPoint {
        /// Which.
        point: usize,
        /// Where it is.
        position: Vec3,
    },
    /// The spacing asks for more nodes than can be handled.
    #[error("a spacing of {spacing} would give {count:.1e} nodes; give a larger one")]
    TooFine {
        /// The spacing.
        spacing: f64,
        /// How many nodes it would give.
        count: f64,
    },
    /// The observer stopped the work.
    #[error("stopped before the tetrahedra were whole")]
    Stopped,
    /// The tetrahedra do not make a mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

fn listed(pairs: &[Intersection]) -> String {
    let lines = pairs.iter().map(|pair| {
        let [first, second] = pair.triangles;
        format!("\n  triangles {first} and {second} near {}", pair.position)
    });
    lines.collect()
}

/// Fills `skin` with tetrahedra, with nodes along `bones` (head and tail each).
pub fn tetrahedralize(
    skin: &TriMesh,
    bones: &[(Vec3, Vec3)],
    options: &TetOptions,
    progress: &dyn Progress,
) -> Result<TetBody, TetError> {
    check_lengths(bones, options.spacing, options.bone_interval)?;
    if let Some(spacing) = options.spacing {
        let count = 2.0 * volume(skin.points(), skin.triangles()).abs() / spacing.powi(3);
        if count > MOST_LATTICE_NODES {
            return Err(TetError::TooFine { spacing, count });
        }
    }
    let stages = Stages { progress };
    stages.begin("checking the skin", 0)?;
    let Skin { points, triangles, tree, mut notes } = Skin::checked(skin, options.separate)?;
    stages.begin("placing nodes", 1)?;
    let loose = loose_points(points.len(), skin.triangles());
    let inner = InnerNodes::new(&points, &triangles, bones, options, &tree);
    if inner.bones.left_out > 0 {
        notes.push(Note::new(format!(
            "{} nodes of the bones are outside the skin or almost on it and were left out",
            inner.bones.left_out
        )));
    }
    if inner.too_fine {
        notes.push(Note::new("the box around the skin has too many cells of the lattice; it has no nodes inside"));
    }
    stages.begin("Delaunay tetrahedra", 2)?;
    let mut complex = delaunay::delaunay(&[&points[..], &inner.bones.positions, &inner.lattice].concat(), &loose);
    stages.begin("recovering the skin", 3)?;
    let mut constraints = Constraints::new(&triangles);
    let recovered = recover::recover(&mut complex, &mut constraints);
    stages.begin("carving", 4)?;
    let inside = carve::carve(&complex, &constraints, &tree, recovered.complete);
    let mut complex = Complex::new(complex.points, &inside);
    stages.begin("improving", 5)?;
    let fixed = points.len() + inner.bones.positions.len();
    improve_inside(&mut complex, fixed, &constraints.splits, options);
    stages.begin("measuring", 6)?;
    let mesh = compact(&complex, fixed)?;
    Ok(report(mesh, points.len(), &triangles, &inner, &recovered, notes))
}

/// Points along `bones`, about `interval` apart, that are inside `skin`: what a mesher of another program is given.
pub fn points_along_bones(
    skin: &TriMesh,
    bones: &[(Vec3, Vec3)],
    interval: Option<f64>,
) -> Result<Vec<Vec3>, TetError> {
    check_lengths(bones, None, interval)?;
    let points: Vec<DVec3> = skin.points().iter().map(|p| p.as_dvec3()).collect();
    let interval = interval.unwrap_or_else(|| INTERVAL_IN_EDGES * check::mean_edge(&points, skin.triangles()));
    let nodes = nodes::bone_nodes(bones, interval, &SurfaceTree::new(&points, skin.triangles()));
    Ok(nodes.positions.iter().map(|position| position.as_vec3()).collect())
}

fn check_lengths(bones: &[(Vec3, Vec3)], spacing: Option<f64>, bone_interval: Option<f64>) -> Result<(), TetError> {
    if let Some(bone) = bones.iter().position(|(head, tail)| !head.is_finite() || !tail.is_finite()) {
        return Err(TetError::BadBone { bone });
    }
    for (what, value) in [("the spacing", spacing), ("the interval of bone nodes", bone_interval)] {
        if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
            return Err(TetError::BadOption { what, value });
        }
    }
    Ok(())
}

/// A skin that can be filled.
struct Skin {
    points: Vec<DVec3>,
    /// Those that bound the body, looking outwards.
    triangles: Vec<[u32; 3]>,
    tree: SurfaceTree,
    notes: Vec<Note>,
}

impl Skin {
    fn checked(skin: &TriMesh, separate: f64) -> Result<Self, TetError> {
        let mut notes = Vec::new();
        let mut points: Vec<DVec3> = skin.points().iter().map(|p| p.as_dvec3()).collect();
        let mut triangles = skin.triangles().to_vec();
        if volume(skin.points(), &triangles) < 0.0 {
            for triangle in &mut triangles {
                triangle.swap(1, 2);
            }
            notes.push(Note::new("the skin's triangles look inwards; they were taken the other way round"));
        }
        check::check(&points, &triangles)?;
        let mut tree = SurfaceTree::new(&points, &triangles);
        if let Some(parted) = check::check_intersections(&points, &triangles, &tree, separate)? {
            notes.push(Note::new(format!(
                "the skin met itself; {} points were moved, by at most {:.2e}",
                parted.moved, parted.farthest
            )));
            points = parted.points;
            tree = SurfaceTree::new(&points, &triangles);
        }
        let Outer { triangles: outer, turned, within, loose } = outer::outer(&points, &triangles, &tree);
        if turned > 0 {
            tree = SurfaceTree::new(&points, &outer);
        }
        for (count, what) in [
            (turned, "triangles of shells that look inwards were taken the other way round"),
            (within, "triangles of shells within the body are no part of its boundary; their points are nodes inside"),
            (loose, "points of the skin have no triangle; they are nodes without tetrahedra"),
        ] {
            if count > 0 {
                notes.push(Note::new(format!("{count} {what}")));
            }
        }
        Ok(Self { points, triangles: outer, tree, notes })
    }
}

/// Which points no triangle uses.
fn loose_points(count: usize, triangles: &[[u32; 3]]) -> Vec<bool> {
    let mut loose = vec![true; count];
    for &point in triangles.iter().flatten() {
        loose[point as usize] = false;
    }
    loose
}

/// Says which stage begins.
struct Stages<'a> {
    progress: &'a dyn Progress,
}

impl Stages<'_> {
    fn begin(&self, stage: &str, done: usize) -> Result<(), TetError> {
        const COUNT: usize = 7;
        if self.progress.report(stage, done, COUNT).is_break() { Err(TetError::Stopped) } else { Ok(()) }
    }
}

/// The nodes that do not come from the skin.
struct InnerNodes {
    bones: nodes::BoneNodes,
    lattice: Vec<DVec3>,
    spacing: f64,
    /// Whether the lattice was left out, since it has too many cells.
    too_fine: bool,
}

impl InnerNodes {
    fn new(
        points: &[DVec3],
        triangles: &[[u32; 3]],
        bones: &[(Vec3, Vec3)],
        options: &TetOptions,
        tree: &SurfaceTree,
    ) -> Self {
        let mean_edge = check::mean_edge(points, triangles);
        let (low, high) = tree.bounds();
        let spacing = options.spacing.unwrap_or_else(|| {
            let wanted = options.inner_nodes * points.len() as f64;
            nodes::spacing_for(low, high, tree, wanted, [1.2, 4.0].map(|edges| edges * mean_edge))
        });
        // The nearest neighbours of a body-centred lattice are this far apart.
        let interval = options.bone_interval.unwrap_or(spacing * 0.75_f64.sqrt());
        let bones = nodes::bone_nodes(bones, interval, tree);
        let lattice = nodes::lattice_nodes(low, high, spacing, tree, &bones.positions);
        Self { bones, lattice, spacing, too_fine: !nodes::fits(low, high, spacing) }
    }
}

/// Moves added points off the skin and improves the tetrahedra, which may help the ones that would not move at first.
fn improve_inside(complex: &mut Complex, fixed: usize, splits: &[Split], options: &TetOptions) {
    const ROUNDS: usize = 3;
    let sine = |degrees: f64| degrees.to_radians().sin();
    let goal = sine(options.goal_dihedral_degrees);
    let least = sine(options.least_dihedral_degrees);
    let mut left = splits.to_vec();
    for round in 0..ROUNDS {
        left = suppress::suppress(complex, &left);
        let mut free = free_points(complex, fixed);
        let added: Vec<u32> = splits.iter().map(|split| split.point).filter(|&point| free[point as usize]).collect();
        let last = round + 1 == ROUNDS || left.is_empty();
        let passes = if last { options.improvement_passes } else { 2 };
        improve::remove_points(complex, &mut free, &added, goal);
        improve::improve(complex, &mut free, &ImproveOptions { goal, insert_below: least, passes });
        if last {
            break;
        }
    }
    improve::round_positions(complex, fixed);
}

/// Which points may move: those behind the first `fixed` that are not on the boundary.
fn free_points(complex: &Complex, fixed: usize) -> Vec<bool> {
    let mut free: Vec<bool> = (0..complex.points.len()).map(|point| point >= fixed).collect();
    for corner in boundary_faces(complex).into_iter().flatten() {
        free[corner as usize] = false;
    }
    free
}

/// The faces of the boundary, in no particular direction.
fn boundary_faces(complex: &Complex) -> Vec<[u32; 3]> {
    let faces = complex.alive().flat_map(|tet| (0..4).map(move |slot| (tet, slot)));
    faces
        .filter(|&(tet, slot)| complex.neighbour(tet, slot) == NONE)
        .map(|(tet, slot)| complex.face(tet, slot))
        .collect()
}

/// The mesh without the nodes that no tetrahedron uses, except the first `kept`.
fn compact(complex: &Complex, kept: usize) -> Result<TetMesh, TetError> {
    let mut used = vec![false; complex.points.len()];
    used[..kept].fill(true);
    for tet in complex.alive() {
        for corner in complex.tet(tet) {
            used[corner as usize] = true;
        }
    }
    let mut numbers = vec![NONE; used.len()];
    let mut nodes = Vec::new();
    for (point, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        numbers[point] = nodes.len() as u32;
        nodes.push(complex.points[point].as_vec3());
    }
    let tets = complex.alive().map(|tet| complex.tet(tet).map(|corner| numbers[corner as usize])).collect();
    Ok(TetMesh::new(nodes, tets)?)
}

fn report(
    mesh: TetMesh,
    skin_nodes: usize,
    triangles: &[[u32; 3]],
    inner: &InnerNodes,
    recovered: &Recovered,
    notes: Vec<Note>,
) -> TetBody {
    let boundary: HashSet<[u32; 3]> = mesh.boundary().into_iter().map(sorted).collect();
    let mut extra: Vec<u32> = boundary.iter().flatten().copied().filter(|&node| node as usize >= skin_nodes).collect();
    extra.sort_unstable();
    extra.dedup();
    let enclosed: f64 = mesh.volumes().iter().sum();
    let skin_volume = volume(mesh.nodes(), triangles);
    let bone_nodes =
        inner.bones.of_bones.iter().map(|own| own.iter().map(|&n| n + skin_nodes as u32).collect()).collect();
    TetBody {
        skin_nodes,
        bone_nodes,
        spacing: inner.spacing,
        recovered_faces: triangles.iter().filter(|&&face| boundary.contains(&sorted(face))).count(),
        skin_faces: triangles.len(),
        extra_boundary_nodes: extra.len(),
        volume_error: enclosed / skin_volume - 1.0,
        quality: measure_quality(mesh.nodes(), mesh.tetrahedra()),
        recovery: RecoveryCounts {
            missing_edges: recovered.missing_edges,
            missing_faces: recovered.missing_faces,
            splits: recovered.splits,
        },
        notes,
        mesh,
    }
}
