//! `dermis skin`: mesh animations become bones, weights and corrections.

mod args;
mod inputs;
mod summary;
mod table;

use std::process::ExitCode;
use std::time::Instant;

use dermis::find_clip;
use dermis::io::ReadOptions;
use dermis::mesh::merge::single;
use dermis::mesh::{MeshSequence, Object, Scene};
use dermis::skin::fit::{Bones, Corrections};
use dermis::skin::measure::{compression, measure};
use dermis::skin::refine::Refinement;
use dermis::skin::{BoneModel, Fit, FitOptions, Skin, fit, fit_weights};

pub(crate) use self::args::Args;
use self::inputs::Inputs;
use self::summary::Summary;
use crate::args::Shared;
use crate::diagnostic::{Diagnostic, InFile};
use crate::interrupt;
use crate::job::Job;
use crate::numbers::measured as words;
use crate::watch::Watch;

/// A largest error above this, as a percentage of the box's diagonal, is no fit.
const MAX_ERROR_PERCENT: f64 = 100.0;

/// Fits, or measures, and prints how well.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let options = args.fit_options()?;
    args.output.check()?;
    let mut job = Job::new(format!("fitting {}", args.inputs.join(", ")), shared);
    let mut inputs = inputs::read(&args.inputs, &args.part, &job)?;
    job.notes.append(&mut inputs.notes);
    job.clock.lap("read");
    if args.table {
        return table::run(args, &inputs, &options, job);
    }
    // Ctrl-C ends a fit with the best result so far.
    let fitted = job.stoppable(|watch| fitted(args, &options, &inputs, &job, watch))?;
    interrupt::forget();
    job.clock.lap_in_parts(&fitted.seconds);
    job.notes.extend(fitted.notes.iter().cloned());
    expect_quality(&options, &fitted, &mut job)?;
    if let Some(output) = &args.output.output {
        let Object { name, attributes, .. } = &inputs.object;
        let object = Object { attributes: attributes.clone(), ..fitted.skin.to_object(name.clone()) };
        let scene = Scene { objects: vec![object], notes: Vec::new(), ..inputs.scene };
        job.write(output, &scene, &args.output.options(), &args.inputs.join(", "))?;
    }
    let summary = Summary::new(args, &inputs, &fitted, &options, job.written_bytes());
    job.summarize(&summary)
}

/// Notes what was asked for and not reached; a fit that is further off than the shape is large is an error.
fn expect_quality(options: &FitOptions, fit: &Fit, job: &mut Job<'_>) -> Result<(), Diagnostic> {
    let measures = &fit.measures;
    if !(measures.max_error_percent <= MAX_ERROR_PERCENT && measures.distortion_percent.is_finite()) {
        let error = words(measures.max_error_percent);
        let message = format!("the fit cannot be right: its largest error is {error} % of the shape's diagonal");
        return Err(Diagnostic::wrong_result(message).hint("check the input with 'dermis inspect'"));
    }
    match options.bones {
        Bones::Distortion(percent) => {
            let reached = measures.distortion_percent_by_rank[0];
            job.expect(reached <= percent, || {
                format!("the bones reach {} % distortion, not {percent} %", words(reached))
            });
        }
        Bones::Count(asked) => {
            let count = fit.skin.bone_count();
            job.expect(count == asked, || format!("there are {count} bones, not {asked}"));
        }
        Bones::Tolerance(_) => {}
    }
    if let Corrections::ForDistortion { percent, .. } = options.corrections {
        let reached = measures.distortion_percent;
        job.expect(reached <= percent, || {
            format!("corrections reach {} % distortion, not {percent} %", words(reached))
        });
    }
    Ok(())
}

fn fitted(args: &Args, options: &FitOptions, inputs: &Inputs, job: &Job<'_>, watch: &Watch) -> Result<Fit, Diagnostic> {
    let (rest, animations) = (&inputs.object.mesh, &inputs.animations);
    if let Some(source) = &args.from {
        return measured(source, inputs, job);
    }
    let Some(source) = &args.bones.rig else {
        return fit(rest, animations, options, watch).in_file(args.inputs.join(", "));
    };
    let object = read_single(source, args.part.part.fps, job)?;
    let rig = object.rig.as_ref().ok_or_else(|| Diagnostic::new("this file has no rig").in_file(source))?;
    // If no clip is named, the rig's clips are taken in order.
    let names: Vec<&str> = object.clips.iter().map(|clip| clip.name()).collect();
    let named: Result<Vec<_>, _> =
        args.part.clips.iter().map(|clip| Ok(object.clips[find_clip(clip, &names)?].clone())).collect();
    let named = named.map_err(|error: dermis::SelectError| Diagnostic::from(error).in_file(source))?;
    let clips = if named.is_empty() { object.clips.clone() } else { named };
    fit_weights(rest, animations, rig, &clips, options, watch).in_file(source)
}

/// The asset `source` as if it had just been fitted.
fn measured(source: &str, inputs: &Inputs, job: &Job<'_>) -> Result<Fit, Diagnostic> {
    let object = read_single(source, None, job)?;
    let skin = Skin::from_object(&object).in_file(source)?;
    let skin = in_order_of(&skin, inputs).in_file(source)?;
    let start = Instant::now();
    let sequences: Vec<MeshSequence> = inputs.animations.iter().map(|animation| animation.sequence.clone()).collect();
    let measures = measure(&skin, &sequences)?;
    let frames = sequences.iter().map(MeshSequence::frame_count).sum();
    let influences = skin.rig().weights().max_influences();
    let model = BoneModel::of_skin(&skin);
    Ok(Fit {
        measures,
        near_rigid_fraction: None,
        epsilon: None,
        compression: compression(skin.mesh().point_count(), frames, skin.bone_count(), influences, model),
        refinement: Refinement::default(),
        seconds: vec![("measure", start.elapsed().as_secs_f64())],
        notes: Vec::new(),
        skin,
    })
}

/// The skin, if it can play the inputs frame by frame.
fn in_order_of(skin: &Skin, inputs: &Inputs) -> Result<Skin, Diagnostic> {
    let (found, expected) = (skin.mesh().point_count(), inputs.object.mesh.point_count());
    if found != expected {
        return Err(Diagnostic::new(format!("this has {found} points, but the input has {expected}"))
            .hint("measure an asset against the sequence that it was fitted to"));
    }
    let clips = skin.clips();
    if clips.len() < inputs.animations.len() {
        let message = format!("this has {} clips, but there are {} animations", clips.len(), inputs.animations.len());
        return Err(Diagnostic::new(message));
    }
    let order: Vec<usize> = inputs
        .animations
        .iter()
        .enumerate()
        .map(|(k, animation)| clips.iter().position(|clip| clip.name() == animation.name).unwrap_or(k))
        .collect();
    for (animation, &clip) in inputs.animations.iter().zip(&order) {
        let (found, expected) = (clips[clip].frame_count(), animation.sequence.frame_count());
        if found != expected {
            let message = format!(
                "its clip '{}' has {found} frames, but the animation '{}' has {expected}",
                clips[clip].name(),
                animation.name
            );
            return Err(Diagnostic::new(message).hint("give the same --frames and --fps as when it was fitted"));
        }
    }
    Ok(skin.with_clips(&order))
}

fn read_single(source: &str, fps: Option<f64>, job: &Job<'_>) -> Result<Object, Diagnostic> {
    let scene = job.read(source, &ReadOptions { frame_rate_hz: fps, topology: None })?;
    match scene.objects.iter().find(|object| object.rig.is_some()) {
        Some(rigged) => Ok(rigged.clone()),
        None => Ok(single(&scene).in_file(source)?.0),
    }
}
