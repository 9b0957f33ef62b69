//! `dermis tissue fit-beam`: stiffness and damping of a recorded beam.

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::tissue::fit::{BeamFit, BeamOptions, TakeFit};
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::measured;
use crate::parse;
use crate::text::Text;

/// Identify the stiffness and damping of a recorded beam under gravity, and predict its takes with a weight at the tip
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Recording of the markers on the beam (.npz)
    recording: PathBuf,
    /// Set Poisson's ratio, 0 to 0.49
    #[arg(long, value_name = "NU", default_value_t = BeamOptions::default().poisson_ratio, value_parser = parse::poisson_ratio)]
    poisson: f64,
    /// Divide each frame into N time steps
    #[arg(long, value_name = "N", default_value_t = BeamOptions::default().substeps, value_parser = parse::substeps)]
    substeps: usize,
    /// Compare the modulus found on three grids
    #[arg(long)]
    grids: bool,
}

/// JSON summary of a fit.
#[derive(Debug, Serialize)]
struct Summary {
    young_modulus_pa: f64,
    static_modulus_pa: f64,
    loss_factor: f64,
    damping_rate_per_s: f64,
    iterations: usize,
    fitted_rms_mm: f64,
    grids: Vec<Grid>,
    takes: Vec<Take>,
}

#[derive(Debug, Serialize)]
struct Grid {
    cells: [usize; 3],
    linear_modulus_pa: f64,
    quadratic_modulus_pa: f64,
}

#[derive(Debug, Serialize)]
struct Take {
    name: String,
    fitted: bool,
    tip_load_n: f64,
    measured_sag_mm: f64,
    sag_mm: f64,
    rest_error_mm: f64,
    measured_period_s: f64,
    period_s: f64,
    measured_decay_per_s: f64,
    decay_per_s: f64,
    measured_track_mm: Vec<f64>,
    track_mm: Vec<f64>,
}

/// Fits the beam and prints the parameters and the predictions.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let path = args.recording.display();
    let mut job = Job::new(format!("fitting {path}"), shared);
    let mut options = BeamOptions { poisson_ratio: args.poisson, substeps: args.substeps, ..BeamOptions::default() };
    if !args.grids {
        options.compared_grids.clear();
    }
    let recording = dermis::read_beam(&args.recording).in_file(&path)?;
    let fit = job.watch.during("fitting the swing", || dermis::fit_beam(&recording, &options)).in_file(&path)?;
    job.clock.lap("fit");
    job.answer(&Summary::of(fit))
}

impl Summary {
    fn of(fit: BeamFit) -> Self {
        let grid = |(cells, [linear, quadratic]): ([usize; 3], [f64; 2])| Grid {
            cells,
            linear_modulus_pa: linear,
            quadratic_modulus_pa: quadratic,
        };
        Self {
            young_modulus_pa: fit.young_modulus_pa,
            static_modulus_pa: fit.static_modulus_pa,
            loss_factor: fit.loss_factor,
            damping_rate_per_s: fit.damping_rate_per_s,
            iterations: fit.iterations,
            fitted_rms_mm: 1e3 * fit.fitted_rms_m,
            grids: fit.grids.into_iter().map(grid).collect(),
            takes: fit.takes.into_iter().map(Take::of).collect(),
        }
    }
}

impl Take {
    fn of(take: TakeFit) -> Self {
        let [measured, simulated] = take.swing;
        let [measured_track_mm, track_mm] = take.tracks_m.map(|track| track.iter().map(|m| 1e3 * m).collect());
        Self {
            name: take.name,
            fitted: take.fitted,
            tip_load_n: take.tip_load_n,
            measured_sag_mm: 1e3 * take.sag_m[0],
            sag_mm: 1e3 * take.sag_m[1],
            rest_error_mm: 1e3 * take.rest_error_m,
            measured_period_s: measured.period_s,
            period_s: simulated.period_s,
            measured_decay_per_s: measured.decay_per_s,
            decay_per_s: simulated.decay_per_s,
            measured_track_mm,
            track_mm,
        }
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let (modulus, at_rest) = (measured(self.young_modulus_pa), measured(self.static_modulus_pa));
        text.row("stiffness", format!("{modulus} Pa ({at_rest} Pa from the sag alone)"));
        let (loss, rate) = (self.loss_factor, self.damping_rate_per_s);
        text.row("damping", format!("loss factor {loss:.3}, rate {rate:.2}/s in the fitted take"));
        text.row("fit", format!("{} iterations, {:.2} mm RMS over the swing", self.iterations, self.fitted_rms_mm));
        let row = |take: &Take| {
            let pair = |measured: f64, simulated: f64| format!("{measured:.3} {simulated:.3}");
            vec![
                take.name.clone(),
                if take.fitted { "fitted" } else { "predicted" }.to_owned(),
                format!("{:.1} {:.1}", take.measured_sag_mm, take.sag_mm),
                format!("{:.2}", take.rest_error_mm),
                pair(take.measured_period_s, take.period_s),
                format!("{:.2} {:.2}", take.measured_decay_per_s, take.decay_per_s),
            ]
        };
        let rows: Vec<Vec<String>> = self.takes.iter().map(row).collect();
        text.table(2, &["take", "", "sag mm", "error mm", "period s", "decay 1/s"], &rows);
        let rows: Vec<Vec<String>> = self
            .grids
            .iter()
            .map(|grid| {
                let [x, y, z] = grid.cells;
                vec![format!("{x}×{y}×{z}"), measured(grid.linear_modulus_pa), measured(grid.quadratic_modulus_pa)]
            })
            .collect();
        if !rows.is_empty() {
            text.table(1, &["grid", "linear Pa", "quadratic Pa"], &rows);
        }
    }
}
