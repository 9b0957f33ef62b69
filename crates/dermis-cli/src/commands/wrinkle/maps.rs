//! Displacement maps of `dermis wrinkle`.

use clap::ValueEnum;
use dermis::active::wrinkle::WrinkledCloth;
use dermis::wrinkle_files::{self, write_height_maps};

use super::Args;
use crate::diagnostic::Diagnostic;
use crate::job::Job;
use crate::options::Output;

/// Texels per side of maps.
pub(super) const MAP_SIZE: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MapFormat {
    /// 16 bits; grey is 0, white is the height printed in the summary, black its negative
    Png,
    /// Half floats, in scene units
    Exr,
}

/// Writes a map per frame, and the mesh if its UVs were generated.
pub(super) fn write_maps(
    args: &Args,
    output: &Output,
    format: MapFormat,
    cloth: &WrinkledCloth,
    job: &mut Job<'_>,
) -> Result<(), Diagnostic> {
    let format = match format {
        MapFormat::Png => wrinkle_files::MapFormat::Png,
        MapFormat::Exr => wrinkle_files::MapFormat::Exr,
    };
    let maps = cloth.height_maps(args.map_size.unwrap_or(MAP_SIZE))?;
    job.notes.extend(maps.notes.iter().cloned());
    let coarse = args.coarsen.map(|_| cloth.coarse());
    let target = &output.output;
    let written = job.stoppable(|watch| write_height_maps(target, &maps, coarse, format, &output.options(), watch))?;
    job.has_written(target, written);
    Ok(())
}
