//! Violent motion: random poses at random rates, pulls, and gravity that flips. A few seconds always; a minute when asked
//! for, with `cargo test --release --test fem_soak -- --ignored --nocapture`.
#![allow(missing_docs, reason = "tests")]

mod beams;

use beams::{Random, damped, grid, positions, positions_of};
use dermis_tissue::dynamics::{Force, Pull};
use glam::{Quat, Vec3};

const FRAME_S: f32 = 1.0 / 60.0;
const FRAMES_PER_S: usize = 60;
const SUBSTEPS: usize = 4;
const CELL_M: f32 = 0.02;
/// The paper's 0.98 per 4 ms.
const DAMPING_PER_S: f32 = 5.05;
/// Kibibytes that buffers of the first frames and the allocator may still add.
const FLAT_KIB: usize = 4096;

#[test]
fn seconds_of_violent_motion_leave_no_trace() {
    shake(6, &[2, 1]);
}

#[test]
#[ignore = "simulates a minute"]
fn a_minute_of_violent_motion_leaves_no_trace() {
    shake(12, &[10; 6]);
}

/// Shakes a block of `side` cells whose inside is driven, for so many seconds and with a second of rest after each.
fn shake(side: usize, rounds: &[usize]) {
    let size = side as f32 * CELL_M;
    let mesh = grid([side; 3], CELL_M);
    let inside = |x: f32| x > 0.22 * size && x < 0.78 * size;
    let free: Vec<bool> = mesh.nodes().iter().map(|x| !(inside(x.x) && inside(x.y) && inside(x.z))).collect();
    let mut simulation = damped(&mesh, &free, DAMPING_PER_S);
    let rest = positions_of(&mesh, simulation.driven_nodes());
    let mut random = Random::new(2017);
    let (mut memory, mut inverted, mut most_iterations) = (None, 0, 0);
    let mut motion = Motion::new(&mut random, Pose::default());
    let mut advance = |pose: Pose, forces: &[Force]| {
        let report = simulation.advance(FRAME_S, SUBSTEPS, &pose.apply(&rest, size), forces).unwrap();
        assert!(positions(&mesh, &simulation).iter().all(|x| x.is_finite()));
        (report.solve.iterations, simulation.inverted_elements())
    };
    for seconds in rounds {
        let mut most_inverted = 0;
        for frame in 0..FRAMES_PER_S * seconds {
            let forces = [gravity(frame), pull(size, &mut random)];
            let (iterations, inverted) = advance(motion.next(&mut random), &forces);
            most_iterations = most_iterations.max(iterations);
            most_inverted = most_inverted.max(inverted);
        }
        for _ in 0..FRAMES_PER_S {
            (_, inverted) = advance(motion.now(), &[]);
        }
        println!("{seconds} s: at most {most_inverted} elements inverted; {inverted} after 1 s of rest");
        assert_eq!(inverted, 0);
        memory = memory.or_else(resident_kib);
    }
    println!("{} elements, at most {most_iterations} iterations", simulation.element_count());
    if let (Some(before), Some(after)) = (memory, resident_kib()) {
        println!("resident memory: {before} KiB after the first round, {after} KiB at the end");
        assert!(after < before + FLAT_KIB, "memory grew from {before} to {after} KiB");
    }
}

fn gravity(frame: usize) -> Force {
    let sign = if (frame / 45).is_multiple_of(2) { -1.0 } else { 1.0 };
    let size = if (frame / 200).is_multiple_of(2) { 9.81 } else { 70.0 };
    Force::Gravity { acceleration: [0.0, sign * size, 0.0] }
}

/// A pull to some point within three times the body's size, 22 N/m for each kilogram.
fn pull(size: f32, random: &mut Random) -> Force {
    let middle = Vec3::splat(0.5 * size);
    Force::Pull(Pull {
        center: (middle + random.vector() * (0.5 * size)).to_array(),
        radius: 0.25 * size,
        target: (middle + random.vector() * (2.5 * size)).to_array(),
        path: vec![],
        stiffness_n_per_m: 2.2e4 * size.powi(3),
    })
}

/// From pose to pose, each reached after one frame to half a second.
struct Motion {
    from: Pose,
    to: Pose,
    frames: usize,
    frame: usize,
}

impl Motion {
    fn new(random: &mut Random, from: Pose) -> Self {
        let frames = 1 + (random.number().abs() * 30.0) as usize;
        Self { from, to: Pose::random(random), frames, frame: 0 }
    }

    fn next(&mut self, random: &mut Random) -> Pose {
        if self.frame == self.frames {
            *self = Self::new(random, self.to);
        }
        self.frame += 1;
        self.now()
    }

    fn now(&self) -> Pose {
        self.from.towards(&self.to, self.frame as f32 / self.frames as f32)
    }
}

/// A rigid placement of the inside, shifted in units of its size and twisted along one axis.
#[derive(Default, Clone, Copy)]
struct Pose {
    turn: Quat,
    shift: Vec3,
    twist: f32,
}

impl Pose {
    fn random(random: &mut Random) -> Self {
        let turn = Quat::from_scaled_axis(random.vector() * 2.0);
        Self { turn, shift: random.vector() * 2.0, twist: random.number() * 2.0 }
    }

    fn towards(&self, to: &Self, share: f32) -> Self {
        Self {
            turn: self.turn.slerp(to.turn, share),
            shift: self.shift.lerp(to.shift, share),
            twist: self.twist + (to.twist - self.twist) * share,
        }
    }

    fn apply(&self, rest: &[Vec3], size: f32) -> Vec<Vec3> {
        let middle = Vec3::splat(0.5 * size);
        let place = |x: &Vec3| {
            let twisted = Quat::from_rotation_y(self.twist * (x.y - middle.y) / size) * (*x - middle);
            self.turn * twisted + middle + self.shift * size
        };
        rest.iter().map(place).collect()
    }
}

/// Resident memory where the system tells it, in pages of 4 KiB.
fn resident_kib() -> Option<usize> {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(4 * pages)
}
