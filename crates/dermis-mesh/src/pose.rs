//! Posing: points of a rigged mesh in one frame of a clip, by blend shapes and linear blend skinning.
//!
//! `p' = Σ_b w_b · M_b · B_b⁻¹ · (p + Σ_m s_m · o_m)`, with weights w, joint transforms M, inverse binds B⁻¹, shape
//! weights s and offsets o.
//!
//! Sums are computed in f64 and rounded once: for characters in centimetres, hundreds of units from the origin, f32
//! sums would be less accurate than those of other programs. Four f64 fill an AVX2 register, which is used if the
//! processor supports it. Products and sums are not fused, so that the results are bitwise identical on all processors.
//! Points are independent of each other, so the result does not depend on the number of threads.

use std::sync::Arc;

use glam::{DAffine3, Vec3};
use multiversion::multiversion;
use rayon::prelude::*;

use crate::clip::Clip;
use crate::rig::Rig;
use crate::sequence::{MeshSequence, SequenceError};
use crate::tri_mesh::TriMesh;

/// Number of points that are posed together; their f64 positions fit into the L1 cache.
const BLOCK: usize = 512;
/// Minimum number of blocks per thread.
const BLOCKS_PER_THREAD: usize = 8;

/// x, y, z and 1 or 0, as wide as a register.
type Lanes = [f64; 4];
/// Columns of an affine transform, the translation last.
type Columns = [Lanes; 4];

/// Writes the posed points of frame `frame` of `clip` to `out`.
///
/// # Panics
/// If `rig` and `clip` do not belong to `mesh`, `clip` has no frame `frame`, or `out` does not hold all points.
pub fn pose_into(mesh: &TriMesh, rig: &Rig, clip: &Clip, frame: usize, out: &mut [Vec3]) {
    pose_with(mesh, rig, clip.transforms(frame), clip.shape_weights(frame), out);
}

/// Writes the points of `mesh`, posed by a transform per joint and a weight per shape, to `out`.
///
/// # Panics
/// If `rig` does not belong to `mesh`, or `out` does not hold all points.
pub fn pose_with(mesh: &TriMesh, rig: &Rig, transforms: &[DAffine3], shape_weights: &[f32], out: &mut [Vec3]) {
    assert_eq!(out.len(), mesh.point_count(), "the buffer holds one frame");
    let shapes: Vec<(f64, &[Vec3])> = active_shapes(rig, shape_weights).collect();
    let palette: Vec<Columns> = palette(rig, transforms).collect();
    out.par_chunks_mut(BLOCK).with_min_len(BLOCKS_PER_THREAD).enumerate().for_each(|(block, out)| {
        let first = block * BLOCK;
        let mut shaped = [[0.0; 4]; BLOCK];
        let shaped = &mut shaped[..out.len()];
        shape_block(&mesh.points()[first..], &shapes, first, shaped);
        if !palette.is_empty() {
            let (starts, joints, weights) = rig.weights().rows_from(first);
            skin_block(&palette, starts, joints, weights, shaped);
        }
        for (point, &[x, y, z, _]) in out.iter_mut().zip(&*shaped) {
            *point = Vec3::new(x as f32, y as f32, z as f32);
        }
    });
}

fn active_shapes<'a>(rig: &'a Rig, weights: &'a [f32]) -> impl Iterator<Item = (f64, &'a [Vec3])> {
    let weighted = rig.shapes().iter().zip(weights);
    weighted.filter(|(_, weight)| **weight != 0.0).map(|(shape, &weight)| (f64::from(weight), &shape.offsets[..]))
}

/// Transform of each joint, applied to points of the rest mesh.
fn palette(rig: &Rig, transforms: &[DAffine3]) -> impl Iterator<Item = Columns> {
    rig.joints().iter().zip(transforms).map(|(joint, pose)| {
        let DAffine3 { matrix3: m, translation } = *pose * joint.inverse_bind;
        [m.x_axis.extend(0.0), m.y_axis.extend(0.0), m.z_axis.extend(0.0), translation.extend(1.0)].map(Into::into)
    })
}

/// Writes the points `rest`, displaced by the blend shapes, to `shaped`; `first` is the index of the first of them.
#[multiversion(targets("x86_64+avx2"))]
fn shape_block(rest: &[Vec3], shapes: &[(f64, &[Vec3])], first: usize, shaped: &mut [Lanes]) {
    for (position, rest) in shaped.iter_mut().zip(rest) {
        *position = [f64::from(rest.x), f64::from(rest.y), f64::from(rest.z), 1.0];
    }
    for (weight, offsets) in shapes {
        for (position, offset) in shaped.iter_mut().zip(&offsets[first..]) {
            position[0] += weight * f64::from(offset.x);
            position[1] += weight * f64::from(offset.y);
            position[2] += weight * f64::from(offset.z);
        }
    }
}

/// Blends the joint transforms of each point; point i has the joints and weights `starts[i]..starts[i + 1]`.
#[multiversion(targets("x86_64+avx2"))]
fn skin_block(palette: &[Columns], starts: &[usize], joints: &[u32], weights: &[f32], positions: &mut [Lanes]) {
    for (ends, position) in starts.windows(2).zip(positions) {
        let row = ends[0]..ends[1];
        let [x, y, z, _] = *position;
        let mut sum = [0.0; 4];
        for (&joint, &weight) in joints[row.clone()].iter().zip(&weights[row]) {
            let [right, up, back, origin] = &palette[joint as usize];
            let weight = f64::from(weight);
            for lane in 0..4 {
                sum[lane] += weight * (right[lane] * x + up[lane] * y + back[lane] * z + origin[lane]);
            }
        }
        // All four components are stored: with three, the compiler would not use whole registers.
        *position = sum;
    }
}

/// Returns all frames of `clip` as a mesh sequence in memory.
pub fn bake(mesh: &Arc<TriMesh>, rig: &Rig, clip: &Clip) -> Result<MeshSequence, SequenceError> {
    let points = mesh.point_count();
    let mut positions = vec![Vec3::ZERO; points * clip.frame_count()];
    if points > 0 {
        positions.par_chunks_exact_mut(points).enumerate().for_each(|(frame, out)| {
            pose_into(mesh, rig, clip, frame, out);
        });
    }
    let sequence = MeshSequence::new(Arc::clone(mesh), positions, clip.frame_rate_hz())?;
    Ok(sequence.starting_at(clip.start_seconds()).named(clip.name()))
}

/// Returns the frames of `clip` as a mesh sequence that poses each frame when it is read.
pub fn bake_lazily(mesh: &Arc<TriMesh>, rig: &Arc<Rig>, clip: &Arc<Clip>) -> Result<MeshSequence, SequenceError> {
    let (shape, rig, poses) = (Arc::clone(mesh), Arc::clone(rig), Arc::clone(clip));
    let read = move |frame: usize, out: &mut [Vec3]| {
        pose_into(&shape, &rig, &poses, frame, out);
        Ok(())
    };
    let sequence = MeshSequence::from_fn(Arc::clone(mesh), clip.frame_count(), clip.frame_rate_hz(), read)?;
    Ok(sequence.starting_at(clip.start_seconds()).named(clip.name()))
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3};
    use proptest::prelude::*;

    use super::*;
    use crate::rig::{Joint, Shape, SkinWeights};
    use crate::tri_mesh::bounds;

    /// Character of `points` points around `offset`, with 5 joints, up to 6 influences and 2 blend shapes.
    fn character(points: usize, offset: DVec3, turn: f64) -> (Arc<TriMesh>, Rig, Clip) {
        let wave = |k: usize, step: f64| DVec3::new(k as f64 * step, k as f64 * 0.3, k as f64 + 0.5).map(f64::sin);
        let positions = (0..points).map(|k| (offset + 90.0 * wave(k, 0.7)).as_vec3()).collect();
        let mesh = Arc::new(TriMesh::new(positions, vec![]).unwrap());
        let bind = |k: usize| DAffine3::from_translation(offset + 90.0 * wave(k, 1.9));
        let joints: Vec<Joint> = (0..5).map(|k| Joint::at("joint", None, bind(k))).collect();
        let row = |k: usize| (0..k % 7).map(move |i| (((k + i) % 5) as u32, 1.0 / (k % 7) as f32));
        let offsets = |step: f64| (0..points).map(|k| (3.0 * wave(k, step)).as_vec3()).collect();
        let shape = |step: f64| Shape { name: String::new(), offsets: offsets(step), normal_offsets: None };
        let weights = SkinWeights::from_rows((0..points).map(row));
        let rig = Rig::new(&mesh, joints, weights, vec![shape(0.2), shape(1.1)]).unwrap();
        let move_joint = |k: usize| bind(k) * DAffine3::from_axis_angle(DVec3::ONE.normalize(), turn * k as f64);
        let clip = Clip::new(&rig, "turn", 24.0, (0..5).map(move_joint).collect(), vec![0.5, -1.5]).unwrap();
        (mesh, rig, clip)
    }

    fn in_f64(mesh: &TriMesh, rig: &Rig, clip: &Clip) -> Vec<DVec3> {
        let pose = |(point, rest): (usize, &Vec3)| {
            let shapes = rig.shapes().iter().zip(clip.shape_weights(0));
            let shaped =
                shapes.fold(rest.as_dvec3(), |p, (shape, &w)| p + f64::from(w) * shape.offsets[point].as_dvec3());
            let row = rig.weights().row(point).map(|(joint, weight)| {
                let joint = joint as usize;
                f64::from(weight)
                    * (clip.transforms(0)[joint] * rig.joints()[joint].inverse_bind).transform_point3(shaped)
            });
            row.sum()
        };
        mesh.points().iter().enumerate().map(pose).collect()
    }

    fn posed(mesh: &TriMesh, rig: &Rig, clip: &Clip) -> Vec<Vec3> {
        let mut out = vec![Vec3::NAN; mesh.point_count()];
        pose_into(mesh, rig, clip, 0, &mut out);
        out
    }

    #[test]
    fn every_point_of_any_number_of_blocks_is_posed() {
        for points in [1, BLOCK - 1, BLOCK, BLOCK + 1, 20 * BLOCK + 3] {
            let (mesh, rig, clip) = character(points, DVec3::ZERO, 0.3);
            let expected: Vec<Vec3> = in_f64(&mesh, &rig, &clip).into_iter().map(DVec3::as_vec3).collect();
            assert_eq!(posed(&mesh, &rig, &clip), expected, "{points} points");
        }
    }

    #[test]
    fn points_are_bitwise_identical_for_any_number_of_threads() {
        let (mesh, rig, clip) = character(20 * BLOCK, DVec3::ONE, 0.7);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| posed(&mesh, &rig, &clip))
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn points_without_joints_are_moved_by_shapes_alone() {
        let mesh = TriMesh::new(vec![Vec3::X, Vec3::Y], vec![]).unwrap();
        let shape = Shape { name: "up".into(), offsets: vec![Vec3::Z; 2], normal_offsets: None };
        let rig = Rig::new(&mesh, vec![], SkinWeights::default(), vec![shape]).unwrap();
        let clip = Clip::new(&rig, "up", 24.0, vec![], vec![0.25]).unwrap();
        assert_eq!(posed(&mesh, &rig, &clip), [Vec3::new(1.0, 0.0, 0.25), Vec3::new(0.0, 1.0, 0.25)]);
    }

    proptest! {
        #[test]
        fn agrees_with_f64_far_from_the_origin(
            offset in proptest::array::uniform3(-900.0..900.0_f64), turn in -3.0..3.0_f64
        ) {
            let (mesh, rig, clip) = character(60, offset.into(), turn);
            let found = posed(&mesh, &rig, &clip);
            let (low, high) = bounds(&found);
            for (found, expected) in found.iter().zip(in_f64(&mesh, &rig, &clip)) {
                // The only error is the final rounding to f32.
                let tolerance = 1e-6 * f64::from(low.distance(high));
                prop_assert!(found.as_dvec3().distance(expected) <= tolerance, "{found} is not {expected}");
            }
        }
    }

    #[test]
    fn shapes_are_applied_before_joints() {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::X, Vec3::ZERO], vec![]).unwrap());
        let joints = vec![Joint::at("root", None, DAffine3::from_translation(DVec3::X))];
        let shape = Shape { name: "up".into(), offsets: vec![Vec3::Y, Vec3::ZERO], normal_offsets: None };
        let weights = SkinWeights::from_rows([[(0, 1.0)], [(0, 1.0)]]);
        let rig = Rig::new(&mesh, joints, weights, vec![shape]).unwrap();
        let turn = DAffine3::from_rotation_translation(DQuat::from_rotation_z(90f64.to_radians()), DVec3::X);
        let clip = Clip::new(&rig, "turn", 24.0, vec![turn], vec![2.0]).unwrap();
        let posed = bake(&mesh, &rig, &clip).unwrap();
        // (1, 2) relative to the joint is (0, 2), rotated (−2, 0), and back in world space (−1, 0).
        let expected = [Vec3::new(-1.0, 0.0, 0.0), Vec3::new(1.0, -1.0, 0.0)];
        for (found, expected) in posed.positions().unwrap().iter().zip(expected) {
            assert!(found.distance(expected) < 1e-6, "{found}");
        }
        let lazily = bake_lazily(&mesh, &Arc::new(rig), &Arc::new(clip)).unwrap().load().unwrap();
        assert_eq!(lazily.positions(), posed.positions());
    }
}
