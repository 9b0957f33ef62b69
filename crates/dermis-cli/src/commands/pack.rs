//! `dermis pack`: packs an asset into a small glTF file.

use std::process::ExitCode;

use dermis::mesh::Scene;
use dermis::pack::{
    Comparison, FramePacker, PackBudget, PackError, PackMeasures, PackOptions, PackedAsset, PackedFrames, Rival,
    compare, pack_with,
};
use dermis::{ToSequence, Writable};
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::bytes;
use crate::options::{Input, Output, positive};
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis pack horse.glb --error 0.5 -o small.glb
      the smallest file whose motion differs by at most 0.5 %
  dermis pack horse.glb --size 150kB -o small.glb
      the most accurate file of at most 150,000 bytes
  dermis pack frames.npz --fit --error 1.2 -o small.glb
      the smallest skin whose motion differs from recorded frames by at most 1.2 %";

/// Compress an animated asset to a small glTF file within a maximum error or size
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Animated asset, such as an output of 'dermis skin'
    input: String,
    #[command(flatten)]
    output: Output,
    /// Limit the distortion of the motion, in percent [default: 0.5]
    #[arg(long, value_name = "PCT", value_parser = positive, conflicts_with = "size")]
    error: Option<f64>,
    /// Limit the size of the file: a number of bytes, or a number with kB or MB
    #[arg(long, value_name = "BYTES", value_parser = size)]
    size: Option<usize>,
    #[command(flatten)]
    mesh: MeshArgs,
    /// Fit skins to recorded frames and pack the one that gives the best file; errors are relative to the frames
    #[arg(long)]
    fit: bool,
    /// Also print the size of the same motion as raw positions, zipped Alembic and principal components
    #[arg(long)]
    compare: bool,
    #[command(flatten)]
    part: Input,
}

/// Treatment of the mesh.
#[derive(Debug, Clone, Copy, clap::Args)]
struct MeshArgs {
    /// Drop the normal offsets of corrections and blend shapes
    #[arg(long)]
    drop_shape_normals: bool,
    /// Keep the order of points and triangles, at the cost of a larger file
    #[arg(long)]
    keep_order: bool,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    #[serde(flatten)]
    measures: PackMeasures,
    #[serde(skip_serializing_if = "Option::is_none")]
    skin: Option<SkinFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

/// The skin that was fitted to recorded frames.
#[derive(Debug, Serialize)]
struct SkinFacts {
    bones: usize,
    bone_model: &'static str,
    rank: usize,
}

/// Packs the asset, writes it and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    args.output.check_apart_from(&args.input)?;
    let target = &args.output.output;
    let is_glb = target.extension().is_none_or(|extension| extension.eq_ignore_ascii_case("glb"));
    if !is_glb {
        return Err(dermis::Error::from(PackError::Target(target.display().to_string()))).in_file(&args.input);
    }
    let mut job = Job::new(format!("packing {}", args.input), shared);
    let mut scene = args.part.read(&args.input, &job)?;
    job.notes.append(&mut scene.notes);
    job.clock.lap("read");
    let default = PackOptions::default();
    let budget = match (args.error, args.size) {
        (Some(percent), _) => PackBudget::Error(percent),
        (None, Some(size)) => PackBudget::Size(size),
        (None, None) => default.budget,
    };
    let options =
        PackOptions { budget, shape_normals: !args.mesh.drop_shape_normals, keep_order: args.mesh.keep_order };
    let (mut packed, skin) = if args.fit {
        fitted(&scene, &options, &job).in_file(&args.input)?
    } else {
        (job.stoppable(|watch| pack_with(&scene, &options, watch)).in_file(&args.input)?, None)
    };
    job.notes.append(&mut packed.warnings);
    job.clock.lap("pack");
    let comparison = if args.compare {
        let percent = packed.measures.distortion_percent;
        let compared = scene.sequence().and_then(|sequence| compare(&sequence, percent)).in_file(&args.input)?;
        job.clock.lap("compare");
        Some(compared)
    } else {
        None
    };
    let write_options = args.output.options();
    job.write_by(target, |file, watch| packed.write_to(file, &write_options, watch).in_file(&args.input))?;
    job.summarize(&Summary { input: args.input.clone(), measures: packed.measures, skin, comparison })
}

/// The packed skin of recorded frames.
fn fitted(scene: &Scene, options: &PackOptions, job: &Job<'_>) -> dermis::Result<(PackedAsset, Option<SkinFacts>)> {
    if scene.objects.iter().any(|object| object.rig.is_some()) {
        return Err(PackError::HasRig.into());
    }
    let sequence = scene.sequence()?;
    let PackedFrames { packed, bone_model, bones, rank } =
        job.stoppable(|watch| FramePacker::new(&sequence).in_units(scene.units).pack(options, watch))?;
    Ok((packed, Some(SkinFacts { bones, bone_model: bone_model.name(), rank })))
}

/// `150000`, `150kB` or `1.5MB`.
fn size(text: &str) -> Result<usize, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, factor) = if let Some(number) = lower.strip_suffix("kb") {
        (number, 1e3)
    } else if let Some(number) = lower.strip_suffix("mb") {
        (number, 1e6)
    } else {
        (lower.as_str(), 1.0)
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number * factor >= 1.0 => Ok((number * factor) as usize),
        _ => Err("expected a number of bytes such as 150000, 150kB or 1.5MB".to_owned()),
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let PackMeasures { packed_bytes, json_bytes, unpacked_bytes, distortion_percent, max_error_percent, .. } =
            self.measures;
        let ratio = unpacked_bytes as f64 / packed_bytes.max(1) as f64;
        let sizes =
            format!("{}, {ratio:.1} times smaller than {}", bytes(packed_bytes as u64), bytes(unpacked_bytes as u64));
        text.row("packed", format!("{sizes} ({} of JSON)", bytes(json_bytes as u64)));
        text.row("error", format!("E {distortion_percent:.3} %, largest {max_error_percent:.3} % of the diagonal"));
        if let Some(SkinFacts { bones, bone_model, rank }) = &self.skin {
            text.row("skin", format!("{bones} {bone_model} bones, {rank} corrections"));
        }
        let Some(Comparison { raw, zipped_alembic, principal_components }) = &self.comparison else { return };
        text.row("raw positions", bytes(raw.bytes as u64));
        text.row("zipped Alembic", bytes(zipped_alembic.bytes as u64));
        let Rival { bytes: size, distortion_percent, rank } = *principal_components;
        let components = format!("{}, E {distortion_percent:.3} %, {rank} components", bytes(size as u64));
        text.row("principal components", components);
    }
}
