//! Mean amplitude of unposed tracks and its deviation (Kim et al. 2017, Eq. 18–20).
//!
//! Scans have noise, whose reversals would count as extrema. Both tracks, scanned and simulated, are therefore averaged
//! over neighbouring points and smoothed over time by a quadratic fit to seven frames (Savitzky & Golay 1964) first, and
//! extrema closer than 1.5 mm to the one before are not counted.

use glam::DVec3;

/// Quadratic smoothing over seven frames.
const KERNEL: [f64; 7] = [-2.0, 3.0, 6.0, 7.0, 6.0, 3.0, -2.0];
/// Minimum distance of successive extrema, in metres: several times the noise of scans that remains after smoothing.
const MIN_DISTANCE_M: f64 = 1.5e-3;
/// Rounds of averaging over neighbours.
const NEIGHBOUR_ROUNDS: usize = 2;

/// Mean distance between successive extrema of a track (Eq. 18) that are at least `min_distance` apart; 0 with fewer than
/// two.
pub fn mean_amplitude(track: &[DVec3], min_distance: f64) -> f64 {
    let mut extrema: Vec<DVec3> = Vec::new();
    for window in track.windows(3) {
        let is_far = extrema.last().is_none_or(|last| last.distance(window[1]) >= min_distance);
        if is_far && (window[1] - window[0]).dot(window[2] - window[1]) < 0.0 {
            extrema.push(window[1]);
        }
    }
    let count = extrema.len().saturating_sub(1);
    extrema.windows(2).map(|pair| pair[0].distance(pair[1])).sum::<f64>() / count.max(1) as f64 // Eq. 18
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
