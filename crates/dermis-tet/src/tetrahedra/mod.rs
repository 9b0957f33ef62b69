//! Tetrahedral mesher: every point of the skin becomes a node, every face of the skin a face of the boundary.
//!
//! 1. Inner nodes along the bones and on a body-centred cubic lattice (`nodes`).
//! 2. Delaunay tetrahedra of all points (`delaunay`).
//! 3. Recovery of the edges and faces of the skin by flips, and by Steiner points on the skin if flips fail (`recover`).
//! 4. Removal of the tetrahedra outside (`carve`); Steiner points are moved from the skin to the inside (`suppress`).
//! 5. Improvement by flips and by moving, removing and adding inner nodes (`improve`).
//!
//! Predicates are exact, ties are broken by index and parallel loops preserve the order of their results, so that a skin
//! gives the same tetrahedra on any machine. Implemented from the papers; no code of `TetGen` (AGPL) is used.

mod carve;
mod check;
mod complex;
mod cone;
mod delaunay;
mod edge_removal;
mod error;
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
use dermis_mesh::{Note, TetMesh, TriMesh};
use glam::{DVec3, Vec3};

use complex::{Complex, NONE, sorted};
use dermis_mesh::surface_tree::SurfaceTree;
pub use error::TetError;
use improve::ImproveOptions;
pub use intersections::{Intersection, intersecting_pairs};
use outer::Outer;
use quality::{TetQuality, measure_quality};
use recover::{Constraints, Recovered, Split};

/// Default interval of points along bones without a lattice, in mean edge lengths of the skin.
const BONE_INTERVAL_IN_EDGES: f64 = 1.4;
/// Maximum number of lattice nodes.
const MAX_LATTICE_NODES: f64 = 5e6;

/// Options of [`tetrahedralize`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TetOptions {
    /// Side of the cubes of the inner lattice, in units of the skin; `None` derives it from `inner_nodes`.
    pub spacing: Option<f64>,
    /// Approximate number of lattice nodes per skin point if no spacing is given. More is finer and slower.
    pub inner_nodes: f64,
    /// Interval of nodes along the bones, in units of the skin; `None` is the distance of neighbours in the lattice.
    pub bone_interval: Option<f64>,
    /// Dihedral angle in degrees below which tetrahedra are improved; they are also improved above 180° minus this angle.
    pub goal_dihedral_degrees: f64,
    /// Dihedral angle in degrees below which points are added to tetrahedra that cannot be improved otherwise.
    pub min_dihedral_degrees: f64,
    /// Maximum number of improvement passes.
    pub improvement_passes: usize,
    /// Maximum distance by which points are moved to resolve self-intersections, in units of the skin. With 0,
    /// self-intersections are an error.
    pub separate: f64,
}

impl Default for TetOptions {
    fn default() -> Self {
        Self {
            spacing: None,
            inner_nodes: 0.5,
            bone_interval: None,
            goal_dihedral_degrees: 20.0,
            min_dihedral_degrees: 15.0,
            improvement_passes: 8,
            separate: 0.0,
        }
    }
}

/// A tetrahedral body.
#[derive(Debug, Clone, PartialEq)]
pub struct TetBody {
    /// Mesh whose nodes are the points of the skin, in order, followed by those of the bones and all others.
    pub mesh: TetMesh,
    /// Number of skin points, which are the first nodes.
    pub skin_nodes: usize,
    /// Nodes along each bone, from its head to its tail; bones that meet share a node.
    pub bone_nodes: Vec<Vec<u32>>,
    /// Side of the lattice cubes.
    pub spacing: f64,
    /// Number of skin triangles that are faces of the boundary.
    pub recovered_faces: usize,
    /// Number of skin triangles.
    pub skin_faces: usize,
    /// Number of boundary nodes that are not skin points.
    pub extra_boundary_nodes: usize,
    /// Relative difference between the volume of the tetrahedra and the volume of the skin.
    pub volume_error: f64,
    /// Dihedral angles and conditioning.
    pub quality: TetQuality,
    /// Counts of the boundary recovery.
    pub recovery: RecoveryCounts,
    /// Notes about corrections of the input and dropped points.
    pub notes: Vec<Note>,
}

impl TetBody {
    /// Fraction of the skin triangles that are faces of the boundary, from 0 to 1.
    pub fn recovered_fraction(&self) -> f64 {
        self.recovered_faces as f64 / self.skin_faces.max(1) as f64
    }
}

/// Counts of the boundary recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecoveryCounts {
    /// Number of skin edges that the Delaunay tetrahedra did not contain.
    pub missing_edges: usize,
    /// Number of skin faces that were missing after all edges were recovered.
    pub missing_faces: usize,
    /// Number of temporary Steiner points on the skin.
    pub splits: usize,
}

/// Fills `skin` with tetrahedra, with nodes along `bones`, given as head and tail.
pub fn tetrahedralize(
    skin: &TriMesh,
    bones: &[(Vec3, Vec3)],
    options: &TetOptions,
    progress: &dyn Progress,
) -> Result<TetBody, TetError> {
    check_lengths(bones, options.spacing, options.bone_interval)?;
    if let Some(spacing) = options.spacing {
        let count = 2.0 * volume(skin.points(), skin.triangles()).abs() / spacing.powi(3);
        if count > MAX_LATTICE_NODES {
            return Err(TetError::TooFine { spacing, count });
        }
    }
    let stages = Stages { progress };
    stages.begin("checking the skin", 0)?;
    let Skin { points, triangles, tree, mut notes } = Skin::checked(skin, options.separate)?;
    stages.begin("placing nodes", 1)?;
    let loose = loose_points(points.len(), skin.triangles());
    let inner = InnerNodes::new(&points, &triangles, bones, options, &tree);
    if inner.bones.dropped > 0 {
        notes.push(Note::new(format!(
            "{} nodes of the bones were dropped because they are outside the skin or too close to it",
            inner.bones.dropped
        )));
    }
    if inner.too_fine {
        notes.push(Note::new("the bounding box of the skin has too many lattice cells; no lattice nodes were added"));
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

/// Returns points along `bones`, about `interval` apart, that are inside `skin`, as input for an external mesher.
pub fn points_along_bones(
    skin: &TriMesh,
    bones: &[(Vec3, Vec3)],
    interval: Option<f64>,
) -> Result<Vec<Vec3>, TetError> {
    check_lengths(bones, None, interval)?;
    let points: Vec<DVec3> = skin.points().iter().map(|p| p.as_dvec3()).collect();
    let interval = interval.unwrap_or_else(|| BONE_INTERVAL_IN_EDGES * check::mean_edge(&points, skin.triangles()));
    let bone_points = nodes::bone_points(bones, interval, &SurfaceTree::new(&points, skin.triangles()));
    Ok(bone_points.positions.iter().map(|position| position.as_vec3()).collect())
}

fn check_lengths(bones: &[(Vec3, Vec3)], spacing: Option<f64>, bone_interval: Option<f64>) -> Result<(), TetError> {
    if let Some(bone) = bones.iter().position(|(head, tail)| !head.is_finite() || !tail.is_finite()) {
        return Err(TetError::BoneNotFinite { bone });
    }
    for (option, value) in [("spacing", spacing), ("interval of bone nodes", bone_interval)] {
        if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
            return Err(TetError::InvalidOption { option, value });
        }
    }
    Ok(())
}

/// A validated skin.
struct Skin {
    points: Vec<DVec3>,
    /// Triangles that bound the body, oriented outwards.
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
            notes.push(Note::new("the triangles of the skin are oriented inwards; they were flipped"));
        }
        check::check(&points, &triangles)?;
        let mut tree = SurfaceTree::new(&points, &triangles);
        if let Some(separated) = check::check_intersections(&points, &triangles, &tree, separate)? {
            notes.push(Note::new(format!(
                "the skin self-intersected; {} points were moved by at most {:.2e}",
                separated.moved, separated.max_distance
            )));
            points = separated.points;
            tree = SurfaceTree::new(&points, &triangles);
        }
        let Outer { triangles: outer, flipped, within, loose } = outer::outer(&points, &triangles, &tree);
        if flipped > 0 {
            tree = SurfaceTree::new(&points, &outer);
        }
        for (count, message) in [
            (flipped, "triangles of shells that are oriented inwards were flipped"),
            (within, "triangles of shells inside the body are not part of its boundary; their points are inner nodes"),
            (loose, "points of the skin have no triangle; they are nodes without tetrahedra"),
        ] {
            if count > 0 {
                notes.push(Note::new(format!("{count} {message}")));
            }
        }
        Ok(Self { points, triangles: outer, tree, notes })
    }
}

/// Marks points without triangles.
fn loose_points(count: usize, triangles: &[[u32; 3]]) -> Vec<bool> {
    let mut loose = vec![true; count];
    for &point in triangles.iter().flatten() {
        loose[point as usize] = false;
    }
    loose
}

/// Reports the stages of the mesher.
struct Stages<'a> {
    progress: &'a dyn Progress,
}

impl Stages<'_> {
    fn begin(&self, stage: &str, done: usize) -> Result<(), TetError> {
        const COUNT: usize = 7;
        if self.progress.report(stage, done, COUNT).is_break() { Err(TetError::Stopped) } else { Ok(()) }
    }
}

/// Nodes that are not skin points.
struct InnerNodes {
    bones: nodes::BonePoints,
    lattice: Vec<DVec3>,
    spacing: f64,
    /// True if the lattice has too many cells and was omitted.
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
            let target_count = options.inner_nodes * points.len() as f64;
            nodes::spacing_for(low, high, tree, target_count, [1.2, 4.0].map(|edges| edges * mean_edge))
        });
        // Distance of nearest neighbours in a body-centred cubic lattice.
        let interval = options.bone_interval.unwrap_or(spacing * 0.75_f64.sqrt());
        let bones = nodes::bone_points(bones, interval, tree);
        let lattice = nodes::lattice_nodes(low, high, spacing, tree, &bones.positions);
        Self { bones, lattice, spacing, too_fine: !nodes::fits(low, high, spacing) }
    }
}

/// Moves Steiner points off the skin and improves the tetrahedra, in rounds: improvement can make room for Steiner points
/// that could not be moved before.
fn improve_inside(complex: &mut Complex, fixed: usize, splits: &[Split], options: &TetOptions) {
    const ROUNDS: usize = 3;
    let sine = |degrees: f64| degrees.to_radians().sin();
    let goal = sine(options.goal_dihedral_degrees);
    let insert_below = sine(options.min_dihedral_degrees);
    let mut remaining = splits.to_vec();
    for round in 0..ROUNDS {
        remaining = suppress::suppress(complex, &remaining);
        let mut free = free_points(complex, fixed);
        let added: Vec<u32> = splits.iter().map(|split| split.point).filter(|&point| free[point as usize]).collect();
        let last = round + 1 == ROUNDS || remaining.is_empty();
        let passes = if last { options.improvement_passes } else { 2 };
        improve::remove_points(complex, &mut free, &added, goal);
        improve::improve(complex, &mut free, &ImproveOptions { goal, insert_below, passes });
        if last {
            break;
        }
    }
    improve::round_positions(complex, fixed);
}

/// Marks points that can move: all after the first `fixed` that are not on the boundary.
fn free_points(complex: &Complex, fixed: usize) -> Vec<bool> {
    let mut free: Vec<bool> = (0..complex.points.len()).map(|point| point >= fixed).collect();
    for corner in boundary_faces(complex).into_iter().flatten() {
        free[corner as usize] = false;
    }
    free
}

/// Faces of the boundary, in no particular order.
fn boundary_faces(complex: &Complex) -> Vec<[u32; 3]> {
    let faces = complex.alive().flat_map(|tet| (0..4).map(move |slot| (tet, slot)));
    faces
        .filter(|&(tet, slot)| complex.neighbour(tet, slot) == NONE)
        .map(|(tet, slot)| complex.face(tet, slot))
        .collect()
}

/// Mesh without unused nodes; the first `kept` nodes are always kept.
fn compact(complex: &Complex, kept: usize) -> Result<TetMesh, TetError> {
    let mut used = vec![false; complex.points.len()];
    used[..kept].fill(true);
    for tet in complex.alive() {
        for corner in complex.tet(tet) {
            used[corner as usize] = true;
        }
    }
    let mut indices = vec![NONE; used.len()];
    let mut nodes = Vec::new();
    for (point, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        indices[point] = nodes.len() as u32;
        nodes.push(complex.points[point].as_vec3());
    }
    let tets = complex.alive().map(|tet| complex.tet(tet).map(|corner| indices[corner as usize])).collect();
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
