//! Collision of two skinned hands of 40,000 triangles that barely touch: comparison of deformation trees with a bounding
//! volume hierarchy of `parry3d` that is refitted to the posed points in every frame.
//!
//! Both find the same pairs of triangles. Times are medians over all frames of several passes, and over those with
//! contacts, on one thread.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::sync::Arc;
use std::time::Instant;

use dermis_collide::{Contact, DeformationTree, PosedTree, contacts};
use dermis_mesh::pose::pose_with;
use dermis_mesh::{Clip, Object, Rig, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DVec3, Vec3};
use parry3d::bounding_volume::Aabb;
use parry3d::math::Vector;
use parry3d::partitioning::{Bvh, BvhBuildStrategy};

const PASSES: usize = 5;

fn main() {
    let hand = refined(&dermis_samples::build("hand").expect("a sample").objects.remove(0));
    let (left, right) = (&hand.clips[0], &hand.clips[1]);
    let frames = left.frame_count().min(right.frame_count());
    let start = Instant::now();
    let tree = DeformationTree::new(&hand).expect("a rigged mesh");
    let built = start.elapsed();
    let apart = barely_touching(&tree, left, right, frames);
    let moved: Vec<Vec<DAffine3>> = (0..frames)
        .map(|frame| {
            right.transforms(frame).iter().map(|transform| DAffine3::from_translation(apart) * *transform).collect()
        })
        .collect();
    println!(
        "two hands of {} triangles, {} joints, {frames} frames; tree: {} spheres, {} regions, built in {:.0} ms",
        tree.triangle_count(),
        tree.joint_count(),
        tree.sphere_count(),
        tree.region_count(),
        1e3 * built.as_secs_f64()
    );
    let (mut ours, mut touching) = (Vec::new(), Vec::new());
    let (mut first, mut second) = (PosedTree::new(&tree), PosedTree::new(&tree));
    let (mut found, mut pairs, mut spheres, mut most_spheres) = (Vec::<Contact>::new(), 0, 0, 0);
    for pass in 0..PASSES {
        for (frame, moved) in moved.iter().enumerate().take(frames) {
            let start = Instant::now();
            first.set_frame(left, frame).expect("a pose of the rig");
            second.set_pose(moved, right.shape_weights(frame)).expect("a pose of the rig");
            contacts(&mut first, &mut second, &mut found);
            ours.push(start.elapsed().as_secs_f64());
            if !found.is_empty() {
                touching.push(ours[ours.len() - 1]);
            }
            if pass == 0 {
                pairs += found.len();
                let evaluated = first.evaluated_spheres() + second.evaluated_spheres();
                spheres += evaluated;
                most_spheres = evaluated.max(most_spheres);
            }
        }
    }
    let (mut theirs, mut refits, mut their_pairs) = (Vec::new(), Vec::new(), 0);
    let (mut one, mut two) = (Refitted::new(&hand), Refitted::new(&hand));
    for pass in 0..PASSES {
        for (frame, moved) in moved.iter().enumerate().take(frames) {
            let start = Instant::now();
            one.refit(&hand, left.transforms(frame), left.shape_weights(frame));
            two.refit(&hand, moved, right.shape_weights(frame));
            refits.push(start.elapsed().as_secs_f64());
            let count = one.pairs(&two, &hand);
            theirs.push(start.elapsed().as_secs_f64());
            their_pairs += if pass == 0 { count } else { 0 };
        }
    }
    let (frames_touching, with_contacts) = (touching.len() / PASSES, median(touching));
    let (ours, theirs, refit) = (median(ours), median(theirs), median(refits));
    println!("contacts in {frames_touching} frames: {pairs} (ours), {their_pairs} (parry3d)");
    println!(
        "spheres evaluated per frame: {:.0} of {}, at most {most_spheres}",
        spheres as f64 / frames as f64,
        2 * tree.sphere_count()
    );
    println!(
        "deformation trees: {:.1} µs per frame for update and query, {:.1} µs in frames with contacts",
        1e6 * ours,
        1e6 * with_contacts
    );
    println!("parry3d: {:.1} µs per frame, of which posing and refit {:.1} µs", 1e6 * theirs, 1e6 * refit);
    println!(
        "ratio to posing and refit of parry3d: 1/{:.0}, 1/{:.0} in frames with contacts (asked: at most 1/20)",
        refit / ours,
        refit / with_contacts
    );
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Distance at which the second hand touches the first in a few triangles, by bisection between separate and intersecting.
fn barely_touching(tree: &DeformationTree, left: &Clip, right: &Clip, frames: usize) -> DVec3 {
    let (mut first, mut second) = (PosedTree::new(tree), PosedTree::new(tree));
    let mut found = Vec::new();
    let mut touches = |distance: f64| {
        (0..frames).any(|frame| {
            let shift = DAffine3::from_translation(DVec3::X * distance);
            let moved: Vec<DAffine3> = right.transforms(frame).iter().map(|transform| shift * *transform).collect();
            first.set_frame(left, frame).expect("a pose of the rig");
            second.set_pose(&moved, right.shape_weights(frame)).expect("a pose of the rig");
            contacts(&mut first, &mut second, &mut found);
            !found.is_empty()
        })
    };
    let (mut near, mut far) = (0.0, 1.0);
    while far - near > 1e-4 {
        let middle = f64::midpoint(near, far);
        if touches(middle) { near = middle } else { far = middle }
    }
    // A tenth of a millimetre deep.
    DVec3::X * (near - 1e-4)
}

/// The object with every triangle split into four.
fn refined(object: &Object) -> Object {
    let (mesh, rig) = (&object.mesh, object.rig.as_ref().expect("a rig"));
    let mut parents: Vec<[u32; 2]> = (0..mesh.point_count() as u32).map(|point| [point; 2]).collect();
    let mut middles = std::collections::BTreeMap::new();
    let mut triangles = Vec::new();
    for &[a, b, c] in mesh.triangles() {
        let [d, e, f] = [(a, b), (b, c), (c, a)].map(|(from, to)| {
            *middles.entry((from.min(to), from.max(to))).or_insert_with(|| {
                parents.push([from, to]);
                parents.len() as u32 - 1
            })
        });
        triangles.extend([[a, d, f], [b, e, d], [c, f, e], [d, e, f]]);
    }
    let mean = |values: &[Vec3]| -> Vec<Vec3> {
        parents.iter().map(|&[a, b]| values[a as usize].midpoint(values[b as usize])).collect()
    };
    let row = |&[a, b]: &[u32; 2]| -> Vec<(u32, f32)> {
        let both = [a, b].into_iter().flat_map(|point| rig.weights().row(point as usize));
        both.map(|(joint, weight)| (joint, weight / 2.0)).collect()
    };
    let weights = SkinWeights::from_rows(parents.iter().map(row)).normalized(4);
    let shape = |shape: &Shape| Shape { name: shape.name.clone(), offsets: mean(&shape.offsets), normal_offsets: None };
    let shapes = rig.shapes().iter().map(shape).collect();
    let mesh = Arc::new(TriMesh::new(mean(mesh.points()), triangles).expect("valid triangles"));
    let rig = Rig::new(&mesh, rig.joints().to_vec(), weights, shapes).expect("a valid rig");
    Object {
        mesh,
        rig: Some(Arc::new(rig)),
        clips: object.clips.clone(),
        name: object.name.clone(),
        ..Object::default()
    }
}

/// The `parry3d` side of the comparison: posed points and a hierarchy over the boxes of all triangles.
struct Refitted {
    points: Vec<Vec3>,
    hierarchy: Bvh,
}

impl Refitted {
    fn new(object: &Object) -> Self {
        let points = object.mesh.points().to_vec();
        let boxes: Vec<Aabb> = (0..object.mesh.triangle_count()).map(|t| bounds(object, &points, t)).collect();
        Self { points, hierarchy: Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes) }
    }

    fn refit(&mut self, object: &Object, transforms: &[DAffine3], shapes: &[f32]) {
        pose_with(&object.mesh, object.rig.as_ref().expect("a rig"), transforms, shapes, &mut self.points);
        for triangle in 0..object.mesh.triangle_count() {
            let bounds = bounds(object, &self.points, triangle);
            self.hierarchy.insert_or_update_partially(bounds, triangle as u32, 0.0);
        }
        self.hierarchy.refit_without_opt();
    }

    fn pairs(&self, other: &Self, object: &Object) -> usize {
        let candidates = self.hierarchy.leaf_pairs(&other.hierarchy, parry3d::partitioning::BvhNode::intersects);
        let corners = |points: &[Vec3], triangle: u32| {
            object.mesh.triangles()[triangle as usize].map(|point| points[point as usize].as_dvec3())
        };
        let meets = |(a, b): &(u32, u32)| crosses(&corners(&self.points, *a), &corners(&other.points, *b));
        candidates.filter(meets).count()
    }
}

/// Returns true if an edge of one triangle crosses the other. The intersection test of `parry3d`, in
/// single precision, also reports pairs of such small triangles that are only near each other.
fn crosses(a: &[DVec3; 3], b: &[DVec3; 3]) -> bool {
    let crosses_plane = |from: &[DVec3; 3], to: &[DVec3; 3]| {
        let normal = (to[1] - to[0]).cross(to[2] - to[0]);
        (0..3).any(|corner| {
            let (start, end) = (from[corner], from[(corner + 1) % 3]);
            let (s, e) = ((start - to[0]).dot(normal), (end - to[0]).dot(normal));
            let at = start.lerp(end, s / (s - e));
            let is_inside = |k: usize| (to[(k + 1) % 3] - to[k]).cross(at - to[k]).dot(normal) >= 0.0;
            s * e <= 0.0 && s != e && (0..3).all(is_inside)
        })
    };
    crosses_plane(a, b) || crosses_plane(b, a)
}

fn bounds(object: &Object, points: &[Vec3], triangle: usize) -> Aabb {
    let corners = object.mesh.triangles()[triangle].map(|point| points[point as usize]);
    let (low, high) = corners.iter().fold((Vec3::MAX, Vec3::MIN), |(low, high), &p| (low.min(p), high.max(p)));
    Aabb::new(Vector::from(low.to_array()), Vector::from(high.to_array()))
}
