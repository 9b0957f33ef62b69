//! The motion of an asset before packing, the reference for the error of packed files.

use std::borrow::Cow;

use dermis_io::{PackedGlb, ReadOptions, read_bytes};
use dermis_mesh::glam::{DVec3, Vec3};
use dermis_mesh::{MeshSequence, Object, Scene};
use rayon::prelude::*;

use crate::error::{PackError, Result};
use crate::evaluate::{self, Motion};

/// Evaluated frames of all objects.
pub(super) struct Reference {
    objects: Vec<ReferenceObject>,
    /// Σ‖p − mean‖² over all frames.
    variation: f64,
    /// Diagonal of the rest poses.
    pub diagonal: f64,
    /// True if any object has joints.
    pub has_joints: bool,
    pub has_shapes: bool,
    pub has_motion: bool,
}

struct ReferenceObject {
    /// The point of each vertex of the file.
    vertex_points: Vec<u32>,
    /// Positions in each frame.
    frames: Vec<Vec<Vec3>>,
    /// The motion and the frame of each entry of `frames`.
    numbers: Vec<(usize, usize)>,
}

/// Error of a packed file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PackedError {
    /// Σ‖p − p̃‖².
    pub square: f64,
    variation: f64,
    numbers: f64,
    largest: f64,
    diagonal: f64,
}

impl PackedError {
    pub(super) fn distortion_percent(&self) -> f64 {
        if self.variation > 0.0 { 100.0 * (self.square / self.variation).sqrt() } else { 0.0 }
    }

    pub(super) fn erms(&self) -> f64 {
        1000.0 * (self.square / self.numbers.max(1.0)).sqrt()
    }

    pub(super) fn max_percent(&self) -> f64 {
        if self.diagonal > 0.0 { 100.0 * self.largest.sqrt() / self.diagonal } else { 0.0 }
    }
}

impl Reference {
    /// Evaluates at most `max_frames` frames of each object of the file `glb`. The frames of its only clip are replaced
    /// by those of `recorded`, a sequence of the same mesh, if it is given.
    pub(super) fn new(glb: &[u8], recorded: Option<&MeshSequence>, max_frames: usize) -> Result<Self> {
        let scene = read(glb)?;
        let mut reference = Self {
            objects: Vec::new(),
            variation: 0.0,
            diagonal: 0.0,
            has_joints: false,
            has_shapes: false,
            has_motion: false,
        };
        let mut spread = 0.0;
        for object in &scene.objects {
            let motions = evaluate::motions(object)?;
            let all: Vec<(usize, usize)> = motions
                .iter()
                .enumerate()
                .flat_map(|(number, motion)| (0..motion.sequence.frame_count()).map(move |frame| (number, frame)))
                .collect();
            let count = all.len().min(max_frames.max(1));
            let numbers: Vec<(usize, usize)> = (0..count).map(|k| all[k * all.len() / count]).collect();
            let mut frames = frames(object, &motions, &numbers)?;
            if let Some(recorded) = recorded {
                for (frame, &(_, number)) in frames.iter_mut().zip(&numbers) {
                    replace(frame, &vertex_points(object), recorded, number)?;
                }
            }
            reference.variation += variation(&frames);
            spread += spread_of(&frames);
            reference.diagonal = reference.diagonal.max(f64::from(object.mesh.diagonal()));
            let joints = object.rig.as_ref().map_or(0, |rig| rig.joints().len());
            reference.has_joints |= joints > 0;
            reference.has_shapes |= object.rig.as_ref().is_some_and(|rig| !rig.shapes().is_empty());
            reference.has_motion |= !motions.is_empty();
            reference.objects.push(ReferenceObject {
                vertex_points: vertex_points(object).into_owned(),
                frames,
                numbers,
            });
        }
        if reference.variation <= 0.0 {
            reference.variation = spread;
        }
        Ok(reference)
    }

    /// Measures a packed file.
    pub(super) fn measure(&self, packed: &PackedGlb) -> Result<PackedError> {
        let scene = read(&packed.bytes)?;
        if scene.objects.len() != self.objects.len() || packed.vertex_orders.len() != self.objects.len() {
            return Err(PackError::Mismatch.into());
        }
        let mut total = PackedError { variation: self.variation, diagonal: self.diagonal, ..PackedError::default() };
        for ((object, known), order) in scene.objects.iter().zip(&self.objects).zip(&packed.vertex_orders) {
            let motions = evaluate::motions(object)?;
            let new_of_old = known.correspondence(order, &vertex_points(object))?;
            let has_frame = |&(motion, frame): &(usize, usize)| {
                motions.get(motion).is_some_and(|motion| frame < motion.sequence.frame_count())
            };
            if !known.numbers.iter().all(has_frame) {
                return Err(PackError::Mismatch.into());
            }
            let now = frames(object, &motions, &known.numbers)?;
            for (then, now) in known.frames.iter().zip(&now) {
                for (point, &new) in then.iter().zip(&new_of_old) {
                    let square = f64::from(point.distance_squared(now[new as usize]));
                    total.square += square;
                    total.largest = total.largest.max(square);
                }
                total.numbers += 3.0 * then.len() as f64;
            }
        }
        Ok(total)
    }
}

impl ReferenceObject {
    /// The new point of each old point.
    fn correspondence(&self, order: &[u32], new_points: &[u32]) -> Result<Vec<u32>> {
        const NONE: u32 = u32::MAX;
        let count = self.frames.first().map_or(0, Vec::len);
        let mut new_of_old = vec![NONE; count];
        if order.len() != new_points.len() || order.len() != self.vertex_points.len() {
            return Err(PackError::Mismatch.into());
        }
        for (&old_vertex, &new_point) in order.iter().zip(new_points) {
            new_of_old[self.vertex_points[old_vertex as usize] as usize] = new_point;
        }
        if new_of_old.contains(&NONE) { Err(PackError::Mismatch.into()) } else { Ok(new_of_old) }
    }
}

/// Replaces the points of a file by those of a recorded frame of the same vertices.
fn replace(frame: &mut [Vec3], points: &[u32], recorded: &MeshSequence, number: usize) -> Result<()> {
    let positions = recorded.frame(number)?;
    let unsplit: Vec<u32> = (0..recorded.point_count() as u32).collect();
    let known = recorded.mesh().layout().map_or(unsplit.as_slice(), |layout| &layout.vertex_points);
    if known.len() != points.len() {
        return Err(PackError::Mismatch.into());
    }
    for (&new, &old) in points.iter().zip(known) {
        frame[new as usize] = positions[old as usize];
    }
    Ok(())
}

fn read(glb: &[u8]) -> Result<Scene> {
    Ok(read_bytes("glb", glb, &ReadOptions::default())?)
}

fn vertex_points(object: &Object) -> Cow<'_, [u32]> {
    match object.mesh.layout() {
        Some(layout) => Cow::Borrowed(&layout.vertex_points),
        None => Cow::Owned((0..object.mesh.point_count() as u32).collect()),
    }
}

/// The frames with the given numbers; the stored pose if there is no motion.
fn frames(object: &Object, motions: &[Motion], numbers: &[(usize, usize)]) -> Result<Vec<Vec<Vec3>>> {
    if motions.is_empty() {
        return Ok(vec![object.rest_points().into_owned()]);
    }
    let frame = |&(motion, frame): &(usize, usize)| Ok(motions[motion].sequence.frame(frame)?.into_owned());
    numbers.par_iter().map(frame).collect()
}

/// Σ‖p − mean over the frames‖².
fn variation(frames: &[Vec<Vec3>]) -> f64 {
    let Some(first) = frames.first() else { return 0.0 };
    let mut sum = 0.0;
    for point in 0..first.len() {
        let positions = || frames.iter().map(|frame| frame[point].as_dvec3());
        let mean = positions().sum::<DVec3>() / frames.len() as f64;
        sum += positions().map(|position| position.distance_squared(mean)).sum::<f64>();
    }
    sum
}

/// Σ‖p − centre of the frame‖².
fn spread_of(frames: &[Vec<Vec3>]) -> f64 {
    let of_frame = |frame: &Vec<Vec3>| {
        let centre = frame.iter().map(|point| point.as_dvec3()).sum::<DVec3>() / frame.len().max(1) as f64;
        frame.iter().map(|point| point.as_dvec3().distance_squared(centre)).sum::<f64>()
    };
    frames.iter().map(of_frame).sum()
}
