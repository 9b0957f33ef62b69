//! Settings of a skin for an engine: bone model, influences, limits, units and axes.
//!
//! A profile describes what an engine supports with its default settings. It provides the options that the caller did
//! not set, and [`EngineProfile::problems`] lists the limits that a result exceeds. The documentation has a page for
//! each engine (`docs/engines`) with sources and tests.

use std::path::Path;

use dermis_mesh::{Units, UpAxis};
use dermis_skin::{BoneModel, Skin};

/// An engine or a class of engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum Engine {
    Unreal,
    Unity,
    Godot,
    Three,
    Bevy,
    Blender,
    /// Viewers in browsers and on mobile devices, of unknown limits.
    Web,
}

/// Features and limits of an engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EngineProfile {
    /// Name of the engine.
    pub name: &'static str,
    /// The most general supported bone model.
    pub bone_model: BoneModel,
    /// Maximum number of influences per vertex.
    pub influences: usize,
    /// Maximum number of joints of a skin; `None` if no limit is known.
    pub max_joints: Option<usize>,
    /// Maximum number of morph targets; `None` if no limit is known.
    pub max_morphs: Option<usize>,
    /// Units and up axis of its scenes. glTF is always in metres with Y up, which importers convert; formats that state
    /// their units are written in these.
    pub units: Units,
    /// Extensions of the files that it imports, the preferred one first.
    pub extensions: &'static [&'static str],
}

const METRES_Y_UP: Units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
const METRES_Z_UP: Units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Z) };
const CENTIMETRES_Z_UP: Units = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };

impl Engine {
    /// All engines.
    pub const ALL: [Self; 7] =
        [Self::Unreal, Self::Unity, Self::Godot, Self::Three, Self::Bevy, Self::Blender, Self::Web];

    /// Features and limits of the engine.
    pub fn profile(self) -> EngineProfile {
        let gltf = EngineProfile {
            name: "three.js",
            bone_model: BoneModel::Flexible,
            influences: 4,
            max_joints: None,
            max_morphs: None,
            units: METRES_Y_UP,
            extensions: &["glb", "gltf"],
        };
        match self {
            // Bone transforms are translation, rotation and scale; sections have 8-bit bone indices by default.
            Self::Unreal => EngineProfile {
                name: "Unreal",
                bone_model: BoneModel::Scaled,
                influences: 8,
                max_joints: Some(256),
                units: CENTIMETRES_Z_UP,
                extensions: &["fbx", "glb", "gltf"],
                ..gltf
            },
            // Four bones per vertex in the default quality settings.
            Self::Unity => EngineProfile {
                name: "Unity",
                bone_model: BoneModel::Scaled,
                extensions: &["fbx", "glb", "gltf"],
                ..gltf
            },
            Self::Godot => EngineProfile { name: "Godot", ..gltf },
            Self::Three => gltf,
            // A uniform buffer of 256 matrices, if the device has no storage buffers.
            Self::Bevy => EngineProfile { name: "Bevy", max_joints: Some(256), max_morphs: Some(256), ..gltf },
            Self::Blender => EngineProfile {
                name: "Blender",
                influences: 8,
                units: METRES_Z_UP,
                extensions: &["glb", "gltf", "fbx", "usdc", "usda", "usd", "usdz"],
                ..gltf
            },
            // Uniform buffers of small devices hold few matrices, and old viewers blend eight targets.
            Self::Web => EngineProfile {
                name: "web",
                bone_model: BoneModel::Scaled,
                max_joints: Some(64),
                max_morphs: Some(8),
                ..gltf
            },
        }
    }
}

impl EngineProfile {
    /// Description of the profile in one line.
    pub fn summary(&self) -> String {
        let limit = |count: Option<usize>, what: &str| {
            count.map_or_else(|| format!("any number of {what}"), |count| format!("at most {count} {what}"))
        };
        let unit = if self.units.metres_per_unit == Some(0.01) { "centimetres" } else { "metres" };
        let axis = if self.units.up_axis == Some(UpAxis::Z) { "Z" } else { "Y" };
        format!(
            "{} bones, {} influences, {}, {}, {unit}, {axis} up",
            self.bone_model.name(),
            self.influences,
            limit(self.max_joints, "joints"),
            limit(self.max_morphs, "morph targets"),
        )
    }

    /// Limits of the engine that `skin` exceeds, and a format that it does not import.
    pub fn problems(&self, skin: &Skin, output: Option<&Path>) -> Vec<String> {
        let mut problems = Vec::new();
        let mut expect = |found: usize, limit: Option<usize>, what: &str| {
            if let Some(limit) = limit.filter(|&limit| found > limit) {
                problems.push(format!("{found} {what}; {} supports {limit}", self.name));
            }
        };
        expect(skin.rig().joints().len(), self.max_joints, "joints");
        expect(skin.rank(), self.max_morphs, "morph targets");
        expect(skin.rig().weights().max_influences(), Some(self.influences), "influences per vertex");
        let model = BoneModel::of_skin(skin);
        if rank(model) > rank(self.bone_model) {
            let (found, supported) = (model.name(), self.bone_model.name());
            problems.push(format!("{found} bones; {} supports {supported} bones", self.name));
        }
        if let Some(extension) = output.map(extension).filter(|found| !self.extensions.contains(&found.as_str())) {
            let names = self.extensions.join(", .");
            problems.push(format!("{} does not import .{extension}; it imports .{names}", self.name));
        }
        problems
    }
}

fn extension(path: &Path) -> String {
    path.extension().map_or_else(String::new, |extension| extension.to_string_lossy().to_ascii_lowercase())
}

/// Order of the bone models: each contains those before it.
fn rank(model: BoneModel) -> usize {
    match model {
        BoneModel::Rigid => 0,
        BoneModel::Scaled => 1,
        BoneModel::Flexible => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_has_a_name_a_format_and_at_least_four_influences() {
        for profile in Engine::ALL.map(Engine::profile) {
            assert!(!profile.name.is_empty() && !profile.extensions.is_empty(), "{profile:?}");
            assert!((4..=8).contains(&profile.influences), "{profile:?}");
            assert!(profile.summary().contains("influences"), "{}", profile.summary());
        }
    }
}
