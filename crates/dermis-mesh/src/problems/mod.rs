//! Diagnosis of suspicious data in a mesh, its rig or its frames, to explain unexpected results.
//!
//! Problems are not errors: such data is read and written unchanged. Each problem reports its number of occurrences, the
//! first one, and a remedy.

use std::fmt;

use dermis_math::progress::Progress;

use crate::scene::Object;
use crate::sequence::SequenceError;

mod mesh;
mod rig;
mod sequence;

pub use mesh::of_mesh;
pub use rig::of_rig;
pub use sequence::of_sequence;

/// A suspicious property of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Number of occurrences.
    pub count: usize,
    /// Description with the number of occurrences and the first one: one sentence without a full stop.
    pub message: String,
    /// Suggested remedy.
    pub hint: &'static str,
}

/// Kinds of problems, grouped by subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Triangles without area.
    DegenerateTriangles,
    /// Triangles with the same three points as an earlier one.
    DuplicateTriangles,
    /// Points that are not used by any triangle.
    IsolatedPoints,
    /// Points at the same position as an earlier one.
    CoincidentPoints,
    /// Edges shared by more than two triangles.
    NonManifoldEdges,
    /// Edges whose triangles have opposite orientations.
    InconsistentOrientation,
    /// Closed shells that face inwards.
    InsideOutShells,
    /// Edges used by a single triangle.
    OpenBoundary,
    /// Points without skin weights.
    UnboundPoints,
    /// Points whose weights do not sum to 1.
    WeightSums,
    /// Points with a negative weight.
    NegativeWeights,
    /// Joints without influence on any point.
    UnusedJoints,
    /// Joints whose bind transform is singular.
    SingularBinds,
    /// A sequence without motion.
    StaticSequence,
    /// Frames identical to the previous one.
    RepeatedFrames,
    /// Frames whose size differs greatly from the others.
    SizeJumps,
    /// A rest pose whose size differs greatly from the frames.
    RestSize,
}

impl ProblemKind {
    /// Returns true if the data is usually intended and the problem only informative.
    pub fn is_harmless(self) -> bool {
        use ProblemKind::{CoincidentPoints, OpenBoundary, RepeatedFrames, UnusedJoints};
        matches!(self, CoincidentPoints | OpenBoundary | RepeatedFrames | UnusedJoints)
    }

    /// Machine-readable name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::DegenerateTriangles => "degenerate_triangles",
            Self::DuplicateTriangles => "duplicate_triangles",
            Self::IsolatedPoints => "isolated_points",
            Self::CoincidentPoints => "coincident_points",
            Self::NonManifoldEdges => "non_manifold_edges",
            Self::InconsistentOrientation => "inconsistent_orientation",
            Self::InsideOutShells => "inside_out_shells",
            Self::OpenBoundary => "open_boundary",
            Self::UnboundPoints => "unbound_points",
            Self::WeightSums => "weight_sums",
            Self::NegativeWeights => "negative_weights",
            Self::UnusedJoints => "unused_joints",
            Self::SingularBinds => "singular_binds",
            Self::StaticSequence => "static_sequence",
            Self::RepeatedFrames => "repeated_frames",
            Self::SizeJumps => "size_jumps",
            Self::RestSize => "rest_size",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Finds problems of the mesh, rig and frames of an object.
///
/// Frames are read in order; if `progress` requests a stop, only those already read are checked.
pub fn of_object(object: &Object, progress: &dyn Progress) -> Result<Vec<Problem>, SequenceError> {
    let mut problems = of_mesh(&object.mesh);
    if object.tets.is_some() {
        // Points without a triangle are inner nodes.
        problems.retain(|problem| problem.kind != ProblemKind::IsolatedPoints);
    }
    if let Some(rig) = &object.rig {
        problems.extend(of_rig(rig));
    }
    if let Some(sequence) = &object.sequence {
        problems.extend(of_sequence(sequence, progress)?);
    }
    Ok(problems)
}

/// Counts occurrences and records the first.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    count: usize,
    first: usize,
}

impl Tally {
    fn add(&mut self, index: usize) {
        if self.count == 0 {
            self.first = index;
        }
        self.count += 1;
    }

    fn of(indices: impl IntoIterator<Item = usize>) -> Self {
        indices.into_iter().fold(Self::default(), |mut tally, index| {
            tally.add(index);
            tally
        })
    }

    /// The counted problem, or `None` if it did not occur.
    fn problem(
        self,
        kind: ProblemKind,
        hint: &'static str,
        message: impl FnOnce(usize, usize) -> String,
    ) -> Option<Problem> {
        let Self { count, first } = self;
        (count > 0).then(|| Problem { kind, count, message: message(count, first), hint })
    }
}

/// `1 point has`, `3 points have`.
fn counted(count: usize, what: &str, one: &str, many: &str) -> String {
    format!("{} {}", plural(count, what), if count == 1 { one } else { many })
}

/// `1 point`, `3 points`.
fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dermis_math::progress::NoProgress;
    use glam::Vec3;

    use super::*;
    use crate::sequence::MeshSequence;
    use crate::test_shapes::cube;
    use crate::tet_mesh::TetMesh;
    use crate::tri_mesh::TriMesh;

    #[test]
    fn checks_all_parts_of_an_object() {
        let (mut points, triangles) = cube();
        points.push(Vec3::Y);
        let mesh = Arc::new(TriMesh::new(points.clone(), triangles).unwrap());
        let sequence = MeshSequence::new(Arc::clone(&mesh), [points.clone(), points].concat(), 24.0).unwrap();
        let problems = of_object(&Object::of_sequence("cube", sequence), &NoProgress).unwrap();
        let kinds: Vec<_> = problems.iter().map(|problem| problem.kind).collect();
        assert_eq!(kinds, [ProblemKind::IsolatedPoints, ProblemKind::StaticSequence]);
        assert_eq!(problems[0].to_string(), "1 point is not used by any triangle; the first is point 8");
    }

    #[test]
    fn inner_nodes_of_a_tetrahedral_mesh_are_not_isolated() {
        let nodes = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::splat(0.2)];
        let inside = vec![[0, 1, 2, 4], [0, 1, 4, 3], [0, 4, 2, 3], [4, 1, 2, 3]];
        let tets = TetMesh::new(nodes, inside).unwrap();
        let mut object = Object::of_mesh("tetrahedron", Arc::new(tets.surface()));
        object.tets = Some(Arc::new(tets));
        assert_eq!(of_object(&object, &NoProgress).unwrap(), []);
    }
}
