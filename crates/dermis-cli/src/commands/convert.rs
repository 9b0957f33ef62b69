//! `dermis convert`: converts a file, or a part of it, to another format.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dermis::io::{WriteOptions, writable_extensions};
use dermis::mesh::Object;
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::Diagnostic;
use crate::job::{Facts, Job};
use crate::motion::{MotionFacts, Words};
use crate::numbers::counted;
use crate::options::{BoneForm, Input};
use crate::stdout_target;
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis convert sample:gallop horse.glb
      a sample as glTF
  dermis convert walk.glb walk.npz --clip Walk --fps 30
      one clip, posed at 30 frames per second
  dermis convert shot.abc hero.abc --mesh /hero/body --frames 100:200
      one object and 100 frames of a shot
  dermis convert walk.pc2 walk.abc --topology hero.obj
      a point cache with the faces of a mesh";

/// Convert a file, or a part of it, to another format
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// File, folder, numbered files, or sample:NAME
    input: String,
    #[arg(help = format!("Output; its extension selects the format ({})", writable_extensions().join(" ")))]
    output: PathBuf,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    bones: BoneForm,
    #[command(flatten)]
    part: Input,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    objects: Vec<ObjectSummary>,
}

#[derive(Debug, Serialize)]
struct ObjectSummary {
    name: String,
    points: usize,
    vertices: usize,
    triangles: usize,
    frames: Option<usize>,
    fps: Option<f64>,
    joints: usize,
    clips: Vec<MotionFacts>,
}

/// Converts and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let options = args.bones.applied(args.force, Some(&args.output))?;
    convert(&args.input, &args.output, &options, &args.part, shared)
}

/// Reads `part` of `input` and writes it to `output`.
pub(crate) fn convert(
    input: &str,
    output: &Path,
    options: &WriteOptions,
    part: &Input,
    shared: &Shared,
) -> Result<ExitCode, Diagnostic> {
    stdout_target::check(output, options)?;
    let mut job = Job::new(format!("writing {}", output.display()), shared);
    let mut scene = part.read(input, &job)?;
    job.notes.append(&mut scene.notes);
    job.clock.lap("read");
    job.write(output, &scene, options, input)?;
    job.summarize(&Summary { input: input.to_owned(), objects: scene.objects.iter().map(ObjectSummary::of).collect() })
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        self.objects.iter().for_each(|object| text.title(&object.name, object.words()));
    }
}

impl ObjectSummary {
    fn of(object: &Object) -> Self {
        let motion = object.sequence.as_ref().map(MotionFacts::of_sequence);
        Self {
            name: object.name.clone(),
            points: object.mesh.point_count(),
            vertices: object.mesh.vertex_count(),
            triangles: object.mesh.triangle_count(),
            frames: motion.as_ref().map(|motion| motion.frames),
            fps: motion.as_ref().map(|motion| motion.fps),
            joints: object.rig.as_ref().map_or(0, |rig| rig.joints().len()),
            clips: MotionFacts::of_clips(object),
        }
    }

    fn words(&self) -> String {
        let mut words = vec![counted(self.points, "point", "points"), counted(self.triangles, "triangle", "triangles")];
        if let (Some(frames), Some(fps)) = (self.frames, self.fps) {
            words.push(MotionFacts::new("", frames, fps).words());
        }
        if self.joints > 0 {
            words.push(counted(self.joints, "joint", "joints"));
        }
        match &self.clips[..] {
            [] => {}
            [clip] => words.push(clip.titled()),
            clips => words.push(counted(clips.len(), "clip", "clips")),
        }
        words.join(", ")
    }
}
