//! `dermis skin`: fits bones, weights and corrections to mesh animations.

mod args;
mod given;
mod inputs;
mod kinds;
mod summary;
mod table;

use std::process::ExitCode;

use dermis::animations::Animations;
use dermis::fit_skin::{fit_animations, measure_skin};
use dermis::mesh::Object;
use dermis::skin::fit::{Bones, Corrections};
use dermis::skin::{Fit, FitOptions, Skin};
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
    expect_quality(&options, &fitted, &mut job);
    if let Some(profile) = args.profile() {
        for problem in profile.problems(&fitted.skin, args.output.output.as_deref()) {
            job.expect(false, || problem);
        }
    }
    if let Some(output) = &args.output.output {
        let mut scene = inputs.scene_of(&fitted.skin, output)?;
        job.notes.append(&mut scene.notes);
        job.write(output, &scene, &write_options, &args.inputs.join(", "))?;
    }
    let summary = Summary::new(args, &inputs, &fitted, &options, job.written_bytes());
    job.summarize(&summary)
}

/// Records requested qualities that were not reached.
fn expect_quality(options: &FitOptions, fit: &Fit, job: &mut Job<'_>) {
    let measures = &fit.measures;
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
}

fn fitted(
    args: &Args,
    options: &FitOptions,
    inputs: &Animations,
    job: &Job<'_>,
    watch: &Watch,
) -> Result<Fit, Diagnostic> {
    let Animations { object: Object { mesh, .. }, animations, .. } = inputs;
    if let Some(source) = &args.from {
        let skin = Skin::from_object(&read_rigged(source, None, job)?).in_file(source)?;
        return measure_skin(&skin, animations).and_then(|fit| Ok(fit.validated()?)).in_file(source);
    }
    let Some(source) = &args.bones.rig else {
        return fit_animations(inputs, options, watch).in_file(args.inputs.join(", "));
    };
    let object = read_rigged(source, args.part.selection.fps, job)?;
    if object.rig.is_none() {
        return Err(Diagnostic::new("the file has no rig").in_file(source));
    }
    let options = FitRigOptions { fit: *options, rig: args.given.options(), clips: args.part.clips.clone() };
    fit_rig_with(&object, (mesh, animations), &options, watch).in_file(source)
}
