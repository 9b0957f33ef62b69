//! Body model of a skin without a rig: a skeleton inside it and bounded biharmonic weights of its bones.

use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::{Note, TriMesh};

use super::LayeredError;
use super::binding::SkinBinding;
use super::build::{Mesher, fill, segments};
use dermis_body::rigging::Skeleton;
use dermis_body::{BodyModel, BodyParts, JointPlacement};
use dermis_tet::bone_weights::{BoneWeightsOptions, embedded_weights, weights};

/// A skin with its generated rig.
#[derive(Debug, Clone)]
pub struct RiggedSkin {
    /// Body model.
    pub body: BodyModel,
    /// Source of the tetrahedra in which the weights were computed.
    pub mesher: Mesher,
    /// Assumptions and omissions.
    pub notes: Vec<Note>,
}

/// Rigs `skin` with `skeleton`.
pub fn rigged(
    skin: &TriMesh,
    skeleton: &Skeleton,
    mesher: Mesher,
    options: &BoneWeightsOptions,
    progress: &dyn Progress,
) -> Result<RiggedSkin, LayeredError> {
    let mut notes = Vec::new();
    let filled = fill(skin, &segments(&skeleton.bones()), &mesher, progress, &mut notes)?;
    let count = skin.point_count();
    let (found, mesh, mesher) = match &filled.binding {
        SkinBinding::Nodes => {
            let nodes: Vec<u32> = (0..count as u32).collect();
            let found = weights(&filled.tets, &nodes, skeleton, options, progress)?;
            // The mesher can separate points that coincide.
            let moved = skin.with_points(filled.tets.nodes()[..count].to_vec())?;
            (found, moved, Mesher::Given(filled.tets))
        }
        SkinBinding::Embedded(skin_in_cells) => {
            let found = embedded_weights(&filled.tets, skin_in_cells, skin.triangles(), skeleton, options, progress)?;
            (found, skin.clone(), mesher)
        }
    };
    notes.extend(found.notes);
    let body = BodyModel::new(BodyParts {
        mesh: Arc::new(mesh),
        joints: skeleton.joints().to_vec(),
        placement: JointPlacement::Given { rest: skeleton.positions().to_vec(), offsets: Vec::new() },
        weights: found.weights,
        shapes: Vec::new(),
        pose_shapes: Vec::new(),
    })?;
    Ok(RiggedSkin { body, mesher, notes })
}
