//! In any pose, queries return the same results as a search over all triangles, and spheres contain their points.

use std::sync::Arc;

use dermis_collide::{CollideError, DeformationTree, PosedTree, Ray, Sphere, contacts};
use dermis_mesh::pose::pose_with;
use dermis_mesh::surface_tree::closest_point;
use dermis_mesh::{Deformer, Joint, Object, Rig, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use proptest::prelude::*;

/// Deterministic numbers from −1 to 1.
fn noise(seed: u32, at: usize) -> f64 {
    let mut hash = seed.wrapping_mul(0x9E37_79B9) ^ (at as u32).wrapping_mul(0x85EB_CA6B);
    for _ in 0..3 {
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x2C1B_3C6D);
    }
    f64::from(hash >> 8) / f64::from(1_u32 << 23) - 1.0
}

fn vector(seed: u32, at: usize) -> DVec3 {
    DVec3::new(noise(seed, 3 * at), noise(seed, 3 * at + 1), noise(seed, 3 * at + 2))
}

const JOINTS: usize = 4;

/// A bent tube of 16 rings with 4 joints along it, 2 shapes, and weights that change along the tube. With `wild`, weights
/// are random, partly negative and not normalized.
fn tube(wild: bool, seed: u32) -> Object {
    let (rings, sides) = (16, 8);
    let at = |ring: usize, side: usize| {
        let angle = std::f64::consts::TAU * side as f64 / sides as f64;
        DVec3::new(angle.cos(), 0.5 * ring as f64, -angle.sin()) + 0.05 * vector(seed, ring * sides + side)
    };
    let points: Vec<Vec3> = (0..rings).flat_map(|ring| (0..sides).map(move |side| at(ring, side).as_vec3())).collect();
    let index = |ring: usize, side: usize| (ring * sides + side % sides) as u32;
    let quads = (0..rings - 1).flat_map(|ring| (0..sides).map(move |side| (ring, side)));
    let triangles = quads.flat_map(|(ring, side)| {
        let [a, b] = [index(ring, side), index(ring, side + 1)];
        let [c, d] = [index(ring + 1, side + 1), index(ring + 1, side)];
        [[a, b, c], [a, c, d]]
    });
    let mesh = Arc::new(TriMesh::new(points, triangles.collect()).unwrap());
    let bind = |joint: usize| DAffine3::from_translation(DVec3::Y * (2.0 * joint as f64));
    let joints = (0..JOINTS).map(|joint| Joint::at("joint", joint.checked_sub(1), bind(joint))).collect();
    let row = |(at, point): (usize, &Vec3)| {
        if wild {
            let count = at % (JOINTS + 1);
            return (0..count).map(|k| (((at + k) % JOINTS) as u32, noise(seed, 900 + at * 7 + k) as f32)).collect();
        }
        let along = (f64::from(point.y) / 2.0).clamp(0.0, 2.999);
        let (first, upper) = (along as u32, along.fract() as f32);
        vec![(first, 1.0 - upper), (first + 1, upper)]
    };
    let weights = SkinWeights::from_rows(mesh.points().iter().enumerate().map(row));
    let shape = |number: usize| Shape {
        name: String::new(),
        offsets: (0..mesh.point_count()).map(|p| (0.3 * vector(seed + 5, 500 * number + p)).as_vec3()).collect(),
        normal_offsets: None,
    };
    let rig = Rig::new(&mesh, joints, weights, vec![shape(0), shape(1)]).unwrap();
    Object::of_rig("tube", mesh, rig, vec![])
}

/// A pose of the tube: bent joints, stretched by `stretch`, and shape weights.
fn pose(object: &Object, seed: u32, stretch: f64) -> (Vec<DAffine3>, Vec<f32>) {
    let mut transforms: Vec<DAffine3> = Vec::new();
    for joint in 0..JOINTS {
        let turn = DMat3::from_quat(DQuat::from_scaled_axis(0.8 * vector(seed, joint)));
        let scale = DMat3::from_diagonal(DVec3::ONE + stretch * vector(seed, 50 + joint));
        let local =
            DAffine3::from_mat3_translation(turn * scale, if joint == 0 { DVec3::ZERO } else { DVec3::Y * 2.0 });
        let above = transforms.last().copied().unwrap_or(DAffine3::from_translation(3.0 * vector(seed, 99)));
        transforms.push(above * local);
    }
    let shapes = object.rig.as_ref().unwrap().shapes().len();
    (transforms, (0..shapes).map(|shape| noise(seed, 70 + shape) as f32).collect())
}

fn posed_points(object: &Object, (transforms, shapes): &(Vec<DAffine3>, Vec<f32>)) -> Vec<DVec3> {
    let mut points = vec![Vec3::ZERO; object.mesh.point_count()];
    pose_with(&object.mesh, object.rig.as_ref().unwrap(), transforms, shapes, &mut points);
    points.into_iter().map(glam::Vec3::as_dvec3).collect()
}

fn corners(object: &Object, points: &[DVec3], triangle: usize) -> [DVec3; 3] {
    object.mesh.triangles()[triangle].map(|point| points[point as usize])
}

/// Returns true if an edge of one triangle crosses the other.
fn crosses(a: &[DVec3; 3], b: &[DVec3; 3]) -> bool {
    let hits = |from: &[DVec3; 3], to: &[DVec3; 3]| {
        (0..3).any(|k| {
            let (start, end) = (from[k], from[(k + 1) % 3]);
            let normal = (to[1] - to[0]).cross(to[2] - to[0]);
            let (s, e) = ((start - to[0]).dot(normal), (end - to[0]).dot(normal));
            if s * e > 0.0 || s == e {
                return false;
            }
            let at = start.lerp(end, s / (s - e));
            (0..3).all(|k| (to[(k + 1) % 3] - to[k]).cross(at - to[k]).dot(normal) >= 0.0)
        })
    };
    hits(a, b) || hits(b, a)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn balls_find_all_triangles_within_their_radius(
        seed in 0..10_000_u32, stretch in 0.0..0.6_f64, wild in proptest::bool::ANY,
        centre in proptest::array::uniform3(-4.0..4.0_f64), radius in 0.05..4.0_f64,
    ) {
        let object = tube(wild, seed);
        let pose = pose(&object, seed, stretch);
        let points = posed_points(&object, &pose);
        let tree = DeformationTree::new(&object).unwrap();
        let mut posed = PosedTree::new(&tree);
        posed.set_pose(&pose.0, &pose.1).unwrap();
        let ball = Sphere { centre: DVec3::from(centre), radius };
        let mut found = Vec::new();
        posed.ball_contacts(ball, &mut found);
        let mut found: Vec<u32> = found.into_iter().map(|contact| contact.triangle).collect();
        found.sort_unstable();
        // Posing rounds to f32, so triangles that just touch the ball can have either result.
        for triangle in 0..object.mesh.triangle_count() {
            let distance = closest_point(corners(&object, &points, triangle), ball.centre).distance(ball.centre);
            if (distance - radius).abs() > 1e-4 {
                prop_assert_eq!(found.binary_search(&(triangle as u32)).is_ok(), distance < radius);
            }
        }
    }

    #[test]
    fn the_sphere_of_the_whole_surface_contains_it(seed in 0..10_000_u32, stretch in 0.0..0.6_f64, wild in proptest::bool::ANY) {
        let object = tube(wild, seed);
        let pose = pose(&object, seed, stretch);
        let tree = DeformationTree::new(&object).unwrap();
        let mut posed = PosedTree::new(&tree);
        posed.set_pose(&pose.0, &pose.1).unwrap();
        let bounds = posed.bounds();
        for point in posed_points(&object, &pose) {
            prop_assert!(point.distance(bounds.centre) <= bounds.radius);
        }
    }

    #[test]
    fn contacts_are_those_of_all_pairs_and_separate_them(seed in 0..10_000_u32, stretch in 0.0..0.3_f64, apart in 0.0..6.0_f64) {
        let (a, b) = (tube(false, seed), tube(false, seed + 1));
        let (pose_a, mut pose_b) = (pose(&a, seed, stretch), pose(&b, seed + 1, stretch));
        for transform in &mut pose_b.0 {
            transform.translation += DVec3::X * apart;
        }
        let (points_a, points_b) = (posed_points(&a, &pose_a), posed_points(&b, &pose_b));
        let (tree_a, tree_b) = (DeformationTree::new(&a).unwrap(), DeformationTree::new(&b).unwrap());
        let (mut posed_a, mut posed_b) = (PosedTree::new(&tree_a), PosedTree::new(&tree_b));
        posed_a.set_pose(&pose_a.0, &pose_a.1).unwrap();
        posed_b.set_pose(&pose_b.0, &pose_b.1).unwrap();
        let mut found = Vec::new();
        contacts(&mut posed_a, &mut posed_b, &mut found);
        let mut pairs: Vec<[u32; 2]> = found.iter().map(|contact| contact.triangles).collect();
        pairs.sort_unstable();
        let before = pairs.len();
        pairs.dedup();
        prop_assert_eq!(before, pairs.len());
        for one in 0..a.mesh.triangle_count() {
            for other in 0..b.mesh.triangle_count() {
                let (t, u) = (corners(&a, &points_a, one), corners(&b, &points_b, other));
                let is_found = pairs.binary_search(&[one as u32, other as u32]).is_ok();
                if is_found != crosses(&t, &u) {
                    // Results differ only for pairs that touch up to rounding.
                    let depth = found.iter().find(|c| c.triangles == [one as u32, other as u32]).map_or(0.0, |c| c.depth);
                    prop_assert!(depth < 1e-5, "{one} and {other}, depth {depth}");
                }
            }
        }
        for contact in &found {
            let t = posed_a.triangle(contact.triangles[0]);
            let u = posed_b.triangle(contact.triangles[1]);
            prop_assert!((contact.normal.length() - 1.0).abs() < 1e-9 && contact.depth >= 0.0);
            let moved = t.map(|corner| corner + contact.normal * (contact.depth + 1e-6));
            prop_assert!(!crosses(&moved, &u), "the translation does not separate {:?}", contact);
            let near = closest_point(t, contact.point).distance(contact.point);
            prop_assert!(near < 1e-6 || contact.depth < 1e-6, "the point is {near} away from its triangle");
        }
    }

    #[test]
    fn rays_hit_the_first_triangle(
        seed in 0..10_000_u32, stretch in 0.0..0.6_f64, wild in proptest::bool::ANY,
        origin in proptest::array::uniform3(-6.0..6.0_f64), target in proptest::array::uniform3(-2.0..6.0_f64),
    ) {
        let object = tube(wild, seed);
        let pose = pose(&object, seed, stretch);
        let points = posed_points(&object, &pose);
        let tree = DeformationTree::new(&object).unwrap();
        let mut posed = PosedTree::new(&tree);
        posed.set_pose(&pose.0, &pose.1).unwrap();
        let (origin, target) = (DVec3::from(origin), DVec3::from(target));
        let Some(direction) = (target - origin).try_normalize() else { return Ok(()) };
        let distance = |triangle: usize| {
            let [a, b, c] = corners(&object, &points, triangle);
            let normal = (b - a).cross(c - a);
            let t = (a - origin).dot(normal) / direction.dot(normal);
            let at = origin + t * direction;
            let inside = [(a, b), (b, c), (c, a)].iter().all(|(p, q)| (*q - *p).cross(at - *p).dot(normal) >= 0.0);
            (inside && t >= 0.0).then_some(t)
        };
        let expected = (0..object.mesh.triangle_count()).filter_map(distance).fold(f64::INFINITY, f64::min);
        let hit = posed.cast_ray(&Ray { origin, direction: direction * 3.0 }, f64::INFINITY);
        let found = hit.map_or(f64::INFINITY, |hit| hit.distance);
        // A ray along an edge may pass between two triangles that are rounded to f32.
        let near_edge = expected.is_finite() != found.is_finite() || (expected - found).abs() > 1e-4 * (1.0 + found);
        if near_edge {
            let at = origin + direction * expected.min(found);
            let edge = (0..object.mesh.triangle_count()).any(|triangle| {
                let t = corners(&object, &points, triangle);
                (0..3).any(|k| closest_point([t[k], t[(k + 1) % 3], t[k]], at).distance(at) < 1e-4)
            });
            prop_assert!(edge, "{found} instead of {expected}");
        }
        if let Some(hit) = hit {
            prop_assert!((hit.point - origin).length() - hit.distance < 1e-9);
            prop_assert!((hit.barycentric.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let before = posed.cast_ray(&Ray { origin, direction }, 0.5 * hit.distance);
            prop_assert!(before.is_none() || hit.distance == 0.0);
        }
    }
}

#[test]
fn a_query_far_away_visits_few_spheres() {
    let object = tube(false, 1);
    let tree = DeformationTree::new(&object).unwrap();
    let mut posed = PosedTree::new(&tree);
    let pose = pose(&object, 1, 0.0);
    posed.set_pose(&pose.0, &pose.1).unwrap();
    let mut found = Vec::new();
    posed.ball_contacts(Sphere { centre: DVec3::splat(100.0), radius: 1.0 }, &mut found);
    assert!(found.is_empty() && posed.evaluated_spheres() <= tree.region_count());
    assert!(tree.sphere_count() > 4 * tree.region_count(), "{} spheres", tree.sphere_count());
    posed.ball_contacts(posed.clone().bounds(), &mut found);
    assert_eq!(found.len(), object.mesh.triangle_count());
}

#[test]
fn a_mesh_without_a_rig_is_fixed_and_bad_inputs_are_rejected() {
    let object = tube(false, 1);
    let still = Object::of_mesh("still", Arc::clone(&object.mesh));
    let tree = DeformationTree::new(&still).unwrap();
    let mut posed = PosedTree::new(&tree);
    posed.set_pose(&[], &[]).unwrap();
    let ray = Ray { origin: DVec3::new(5.0, 3.0, 0.0), direction: DVec3::NEG_X };
    let hit = posed.cast_ray(&ray, 10.0).unwrap();
    assert!((hit.distance - 4.0).abs() < 0.1 && hit.normal.x > 0.8, "{hit:?}");
    assert!(posed.cast_ray(&Ray { direction: DVec3::ZERO, ..ray }, 10.0).is_none());
    assert!(matches!(
        posed.set_pose(&[DAffine3::IDENTITY], &[]),
        Err(CollideError::Pose { found: 1, expected: 0, .. })
    ));

    let empty = Object::of_mesh("empty", Arc::new(TriMesh::default()));
    assert!(matches!(DeformationTree::new(&empty), Err(CollideError::NoTriangles(_))));
    let frames = dermis_samples::build("towel").unwrap().objects.remove(0);
    let error = DeformationTree::new(&frames).unwrap_err();
    assert!(matches!(error, CollideError::NoSkin(_)) && error.hint().is_some());
    let layered = Object { deformers: vec![Deformer::DualQuaternions(Arc::default())], ..object };
    assert!(matches!(DeformationTree::new(&layered), Err(CollideError::Layer { .. })));
}
