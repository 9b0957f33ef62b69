//! Summary of a validation or a fit.

use dermis::fit_tissue::TruthAgreement;
use dermis::tissue::fit::{
    CurvePoint, CurveStep, HISTOGRAM_BIN_M, RestReport, RestShape, ScanMotion, SequenceValidation, SubjectFit,
};
use serde::Serialize;

use crate::job::Facts;
use crate::text::Text;

/// JSON summary of a validation.
#[derive(Debug, Serialize)]
pub(super) struct Validation {
    model: String,
    sequences: Vec<Score>,
    held_out_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iterations: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    losses_mm2: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    curves: Vec<Curve>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    motions: Vec<Motion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest_shape: Option<Rest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flesh: Option<FleshFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) truth: Option<TruthAgreement>,
}

/// A point of the curves of Figures 8 and 9 of the paper.
#[derive(Debug, Serialize)]
struct Curve {
    iteration: usize,
    step: &'static str,
    deviation: f64,
    mean_modulus_pa: f64,
    fem_nodes: usize,
}

impl Curve {
    fn of(point: &CurvePoint) -> Self {
        let step = match point.step {
            CurveStep::Layers => "layers",
            CurveStep::Initialization => "initialization",
            CurveStep::Update => "update",
            CurveStep::Search => "search",
        };
        let CurvePoint { iteration, deviation_m: deviation, mean_modulus_pa, fem_nodes, .. } = *point;
        Self { iteration, step, deviation, mean_modulus_pa, fem_nodes }
    }
}

/// Mean amplitude of a scan and its histogram (Figure 6 of the paper).
#[derive(Debug, Serialize)]
struct Motion {
    name: String,
    mean_amplitude_mm: f64,
    histogram_bin_mm: f64,
    histogram: Vec<usize>,
}

impl Motion {
    fn of(motion: &ScanMotion) -> Self {
        Self {
            name: motion.name.clone(),
            mean_amplitude_mm: 1e3 * motion.mean_amplitude_m,
            histogram_bin_mm: 1e3 * HISTOGRAM_BIN_M,
            histogram: motion.histogram.to_vec(),
        }
    }
}

/// Estimation of the rest shape.
#[derive(Debug, Serialize)]
struct Rest {
    method: &'static str,
    residual_before_mm: f64,
    residual_mm: f64,
    iterations: usize,
}

impl Rest {
    fn of(found: &RestReport) -> Self {
        let method = match found.method {
            RestShape::InverseStatic => "inverse-static",
            RestShape::InverseGravity => "inverse-gravity",
            RestShape::Unchanged => "none",
        };
        let [before, after] = [found.residual_before_m, found.residual_m].map(|metres| 1e3 * metres);
        Self { method, residual_before_mm: before, residual_mm: after, iterations: found.iterations }
    }
}

/// Fitted parameters.
#[derive(Debug, Serialize)]
struct FleshFacts {
    representative_points: Vec<u32>,
    young_modulus_pa: Vec<f64>,
    poisson_ratio: f32,
    damping_rate_per_s: f32,
    betas: Vec<f64>,
}

impl FleshFacts {
    fn of(fit: &SubjectFit) -> Self {
        let flesh = fit.body.flesh();
        Self {
            representative_points: fit.representative_points.clone(),
            young_modulus_pa: fit.young_modulus_pa.clone(),
            poisson_ratio: flesh.poisson_ratio,
            damping_rate_per_s: flesh.damping_rate_per_s,
            betas: fit.betas.clone(),
        }
    }
}

/// Deviations of one sequence, in metres summed over points.
#[derive(Debug, Serialize)]
pub(super) struct Score {
    name: String,
    held_out: bool,
    deviation_pose_model: f64,
    deviation_fit: f64,
    rigid_rms_mm: f64,
}

/// Scores of the sequences; those in `training` are not held out.
pub(super) fn scores(found: &[SequenceValidation], training: &[&str]) -> Vec<Score> {
    let score = |sequence: &SequenceValidation| Score {
        held_out: !training.contains(&sequence.name.as_str()),
        name: sequence.name.clone(),
        deviation_pose_model: sequence.deviation_pose_model,
        deviation_fit: sequence.deviation_fit,
        rigid_rms_mm: 1e3 * sequence.rigid_rms_m,
    };
    found.iter().map(score).collect()
}

impl Validation {
    /// Summary with the worst ratio of the held-out sequences.
    pub(super) fn new(model: &str, sequences: Vec<Score>) -> Self {
        let ratios = sequences.iter().filter(|score| score.held_out && score.deviation_pose_model > 0.0);
        let held_out_ratio =
            ratios.map(|score| score.deviation_fit / score.deviation_pose_model).max_by(f64::total_cmp);
        Self {
            model: model.to_owned(),
            sequences,
            held_out_ratio,
            iterations: None,
            losses_mm2: Vec::new(),
            curves: Vec::new(),
            motions: Vec::new(),
            rest_shape: None,
            flesh: None,
            truth: None,
        }
    }

    /// Adds the iterations and the parameters of a fit.
    pub(super) fn describe(&mut self, fit: &SubjectFit) {
        self.iterations = Some(fit.iterations);
        self.losses_mm2.clone_from(&fit.losses);
        self.curves = fit.curves.iter().map(Curve::of).collect();
        self.motions = fit.motions.iter().map(Motion::of).collect();
        self.rest_shape = fit.rest.as_ref().map(Rest::of);
        self.flesh = Some(FleshFacts::of(fit));
    }
}

impl Facts for Validation {
    fn write(&self, text: &mut Text) {
        if let (Some(iterations), [first, .., last]) = (self.iterations, &self.losses_mm2[..]) {
            text.row("fit", format!("{iterations} iterations, loss {first:.2} to {last:.2} mm²"));
        }
        let row = |score: &Score| {
            vec![
                score.name.clone(),
                if score.held_out { "held out" } else { "training" }.to_owned(),
                format!("{:.2}", score.deviation_pose_model),
                format!("{:.2}", score.deviation_fit),
                format!("{:.0} %", 100.0 * score.deviation_fit / score.deviation_pose_model.max(f64::MIN_POSITIVE)),
                format!("{:.2}", score.rigid_rms_mm),
            ]
        };
        let rows: Vec<Vec<String>> = self.sequences.iter().map(row).collect();
        text.table(2, &["sequence", "", "pose model m", "fit m", "ratio", "rigid mm"], &rows);
        if let Some(truth) = &self.truth {
            let [error, correlation] = [100.0 * truth.median_stiffness_error, truth.thickness_correlation];
            let pose = truth.pose_rms_mm.map_or(String::new(), |rms| format!(", poses {rms:.2} mm RMS on rigid parts"));
            text.row(
                "hidden flesh",
                format!("median stiffness error {error:.0} %, thickness correlation {correlation:.2}{pose}"),
            );
        }
    }
}
