//! Skin that keeps its volume (Active Geometry, §3; Rohmer et al. 2009).
//!
//! Skinning loses volume where joints bend. For each joint b with subtree weights `s_i` (the sum of a point's weights on
//! the joint and all below it), the change that b alone causes is measured in the rest pose: its parent stands still,
//! the points go to `x + s (D x − x)` with the relative turn D, and only the faces with 0 < s < 1 change their volume
//! as seen from the joint. That change is given back near the joint (`Region`), in the joint's frame, joint after
//! joint, by the closed form of Eq. 3 (`solve`).
//!
//! In exact mode the true volume V decides: with `E` the sum of the joints' changes, the remainder `V_rest − V − E`
//! (joints that interact, or skinning that keeps more volume than linear blending) is shared among the joints, at most
//! as much as each has caused; what is still left, and a target other than the rest volume, goes to the whole body.
//! Every share is continuous in the pose, so nothing pops.
//!
//! Sign: Eq. 3 as printed moves the wrong way; here `ΔV = V_target − V`.
//! Cost: linear in the triangles around joints, plus one pass over all triangles in exact mode.

mod cap;
mod effects;
mod error;
mod frames;
mod measure;
mod region;
mod solve;

use std::sync::Arc;

use dermis_math::polar::polar_rotation;
use dermis_mesh::{Note, Object, Rig, TriMesh};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};

pub use cap::Closed;
pub use dermis_mesh::deformer::volume::{
    Effect, Effects, EffectsError, JointEffect, Mode, Profile, Target, TargetError, VolumeOptions,
};
pub use effects::effects_from_toml;
pub use error::VolumeError;
pub use frames::corrected;
pub use measure::{VolumeDrift, measure_drift};

use region::Region;
use solve::{Scratch, solve, volume};

/// Shares below this part of the volume move no point by a representable amount.
const NEGLIGIBLE: f64 = 1e-15;

/// A mesh, and its rig, prepared for correction.
#[derive(Debug, Clone)]
pub struct VolumeLayer {
    options: VolumeOptions,
    closed: Closed,
    rest_volume: f64,
    whole: Region,
    joints: Vec<JointRegion>,
    notes: Vec<Note>,
}

/// A joint that can bend, and where its change is given back.
#[derive(Debug, Clone)]
struct JointRegion {
    joint: usize,
    parent: usize,
    strength: f64,
    region: Region,
    inverse_binds: [DAffine3; 2],
}

/// The volumes of a frame that was corrected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VolumeFrame {
    /// What the frame should enclose.
    pub target: f64,
    /// What it enclosed before.
    pub before: f64,
}

impl VolumeFrame {
    /// How far the volume was off, relative to the target.
    pub fn drift_before(&self) -> f64 {
        self.drift(self.before)
    }

    /// How far `volume` is off, relative to the target.
    pub fn drift(&self, volume: f64) -> f64 {
        (volume / self.target - 1.0).abs()
    }
}

/// Buffers that are reused from frame to frame.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    positions: Vec<DVec3>,
    scratch: Scratch,
    inflation: Vec<f32>,
}

impl Workspace {
    /// How far the last frame's correction moved each point, negative where it moved inwards.
    pub fn inflation(&self) -> &[f32] {
        &self.inflation
    }
}

impl VolumeLayer {
    /// Prepares the layer for an object: its mesh, its rig if it has one, and the painted attributes that effects name.
    pub fn new(object: &Object, options: &VolumeOptions) -> Result<Self, VolumeError> {
        let mesh = &object.mesh;
        let mut closed = Closed::new(mesh, options.cap)?;
        let points = closed.with_centers(mesh.points().iter().map(|point| point.as_dvec3()));
        let mut rest_volume = volume(&points, closed.triangles());
        if rest_volume < 0.0 {
            closed = closed.turned();
            rest_volume = -rest_volume;
        }
        let size = f64::from(mesh.diagonal()).powi(3);
        if rest_volume <= 1e-9 * size || !rest_volume.is_finite() {
            return Err(VolumeError::NoVolume { volume: rest_volume });
        }
        let whole = Region::whole(&closed, effects::body_weights(options, object)?);
        let mut layer = Self { options: options.clone(), closed, rest_volume, whole, joints: vec![], notes: vec![] };
        if let Some(rig) = object.rig.as_deref().filter(|_| options.mode != Mode::Global) {
            layer.add_joints(object, rig, &points)?;
        }
        Ok(layer)
    }

    fn add_joints(&mut self, object: &Object, rig: &Rig, points: &[DVec3]) -> Result<(), VolumeError> {
        let subtree = region::subtree_weights(rig);
        let rings = region::Rings::new(&self.closed, points.len());
        for (joint, weights) in subtree.iter().enumerate() {
            let Some(parent) = rig.joints()[joint].parent.filter(|_| !weights.is_empty()) else { continue };
            let effect = self.options.effects.of_joint(&rig.joints()[joint].name);
            let built = Region::of_joint(&self.closed, &rings, points, weights, &effect, object, rig, joint)?;
            let Some(region) = built else { continue };
            let inverse_binds = [parent, joint].map(|joint| rig.joints()[joint].inverse_bind);
            self.joints.push(JointRegion { joint, parent, strength: effect.strength, region, inverse_binds });
        }
        let names: Vec<&str> = rig.joints().iter().map(|joint| joint.name.as_str()).collect();
        for pattern in self.options.effects.unused(&names) {
            self.notes.push(Note::at(&object.name, format!("no joint fits the pattern '{pattern}' of the effects")));
        }
        Ok(())
    }

    /// What was assumed or left out.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The enclosed volume of the rest pose.
    pub fn rest_volume(&self) -> f64 {
        self.rest_volume
    }

    /// The number of joints near which volume is restored.
    pub fn joint_count(&self) -> usize {
        self.joints.len()
    }

    /// The number of points of a frame.
    pub fn point_count(&self) -> usize {
        self.closed.point_count()
    }

    /// Corrects the positions of a frame in place, towards `target` times the rest volume. `transforms` are the joints of
    /// the pose, as in a clip; without them the whole body is corrected evenly.
    ///
    /// # Panics
    /// If `positions` are not those of the mesh, or `transforms` not those of the rig.
    pub fn apply(
        &self,
        positions: &mut [Vec3],
        transforms: Option<&[DAffine3]>,
        target: f64,
        work: &mut Workspace,
    ) -> VolumeFrame {
        assert_eq!(positions.len(), self.point_count(), "a frame holds all points of the mesh");
        self.closed.fill(&mut work.positions, positions.iter().map(|point| point.as_dvec3()));
        work.inflation.clear();
        work.inflation.resize(positions.len(), 0.0);
        let target = target * self.rest_volume;
        let before = volume(&work.positions, self.closed.triangles());
        let left = self.correct_joints(transforms.unwrap_or(&[]), before, target, work);
        if self.options.mode != Mode::Fast {
            self.correct_body(left, target, work);
        }
        for (stored, position) in positions.iter_mut().zip(&work.positions) {
            *stored = position.as_vec3();
        }
        VolumeFrame { target, before }
    }

    /// The volume that `positions` enclose.
    ///
    /// # Panics
    /// If they are not those of the mesh.
    pub fn volume_of(&self, positions: &[Vec3]) -> f64 {
        assert_eq!(positions.len(), self.point_count(), "a frame holds all points of the mesh");
        let points = self.closed.with_centers(positions.iter().map(|point| point.as_dvec3()));
        volume(&points, self.closed.triangles())
    }

    /// Gives back near each joint what it has taken; the volume that is still missing.
    fn correct_joints(&self, transforms: &[DAffine3], before: f64, target: f64, work: &mut Workspace) -> f64 {
        if transforms.is_empty() || self.joints.is_empty() {
            return target - before;
        }
        let bends: Vec<Bend> = self.joints.iter().map(|joint| Bend::of(joint, transforms, &mut work.scratch)).collect();
        let (caused, most) =
            bends.iter().fold((0.0, 0.0), |(sum, most), bend| (sum + bend.lost, most + bend.lost.abs()));
        let remainder = match self.options.mode {
            Mode::Fast => 0.0,
            _ => (self.rest_volume - before - caused).clamp(-most, most),
        };
        let mut left = target - before;
        for (joint, bend) in self.joints.iter().zip(&bends) {
            let shared = if most > 0.0 { remainder * bend.lost.abs() / most } else { 0.0 };
            let share = joint.strength * (bend.lost + shared);
            if share.abs() > NEGLIGIBLE * self.rest_volume {
                let fast = self.options.mode == Mode::Fast;
                left -= solve(&joint.region, &bend.frame, share, fast, work);
            }
        }
        left
    }

    /// Spreads what is left over the whole body.
    fn correct_body(&self, left: f64, target: f64, work: &mut Workspace) {
        if left.abs() > NEGLIGIBLE * target {
            solve(&self.whole, &self.whole.rest_frame, left, false, work);
        }
    }
}

/// What a joint does in a pose.
struct Bend {
    /// The volume that it has taken away.
    lost: f64,
    /// The axes along which it is given back, in the space of the posed points.
    frame: DMat3,
}

impl Bend {
    fn of(joint: &JointRegion, transforms: &[DAffine3], scratch: &mut Scratch) -> Self {
        let [above, below] =
            [(joint.parent, 0), (joint.joint, 1)].map(|(index, bind)| transforms[index] * joint.inverse_binds[bind]);
        let turns = [above, below].map(|moved| DQuat::from_mat3(&polar_rotation(moved.matrix3)));
        // Half-way between the bones, as a hinge's own plane is.
        let frame = DMat3::from_quat(turns[0].slerp(turns[1], 0.5)) * joint.region.rest_frame;
        let relative = above.matrix3.inverse() * below.matrix3;
        let lost = if relative.is_finite() { joint.region.volume_lost(relative, scratch) } else { 0.0 };
        Self { lost, frame }
    }
}

/// Prepares the layer and corrects one frame; see [`VolumeLayer`] to correct many.
pub fn correct_volume(
    mesh: &Arc<TriMesh>,
    positions: &mut [Vec3],
    options: &VolumeOptions,
) -> Result<VolumeFrame, VolumeError> {
    let layer = VolumeLayer::new(&Object::of_mesh("", Arc::clone(mesh)), options)?;
    Ok(layer.apply(positions, None, options.target.at(0.0), &mut Workspace::default()))
}

#[cfg(test)]
mod tests;
