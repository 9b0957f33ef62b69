//! Skins: a rest pose, bones with weights, and corrections that play one or more mesh animations.
//!
//! `p^t = Σ_b w_b T_b^t (p̄ + Ũ q^t)` (SMA, Eq. 2 and 12). A skin is stored as a [`Rig`] (bones are joints, the
//! correction basis Ũ is blend shapes) with [`Clip`]s (bone transforms and coefficients q). glTF can represent all of
//! this, so writing a skin is lossless and reading any rigged file yields a skin.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use dermis_mesh::geometry::point_normals;
use dermis_mesh::names::{ClipNameError, find_clip};
use dermis_mesh::{Clip, MeshError, Object, Rig, RigError, Shape, TriMesh};
use glam::{DAffine3, Vec3};

use crate::blend::{blend, palette};
use crate::export::{with_end_joints, without_end_joints};
use crate::pose::{Pose, Poser};

/// A rest pose, its rig and its motions.
#[derive(Debug, Clone)]
pub struct Skin {
    mesh: Arc<TriMesh>,
    rig: Arc<Rig>,
    clips: Vec<Arc<Clip>>,
    /// Created when the skin is first posed.
    poser: OnceLock<Arc<Poser>>,
}

/// Error of the conversion of an object to a skin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SkinError {
    /// The object has no bones.
    #[error("'{0}' has no bones: it is not a skin")]
    NoBones(String),
    /// The parts are inconsistent.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The rest pose is invalid.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// Error of posing a frame of a skin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoseError {
    /// The clip does not exist.
    #[error(transparent)]
    Clip(#[from] ClipNameError),
    /// The frame does not exist.
    #[error("the clip '{clip}' has no frame {frame}; its {count} frames are numbered from 0")]
    Frame {
        /// Name of the clip.
        clip: String,
        /// Requested frame.
        frame: usize,
        /// Number of frames of the clip.
        count: usize,
    },
}

impl Skin {
    /// Returns the skin in `object`.
    pub fn from_object(object: &Object) -> Result<Self, SkinError> {
        match &object.rig {
            Some(rig) if !rig.joints().is_empty() => {
                Ok(Self::of(Arc::clone(&object.mesh), Arc::clone(rig), object.clips.clone()))
            }
            _ => Err(SkinError::NoBones(object.name.clone())),
        }
    }

    pub(crate) fn of(mesh: Arc<TriMesh>, rig: Arc<Rig>, clips: Vec<Arc<Clip>>) -> Self {
        Self { mesh, rig, clips, poser: OnceLock::new() }
    }

    /// Returns the skin as an object, as writers expect it.
    pub fn to_object(&self, name: impl Into<String>) -> Object {
        Object {
            name: name.into(),
            mesh: Arc::clone(&self.mesh),
            rig: Some(Arc::clone(&self.rig)),
            clips: self.clips.clone(),
            ..Object::default()
        }
    }

    /// Returns the skin as an object whose bones have end joints, which programs that draw bones need: see
    /// [`with_end_joints`].
    pub fn to_object_with_ends(&self, name: impl Into<String>) -> Result<Object, SkinError> {
        let (rig, clips) = with_end_joints(&self.mesh, &self.rig, &self.clips)?;
        Ok(Object { rig: Some(rig), clips, ..self.to_object(name) })
    }

    /// Returns the same skin without end joints.
    pub fn without_ends(&self) -> Result<Self, SkinError> {
        let (rig, clips) = without_end_joints(&self.mesh, &self.rig, &self.clips)?;
        Ok(Self::of(Arc::clone(&self.mesh), rig, clips))
    }

    /// Topology and rest pose.
    pub fn mesh(&self) -> &Arc<TriMesh> {
        &self.mesh
    }

    /// Bones, weights and the correction basis.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// Bone transforms and correction coefficients, one clip per animation.
    pub fn clips(&self) -> &[Arc<Clip>] {
        &self.clips
    }

    /// Number of bones B.
    pub fn bone_count(&self) -> usize {
        self.rig.joints().len()
    }

    /// Rank r of the corrections.
    pub fn rank(&self) -> usize {
        self.rig.shapes().len()
    }

    /// Returns the points of frame `frame` of `clip`, with all corrections. `clip` is a name, a substring that is
    /// unique among the names, or an index ([`find_clip`]).
    pub fn pose(&self, clip: impl Display, frame: usize) -> Result<Vec<Vec3>, PoseError> {
        let names: Vec<&str> = self.clips.iter().map(|clip| clip.name()).collect();
        let clip = find_clip(&clip.to_string(), &names)?;
        let count = self.clips[clip].frame_count();
        if frame >= count {
            return Err(PoseError::Frame { clip: names[clip].to_owned(), frame, count });
        }
        let mut positions = vec![Vec3::ZERO; self.mesh.point_count()];
        self.pose_into(clip, frame, &mut Pose::default(), &mut positions, None);
        Ok(positions)
    }

    /// Writes the points of frame `frame` of clip `clip`, with all corrections, to `positions` and, if given, their
    /// unit normals to `normals`. `pose` is a buffer that is reused for later frames.
    ///
    /// The first call prepares the [`Poser`], which costs far more than a frame; later calls do not allocate. For bones
    /// other than a clip's, lower ranks or split vertices, use the poser itself.
    ///
    /// # Panics
    /// If there is no such frame, or the buffers do not hold all points.
    pub fn pose_into(
        &self,
        clip: usize,
        frame: usize,
        pose: &mut Pose,
        positions: &mut [Vec3],
        normals: Option<&mut [Vec3]>,
    ) {
        let poser = self.poser();
        poser.set_frame(pose, &self.clips[clip], frame, usize::MAX);
        poser.pose_into(pose, positions, normals);
    }

    /// Points of a frame with all corrections, in f64 before rounding.
    pub(crate) fn played_points(&self, clip: usize, frame: usize) -> Vec<Vec3> {
        let clip = &self.clips[clip];
        self.points_of(&palette(&self.rig, clip, frame), clip.shape_weights(frame))
    }

    /// Points under the transforms `palette` of the rest pose, with corrections of the given coefficients.
    pub(crate) fn points_of(&self, palette: &[DAffine3], coefficients: &[f32]) -> Vec<Vec3> {
        let shapes = || self.rig.shapes().iter().zip(coefficients);
        let posed = |(point, &rest): (usize, &Vec3)| {
            let corrected = shapes().fold(rest, |sum, (shape, &q)| sum + q * shape.offsets[point]);
            blend(&self.rig, palette, point).transform_point3(corrected.as_dvec3()).as_vec3()
        };
        self.mesh.points().iter().enumerate().map(posed).collect()
    }

    /// Returns the skin prepared for posing, created by the first call.
    pub fn poser(&self) -> &Arc<Poser> {
        self.poser.get_or_init(|| Arc::new(Poser::new(&self.mesh, &self.rig)))
    }

    /// Returns the same skin with only the first `rank` corrections.
    pub fn with_rank(&self, rank: usize) -> Result<Self, SkinError> {
        if rank >= self.rank() {
            return Ok(self.clone());
        }
        let shapes = self.rig.shapes()[..rank].to_vec();
        let coefficients = |clip: &Clip| {
            (0..clip.frame_count()).flat_map(|frame| clip.shape_weights(frame)[..rank].to_vec()).collect()
        };
        let per_clip: Vec<Vec<f32>> = self.clips.iter().map(|clip| coefficients(clip)).collect();
        self.with_corrections(shapes, per_clip)
    }

    /// Returns the same bones and weights with `mesh`, which has as many points.
    pub(crate) fn with_mesh(&self, mesh: TriMesh) -> Self {
        Self::of(Arc::new(mesh), Arc::clone(&self.rig), self.clips.clone())
    }

    /// Stored normal of each point: the mean over the vertices of split points, or the surface normal if none is
    /// stored.
    pub(crate) fn stored_normals(&self) -> Vec<Vec3> {
        let stored = self.mesh.layout().and_then(|layout| Some((layout, layout.normals.as_ref()?)));
        let Some((layout, normals)) = stored else { return point_normals(self.mesh.points(), self.mesh.triangles()) };
        let mut sums = vec![Vec3::ZERO; self.mesh.point_count()];
        for (&point, &normal) in layout.vertex_points.iter().zip(normals) {
            sums[point as usize] += normal;
        }
        sums.into_iter().map(Vec3::normalize_or_zero).collect()
    }

    /// Returns the same skin with the given clips, in this order.
    ///
    /// # Panics
    /// If there is no such clip.
    pub fn with_clips(&self, order: &[usize]) -> Self {
        let clips = order.iter().map(|&clip| Arc::clone(&self.clips[clip])).collect();
        Self { clips, ..self.clone() }
    }

    /// Normal offsets of `shape` per point; for split points, those of one of their vertices.
    pub(crate) fn point_normal_offsets(&self, shape: &Shape) -> Vec<Vec3> {
        let Some(offsets) = &shape.normal_offsets else { return vec![Vec3::ZERO; self.mesh.point_count()] };
        let Some(layout) = self.mesh.layout() else { return offsets.clone() };
        let mut per_point = vec![Vec3::ZERO; self.mesh.point_count()];
        for (&point, &offset) in layout.vertex_points.iter().zip(offsets) {
            per_point[point as usize] = offset;
        }
        per_point
    }

    /// Returns the same bones with other corrections: the basis, and for each clip the concatenated coefficients of all
    /// frames.
    pub(crate) fn with_corrections(&self, shapes: Vec<Shape>, coefficients: Vec<Vec<f32>>) -> Result<Self, SkinError> {
        let (joints, weights) = (self.rig.joints().to_vec(), self.rig.weights().clone());
        let rig = Rig::new(&self.mesh, joints, weights, shapes)?;
        let clips = self.clips.iter().zip(coefficients).map(|(clip, coefficients)| {
            let transforms = (0..clip.frame_count()).flat_map(|frame| clip.transforms(frame).to_vec()).collect();
            let new = Clip::new(&rig, clip.name(), clip.frame_rate_hz(), transforms, coefficients)?;
            Ok(Arc::new(new.starting_at(clip.start_seconds())))
        });
        let clips = clips.collect::<Result<Vec<_>, RigError>>()?;
        Ok(Self::of(Arc::clone(&self.mesh), Arc::new(rig), clips))
    }
}
