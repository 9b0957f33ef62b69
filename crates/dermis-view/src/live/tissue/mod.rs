//! Interactive simulation of a layered body that can be pulled, poked and painted.
//!
//! Each request advances the simulation by the time since the last one, so that flesh keeps moving while the pose is
//! fixed. If the computer is too slow for the requested number of substeps, fewer and longer ones are computed, and
//! the status reports it. The real-time factor is the ratio of simulated time to computation time at the requested
//! number of substeps.

mod pace;
mod poses;
mod settings;

use std::time::{Duration, Instant};

use dermis::body::{BodyMotion, BodyPose};
use dermis::mesh::SequenceError;
use dermis::mesh::glam::Vec3;
use dermis::mesh::tri_mesh::bounds;
use dermis::tissue::dynamics::{Collider, Force, PathKey, Pull, Shape};
use dermis::tissue::fem::YOUNG_MODULUS_RANGE_PA;
use dermis::tissue::layered::{BodySimulation, BodySimulationOptions, Flesh, LayeredBody, LayeredError, LayeredParts};

use super::touch::{Ball, Dab, Grip};
use super::{LiveDeformer, LiveFrame, Parameter, Scalar, Touch};
use pace::Pace;
use poses::{is_jump, pose_between};
use settings::{Heat, Settings};

/// Minimum and maximum time by which a request advances.
const ADVANCE_S: [f64; 2] = [1.0 / 240.0, 0.1];
/// Time for the flesh to settle in a new pose before it is shown.
const SETTLE_S: f32 = 0.3;
/// Radius of the flesh that a pull acts on, as a fraction of the diagonal of the body.
const PULL_RADIUS: f32 = 0.04;
/// Stiffness of the pull, in N/m.
const PULL_N_PER_M: f32 = 1500.0;
const FRICTION: f32 = 0.3;
/// Maximum coordinates of targets, in diagonals of the body.
const MAX_COORDINATE: f32 = 100.0;
/// Range of the radii of balls and brushes, in diagonals of the body.
const RADII: [f32; 2] = [1e-4, 1.0];
const THICKNESSES: [f32; 2] = [0.0, 4.0];
/// Fraction of the difference to its value that a dab applies at its centre.
const DAB_FRACTION: f32 = 0.5;
/// Minimum interval between updates of the layers while they are painted.
const LAYER_UPDATE_INTERVAL: Duration = Duration::from_millis(250);

/// Simulated layered body.
#[derive(Debug)]
pub struct SimulatedBody {
    simulation: BodySimulation,
    motion: BodyMotion,
    settings: Settings,
    /// Flesh of the file with painted changes, without those of the sliders.
    flesh: Flesh,
    /// Thickness in the file.
    given_thickness: Vec<f32>,
    /// True if the flesh has changed since it was passed to the simulation.
    touched: bool,
    layered_at: Instant,
    pull: Option<Held>,
    poke: Option<Poke>,
    /// Current pose, its frame, and the time of its request.
    shown: Option<(BodyPose, f64, Instant)>,
    pace: Pace,
    diagonal: f32,
    /// Error message, if any.
    error_message: Option<String>,
}

#[derive(Debug)]
struct Held {
    grip: Grip,
    /// Offset from the point to the centre of the pulled flesh at the start of the pull; `None` if there is no flesh.
    offset: Option<Vec3>,
}

#[derive(Debug)]
struct Poke {
    ball: Ball,
    /// Position of the ball in the previous frame.
    before: [f32; 3],
}

impl SimulatedBody {
    /// Creates the simulation of `body` in motion number `clip`, or in its rest pose if it has no motion.
    pub fn new(body: LayeredBody, clip: usize) -> Result<Self, String> {
        let motion = motion_of(body.parts(), clip);
        let flesh = body.flesh().clone();
        let diagonal = body.body().mesh().diagonal().max(f32::MIN_POSITIVE);
        let options = BodySimulationOptions { follow_pose: true, ..BodySimulationOptions::default() };
        let simulation = BodySimulation::new(body, options);
        Ok(Self {
            simulation: simulation.map_err(|error| error.to_string())?,
            motion,
            settings: Settings::new(flesh.damping_rate_per_s),
            given_thickness: flesh.thickness.clone(),
            flesh,
            touched: false,
            layered_at: Instant::now(),
            pull: None,
            poke: None,
            shown: None,
            pace: Pace::default(),
            diagonal,
            error_message: None,
        })
    }

    /// Advances to `pose` of the frame `at`.
    fn move_on(&mut self, pose: BodyPose, at: f64) -> Result<(), LayeredError> {
        if !self.is_painted() || self.layered_at.elapsed() > LAYER_UPDATE_INTERVAL {
            self.change_flesh(&pose)?;
        }
        let now = Instant::now();
        let passed = match self.shown.take() {
            Some((before, from, then)) if !is_jump(&before, from, &pose, at, self.motion.frame_rate_hz) => {
                (now - then).as_secs_f64().clamp(ADVANCE_S[0], ADVANCE_S[1])
            }
            _ => {
                let forces = self.forces(&pose, 0.0);
                self.simulation.start(&pose, SETTLE_S, &forces)?;
                ADVANCE_S[0]
            }
        };
        let forces = self.forces(&pose, passed);
        let steps = self.pace.steps_in(passed, self.settings.substeps);
        let report = self.simulation.advance(&pose, passed as f32, steps, &forces)?;
        self.pace.take(&report, steps);
        if let Some(poke) = &mut self.poke {
            poke.before = poke.ball.center;
        }
        self.shown = Some((pose, at, now));
        Ok(())
    }

    fn forces(&self, pose: &BodyPose, passed_s: f64) -> Vec<Force> {
        let (low, high) = bounds(self.simulation.rest_skin());
        let origin = low.midpoint(high) + pose.translation.as_vec3();
        let mut forces = self.settings.forces(self.simulation.layered().parts().up, origin);
        if let Some(Held { grip, offset: Some(offset) }) = &self.pull {
            let target = (Vec3::from(grip.target) + *offset).to_array();
            forces.push(Force::Pull(Pull { target, ..self.hand(grip.point) }));
        }
        if let Some(Poke { ball, before }) = &self.poke {
            let now = self.simulation.simulation().time_s();
            let from = (Vec3::from(*before) - Vec3::from(ball.center)).to_array();
            let key = |time_s, offset| PathKey { time_s, offset };
            forces.push(Force::Collider(Collider {
                shape: Shape::Sphere { center: ball.center, radius: ball.radius },
                path: vec![key(now, from), key(now + passed_s, [0.0; 3])],
                friction: FRICTION,
            }));
        }
        forces
    }

    /// Pull of the flesh at a point of the skin.
    fn hand(&self, point: usize) -> Pull {
        Pull {
            center: self.simulation.rest_skin()[point].to_array(),
            radius: PULL_RADIUS * self.diagonal,
            target: [0.0; 3],
            path: Vec::new(),
            stiffness_n_per_m: PULL_N_PER_M,
        }
    }

    fn pull(&mut self, grip: Option<Grip>) -> bool {
        let Some(grip) = grip else {
            self.pull = None;
            return true;
        };
        if grip.point >= self.simulation.skin().len() || !self.is_near(grip.target) {
            return false;
        }
        let offset = match &self.pull {
            Some(held) if held.grip.point == grip.point => held.offset,
            _ => {
                let middle = self.simulation.simulation().pulled_center(&self.hand(grip.point));
                middle.map(|middle| middle - self.simulation.skin()[grip.point])
            }
        };
        self.pull = Some(Held { grip, offset });
        true
    }

    fn poke(&mut self, ball: Option<Ball>) -> bool {
        let Some(ball) = ball else {
            self.poke = None;
            return true;
        };
        if !ball.radius.is_finite() || !self.is_near(ball.center) {
            return false;
        }
        let ball = Ball { radius: self.radius(ball.radius), ..ball };
        let before = self.poke.as_ref().map_or(ball.center, |poke| poke.before);
        self.poke = Some(Poke { ball, before });
        true
    }

    fn paint(&mut self, dab: Dab) -> bool {
        let skin = self.simulation.rest_skin();
        if dab.point >= skin.len() || !(dab.radius.is_finite() && dab.value.is_finite()) {
            return false;
        }
        let (middle, radius) = (skin[dab.point], self.radius(dab.radius));
        let value = dab.value.clamp(THICKNESSES[0], THICKNESSES[1]);
        for (thickness, point) in self.flesh.thickness.iter_mut().zip(skin) {
            let rest = 1.0 - point.distance_squared(middle) / (radius * radius);
            if rest > 0.0 {
                *thickness += DAB_FRACTION * rest * rest * (value - *thickness);
            }
        }
        self.touched = true;
        true
    }

    fn is_near(&self, position: [f32; 3]) -> bool {
        position.iter().all(|coordinate| coordinate.abs() <= MAX_COORDINATE * self.diagonal)
    }

    fn radius(&self, radius: f32) -> f32 {
        radius.clamp(RADII[0] * self.diagonal, RADII[1] * self.diagonal)
    }

    /// Returns true if the layers must be updated.
    fn is_painted(&self) -> bool {
        self.touched && self.flesh.thickness != self.simulation.layered().flesh().thickness
    }

    /// Passes the flesh with its painted and set values to the simulation.
    fn change_flesh(&mut self, pose: &BodyPose) -> Result<(), LayeredError> {
        if !std::mem::take(&mut self.touched) {
            return Ok(());
        }
        let stiffness = self.settings.stiffness as f32;
        let (softest, stiffest) = (*YOUNG_MODULUS_RANGE_PA.start(), *YOUNG_MODULUS_RANGE_PA.end());
        let flesh = Flesh {
            young_modulus_pa: self
                .flesh
                .young_modulus_pa
                .iter()
                .map(|modulus| (modulus * stiffness).clamp(softest, stiffest))
                .collect(),
            damping_rate_per_s: self.settings.damping_rate_per_s as f32,
            ..self.flesh.clone()
        };
        let result = self.simulation.set_flesh(flesh, pose);
        if result.is_err() {
            self.flesh.thickness.clone_from(&self.simulation.layered().flesh().thickness);
        }
        self.layered_at = Instant::now();
        result
    }

    fn scalars(&self) -> Vec<f32> {
        let flesh = self.simulation.layered().flesh();
        match self.settings.heat() {
            Heat::Displacement => {
                let both = self.simulation.skin().iter().zip(self.simulation.posed_skin());
                both.map(|(skin, posed)| skin.distance(*posed)).collect()
            }
            // Painted values are shown before they are simulated.
            Heat::Thickness => self.flesh.thickness.clone(),
            Heat::Stiffness => flesh.young_modulus_pa.clone(),
            Heat::None => Vec::new(),
        }
    }

    fn status(&self) -> String {
        let elements = self.simulation.simulation().element_count();
        let all = self.simulation.layered().parts().tets.tetrahedra().len();
        let mut parts = self.pace.words(self.settings.substeps);
        parts.push(format!("{elements} of {all} elements simulated"));
        if matches!(self.pull, Some(Held { offset: None, .. })) {
            parts.push("this point follows the bones; paint a greater thickness to simulate it".to_owned());
        }
        parts.extend(self.error_message.clone());
        parts.join(" · ")
    }
}

impl LiveDeformer for SimulatedBody {
    fn parameters(&self) -> Vec<Parameter> {
        self.settings.parameters()
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        if name == "clip" {
            self.motion = motion_of(self.simulation.layered().parts(), value.max(0.0) as usize);
            self.shown = None;
            return true;
        }
        let changes = self.settings.set(name, value);
        self.touched |= changes == Some(true);
        changes.is_some()
    }

    fn frame_count(&self) -> usize {
        self.motion.poses.len()
    }

    fn scalar(&self) -> Option<Scalar> {
        let stiffest_pa = self.flesh.young_modulus_pa.iter().copied().fold(0.0, f32::max);
        self.settings.scalar(stiffest_pa)
    }

    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError> {
        self.pose_between(frame, 0.0)
    }

    fn continuous(&self) -> bool {
        true
    }

    fn pose_between(&mut self, frame: usize, fraction: f64) -> Result<LiveFrame, SequenceError> {
        let pose = pose_between(&self.motion, frame, fraction);
        self.error_message = self.move_on(pose, frame as f64 + fraction).err().map(|error| error.to_string());
        let held = self.pull.as_ref().filter(|held| held.offset.is_some());
        let line = |held: &Held| [self.simulation.skin()[held.grip.point], held.grip.target.into()];
        Ok(LiveFrame {
            positions: self.simulation.skin().to_vec(),
            scalars: self.scalars(),
            segments: held.map(line).into_iter().collect(),
            status: self.status(),
        })
    }

    fn touch(&mut self, touch: Touch) -> bool {
        match touch {
            Touch::Pull(grip) => self.pull(grip),
            Touch::Poke(ball) => self.poke(ball),
            Touch::Paint(dab) => self.paint(dab),
            Touch::Restore => {
                self.flesh.thickness.clone_from(&self.given_thickness);
                self.touched = true;
                true
            }
            Touch::Reset => {
                self.shown = None;
                true
            }
        }
    }

    fn model(&mut self) -> Option<&LayeredBody> {
        let rest = || BodyPose::rest(self.simulation.layered().body().joints().len());
        let pose = self.shown.as_ref().map_or_else(rest, |(pose, ..)| pose.clone());
        // An error of the simulation has been reported before; the flesh is saved without the change.
        let _ = self.change_flesh(&pose);
        Some(self.simulation.layered())
    }
}

/// Motion number `clip`, or the rest pose if it does not exist.
fn motion_of(parts: &LayeredParts, clip: usize) -> BodyMotion {
    let mut motions = parts.motions.iter().filter(|motion| !motion.poses.is_empty());
    let poses = || vec![BodyPose::rest(parts.body.joints().len())];
    let rest = || BodyMotion { name: String::new(), frame_rate_hz: 24.0, poses: poses(), notes: Vec::new() };
    motions.nth(clip).cloned().unwrap_or_else(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis::body::from_object;
    use dermis::math::progress::NoProgress;
    use dermis::mesh::UpAxis;
    use dermis::samples;
    use dermis::tet::tetrahedra::lattice::LatticeOptions;
    use dermis::tissue::layered::{BuildOptions, Mesher, Thickness, build};

    /// An arm with flesh on the side of larger x.
    fn arm() -> SimulatedBody {
        let object = samples::build("arm").unwrap().objects.remove(0);
        let (low, high) = object.mesh.bounds();
        let middle = low.midpoint(high);
        let soft = |point: &Vec3| if point.x > middle.x { 1.6 } else { 0.5 };
        let spacing = Some(0.1 * f64::from(object.mesh.diagonal()));
        let options = BuildOptions {
            mesher: Mesher::Lattice(LatticeOptions { spacing, ..LatticeOptions::default() }),
            thickness: Thickness::PerPoint(object.mesh.points().iter().map(soft).collect()),
            pin_end_effectors: false,
            ..BuildOptions::default()
        };
        let (body, motions) = from_object(&object).unwrap();
        let (body, _) = build(body, motions, UpAxis::Y, &options, &NoProgress).unwrap();
        let mut body = SimulatedBody::new(body, 0).unwrap();
        // Stiff and damped flesh comes to rest quickly.
        assert!(body.set("stiffness", 10.0) && body.set("damping", 10.0));
        body
    }

    /// Positions of the skin after many requests of the first frame.
    fn later(body: &mut SimulatedBody) -> Vec<Vec3> {
        (0..500).map(|_| body.pose(0).unwrap().positions).last().unwrap()
    }

    fn ends(body: &SimulatedBody) -> [usize; 2] {
        let along = |a: &(usize, &Vec3), b: &(usize, &Vec3)| a.1.x.total_cmp(&b.1.x);
        let points = || body.simulation.rest_skin().iter().enumerate();
        [points().min_by(along).unwrap().0, points().max_by(along).unwrap().0]
    }

    #[test]
    fn a_pull_moves_flesh_temporarily() {
        let mut body = arm();
        let rest = later(&mut body);
        let [hard, soft] = ends(&body);
        let aside = |point: usize| (rest[point] + Vec3::Y * 0.1 * body.diagonal).to_array();
        let grips = [hard, soft].map(|point| Grip { point, target: aside(point) });
        assert!(body.touch(Touch::Pull(Some(grips[1]))));
        let pulled = later(&mut body)[soft].distance(rest[soft]);
        assert!(body.touch(Touch::Pull(None)));
        let left = later(&mut body)[soft].distance(rest[soft]);
        assert!(pulled > 0.003 * body.diagonal && left < 0.1 * pulled, "{pulled}, then {left}");
        assert!(body.touch(Touch::Pull(Some(grips[0]))));
        assert!(body.pose(0).unwrap().status.contains("follows the bones"));
    }

    #[test]
    fn paint_makes_rigid_parts_soft() {
        let mut body = arm();
        let [hard, _] = ends(&body);
        let rest = later(&mut body);
        assert!(body.set("gravity", 2.0));
        assert!(later(&mut body)[hard].distance(rest[hard]) < 1e-6);
        let elements = body.simulation.simulation().element_count();
        let dab = Dab { point: hard, radius: 0.3 * body.diagonal, value: 1.8 };
        assert!((0..20).all(|_| body.touch(Touch::Paint(dab))));
        let saved = body.model().unwrap();
        assert!(saved.flesh().thickness[hard] > 1.5);
        assert!(body.simulation.simulation().element_count() > elements);
        assert!(later(&mut body)[hard].distance(rest[hard]) > 1e-5);
        assert!(body.touch(Touch::Restore));
        assert!(body.model().unwrap().flesh().thickness[hard] < 0.6);
    }

    #[test]
    fn rejects_invalid_input() {
        let mut body = arm();
        let count = body.simulation.skin().len();
        let pull = |point, x| Touch::Pull(Some(Grip { point, target: [x, 0.0, 0.0] }));
        let poke = |x, radius| Touch::Poke(Some(Ball { center: [x, 0.0, 0.0], radius }));
        let paint = |point, radius, value| Touch::Paint(Dab { point, radius, value });
        for nonsense in [
            pull(count, 0.0),
            pull(usize::MAX, 0.0),
            pull(0, f32::NAN),
            pull(0, f32::INFINITY),
            pull(0, 1e30),
            poke(f32::NAN, 1.0),
            poke(0.0, f32::INFINITY),
            paint(count, 0.1, 1.0),
            paint(0, f32::NAN, 1.0),
            paint(0, 0.1, f32::INFINITY),
        ] {
            assert!(!body.touch(nonsense), "{nonsense:?}");
        }
        for odd in [poke(0.0, -1.0), paint(0, 0.0, -5.0), paint(0, 1e30, 1e30)] {
            assert!(body.touch(odd), "{odd:?} is kept within range");
        }
        assert!(!body.set("nonsense", 1.0) && body.set("clip", 1e9) && body.set("substeps", -3.0));
        assert!(later(&mut body).iter().all(|point| point.is_finite()));
    }
}
