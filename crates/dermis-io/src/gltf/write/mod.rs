//! Writer of glTF 2.0.

mod animations;
mod deformers;
mod file;
mod levels;
mod materials;
mod object;
mod skin;
mod surface;

use std::collections::BTreeSet;

use dermis_math::progress::Progress;
use dermis_mesh::{Note, Scene, Units, UpAxis};

use self::animations::Animations;
use self::file::{GltfFile, push};
use self::skin::Skeleton;
use super::schema::{Asset, AssetMark, Node, NodeMark, SceneNodes};
use super::units;
use crate::error::Error;
use crate::output::Job;

/// Writer of a scene.
struct Writer<'a> {
    file: GltfFile,
    materials: materials::Written,
    animations: Animations,
    skeletons: Vec<Skeleton>,
    /// Nodes in the scene's own units.
    placed: Vec<usize>,
    /// Nodes of skinned meshes, whose positions are those of their joints.
    skinned: Vec<usize>,
    notes: Vec<Note>,
    /// Extensions that the file uses.
    extensions: BTreeSet<&'static str>,
    tick: Tick<'a>,
}

/// Progress of the work.
struct Tick<'a> {
    progress: &'a dyn Progress,
    done: usize,
    total: usize,
}

/// Writes `scene` as a `.glb`, or as a `.gltf` with a `.bin` file.
pub(crate) fn write(scene: &Scene, job: &mut Job<'_>) -> Result<(), Error> {
    let total = scene.objects.iter().map(object::step_count).sum();
    let has_data = scene.objects.iter().any(|object| object.mesh.point_count() > 0 || object.rig.is_some());
    let mut writer = Writer {
        file: GltfFile::create(job.target, has_data, job.output)?,
        materials: materials::Written::default(),
        animations: Animations::default(),
        skeletons: Vec::new(),
        placed: Vec::new(),
        skinned: Vec::new(),
        notes: Vec::new(),
        extensions: BTreeSet::new(),
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
            let node = Node {
                name: "units".to_owned(),
                children: roots,
                rotation: (rotation != glam::DQuat::IDENTITY).then(|| rotation.to_array()),
                scale: (scale != 1.0).then_some([scale; 3]),
                extras: NodeMark { units: true }.into(),
                ..Node::default()
            };
            roots = vec![push(&mut self.file.root.nodes, node)];
        }
        roots.extend(self.skinned);
        let root = &mut self.file.root;
        root.asset = asset(units);
        root.scenes = vec![SceneNodes { nodes: roots }];
        root.extensions_used.extend(self.extensions.into_iter().map(str::to_owned));
        self.file.finish()?;
        Ok(self.notes)
    }
}

fn asset(units: Units) -> Asset {
    let generator = concat!("dermis ", env!("CARGO_PKG_VERSION")).to_owned();
    let mut asset = Asset { version: "2.0".to_owned(), generator, ..Asset::default() };
    if units != (Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) }) {
        let up_axis = units.up_axis.map(|axis| units::axis_name(axis).to_owned());
        asset.extras = AssetMark { metres_per_unit: units.metres_per_unit, up_axis }.into();
    }
    asset
}
