//! Volume preservation for skinned characters (Active Geometry, §3; Rohmer et al. 2009).
//!
//! Skinning loses volume at bent joints. For each joint b with subtree weights `s_i` (the sum of a point's weights on
//! the joint and its descendants), the volume change caused by b alone is measured in the rest pose: the parent is
//! fixed, the points move to `x + s (D x − x)` with the relative transform D, and only faces with 0 < s < 1 change
//! their volume as seen from the joint. The change is compensated near the joint (`Region`), along the axes of the
//! joint's frame, with the closed form of Eq. 3 (`field`). Skin that is compressed, folded or in contact (`contact`) is
//! not inflated, and the stretch of edges is bounded.
//!
//! Exact mode additionally uses the true volume V. If `E` is the sum of the changes of all joints, the remainder
//! `V_rest − V − E` (from joints that interact, or from skinning that keeps more volume than linear blending) is
//! distributed over the joints, at most as much as each has caused. The rest, and a target other than the rest volume,
//! is compensated by the whole body. All amounts are continuous in the pose, so the correction does not pop.
//!
//! Sign: Eq. 3 as printed has the opposite sign; here `ΔV = V_target − V`.
//! Cost: linear in the triangles around joints, plus one pass over all triangles in exact mode.

mod cap;
mod contact;
mod crossings;
mod effects;
mod error;
mod field;
mod frames;
mod measure;
mod region;

use std::sync::Arc;

use dermis_math::polar::polar_rotation;
use dermis_mesh::geometry::point_normals;
use dermis_mesh::{Note, Object, Rig, SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};

pub use cap::ClosedSurface;
pub use dermis_mesh::deformer::volume::{
    Effect, Effects, EffectsError, JointEffect, Mode, Profile, Target, TargetError, VolumeOptions,
};
pub use effects::effects_from_toml;
pub use error::VolumeError;
pub use frames::corrected;
pub use measure::{MAX_PLAUSIBLE_DRIFT, VolumeDrift, measure_drift};

use contact::{Contact, Grid};
use crossings::{Crossings, PosedSkin, Stage};
use field::{Edges, Field, Surface, add_joint, gradient, volume};
use region::Region;

/// Corrections below this fraction of the volume do not change positions in `f32`.
const NEGLIGIBLE: f64 = 1e-15;

/// Smoothing passes of the directions of the correction.
const NORMAL_PASSES: usize = 3;
/// Exponent of the factors of γ for compressed skin and skin in contact.
const FACING_POWER: i32 = 3;
/// Reach of contacts, in mean lengths of edges.
const CONTACT_REACH: f64 = 2.0;
/// Smoothing passes of the fraction of the skin that faces outwards.
const FACING_PASSES: usize = 2;
/// Rounds in which displacement removed by the bound is restored near the joints.
const LOCAL_ROUNDS: usize = 3;
/// Rounds in which displacements that make the skin intersect itself are reduced.
const SEPARATING_ROUNDS: usize = 6;
/// Rounds in which displacement removed by the bound is restored on the whole body.
const BODY_ROUNDS: usize = 4;

/// Volume layer, prepared for a mesh and its rig.
#[derive(Debug, Clone)]
pub struct VolumeLayer {
    options: VolumeOptions,
    closed: ClosedSurface,
    edges: Edges,
    rest_volume: f64,
    /// Smoothed unit normals of the rest pose.
    rest_normals: Vec<DVec3>,
    /// Inverse of the gradient along the normals in the rest pose; 0 if there is none.
    inverse_areas: Vec<f64>,
    body_weights: Vec<f64>,
    /// Number of triangles without those of caps, which are last.
    mesh_triangles: usize,
    contact: Contact,
    skin: Option<Skin>,
    joints: Vec<JointRegion>,
    notes: Vec<Note>,
}

/// Weights and bind pose that carry the normals of the rest pose.
#[derive(Debug, Clone)]
struct Skin {
    weights: SkinWeights,
    inverse_binds: Vec<DAffine3>,
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
    gradient: Vec<DVec3>,
    normals: Vec<DVec3>,
    facing: Vec<f64>,
    smoothed: Vec<f64>,
    grid: Grid,
    room: Vec<f64>,
    direction: Vec<DVec3>,
    /// Displacement near the joints before it is bounded.
    joint_direction: Vec<DVec3>,
    bent: Vec<DVec3>,
    crossings: Crossings,
    scales: Vec<f64>,
    field: Field,
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
        let edges = Edges::new(&closed, &points);
        let rest_normals = rest_normals(mesh, &closed, &edges);
        let mut rest_gradient = Vec::new();
        gradient(&closed, &points, &mut rest_gradient);
        let along = |(g, n): (&DVec3, &DVec3)| g.dot(*n);
        let inverse = |area: f64| if area > 0.0 { 1.0 / area } else { 0.0 };
        let inverse_areas = rest_gradient.iter().zip(&rest_normals).map(|pair| inverse(along(pair))).collect();
        let contact = Contact::new(&points[..mesh.point_count()], &edges.neighbours, CONTACT_REACH * edges.mean_length);
        let mut layer = Self {
            contact,
            mesh_triangles: mesh.triangle_count(),
            options: options.clone(),
            body_weights: effects::body_weights(options, object)?,
            closed,
            edges,
            rest_volume,
            rest_normals,
            inverse_areas,
            skin: object.rig.as_deref().map(Skin::of),
            joints: vec![],
            notes: vec![],
        };
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
        for (joint, weights) in subtree.iter().enumerate() {
            let Some(parent) = rig.joints()[joint].parent.filter(|_| !weights.is_empty()) else { continue };
            let effect = self.options.effects.of_joint(&rig.joints()[joint].name);
            let built =
                Region::of_joint(&self.closed, &self.edges.neighbours, points, weights, &effect, object, rig, joint)?;
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
        self.correct(positions, transforms, target, false, work)
    }

    /// [`VolumeLayer::apply`] for frames that are stored: the correction adds no self-intersections, except in fast mode.
    /// It takes longer, and can jump slightly between poses in which skin begins to touch.
    ///
    /// # Panics
    /// As [`VolumeLayer::apply`].
    pub fn apply_separated(
        &self,
        positions: &mut [Vec3],
        transforms: Option<&[DAffine3]>,
        target: f64,
        work: &mut Workspace,
    ) -> VolumeFrame {
        self.correct(positions, transforms, target, true, work)
    }

    fn correct(
        &self,
        positions: &mut [Vec3],
        transforms: Option<&[DAffine3]>,
        target: f64,
        separates: bool,
        work: &mut Workspace,
    ) -> VolumeFrame {
        assert_eq!(positions.len(), self.point_count(), "one position per point of the mesh");
        self.closed.fill(&mut work.positions, positions.iter().map(|point| point.as_dvec3()));
        let transforms = transforms.unwrap_or(&[]);
        let target = target * self.rest_volume;
        let before = gradient(&self.closed, &work.positions, &mut work.gradient);
        self.prepare(transforms, work);
        work.field.clear(work.positions.len());
        let remaining = self.correct_joints(transforms, before, target, work);
        if self.options.mode != Mode::Fast {
            self.correct_body(remaining, work);
            if separates {
                self.separate(target, work);
            }
        }
        work.inflation.clear();
        for (point, stored) in positions.iter_mut().enumerate() {
            let moved = work.field.u[point];
            *stored = (work.positions[point] + moved).as_vec3();
            work.inflation.push((moved.length().copysign(moved.dot(work.normals[point]))) as f32);
        }
        VolumeFrame { target, before }
    }

    /// Computes the directions of the correction and the factors of γ of a pose.
    fn prepare(&self, transforms: &[DAffine3], work: &mut Workspace) {
        let count = self.point_count();
        work.normals.clear();
        match &self.skin {
            Some(skin) if !transforms.is_empty() => skin.carry(&self.rest_normals, transforms, &mut work.normals),
            _ => work.normals.extend(work.gradient[..count].iter().map(|g| g.normalize_or_zero())),
        }
        work.facing.clear();
        let along = work.gradient.iter().zip(&work.normals).zip(&self.inverse_areas);
        work.facing.extend(along.map(|((g, n), inverse)| (g.dot(*n) * inverse).clamp(0.0, 1.0).powi(FACING_POWER)));
        if !transforms.is_empty() && self.options.mode != Mode::Global {
            let points = &work.positions[..count];
            self.contact.measure(points, &work.normals, &mut work.grid, &mut work.room);
            work.facing.iter_mut().zip(&work.room).for_each(|(facing, room)| *facing *= room.powi(FACING_POWER));
        }
        for _ in 0..FACING_PASSES {
            let mean = |point: usize| {
                let ring = self.edges.neighbours.of(point);
                let sum: f64 = ring.iter().map(|&other| work.facing[other as usize]).sum();
                work.facing[point].min(0.5 * (work.facing[point] + sum / ring.len().max(1) as f64))
            };
            work.smoothed.clear();
            work.smoothed.extend((0..count).map(mean));
            std::mem::swap(&mut work.facing, &mut work.smoothed);
        }
        work.normals.resize(work.positions.len(), DVec3::ZERO);
        work.facing.resize(work.positions.len(), 0.0);
    }

    /// Returns the largest ratio of the lengths of an edge after and before the correction of the last frame.
    pub fn stretch(&self, work: &Workspace) -> f64 {
        let moved = |point: usize| work.positions[point] + work.field.u[point];
        let ratio = |edge: &[u32; 2]| {
            let [a, b] = edge.map(|point| point as usize);
            let before = work.positions[a].distance(work.positions[b]);
            // Edges of length 0 in f32 have no stretch.
            if before > f64::from(f32::EPSILON) * self.edges.mean_length {
                moved(a).distance(moved(b)) / before
            } else {
                1.0
            }
        };
        self.edges.ends.iter().map(ratio).fold(1.0, f64::max)
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
        work.joint_direction.clear();
        if transforms.is_empty() || self.joints.is_empty() {
            return target - before;
        }
        let bends: Vec<Bend> = self.joints.iter().map(|joint| Bend::of(joint, transforms, &mut work.bent)).collect();
        let (caused, max_remainder) = bends
            .iter()
            .fold((0.0, 0.0), |(sum, max_remainder), bend| (sum + bend.lost, max_remainder + bend.lost.abs()));
        let remainder = match self.options.mode {
            Mode::Fast => 0.0,
            _ => (self.rest_volume - before - caused).clamp(-max_remainder, max_remainder),
        };
        work.joint_direction.clear();
        work.joint_direction.resize(work.positions.len(), DVec3::ZERO);
        let surface = Surface { gradient: &work.gradient, normals: &work.normals, facing: &work.facing };
        let mut change = 0.0;
        for (joint, bend) in self.joints.iter().zip(&bends) {
            let distributed = if max_remainder > 0.0 { remainder * bend.lost.abs() / max_remainder } else { 0.0 };
            let part = joint.strength * (bend.lost + distributed);
            if part.abs() > NEGLIGIBLE * self.rest_volume {
                change += add_joint(&joint.region, &bend.frame, part, &surface, &mut work.joint_direction);
            }
        }
        let Workspace { positions, joint_direction, field, .. } = work;
        target - before - field.add(&self.closed, &self.edges, positions, joint_direction, change, LOCAL_ROUNDS)
    }

    /// Distributes the remaining volume over the whole body.
    fn correct_body(&self, remaining: f64, work: &mut Workspace) {
        if remaining.abs() <= NEGLIGIBLE * self.rest_volume {
            return;
        }
        let weighted = work.normals.iter().zip(&work.facing).zip(&self.body_weights);
        work.direction.clear();
        work.direction.extend(weighted.map(|((n, facing), weight)| *n * (facing * weight)));
        work.direction.resize(work.positions.len(), DVec3::ZERO);
        let Workspace { positions, direction, field, .. } = work;
        field.add(&self.closed, &self.edges, positions, direction, remaining, BODY_ROUNDS);
    }
}

impl VolumeLayer {
    /// Reduces displacements that make the skin intersect itself; the volume is restored elsewhere.
    fn separate(&self, target: f64, work: &mut Workspace) {
        for round in 1..=SEPARATING_ROUNDS {
            work.scales.clear();
            work.scales.resize(work.positions.len(), 1.0);
            let skin =
                PosedSkin { triangles: &self.closed.triangles()[..self.mesh_triangles], points: &work.positions };
            let stage = match round {
                1 => Stage::First,
                SEPARATING_ROUNDS => Stage::Last,
                _ => Stage::Middle,
            };
            if !work.crossings.limit(&skin, &work.field.u, stage, &mut work.scales) {
                return;
            }
            let volume = work.field.scale(&self.closed, &self.edges, &work.positions, &mut work.scales);
            let Workspace { positions, joint_direction, field, .. } = work;
            let restored = if joint_direction.is_empty() {
                0.0
            } else {
                field.add(&self.closed, &self.edges, positions, joint_direction, target - volume, LOCAL_ROUNDS)
            };
            self.correct_body(target - volume - restored, work);
        }
    }
}

impl Skin {
    fn of(rig: &Rig) -> Self {
        Self {
            weights: rig.weights().clone(),
            inverse_binds: rig.joints().iter().map(|joint| joint.inverse_bind).collect(),
        }
    }

    /// Rotates the normals of the rest pose with the bones.
    fn carry(&self, rest: &[DVec3], transforms: &[DAffine3], normals: &mut Vec<DVec3>) {
        let moved = transforms.iter().zip(&self.inverse_binds).map(|(transform, inverse)| *transform * *inverse);
        let rotations: Vec<DMat3> = moved.map(|moved| polar_rotation(moved.matrix3)).collect();
        normals.extend(rest.iter().zip(self.weights.rows()).map(|(normal, row)| {
            let rotated = row.map(|(joint, weight)| rotations[joint as usize] * *normal * f64::from(weight));
            rotated.sum::<DVec3>().normalize_or_zero()
        }));
    }
}

/// Unit normals of the rest pose, smoothed over neighbours and oriented outwards.
fn rest_normals(mesh: &TriMesh, closed: &ClosedSurface, edges: &Edges) -> Vec<DVec3> {
    let sign = f64::from(closed.orientation());
    let of_points = point_normals(mesh.points(), mesh.triangles());
    let mut normals: Vec<DVec3> = of_points.iter().map(|normal| sign * normal.as_dvec3()).collect();
    for _ in 0..NORMAL_PASSES {
        let mean = |point: usize| {
            let ring = edges.neighbours.of(point).iter().map(|&other| normals[other as usize]);
            let smooth = 0.5 * normals[point] + 0.5 * ring.sum::<DVec3>().normalize_or_zero();
            smooth.try_normalize().unwrap_or(normals[point])
        };
        normals = (0..normals.len()).map(mean).collect();
    }
    normals
}

/// Effect of a joint in a pose.
struct Bend {
    /// Volume lost at the joint.
    lost: f64,
    /// Axes along which the volume is restored, in the space of the posed points.
    frame: DMat3,
}

impl Bend {
    fn of(joint: &JointRegion, transforms: &[DAffine3], bent: &mut Vec<DVec3>) -> Self {
        let [above, below] =
            [(joint.parent, 0), (joint.joint, 1)].map(|(index, bind)| transforms[index] * joint.inverse_binds[bind]);
        let rotations = [above, below].map(|moved| DQuat::from_mat3(&polar_rotation(moved.matrix3)));
        // The frame is halfway between those of the two bones, as for a hinge.
        let frame = DMat3::from_quat(rotations[0].slerp(rotations[1], 0.5)) * joint.region.rest_frame;
        let relative = above.matrix3.inverse() * below.matrix3;
        let lost = if relative.is_finite() { joint.region.volume_lost(relative, bent) } else { 0.0 };
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
