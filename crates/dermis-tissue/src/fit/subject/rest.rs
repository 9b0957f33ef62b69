//! Rest shape without gravity (Kim et al. 2017, §5.3).
//!
//! A standing subject is in equilibrium with gravity. The paper applies an inverse gravity to the captured shape, which
//! assumes that sagging is linear in gravity. The default is the inverse static problem: the rest shape x̄ whose sagged
//! equilibrium is the captured shape `x̄_s`, by the iteration `x̄ ← x̄ + (x̄_s − sagged(x̄))`, which converges because flesh
//! sags by much less than its own size. Differences are averaged over neighbouring points, because scans have noise.

use std::sync::Arc;

use dermis_body::{BodyModel, BodyParts, BodyPose};
use dermis_math::progress::Progress;
use dermis_mesh::TetMesh;
use glam::{DVec3, Vec3};

use super::track::Unposer;
use super::{SubjectError, report};
use crate::dynamics::{EARTH_GRAVITY, Force};
use crate::fit::amplitude::{averaged, neighbours};
use crate::fit::scans::Scan;
use crate::layered::{BodySimulation, BodySimulationOptions, LayeredBody, LayeredError, LayeredParts};
use crate::layers::THRESHOLD;

/// Maximum number of iterations.
const MAX_ITERATIONS: usize = 20;
/// Residual in metres at which the iteration ends.
const RESIDUAL_M: f64 = 1e-4;
/// Mean distance of the points from those of the first frame, relative to the size, up to which a frame is still.
const STILL_DISTANCE: f64 = 1.5e-3;
/// Maximum number of still frames that are averaged.
const MAX_FRAMES: usize = 8;
/// Time for the flesh to settle, in seconds.
const SETTLE_S: f32 = 1.0;

/// Estimation of the rest shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RestShape {
    /// The shape that sags to the scan under gravity.
    #[default]
    InverseStatic,
    /// The scan under inverse gravity, as in the paper.
    InverseGravity,
    /// The shape of the body model.
    Unchanged,
}

/// Report of the estimation of a rest shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RestReport {
    /// Method.
    pub method: RestShape,
    /// Root mean square distance of the sagged body from the captured shape before correction, over the flesh, in metres.
    pub residual_before_m: f64,
    /// That distance afterwards.
    pub residual_m: f64,
    /// Iterations.
    pub iterations: usize,
}

/// Pose and captured shape of a subject at rest.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    pose: BodyPose,
    /// Captured shape `x̄_s`, unposed.
    points: Vec<DVec3>,
}

/// The subject standing still at the start of a scan, from the scan with the most still frames; `None` if there is no
/// such scan.
pub(super) fn standing(
    body: &LayeredBody,
    scans: &[Scan],
    poses: &[Vec<BodyPose>],
) -> Result<Option<Standing>, SubjectError> {
    let limit = STILL_DISTANCE * f64::from(body.body().mesh().diagonal());
    let still = |scan: &Scan| {
        let distance = |frame: &Vec<Vec3>| {
            let distances = frame.iter().zip(&scan.frames[0]).map(|(a, b)| f64::from(a.distance(*b)));
            distances.sum::<f64>() / frame.len().max(1) as f64
        };
        scan.frames.iter().take(MAX_FRAMES).take_while(|frame| distance(frame) < limit).count()
    };
    let counts: Vec<usize> = scans.iter().map(still).collect();
    let best = (0..scans.len()).fold(0, |best, k| if counts[k] > counts[best] { k } else { best });
    let count = counts.get(best).copied().unwrap_or(0);
    if count < 2 {
        return Ok(None);
    }
    let unposer = Unposer::new(body.body(), &poses[best][..count])?;
    let mut points = vec![DVec3::ZERO; body.body().point_count()];
    for frame in 0..count {
        let unposed = unposer.unpose(frame, &scans[best].frames[frame]);
        points.iter_mut().zip(unposed).for_each(|(sum, at)| *sum += at / count as f64);
    }
    Ok(Some(Standing { pose: poses[best][0].clone(), points }))
}

/// The body with a rest shape for its flesh, and a report; the unchanged body for [`RestShape::Unchanged`].
pub(super) fn corrected(
    body: &LayeredBody,
    standing: &Standing,
    method: RestShape,
    progress: &dyn Progress,
) -> Result<(LayeredBody, Option<RestReport>), SubjectError> {
    if method == RestShape::Unchanged {
        return Ok((body.clone(), None));
    }
    let around = neighbours(body.body().point_count(), body.body().mesh().triangles());
    let is_soft: Vec<bool> = body.flesh().thickness.iter().map(|&d| f64::from(d) > THRESHOLD).collect();
    let difference = |body: &LayeredBody, factor: f32| -> Result<Vec<DVec3>, SubjectError> {
        let sagged = sagged(body, &standing.pose, factor)?;
        let apart: Vec<DVec3> = standing.points.iter().zip(&sagged).map(|(to, from)| *to - *from).collect();
        let mut apart = averaged(&apart, &around);
        apart.iter_mut().zip(&is_soft).filter(|(_, soft)| !**soft).for_each(|(apart, _)| *apart = DVec3::ZERO);
        Ok(apart)
    };
    let rms = |apart: &[DVec3]| {
        let count = is_soft.iter().filter(|soft| **soft).count().max(1);
        (apart.iter().map(|apart| apart.length_squared()).sum::<f64>() / count as f64).sqrt()
    };
    let mut apart = difference(body, 1.0)?;
    let before = rms(&apart);
    let mut found = RestReport { method, residual_before_m: before, residual_m: before, iterations: 0 };
    let mut best = body.clone();
    if method == RestShape::InverseGravity {
        // The captured shape, then its equilibrium under inverse gravity relative to it.
        let unsagged: Vec<DVec3> = body.body().mesh().points().iter().map(|point| point.as_dvec3()).collect();
        let at: Vec<DVec3> = standing.points.iter().zip(&unsagged).map(|(to, from)| *to - *from).collect();
        let mut offsets = averaged(&at, &around);
        offsets.iter_mut().zip(&is_soft).filter(|(_, soft)| !**soft).for_each(|(offset, _)| *offset = DVec3::ZERO);
        let captured = displaced(body, &offsets)?;
        let rises = sagged(&captured, &standing.pose, -1.0)?;
        let rises: Vec<DVec3> =
            rises.iter().zip(captured.body().mesh().points()).map(|(to, from)| *to - from.as_dvec3()).collect();
        best = displaced(&captured, &rises)?;
        found.residual_m = rms(&difference(&best, 1.0)?);
        found.iterations = 1;
        return Ok((best, Some(found)));
    }
    while found.iterations < MAX_ITERATIONS && found.residual_m > RESIDUAL_M {
        report(progress, "solving for the rest shape", found.iterations, MAX_ITERATIONS)?;
        let next = displaced(&best, &apart)?;
        let after = difference(&next, 1.0)?;
        found.iterations += 1;
        if rms(&after) >= found.residual_m {
            break;
        }
        (best, apart, found.residual_m) = (next, after.clone(), rms(&after));
    }
    Ok((best, Some(found)))
}

/// Unposed skin of `body` in equilibrium with `factor` times the gravity.
fn sagged(body: &LayeredBody, pose: &BodyPose, factor: f32) -> Result<Vec<DVec3>, SubjectError> {
    let gravity = [Force::gravity_down(body.parts().up, factor * EARTH_GRAVITY)];
    let mut simulation = BodySimulation::new(body.clone(), BodySimulationOptions::default())?;
    simulation.start(pose, SETTLE_S, &gravity)?;
    Ok(Unposer::new(body.body(), std::slice::from_ref(pose))?.unpose(0, simulation.skin()))
}

/// The body with its template displaced: the skin by `offsets`, the inside by their harmonic extension to the bones.
fn displaced(body: &LayeredBody, offsets: &[DVec3]) -> Result<LayeredBody, SubjectError> {
    let parts = body.parts();
    let flat: Vec<f64> = offsets.iter().flat_map(DVec3::to_array).collect();
    let inside = body.extend_distance(&flat, 3);
    let inside: Vec<DVec3> = inside.chunks_exact(3).map(DVec3::from_slice).collect();
    let volume = moved(&parts.volume, &inside)?;
    let tets = TetMesh::new(volume.mesh().points().to_vec(), parts.tets.tetrahedra().to_vec());
    let tets = tets.map_err(LayeredError::from)?;
    let changed = LayeredParts { body: moved(&parts.body, offsets)?, volume, tets, ..parts.clone() };
    Ok(LayeredBody::new(changed)?)
}

fn moved(model: &BodyModel, offsets: &[DVec3]) -> Result<BodyModel, SubjectError> {
    let points = model.mesh().points().iter().zip(offsets).map(|(at, by)| *at + by.as_vec3()).collect();
    let mesh = model.mesh().with_points(points).map_err(LayeredError::from)?;
    Ok(BodyModel::new(BodyParts {
        mesh: Arc::new(mesh),
        joints: model.joints().to_vec(),
        placement: model.given_placement(),
        weights: model.weights().clone(),
        shapes: model.shapes().to_vec(),
        pose_shapes: model.pose_shapes().to_vec(),
    })?)
}
