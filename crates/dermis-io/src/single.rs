//! The one object that a format of single objects can hold, and what the format leaves out of it.

use std::borrow::Cow;
use std::path::Path;

use dermis_mesh::{Note, Object, Scene, merge};
use glam::Vec3;

use crate::error::Error;

/// What a format has room for beside points, faces, normals, one UV set and one colour set.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a separate yes or no about a format")]
pub(crate) struct Holds {
    /// Joints, skin weights, shapes and clips.
    pub rig: bool,
    /// Tetrahedra.
    pub tets: bool,
    /// Scalars per point.
    pub attributes: bool,
    /// Tangents, and any number of UV and colour sets.
    pub all_sets: bool,
    /// Normals, UVs and colours at all.
    pub surface: bool,
    /// Materials.
    pub materials: bool,
    /// The length of a unit and the up axis.
    pub units: bool,
}

/// The scene's object (merged where there are several), and notes on what the format will not hold.
pub(crate) fn single(scene: &Scene, holds: Holds) -> Result<(Object, Vec<Note>), Error> {
    let (object, mut notes) = merge::single(scene).map_err(|error| {
        Error::from(error).with_hint("write one object with --mesh, or a format that holds several (.glb, .usda, .abc)")
    })?;
    let left_out = left_out(&object, scene, holds);
    if !left_out.is_empty() {
        notes.push(Note::at(&object.name, format!("the format does not hold {}", left_out.join(", "))));
    }
    if object.clips.len() > 1 && !holds.rig {
        let names: Vec<&str> = object.clips[1..].iter().map(|clip| clip.name()).collect();
        notes.push(Note::at(&object.name, format!("only the first clip is written, not {}", names.join(", "))));
    }
    Ok((object, notes))
}

fn left_out(object: &Object, scene: &Scene, holds: Holds) -> Vec<&'static str> {
    let mut left_out = Vec::new();
    let mut unless = |held: bool, present: bool, what| {
        if present && !held {
            left_out.push(what);
        }
    };
    unless(holds.rig, object.rig.is_some(), "rigs");
    unless(holds.tets, object.tets.is_some(), "tetrahedra");
    unless(holds.attributes, !object.attributes.is_empty(), "scalars per point");
    unless(
        holds.units,
        scene.units.metres_per_unit.is_some() || scene.units.up_axis.is_some(),
        "units and the up axis",
    );
    if let Some(layout) = object.mesh.layout() {
        unless(holds.surface, layout.normals.is_some(), "normals");
        unless(holds.surface, !layout.uvs.is_empty(), "UVs");
        unless(holds.surface, !layout.colors.is_empty(), "colours");
        unless(holds.all_sets || !holds.surface, layout.uvs.len() > 1, "a second UV set");
        unless(holds.all_sets || !holds.surface, layout.colors.len() > 1, "a second colour set");
        unless(holds.all_sets, layout.tangents.is_some(), "tangents");
        unless(holds.materials, !layout.materials.is_empty(), "materials");
    }
    left_out
}

/// The positions to write where a format holds one pose: the rest pose, or the only frame.
pub(crate) fn still<'a>(object: &'a Object, target: &Path, hint: &str) -> Result<Cow<'a, [Vec3]>, Error> {
    match object.base_motion()? {
        None => Ok(Cow::Borrowed(object.mesh.points())),
        Some(motion) if motion.frame_count() == 1 => Ok(Cow::Owned(motion.frame(0)?.into_owned())),
        Some(motion) => {
            let frames = motion.frame_count();
            Err(Error::unsupported(format!("one file of this format holds one pose, not {frames} frames"))
                .in_file(target)
                .with_hint(hint))
        }
    }
}
