//! Functions of time and angle that are bitwise identical on every machine.
//!
//! The `sin`, `cos` and `exp` of the system differ between platforms in the last bit. This module uses only `+ − × ÷ √`,
//! which IEEE 754 defines exactly: sine and cosine are power series after reduction to a quarter turn, and falloffs are
//! polynomials.

use std::f64::consts::{FRAC_PI_2, PI};

use glam::{DQuat, DVec3};

/// Sine and cosine, accurate to a few units in the last place for the angles used by the samples.
pub(super) fn sin_cos(radians: f64) -> (f64, f64) {
    let quarter_turns = (radians / FRAC_PI_2).round();
    let r = radians - quarter_turns * FRAC_PI_2;
    let (mut sine, mut cosine, mut term) = (0.0, 0.0, 1.0);
    // rⁿ/n! is below the last bit of 1 from n = 16 on for |r| ≤ π/4.
    for n in 0..9 {
        let even = f64::from(2 * n);
        cosine += term;
        term *= r / (even + 1.0);
        sine += term;
        term *= -r / (even + 2.0);
    }
    match (quarter_turns as i64).rem_euclid(4) {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// Cosine of a phase in turns.
pub(super) fn cos_turns(turns: f64) -> f64 {
    sin_cos(2.0 * PI * (turns - turns.floor())).1
}

/// Rotation by `radians` about the unit vector `axis`.
pub(super) fn rotation_about(axis: DVec3, radians: f64) -> DQuat {
    let (sine, cosine) = sin_cos(0.5 * radians);
    DQuat::from_xyzw(axis.x * sine, axis.y * sine, axis.z * sine, cosine)
}

/// Smooth transition from 0 at `low` to 1 at `high`.
pub(super) fn smooth_step(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Smooth bump with height 1 at 0 that reaches 0 at a squared argument of 1.
pub(super) fn bump(squared: f64) -> f64 {
    let t = (1.0 - squared).max(0.0);
    t * t
}

/// Smooth curve through `keys` of time and value; constant before the first and after the last key.
///
/// Consists of cubic Hermite segments whose slopes are zero at local extrema, so that the curve never overshoots.
pub(super) fn eased(keys: &[(f64, f64)], time: f64) -> f64 {
    let next = keys.iter().position(|key| key.0 > time).unwrap_or(keys.len());
    match next {
        0 => keys[0].1,
        n if n == keys.len() => keys[n - 1].1,
        n => {
            let slope = |k: usize| {
                if k == 0 || k + 1 == keys.len() { 0.0 } else { level_slope(keys[k - 1], keys[k], keys[k + 1]) }
            };
            hermite(keys[n - 1], slope(n - 1), keys[n], slope(n), time)
        }
    }
}

/// Smooth closed curve through `keys` of phase (in turns, ascending within 0..1) and value.
pub(super) fn cyclic(keys: &[(f64, f64)], phase: f64) -> f64 {
    let count = keys.len() as isize;
    let key = |k: isize| {
        let (phase, value) = keys[k.rem_euclid(count) as usize];
        (phase + k.div_euclid(count) as f64, value)
    };
    let phase = phase - phase.floor();
    let next = keys.iter().position(|key| key.0 > phase).unwrap_or(keys.len()) as isize;
    let slope = |k: isize| (key(k + 1).1 - key(k - 1).1) / (key(k + 1).0 - key(k - 1).0);
    hermite(key(next - 1), slope(next - 1), key(next), slope(next), phase)
}

/// Slope at the second of three keys: zero at an extremum, otherwise the harmonic mean of the slopes of the two chords.
fn level_slope(before: (f64, f64), at: (f64, f64), after: (f64, f64)) -> f64 {
    let left = (at.1 - before.1) / (at.0 - before.0);
    let right = (after.1 - at.1) / (after.0 - at.0);
    if left * right <= 0.0 { 0.0 } else { 2.0 * left * right / (left + right) }
}

fn hermite(from: (f64, f64), from_slope: f64, to: (f64, f64), to_slope: f64, time: f64) -> f64 {
    let span = to.0 - from.0;
    let t = (time - from.0) / span;
    let (rest, rise) = (1.0 - t, t * t * (3.0 - 2.0 * t));
    from.1 + (to.1 - from.1) * rise + span * t * rest * (rest * from_slope - t * to_slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_cosine_match_the_system() {
        for step in -400..400 {
            let angle = f64::from(step) * 0.037;
            let (sine, cosine) = sin_cos(angle);
            // Reduction by a rounded π/2 costs a few units in the last place per quarter turn.
            assert!((sine - angle.sin()).abs() < 1e-14 && (cosine - angle.cos()).abs() < 1e-14, "{angle}");
        }
    }

    #[test]
    fn curves_pass_through_their_keys_and_are_continuous() {
        let keys = [(0.0, 1.0), (0.3, 4.0), (0.55, 4.0), (0.8, -2.0)];
        for (phase, value) in keys {
            assert!((cyclic(&keys, phase) - value).abs() < 1e-12);
            assert!((cyclic(&keys, phase + 3.0) - value).abs() < 1e-9);
            assert!((eased(&keys, phase) - value).abs() < 1e-12);
        }
        for step in 0..1000 {
            let time = f64::from(step) * 1e-3;
            assert!((cyclic(&keys, time + 1e-6) - cyclic(&keys, time)).abs() < 1e-4);
            assert!((eased(&keys, time) - 1.0).abs() <= 3.0 + 1e-12, "eased curves must not overshoot");
        }
    }
}
