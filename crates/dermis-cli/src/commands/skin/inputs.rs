//! Inputs of `dermis skin`: animations of one mesh, from several files and clips.

use dermis::animations::{AnimationOptions, Animations};
use dermis::files::stem;
use dermis::fit_rig::rigged_object;
use dermis::io::ReadOptions;
use dermis::mesh::Object;
use dermis::mesh::merge::single;

use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::InputPart;

/// Selection of the inputs, and the rest pose.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Part {
    /// Fit only this clip: its name, a unique part of its name, or its index from 0; repeatable [default: all]
    #[arg(long = "clip", value_name = "CLIP")]
    pub(super) clips: Vec<String>,
    #[command(flatten)]
    pub(super) selection: InputPart,
    /// Use the shape in this file as the rest pose [default: the rest pose of the first input]
    #[arg(long, value_name = "FILE", conflicts_with = "rest_frame")]
    rest: Option<String>,
    /// Use this frame of the first animation as the rest pose; negative numbers count from the end [default: the stored rest pose]
    #[arg(long, value_name = "K")]
    rest_frame: Option<isize>,
}

/// Reads all inputs and gathers their animations.
pub(super) fn read(sources: &[String], part: &Part, job: &mut Job<'_>) -> Result<Animations, Diagnostic> {
    part.selection.expect_point_cache(sources.iter().chain(&part.rest).map(String::as_str))?;
    let options = AnimationOptions { clips: part.clips.clone(), part: part.selection.selection(None) };
    let mut found = Animations::default();
    for source in sources {
        found.add(&job.read(source, &part.selection.read_options())?, &stem(source), &options).in_file(source)?;
    }
    job.notes.append(&mut found.notes);
    if found.animations.is_empty() {
        let diagnostic = Diagnostic::new("the input contains no motion").in_file(sources.join(", "));
        return Err(diagnostic.hint("use a file with frames or clips"));
    }
    if let Some(frame) = part.rest_frame {
        found.set_rest_frame(frame)?;
    }
    if let Some(source) = &part.rest {
        let options = ReadOptions { topology: part.selection.topology.clone(), ..ReadOptions::default() };
        let (rest, _) = single(&job.read(source, &options)?).in_file(source)?;
        found.set_rest(&rest.mesh).in_file(source)?;
    }
    Ok(found)
}

/// The rigged object of `source`, or all of its objects as one.
pub(super) fn read_rigged(source: &str, fps: Option<f64>, job: &Job<'_>) -> Result<Object, Diagnostic> {
    let scene = job.read(source, &ReadOptions { frame_rate_hz: fps, ..ReadOptions::default() })?;
    rigged_object(&scene).in_file(source)
}
