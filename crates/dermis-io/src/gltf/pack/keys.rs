//! Keys that linear interpolation restores.
//!
//! The channels of an animation with common key times keep common key times: the fewest of a recursive subdivision
//! (Douglas & Peucker 1973) with which no channel deviates from its curve by more than the tolerance, a length. The
//! deviations of rotations, scales and shape weights are converted to lengths with the size of the model.

use glam::{Quat, Vec3};

/// Curve of a channel: the numbers of all keys.
pub(super) struct Curve {
    pub values: Vec<f32>,
    pub width: usize,
    pub kind: Kind,
}

/// Property of a curve, with the length that a change by 1 can cause.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Translation,
    Rotation {
        radius: f32,
    },
    Scale {
        radius: f32,
    },
    /// The largest offset of each shape.
    ShapeWeights {
        offsets: Vec<f32>,
    },
}

impl Curve {
    /// Deviation of key `key` from the interpolation between `from` and `to` at `t`, as a length.
    fn deviation(&self, from: usize, to: usize, key: usize, t: f32) -> f32 {
        let value = |key: usize| &self.values[key * self.width..(key + 1) * self.width];
        let (a, b, c) = (value(from), value(to), value(key));
        match &self.kind {
            Kind::Translation => vector(a).lerp(vector(b), t).distance(vector(c)),
            Kind::Scale { radius } => radius * (vector(a).lerp(vector(b), t) - vector(c)).abs().max_element(),
            Kind::Rotation { radius } => {
                let between = quaternion(a).slerp(quaternion(b), t);
                radius * between.angle_between(quaternion(c))
            }
            Kind::ShapeWeights { offsets } => {
                let distance = |(k, offset): (usize, &f32)| offset * (a[k] + t * (b[k] - a[k]) - c[k]).abs();
                offsets.iter().enumerate().map(distance).sum()
            }
        }
    }
}

fn vector(values: &[f32]) -> Vec3 {
    Vec3::new(values[0], values[1], values[2])
}

fn quaternion(values: &[f32]) -> Quat {
    let quaternion = Quat::from_xyzw(values[0], values[1], values[2], values[3]);
    if quaternion.length_squared() > 0.0 { quaternion.normalize() } else { Quat::IDENTITY }
}

/// The keys to keep, in order; the first and last are among them.
pub(super) fn kept_keys(times: &[f32], curves: &[Curve], tolerance: f32) -> Vec<usize> {
    let count = times.len();
    if count < 3 {
        return (0..count).collect();
    }
    let mut is_kept = vec![false; count];
    (is_kept[0], is_kept[count - 1]) = (true, true);
    let mut segments = vec![(0, count - 1)];
    while let Some((from, to)) = segments.pop() {
        let span = times[to] - times[from];
        let worst = |key: usize| {
            let t = (times[key] - times[from]) / span;
            curves.iter().map(|curve| curve.deviation(from, to, key, t)).fold(0.0, f32::max)
        };
        let farthest =
            (from + 1..to).map(|key| (key, worst(key))).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        if let Some((key, deviation)) = farthest
            && (deviation > tolerance || !deviation.is_finite())
        {
            is_kept[key] = true;
            segments.extend([(from, key), (key, to)]);
        }
    }
    (0..count).filter(|&key| is_kept[key]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_motion_keeps_its_ends_and_corners() {
        let times: Vec<f32> = (0..=20).map(|k| k as f32 / 24.0).collect();
        let values = (0..=20).flat_map(|k| [if k < 10 { k as f32 } else { 20.0 - k as f32 }, 0.0, 0.0]).collect();
        let curve = Curve { values, width: 3, kind: Kind::Translation };
        assert_eq!(kept_keys(&times, &[curve], 1e-3), [0, 10, 20]);
    }

    #[test]
    fn no_key_exceeds_the_tolerance() {
        let times: Vec<f32> = (0..200).map(|k| k as f32 / 60.0).collect();
        let values: Vec<f32> = times.iter().flat_map(|t| Quat::from_rotation_y((3.0 * t).sin()).to_array()).collect();
        let curve = Curve { values, width: 4, kind: Kind::Rotation { radius: 1.0 } };
        let kept = kept_keys(&times, std::slice::from_ref(&curve), 0.01);
        assert!(kept.len() < 60, "{}", kept.len());
        for ends in kept.windows(2) {
            for key in ends[0]..ends[1] {
                let t = (times[key] - times[ends[0]]) / (times[ends[1]] - times[ends[0]]);
                assert!(curve.deviation(ends[0], ends[1], key, t) <= 0.0101);
            }
        }
    }
}
