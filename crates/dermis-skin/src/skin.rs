//! A skin: a rest pose, bones with weights, and corrections that play one or more mesh animations.
//!
//! `p^t = Σ_b w_b T_b^t (p̄ + Ũ q^t)` (SMA, Eq. 2 and 12). It is kept as a [`Rig`] (bones are joints, the correction
//! basis Ũ is blend shapes) with [`Clip`]s (bone transforms and coefficients q), which is exactly what glTF can say, so
//! writing it loses nothing and reading any rigged file gives a skin.

use std::sync::{Arc, OnceLock};

use dermis_mesh::reshape::reshaped;
use dermis_mesh::{Clip, Joint, MeshError, Object, Rig, RigError, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DVec3, Vec3};

use crate::pose::{Pose, Poser};
use crate::refine::State;
use crate::refine::influences::Influences;
use crate::trajectories::Trajectories;
use crate::transforms::affine_at;

/// A rest pose, its rig and its motions.
#[derive(Debug, Clone)]
pub struct Skin {
    mesh: Arc<TriMesh>,
    rig: Arc<Rig>,
    clips: Vec<Arc<Clip>>,
    /// Made when the skin is first posed.
    poser: OnceLock<Arc<Poser>>,
}

/// Why something is not a skin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SkinError {
    /// The object has no bones.
    #[error("'{0}' has no bones: it is not a skin")]
    NoBones(String),
    /// The parts do not fit together.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The rest pose is not valid.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// What a clip of a skin is called and how fast it plays.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClipInfo {
    pub(crate) name: String,
    pub(crate) frame_count: usize,
    pub(crate) frame_rate_hz: f64,
    pub(crate) start_seconds: f64,
}

impl Skin {
    /// The skin that `object` holds.
    pub fn from_object(object: &Object) -> Result<Self, SkinError> {
        match &object.rig {
            Some(rig) if !rig.joints().is_empty() => {
                Ok(Self::of(Arc::clone(&object.mesh), Arc::clone(rig), object.clips.clone()))
            }
            _ => Err(SkinError::NoBones(object.name.clone())),
        }
    }

    fn of(mesh: Arc<TriMesh>, rig: Arc<Rig>, clips: Vec<Arc<Clip>>) -> Self {
        Self { mesh, rig, clips, poser: OnceLock::new() }
    }

    /// The skin as an object that every writer takes.
    pub fn to_object(&self, name: impl Into<String>) -> Object {
        Object {
            name: name.into(),
            mesh: Arc::clone(&self.mesh),
            rig: Some(Arc::clone(&self.rig)),
            clips: self.clips.clone(),
            ..Object::default()
        }
    }

    /// The topology and the rest pose.
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

    /// The number of bones B.
    pub fn bone_count(&self) -> usize {
        self.rig.joints().len()
    }

    /// The rank r of the corrections.
    pub fn rank(&self) -> usize {
        self.rig.shapes().len()
    }

    /// Puts the points of frame `frame` of clip `clip`, with all corrections, into `positions` and, if asked, their unit
    /// normals into `normals`. `pose` is memory to keep for later frames.
    ///
    /// The first call prepares the [`Poser`], which costs far more than a frame; later ones allocate
    /// nothing. For other bones than a clip's, lower ranks or split vertices, use the poser itself.
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

    /// The skin prepared for posing, made at the first call.
    pub fn poser(&self) -> &Arc<Poser> {
        self.poser.get_or_init(|| Arc::new(Poser::new(self)))
    }

    /// The same skin with the first `rank` corrections only.
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

    /// The same skin with these of its clips, in this order.
    ///
    /// # Panics
    /// If there is no such clip.
    pub fn with_clips(&self, order: &[usize]) -> Self {
        let clips = order.iter().map(|&clip| Arc::clone(&self.clips[clip])).collect();
        Self { clips, ..self.clone() }
    }

    /// The same bones with other corrections: the basis, and for each clip the coefficients of all frames in a row.
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

    /// The skin that a fit arrived at, in the units of the input. `joints` are given where the bones were.
    pub(crate) fn from_state(
        mesh: &TriMesh,
        trajectories: &Trajectories,
        state: &State,
        joints: Option<&[Joint]>,
        clips: &[ClipInfo],
    ) -> Result<Self, SkinError> {
        let given = |p: DVec3| (p * trajectories.scale + trajectories.centre).as_vec3();
        // A rest pose that was not optimized is kept to the bit.
        let mesh = Arc::new(if state.rest == trajectories.rest {
            mesh.clone()
        } else {
            reshaped(mesh, state.rest.iter().map(|&p| given(p)).collect())?
        });
        let joints = joints.map_or_else(|| plain_joints(state.bone_count()), <[Joint]>::to_vec);
        let binds: Vec<DAffine3> = joints.iter().map(Joint::bind).collect();
        let rows = state.influences.iter().map(weight_row);
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), Vec::new())?;
        let mut first = 0;
        let mut made = Vec::with_capacity(clips.len());
        for info in clips {
            let transforms = (first..first + info.frame_count).flat_map(|frame| {
                let pose =
                    move |(bone, bind): (usize, &DAffine3)| bone_transform(trajectories, state, frame, bone) * *bind;
                binds.iter().enumerate().map(pose)
            });
            let clip = Clip::new(&rig, info.name.as_str(), info.frame_rate_hz, transforms.collect(), Vec::new())?;
            made.push(Arc::new(clip.starting_at(info.start_seconds)));
            first += info.frame_count;
        }
        Ok(Self::of(mesh, Arc::new(rig), made))
    }
}

/// Bones that stand at the origin: a fit has no skeleton.
fn plain_joints(count: usize) -> Vec<Joint> {
    let digits = count.saturating_sub(1).to_string().len();
    let joint = |bone: usize| Joint::at(format!("bone_{bone:0digits$}"), None, DAffine3::IDENTITY);
    (0..count).map(joint).collect()
}

/// The bones of a point, largest weight first; the weights sum to 1 before they are rounded.
fn weight_row(influences: &Influences) -> Vec<(u32, f32)> {
    let mut row: Vec<(usize, f64)> = influences.iter().filter(|(_, weight)| *weight as f32 != 0.0).collect();
    row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
    row.into_iter().map(|(bone, weight)| (bone as u32, (weight / sum) as f32)).collect()
}

/// A bone's transform in the units of the input: with `p_n` = (p − c)/s, `F p_n + v` becomes `F p + s v + c − F c`.
fn bone_transform(trajectories: &Trajectories, state: &State, frame: usize, bone: usize) -> DAffine3 {
    let [x, y, z, offset] = affine_at(&state.transforms, frame, bone);
    let linear = DMat3::from_cols(x, y, z);
    let centre = trajectories.centre;
    DAffine3 { matrix3: linear, translation: trajectories.scale * offset + centre - linear * centre }
}
