//! Options shared by several commands. Each is defined once, with the same name, default, unit and validation everywhere.

use std::path::{Path, PathBuf};

use dermis::io::{Format, ReadOptions, WriteOptions};
use dermis::mesh::Scene;
use dermis::{FrameRange, Selection};

use crate::diagnostic::{Diagnostic, InFile};
use crate::input_units::InputUnits;
use crate::job::Job;
pub(crate) use crate::parse::{count, count_or_none, duration, fraction, frame_rate, map_size, non_negative, positive};
use crate::stdout_target;

/// Output of a command that always writes a file.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Output {
    /// Write to this file; its extension selects the format. `-` writes GLB to stdout, `--output=-.EXT` another format
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Replace existing outputs
    #[arg(long)]
    pub(crate) force: bool,
}

/// Output of a command that can run without one.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OptionalOutput {
    /// Write to this file; its extension selects the format. `-` writes GLB to stdout [default: no output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace existing outputs
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// Form of bones that joints of FBX cannot express.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct BoneForm {
    /// Write bones that stretch or shear to FBX exactly, as nested nodes, instead of as rigid joints
    #[arg(long)]
    nested_bones: bool,
}

impl BoneForm {
    /// Options of the writer; an error if the form of bones has no effect on `output`.
    pub(crate) fn applied(self, force: bool, output: Option<&Path>) -> Result<WriteOptions, Diagnostic> {
        let is_fbx = output.is_some_and(|output| Format::is_path_of("fbx", output));
        expect_effect([(self.nested_bones, is_fbx, "--nested-bones", "on .fbx outputs")])?;
        Ok(WriteOptions { force, nested_bones: self.nested_bones })
    }
}

/// Selection of a part of the input, and options for reading it.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Input {
    /// Use this clip: its name, a unique part of its name, or its index from 0 [default: all]
    #[arg(long, value_name = "CLIP")]
    pub(crate) clip: Option<String>,
    #[command(flatten)]
    pub(crate) part: InputPart,
    /// Use this frame as the rest pose, counted before --frames is applied; −1 is the last frame. Rigs are converted to frames [default: the rest pose of the input]
    #[arg(long, value_name = "K")]
    pub(crate) rest_frame: Option<isize>,
}

/// Part of [`Input`] shared with commands that accept several clips.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputPart {
    /// Use this mesh: its name or path, a unique part of its name, or a pattern with * and ? [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) mesh: Option<String>,
    /// Use these frames: a half-open range from 0 as in Python; negative numbers count from the end [default: all]
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    pub(crate) frames: Option<FrameRange>,
    /// Sample animations at this rate, in frames per second; also the rate of files that do not state one [default: the rate of the file, or 24]
    #[arg(long, value_name = "HZ", value_parser = frame_rate)]
    pub(crate) fps: Option<f64>,
    /// Read the faces of a point cache (pc2, mdd) from this mesh [default: the OBJ file of the same name]
    #[arg(long, value_name = "FILE")]
    pub(crate) topology: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) units: InputUnits,
}

impl Output {
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions { force: self.force, ..WriteOptions::default() }
    }

    /// Checks that the output can be written, before any work is done.
    pub(crate) fn check(&self) -> Result<(), Diagnostic> {
        stdout_target::check(&self.output, &self.options())
    }

    /// Like [`Output::check`], for an output that must differ from the input.
    pub(crate) fn check_apart_from(&self, input: &str) -> Result<(), Diagnostic> {
        let same = |path: &Path| Some(path.canonicalize().ok()? == self.output.canonicalize().ok()?);
        if same(Path::new(input)) == Some(true) {
            let diagnostic = Diagnostic::new("the output is the same file as the input").in_file(input);
            return Err(diagnostic.hint("choose another output: this one would replace the input"));
        }
        self.check()
    }
}

impl OptionalOutput {
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions { force: self.force, ..WriteOptions::default() }
    }

    pub(crate) fn check(&self) -> Result<(), Diagnostic> {
        self.output.iter().try_for_each(|output| stdout_target::check(output, &self.options()))
    }
}

impl Input {
    /// Reads the selected part of `source`.
    pub(crate) fn read(&self, source: &str, job: &Job<'_>) -> Result<Scene, Diagnostic> {
        self.part.expect_point_cache([source])?;
        dermis::select(job.read(source, &self.part.read_options())?, &self.selection()).in_file(source)
    }

    pub(crate) fn selection(&self) -> Selection {
        Selection { rest_frame: self.rest_frame, ..self.part.selection(self.clip.clone()) }
    }
}

impl InputPart {
    pub(crate) fn read_options(&self) -> ReadOptions {
        let options =
            ReadOptions { frame_rate_hz: self.fps, topology: self.topology.clone(), ..ReadOptions::default() };
        self.units.applied(options)
    }

    pub(crate) fn selection(&self, clip: Option<String>) -> Selection {
        Selection { mesh: self.mesh.clone(), clip, frames: self.frames, frame_rate_hz: self.fps, rest_frame: None }
    }

    /// Rejects --topology unless one of `sources` is a format without faces.
    pub(crate) fn expect_point_cache<'a>(&self, sources: impl IntoIterator<Item = &'a str>) -> Result<(), Diagnostic> {
        let is_cache = |source| Format::of_path(Path::new(source)).is_ok_and(|format| !format.holds.faces);
        if self.topology.is_none() || sources.into_iter().any(is_cache) {
            return Ok(());
        }
        Err(Diagnostic::new("--topology has no effect: the input is not a point cache (.pc2, .mdd)")
            .hint("omit --topology: other formats contain their own faces"))
    }
}

/// Rejects options without effect. Each entry states whether the option is given, whether it has an effect, its name,
/// and the condition for the effect.
pub(crate) fn expect_effect<const N: usize>(options: [(bool, bool, &str, &str); N]) -> Result<(), Diagnostic> {
    match options.into_iter().find(|(given, acts, ..)| *given && !acts) {
        Some((_, _, option, condition)) => {
            let message = format!("{option} has an effect only {condition}");
            Err(Diagnostic::new(message).hint(format!("omit {option}")))
        }
        None => Ok(()),
    }
}
