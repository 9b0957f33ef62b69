//! Training set: poses of a skeleton with the shape of the skin in each.

use dermis_mesh::{Clip, MeshSequence, Rig, SequenceError, TriMesh};
use glam::{DAffine3, Vec3};

use crate::blend::palette;

/// Poses and shapes in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    point_count: usize,
    bone_count: usize,
    /// Transform of each bone for points of the rest mesh, pose by pose.
    transforms: Vec<DAffine3>,
    targets: Vec<Vec3>,
    weights: Vec<f64>,
    names: Vec<String>,
}

/// Error of [`Examples::add`], [`one_to_one`] and [`same_topology`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExamplesError {
    /// The numbers of poses and shapes differ.
    #[error("the clip '{clip}' has {poses} frames, but there are {shapes} shapes")]
    Length {
        /// Name of the clip.
        clip: String,
        /// Number of frames of the clip.
        poses: usize,
        /// Number of shapes.
        shapes: usize,
    },
    /// The shapes belong to another mesh.
    #[error("the shapes have {found} points, but the rig's mesh has {expected}")]
    OtherMesh {
        /// Number of points of the shapes.
        found: usize,
        /// Number of points of the rest pose.
        expected: usize,
    },
    /// The shapes have other triangles.
    #[error("the triangles of the shapes differ from those of the rig's mesh")]
    OtherTriangles,
    /// The clip belongs to another skeleton.
    #[error("the clip '{clip}' has {found} joints, but the rig has {expected}")]
    OtherSkeleton {
        /// Name of the clip.
        clip: String,
        /// Number of joints of the clip.
        found: usize,
        /// Number of joints of the rig.
        expected: usize,
    },
    /// The weight of a pose is invalid.
    #[error("invalid weight {weight} of pose {pose}: it must be finite and not negative")]
    PoseWeight {
        /// Index of the pose.
        pose: usize,
        /// Weight of the pose.
        weight: f64,
    },
    /// The numbers of pose weights and poses differ.
    #[error("there are {found} pose weights, but {expected} poses")]
    PoseWeights {
        /// Number of weights.
        found: usize,
        /// Number of poses.
        expected: usize,
    },
    /// The shapes exceed the available memory.
    #[error("out of memory: {poses} shapes of {points} points")]
    TooLarge {
        /// Number of shapes.
        poses: usize,
        /// Number of points of each.
        points: usize,
    },
    /// A shape cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

/// Pairs each frame of a clip with its shape. The numbers of frames and shapes must be equal.
pub fn one_to_one(clip: &Clip, shapes: &MeshSequence) -> Result<Vec<(usize, usize)>, ExamplesError> {
    let (poses, shapes) = (clip.frame_count(), shapes.frame_count());
    if poses != shapes {
        return Err(ExamplesError::Length { clip: clip.name().to_owned(), poses, shapes });
    }
    Ok((0..poses).map(|frame| (frame, frame)).collect())
}

/// Checks that two meshes have the same triangles, in any order.
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
    // Point caches and scans can have no triangles.
    if b.triangle_count() == 0 || sorted(a) == sorted(b) { Ok(()) } else { Err(ExamplesError::OtherTriangles) }
}

impl Examples {
    /// Creates an empty training set for a mesh and a rig.
    pub fn new(mesh: &TriMesh, rig: &Rig) -> Self {
        Self { point_count: mesh.point_count(), bone_count: rig.joints().len(), ..Self::default() }
    }

    /// Adds poses of a clip of `rig` with their shapes. Each of `pairs` has a frame of the clip and the frame of its
    /// shape. `weights` are the pose weights (MWE, §4.2), one per pair; the default is 1.
    ///
    /// # Panics
    /// If a frame of the clip does not exist.
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

    /// Number of points of each shape.
    pub fn point_count(&self) -> usize {
        self.point_count
    }

    /// Number of bones of each pose.
    pub fn bone_count(&self) -> usize {
        self.bone_count
    }

    /// Number of poses.
    pub fn pose_count(&self) -> usize {
        self.names.len()
    }

    /// Transform of each bone for points of the rest mesh in a pose.
    pub fn transforms(&self, pose: usize) -> &[DAffine3] {
        &self.transforms[pose * self.bone_count..(pose + 1) * self.bone_count]
    }

    /// Positions of the points in a pose.
    pub fn target(&self, pose: usize) -> &[Vec3] {
        &self.targets[pose * self.point_count..(pose + 1) * self.point_count]
    }

    /// Weight of a pose.
    pub fn weight(&self, pose: usize) -> f64 {
        self.weights[pose]
    }

    /// Name of a pose.
    pub fn name(&self, pose: usize) -> &str {
        &self.names[pose]
    }
}
