//! `dermis lod`: creates levels of detail.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dermis::io::{FORMATS, Format, check_target};
use dermis::lod::{LodOptions, target_of};
use dermis::make_levels::{LeveledScene, ObjectLevels, make_levels_with};
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::{counted, grouped};
use crate::options::{Input, Output, count};
use crate::text::Text;

/// Excess of triangles over the requested number above which a ratio was not reached.
const ALLOWED_EXCESS: f64 = 0.02;

const EXAMPLES: &str = "Examples:
  dermis lod hero.glb --ratio 0.5,0.25,0.1 -o hero-lod.glb
      three levels in the asset, as MSFT_lod
  dermis lod hero.glb --ratio 0.3 --separate -o hero.glb
      hero_lod1.glb, with the skeleton and all clips";

/// Create levels of detail that preserve the shape of a skinned character in every pose
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Rigged character with clips, such as an output of 'dermis skin'
    input: String,
    #[command(flatten)]
    output: Output,
    /// Keep this fraction of the triangles in each level; each fraction is above 0 and at most 1
    #[arg(long, value_name = "R,R,…", value_delimiter = ',', default_values_t = LodOptions::default().ratios)]
    ratio: Vec<f64>,
    /// Minimize the error in at most N poses of the clips
    #[arg(long, value_name = "N", value_parser = count, default_value_t = LodOptions::default().max_poses)]
    poses: usize,
    /// Write one file per level, named after the output, instead of one file with all levels
    #[arg(long)]
    separate: bool,
    #[command(flatten)]
    part: Input,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    objects: Vec<ObjectLevels>,
}

/// Creates the levels, writes them and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let targets: Vec<PathBuf> = if args.separate {
        (1..=args.ratio.len()).map(|level| level_path(&args.output.output, level)).collect()
    } else {
        vec![args.output.output.clone()]
    };
    for target in &targets {
        check_target(target, &args.output.options())?;
    }
    if !args.separate {
        check_levels(&args.output.output)?;
    }
    let mut job = Job::new(format!("simplifying {}", args.input), shared);
    let mut scene = args.part.read(&args.input, &job)?;
    job.notes.append(&mut scene.notes);
    job.clock.lap("read");
    let options = LodOptions { ratios: args.ratio.clone(), max_poses: args.poses };
    let mut made = job.stoppable(|watch| make_levels_with(&scene, &options, watch)).in_file(&args.input)?;
    job.notes.append(&mut made.warnings);
    job.clock.lap("simplify");
    if args.separate {
        for (level, target) in targets.iter().enumerate() {
            let scene = made.at_level(level).map_err(dermis::Error::from).in_file(&args.input)?;
            job.write(target, &scene, &args.output.options(), &args.input)?;
        }
    } else {
        job.write(&args.output.output, &made, &args.output.options(), &args.input)?;
    }
    expect_ratios(&mut job, &made);
    job.summarize(&Summary { input: args.input.clone(), objects: made.objects })
}

/// Checks that the format of an output with all levels supports them.
fn check_levels(target: &Path) -> Result<(), Diagnostic> {
    let extension = target.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_named = |format: &&Format| format.written_extensions.contains(&extension.as_str());
    match FORMATS.iter().find(is_named) {
        Some(format) if !format.holds.levels => {
            let message = format!("a .{extension} file cannot contain levels of detail");
            let hint = "use --separate to write one file per level, or write a .glb file";
            Err(Diagnostic::new(message).in_file(target.display()).hint(hint))
        }
        _ => Ok(()),
    }
}

/// `hero_lod2.glb` for level 2 of `hero.glb`.
fn level_path(output: &Path, level: usize) -> PathBuf {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}_lod{level}");
    if let Some(extension) = output.extension() {
        name = format!("{name}.{}", extension.to_string_lossy());
    }
    output.with_file_name(name)
}

fn expect_ratios(job: &mut Job<'_>, made: &LeveledScene) {
    for object in &made.objects {
        for level in &object.levels {
            let target = target_of(level.ratio, object.triangles);
            let reached = level.triangles as f64 <= (1.0 + ALLOWED_EXCESS) * target as f64 + 1.0;
            job.expect(reached, || {
                let (name, found) = (&object.name, level.triangles);
                format!("{target} triangles of '{name}': {found} remain because of seams, borders and topology")
            });
        }
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        for object in &self.objects {
            let poses = counted(object.key_poses, "key pose", "key poses");
            text.title(&object.name, format!("{} triangles, {poses}", grouped(object.triangles)));
            for (number, level) in object.levels.iter().enumerate() {
                let size = format!("{} triangles, {} points", grouped(level.triangles), grouped(level.points));
                let error = format!("posed error {:.4} % RMS, {:.3} % max", level.rms_percent, level.max_percent);
                text.row(&format!("level {}", number + 1), format!("{size}, {error}"));
            }
        }
    }
}
