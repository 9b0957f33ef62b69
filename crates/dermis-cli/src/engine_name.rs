//! Values of `--engine`.

use clap::ValueEnum;
use dermis::Engine;

/// The engine that plays the asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// Unreal Engine 5
    Unreal,
    /// Unity 2022 or later
    Unity,
    /// Godot 4
    Godot,
    /// three.js
    Three,
    /// Bevy
    Bevy,
    /// Blender 4 or later
    Blender,
    /// Viewers in browsers and on mobile devices
    Web,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Unreal => Self::Unreal,
            EngineName::Unity => Self::Unity,
            EngineName::Godot => Self::Godot,
            EngineName::Three => Self::Three,
            EngineName::Bevy => Self::Bevy,
            EngineName::Blender => Self::Blender,
            EngineName::Web => Self::Web,
        }
    }
}
