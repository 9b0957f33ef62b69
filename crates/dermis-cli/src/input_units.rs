//! Units, up axis and scale of inputs, shared by the commands that read meshes.

use clap::ValueEnum;
use dermis::io::ReadOptions;
use dermis::mesh::{Units, UpAxis};

use crate::parse::positive;

/// Corrections of the units of an input.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputUnits {
    /// Multiply all lengths of the input by this factor [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = positive)]
    scale: Option<f64>,
    /// Set the unit of length of the input [default: as stated in the file]
    #[arg(long, value_name = "UNIT")]
    units: Option<UnitName>,
    /// Set the up axis of the input [default: as stated in the file]
    #[arg(long, value_name = "AXIS")]
    up: Option<AxisName>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum UnitName {
    M,
    Cm,
    Mm,
    In,
    Ft,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AxisName {
    X,
    Y,
    Z,
}

impl InputUnits {
    /// `options` with the corrections.
    pub(crate) fn applied(&self, options: ReadOptions) -> ReadOptions {
        let metres = |unit| match unit {
            UnitName::M => 1.0,
            UnitName::Cm => 0.01,
            UnitName::Mm => 0.001,
            UnitName::In => 0.0254,
            UnitName::Ft => 0.3048,
        };
        let axis = |axis| match axis {
            AxisName::X => UpAxis::X,
            AxisName::Y => UpAxis::Y,
            AxisName::Z => UpAxis::Z,
        };
        let units = Units { metres_per_unit: self.units.map(metres), up_axis: self.up.map(axis) };
        ReadOptions { scale: self.scale, units, ..options }
    }
}
