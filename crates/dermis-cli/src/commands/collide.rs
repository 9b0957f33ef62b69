//! `dermis collide`: contacts of two animated assets.

use std::process::ExitCode;

use dermis::collide::{CollideOptions, FrameContacts, collide_with};
use dermis::io::ReadOptions;
use dermis::mesh::glam::DVec3;
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::{counted, grouped};
use crate::text::Text;

/// Number of frames that the summary lists.
const LISTED_FRAMES: usize = 10;

const EXAMPLES: &str = "Examples:
  dermis collide hero.glb prop.glb
      list the frames in which the two intersect, with the deepest contact
  dermis collide left.glb right.glb --clip fist --other-clip wave --offset 0.12,0,0
      compare two clips, with the second asset moved by 12 cm";

/// Find the contacts of two animated assets in every frame
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Rigged or static asset
    first: String,
    /// Another rigged or static asset
    second: String,
    /// Use this clip of the first asset: its name, a unique part of its name, or its index from 0 [default: the first]
    #[arg(long, value_name = "CLIP")]
    clip: Option<String>,
    /// Use this clip of the second asset [default: the first]
    #[arg(long, value_name = "CLIP")]
    other_clip: Option<String>,
    /// Translate the second asset by this vector, in its units [default: 0,0,0]
    #[arg(long, value_name = "X,Y,Z", value_parser = offset, allow_hyphen_values = true)]
    offset: Option<DVec3>,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    inputs: [String; 2],
    frames: usize,
    contacts: Vec<FrameContacts>,
}

/// Finds the contacts and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let mut job = Job::new(format!("colliding {} and {}", args.first, args.second), shared);
    let mut first = job.read(&args.first, &ReadOptions::default())?;
    let mut second = job.read(&args.second, &ReadOptions::default())?;
    job.notes.append(&mut first.notes);
    job.notes.append(&mut second.notes);
    job.clock.lap("read");
    let options = CollideOptions {
        clip: args.clip.clone(),
        other_clip: args.other_clip.clone(),
        offset: args.offset.unwrap_or_default(),
    };
    let mut found = job.stoppable(|watch| collide_with(&first, &second, &options, watch)).in_file(&args.first)?;
    job.notes.append(&mut found.warnings);
    job.clock.lap("collide");
    let inputs = [args.first.clone(), args.second.clone()];
    job.answer(&Summary { inputs, frames: found.frame_count, contacts: found.frames })
}

/// `0.1,0,-2`.
fn offset(text: &str) -> Result<DVec3, String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x, y, z]) if DVec3::new(x, y, z).is_finite() => Ok(DVec3::new(x, y, z)),
        _ => Err("it must be three finite numbers such as 0.1,0,-2".to_owned()),
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let touching = self.contacts.len();
        text.row("frames", format!("{} of {} with contacts", grouped(touching), grouped(self.frames)));
        for frame in self.contacts.iter().take(LISTED_FRAMES) {
            let pairs = counted(frame.contacts, "pair of triangles", "pairs of triangles");
            let [x, y, z] = frame.deepest.point;
            let deepest = format!("deepest {:.5} at ({x:.4}, {y:.4}, {z:.4})", frame.deepest.depth);
            text.row(&format!("frame {}", frame.frame), format!("{pairs}, {deepest}"));
        }
        if touching > LISTED_FRAMES {
            text.row("", format!("and {} more frames", grouped(touching - LISTED_FRAMES)));
        }
    }
}
