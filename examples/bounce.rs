//! Drops balls, simulated as rigid bodies with `rapier3d`, on a character that does jumping jacks. Writes `bounce.glb`.
//!
//! The skinned character is not a shape of the physics engine. Its deformation tree finds the contacts, and each ball gets
//! an impulse along the normal of its deepest contact, relative to the velocity of the skin at this point.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use dermis_collide::{DeformationTree, PosedTree, Sphere, SurfaceContact};
use dermis_io::WriteOptions;
use dermis_math::progress::NoProgress;
use dermis_mesh::{Clip, Joint, Object, Rig, Scene, SkinWeights, TriMesh};
use glam::{DAffine3, DQuat, DVec3, Vec3};
use rapier3d::prelude::*;

const BALLS: usize = 60;
const RADIUS: f64 = 0.05;
const STEPS_PER_FRAME: usize = 4;
/// Coefficient of restitution: fraction of the velocity along the normal that is kept.
const RESTITUTION: f64 = 0.6;
const FRICTION: f64 = 0.3;
const REPETITIONS: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let character = dermis_samples::build("body").ok_or("a sample")?.objects.remove(0);
    let clip = Arc::clone(&character.clips[0]);
    let tree = DeformationTree::new(&character)?;
    let (mut skin, mut before) = (PosedTree::new(&tree), PosedTree::new(&tree));
    let mut world = PhysicsWorld::default();
    world.integration_parameters.dt = (1.0 / (clip.frame_rate_hz() * STEPS_PER_FRAME as f64)) as f32;
    world.insert(
        RigidBodyBuilder::fixed().translation(Vector::new(0.0, -0.1, 0.0)),
        ColliderBuilder::cuboid(5.0, 0.1, 5.0).restitution(0.5),
    );
    let balls: Vec<RigidBodyHandle> = (0..BALLS).map(|number| drop_ball(&mut world, number)).collect();
    let (mut transforms, mut bounces, mut deepest) = (Vec::new(), 0, 0.0_f64);
    let frames = clip.frame_count() * REPETITIONS;
    for frame in 0..frames {
        for step in 0..STEPS_PER_FRAME {
            let at = (frame * STEPS_PER_FRAME + step) as f64 / STEPS_PER_FRAME as f64;
            set_time(&mut before, &clip, at)?;
            set_time(&mut skin, &clip, at + 1.0 / STEPS_PER_FRAME as f64)?;
            world.step();
            let seconds = f64::from(world.integration_parameters.dt);
            for &ball in &balls {
                if let Some(depth) = bounce(&mut world.bodies[ball], &mut skin, &mut before, seconds) {
                    bounces += 1;
                    deepest = deepest.max(depth);
                }
            }
        }
        transforms.extend(balls.iter().map(|&ball| placement(&world.bodies[ball])));
    }
    println!(
        "{bounces} contacts of {BALLS} balls with the skin in {frames} frames, at most {:.1} mm deep",
        1e3 * deepest
    );
    let clip = repeated(&character, &clip)?;
    let character = Object { clips: vec![Arc::new(clip)], ..character };
    let rate = character.clips[0].frame_rate_hz();
    let scene = Scene { objects: vec![character, ball_object(transforms, rate)?], ..Scene::default() };
    dermis_io::write(
        Path::new("bounce.glb"),
        &scene,
        &WriteOptions { force: true, ..Default::default() },
        &NoProgress,
    )?;
    Ok(())
}

/// Adds a ball above the character.
fn drop_ball(world: &mut PhysicsWorld, number: usize) -> RigidBodyHandle {
    let spread = |step: f64| ((number as f64 * step).fract() - 0.5) as f32;
    let position = Vector::new(1.4 * spread(0.618), 1.8 + 0.08 * number as f32, 0.3 * spread(0.7549));
    let body = RigidBodyBuilder::dynamic().translation(position).ccd_enabled(true);
    world.insert(body, ColliderBuilder::ball(RADIUS as f32).restitution(0.5).density(200.0)).0
}

/// Moves a tree to a time in frames; poses between frames are interpolated linearly, and the clip repeats.
fn set_time(tree: &mut PosedTree<'_>, clip: &Clip, at: f64) -> Result<(), Box<dyn Error>> {
    let (first, part) = (at as usize % clip.frame_count(), at.fract());
    let second = (first + 1) % clip.frame_count();
    let joints = clip.transforms(first).iter().zip(clip.transforms(second));
    let between = |(a, b): (&DAffine3, &DAffine3)| DAffine3 {
        matrix3: a.matrix3 * (1.0 - part) + b.matrix3 * part,
        translation: a.translation.lerp(b.translation, part),
    };
    let transforms: Vec<DAffine3> = joints.map(between).collect();
    Ok(tree.set_pose(&transforms, clip.shape_weights(first))?)
}

/// Reflects a ball at its deepest contact with the skin. Returns the depth.
fn bounce(ball: &mut RigidBody, skin: &mut PosedTree<'_>, before: &mut PosedTree<'_>, seconds: f64) -> Option<f64> {
    let centre = to_double(ball.translation());
    let mut found: Vec<SurfaceContact> = Vec::new();
    skin.ball_contacts(Sphere { centre, radius: RADIUS }, &mut found);
    let contact = found.into_iter().max_by(|a, b| a.depth.total_cmp(&b.depth))?;
    let [a, b, c] = skin.triangle(contact.triangle);
    let [x, y, z] = before.triangle(contact.triangle);
    let weights = dermis_mesh::surface_tree::barycentric([a, b, c], contact.point);
    let earlier = x * weights[0] + y * weights[1] + z * weights[2];
    let skin_velocity = (contact.point - earlier) / seconds;
    // If the centre of the ball is behind the surface, the ball is pushed out to the front.
    let outwards = (b - a).cross(c - a).normalize_or(DVec3::Y);
    let normal = if contact.normal.dot(outwards) < 0.0 { outwards } else { contact.normal };
    let relative = to_double(ball.linvel()) - skin_velocity;
    let along = relative.dot(normal);
    if along < 0.0 {
        let across = relative - along * normal;
        let lost = -(1.0 + RESTITUTION) * along;
        let slowed = across * (1.0 - (FRICTION * lost / across.length().max(1e-9)).min(1.0));
        let velocity = skin_velocity + slowed - RESTITUTION * along * normal;
        ball.set_linvel(to_single(velocity), true);
    }
    ball.set_translation(to_single(contact.point + RADIUS * normal), true);
    Some(contact.depth)
}

fn to_double(vector: Vector) -> DVec3 {
    DVec3::new(vector.x.into(), vector.y.into(), vector.z.into())
}

fn to_single(vector: DVec3) -> Vector {
    Vector::new(vector.x as f32, vector.y as f32, vector.z as f32)
}

fn placement(ball: &RigidBody) -> DAffine3 {
    let turn = ball.rotation();
    let rotation = DQuat::from_xyzw(turn.x.into(), turn.y.into(), turn.z.into(), turn.w.into()).normalize();
    DAffine3::from_rotation_translation(rotation, to_double(ball.translation()))
}

/// The clip, played several times.
fn repeated(character: &Object, clip: &Clip) -> Result<Clip, Box<dyn Error>> {
    let rig = character.rig.as_ref().ok_or("a rig")?;
    let frames = || (0..REPETITIONS).flat_map(|_| 0..clip.frame_count());
    let transforms = frames().flat_map(|frame| clip.transforms(frame).iter().copied()).collect();
    let shapes = frames().flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
    Ok(Clip::new(rig, clip.name(), clip.frame_rate_hz(), transforms, shapes)?)
}

/// All balls as one object with a joint per ball.
fn ball_object(transforms: Vec<DAffine3>, frame_rate_hz: f64) -> Result<Object, Box<dyn Error>> {
    const RINGS: u32 = 8;
    const SIDES: u32 = 12;
    let (mut points, mut triangles, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for ball in 0..BALLS as u32 {
        let first = points.len() as u32;
        for ring in 0..=RINGS {
            for side in 0..SIDES {
                let (polar, around) = (
                    std::f32::consts::PI * ring as f32 / RINGS as f32,
                    std::f32::consts::TAU * side as f32 / SIDES as f32,
                );
                let direction = Vec3::new(polar.sin() * around.cos(), polar.cos(), -polar.sin() * around.sin());
                points.push(direction * RADIUS as f32);
                rows.push([(ball, 1.0)]);
            }
        }
        for (ring, side) in (0..RINGS).flat_map(|ring| (0..SIDES).map(move |side| (ring, side))) {
            let corner = |ring: u32, side: u32| first + ring * SIDES + side % SIDES;
            let [a, b] = [corner(ring, side), corner(ring, side + 1)];
            let [c, d] = [corner(ring + 1, side + 1), corner(ring + 1, side)];
            triangles.extend([[a, d, c], [a, c, b]]);
        }
    }
    let mesh = Arc::new(TriMesh::new(points, triangles)?);
    let joints = (0..BALLS).map(|ball| Joint::at(format!("ball {ball}"), None, DAffine3::IDENTITY)).collect();
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), Vec::new())?;
    let clip = Clip::new(&rig, "jumping_jacks", frame_rate_hz, transforms, Vec::new())?;
    Ok(Object::of_rig("balls", mesh, rig, vec![clip]))
}
