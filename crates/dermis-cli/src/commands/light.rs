//! `dermis light`: precomputes lighting for an animated asset.

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::bake_light::{BakeLightOptions, Ground, LightMeasures, LightMethod, bake_light_with};
use dermis::io::ReadOptions;
use dermis::mesh::glam::DVec3;
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::grouped;
use crate::options::{Output, count, expect_effect};
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis light hero.glb -o lit.glb
      write ambient occlusion as vertex colours, averaged over the first clip
  dermis light hero.glb --transfer light.npz --rank 16 -o lit.glb
      also write the radiance transfer of all frames, reduced to 16 components";

/// Precompute lighting for an animated asset: ambient occlusion and radiance transfer
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Animated or static asset
    input: String,
    #[command(flatten)]
    output: Output,
    /// Write the reduced radiance transfer to this .npz archive [default: not written]
    #[arg(long, value_name = "FILE")]
    transfer: Option<PathBuf>,
    /// Set the order of the spherical harmonics, from 1 to 5; order n has n² coefficients
    #[arg(long, value_name = "N", value_parser = count, default_value_t = BakeLightOptions::default().order)]
    order: usize,
    /// Cast N rays per point and frame
    #[arg(long, value_name = "N", value_parser = count, default_value_t = BakeLightOptions::default().rays)]
    rays: usize,
    /// Keep N components of the transfer
    #[arg(long, value_name = "N", value_parser = count, default_value_t = BakeLightOptions::default().rank)]
    rank: usize,
    /// Reduce the transfer by singular value decomposition, or lit colours by non-negative factorization
    #[arg(long, value_enum, default_value_t = Method::Svd)]
    method: Method,
    /// With --method nmf, set the direction towards the sun [default: 0.3,1,0.4]
    #[arg(long, value_name = "X,Y,Z", value_parser = direction, allow_hyphen_values = true)]
    sun: Option<DVec3>,
    /// Set the height of the ground, which blocks light from below: a number in scene units, 'lowest' for the lowest point of all frames, or 'none'
    #[arg(long, value_name = "HEIGHT", value_parser = ground, default_value = "lowest", allow_hyphen_values = true)]
    ground: Ground,
    /// Use this clip: its name, a unique part of its name, or its index from 0 [default: the first]
    #[arg(long, value_name = "CLIP")]
    clip: Option<String>,
}

/// Method of the reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Method {
    Svd,
    Nmf,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    #[serde(flatten)]
    measures: LightMeasures,
}

/// Bakes the lighting, writes it and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    expect_effect([(args.sun.is_some(), args.method == Method::Nmf, "--sun", "with --method nmf")])?;
    args.output.check_apart_from(&args.input)?;
    if let Some(target) = &args.transfer {
        if !target.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz")) {
            let wrong =
                Diagnostic::new("invalid output: the radiance transfer is a NumPy archive").in_file(target.display());
            return Err(wrong.hint("use the extension .npz"));
        }
        dermis::io::check_target(target, &args.output.options())?;
    }
    let mut job = Job::new(format!("lighting {}", args.input), shared);
    let mut scene = job.read(&args.input, &ReadOptions::default())?;
    job.notes.append(&mut scene.notes);
    job.clock.lap("read");
    let default = BakeLightOptions::default();
    let options = BakeLightOptions {
        order: args.order,
        rays: args.rays,
        rank: args.rank,
        method: if args.method == Method::Nmf { LightMethod::Nmf } else { LightMethod::Svd },
        ground: args.ground,
        sun: args.sun.unwrap_or(default.sun),
        clip: args.clip.clone(),
    };
    let mut lit = job.stoppable(|watch| bake_light_with(&scene, &options, watch)).in_file(&args.input)?;
    job.notes.append(&mut lit.warnings);
    job.clock.lap("light");
    job.write(&args.output.output, &lit, &args.output.options(), &args.input)?;
    if let Some(target) = &args.transfer {
        let written = lit.write_transfer(target, &args.output.options()).in_file(target.display())?;
        job.has_written(target, written);
    }
    job.summarize(&Summary { input: args.input.clone(), measures: lit.measures })
}

/// `0.3,1,0.4`.
fn direction(text: &str) -> Result<DVec3, String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x, y, z]) if DVec3::new(x, y, z).try_normalize().is_some() => Ok(DVec3::new(x, y, z)),
        _ => Err("it must be three numbers such as 0.3,1,0.4, not all 0".to_owned()),
    }
}

/// `lowest`, `none` or a number.
fn ground(text: &str) -> Result<Ground, String> {
    match (text, text.trim().parse::<f64>()) {
        ("lowest", _) => Ok(Ground::Lowest),
        ("none", _) => Ok(Ground::None),
        (_, Ok(height)) if height.is_finite() => Ok(Ground::At(height)),
        _ => Err("it must be a height, lowest or none".to_owned()),
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let LightMeasures { points, frames, coefficients, mean_ambient, .. } = self.measures;
        let size = format!("{} points in {} frames, {coefficients} coefficients", grouped(points), grouped(frames));
        text.row("transfer", size);
        text.row("ambient", format!("{:.1} % of the hemisphere is unblocked, on average", 100.0 * mean_ambient));
        for error in &self.measures.errors {
            text.row(&format!("rank {}", error.rank), format!("error {:.2} %", error.error_percent));
        }
    }
}
