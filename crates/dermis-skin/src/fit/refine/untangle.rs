//! Correction of triangles of the rest pose that the refinement has inverted.
//!
//! The corners of a triangle whose normal is reversed relative to the given pose get the mean of their displacements,
//! which restores the triangle; slivers pass the difference on to rounder neighbours. This is repeated until no triangle
//! is reversed.

use glam::DVec3;

use crate::fit::state::State;
use crate::fit::surface::Surface;
use crate::fit::trajectories::Trajectories;

/// Maximum number of rounds; a handful is enough in practice.
const MAX_ROUNDS: usize = 100;

/// Moves rest positions until no triangle is reversed.
pub(crate) fn untangle(trajectories: &Trajectories, state: &mut State, surface: &Surface) {
    let given = &trajectories.rest;
    for _ in 0..MAX_ROUNDS {
        let mut reversed = 0;
        for triangle in surface.triangles.iter().map(|triangle| triangle.map(|point| point as usize)) {
            if is_reversed(given, &state.rest, triangle) {
                reversed += 1;
                let mean = triangle.iter().map(|&point| state.rest[point] - given[point]).sum::<DVec3>() / 3.0;
                for point in triangle {
                    state.rest[point] = given[point] + mean;
                }
            }
        }
        if reversed == 0 {
            return;
        }
    }
}

fn is_reversed(given: &[DVec3], rest: &[DVec3], triangle: [usize; 3]) -> bool {
    let normal = |points: &[DVec3]| {
        let [a, b, c] = triangle.map(|point| points[point]);
        (b - a).cross(c - a)
    };
    normal(given).dot(normal(rest)) < 0.0
}
