//! The training set: poses of a skeleton and the shape that the skin had in each.

use dermis_mesh::{Clip, MeshSequence, Rig, SequenceError, TriMesh};
use glam::{DAffine3, Vec3};

use crate::blend::palette;

/// Poses and shapes, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    point_count: usize,
    bone_count: usize,
    /// What each bone does to a point of the rest mesh, pose by pose.
    transforms: Vec<DAffine3>,
    targets: Vec<Vec3>,
    weights: Vec<f64>,
    names: Vec<String>,
}

/// Why poses and shapes do not belong together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExamplesError {
    /// There is not one shape per pose.
    #[error("the clip '{clip}' has {poses} frames, but there are {shapes} shapes")]
    Length {
        /// The clip.
        clip: String,
        /// How many frames it has.
        poses: usize,
        /// How many shapes there are.
        shapes: usize,
    },
    /// The shapes are of another mesh.
    #[error("the shapes have {found} points, but the rig's mesh has {expected}")]
    OtherMesh {
        /// How many points they have.
        found: usize,
        /// How many the rest pose has.
        expected: usize,
    },
    /// The shapes connect other points.
    #[error("the triangles of the shapes connect other points than those of the rig's mesh")]
    OtherTriangles,
    /// The clip is of another skeleton.
    #[error("the clip '{clip}' moves {found} joints, but the rig has {expected}")]
    OtherSkeleton {
        /// The clip.
        clip: String,
        /// How many joints it moves.
        found: usize,
        /// How many the rig has.
        expected: usize,
    },
    /// A pose's weight makes no sense.
    #[error("the weight of pose {pose} is {weight}; it must be finite and not negative")]
    PoseWeight {
        /// The offending pose.
        pose: usize,
        /// Its weight.
        weight: f64,
    },
    /// There are more or fewer pose weights than poses.
    #[error("there are {found} pose weights, but {expected} poses")]
    PoseWeights {
        /// How many weights there are.
        found: usize,
        /// How many poses.
        expected: usize,
    },
    /// The shapes do not fit into memory.
    #[error("{poses} shapes of {points} points do not fit into memory")]
    TooLarge {
        /// How many shapes.
        poses: usize,
        /// How many points each.
        points: usize,
    },
    /// A shape cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

/// Every frame of a clip with its shape, where there is one for each.
pub fn one_to_one(clip: &Clip, shapes: &MeshSequence) -> Result<Vec<(usize, usize)>, ExamplesError> {
    let (poses, shapes) = (clip.frame_count(), shapes.frame_count());
    if poses != shapes {
        return Err(ExamplesError::Length { clip: clip.name().to_owned(), poses, shapes });
    }
    Ok((0..poses).map(|frame| (frame, frame)).collect())
}

/// Whether two meshes have the same triangles, in any order.
pub fn same_topology(a: &TriMesh, b: &TriMesh) -> Result<(), ExamplesError> {
    let (found, expected) = (b.point_count(), a.point_count());
    if found != expected {
        return Err(ExamplesError::OtherMesh { found, expected });
    }
    let sorted = |mesh: &TriMesh| {
        let mut triangles: Vec<[u32; 3]> = mesh.triangles().to_vec();
        for triangle in &mut triangles {
            triangle.sort_unstable();
        }
        triangles.sort_unstable();
        triangles
    };
    // Point caches and scans may come without triangles.
    if b.triangle_count() == 0 || sorted(a) == sorted(b) { Ok(()) } else { Err(ExamplesError::OtherTriangles) }
}

impl Examples {
    /// No examples yet of this mesh and skeleton.
    pub fn new(mesh: &TriMesh, rig: &Rig) -> Self {
        Self { point_count: mesh.point_count(), bone_count: rig.joints().len(), ..Self::default() }
    }

    /// Adds poses of a clip of `rig` and their shapes: `pairs` has a frame of the clip and the frame of its shape for
    /// each. `weights` are the pose weights (MWE, §4.2), one per pair; without them all are 1.
    ///
    /// # Panics
    /// If there is no such frame of the clip.
    pub fn add(
        &mut self,
        rig: &Rig,
        clip: &Clip,
        shapes: &MeshSequence,
        pairs: &[(usize, usize)],
        weights: Option<&[f64]>,
    ) -> Result<(), ExamplesError> {
        self.check(rig, clip, shapes, weights.unwrap_or_default(), pairs.len())?;
        let too_large = || ExamplesError::TooLarge { poses: pairs.len(), points: self.point_count };
        let count = pairs.len().checked_mul(self.point_count).ok_or_else(too_large)?;
        self.targets.try_reserve(count).map_err(|_| too_large())?;
        for (at, &(pose, shape)) in pairs.iter().enumerate() {
            self.targets.extend_from_slice(&shapes.frame(shape)?);
            self.transforms.extend(palette(rig, clip, pose));
            self.names.push(format!("{} {pose}", clip.name()).trim().to_owned());
            self.weights.push(weights.map_or(1.0, |weights| weights[at]));
        }
        Ok(())
    }

    fn check(
        &self,
        rig: &Rig,
        clip: &Clip,
        shapes: &MeshSequence,
        weights: &[f64],
        poses: usize,
    ) -> Result<(), ExamplesError> {
        let (found, expected) = (shapes.point_count(), self.point_count);
        if found != expected {
            return Err(ExamplesError::OtherMesh { found, expected });
        }
        let joints = clip.transforms(0).len();
        if joints != self.bone_count || rig.joints().len() != self.bone_count {
            let found = if joints == self.bone_count { rig.joints().len() } else { joints };
            return Err(ExamplesError::OtherSkeleton {
                clip: clip.name().to_owned(),
                found,
                expected: self.bone_count,
            });
        }
        if !weights.is_empty() && weights.len() != poses {
            return Err(ExamplesError::PoseWeights { found: weights.len(), expected: poses });
        }
        match weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            Some(pose) => Err(ExamplesError::PoseWeight { pose, weight: weights[pose] }),
            None => Ok(()),
        }
    }

    /// The number of points of every shape.
    pub fn point_count(&self) -> usize {
        self.point_count
    }

    /// The number of bones of every pose.
    pub fn bone_count(&self) -> usize {
        self.bone_count
    }

    /// The number of poses.
    pub fn pose_count(&self) -> usize {
        self.names.len()
    }

    /// What each bone does to a point of the rest mesh in a pose.
    pub fn transforms(&self, pose: usize) -> &[DAffine3] {
        &self.transforms[pose * self.bone_count..(pose + 1) * self.bone_count]
    }

    /// Where the points are in a pose.
    pub fn target(&self, pose: usize) -> &[Vec3] {
        &self.targets[pose * self.point_count..(pose + 1) * self.point_count]
    }

    /// How much a pose counts.
    pub fn weight(&self, pose: usize) -> f64 {
        self.weights[pose]
    }

    /// What a pose is called.
    pub fn name(&self, pose: usize) -> &str {
        &self.names[pose]
    }
}
