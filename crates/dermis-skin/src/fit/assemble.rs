//! Conversion of a fitted state to a skin: in the units of the input, with bones bound at their pivots.

use std::sync::Arc;

use dermis_mesh::reshape::reshaped;
use dermis_mesh::{Clip, Joint, Rig, SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DVec3};

use super::influences::Influences;
use super::pivot::pivots;
use super::state::State;
use super::trajectories::Trajectories;
use super::transforms::affine_at;
use crate::skin::{Skin, SkinError};

/// Name and timing of a clip.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClipInfo {
    pub(super) name: String,
    pub(super) frame_count: usize,
    pub(super) frame_rate_hz: f64,
    pub(super) start_seconds: f64,
}

/// Returns the skin of `state` in the units of the input. `joints` are the given bones; without them, bones are bound
/// at their pivots, the same for every file format.
pub(super) fn assemble(
    mesh: &TriMesh,
    trajectories: &Trajectories,
    state: &State,
    joints: Option<&[Joint]>,
    clips: &[ClipInfo],
) -> Result<Skin, SkinError> {
    let given = |p: DVec3| (p * trajectories.scale + trajectories.centre).as_vec3();
    // A rest pose that was not optimized is preserved bit by bit.
    let mesh = Arc::new(if state.rest == trajectories.rest {
        mesh.clone()
    } else {
        reshaped(mesh, state.rest.iter().map(|&p| given(p)).collect())?
    });
    let weights = SkinWeights::from_rows(state.influences.iter().map(weight_row));
    let frames: Vec<Vec<DAffine3>> = (0..trajectories.frame_count())
        .map(|frame| (0..state.bone_count()).map(|bone| bone_transform(trajectories, state, frame, bone)).collect())
        .collect();
    let joints = joints.map_or_else(|| pivot_joints(&mesh, &weights, &frames, clips), <[Joint]>::to_vec);
    let binds: Vec<DAffine3> = joints.iter().map(Joint::bind).collect();
    let rig = Rig::new(&mesh, joints, weights, Vec::new())?;
    let mut first = 0;
    let mut made = Vec::with_capacity(clips.len());
    for info in clips {
        let poses = frames[first..first + info.frame_count].iter();
        let transforms = poses.flat_map(|bones| bones.iter().zip(&binds).map(|(bone, bind)| *bone * *bind)).collect();
        let clip = Clip::new(&rig, info.name.as_str(), info.frame_rate_hz, transforms, Vec::new())?;
        made.push(Arc::new(clip.starting_at(info.start_seconds)));
        first += info.frame_count;
    }
    Ok(Skin::of(mesh, Arc::new(rig), made))
}

/// Bones without a hierarchy, bound at their pivots.
fn pivot_joints(mesh: &TriMesh, weights: &SkinWeights, frames: &[Vec<DAffine3>], clips: &[ClipInfo]) -> Vec<Joint> {
    let count = frames.first().map_or(0, Vec::len);
    let lengths: Vec<usize> = clips.iter().map(|clip| clip.frame_count).collect();
    let digits = count.saturating_sub(1).to_string().len();
    let joint = |(bone, bind): (usize, DAffine3)| Joint::at(format!("bone_{bone:0digits$}"), None, bind);
    pivots(mesh, weights, frames, &lengths).into_iter().enumerate().map(joint).collect()
}

/// Bones of a point, largest weight first; the weights sum to 1 before rounding.
fn weight_row(influences: &Influences) -> Vec<(u32, f32)> {
    let mut row: Vec<(usize, f64)> = influences.iter().filter(|(_, weight)| *weight as f32 != 0.0).collect();
    row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
    row.into_iter().map(|(bone, weight)| (bone as u32, (weight / sum) as f32)).collect()
}

/// Transform of a bone in the units of the input: with `p_n` = (p − c)/s, `F p_n + v` becomes `F p + s v + c − F c`.
fn bone_transform(trajectories: &Trajectories, state: &State, frame: usize, bone: usize) -> DAffine3 {
    let [x, y, z, offset] = affine_at(&state.transforms, frame, bone);
    let linear = DMat3::from_cols(x, y, z);
    let centre = trajectories.centre;
    DAffine3 { matrix3: linear, translation: trajectories.scale * offset + centre - linear * centre }
}
