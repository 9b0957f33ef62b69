//! `dermis envelope validate`: a model against shapes that it should make.

use std::sync::Arc;
use std::time::Instant;

use dermis::retarget::retarget;
use dermis::skin::envelope::{MultiWeights, validate};
use serde_json::Value;

use super::args::{Shapes, ValidateArgs};
use super::inputs::{examples_of, read_poses, read_rigged};
use super::summary::{Facts, Summary};
use crate::args::Shared;
use crate::report::Report;
use crate::watch::Watch;

/// Compares and says how well the model does; whether an error that was asked for was missed.
pub(super) fn run(args: &ValidateArgs, shared: &Shared) -> Result<bool, Report> {
    let watch = Watch::new(format!("validating {}", args.model), shared);
    let began = Instant::now();
    let clip = args.shapes.clip.clone().filter(|_| args.rig.is_none());
    let own = Shapes { clip, fps: args.shapes.fps, ..Shapes::default() };
    let model = read_rigged(&args.model, &own, &watch)?;
    let (weights, settings) = learned(args, &model.object)?;
    let mut notes = model.scene.notes.clone();
    let (clip, shapes) = match &args.rig {
        None => (model.clip(&args.model)?, model.object.sequence.clone()),
        Some(source) => {
            let rigged = read_rigged(source, &args.shapes, &watch)?;
            notes.extend(rigged.scene.notes.iter().cloned());
            let clip = rigged.clip(source)?;
            let moved = retarget(&clip, &rigged.object, &model.object);
            let (clip, said) = moved.map_err(|error| Report::from(error).in_file(source))?;
            notes.extend(said);
            (Arc::new(clip), rigged.object.sequence)
        }
    };
    let source = args.rig.as_ref().unwrap_or(&args.model);
    let poses = read_poses(clip, shapes.as_ref(), &model.object.mesh, &args.shapes, &watch);
    let poses = poses.map_err(|report| report.in_file(source))?;
    let weights_of_poses = vec![1.0; poses.pairs.len()];
    let examples = examples_of(&model.object, &model.rig, &[(poses, weights_of_poses)])
        .map_err(|error| Report::from(error).in_file(source))?;
    let mut seconds = vec![("read", began.elapsed().as_secs_f64())];
    let start = Instant::now();
    let validation = validate(&weights, model.rig.weights(), &model.object.mesh, &examples)?;
    seconds.push(("validate", start.elapsed().as_secs_f64()));
    let facts = Facts { examples: &examples, validation: &validation, notes: &notes, seconds: &seconds };
    let mut summary = Summary::new(&facts, began.elapsed().as_secs_f64());
    summary.model.input(&args.model, args.rig.as_deref(), &model, settings["smoothness"].as_f64());
    summary.print(shared)?;
    Ok(args.error.is_some_and(|most| validation.rms_error > most))
}

/// The multi-weights of the model, and their settings.
fn learned(args: &ValidateArgs, object: &dermis::mesh::Object) -> Result<(MultiWeights, Value), Report> {
    for deformer in &object.deformers {
        let weights =
            MultiWeights::from_deformer(deformer).map_err(|error| Report::from(error).in_file(&args.model))?;
        if let Some(weights) = weights {
            return Ok((weights, serde_json::from_str(&deformer.settings).unwrap_or_default()));
        }
    }
    let report = Report::new("this file has no multi-weights").in_file(&args.model);
    Err(report.hint("learn them with 'dermis envelope train'"))
}
