//! `dermis skin`: fits bones, weights and corrections to mesh animations.

mod args;
mod given;
mod inputs;
mod kinds;
mod summary;
mod table;

use std::path::Path;
use std::process::ExitCode;

use dermis::animations::Animations;
use dermis::find_clip;
use dermis::fit_skin::measure_skin;
use dermis::mesh::{Note, Object, Scene};
use dermis::skin::fit::{Bones, Corrections};
use dermis::skin::{Fit, FitOptions, Skin, fit};
use dermis::{FitRigOptions, fit_rig_with};

pub(crate) use self::args::Args;
use self::inputs::read_rigged;
use self::summary::Summary;
use crate::args::Shared;
use crate::diagnostic::{Diagnostic, InFile};
use crate::interrupt;
use crate::job::Job;
use crate::numbers::measured as words;
use crate::watch::Watch;

/// A fit with a larger error, in percent of the diagonal, is rejected.
const MAX_ERROR_PERCENT: f64 = 100.0;

/// Fits or measures a skin and prints its measures.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let options = args.fit_options()?;
    args.output.check()?;
    let write_options = args.form.applied(args.output.force, args.output.output.as_deref())?;
    let mut job = Job::new(format!("fitting {}", args.inputs.join(", ")), shared);
    let mut inputs = inputs::read(&args.inputs, &args.part, &mut job)?;
    if let Some(units) = args.output.output.as_deref().and_then(|output| args.engine_units(output)) {
        inputs.convert_to(units)?;
        job.notes.append(&mut inputs.notes);
    }
    job.clock.lap("read");
    if args.table {
        return table::run(args, &inputs, &options, job);
    }
    // Ctrl-C ends a fit with the best result so far.
    let fitted = job.stoppable(|watch| fitted(args, &options, &inputs, &job, watch))?;
    let is_stopped = interrupt::take();
    job.expect(!is_stopped, || "the fit was stopped; the result is the best so far".to_owned());
    job.clock.lap_in_parts(&fitted.seconds);
    job.notes.extend(fitted.notes.iter().cloned());
    expect_quality(&options, &fitted, &mut job)?;
    if let Some(profile) = args.profile() {
        for problem in profile.problems(&fitted.skin, args.output.output.as_deref()) {
            job.expect(false, || problem);
        }
    }
    if let Some(output) = &args.output.output {
        let scene = scene_of(&fitted.skin, &inputs, output, &mut job)?;
        job.write(output, &scene, &write_options, &args.inputs.join(", "))?;
    }
    let summary = Summary::new(args, &inputs, &fitted, &options, job.written_bytes());
    job.summarize(&summary)
}

/// The skin as a scene; in files that programs open, bones without children have end joints.
fn scene_of(skin: &Skin, inputs: &Animations, output: &Path, job: &mut Job<'_>) -> Result<Scene, Diagnostic> {
    let Object { name, attributes, mesh, .. } = &inputs.object;
    let is_array = output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"));
    let object = if is_array { skin.to_object(name.clone()) } else { skin.to_object_with_ends(name.clone())? };
    let mut object = object;
    // The points of a given rig can have another order than those of the input.
    if mesh.triangles() == object.mesh.triangles() {
        object.attributes.clone_from(attributes);
    } else if !attributes.is_empty() {
        job.notes.push(Note::new("scalars per point of the input are not written: the rig has different points"));
    }
    Ok(Scene { objects: vec![object], units: inputs.units, notes: Vec::new() })
}

/// Records requested qualities that were not reached; an error larger than the shape is rejected.
fn expect_quality(options: &FitOptions, fit: &Fit, job: &mut Job<'_>) -> Result<(), Diagnostic> {
    let measures = &fit.measures;
    if !(measures.max_error_percent <= MAX_ERROR_PERCENT && measures.distortion_percent.is_finite()) {
        let error = words(measures.max_error_percent);
        let message = format!("invalid fit: the largest error is {error} % of the diagonal of the shape");
        return Err(Diagnostic::wrong_result(message).hint("check the input with 'dermis inspect'"));
    }
    match options.bones {
        Bones::Distortion(percent) => {
            let reached = measures.distortion_percent_by_rank[0];
            job.expect(reached <= percent, || {
                format!("distortion {} % with bones only, requested {percent} %", words(reached))
            });
        }
        Bones::Count(asked) => {
            let count = fit.skin.bone_count();
            job.expect(count == asked, || format!("{count} bones, requested {asked}"));
        }
        Bones::Tolerance(_) => {}
    }
    if let Corrections::ForDistortion { percent, .. } = options.corrections {
        let reached = measures.distortion_percent;
        job.expect(reached <= percent, || {
            format!("distortion {} % with corrections, requested {percent} %", words(reached))
        });
    }
    Ok(())
}

fn fitted(
    args: &Args,
    options: &FitOptions,
    inputs: &Animations,
    job: &Job<'_>,
    watch: &Watch,
) -> Result<Fit, Diagnostic> {
    let (rest, animations) = (&inputs.object.mesh, &inputs.animations);
    if let Some(source) = &args.from {
        let skin = Skin::from_object(&read_rigged(source, None, job)?).in_file(source)?;
        return measure_skin(&skin, animations).in_file(source);
    }
    let Some(source) = &args.bones.rig else {
        return fit(rest, animations, options, watch).in_file(args.inputs.join(", "));
    };
    let object = read_rigged(source, args.part.selection.fps, job)?;
    if object.rig.is_none() {
        return Err(Diagnostic::new("the file has no rig").in_file(source));
    }
    // Without --clip, all clips of the rig are used in order.
    let names: Vec<&str> = object.clips.iter().map(|clip| clip.name()).collect();
    let wanted = if args.given.rotations_only { &[][..] } else { &args.part.clips };
    let named: Result<Vec<_>, _> =
        wanted.iter().map(|clip| Ok(object.clips[find_clip(clip, &names)?].clone())).collect();
    let named = named.map_err(|error: dermis::SelectError| Diagnostic::from(error).in_file(source))?;
    let clips = if named.is_empty() { object.clips.clone() } else { named };
    let options = FitRigOptions { fit: *options, rig: args.given.options() };
    fit_rig_with(&object, &clips, (rest, animations), &options, watch).in_file(source)
}
