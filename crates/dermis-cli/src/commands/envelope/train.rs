//! `dermis envelope train`: from a rig, a clip and shapes to a model.

use std::sync::Arc;
use std::time::Instant;

use dermis::io::{WriteOptions, Written, check_target};
use dermis::mesh::{Clip, Deformer, MeshSequence, Note, Object, Rig, Scene, SkinWeights};
use dermis::skin::envelope::{Examples, HalfError, Trained, Underlying, Validation, half_error, train, validate};
use serde_json::{Value, json};

use super::args::{TrainArgs, Underlying as UnderlyingArg};
use super::inputs::{Poses, Rigged, examples_of, read_poses, read_rigged, read_training_set};
use super::maps::influences;
use super::report_of;
use super::summary::{Facts, ModelFacts, Summary};
use crate::args::Shared;
use crate::interrupt;
use crate::report::Report;
use crate::watch::Watch;

/// Learns a model, writes it and says how well it does; whether an error that was asked for was missed.
pub(super) fn run(args: &TrainArgs, shared: &Shared) -> Result<bool, Report> {
    let write_options = WriteOptions { force: args.force };
    for target in [Some(&args.output), args.more.save_examples.as_ref()].into_iter().flatten() {
        check_target(target, &write_options)?;
    }
    let watch = Watch::new(format!("learning {}", args.rig), shared);
    let began = Instant::now();
    let mut work = Work::read(args, &watch)?;
    let mut seconds = vec![("read", began.elapsed().as_secs_f64())];
    let maps = influences(args, &work.rigged.object, &work.rigged.rig, &work.examples, &watch, &mut work.notes)?;
    let Rigged { object, rig, .. } = &work.rigged;
    let trained = interrupt::while_writing(|| train(&object.mesh, rig, &maps, &work.examples, &args.options(), &watch));
    watch.clear();
    let trained = trained.map_err(|error| report_of(&error, &args.influence.maps).in_file(&args.rig))?;
    seconds.extend(trained.seconds.iter().copied());
    work.notes.extend(trained.notes.iter().cloned());
    let start = Instant::now();
    let result = work.finish(args, &trained)?;
    seconds.push(("validate", start.elapsed().as_secs_f64()));
    let start = Instant::now();
    let written = work.write(args, &result.model, &write_options, &watch)?;
    seconds.push(("write", start.elapsed().as_secs_f64()));
    let facts =
        Facts { examples: &work.examples, validation: &result.validation, notes: &work.notes, seconds: &seconds };
    let mut summary = Summary::new(&facts, began.elapsed().as_secs_f64());
    summary.model = ModelFacts::of(args, &trained, &work.rigged, result.half, &written);
    summary.print(shared)?;
    Ok(args.error.is_some_and(|most| result.validation.rms_error > most))
}

/// All that is learned from.
struct Work {
    rigged: Rigged,
    poses: Vec<(Poses, Vec<f64>)>,
    examples: Examples,
    notes: Vec<Note>,
}

/// The model and how well it does.
struct Finished {
    model: Object,
    validation: Validation,
    half: Option<HalfError>,
}

impl Work {
    fn read(args: &TrainArgs, watch: &Watch) -> Result<Self, Report> {
        let rigged = read_rigged(&args.rig, &args.shapes, watch)?;
        let mut notes = rigged.scene.notes.clone();
        let clip = rigged.clip(&args.rig)?;
        let own = rigged.object.sequence.as_ref();
        let poses = read_poses(clip, own, &rigged.object.mesh, &args.shapes, watch)
            .map_err(|report| report.in_file(&args.rig))?;
        let weights = pose_weights(args, &poses)?;
        let mut all = vec![(poses, weights)];
        for source in &args.more.add {
            let (poses, said) = read_training_set(source, &rigged.object, watch)?;
            notes.extend(said);
            let count = poses.pairs.len();
            all.push((poses, vec![1.0; count]));
        }
        if !rigged.rig.shapes().is_empty() {
            notes.push(Note::new("the model has no blend shapes: what they do is learned as a part of the shapes"));
        }
        let examples =
            examples_of(&rigged.object, &rigged.rig, &all).map_err(|error| Report::from(error).in_file(&args.rig))?;
        Ok(Self { rigged, poses: all, examples, notes })
    }

    fn finish(&self, args: &TrainArgs, trained: &Trained) -> Result<Finished, Report> {
        let Rigged { object, rig, .. } = &self.rigged;
        // Other viewers play the skin below; a rigid one would serve them badly.
        let base = if args.learning.underlying == UnderlyingArg::Rigid { rig.weights() } else { &trained.linear };
        let clip = &self.poses[0].0.clip;
        let frames = (0..clip.frame_count()).map(|frame| clip.transforms(frame));
        let cost = || half_error(&trained.weights, &object.mesh, rig.joints(), frames);
        let half = args.half.then(cost).transpose()?;
        let validation = validate(&trained.weights, base, &object.mesh, &self.examples)?;
        let deformer = self.deformer(args, trained, &validation);
        let report = |error: dermis::mesh::RigError| Report::new(error.to_string());
        let model_rig = Rig::new(&object.mesh, rig.joints().to_vec(), sorted(base), Vec::new()).map_err(report)?;
        let clips = object.clips.iter().map(|clip| without_shapes(&model_rig, clip).map(Arc::new));
        let model = Object {
            clips: clips.collect::<Result<_, _>>().map_err(report)?,
            rig: Some(Arc::new(model_rig)),
            sequence: None,
            deformers: vec![deformer],
            ..object.clone()
        };
        Ok(Finished { model, validation, half })
    }

    /// The multi-weights, with how they were made.
    fn deformer(&self, args: &TrainArgs, trained: &Trained, validation: &Validation) -> Deformer {
        let mut deformer = trained.weights.to_deformer(args.half);
        if let Ok(Value::Object(mut settings)) = serde_json::from_str(&deformer.settings) {
            let underlying = match args.options().underlying {
                Underlying::Rigid => "rigid",
                Underlying::Rig => "rig",
                Underlying::Best => "best",
            };
            settings.insert("smoothness".into(), json!(trained.smoothness));
            settings.insert("underlying".into(), json!(underlying));
            settings.insert("poses".into(), json!(self.examples.pose_count()));
            settings.insert("training_rms_error".into(), json!(validation.rms_error));
            deformer.settings = Value::Object(settings).to_string();
        }
        deformer
    }

    fn write(
        &self,
        args: &TrainArgs,
        model: &Object,
        options: &WriteOptions,
        watch: &Watch,
    ) -> Result<Written, Report> {
        let put = |target: &std::path::Path, object: Object| {
            let scene = Scene { objects: vec![object], notes: Vec::new(), ..self.rigged.scene.clone() };
            let written = interrupt::while_writing(|| dermis::io::write(target, &scene, options, watch));
            watch.clear();
            written.map_err(|error| Report::from(error).in_file(target.display().to_string()))
        };
        let written = put(&args.output, model.clone())?;
        if let Some(target) = &args.more.save_examples {
            put(target, self.training_set()?)?;
        }
        Ok(written)
    }

    /// The rig with all poses as one clip and a shape for each.
    fn training_set(&self) -> Result<Object, Report> {
        let Rigged { object, rig, .. } = &self.rigged;
        let all = || self.poses.iter().flat_map(|(poses, _)| poses.pairs.iter().map(move |pair| (poses, *pair)));
        let transforms = all().flat_map(|(poses, (frame, _))| poses.clip.transforms(frame).iter().copied()).collect();
        let report = |error: dermis::mesh::RigError| Report::new(error.to_string());
        let bare = Rig::new(&object.mesh, rig.joints().to_vec(), rig.weights().clone(), Vec::new()).map_err(report)?;
        let clip = Clip::new(&bare, "examples", self.poses[0].0.clip.frame_rate_hz(), transforms, Vec::new())
            .map_err(report)?;
        let targets = (0..self.examples.pose_count()).flat_map(|pose| self.examples.target(pose).iter().copied());
        let shapes = MeshSequence::new(Arc::clone(&object.mesh), targets.collect(), clip.frame_rate_hz())?;
        Ok(Object {
            sequence: Some(shapes),
            rig: Some(Arc::new(bare)),
            clips: vec![Arc::new(clip)],
            deformers: Vec::new(),
            ..object.clone()
        })
    }
}

fn pose_weights(args: &TrainArgs, poses: &Poses) -> Result<Vec<f64>, Report> {
    let mut weights = vec![1.0; poses.pairs.len()];
    for given in &args.more.pose_weights {
        let Some(at) = poses.pairs.iter().position(|(frame, _)| *frame == given.frame) else {
            let message = format!("--pose-weight names frame {}, which is not among the poses", given.frame);
            return Err(Report::new(message).hint("give a frame of the clip, from 0, that --frames leaves in"));
        };
        weights[at] = given.weight;
    }
    Ok(weights)
}

/// Largest first, as viewers that read only four influences want it.
fn sorted(weights: &SkinWeights) -> SkinWeights {
    weights.normalized(usize::MAX)
}

fn without_shapes(rig: &Rig, clip: &Clip) -> Result<Clip, dermis::mesh::RigError> {
    let transforms = (0..clip.frame_count()).flat_map(|frame| clip.transforms(frame).iter().copied()).collect();
    Ok(Clip::new(rig, clip.name(), clip.frame_rate_hz(), transforms, Vec::new())?.starting_at(clip.start_seconds()))
}
