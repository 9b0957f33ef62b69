//! Comparison of the kernels with posing in f64, over all properties of skins.

use std::sync::Arc;

use dermis_mesh::tri_mesh::bounds;
use dermis_mesh::{Clip, Joint, Layout, Object, Rig, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use proptest::prelude::*;

use super::kernel::{JointIndex as _, NormalRule, Run, Vectors, pose_run};
use super::*;
use crate::skin::Skin;

/// Parameters of a random character.
#[derive(Debug, Clone)]
struct Recipe {
    points: usize,
    bones: usize,
    influences: usize,
    rank: usize,
    offset: DVec3,
    /// Deviation of bones from rotations; above 1 some reflect.
    flexibility: f64,
    normal_offsets: bool,
}

impl Default for Recipe {
    fn default() -> Self {
        let (points, bones, influences) = (37, 9, 4);
        Self { points, bones, influences, rank: 0, offset: DVec3::ZERO, flexibility: 0.4, normal_offsets: false }
    }
}

fn wave(k: usize, step: f64) -> DVec3 {
    DVec3::new(k as f64 * step, k as f64 * 0.31 + step, k as f64 * 1.7 + 0.5).map(f64::sin)
}

impl Recipe {
    fn skin(&self) -> Skin {
        let points = (0..self.points).map(|k| (self.offset + 90.0 * wave(k, 0.7)).as_vec3()).collect();
        let mesh = TriMesh::new(points, vec![]).unwrap();
        let normals = (0..self.points).map(|k| wave(k, 2.3).normalize_or(DVec3::Z).as_vec3()).collect();
        let layout = Layout { normals: Some(normals), ..Layout::plain(&mesh) };
        let mesh = mesh.with_layout(layout).unwrap();
        let bind = |k: usize| DAffine3::from_translation(self.offset + 90.0 * wave(k, 1.9));
        let joints = (0..self.bones).map(|k| Joint::at("bone", None, bind(k))).collect();
        let row = |k: usize| {
            let count = k % (self.influences + 1);
            (0..count).map(move |i| (((7 * k + 13 * i) % self.bones) as u32, 1.0 / count as f32))
        };
        let vectors = |step: f64| (0..self.points).map(|k| (3.0 * wave(k, step)).as_vec3()).collect::<Vec<_>>();
        let shape = |rank: usize| Shape {
            offsets: vectors(0.2 + rank as f64),
            normal_offsets: self.normal_offsets.then(|| vectors(0.9 + rank as f64)),
            ..Shape::default()
        };
        let shapes = (0..self.rank).map(shape).collect();
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows((0..self.points).map(row)), shapes).unwrap();
        let transform = |k: usize| {
            let flexible = DMat3::from_cols(wave(k, 0.3), wave(k, 1.3), wave(k, 2.9)) * self.flexibility;
            let linear = DMat3::from_quat(DQuat::from_rotation_y(k as f64)) + flexible;
            bind(k) * DAffine3::from_mat3_translation(linear, 20.0 * wave(k, 3.1))
        };
        let coefficients = (0..self.rank).map(|k| wave(k, 4.0).x as f32).collect();
        let clip = Clip::new(&rig, "move", 24.0, (0..self.bones).map(transform).collect(), coefficients).unwrap();
        Skin::from_object(&Object::of_rig("character", Arc::new(mesh), rig, vec![clip])).unwrap()
    }
}

fn posed(skin: &Skin) -> (Vec<Vec3>, Vec<Vec3>) {
    let points = skin.mesh().point_count();
    let (mut positions, mut normals) = (vec![Vec3::NAN; points], vec![Vec3::NAN; points]);
    skin.pose_into(0, 0, &mut Pose::default(), &mut positions, Some(&mut normals));
    let mut alone = vec![Vec3::NAN; points];
    skin.pose_into(0, 0, &mut Pose::default(), &mut alone, None);
    assert_eq!(alone, positions, "positions do not depend on the request for normals");
    (positions, normals)
}

/// Positions of the exact counterpart.
fn exact_positions(skin: &Skin) -> Vec<Vec3> {
    let mut exact = vec![Vec3::NAN; skin.mesh().point_count()];
    dermis_mesh::pose::pose_into(skin.mesh(), skin.rig(), &skin.clips()[0], 0, &mut exact);
    exact
}

/// Corrected rest normal and blended linear part of each point.
fn normals_and_blends(skin: &Skin) -> Vec<(DVec3, DMat3)> {
    let palette = crate::blend::palette(skin.rig(), &skin.clips()[0], 0);
    let rest = skin.mesh().layout().unwrap().normals.as_ref().unwrap();
    let of = |point: usize| {
        let shapes = skin.rig().shapes().iter().zip(skin.clips()[0].shape_weights(0));
        let corrected = shapes.fold(rest[point].as_dvec3(), |normal, (shape, &q)| {
            let offset = shape.normal_offsets.as_ref().map_or(Vec3::ZERO, |offsets| offsets[point]);
            normal + f64::from(q) * offset.as_dvec3()
        });
        (corrected, crate::blend::blend(skin.rig(), &palette, point).matrix3)
    };
    (0..rest.len()).map(of).collect()
}

fn cofactors(m: DMat3) -> DMat3 {
    let (a, b, c) = (m.x_axis, m.y_axis, m.z_axis);
    DMat3::from_cols(b.cross(c), c.cross(a), a.cross(b))
}

/// Sums of a few products in f32, each with an error of a few units in the last place of the largest term.
fn assert_positions_match(skin: &Skin, found: &[Vec3]) {
    let exact = exact_positions(skin);
    let (low, high) = bounds(&exact);
    let largest = low.abs().max(high.abs()).max_element();
    // Bones stretch by up to 3 before they are blended.
    let tolerance = 3.0 * 8.0 * f32::EPSILON * (largest + skin.mesh().diagonal());
    for (point, (found, exact)) in found.iter().zip(&exact).enumerate() {
        assert!(found.distance(*exact) <= tolerance, "point {point}: {found} is not {exact} to {tolerance}");
    }
}

/// The tolerance applies to normals of full length; shortened ones lose precision in proportion.
fn assert_normals_match(skin: &Skin, found: &[Vec3], transform: impl Fn(DMat3, DVec3) -> DVec3) {
    for (point, (found, (rest, blend))) in found.iter().zip(normals_and_blends(skin)).enumerate() {
        assert!(found.is_finite(), "normal {point} is {found}");
        let exact = transform(blend, rest);
        let size = blend.x_axis.length().max(blend.y_axis.length()).max(blend.z_axis.length()).max(1.0).powi(2);
        let size = size * rest.length();
        let kept = exact.length();
        if kept > 1e-3 * size {
            let tolerance = 1e-5 * size / kept;
            assert!(found.as_dvec3().distance(exact.normalize()) < tolerance, "normal {point}: {found} is not {exact}");
        }
    }
}

#[test]
fn poses_every_vertex_of_any_number_of_quads_blocks_and_tasks() {
    for points in [
        0,
        1,
        2,
        3,
        4,
        5,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        VERTICES_PER_TASK - 1,
        VERTICES_PER_TASK,
        VERTICES_PER_TASK + 1,
        3 * VERTICES_PER_TASK + BLOCK + 6,
    ] {
        for rank in [0, 3] {
            let skin = Recipe { points, rank, ..Recipe::default() }.skin();
            let (positions, normals) = posed(&skin);
            assert_positions_match(&skin, &positions);
            assert_normals_match(&skin, &normals, |blend, normal| cofactors(blend) * normal);
        }
    }
}

#[test]
fn any_number_of_influences_and_bones_poses_as_in_f64() {
    for influences in [0, 1, 3, 4, 5, 8, 9, 23] {
        for bones in [1, 9, 256, 257, 300, 65_600] {
            let skin = Recipe { bones, influences, points: 131, ..Recipe::default() }.skin();
            let (positions, normals) = posed(&skin);
            assert_positions_match(&skin, &positions);
            assert_normals_match(&skin, &normals, |blend, normal| cofactors(blend) * normal);
        }
    }
}

#[test]
fn normals_with_corrections_follow_equation_13() {
    let skin = Recipe { rank: 2, normal_offsets: true, ..Recipe::default() }.skin();
    let (positions, normals) = posed(&skin);
    assert_positions_match(&skin, &positions);
    assert_normals_match(&skin, &normals, |blend, normal| blend * normal);
}

#[test]
fn posing_at_a_rank_matches_the_skin_of_that_rank() {
    let skin = Recipe { rank: 5, points: 150, normal_offsets: true, ..Recipe::default() }.skin();
    let poser = Poser::new(skin.mesh(), skin.rig());
    let mut pose = Pose::default();
    for rank in [3, 0, 5, 1, 9] {
        poser.set_frame(&mut pose, &skin.clips()[0], 0, rank);
        let (mut positions, mut normals) = (vec![Vec3::NAN; 150], vec![Vec3::NAN; 150]);
        poser.pose_into(&pose, &mut positions, Some(&mut normals));
        assert_eq!((positions, normals), posed(&skin.with_rank(rank).unwrap()), "rank {rank}");
    }
}

#[test]
fn a_reflection_reverses_normals() {
    let mesh = TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap();
    let joints = vec![Joint::at("bone", None, DAffine3::IDENTITY)];
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows([[(0, 1.0)]; 3]), vec![]).unwrap();
    let mirror = DAffine3::from_scale(DVec3::new(-2.0, 1.0, 1.0));
    let clip = Clip::new(&rig, "mirror", 24.0, vec![mirror], vec![]).unwrap();
    let skin = Skin::from_object(&Object::of_rig("triangle", Arc::new(mesh), rig, vec![clip])).unwrap();
    let (positions, normals) = posed(&skin);
    assert_eq!(normals, [Vec3::NEG_Z; 3]);
    assert_eq!(dermis_mesh::geometry::point_normals(&positions, skin.mesh().triangles()), normals);
}

#[test]
fn flattened_normals_keep_the_rest_normal() {
    for scale in [DVec3::ZERO, DVec3::splat(1e-30), DVec3::splat(1e30), DVec3::new(1.0, 0.0, 0.0)] {
        let mut skin = Recipe { influences: 1, bones: 1, ..Recipe::default() }.skin();
        let flat = Clip::new(skin.rig(), "flat", 24.0, vec![DAffine3::from_scale(scale)], vec![]).unwrap();
        let object = Object { clips: vec![Arc::new(flat)], ..skin.to_object("flat") };
        skin = Skin::from_object(&object).unwrap();
        let (_, normals) = posed(&skin);
        let rest = skin.mesh().layout().unwrap().normals.clone().unwrap();
        for (found, rest) in normals.into_iter().zip(rest) {
            assert!(found.distance(rest) < 1e-6, "{found} is not {rest}");
        }
    }
}

#[test]
fn vertices_are_posed_as_the_layout_splits_them() {
    let mesh = TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap();
    let layout = Layout {
        vertex_points: vec![0, 1, 2, 1],
        triangles: vec![[0, 3, 2]],
        normals: Some(vec![Vec3::Z, Vec3::X, Vec3::Z, Vec3::Z]),
        ..Layout::default()
    };
    let mesh = mesh.with_layout(layout).unwrap();
    let offsets = vec![Vec3::ZERO, Vec3::X, Vec3::ZERO];
    let normal_offsets = Some(vec![Vec3::ZERO, Vec3::new(-2.0, 0.0, 0.0), Vec3::ZERO, Vec3::ZERO]);
    let shape = Shape { name: String::new(), offsets, normal_offsets };
    let joints = vec![Joint::at("bone", None, DAffine3::IDENTITY)];
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows([[(0, 1.0)]; 3]), vec![shape]).unwrap();
    let clip = Clip::new(&rig, "rest", 24.0, vec![DAffine3::IDENTITY], vec![1.0]).unwrap();
    let skin = Skin::from_object(&Object::of_rig("triangle", Arc::new(mesh), rig, vec![clip])).unwrap();
    let (poser, mut pose) = (Poser::of_vertices(skin.mesh(), skin.rig()), Pose::default());
    poser.set_frame(&mut pose, &skin.clips()[0], 0, 1);
    let (mut positions, mut normals) = ([Vec3::NAN; 4], [Vec3::NAN; 4]);
    poser.pose_into(&pose, &mut positions, Some(&mut normals));
    assert_eq!(positions, [Vec3::ZERO, 2.0 * Vec3::X, Vec3::Y, 2.0 * Vec3::X]);
    assert_eq!(normals, [Vec3::Z, Vec3::NEG_X, Vec3::Z, Vec3::Z]);
    assert_eq!(posed(&skin).1, [Vec3::Z; 3], "points have the normal of their triangles");
}

#[test]
fn points_are_bitwise_identical_for_any_number_of_threads() {
    let skin = Recipe { points: 5 * VERTICES_PER_TASK + 3, rank: 2, influences: 6, ..Recipe::default() }.skin();
    let on =
        |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| posed(&skin));
    assert_eq!(on(1), on(4));
}

#[test]
fn the_portable_kernel_matches_the_selected_one() {
    let palette: Vec<Matrix> = (0..SMALL_PALETTE)
        .map(|k| DAffine3::from_cols(wave(k, 0.3), wave(k, 1.3), wave(k, 2.9), wave(k, 0.1)).into())
        .collect();
    let influence = |k: usize| kernel::FourInfluences {
        joints: [k, k + 5, 3 * k, 11].map(|j| j as u8),
        weights: [0.4, 0.3, 0.2, 0.1],
    };
    let quads: Vec<kernel::Quad<u8>> =
        (0..50).map(|q| kernel::Quad([0, 1, 2, 3].map(|k| influence(4 * q + k)))).collect();
    let vectors = |step: f64| -> Vec<Vectors> {
        (0..50).map(|q| [0, 1, 2, 3].map(|k| wave(4 * q + k, step).as_vec3().to_array())).collect()
    };
    let (rest, normals) = (vectors(0.8), vectors(1.8));
    let more_starts: Vec<usize> = (0..=200).map(|vertex| vertex / 3).collect();
    let more: Vec<_> = (0..67).map(influence).collect();
    for more_starts in [&[][..], &more_starts] {
        let run = Run {
            palette: u8::palette(&palette),
            quads: &quads,
            rest: &rest,
            normals: &normals,
            more_starts,
            more: &more,
        };
        for rule in [NormalRule::Cofactor, NormalRule::Linear] {
            let mut chosen = (vec![Vectors::default(); 50], vec![Vectors::default(); 50]);
            pose_run(&run, rule, &mut chosen.0, &mut chosen.1);
            let mut any = (vec![Vectors::default(); 50], vec![Vectors::default(); 50]);
            let (positions, normals) = (&mut any.0, &mut any.1);
            type Kernel = fn(&Run<'_, u8>, &mut [Vectors], &mut [Vectors]);
            let kernel: Kernel = match (rule, more_starts.is_empty()) {
                (NormalRule::Linear, true) => portable::pose::<u8, { NormalRule::Linear as u8 }, false>,
                (NormalRule::Linear, false) => portable::pose::<u8, { NormalRule::Linear as u8 }, true>,
                (_, true) => portable::pose::<u8, { NormalRule::Cofactor as u8 }, false>,
                (_, false) => portable::pose::<u8, { NormalRule::Cofactor as u8 }, true>,
            };
            kernel(&run, positions, normals);
            let pairs = |a: &[Vectors], b: &[Vectors]| {
                let (a, b) = (a.as_flattened().as_flattened(), b.as_flattened().as_flattened());
                a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
            };
            // Normals of nearly vanishing blends lose precision.
            assert!(pairs(&chosen.0, &any.0) < 1e-6 && pairs(&chosen.1, &any.1) < 1e-3, "{rule:?}");
        }
    }
}

proptest! {
    #[test]
    fn random_characters_pose_as_in_f64(
        points in 1..200_usize,
        bones in 1..300_usize,
        influences in 0..12_usize,
        rank in 0..4_usize,
        offset in proptest::array::uniform3(-900.0..900.0_f64),
        flexibility in 0.0..1.5_f64,
        normal_offsets: bool,
    ) {
        let offset = DVec3::from(offset);
        let skin = Recipe { points, bones, influences, rank, offset, flexibility, normal_offsets }.skin();
        let (positions, normals) = posed(&skin);
        assert_positions_match(&skin, &positions);
        let linear = normal_offsets && rank > 0;
        assert_normals_match(&skin, &normals, |blend, normal| {
            if linear { blend * normal } else { cofactors(blend) * normal }
        });
    }
}
