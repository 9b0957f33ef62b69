//! Balls that fall on a skinned animation and bounce off it.
//!
//! The deformation tree of the skin finds the contacts of each ball. At its deepest contact, a ball is pushed out of the
//! skin and gets an impulse along the normal, relative to the velocity of the skin at this point, with friction. Balls
//! also collide with each other and with the ground. A ball that has come to rest is dropped again.

use std::sync::Arc;
use std::time::Instant;

use dermis::collision::{DeformationTree, PosedTree, Sphere, SurfaceContact};
use dermis::mesh::glam::{DAffine3, DVec3, Vec3};
use dermis::mesh::pose::pose_with;
use dermis::mesh::surface_tree::barycentric;
use dermis::mesh::{Clip, Object, SequenceError, TriMesh, UpAxis};

use super::{LiveDeformer, LiveFrame, Parameter, Scalar, Touch};

const BALLS: usize = 40;
/// Rings and sides of the mesh of a ball.
const RINGS: u32 = 8;
const SIDES: u32 = 12;
/// Radius of a ball, relative to the diagonal of the body.
const RADIUS: f64 = 0.025;
const FRICTION: f64 = 0.3;
/// Maximum length of a step, in seconds, and the maximum number of steps per request.
const MAX_STEP_S: f64 = 1.0 / 240.0;
const MAX_STEPS: usize = 32;
/// Maximum time between requests of a continuous motion, in seconds.
const MAX_ADVANCE_S: f64 = 0.25;
/// Speed, in diagonals per second, and time after which a ball counts as being at rest.
const REST_SPEED: f64 = 0.05;
const REST_S: f64 = 1.5;
const GRAVITIES: [f64; 2] = [0.0, 20.0];
const RESTITUTIONS: [f64; 2] = [0.0, 1.0];

#[derive(Debug, Clone, Copy)]
struct Ball {
    position: DVec3,
    velocity: DVec3,
    /// Time for which it has been slow, in seconds.
    slow_s: f64,
    drops: usize,
}

/// Balls on one clip of a skinned object.
#[derive(Debug)]
pub struct BouncingBalls {
    object: Object,
    clip: Arc<Clip>,
    tree: DeformationTree,
    surface: Arc<TriMesh>,
    /// Points of a ball around its centre.
    ball_points: Vec<DVec3>,
    balls: Vec<Ball>,
    up: DVec3,
    /// Height of the ground, and the box above which balls are dropped.
    ground: f64,
    bounds: (DVec3, DVec3),
    diagonal: f64,
    gravity: f64,
    restitution: f64,
    /// Frame and time of the last request.
    shown: Option<(f64, Instant)>,
    contacts: usize,
    unit: String,
}

impl BouncingBalls {
    /// Creates the deformer for clip number `clip` of `object`. Layers of the object are not applied.
    pub fn new(object: &Object, clip: usize, up: UpAxis, unit: &str) -> Result<Self, String> {
        let object = Object { deformers: Vec::new(), levels: Vec::new(), sequence: None, ..object.clone() };
        let rig = object.rig.clone().ok_or("the asset has no bones")?;
        let clip = object.clips.get(clip).cloned().ok_or("the asset has no such clip")?;
        let tree = DeformationTree::new(&object).map_err(|error| error.to_string())?;
        let diagonal = f64::from(object.mesh.diagonal()).max(f64::MIN_POSITIVE);
        let up = match up {
            UpAxis::X => DVec3::X,
            UpAxis::Y => DVec3::Y,
            UpAxis::Z => DVec3::Z,
        };
        let mut posed = vec![Vec3::ZERO; object.mesh.point_count()];
        pose_with(&object.mesh, &rig, clip.transforms(0), clip.shape_weights(0), &mut posed);
        let (low, high) = dermis::mesh::tri_mesh::bounds(&posed);
        let bounds = (low.as_dvec3(), high.as_dvec3());
        let (ball_points, ball_triangles) = ball_mesh(RADIUS * diagonal);
        let surface = Arc::new(with_balls(&object.mesh, &ball_points, &ball_triangles).map_err(|e| e.to_string())?);
        let mut made = Self {
            ground: bounds.0.dot(up).min(bounds.1.dot(up)),
            object,
            clip,
            tree,
            surface,
            ball_points,
            balls: Vec::new(),
            up,
            bounds,
            diagonal,
            gravity: 3.0,
            restitution: 0.6,
            shown: None,
            contacts: 0,
            unit: format!("{unit}/s"),
        };
        made.balls = (0..BALLS).map(|number| made.dropped(number, 0)).collect();
        Ok(made)
    }

    /// Ball above the body. Balls are spread over its box, in layers.
    fn dropped(&self, number: usize, drops: usize) -> Ball {
        let spread = |step: f64| ((number + drops * BALLS + 1) as f64 * step).fract() - 0.5;
        let (low, high) = self.bounds;
        let size = high - low;
        let aside = DVec3::new(
            0.9 * spread(0.618_034) * size.x,
            0.9 * spread(0.754_878) * size.y,
            0.9 * spread(0.569_84) * size.z,
        );
        let height = 0.1 + 1.2 * (number as f64 / BALLS as f64);
        let flat = aside - self.up * aside.dot(self.up);
        let top = self.up * (high.dot(self.up).max(low.dot(self.up)) + height * self.diagonal);
        let middle = (low + high) / 2.0;
        Ball {
            position: middle - self.up * middle.dot(self.up) + flat + top,
            velocity: DVec3::ZERO,
            slow_s: 0.0,
            drops,
        }
    }

    fn advance(&mut self, from: f64, to: f64, passed_s: f64) -> Result<(), String> {
        let steps = ((passed_s / MAX_STEP_S).ceil() as usize).clamp(1, MAX_STEPS);
        let (seconds, frames) = (passed_s / steps as f64, (to - from) / steps as f64);
        let mut balls = std::mem::take(&mut self.balls);
        let (mut skin, mut before) = (PosedTree::new(&self.tree), PosedTree::new(&self.tree));
        self.contacts = 0;
        let mut result = Ok(());
        for step in 0..steps {
            let at = from + step as f64 * frames;
            let set = |tree: &mut PosedTree<'_>, at: f64| {
                let (transforms, frame) = transforms_at(&self.clip, at);
                tree.set_pose(&transforms, self.clip.shape_weights(frame)).map_err(|error| error.to_string())
            };
            result = set(&mut before, at).and(set(&mut skin, at + frames));
            if result.is_err() {
                break;
            }
            for ball in &mut balls {
                self.fall(ball, seconds);
                self.contacts += usize::from(self.bounce(ball, &mut skin, &mut before, seconds));
            }
            collide(&mut balls, RADIUS * self.diagonal, self.restitution);
        }
        for (number, ball) in balls.iter_mut().enumerate() {
            let slow = ball.velocity.length() < REST_SPEED * self.diagonal;
            ball.slow_s = if slow { ball.slow_s + passed_s } else { 0.0 };
            let far = (ball.position - (self.bounds.0 + self.bounds.1) / 2.0).length() > 4.0 * self.diagonal;
            if ball.slow_s > REST_S || far || !ball.position.is_finite() {
                *ball = self.dropped(number, ball.drops + 1);
            }
        }
        self.balls = balls;
        result
    }

    fn fall(&self, ball: &mut Ball, seconds: f64) {
        ball.velocity -= self.up * self.gravity * self.diagonal * seconds;
        ball.position += ball.velocity * seconds;
        let depth = self.ground + RADIUS * self.diagonal - ball.position.dot(self.up);
        if depth > 0.0 {
            ball.position += self.up * depth;
            reflect(&mut ball.velocity, DVec3::ZERO, self.up, self.restitution);
        }
    }

    /// Reflects a ball at its deepest contact with the skin. Returns true if there is one.
    fn bounce(&self, ball: &mut Ball, skin: &mut PosedTree<'_>, before: &mut PosedTree<'_>, seconds: f64) -> bool {
        let radius = RADIUS * self.diagonal;
        let mut found: Vec<SurfaceContact> = Vec::new();
        skin.ball_contacts(Sphere { centre: ball.position, radius }, &mut found);
        let Some(contact) = found.into_iter().max_by(|a, b| a.depth.total_cmp(&b.depth)) else {
            return false;
        };
        let [a, b, c] = skin.triangle(contact.triangle);
        let [x, y, z] = before.triangle(contact.triangle);
        let weights = barycentric([a, b, c], contact.point);
        let velocity = (contact.point - (x * weights[0] + y * weights[1] + z * weights[2])) / seconds;
        // If the centre of the ball is behind the surface, the ball is pushed out to the front.
        let outwards = (b - a).cross(c - a).normalize_or(self.up);
        let normal = if contact.normal.dot(outwards) < 0.0 { outwards } else { contact.normal };
        reflect(&mut ball.velocity, velocity, normal, self.restitution);
        ball.position = contact.point + radius * normal;
        true
    }
}

/// Reflects `velocity` at a surface with a velocity and a normal, with friction.
fn reflect(velocity: &mut DVec3, surface: DVec3, normal: DVec3, restitution: f64) {
    let relative = *velocity - surface;
    let along = relative.dot(normal);
    if along < 0.0 {
        let across = relative - along * normal;
        let impulse = -(1.0 + restitution) * along;
        let slowed = across * (1.0 - (FRICTION * impulse / across.length().max(1e-9)).min(1.0));
        *velocity = surface + slowed - restitution * along * normal;
    }
}

/// Separates balls that touch each other and exchanges their velocities along the line of their centres.
fn collide(balls: &mut [Ball], radius: f64, restitution: f64) {
    for first in 0..balls.len() {
        for second in first + 1..balls.len() {
            let between = balls[second].position - balls[first].position;
            let distance = between.length();
            if distance >= 2.0 * radius || distance == 0.0 {
                continue;
            }
            let normal = between / distance;
            let apart = normal * (radius - 0.5 * distance);
            balls[first].position -= apart;
            balls[second].position += apart;
            let along = (balls[second].velocity - balls[first].velocity).dot(normal);
            if along < 0.0 {
                let impulse = normal * (0.5 * (1.0 + restitution) * along);
                balls[first].velocity += impulse;
                balls[second].velocity -= impulse;
            }
        }
    }
}

/// Joint transforms at a time in frames, interpolated linearly; the clip repeats. Also returns the frame before it.
fn transforms_at(clip: &Clip, at: f64) -> (Vec<DAffine3>, usize) {
    let count = clip.frame_count();
    let (first, part) = (at.floor().rem_euclid(count as f64) as usize, at - at.floor());
    let second = (first + 1) % count;
    let between = |(a, b): (&DAffine3, &DAffine3)| DAffine3 {
        matrix3: a.matrix3 * (1.0 - part) + b.matrix3 * part,
        translation: a.translation.lerp(b.translation, part),
    };
    (clip.transforms(first).iter().zip(clip.transforms(second)).map(between).collect(), first)
}

/// Points and triangles of a ball around the origin.
fn ball_mesh(radius: f64) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for ring in 0..=RINGS {
        for side in 0..SIDES {
            let polar = std::f64::consts::PI * f64::from(ring) / f64::from(RINGS);
            let around = std::f64::consts::TAU * f64::from(side) / f64::from(SIDES);
            points.push(radius * DVec3::new(polar.sin() * around.cos(), polar.cos(), -polar.sin() * around.sin()));
        }
    }
    for (ring, side) in (0..RINGS).flat_map(|ring| (0..SIDES).map(move |side| (ring, side))) {
        let corner = |ring: u32, side: u32| ring * SIDES + side % SIDES;
        let [a, b] = [corner(ring, side), corner(ring, side + 1)];
        let [c, d] = [corner(ring + 1, side + 1), corner(ring + 1, side)];
        triangles.extend([[a, d, c], [a, c, b]]);
    }
    (points, triangles)
}

fn with_balls(mesh: &TriMesh, points: &[DVec3], triangles: &[[u32; 3]]) -> Result<TriMesh, dermis::mesh::MeshError> {
    let mut all = mesh.points().to_vec();
    let mut faces = mesh.triangles().to_vec();
    for _ in 0..BALLS {
        let first = all.len() as u32;
        all.extend(points.iter().map(|point| point.as_vec3()));
        faces.extend(triangles.iter().map(|triangle| triangle.map(|corner| corner + first)));
    }
    TriMesh::new(all, faces)
}

impl LiveDeformer for BouncingBalls {
    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::slider("gravity", "Gravity (sizes/s²)", GRAVITIES, 0.1, self.gravity),
            Parameter::slider("restitution", "Restitution", RESTITUTIONS, 0.05, self.restitution),
        ]
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        match name {
            "gravity" => self.gravity = value.clamp(GRAVITIES[0], GRAVITIES[1]),
            "restitution" => self.restitution = value.clamp(RESTITUTIONS[0], RESTITUTIONS[1]),
            "clip" => match self.object.clips.get(value.max(0.0) as usize) {
                Some(clip) => (self.clip, self.shown) = (Arc::clone(clip), None),
                None => return false,
            },
            _ => return false,
        }
        true
    }

    fn frame_count(&self) -> usize {
        self.clip.frame_count()
    }

    fn surface(&self) -> Option<Arc<TriMesh>> {
        Some(Arc::clone(&self.surface))
    }

    fn scalar(&self) -> Option<Scalar> {
        Some(Scalar { label: "speed of the balls", unit: self.unit.clone(), signed: false, range: None })
    }

    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError> {
        self.pose_between(frame, 0.0)
    }

    fn continuous(&self) -> bool {
        true
    }

    fn pose_between(&mut self, frame: usize, fraction: f64) -> Result<LiveFrame, SequenceError> {
        let (at, now) = (frame as f64 + fraction, Instant::now());
        let mut status = String::new();
        if let Some((before, then)) = self.shown {
            let passed = (now - then).as_secs_f64().min(MAX_ADVANCE_S);
            // The clip repeats. After a jump in time, the skin does not move during the step.
            let moved = (at - before).rem_euclid(self.clip.frame_count() as f64);
            let from = if moved > 2.0 * MAX_ADVANCE_S * self.clip.frame_rate_hz() { at } else { at - moved };
            if let Err(error) = self.advance(from, at, passed) {
                status = error;
            }
        }
        self.shown = Some((at, now));
        let (transforms, frame) = transforms_at(&self.clip, at);
        let mut positions = vec![Vec3::ZERO; self.object.mesh.point_count()];
        if let Some(rig) = &self.object.rig {
            pose_with(&self.object.mesh, rig, &transforms, self.clip.shape_weights(frame), &mut positions);
        }
        let mut scalars = vec![0.0; positions.len()];
        for ball in &self.balls {
            positions.extend(self.ball_points.iter().map(|point| (ball.position + *point).as_vec3()));
            scalars.extend(std::iter::repeat_n(ball.velocity.length() as f32, self.ball_points.len()));
        }
        if status.is_empty() {
            let drops: usize = self.balls.iter().map(|ball| ball.drops + 1).sum();
            status = format!("{} contacts with the skin · {drops} balls dropped", self.contacts);
        }
        Ok(LiveFrame { positions, scalars, status, ..LiveFrame::default() })
    }

    fn touch(&mut self, touch: Touch) -> bool {
        if !matches!(touch, Touch::Reset) {
            return false;
        }
        self.balls = (0..BALLS).map(|number| self.dropped(number, 0)).collect();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis::samples;

    #[test]
    fn balls_bounce_off_the_skin_and_stay_outside() {
        let arm = samples::build("arm").unwrap().objects.remove(0);
        let mut live = BouncingBalls::new(&arm, 0, UpAxis::Y, "m").unwrap();
        let mut contacts = 0;
        for step in 0..60 {
            let at = 0.2 * f64::from(step);
            live.advance(at, at + 0.2, 0.05).unwrap();
            contacts += live.contacts;
        }
        assert!(contacts > 20, "{contacts}");
        let ground = live.ground + 0.9 * RADIUS * live.diagonal;
        assert!(live.balls.iter().all(|ball| ball.position.is_finite() && ball.position.dot(live.up) > ground));
        let (transforms, frame) = transforms_at(&live.clip, 12.0);
        let mut skin = PosedTree::new(&live.tree);
        skin.set_pose(&transforms, live.clip.shape_weights(frame)).unwrap();
        let deepest = live.balls.iter().map(|ball| {
            let mut found = Vec::new();
            skin.ball_contacts(Sphere { centre: ball.position, radius: RADIUS * live.diagonal }, &mut found);
            found.iter().map(|contact| contact.depth).fold(0.0, f64::max)
        });
        let deepest = deepest.fold(0.0, f64::max);
        assert!(deepest < 2.0 * RADIUS * live.diagonal, "{deepest}");
        let frame = live.pose(0).unwrap();
        assert_eq!(frame.positions.len(), live.surface().unwrap().point_count());
        assert!(live.touch(Touch::Reset) && !live.touch(Touch::Restore) && !live.set("nonsense", 1.0));
    }
}
