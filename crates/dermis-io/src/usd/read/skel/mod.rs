//! `UsdSkel`: skeletons, skin bindings, blend shapes and their animation.
//!
//! A point p of a skinned mesh is, at time t, at `Σ w · L(t) · J(t) · B⁻¹ · G · (p + Σ s(t) · o)`: weights w, the world
//! transform L of the skeleton, joint transforms J in the skeleton's space, bind transforms B, the geometry bind
//! transform G of the mesh, blend shape weights s and offsets o. The transform of the mesh prim is not used, as in
//! `UsdSkel`. The rest mesh is `L(t₀) · G · p`, so that it is in world space, and so are the bind transforms, `L(t₀) ·
//! B`: all meshes on a skeleton have the same. The stored pose is the skeleton's rest pose, or that of a bound
//! animation without samples over time.

mod animation;
mod blend_shapes;
mod skeleton;

use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Note, Rig, RigPose, Shape, SkinWeights, TriMesh};
use glam::DAffine3;

use super::Clock;
use super::prims::{Attribute, Prims};
use super::timing::{Grid, sample_times};
use super::values;
use super::xform::{attributes_above, local_to_world};
use crate::budget::Budget;
use crate::error::Error;
use crate::skeletons::{scaled_left, scaled_right, unit_factor};
use animation::Animation;
pub(super) use blend_shapes::BlendShapes;
use skeleton::Skeleton;

/// Binding of a mesh to a skeleton.
pub(super) struct Binding {
    skeleton: Skeleton,
    /// The joints that move each point; `None` if only blend shapes do.
    influences: Option<SkinWeights>,
    geometry_bind: DAffine3,
    shapes: BlendShapes,
    /// The bound animation first, then the others under the same root.
    animations: Vec<Animation>,
    mesh: usize,
    /// True if the points are skinned by dual quaternions.
    pub(super) dual_quaternions: bool,
}

/// The binding of the mesh at `mesh`, if it has one.
pub(super) fn binding(
    prims: &Prims,
    mesh: usize,
    point_count: usize,
    notes: &mut Vec<Note>,
) -> Result<Option<Binding>, Error> {
    let Some(scope) = scope(prims, mesh) else {
        if prims.all[mesh].attribute("primvars:skel:jointIndices").is_some() {
            let path = prims.all[mesh].path.clone();
            notes.push(Note::at(path, "the mesh is bound to joints outside of a SkelRoot, so they do not move it"));
        }
        return Ok(None);
    };
    let target = scope.iter().find_map(|&prim| prims.all[prim].target("skel:skeleton"));
    let skeleton = target.and_then(|path| prims.find(path)).filter(|&prim| prims.all[prim].type_name == "Skeleton");
    let Some(skeleton) = skeleton else { return Ok(None) };
    let inherited = |name: &str| scope.iter().find_map(|&prim| prims.all[prim].attribute(name));
    let skeleton = Skeleton::new(prims, skeleton).map_err(|error| error.at(prims.all[skeleton].path.clone()))?;
    let influences = influences(&inherited, &skeleton, point_count)?;
    if influences.as_ref().is_some_and(|weights| !sums_to_one(weights)) {
        let path = prims.all[mesh].path.clone();
        notes.push(Note::at(path, "the weights of some points do not sum to 1; they are used unchanged"));
    }
    let shapes = BlendShapes::of(prims, mesh, point_count, notes)?;
    if influences.is_none() && shapes.is_empty() {
        return Ok(None);
    }
    let method = inherited("primvars:skel:skinningMethod").and_then(Attribute::value).and_then(values::text);
    let dual_quaternions = influences.is_some() && method.as_deref() == Some("dualQuaternion");
    let geometry_bind = inherited("primvars:skel:geomBindTransform").and_then(Attribute::value);
    let geometry_bind = geometry_bind.and_then(values::transform).unwrap_or(DAffine3::IDENTITY);
    let root = scope[scope.len() - 1];
    let animations = Animation::all(prims, root, skeleton.prim, &skeleton, &shapes, notes);
    Ok(Some(Binding { skeleton, influences, geometry_bind, shapes, animations, mesh, dual_quaternions }))
}

/// The prims whose bindings apply to `mesh`: itself and its ancestors up to the `SkelRoot`.
fn scope(prims: &Prims, mesh: usize) -> Option<Vec<usize>> {
    let mut scope = Vec::new();
    for prim in prims.upwards(mesh) {
        scope.push(prim);
        if prims.all[prim].type_name == "SkelRoot" {
            return Some(scope);
        }
    }
    None
}

fn influences<'a>(
    inherited: &impl Fn(&str) -> Option<&'a Attribute>,
    skeleton: &Skeleton,
    point_count: usize,
) -> Result<Option<SkinWeights>, Error> {
    let (Some(indices), Some(weights)) =
        (inherited("primvars:skel:jointIndices"), inherited("primvars:skel:jointWeights"))
    else {
        return Ok(None);
    };
    let width = usize::try_from(indices.element_size.unwrap_or(1)).unwrap_or(0).max(1);
    let is_constant = indices.interpolation.as_deref().unwrap_or("constant") == "constant";
    let joints = indices.value().and_then(values::integers).unwrap_or_default();
    let weights = weights.value().and_then(values::numbers).unwrap_or_default();
    let rows = if is_constant { 1 } else { point_count };
    if joints.len() != weights.len() || Some(joints.len()) != rows.checked_mul(width) {
        let (joints, weights) = (joints.len(), weights.len());
        let what = format!("the mesh has {joints} joint indices and {weights} joint weights for {rows} × {width}");
        return Err(Error::malformed(what));
    }
    let order = skeleton.order_of(inherited("skel:joints").and_then(Attribute::value).and_then(values::texts))?;
    let row = |row: usize| -> Result<Vec<(u32, f32)>, Error> {
        let range = row * width..(row + 1) * width;
        let used = joints[range.clone()].iter().zip(&weights[range]).filter(|(_, weight)| **weight != 0.0);
        used.map(|(&joint, &weight)| {
            let joint = usize::try_from(joint).ok().and_then(|joint| order.get(joint).copied());
            Ok((joint.ok_or_else(|| Error::malformed("a point is bound to a joint that does not exist"))?, weight))
        })
        .collect()
    };
    if is_constant {
        let row = row(0)?;
        return Ok(Some(SkinWeights::from_rows((0..point_count).map(|_| row.iter().copied()))));
    }
    let rows: Vec<Vec<(u32, f32)>> = (0..point_count).map(row).collect::<Result<_, _>>()?;
    Ok(Some(SkinWeights::from_rows(rows)))
}

/// Returns whether the weights of all points sum to 1, up to the rounding of eight-bit weights.
fn sums_to_one(weights: &SkinWeights) -> bool {
    const LOST: f32 = 0.01;
    weights.rows().all(|row| (row.map(|(_, weight)| weight).sum::<f32>() - 1.0).abs() <= LOST)
}

impl Binding {
    /// Prim whose world transform applies to the mesh: the skeleton if joints move it, otherwise the mesh itself.
    fn carrier(&self) -> usize {
        if self.influences.is_some() { self.skeleton.prim } else { self.mesh }
    }

    /// The frames of an animation (or of the carrier's motion alone); `None` without motion.
    fn grid(&self, prims: &Prims, which: usize, clock: &Clock, budget: &mut Budget) -> Result<Option<Grid>, Error> {
        let mut attributes = attributes_above(prims, self.carrier());
        if let Some(animation) = self.animations.get(which) {
            attributes.extend(animation.attributes(prims));
        }
        let times = sample_times(attributes);
        if times.is_empty() { Ok(None) } else { Grid::of_curves(&times, clock, budget).map(Some) }
    }

    /// Transform of the points of the mesh to the rest mesh.
    pub(super) fn rest_transform(&self, prims: &Prims, clock: &Clock, budget: &mut Budget) -> Result<DAffine3, Error> {
        let start = self.grid(prims, 0, clock, budget)?.map_or(0.0, |grid| grid.start);
        let world = local_to_world(prims, self.carrier(), start)?;
        Ok(if self.influences.is_some() { world * self.geometry_bind } else { world })
    }

    /// The rig of the placed `mesh`, and its clips.
    pub(super) fn rig(
        self,
        prims: &Prims,
        mesh: &TriMesh,
        rest: DAffine3,
        clock: &Clock,
        budget: &mut Budget,
        notes: &mut Vec<Note>,
    ) -> Result<(Rig, Vec<Clip>), Error> {
        let to_rest = rest.inverse();
        if !to_rest.is_finite() {
            return Err(Error::malformed("the world transform of the skeleton is singular"));
        }
        let shapes: Vec<Shape> = self.shapes.placed(mesh, rest, budget)?;
        let moves = !attributes_above(prims, self.carrier()).iter().all(|attribute| attribute.samples.len() < 2);
        let (joints, weights) = match &self.influences {
            Some(weights) => {
                let start = self.grid(prims, 0, clock, budget)?.map_or(0.0, |grid| grid.start);
                let to_skeleton = local_to_world(prims, self.carrier(), start)?.inverse();
                if !to_skeleton.is_finite() {
                    return Err(Error::malformed("the world transform of the skeleton is singular"));
                }
                (self.skeleton.joints(to_skeleton)?, weights.clone())
            }
            // A mesh that only blend shapes deform, but that moves as a whole, is bound to one joint.
            None if moves => {
                let rows = (0..mesh.point_count()).map(|_| [(0, 1.0)]);
                (vec![Joint { name: String::new(), parent: None, inverse_bind: to_rest }], SkinWeights::from_rows(rows))
            }
            None => (Vec::new(), SkinWeights::default()),
        };
        // The scale of the skeleton's transform is not a property of its joints.
        let factors: Vec<f64> = joints.iter().map(|joint| unit_factor(joint.inverse_bind)).collect();
        let mut joints = joints;
        for (joint, factor) in joints.iter_mut().zip(&factors) {
            joint.inverse_bind = scaled_left(joint.inverse_bind, factor.recip());
        }
        let rig = Rig::new(mesh, joints, weights, shapes)?;
        let stored = self.stored_pose(prims, &rig, &factors, clock, budget)?;
        let rig = rig.with_stored_pose(stored)?;
        let mut clips = Vec::new();
        for which in 0..self.animations.len().max(1) {
            clips.extend(self.clip(prims, which, &rig, &factors, clock, budget, notes)?);
        }
        Ok((rig, clips))
    }

    /// The rest pose of the skeleton, or the default pose of a bound animation.
    fn stored_pose(
        &self,
        prims: &Prims,
        rig: &Rig,
        factors: &[f64],
        clock: &Clock,
        budget: &mut Budget,
    ) -> Result<RigPose, Error> {
        let start = self.grid(prims, 0, clock, budget)?.map_or(0.0, |grid| grid.start);
        let world = local_to_world(prims, self.carrier(), start)?;
        let bound = self.animations.first();
        let mut transforms = Vec::new();
        if self.influences.is_some() {
            let still = bound.filter(|animation| animation.is_still(prims));
            let locals = still.and_then(|animation| animation.locals(prims, &self.skeleton, 0.0));
            let posed = self.skeleton.accumulate(locals.as_deref().unwrap_or(&self.skeleton.rest));
            let placed = self.skeleton.of_bones(&posed).zip(factors);
            transforms.extend(placed.map(|(joint, &factor)| scaled_right(world * joint, factor)));
        } else if !rig.joints().is_empty() {
            transforms.push(scaled_right(world, factors[0]));
        }
        let shape_weights = match bound {
            Some(animation) => animation.stored_weights(prims, rig.shapes().len()),
            None => vec![0.0; rig.shapes().len()],
        };
        Ok(RigPose { transforms: Arc::new(transforms), shape_weights })
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a stage, used once")]
    fn clip(
        &self,
        prims: &Prims,
        which: usize,
        rig: &Rig,
        factors: &[f64],
        clock: &Clock,
        budget: &mut Budget,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Clip>, Error> {
        let animation = self.animations.get(which);
        // A pose without samples over time is the stored pose if it is bound.
        let is_stored = which == 0;
        let grid = match self.grid(prims, which, clock, budget)? {
            Some(grid) => grid,
            None if is_stored => return Ok(None),
            None => Grid { start: 0.0, spacing: 1.0, count: 1, misses: false },
        };
        notes.extend(grid.note(&prims.all[self.mesh].path));
        budget.take("joint transforms", grid.count.saturating_mul(rig.joints().len()), 96)?;
        budget.take("shape weights", grid.count.saturating_mul(rig.shapes().len()), 4)?;
        let (mut transforms, mut weights) = (Vec::new(), Vec::new());
        for time in grid.times() {
            let world = local_to_world(prims, self.carrier(), time)?;
            if self.influences.is_some() {
                let locals = animation.and_then(|animation| animation.locals(prims, &self.skeleton, time));
                let posed = self.skeleton.accumulate(locals.as_deref().unwrap_or(&self.skeleton.rest));
                let placed = self.skeleton.of_bones(&posed).zip(factors);
                transforms.extend(placed.map(|(joint, &factor)| scaled_right(world * joint, factor)));
            } else if !rig.joints().is_empty() {
                transforms.push(scaled_right(world, factors[0]));
            }
            weights.extend(animation.map_or_else(
                || vec![0.0; rig.shapes().len()],
                |animation| animation.shape_weights(prims, rig.shapes().len(), time),
            ));
        }
        let name = animation.map_or("rest", |animation| animation.name.as_str());
        let clip = Clip::new(rig, name, clock.rate(grid.spacing), transforms, weights)?;
        Ok(Some(clip.starting_at(clock.seconds(grid.start))))
    }
}
