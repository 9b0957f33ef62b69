//! `dermis skin`: mesh animations become bones, weights and corrections.

mod args;
mod inputs;
mod summary;
mod table;

use std::process::ExitCode;
use std::time::Instant;

use dermis::io::target::check_target;
use dermis::io::{ReadOptions, WriteOptions, Written};
use dermis::mesh::merge::single;
use dermis::mesh::{Object, Scene};
use dermis::skin::fit::{Bones, Corrections};
use dermis::skin::measure::{compression, measure};
use dermis::skin::refine::Refinement;
use dermis::skin::{BoneModel, Fit, FitError, FitOptions, Skin, fit, fit_weights};

pub(crate) use self::args::Args;
use self::inputs::Inputs;
use self::summary::Summary;
use crate::EXIT_MISSED;
use crate::args::{Format, Shared};
use crate::input;
use crate::interrupt;
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

/// Fits, or measures, and says how well.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let options = args.fit_options()?;
    let write_options = WriteOptions { force: args.force };
    if let Some(output) = &args.output {
        check_target(output, &write_options)?;
    }
    let began = Instant::now();
    let watch = Watch::new(format!("fitting {}", args.inputs.join(", ")), shared);
    let mut inputs = inputs::read(&args.inputs, &args.part, &watch)?;
    let read = began.elapsed().as_secs_f64();
    if args.table {
        return table::run(args, &inputs, &options, shared, &watch);
    }
    // Ctrl-C ends a fit with the best result so far.
    let fitted = interrupt::while_writing(|| fitted(args, &options, &inputs, &watch));
    watch.clear();
    let mut fitted = fitted?;
    interrupt::forget();
    fitted.seconds.insert(0, ("read", read));
    inputs.notes.append(&mut fitted.notes);
    let missed = missed(&options, &fitted);
    let written = match &args.output {
        Some(output) => {
            let start = Instant::now();
            let written = write(args, &inputs, &fitted.skin, output, &write_options, &watch)?;
            fitted.seconds.push(("write", start.elapsed().as_secs_f64()));
            Some(written)
        }
        None => None,
    };
    let summary = Summary::new(args, &inputs, &fitted, &options, written.as_ref(), began.elapsed().as_secs_f64());
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    Ok(if missed { ExitCode::from(EXIT_MISSED) } else { ExitCode::SUCCESS })
}

fn fitted(args: &Args, options: &FitOptions, inputs: &Inputs, watch: &Watch) -> Result<Fit, Report> {
    let (rest, animations) = (&inputs.object.mesh, &inputs.animations);
    if let Some(source) = &args.from {
        return measured(source, inputs, watch);
    }
    let Some(source) = &args.bones.rig else {
        let fitted = fit(rest, animations, options, watch);
        return fitted.map_err(|error| Report::from(error).in_file(args.inputs.join(", ")));
    };
    let object = read_single(source, args.part.fps, watch)?;
    let rig = object.rig.as_ref().ok_or_else(|| Report::new("this file has no rig").in_file(source))?;
    // Where no clip is named, the rig's clips are taken in order.
    let clips = if args.part.clips.is_empty() {
        object.clips.clone()
    } else {
        let numbered = |name: &String| name.parse::<usize>().ok().and_then(|number| object.clips.get(number));
        let named = |name: &String| object.clips.iter().find(|clip| clip.name() == name);
        args.part.clips.iter().filter_map(|name| named(name).or_else(|| numbered(name)).cloned()).collect()
    };
    fit_weights(rest, animations, rig, &clips, options, watch).map_err(|error| Report::from(error).in_file(source))
}

/// The asset `source` as if it had just been fitted.
fn measured(source: &str, inputs: &Inputs, watch: &Watch) -> Result<Fit, Report> {
    let object = read_single(source, None, watch)?;
    let skin = Skin::from_object(&object).map_err(|error| Report::new(error.to_string()).in_file(source))?;
    let skin = in_order_of(&skin, inputs).map_err(|report| report.in_file(source))?;
    let start = Instant::now();
    let sequences: Vec<_> = inputs.animations.iter().map(|animation| animation.sequence.clone()).collect();
    let measures = measure(&skin, &sequences)?;
    let frames = sequences.iter().map(dermis::mesh::MeshSequence::frame_count).sum();
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
fn in_order_of(skin: &Skin, inputs: &Inputs) -> Result<Skin, Report> {
    let (found, expected) = (skin.mesh().point_count(), inputs.object.mesh.point_count());
    if found != expected {
        return Err(Report::new(format!("this has {found} points, but the input has {expected}"))
            .hint("measure an asset against the sequence that it was fitted to"));
    }
    let clips = skin.clips();
    if clips.len() < inputs.animations.len() {
        let message = format!("this has {} clips, but there are {} animations", clips.len(), inputs.animations.len());
        return Err(Report::new(message));
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
            return Err(Report::new(message).hint("give the same --frames and --fps as when it was fitted"));
        }
    }
    Ok(skin.with_clips(&order))
}

fn read_single(source: &str, fps: Option<f64>, watch: &Watch) -> Result<Object, Report> {
    let scene = input::read(source, &ReadOptions { frame_rate_hz: fps, topology: None }, watch)?;
    match scene.objects.iter().find(|object| object.rig.is_some()) {
        Some(rigged) => Ok(rigged.clone()),
        None => Ok(single(&scene).map_err(|error| Report::new(error.to_string()).in_file(source))?.0),
    }
}

/// Whether a distortion that was asked for was not reached.
fn missed(options: &FitOptions, fitted: &Fit) -> bool {
    let measures = &fitted.measures;
    let bones = match options.bones {
        Bones::Distortion(percent) => measures.distortion_percent_by_rank[0] > percent,
        Bones::Count(count) => fitted.skin.bone_count() != count,
        Bones::Tolerance(_) => false,
    };
    let corrections = matches!(options.corrections, Corrections::ForDistortion { percent, .. } if measures.distortion_percent > percent);
    bones || corrections
}

fn write(
    args: &Args,
    inputs: &Inputs,
    skin: &Skin,
    output: &std::path::Path,
    options: &WriteOptions,
    watch: &Watch,
) -> Result<Written, Report> {
    let Object { name, attributes, .. } = &inputs.object;
    let object = Object { attributes: attributes.clone(), ..skin.to_object(name.clone()) };
    let scene = Scene { objects: vec![object], notes: Vec::new(), ..inputs.scene };
    let written = interrupt::while_writing(|| dermis::io::write(output, &scene, options, watch));
    watch.clear();
    written.map_err(|error| Report::from(error).in_file(args.inputs.join(", ")))
}

impl From<FitError> for Report {
    fn from(error: FitError) -> Self {
        let hint = match &error {
            FitError::TooFewFrames { .. } => Some("give an animated file, or more of its frames"),
            FitError::OtherMesh { .. } => Some("animations that share a skin are of one mesh"),
            FitError::ClipCount { .. } => Some("name the clips with --clip, in the order of the inputs"),
            FitError::ClipLength { .. } => Some("give --frames or --fps so that both have the same frames"),
            _ => None,
        };
        let report = Self::new(error.to_string()).maybe_hint(hint.map(ToOwned::to_owned));
        report.add_causes(std::error::Error::source(&error))
    }
}
