//! Result of the cross-validation in summaries of `dermis envelope`.

use dermis::skin::envelope::Curve;
use serde::Serialize;

use crate::numbers::measured;
use crate::text::Text;

/// Width of the longest bar of the curve, in characters.
const BAR: f64 = 40.0;

/// The result of cross-validation.
#[derive(Debug, Serialize)]
pub(super) struct CurveFacts {
    smoothness: Vec<f64>,
    /// Error on held-out poses.
    rms_error: Vec<f64>,
    linear_rms_error: f64,
    blocks: usize,
}

impl CurveFacts {
    pub(super) fn of(curve: &Curve) -> Self {
        let (smoothness, rms_error) = curve.errors.iter().copied().unzip();
        Self { smoothness, rms_error, linear_rms_error: curve.linear_error, blocks: curve.blocks }
    }

    /// Writes one bar per value.
    pub(super) fn write(&self, chosen: Option<f64>, text: &mut Text) {
        let most = self.rms_error.iter().fold(self.linear_rms_error, |most, error| most.max(*error));
        let mut line = |name: &str, error: f64, is_chosen: bool| {
            let width = (BAR * error / most.max(f64::MIN_POSITIVE)).round() as usize;
            let words = format!("    {name:<8} {:<9} {}", measured(error), "▪".repeat(width));
            let words = if is_chosen { text.paint.title(&format!("{words} ◂")) } else { words };
            text.line(words);
        };
        for (smoothness, error) in self.smoothness.iter().zip(&self.rms_error) {
            line(&format!("{smoothness:.0e}"), *error, chosen == Some(*smoothness));
        }
        line("linear", self.linear_rms_error, chosen.is_none());
    }
}
