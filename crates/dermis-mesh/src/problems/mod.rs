//! What is suspicious about a shape, its rig or its frames: for a person who wonders why a result looks wrong.
//!
//! None of this is an error: such data is read and written as it is. Each problem says how often it occurs, where
//! first, and what can be done.

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

/// Something suspicious.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// How often it occurs.
    pub count: usize,
    /// What, how often and where first: one sentence without a full stop.
    pub message: String,
    /// What can be done about it.
    pub hint: &'static str,
}

/// The kinds of problems, by what they concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Triangles without area.
    DegenerateTriangles,
    /// Triangles that join the same three points as an earlier one.
    DuplicateTriangles,
    /// Points that are in no triangle.
    IsolatedPoints,
    /// Points at the same position as an earlier one.
    CoincidentPoints,
    /// Edges that more than two triangles share.
    NonManifoldEdges,
    /// Edges whose triangles do not agree on which side is outside.
    InconsistentOrientation,
    /// Closed shells whose faces look inwards.
    InsideOutShells,
    /// Edges where the surface ends.
    OpenBoundary,
    /// Points that no joint moves.
    UnboundPoints,
    /// Points whose weights do not sum to 1.
    WeightSums,
    /// Points with a negative weight.
    NegativeWeights,
    /// Joints that move no point.
    UnusedJoints,
    /// Joints whose bind transform cannot be inverted.
    SingularBinds,
    /// A sequence in which nothing moves.
    StaticSequence,
    /// Frames that repeat the one before.
    RepeatedFrames,
    /// Frames of a very different size than the others.
    SizeJumps,
    /// A rest pose of a very different size than the frames.
    RestSize,
}

impl ProblemKind {
    /// Whether this is usually meant so and only good to know.
    pub fn is_harmless(self) -> bool {
        use ProblemKind::{CoincidentPoints, OpenBoundary, RepeatedFrames, UnusedJoints};
        matches!(self, CoincidentPoints | OpenBoundary | RepeatedFrames | UnusedJoints)
    }

    /// The kind as a word for machines.
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

/// The problems of an object's mesh, rig and frames.
///
/// Frames are read one after the other; where `progress` asks to stop, those read so far are judged.
pub fn of_object(object: &Object, progress: &dyn Progress) -> Result<Vec<Problem>, SequenceError> {
    let mut problems = of_mesh(&object.mesh);
    if object.tets.is_some() {
        // Points in no triangle are the nodes inside.
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

/// Counts what is suspicious and remembers the first.
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

    /// The problem that was counted, if it occurred.
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

    use dermis_math::progress::Silent;
    use glam::Vec3;

    use super::*;
    use crate::sequence::MeshSequence;
    use crate::test_shapes::cube;
    use crate::tet_mesh::TetMesh;
    use crate::tri_mesh::TriMesh;

    #[test]
    fn an_object_is_judged_as_a_whole() {
        let (mut points, triangles) = cube();
        points.push(Vec3::Y);
        let mesh = Arc::new(TriMesh::new(points.clone(), triangles).unwrap());
        let sequence = MeshSequence::new(Arc::clone(&mesh), [points.clone(), points].concat(), 24.0).unwrap();
        let problems = of_object(&Object::of_sequence("cube", sequence), &Silent).unwrap();
        let kinds: Vec<_> = problems.iter().map(|problem| problem.kind).collect();
        assert_eq!(kinds, [ProblemKind::IsolatedPoints, ProblemKind::StaticSequence]);
        assert_eq!(problems[0].to_string(), "1 point is in no triangle; the first is point 8");
    }

    #[test]
    fn nodes_inside_a_tetrahedral_mesh_are_not_isolated() {
        let nodes = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::splat(0.2)];
        let inside = vec![[0, 1, 2, 4], [0, 1, 4, 3], [0, 4, 2, 3], [4, 1, 2, 3]];
        let tets = TetMesh::new(nodes, inside).unwrap();
        let mut object = Object::of_mesh("tetrahedron", Arc::new(tets.surface()));
        object.tets = Some(Arc::new(tets));
        assert_eq!(of_object(&object, &Silent).unwrap(), []);
    }
}
