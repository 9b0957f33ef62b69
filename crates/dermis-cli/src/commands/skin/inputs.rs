//! What `dermis skin` fits: animations of one mesh, from several files and clips.

use std::path::Path;

use dermis::animations::{AnimationOptions, Animations};
use dermis::io::ReadOptions;
use dermis::mesh::Object;
use dermis::mesh::merge::single;

use crate::diagnostic::{Diagnostic, InFile};
use crate::input::SAMPLE;
use crate::job::Job;
use crate::options::InputPart;

/// The part of the inputs that is fitted, and the rest pose.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Part {
    /// Fit only these clips: names, parts that no other name has, or numbers from 0 [default: all]
    #[arg(long = "clip", value_name = "CLIP")]
    pub(super) clips: Vec<String>,
    #[command(flatten)]
    pub(super) part: InputPart,
    /// Deform the shape in this file [default: the rest pose of the first input]
    #[arg(long, value_name = "FILE", conflicts_with = "rest_frame")]
    rest: Option<String>,
    /// Deform this frame of the first animation; negative numbers count from the end
    #[arg(long, value_name = "K")]
    rest_frame: Option<isize>,
}

/// Reads all inputs and gathers their animations.
pub(super) fn read(sources: &[String], part: &Part, job: &mut Job<'_>) -> Result<Animations, Diagnostic> {
    part.part.expect_point_cache(sources.iter().chain(&part.rest).map(String::as_str))?;
    let options = AnimationOptions { clips: part.clips.clone(), part: part.part.selection(None) };
    let mut found = Animations::default();
    for source in sources {
        found.add(&job.read(source, &part.part.read_options())?, &stem(source), &options).in_file(source)?;
    }
    job.notes.append(&mut found.notes);
    if found.animations.is_empty() {
        let diagnostic = Diagnostic::new("nothing moves in the input").in_file(sources.join(", "));
        return Err(diagnostic.hint("a skin is learned from frames or clips: give an animated file"));
    }
    if let Some(frame) = part.rest_frame {
        found.set_rest_frame(frame)?;
    }
    if let Some(source) = &part.rest {
        let options = ReadOptions { frame_rate_hz: None, topology: part.part.topology.clone() };
        let (rest, _) = single(&job.read(source, &options)?).in_file(source)?;
        found.set_rest(&rest.mesh).in_file(source)?;
    }
    Ok(found)
}

/// The rigged object of `source`, or all of its objects as one.
pub(super) fn read_rigged(source: &str, fps: Option<f64>, job: &Job<'_>) -> Result<Object, Diagnostic> {
    let scene = job.read(source, &ReadOptions { frame_rate_hz: fps, topology: None })?;
    match scene.objects.iter().find(|object| object.rig.is_some()) {
        Some(rigged) => Ok(rigged.clone()),
        None => Ok(single(&scene).in_file(source)?.0),
    }
}

/// The name of a file without folder and extension.
fn stem(source: &str) -> String {
    let name = source.strip_prefix(SAMPLE).unwrap_or(source);
    Path::new(name).file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
}
