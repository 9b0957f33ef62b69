//! Violent motion: random poses at random rates, pulls and alternating gravity. The default test simulates a few seconds;
//! `cargo test --release --test fem_soak -- --ignored --nocapture` simulates a minute.
#![allow(missing_docs, reason = "tests")]

mod beams;

use beams::{Random, damped, grid, positions, positions_of};
use dermis_tissue::dynamics::{Force, Pull};
use glam::{Quat, Vec3};

const FRAME_S: f32 = 1.0 / 60.0;
const FRAMES_PER_S: usize = 60;
const SUBSTEPS: usize = 4;
const CELL_M: f32 = 0.02;
/// Damping rate; the paper uses 0.5 to 5.05.
const DAMPING_PER_S: f32 = 2.0;
/// Allowance in KiB for buffers that are allocated after the first round.
const MAX_GROWTH_KIB: usize = 4096;

#[test]
fn recovers_from_seconds_of_violent_motion() {
    shake(6, &[2, 1]);
}

#[test]
#[ignore = "simulates a minute"]
fn recovers_from_a_minute_of_violent_motion() {
    shake(12, &[10; 6]);
}

/// Shakes a block of `side` cells with a driven core. Each round has a duration in seconds and is followed by one
/// second of rest.
fn shake(side: usize, rounds: &[usize]) {
    let size = side as f32 * CELL_M;
    let mesh = grid([side; 3], CELL_M);
    let inside = |x: f32| x > 0.22 * size && x < 0.78 * size;
    let free: Vec<bool> = mesh.nodes().iter().map(|x| !(inside(x.x) && inside(x.y) && inside(x.z))).collect();
    let mut simulation = damped(&mesh, &free, DAMPING_PER_S);
    let rest = positions_of(&mesh, simulation.driven_nodes());
    let mut random = Random::new(2017);
    let (mut memory, mut inverted, mut max_iterations) = (None, 0, 0);
    let mut motion = Motion::new(&mut random, Pose::default());
    let mut advance = |pose: Pose, forces: &[Force]| {
        let report = simulation.advance(FRAME_S, SUBSTEPS, &pose.apply(&rest, size), forces).unwrap();
        assert!(positions(&mesh, &simulation).iter().all(|x| x.is_finite()));
        (report.solve.iterations, simulation.inverted_elements())
    };
    for seconds in rounds {
        let mut max_inverted = 0;
        for frame in 0..FRAMES_PER_S * seconds {
            let forces = [gravity(frame), pull(size, &mut random)];
            let (iterations, inverted) = advance(motion.next(&mut random), &forces);
            max_iterations = max_iterations.max(iterations);
            max_inverted = max_inverted.max(inverted);
        }
        for _ in 0..FRAMES_PER_S {
            (_, inverted) = advance(motion.now(), &[]);
        }
        println!("{seconds} s: at most {max_inverted} elements inverted; {inverted} after 1 s of rest");
        assert_eq!(inverted, 0);
        memory = memory.or_else(resident_kib);
    }
    println!("{} elements, at most {max_iterations} iterations", simulation.element_count());
    if let (Some(before), Some(after)) = (memory, resident_kib()) {
        println!("resident memory: {before} KiB after the first round, {after} KiB at the end");
        assert!(after < before + MAX_GROWTH_KIB, "memory grew from {before} to {after} KiB");
    }
}

fn gravity(frame: usize) -> Force {
    let sign = if (frame / 45).is_multiple_of(2) { -1.0 } else { 1.0 };
    let size = if (frame / 200).is_multiple_of(2) { 9.81 } else { 70.0 };
    Force::Gravity { acceleration: [0.0, sign * size, 0.0] }
}

/// A pull to a random point within three times the size of the body, with 22 N/m per kilogram.
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

/// Motion between random poses; each transition takes between one frame and half a second.
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
        self.from.interpolate(&self.to, self.frame as f32 / self.frames as f32)
    }
}

/// Rigid transform of the core, with a shift in units of its size and a twist about one axis.
#[derive(Default, Clone, Copy)]
struct Pose {
    rotation: Quat,
    shift: Vec3,
    twist: f32,
}

impl Pose {
    fn random(random: &mut Random) -> Self {
        let rotation = Quat::from_scaled_axis(random.vector() * 2.0);
        Self { rotation, shift: random.vector() * 2.0, twist: random.number() * 2.0 }
    }

    fn interpolate(&self, to: &Self, fraction: f32) -> Self {
        Self {
            rotation: self.rotation.slerp(to.rotation, fraction),
            shift: self.shift.lerp(to.shift, fraction),
            twist: self.twist + (to.twist - self.twist) * fraction,
        }
    }

    fn apply(&self, rest: &[Vec3], size: f32) -> Vec<Vec3> {
        let middle = Vec3::splat(0.5 * size);
        let transform = |x: &Vec3| {
            let twisted = Quat::from_rotation_y(self.twist * (x.y - middle.y) / size) * (*x - middle);
            self.rotation * twisted + middle + self.shift * size
        };
        rest.iter().map(transform).collect()
    }
}

/// Resident memory in KiB if the system reports it, assuming pages of 4 KiB.
fn resident_kib() -> Option<usize> {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(4 * pages)
}
