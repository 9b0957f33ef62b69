//! Mean amplitude of unposed tracks and its deviation (Kim et al. 2017, Eq. 18–20).
//!
//! The paper defines extrema by a reversal of the velocity between two frames. On a curved track the velocity never
//! reverses exactly, so that noise determines whether an extremum is found. Extrema are therefore those of the
//! coordinate along the principal axis of the track, which are the same on a straight one.
//!
//! Scans have noise, whose reversals would count as extrema. Both tracks, scanned and simulated, are therefore averaged
//! over neighbouring points and smoothed over time by a quadratic fit to seven frames (Savitzky & Golay 1964) first, and
//! reversals of less than 1.5 mm are not counted.

use glam::{DMat3, DVec3};

/// Quadratic smoothing over seven frames.
const KERNEL: [f64; 7] = [-2.0, 3.0, 6.0, 7.0, 6.0, 3.0, -2.0];
/// Minimum reversal, in metres: several times the noise of scans that remains after smoothing.
const MIN_DISTANCE_M: f64 = 1.5e-3;
/// Iterations for the principal axis.
const AXIS_ITERATIONS: usize = 40;
/// Rounds of averaging over neighbours.
const NEIGHBOUR_ROUNDS: usize = 2;

/// Mean distance between successive extrema of a track (Eq. 18). An extremum counts if the track returns from it by more
/// than `min_distance`; with fewer than two extrema the result is 0.
pub fn mean_amplitude(track: &[DVec3], min_distance: f64) -> f64 {
    let extrema = extrema(track, min_distance);
    let count = extrema.len().saturating_sub(1);
    let between = |pair: &[usize]| track[pair[0]].distance(track[pair[1]]);
    extrema.windows(2).map(between).fold(0.0, |sum, distance| sum + distance) / count.max(1) as f64 // Eq. 18
}

/// Frames in which the coordinate along the principal axis reverses by more than `min_distance`.
fn extrema(track: &[DVec3], min_distance: f64) -> Vec<usize> {
    let axis = principal_axis(track);
    let along: Vec<f64> = track.iter().map(|at| at.dot(axis)).collect();
    let (mut lowest, mut highest) = (0, 0);
    // Direction of the motion since the last extremum, if it is known.
    let mut rises: Option<bool> = None;
    let mut found = Vec::new();
    for frame in 1..along.len() {
        lowest = if along[frame] < along[lowest] { frame } else { lowest };
        highest = if along[frame] > along[highest] { frame } else { highest };
        if rises != Some(false) && along[highest] - along[frame] > min_distance {
            // The first frame is not an extremum, because the motion before it is unknown.
            found.extend((highest > 0).then_some(highest));
            (rises, lowest) = (Some(false), frame);
        } else if rises != Some(true) && along[frame] - along[lowest] > min_distance {
            found.extend((lowest > 0).then_some(lowest));
            (rises, highest) = (Some(true), frame);
        }
    }
    found
}

/// Direction of the largest variance of a track.
fn principal_axis(track: &[DVec3]) -> DVec3 {
    let mean = track.iter().sum::<DVec3>() / track.len().max(1) as f64;
    let mut covariance = DMat3::ZERO;
    for at in track {
        let d = *at - mean;
        covariance += DMat3::from_cols(d * d.x, d * d.y, d * d.z);
    }
    let columns = [covariance.x_axis, covariance.y_axis, covariance.z_axis];
    let mut axis =
        columns.into_iter().fold(DVec3::ZERO, |a, b| if b.length_squared() > a.length_squared() { b } else { a });
    axis = axis.normalize_or_zero();
    for _ in 0..AXIS_ITERATIONS {
        axis = (covariance * axis).normalize_or_zero();
    }
    axis
}

/// Mean amplitude of every point of unposed frames.
pub fn mean_amplitudes(frames: &[Vec<DVec3>], triangles: &[[u32; 3]]) -> Vec<f64> {
    mean_amplitudes_of(frames, &neighbours(frames.first().map_or(0, Vec::len), triangles))
}

/// The same for given neighbours of the points.
pub(super) fn mean_amplitudes_of(frames: &[Vec<DVec3>], neighbours: &[Vec<u32>]) -> Vec<f64> {
    let points = frames.first().map_or(0, Vec::len);
    let smooth: Vec<Vec<DVec3>> = frames.iter().map(|frame| averaged(frame, neighbours)).collect();
    let amplitude = |point: usize| {
        let track: Vec<DVec3> = smooth.iter().map(|frame| frame[point]).collect();
        mean_amplitude(&smoothed(&track), MIN_DISTANCE_M)
    };
    (0..points).map(amplitude).collect()
}

/// Deviation of all points (Eq. 19–20), in metres.
pub fn deviation(captured: &[f64], simulated: &[f64]) -> f64 {
    captured.iter().zip(simulated).map(|(captured, simulated)| (captured - simulated).abs()).sum() // Eq. 19–20
}

/// Neighbours of each point.
pub(super) fn neighbours(points: usize, triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); points];
    for &[a, b, c] in triangles {
        for [from, to] in [[a, b], [b, c], [c, a]] {
            neighbours[from as usize].push(to);
            neighbours[to as usize].push(from);
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// Means over each point and its neighbours. Rest positions cancel in amplitudes.
pub(super) fn averaged(frame: &[DVec3], neighbours: &[Vec<u32>]) -> Vec<DVec3> {
    let mut now = frame.to_vec();
    for _ in 0..NEIGHBOUR_ROUNDS {
        let mean = |(point, around): (usize, &Vec<u32>)| {
            let sum: DVec3 = around.iter().map(|&other| now[other as usize]).sum();
            (sum + now[point]) / (around.len() + 1) as f64
        };
        now = neighbours.iter().enumerate().map(mean).collect();
    }
    now
}

fn smoothed(track: &[DVec3]) -> Vec<DVec3> {
    let half = KERNEL.len() / 2;
    if track.len() <= 2 * half {
        return track.to_vec();
    }
    track
        .windows(KERNEL.len())
        .map(|window| window.iter().zip(KERNEL).map(|(at, weight)| *at * (weight / 21.0)).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplitude_of_a_sine_is_its_height() {
        let track: Vec<DVec3> = (0..200).map(|k| DVec3::Y * (f64::from(k) * 0.2).sin()).collect();
        assert!((mean_amplitude(&track, 0.0) - 2.0).abs() < 0.02);
        assert_eq!(mean_amplitude(&[DVec3::X; 50], 0.0), 0.0);
        assert_eq!(mean_amplitude(&track, 3.0), 0.0);
    }

    #[test]
    fn amplitude_of_an_ellipse_is_its_long_axis() {
        let at = |k: i32| DVec3::new(0.6 * (f64::from(k) * 0.2).cos(), (f64::from(k) * 0.2).sin(), 0.0);
        let found = mean_amplitude(&(0..200).map(at).collect::<Vec<_>>(), 0.1);
        assert!((found - 2.0).abs() < 0.05, "{found}");
    }

    #[test]
    fn smoothing_removes_noise_and_keeps_motion() {
        // A grid of points that move together, with alternating noise.
        let triangles: Vec<[u32; 3]> = (0..30).map(|k| [k, k + 1, k + 2]).collect();
        let frame = |f: i32| -> Vec<DVec3> {
            let noise = |p: i32| 0.05 * (f64::from(f * 37 + p * 91)).sin() * f64::from(1 - 2 * ((f + p) % 2));
            (0..32).map(|p| DVec3::Y * ((f64::from(f) * 0.2).sin() + noise(p))).collect()
        };
        let found = mean_amplitudes(&(0..200).map(frame).collect::<Vec<_>>(), &triangles);
        assert!((found[15] - 2.0).abs() < 0.1, "{}", found[15]);
    }
}
