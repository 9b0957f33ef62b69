//! `dermis volume`: preserves the volume of a character.

mod summary;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use dermis::active::volume::{Effects, Mode, Target, VolumeOptions, effects_from_toml};
use dermis::bake;
use dermis::corrective_shapes::{ShapeOptions, corrective_shapes};
use dermis::io::{Format, check_target};
use dermis::keep_volume::{KeepVolumeError, KeptVolume, keep_volume_with};
use dermis::mesh::Note;

use summary::{ShapeFacts, Summary};

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::{Input, Output, count, non_negative};

const EXAMPLES: &str = "Examples:
  dermis volume sample:arm -o arm.glb
      the rig with its clip; the layer is stored as DERMIS_deformers
  dermis volume hero.glb --clip Walk --effects muscles.toml -o walk.abc
      one clip with effects, as frames
  dermis volume scan.abc --cap --target 0:1,2:1.1,4:1 -o breathing.abc
      recorded frames with a changing volume

The effects file is a TOML file with one line per pattern of joint names:
  \"*elbow*\" = { effect = \"muscle\", axis = [0, 1, 0] }
  \"spine*\"  = { effect = \"folds\", omega = 2, sigma = 0.1 }";

/// Preserve the volume of a character while it bends
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Rigged character with clips, or recorded frames
    input: String,
    #[command(flatten)]
    output: Output,
    /// Read effects near joints from this TOML file [default: plain bulges]
    #[arg(long, value_name = "FILE")]
    effects: Option<PathBuf>,
    /// Set the target volume relative to the rest volume: a number, or seconds:factor keys such as 0:1,2:1.2
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, default_value_t = Target::default())]
    target: Target,
    /// Select the method
    #[arg(long, value_name = "MODE", default_value = "exact")]
    mode: ModeName,
    /// Close the holes of an open mesh for the volume computation
    #[arg(long)]
    cap: bool,
    /// Distribute the remaining correction over the body by this attribute [default: evenly]
    #[arg(long, value_name = "NAME")]
    attribute: Option<String>,
    /// Write the corrected frames of all clips, even if the format supports layers: as morph targets in one .glb or .gltf
    /// file, or as one file per clip in other formats
    #[arg(long)]
    bake: bool,
    /// Write the correction as at most N corrective shapes with animated weights, which engines can play, and print the error
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "bake")]
    shapes: Option<usize>,
    /// Exit with code 1 if the relative volume error of a frame exceeds R (unitless)
    #[arg(long, value_name = "R", value_parser = non_negative)]
    max_drift: Option<f64>,
    #[command(flatten)]
    part: Input,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeName {
    /// Near the joints, exact up to rounding
    Exact,
    /// Near the joints, approximate and faster
    Fast,
    /// Over the whole body, exact up to rounding
    Global,
}

/// Corrects the motion, writes it and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    args.output.check()?;
    let options = volume_options(args)?;
    let mut job = Job::new(format!("correcting {}", args.input), shared);
    let mut scene = args.part.read(&args.input, &job)?;
    job.notes.append(&mut scene.notes);
    job.clock.lap("read");
    let kept = job.stoppable(|watch| keep_volume_with(&scene, &options, watch));
    let mut kept = kept.map_err(at_object).in_file(&args.input)?;
    job.notes.append(&mut kept.warnings);
    let shapes = as_shapes(args, &mut kept, &mut job)?;
    let drift = kept.drift_after();
    job.notes.extend(layer_note(&kept, args));
    job.clock.lap("correct");
    write(args, &kept, &mut job)?;
    if let Some(allowed) = args.max_drift {
        job.expect(drift <= allowed, || format!("volume drift {drift:.1e}, requested {allowed:.1e}"));
    }
    job.summarize(&Summary::new(&args.input, &kept, shapes))
}

/// Replaces the layers by corrective shapes if they are requested.
fn as_shapes(args: &Args, kept: &mut KeptVolume, job: &mut Job<'_>) -> Result<Vec<ShapeFacts>, Diagnostic> {
    let Some(count) = args.shapes else { return Ok(Vec::new()) };
    let options = ShapeOptions { count, ..ShapeOptions::default() };
    let mut facts = Vec::new();
    // Objects that are not corrected stay as they are.
    let corrected: Vec<&str> = kept.objects.iter().map(|object| object.name.as_str()).collect();
    let moving = kept.scene.objects.iter_mut().filter(|object| corrected.contains(&object.name.as_str()));
    for object in moving {
        let shaped = job.stoppable(|_| corrective_shapes(object, &options)).in_file(&args.input)?;
        job.notes.extend(shaped.warnings);
        let count = shaped.object.rig.as_ref().map_or(0, |rig| rig.shapes().len());
        facts.push(ShapeFacts { name: object.name.clone(), count, clips: shaped.clips });
        *object = shaped.object;
    }
    Ok(facts)
}

/// Writes the scene, or its frames clip by clip.
fn write(args: &Args, kept: &KeptVolume, job: &mut Job<'_>) -> Result<(), Diagnostic> {
    let (output, options) = (&args.output.output, args.output.options());
    if !args.bake {
        return job.write(output, kept, &options, &args.input);
    }
    let is_gltf = Format::is_path_of("gltf", output);
    if is_gltf || !bake::has_several_clips(&kept.scene) {
        let scene = bake::bake_as_shapes(&kept.scene, &mut job.notes).in_file(&args.input)?;
        return job.write(output, &scene, &options, &args.input);
    }
    let baked = bake::bake_clip_by_clip(&kept.scene, &mut job.notes).in_file(&args.input)?;
    let path = |label: &str| bake::path_of_clip(output, label);
    baked.iter().try_for_each(|baked| check_target(&path(&baked.label), &options))?;
    baked.iter().try_for_each(|baked| job.write(&path(&baked.label), &baked.scene, &options, &args.input))
}

fn volume_options(args: &Args) -> Result<VolumeOptions, Diagnostic> {
    let mode = match args.mode {
        ModeName::Exact => Mode::Exact,
        ModeName::Fast => Mode::Fast,
        ModeName::Global => Mode::Global,
    };
    let effects = match &args.effects {
        Some(path) => {
            effects_from_toml(&std::fs::read_to_string(path).in_file(path.display())?).in_file(path.display())?
        }
        None => Effects::default(),
    };
    let (target, body_attribute) = (args.target.clone(), args.attribute.clone());
    Ok(VolumeOptions { mode, cap: args.cap, target, effects, body_attribute })
}

/// The error with the name of its object.
fn at_object(error: dermis::Error) -> Diagnostic {
    let object = match &error {
        dermis::Error::KeepVolume(KeepVolumeError::Volume { object, .. } | KeepVolumeError::Drift { object, .. }) => {
            Some(object.clone())
        }
        _ => None,
    };
    match object {
        Some(object) => Diagnostic::from(error).at(object),
        None => error.into(),
    }
}

/// A note on the layer that is stored with a rig in a glTF file.
fn layer_note(kept: &KeptVolume, args: &Args) -> Option<Note> {
    let layered = kept.scene.objects.iter().find(|object| !object.deformers.is_empty() && !args.bake)?;
    let message = "the layer is stored as DERMIS_deformers; viewers without support for it play the rig only; use \
                   --shapes or --bake for them";
    Format::is_path_of("gltf", &args.output.output).then(|| Note::at(&layered.name, message))
}
