//! Arguments of `dermis skin` that concern a given rig or engine.

use std::path::Path;

use dermis::io::Format;
use dermis::skin::{RigOptions, RigReport};
use dermis::{Engine, EngineProfile};
use serde::Serialize;

use super::args::Args;
use crate::diagnostic::Diagnostic;
use crate::numbers::{counted, measured};
use crate::options::{count, expect_effect};

/// Use of the rig of `--rig`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rig")]
#[group(id = "Rig", multiple = true)]
pub(crate) struct RigArgs {
    /// Add N helper bones below the joints of the rig, for motion that the joints do not reproduce [default: 0]
    #[arg(long, value_name = "N", value_parser = count, requires = "rig")]
    pub(super) helpers: Option<usize>,
    /// Keep the weights of the rig; they are only scaled to make room for helper bones
    #[arg(long, requires = "rig", conflicts_with_all = ["weights", "refine"])]
    pub(super) lock_weights: bool,
    /// Solve for joint rotations from the frames, with fixed bone lengths, instead of using the clips of the rig
    #[arg(long, requires = "rig", conflicts_with_all = ["weights", "refine"])]
    pub(super) rotations_only: bool,
}

impl RigArgs {
    /// Options of the rig.
    pub(super) fn options(&self) -> RigOptions {
        RigOptions {
            rotations_only: self.rotations_only,
            lock_weights: self.lock_weights,
            helpers: self.helpers.unwrap_or(0),
        }
    }
}

/// Rig of `--rig` in the summary.
#[derive(Debug, Serialize)]
pub(super) struct GivenRig {
    /// Parent of each helper bone.
    helpers: Vec<String>,
    /// Distortion without the helper bones.
    distortion_percent_rig: f64,
}

impl GivenRig {
    pub(super) fn new(report: &RigReport) -> Self {
        Self { helpers: report.helper_parents.clone(), distortion_percent_rig: report.distortion_percent_rig }
    }

    /// Description of the helper bones; `None` if there are none.
    pub(super) fn row(&self) -> Option<String> {
        let mut parents = self.helpers.clone();
        parents.sort();
        parents.dedup();
        let (bones, joints) = (counted(self.helpers.len(), "bone", "bones"), counted(parents.len(), "joint", "joints"));
        let without = measured(self.distortion_percent_rig);
        (!self.helpers.is_empty()).then(|| format!("{bones} under {joints}; {without} % distortion without them"))
    }
}

impl Args {
    /// Profile of the engine, if one is given.
    pub(super) fn profile(&self) -> Option<EngineProfile> {
        self.engine.map(|engine| Engine::from(engine).profile())
    }

    /// Rejects options that have no effect on a given rig.
    pub(super) fn check_rig(&self) -> Result<(), Diagnostic> {
        let smooth = self.given.helpers.is_some() || self.given.rotations_only && !self.given.lock_weights;
        let rig = self.bones.rig.is_some();
        expect_effect([
            (
                self.skin.bone_model.is_some() && rig,
                self.given.helpers.is_some(),
                "--bone-model",
                "without --rig, or with --helpers",
            ),
            (
                self.skin.smoothness.is_some() && rig,
                smooth,
                "--smoothness",
                "without --rig, or with --helpers or --rotations-only",
            ),
        ])
    }

    /// Units in which the engine expects `output`; `None` if there is no engine, or if the format has fixed units.
    pub(super) fn engine_units(&self, output: &Path) -> Option<dermis::mesh::Units> {
        let format = Format::of_path(output).ok()?;
        // A given rig has its own units.
        self.profile().filter(|_| format.holds.all_units && self.bones.rig.is_none()).map(|profile| profile.units)
    }
}
