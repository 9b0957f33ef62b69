//! Period and decay of a damped oscillation, from its extrema.

/// Extrema below this fraction of the first difference are not used.
const MIN_FRACTION: f64 = 0.1;

/// Period and decay rate of an oscillation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Swing {
    /// Period in seconds; NaN without two extrema.
    pub period_s: f64,
    /// Decay rate of the amplitude, per second; NaN without three extrema.
    pub decay_per_s: f64,
}

impl Swing {
    /// Angular frequency in rad/s.
    pub fn angular_frequency(&self) -> f64 {
        std::f64::consts::TAU / self.period_s
    }
}

/// Measures the oscillation of `values` by the differences between successive extrema, which a slow drift does not
/// change: the period by linear regression of their times, the decay by that of the logarithms of the differences.
pub fn swing_of(values: &[f64], rate_hz: f64) -> Swing {
    let extrema = extrema(values);
    let differences: Vec<(f64, f64)> = extrema
        .windows(2)
        .map(|pair| (0.5 * (pair[0].0 + pair[1].0) / rate_hz, (pair[1].1 - pair[0].1).abs()))
        .collect();
    let Some(&(_, first)) = differences.first() else { return Swing { period_s: f64::NAN, decay_per_s: f64::NAN } };
    let used = differences.iter().take_while(|(_, difference)| *difference > MIN_FRACTION * first).count();
    let times: Vec<(f64, f64)> =
        extrema[..=used].iter().enumerate().map(|(k, (frame, _))| (k as f64, frame / rate_hz)).collect();
    let logarithms: Vec<(f64, f64)> = differences[..used].iter().map(|(time, d)| (*time, d.ln())).collect();
    Swing { period_s: 2.0 * slope(&times), decay_per_s: -slope(&logarithms) }
}

/// Times in frames and values of the local extrema, by a parabola through three values. The first value counts as one.
fn extrema(values: &[f64]) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = values.first().map(|&first| (0.0, first)).into_iter().collect();
    for (k, window) in values.windows(3).enumerate() {
        let [a, b, c] = [window[0], window[1], window[2]];
        if (b - a) * (c - b) < 0.0 || (b != a && b == c) {
            let curvature = a - 2.0 * b + c;
            let offset = if curvature == 0.0 { 0.0 } else { (0.5 * (a - c) / curvature).clamp(-1.0, 1.0) };
            found.push((k as f64 + 1.0 + offset, b - 0.25 * (a - c) * offset));
        }
    }
    found
}

/// Slope of the regression line.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), point| {
        (above + (point.0 - x) * (point.1 - y), below + (point.0 - x).powi(2))
    });
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovers_period_and_decay_of_a_drifting_oscillation() {
        let value = |k: i32| {
            let time = f64::from(k) / 100.0;
            (-2.5 * time).exp() * (40.0 * time).cos() + 0.05 * (-time).exp()
        };
        let found = swing_of(&(0..200).map(value).collect::<Vec<_>>(), 100.0);
        assert!((found.period_s - std::f64::consts::TAU / 40.0).abs() < 0.002, "{found:?}");
        assert!((found.decay_per_s - 2.5).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn constant_values_have_no_swing() {
        assert!(swing_of(&[1.0; 20], 100.0).period_s.is_nan());
    }
}
