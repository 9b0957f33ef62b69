//! `dermis volume`: preserves the volume of a character.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use dermis::active::volume::{Effects, Mode, Target, VolumeOptions, effects_from_toml};
use dermis::evaluate;
use dermis::io::Format;
use dermis::keep_volume::{KeepVolumeError, KeptVolume, ObjectVolume, keep_volume_with};
use dermis::mesh::Note;
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::{counted, short};
use crate::options::{Input, Output, non_negative};
use crate::text::Text;

/// The largest plausible drift of a volume.
const MAX_DRIFT: f64 = 0.5;

const EXAMPLES: &str = "Examples:
  dermis volume sample:arm -o arm.glb
      the rig with its clip; the layer is stored as DERMIS_deformers
  dermis volume hero.glb --clip Walk --effects muscles.toml -o walk.abc
      one clip with effects, as frames
  dermis volume scan.abc --cap --target 0:1,2:1.1,4:1 -o breathing.abc
      recorded frames with a changing volume

Effects are a TOML file, one line per pattern of joint names:
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
    /// Read effects near joints from this TOML file
    #[arg(long, value_name = "FILE")]
    effects: Option<PathBuf>,
    /// Set the target volume relative to the rest volume: a number, or seconds:factor keys such as 0:1,2:1.2
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, default_value_t = Target::default())]
    target: Target,
    /// Select the method
    #[arg(long, value_name = "MODE", default_value = "exact")]
    mode: ModeName,
    /// Close the holes of an open mesh for the computation of the volume
    #[arg(long)]
    cap: bool,
    /// Distribute the remaining correction over the body by this attribute [default: evenly]
    #[arg(long, value_name = "NAME")]
    attribute: Option<String>,
    /// Write the corrected frames of the first clip, even if the format supports layers
    #[arg(long)]
    bake: bool,
    /// Exit with 1 if the relative volume error of a frame is larger
    #[arg(long, value_name = "R", value_parser = non_negative)]
    max_drift: Option<f64>,
    #[command(flatten)]
    part: Input,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeName {
    /// Near the joints, exact to rounding
    Exact,
    /// Near the joints, approximate and faster
    Fast,
    /// Over the whole body, exact to rounding
    Global,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    objects: Vec<ObjectVolume>,
    /// Drift of the worst frame, relative to its target.
    volume_drift_before: f64,
    volume_drift_after: f64,
    /// Largest ratio of the lengths of an edge after and before the correction.
    max_stretch: f64,
    milliseconds_per_frame: f64,
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
    if args.bake {
        for object in &mut kept.scene.objects {
            *object = evaluate::baked(std::mem::take(object), &mut job.notes).in_file(&args.input)?;
        }
    }
    let (before, drift) = (kept.drift_before(), kept.drift_after());
    check_drift(&kept, args)?;
    job.notes.extend(layer_note(&kept, &args.output.output));
    job.clock.lap("correct");
    job.write(&args.output.output, &kept, &args.output.options(), &args.input)?;
    if let Some(allowed) = args.max_drift {
        job.expect(drift <= allowed, || format!("volume drift {drift:.1e}, requested {allowed:.1e}"));
    }
    job.summarize(&Summary {
        input: args.input.clone(),
        objects: kept.objects.clone(),
        volume_drift_before: before,
        volume_drift_after: drift,
        max_stretch: kept.max_stretch(),
        milliseconds_per_frame: kept.milliseconds_per_frame(),
    })
}

/// Rejects motions whose volume cannot be that of the rest pose, and corrections that fail.
fn check_drift(kept: &KeptVolume, args: &Args) -> Result<(), Diagnostic> {
    for (object, motion) in kept.objects.iter().flat_map(|object| object.motions.iter().map(move |m| (object, m))) {
        let worst = if motion.before <= MAX_DRIFT { motion.after } else { motion.before };
        if worst.is_nan() || worst > MAX_DRIFT {
            let percent = 100.0 * worst;
            let message = format!("the volume of the motion is off by {percent:.0} %: it is not that of the rest pose");
            let hint = "check the extents of rest pose and clip with 'dermis inspect'; select another rest pose with \
                        --rest-frame";
            return Err(Diagnostic::wrong_result(message)
                .in_file(&args.input)
                .at(&object.name)
                .detail(format!("motion: {}", motion.name))
                .hint(hint));
        }
    }
    Ok(())
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
        dermis::Error::KeepVolume(KeepVolumeError::Volume { object, .. }) => Some(object.clone()),
        _ => None,
    };
    match object {
        Some(object) => Diagnostic::from(error).at(object),
        None => error.into(),
    }
}

/// A note on the layer that is stored with a rig in a glTF file.
fn layer_note(kept: &KeptVolume, output: &Path) -> Option<Note> {
    let layered = kept.scene.objects.iter().find(|object| !object.deformers.is_empty())?;
    let message = "the layer is stored as DERMIS_deformers; viewers without support for it play the rig only; use \
                   --bake to write frames";
    Format::of_path(output).is_ok_and(|format| format.id == "gltf").then(|| Note::at(&layered.name, message))
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        for object in &self.objects {
            let joints = counted(object.joint_count, "joint", "joints");
            text.title(&object.name, format!("volume {}, restored near {joints}", short(object.rest_volume)));
            for motion in &object.motions {
                let name = if motion.name.is_empty() { "frames" } else { &motion.name };
                let frames = counted(motion.frames, "frame", "frames");
                let drift = format!("drift {:.3} % before, {:.1e} after", 100.0 * motion.before, motion.after);
                let cost =
                    format!("stretch {:.2}, {:.2} ms per frame", motion.max_stretch, motion.milliseconds_per_frame);
                text.row(name, format!("{frames}, {drift}, {cost}"));
            }
        }
    }
}
