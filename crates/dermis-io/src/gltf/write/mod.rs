//! Writing glTF 2.0: see the parts.

mod animations;
mod deformers;
mod file;
mod materials;
mod object;
mod skin;
mod surface;

use dermis_math::progress::Progress;
use dermis_mesh::{Note, Scene, Units, UpAxis};
use serde_json::{Map, Value, json};

use self::animations::Animations;
use self::file::GltfFile;
use self::skin::Skeleton;
use super::{DEFORMERS, units};
use crate::error::Error;
use crate::output::Job;

/// A scene on its way into a file.
struct Writer<'a> {
    file: GltfFile,
    materials: materials::Written,
    animations: Animations,
    skeletons: Vec<Skeleton>,
    /// Nodes that stand in the scene's own units.
    placed: Vec<usize>,
    /// Nodes of skinned meshes, which their joints place.
    skinned: Vec<usize>,
    notes: Vec<Note>,
    has_deformers: bool,
    tick: Tick<'a>,
}

/// Where the work stands.
struct Tick<'a> {
    progress: &'a dyn Progress,
    done: usize,
    total: usize,
}

/// Writes `scene`: a `.glb`, or a `.gltf` with a `.bin` beside it.
pub(crate) fn write(scene: &Scene, job: &mut Job<'_>) -> Result<(), Error> {
    let total = scene.objects.iter().map(object::step_count).sum();
    let has_data = scene.objects.iter().any(|object| object.mesh.point_count() > 0);
    let mut writer = Writer {
        file: GltfFile::create(job.target, has_data, job.output)?,
        materials: materials::Written::default(),
        animations: Animations::default(),
        skeletons: Vec::new(),
        placed: Vec::new(),
        skinned: Vec::new(),
        notes: Vec::new(),
        has_deformers: false,
        tick: Tick { progress: job.progress, done: 0, total },
    };
    for (number, object) in scene.objects.iter().enumerate() {
        writer.object(object, number).map_err(|error| error.at(object.name.clone()))?;
    }
    job.notes.extend(writer.finish(scene.units)?);
    Ok(())
}

impl Writer<'_> {
    fn finish(mut self, units: Units) -> Result<Vec<Note>, Error> {
        let units = Units { metres_per_unit: units.metres_per_unit.filter(|m| m.is_finite() && *m > 0.0), ..units };
        self.animations.finish(&mut self.file);
        let mut roots = self.placed;
        let (rotation, scale) = units::upright(units);
        if !roots.is_empty() && (rotation != glam::DQuat::IDENTITY || scale != 1.0) {
            let mut node = json!({ "name": "units", "children": roots, "extras": { "dermis": { "units": true } } });
            if rotation != glam::DQuat::IDENTITY {
                node["rotation"] = json!(rotation.as_quat().to_array());
            }
            if scale != 1.0 {
                node["scale"] = json!([scale, scale, scale]);
            }
            roots = vec![self.file.push("nodes", node)];
        }
        roots.extend(self.skinned);
        let mut root = Map::new();
        root.insert("asset".into(), asset(units));
        root.insert("scene".into(), json!(0));
        let scene = if roots.is_empty() { json!({}) } else { json!({ "nodes": roots }) };
        root.insert("scenes".into(), json!([scene]));
        if self.has_deformers {
            root.insert("extensionsUsed".into(), json!([DEFORMERS]));
        }
        self.file.finish(root)?;
        Ok(self.notes)
    }
}

fn asset(units: Units) -> Value {
    let mut asset = json!({ "version": "2.0", "generator": concat!("dermis ", env!("CARGO_PKG_VERSION")) });
    if units != (Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) }) {
        let mut mark = Map::new();
        if let Some(metres) = units.metres_per_unit {
            mark.insert("metres_per_unit".into(), json!(metres));
        }
        if let Some(axis) = units.up_axis {
            mark.insert("up_axis".into(), json!(units::axis_name(axis)));
        }
        asset["extras"] = json!({ "dermis": mark });
    }
    asset
}
