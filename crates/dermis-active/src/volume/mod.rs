//! Volume preservation for skinned characters (Active Geometry, §3; Rohmer et al. 2009).
//!
//! Skinning loses volume at bent joints. For each joint b with subtree weights `s_i` (the sum of a point's weights on
//! the joint and its descendants), the volume change caused by b alone is measured in the rest pose: the parent is
//! fixed, the points move to `x + s (D x − x)` with the relative transform D, and only faces with 0 < s < 1 change
//! their volume as seen from the joint. The change is compensated near the joint (`Region`), along the axes of the
//! joint's frame, joint by joint, with the closed form of Eq. 3 (`solve`).
//!
//! Exact mode uses the true volume V in addition. With `E` the sum of the changes of all joints, the remainder
//! `V_rest − V − E` (from joints that interact, or from skinning that keeps more volume than linear blending) is
//! distributed over the joints, at most as much as each has caused. The rest, and a target other than the rest volume,
//! is compensated by the whole body. All amounts are continuous in the pose, so the correction does not pop.
//!
//! Sign: Eq. 3 as printed has the opposite sign; here `ΔV = V_target − V`.
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

pub use cap::ClosedSurface;
pub use dermis_mesh::deformer::volume::{
    Effect, Effects, EffectsError, JointEffect, Mode, Profile, Target, TargetError, VolumeOptions,
};
pub use effects::effects_from_toml;
pub use error::VolumeError;
pub use frames::corrected;
pub use measure::{VolumeDrift, measure_drift};

use region::Region;
use solve::{Scratch, solve, volume};

/// Corrections below this fraction of the volume do not change positions in `f32`.
const NEGLIGIBLE: f64 = 1e-15;

/// Volume layer, prepared for a mesh and its rig.
#[derive(Debug, Clone)]
pub struct VolumeLayer {
    options: VolumeOptions,
    closed: ClosedSurface,
    rest_volume: f64,
    whole: Region,
    joints: Vec<JointRegion>,
    notes: Vec<Note>,
}

/// Joint that can bend, with the region in which its volume change is compensated.
#[derive(Debug, Clone)]
struct JointRegion {
    joint: usize,
    parent: usize,
    strength: f64,
    region: Region,
    inverse_binds: [DAffine3; 2],
}

/// Volumes of a corrected frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VolumeFrame {
    /// Target volume.
    pub target: f64,
    /// Volume before the correction.
    pub before: f64,
}

impl VolumeFrame {
    /// Relative difference between the volume before the correction and the target.
    pub fn drift_before(&self) -> f64 {
        self.drift(self.before)
    }

    /// Relative difference between `volume` and the target.
    pub fn drift(&self, volume: f64) -> f64 {
        (volume / self.target - 1.0).abs()
    }
}

/// Buffers that are reused for all frames.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    positions: Vec<DVec3>,
    scratch: Scratch,
    inflation: Vec<f32>,
}

impl Workspace {
    /// Displacement of each point by the correction of the last frame; negative if it was moved inwards.
    pub fn inflation(&self) -> &[f32] {
        &self.inflation
    }
}

impl VolumeLayer {
    /// Prepares the layer for an object: its mesh, its rig if it has one, and the painted attributes that the effects
    /// use.
    pub fn new(object: &Object, options: &VolumeOptions) -> Result<Self, VolumeError> {
        let mesh = &object.mesh;
        let mut closed = ClosedSurface::new(mesh, options.cap)?;
        let points = closed.with_centers(mesh.points().iter().map(|point| point.as_dvec3()));
        let mut rest_volume = volume(&points, closed.triangles());
        if rest_volume < 0.0 {
            closed = closed.reversed();
            rest_volume = -rest_volume;
        }
        let size = f64::from(mesh.diagonal()).powi(3);
        if rest_volume <= 1e-9 * size || !rest_volume.is_finite() {
            return Err(VolumeError::NoVolume { volume: rest_volume });
        }
        let whole = Region::whole(&closed, effects::body_weights(options, object)?);
        let mut layer = Self { options: options.clone(), closed, rest_volume, whole, joints: vec![], notes: vec![] };
        if options.cap && layer.closed.loops().is_empty() {
            layer.notes.push(Note::at(&object.name, "the mesh is closed: there is nothing to cap"));
        }
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
            self.notes.push(Note::at(&object.name, format!("the pattern '{pattern}' of the effects matches no joint")));
        }
        Ok(())
    }

    /// Assumptions made and data dropped.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Volume of the rest pose.
    pub fn rest_volume(&self) -> f64 {
        self.rest_volume
    }

    /// Number of joints near which volume is restored.
    pub fn joint_count(&self) -> usize {
        self.joints.len()
    }

    /// Number of points of a frame.
    pub fn point_count(&self) -> usize {
        self.closed.point_count()
    }

    /// Corrects the positions of a frame in place, towards `target` times the rest volume. `transforms` are the joint
    /// transforms of the pose, as in a clip; without them, the whole body is corrected uniformly.
    ///
    /// # Panics
    /// If the number of `positions` differs from that of the mesh, or the number of `transforms` from that of the rig.
    pub fn apply(
        &self,
        positions: &mut [Vec3],
        transforms: Option<&[DAffine3]>,
        target: f64,
        work: &mut Workspace,
    ) -> VolumeFrame {
        assert_eq!(positions.len(), self.point_count(), "one position per point of the mesh");
        self.closed.fill(&mut work.positions, positions.iter().map(|point| point.as_dvec3()));
        work.inflation.clear();
        work.inflation.resize(positions.len(), 0.0);
        let target = target * self.rest_volume;
        let before = volume(&work.positions, self.closed.triangles());
        let remaining = self.correct_joints(transforms.unwrap_or(&[]), before, target, work);
        if self.options.mode != Mode::Fast {
            self.correct_body(remaining, target, work);
        }
        for (stored, position) in positions.iter_mut().zip(&work.positions) {
            *stored = position.as_vec3();
        }
        VolumeFrame { target, before }
    }

    /// Returns the volume enclosed by `positions`.
    ///
    /// # Panics
    /// If their number differs from that of the mesh.
    pub fn volume_of(&self, positions: &[Vec3]) -> f64 {
        assert_eq!(positions.len(), self.point_count(), "one position per point of the mesh");
        let points = self.closed.with_centers(positions.iter().map(|point| point.as_dvec3()));
        volume(&points, self.closed.triangles())
    }

    /// Compensates the volume change of each joint near it. Returns the volume that remains to be restored.
    fn correct_joints(&self, transforms: &[DAffine3], before: f64, target: f64, work: &mut Workspace) -> f64 {
        if transforms.is_empty() || self.joints.is_empty() {
            return target - before;
        }
        let bends: Vec<Bend> = self.joints.iter().map(|joint| Bend::of(joint, transforms, &mut work.scratch)).collect();
        let (caused, max_remainder) = bends
            .iter()
            .fold((0.0, 0.0), |(sum, max_remainder), bend| (sum + bend.lost, max_remainder + bend.lost.abs()));
        let remainder = match self.options.mode {
            Mode::Fast => 0.0,
            _ => (self.rest_volume - before - caused).clamp(-max_remainder, max_remainder),
        };
        let mut remaining = target - before;
        for (joint, bend) in self.joints.iter().zip(&bends) {
            let distributed = if max_remainder > 0.0 { remainder * bend.lost.abs() / max_remainder } else { 0.0 };
            let change = joint.strength * (bend.lost + distributed);
            if change.abs() > NEGLIGIBLE * self.rest_volume {
                let fast = self.options.mode == Mode::Fast;
                remaining -= solve(&joint.region, &bend.frame, change, fast, work);
            }
        }
        remaining
    }

    /// Distributes the remaining volume over the whole body.
    fn correct_body(&self, remaining: f64, target: f64, work: &mut Workspace) {
        if remaining.abs() > NEGLIGIBLE * target {
            solve(&self.whole, &self.whole.rest_frame, remaining, false, work);
        }
    }
}

/// Effect of a joint in a pose.
struct Bend {
    /// Volume lost at the joint.
    lost: f64,
    /// Axes along which the volume is restored, in the space of the posed points.
    frame: DMat3,
}

impl Bend {
    fn of(joint: &JointRegion, transforms: &[DAffine3], scratch: &mut Scratch) -> Self {
        let [above, below] =
            [(joint.parent, 0), (joint.joint, 1)].map(|(index, bind)| transforms[index] * joint.inverse_binds[bind]);
        let rotations = [above, below].map(|moved| DQuat::from_mat3(&polar_rotation(moved.matrix3)));
        // The frame is half-way between those of the two bones, as for a hinge.
        let frame = DMat3::from_quat(rotations[0].slerp(rotations[1], 0.5)) * joint.region.rest_frame;
        let relative = above.matrix3.inverse() * below.matrix3;
        let lost = if relative.is_finite() { joint.region.volume_lost(relative, scratch) } else { 0.0 };
        Self { lost, frame }
    }
}

/// Prepares the layer and corrects one frame. [`VolumeLayer`] is more efficient for many frames.
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
