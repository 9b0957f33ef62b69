//! Memory layout of a skin for the kernels: rest points, influences and normals in quads, corrections in blocks of
//! vertices.
//!
//! The corrections of a block are contiguous, leading ranks first, so that any rank reads one range of memory and the
//! sums of a block remain in the L1 cache.

use dermis_mesh::geometry::point_normals;
use dermis_mesh::{Rig, TriMesh};
use glam::{DVec3, Vec3};

use super::kernel::{FourInfluences, JointIndex, Matrix, NormalRule, QUAD, Quad, Run, Vectors, add_scaled, pose_run};

/// Number of vertices whose corrections are summed together.
pub(super) const BLOCK: usize = BLOCK_QUADS * QUAD;
const BLOCK_QUADS: usize = 16;

/// Elements to be posed: points, or the vertices into which a layout splits them.
pub(super) struct Elements<'a> {
    /// Point of each vertex; `None` if vertices are points.
    points: Option<&'a [u32]>,
    normals: Vec<Vec3>,
    /// True if normal offsets, which are per vertex, apply to these elements.
    has_normal_offsets: bool,
}

impl<'a> Elements<'a> {
    pub(super) fn points(mesh: &TriMesh) -> Self {
        let unsplit =
            mesh.layout().is_none_or(|layout| layout.vertex_points.iter().copied().eq(0..mesh.point_count() as u32));
        let given = mesh.layout().filter(|_| unsplit).and_then(|layout| layout.normals.clone());
        let normals = given.unwrap_or_else(|| point_normals(mesh.points(), mesh.triangles()));
        Self { points: None, normals, has_normal_offsets: unsplit }
    }

    pub(super) fn vertices(mesh: &'a TriMesh) -> Self {
        let Some(layout) = mesh.layout() else {
            return Self::points(mesh);
        };
        let computed = || layout.split(&point_normals(mesh.points(), mesh.triangles()));
        let normals = layout.normals.clone().unwrap_or_else(computed);
        Self { points: Some(&layout.vertex_points), normals, has_normal_offsets: true }
    }

    fn count(&self) -> usize {
        self.normals.len()
    }

    fn point(&self, vertex: usize) -> usize {
        self.points.map_or(vertex, |points| points[vertex] as usize)
    }
}

/// Parameters of a frame that are common to all vertices.
pub(super) struct Frame<'a> {
    pub(super) palette: &'a [Matrix],
    pub(super) coefficients: &'a [f32],
    pub(super) rule: NormalRule,
}

/// All streams of a skin.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    vertex_count: usize,
    influences: Width,
    /// Rest points relative to their centre, before corrections.
    rest: Vec<Vectors>,
    /// Rest normals, before corrections.
    normals: Vec<Vectors>,
    corrections: Corrections,
    /// `None` if no correction changes normals.
    normal_corrections: Option<Corrections>,
}

/// Influences with the smallest sufficient joint index type.
#[derive(Debug, Clone)]
enum Width {
    Small(AllInfluences<u8>),
    Medium(AllInfluences<u16>),
    Large(AllInfluences<u32>),
}

#[derive(Debug, Clone)]
struct AllInfluences<J> {
    quads: Vec<Quad<J>>,
    /// See [`Run`].
    more_starts: Vec<usize>,
    more: Vec<FourInfluences<J>>,
}

/// Offsets of all ranks, `[block][rank][quad of the block]`; the last block is padded.
#[derive(Debug, Clone, Default)]
struct Corrections {
    rank: usize,
    offsets: Vec<Vectors>,
}

impl Prepared {
    pub(super) fn new(mesh: &TriMesh, rig: &Rig, elements: &Elements<'_>, centre: DVec3) -> Self {
        let influences = match rig.joints().len().saturating_sub(1) {
            0..=0xff => Width::Small(AllInfluences::new(rig, elements)),
            0x100..=0xffff => Width::Medium(AllInfluences::new(rig, elements)),
            _ => Width::Large(AllInfluences::new(rig, elements)),
        };
        let vertex_count = elements.count();
        let centred = |vertex: usize| (mesh.points()[elements.point(vertex)].as_dvec3() - centre).as_vec3();
        let rest = in_quads(vertex_count, centred);
        let normals = in_quads(vertex_count, |vertex| elements.normals[vertex]);
        let shapes = rig.shapes();
        let corrections =
            Corrections::new(vertex_count, shapes.len(), |rank, vertex| shapes[rank].offsets[elements.point(vertex)]);
        let changes_normals = elements.has_normal_offsets && shapes.iter().any(|shape| shape.normal_offsets.is_some());
        let normal_offset = |rank: usize, vertex: usize| {
            shapes[rank].normal_offsets.as_ref().map_or(Vec3::ZERO, |offsets| offsets[vertex])
        };
        let normal_corrections = changes_normals.then(|| Corrections::new(vertex_count, shapes.len(), normal_offset));
        Self { vertex_count, influences, rest, normals, corrections, normal_corrections }
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    pub(super) fn rank(&self) -> usize {
        self.corrections.rank
    }

    /// Transformation of normals at these coefficients.
    pub(super) fn normal_rule(&self, coefficients: &[f32]) -> NormalRule {
        if self.normal_corrections.is_some() && !coefficients.is_empty() {
            NormalRule::Linear
        } else {
            NormalRule::Cofactor
        }
    }

    /// Poses `positions.len()` vertices, starting at `first`, a multiple of [`BLOCK`]. `normals` are written unless
    /// the frame does not require them.
    pub(super) fn pose(&self, frame: &Frame<'_>, first: usize, positions: &mut [[f32; 3]], normals: &mut [[f32; 3]]) {
        match &self.influences {
            Width::Small(influences) => self.pose_vertices(influences, frame, first, positions, normals),
            Width::Medium(influences) => self.pose_vertices(influences, frame, first, positions, normals),
            Width::Large(influences) => self.pose_vertices(influences, frame, first, positions, normals),
        }
    }

    fn pose_vertices<J: JointIndex>(
        &self,
        influences: &AllInfluences<J>,
        frame: &Frame<'_>,
        first: usize,
        positions: &mut [[f32; 3]],
        normals: &mut [[f32; 3]],
    ) {
        let (positions, last_positions) = positions.as_chunks_mut();
        let (normals, last_normals) = normals.as_chunks_mut();
        self.pose_quads(influences, frame, first / QUAD, positions, normals);
        if !last_positions.is_empty() {
            let (mut last, mut normals_of_last) = ([Vectors::default()], [Vectors::default()]);
            self.pose_quads(influences, frame, first / QUAD + positions.len(), &mut last, &mut normals_of_last);
            last_positions.copy_from_slice(&last[0][..last_positions.len()]);
            last_normals.copy_from_slice(&normals_of_last[0][..last_normals.len()]);
        }
    }

    /// Poses the quads starting at `first`, which must be in one block or start one.
    fn pose_quads<J: JointIndex>(
        &self,
        influences: &AllInfluences<J>,
        frame: &Frame<'_>,
        first: usize,
        positions: &mut [Vectors],
        normals: &mut [Vectors],
    ) {
        if frame.coefficients.iter().all(|&coefficient| coefficient == 0.0) {
            let quads = first..first + positions.len();
            let run = influences.run(frame, first, &self.rest[quads.clone()], &self.normals[quads]);
            return pose_run(&run, frame.rule, positions, normals);
        }
        let (mut rest, mut rest_normals) = ([Vectors::default(); BLOCK_QUADS], [Vectors::default(); BLOCK_QUADS]);
        let mut normals = normals.chunks_mut(BLOCK_QUADS);
        for (block, positions) in positions.chunks_mut(BLOCK_QUADS).enumerate() {
            let first = first + block * BLOCK_QUADS;
            let (rest, rest_normals) = (&mut rest[..positions.len()], &mut rest_normals[..positions.len()]);
            self.correct(frame, first, rest, rest_normals);
            let run = influences.run(frame, first, rest, rest_normals);
            pose_run(&run, frame.rule, positions, normals.next().unwrap_or_default());
        }
    }

    /// Writes the corrected rest points and normals of quads of one block, starting at `first`, to `rest` and
    /// `normals`.
    fn correct(&self, frame: &Frame<'_>, first: usize, rest: &mut [Vectors], normals: &mut [Vectors]) {
        rest.copy_from_slice(&self.rest[first..first + rest.len()]);
        self.corrections.add(frame.coefficients, first, rest);
        if frame.rule == NormalRule::None {
            return;
        }
        normals.copy_from_slice(&self.normals[first..first + normals.len()]);
        if let Some(corrections) = &self.normal_corrections {
            corrections.add(frame.coefficients, first, normals);
        }
    }
}

impl<J: JointIndex> AllInfluences<J> {
    fn new(rig: &Rig, elements: &Elements<'_>) -> Self {
        let mut quads = vec![Quad::default(); elements.count().div_ceil(QUAD)];
        let (mut more, mut more_starts) = (Vec::new(), vec![0]);
        let mut row: Vec<(u32, f32)> = Vec::new();
        for vertex in 0..elements.count() {
            row.clear();
            row.extend(rig.weights().row(elements.point(vertex)).filter(|(_, weight)| *weight != 0.0));
            let (first, rest) = row.split_at(row.len().min(4));
            quads[vertex / QUAD].0[vertex % QUAD] = FourInfluences::of(first);
            more.extend(rest.chunks(4).map(FourInfluences::of));
            more_starts.push(more.len());
        }
        more_starts.resize(QUAD * quads.len() + 1, more.len());
        if more.is_empty() {
            more_starts = Vec::new();
        }
        Self { quads, more_starts, more }
    }

    /// Run of the quads starting at `first`, with the points `rest` and the normals `normals`.
    fn run<'a>(&'a self, frame: &Frame<'a>, first: usize, rest: &'a [Vectors], normals: &'a [Vectors]) -> Run<'a, J> {
        let quads = &self.quads[first..first + rest.len()];
        let more_starts = self.more_starts.get(QUAD * first..).unwrap_or_default();
        Run { palette: J::palette(frame.palette), quads, rest, normals, more_starts, more: &self.more }
    }
}

impl<J: JointIndex> FourInfluences<J> {
    /// Packs at most four joints with their weights. Unused slots repeat the first joint: a bone that is not finite
    /// must not affect vertices without influence of it.
    fn of(row: &[(u32, f32)]) -> Self {
        let first = row.first().map_or(0, |&(joint, _)| joint);
        let slot = |k: usize| row.get(k).copied().unwrap_or((first, 0.0));
        let slots = [0, 1, 2, 3].map(slot);
        Self { joints: slots.map(|(joint, _)| J::numbered(joint)), weights: slots.map(|(_, weight)| weight) }
    }
}

impl Corrections {
    fn new(vertices: usize, rank: usize, offset: impl Fn(usize, usize) -> Vec3) -> Self {
        let blocks = vertices.div_ceil(BLOCK);
        let quads = (0..blocks).flat_map(|block| (0..rank).map(move |rank| (block, rank)));
        let quads =
            quads.flat_map(|(block, rank)| (0..BLOCK_QUADS).map(move |quad| (block * BLOCK_QUADS + quad, rank)));
        let offsets = quads.map(|(quad, rank)| vectors(quad, vertices, |vertex| offset(rank, vertex)));
        Self { rank, offsets: offsets.collect() }
    }

    /// Adds the corrections of the quads starting at `first`, all of one block.
    fn add(&self, coefficients: &[f32], first: usize, sums: &mut [Vectors]) {
        let (block, quad) = (first / BLOCK_QUADS, first % BLOCK_QUADS);
        for (rank, &coefficient) in coefficients.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0.0) {
            let start = (block * self.rank + rank) * BLOCK_QUADS + quad;
            add_scaled(coefficient, &self.offsets[start..start + sums.len()], sums);
        }
    }
}

/// Vectors of all vertices in quads.
fn in_quads(vertices: usize, vector: impl Fn(usize) -> Vec3) -> Vec<Vectors> {
    (0..vertices.div_ceil(QUAD)).map(|quad| vectors(quad, vertices, &vector)).collect()
}

/// Vectors of a quad; zero beyond the last vertex.
fn vectors(quad: usize, vertices: usize, vector: impl Fn(usize) -> Vec3) -> Vectors {
    let of =
        |k: usize| Some(QUAD * quad + k).filter(|&vertex| vertex < vertices).map_or(Vec3::ZERO, &vector).to_array();
    [of(0), of(1), of(2), of(3)]
}
