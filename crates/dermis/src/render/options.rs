//! Options of pictures.

use std::fmt;
use std::str::FromStr;

pub use dermis_render::Backdrop;
use dermis_render::View;

/// Options of [`crate::render()`].
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "independent options")]
pub struct RenderOptions {
    /// Contents of the picture, or of its only panel.
    pub panel: PanelOptions,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Panels per row; `None`: all in one row.
    pub columns: Option<usize>,
    /// The backdrop.
    pub backdrop: Backdrop,
    /// Draw a floor with shadows below the lowest point of all frames.
    pub floor: bool,
    /// Draw the edges of the polygons.
    pub wireframe: bool,
    /// Draw the joints as octahedra, over the surface.
    pub skeleton: bool,
    /// Normals of the surface.
    pub normals: Normals,
    /// Use the same scale for all panels, so that they can be compared. Otherwise each shape fills its panel.
    pub same_scale: bool,
    /// Value of the last colour of a quantity, in the unit of its legend; `None`: the 98th percentile of all frames.
    pub heat_max: Option<f64>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            panel: PanelOptions::default(),
            width: 1600,
            height: 1200,
            columns: None,
            backdrop: Backdrop::Light,
            floor: true,
            wireframe: false,
            skeleton: false,
            normals: Normals::File,
            same_scale: true,
            heat_max: None,
        }
    }
}

/// Contents of a panel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PanelOptions {
    /// Colours of the surface.
    pub look: Look,
    /// Direction of the camera.
    pub view: View,
    /// The clip: its name, a unique part of its name, or its index from 0. `None`: recorded frames, or the first clip.
    pub clip: Option<String>,
    /// The frame.
    pub frame: PanelFrame,
    /// Text below the panel.
    pub label: String,
}

/// Frame of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PanelFrame {
    /// The first frame, or the rest pose if the scene does not move.
    #[default]
    First,
    /// The rest pose: the stored pose of a rig, or the mesh of the file.
    Rest,
    /// Frame of this number; negative numbers count from the end.
    Number(i64),
}

impl FromStr for PanelFrame {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "rest" => Ok(Self::Rest),
            number => number.parse().map(Self::Number).map_err(|_| "it must be a whole number or 'rest'".to_owned()),
        }
    }
}

/// Colours of a surface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Look {
    /// Colours, textures and vertex colours of the file; clay if it has none.
    #[default]
    Material,
    /// One bright matte colour.
    Clay,
    /// Directions of the normals.
    Normals,
    /// A colour for each joint, mixed by the weights.
    Bones,
    /// A quantity.
    Heat(Heat),
}

/// A quantity on a surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heat {
    /// Distance of each point from the reference, in percent of the diagonal of the rest pose.
    Error,
    /// Change of the volume of each shell since the rest pose, in percent.
    Volume,
    /// Displacement by the layers along the normal, in percent of the diagonal of the rest pose.
    Layers,
    /// Weight of a joint, given by its name or a unique part of its name.
    Weight(String),
    /// An attribute of the points.
    Attribute(String),
}

impl Heat {
    /// Returns whether both quantities can have the same legend; weights of different joints can.
    pub(super) fn has_legend_of(&self, other: &Self) -> bool {
        self == other || matches!((self, other), (Self::Weight(_), Self::Weight(_)))
    }
}

impl FromStr for Heat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "error" => Ok(Self::Error),
            None if text == "volume" => Ok(Self::Volume),
            None if text == "layers" => Ok(Self::Layers),
            Some(("weight", joint)) => Ok(Self::Weight(joint.to_owned())),
            Some(("attribute", name)) => Ok(Self::Attribute(name.to_owned())),
            _ => Err("it must be error, volume, layers, weight:JOINT or attribute:NAME".to_owned()),
        }
    }
}

impl fmt::Display for Heat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => f.write_str("error"),
            Self::Volume => f.write_str("volume"),
            Self::Layers => f.write_str("layers"),
            Self::Weight(joint) => write!(f, "weight:{joint}"),
            Self::Attribute(name) => write!(f, "attribute:{name}"),
        }
    }
}

/// Normals of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Normals {
    /// Smooth or flat as in the file; smooth if it has no normals.
    #[default]
    File,
    /// Smooth everywhere.
    Smooth,
    /// Flat triangles.
    Flat,
}
