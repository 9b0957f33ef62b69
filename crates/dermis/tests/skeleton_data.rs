//! Joint trees found for baked characters whose rig is known, if the data are available.
//!
//! The bones of the truth are groups of joints that move alike: a joint is a bone of its own if it moves some point by
//! more than 1 % of the diagonal relative to its parent.

mod common;

use std::collections::BTreeMap;

use common::shared_data;
use dermis::io::ReadOptions;
use dermis::io::npz::arrays::{self, Arrays};
use dermis::math::progress::NoProgress;
use dermis::mesh::glam::{DAffine3, DVec3};
use dermis::mesh::{Object, SkinWeights};
use dermis::skin::fit::{Bones, FitOptions, SkeletonKind};
use dermis::skin::{Animation, Fit, fit};

/// Minimum motion of a point relative to the parent for a separate bone, as a fraction of the diagonal.
const MIN_MOTION: f64 = 0.01;
/// Maximum distance at which a joint counts as found, as a fraction of the diagonal.
const MAX_DISTANCE: f64 = 0.03;

/// The true bones of a character.
struct Truth {
    /// Weights of each point by bone.
    weights: Vec<BTreeMap<usize, f64>>,
    parents: Vec<Option<usize>>,
    /// Joint of each bone that has a parent.
    positions: Vec<Option<DVec3>>,
    names: Vec<String>,
    /// True if the root is known; otherwise only neighbours are compared.
    has_root: bool,
}

/// A found skeleton compared with the true one.
struct Row {
    bones: usize,
    free: f64,
    fixed: f64,
    joints: usize,
    found: usize,
    right_parents: usize,
}

impl Row {
    fn print(&self, name: &str) {
        let Self { bones, free, fixed, joints, found, right_parents } = self;
        let percent = |count: &usize| 100 * count / joints.max(&1);
        println!(
            "| {name} | {bones} | {found} of {joints} ({} %) | {right_parents} of {joints} ({} %) | {free:.2} | {fixed:.2} |",
            percent(found),
            percent(right_parents),
        );
    }
}

fn diagonal(object: &Object) -> f64 {
    let points = object.mesh.points();
    let low = points.iter().fold(points[0], |low, &p| low.min(p));
    let high = points.iter().fold(points[0], |high, &p| high.max(p));
    f64::from(low.distance(high))
}

/// Transforms of the rest pose by all joints, for all frames of all clips.
fn frames(object: &Object) -> Vec<Vec<DAffine3>> {
    let joints = object.rig.as_ref().unwrap().joints();
    let pose = |transforms: &[DAffine3]| {
        joints.iter().zip(transforms).map(|(joint, transform)| *transform * joint.inverse_bind).collect()
    };
    let clips = object.clips.iter();
    clips.flat_map(|clip| (0..clip.frame_count()).map(|frame| pose(clip.transforms(frame)))).collect()
}

/// True bones of a rig with a hierarchy.
fn truth_of_rig(object: &Object) -> Truth {
    let rig = object.rig.as_ref().unwrap();
    let (frames, smallest) = (frames(object), MIN_MOTION * diagonal(object));
    let joints = rig.joints();
    let mut members: Vec<Vec<(DVec3, f64)>> = vec![Vec::new(); joints.len()];
    for (point, row) in object.mesh.points().iter().zip(rig.weights().rows()) {
        row.for_each(|(joint, weight)| members[joint as usize].push((point.as_dvec3(), f64::from(weight))));
    }
    let mut bone: Vec<Option<usize>> = vec![None; joints.len()];
    let (mut parents, mut positions, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for joint in rig.parents_first() {
        let parent = joints[joint].parent;
        let parent_bone = parent.and_then(|parent| bone[parent]);
        let moves = |parent: usize| {
            frames.iter().any(|bones| {
                let gap = |p: DVec3| bones[joint].transform_point3(p).distance(bones[parent].transform_point3(p));
                members[joint].iter().any(|&(p, weight)| weight * gap(p) > smallest)
            })
        };
        bone[joint] = if members[joint].is_empty() || parent_bone.is_some() && !parent.is_some_and(moves) {
            parent_bone
        } else {
            parents.push(parent_bone);
            names.push(joints[joint].name.clone());
            positions.push(parent_bone.map(|_| joints[joint].bind().translation));
            Some(parents.len() - 1)
        };
    }
    Truth { weights: by_bone(rig.weights(), |joint| bone[joint]), parents, positions, names, has_root: true }
}

/// True bones of a file with the arrays `tgf_points` and `tgf_edges`: each edge is a bone.
fn truth_of_handles(object: &Object, path: &std::path::Path) -> Truth {
    let (points, edges) = arrays::read(path, |file: &mut dyn Arrays| {
        let points = file.array("tgf_points")?.map_or(Ok(Vec::new()), |array| array.numbers())?;
        let edges = file.array("tgf_edges")?.map_or(Ok(Vec::new()), |array| array.indices())?;
        Ok((points, edges))
    })
    .unwrap();
    let edges: Vec<[usize; 2]> = edges.chunks_exact(2).map(|edge| [edge[0] as usize, edge[1] as usize]).collect();
    let point = |index: usize| DVec3::from_slice(&points[3 * index..3 * index + 3]);
    let parent = |bone: usize| {
        let above = edges.iter().position(|edge| edge[1] == edges[bone][0]);
        // Bones that start at the root are joined to the first of them.
        above.or_else(|| edges[..bone].iter().position(|edge| edge[0] == edges[bone][0]))
    };
    let parents: Vec<Option<usize>> = (0..edges.len()).map(parent).collect();
    let positions = (0..edges.len()).map(|bone| parents[bone].map(|_| point(edges[bone][0]))).collect();
    let weights = by_bone(object.rig.as_ref().unwrap().weights(), Some);
    let names = (0..parents.len()).map(|bone| format!("edge {bone}")).collect();
    Truth { weights, parents, positions, names, has_root: false }
}

fn by_bone(weights: &SkinWeights, bone: impl Fn(usize) -> Option<usize>) -> Vec<BTreeMap<usize, f64>> {
    let sums = |row: Vec<(u32, f32)>| {
        let mut sums = BTreeMap::new();
        for (bone, weight) in row.into_iter().filter_map(|(joint, weight)| Some((bone(joint as usize)?, weight))) {
            *sums.entry(bone).or_insert(0.0) += f64::from(weight);
        }
        sums
    };
    weights.rows().map(|row| sums(row.collect())).collect()
}

/// Bone of `fit` whose weights overlap most with those of each true bone, each used once.
fn matches(truth: &Truth, fit: &Fit) -> Vec<Option<usize>> {
    let found = by_bone(fit.skin.rig().weights(), Some);
    let mut common: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let (mut own, mut theirs) = (vec![0.0; truth.parents.len()], vec![0.0; fit.skin.bone_count()]);
    for (a, b) in truth.weights.iter().zip(&found) {
        for (&bone, weight) in a {
            own[bone] += weight;
        }
        for (&bone, weight) in b {
            theirs[bone] += weight;
        }
        for ((&bone, &weight), (&other, &other_weight)) in a.iter().flat_map(|a| b.iter().map(move |b| (a, b))) {
            *common.entry((bone, other)).or_insert(0.0) += f64::min(weight, other_weight);
        }
    }
    let mut pairs: Vec<(f64, usize, usize)> =
        common.iter().map(|(&(a, b), &both)| (both / (own[a] + theirs[b] - both), a, b)).collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut result, mut used) = (vec![None; own.len()], vec![false; theirs.len()]);
    for (_, a, b) in pairs {
        if result[a].is_none() && !used[b] {
            (result[a], used[b]) = (Some(b), true);
        }
    }
    result
}

fn compare(truth: &Truth, fit: &Fit, diagonal: f64) -> Row {
    let joints = fit.skin.rig().joints();
    let matched = matches(truth, fit);
    let is_parent = |bone: usize, parent: usize| match (matched[bone], matched[parent]) {
        (Some(bone), Some(parent)) => joints[bone].parent == Some(parent),
        _ => false,
    };
    let report = fit.skeleton.unwrap();
    let mut row = Row {
        bones: joints.len(),
        free: report.distortion_percent_free,
        fixed: fit.measures.distortion_percent,
        joints: 0,
        found: 0,
        right_parents: 0,
    };
    for (bone, (parent, position)) in truth.parents.iter().zip(&truth.positions).enumerate() {
        let (Some(parent), Some(position)) = (*parent, *position) else { continue };
        let near = |joint: DVec3| joint.distance(position) <= MAX_DISTANCE * diagonal;
        row.joints += 1;
        if std::env::var_os("DETAILS").is_some() {
            let nearest = joints
                .iter()
                .filter(|joint| joint.parent.is_some())
                .map(|joint| joint.bind().translation.distance(position))
                .fold(f64::INFINITY, f64::min);
            let own = matched[bone].map(|at| joints[at].bind().translation.distance(position) / diagonal * 100.0);
            println!(
                "  {} ({} points): nearest {:.1} %, own {own:.1?} %, parent {} {}",
                truth.names[bone],
                truth.weights.iter().filter(|row| row.get(&bone).is_some_and(|w| *w > 0.5)).count(),
                nearest / diagonal * 100.0,
                truth.names[parent],
                if is_parent(bone, parent) {
                    "right".to_owned()
                } else {
                    format!(
                        "WRONG {:?} is below {:?}, which is {:?}",
                        matched[bone].map(|at| &joints[at].name),
                        matched[bone].and_then(|at| joints[at].parent).map(|at| &joints[at].name),
                        matched[bone]
                            .and_then(|at| joints[at].parent)
                            .and_then(|at| matched.iter().position(|found| *found == Some(at)))
                            .map(|at| &truth.names[at])
                    )
                }
            );
        }
        row.found += usize::from(joints.iter().any(|joint| joint.parent.is_some() && near(joint.bind().translation)));
        row.right_parents += usize::from(is_parent(bone, parent) || !truth.has_root && is_parent(parent, bone));
    }
    row
}

/// Skeleton of a character with as many bones as move, and with every `step`-th frame.
fn recovered(name: &str, step: usize) -> Option<Row> {
    let file = if name.starts_with("sample:") { None } else { Some(shared_data(&format!("rigs/{name}"))?) };
    let source = file.as_ref().map_or(name, |path| path.to_str().unwrap());
    let scene = dermis::io::read(source, &ReadOptions::default()).unwrap();
    let mut object = scene.objects.into_iter().next().unwrap();
    object.sequence = None;
    let select = |clip: &std::sync::Arc<dermis::mesh::Clip>| clip.select(0, clip.frame_count(), step).unwrap().into();
    object.clips = object.clips.iter().map(select).collect();
    let truth = match &file {
        Some(path) if name.starts_with("gt_") => truth_of_handles(&object, path),
        _ => truth_of_rig(&object),
    };
    let animations: Vec<Animation> = dermis::evaluate::motions(&object)
        .unwrap()
        .into_iter()
        .map(|motion| Animation { name: motion.name().to_owned(), sequence: motion.sequence })
        .collect();
    let options = FitOptions {
        bones: Bones::Count(truth.parents.len()),
        skeleton: Some(SkeletonKind::Fixed),
        ..FitOptions::default()
    };
    let fit = fit(&object.mesh, &animations, &options, &NoProgress).unwrap();
    let row = compare(&truth, &fit, diagonal(&object));
    row.print(name);
    Some(row)
}

#[test]
fn joints_and_parents_of_a_walking_man_are_found() {
    let Some(row) = recovered("CesiumMan.glb", 1) else { return };
    assert!(row.found * 100 >= 80 * row.joints && row.right_parents * 100 >= 85 * row.joints);
}

#[test]
#[ignore = "takes minutes: the table of docs/algorithms/skin.md"]
fn table_of_known_rigs() {
    println!(
        "| character | bones | joints found | parents right | E free, % | E fixed, % |\n|---|---|---|---|---|---|"
    );
    let inputs = [
        ("CesiumMan.glb", 1),
        ("Fox.glb", 1),
        ("gt_cylinder.npz", 1),
        ("gt_cheburashka.npz", 1),
        ("sample:hand", 1),
        ("sample:body", 1),
        ("horse-animations.glb", 4),
    ];
    let only = std::env::var("CHARACTERS").ok();
    for (name, step) in inputs
        .into_iter()
        .filter(|(name, _)| only.as_ref().is_none_or(|only| only.split(',').any(|part| name.contains(part))))
    {
        let start = std::time::Instant::now();
        recovered(name, step);
        println!("  {:.0} s", start.elapsed().as_secs_f64());
    }
}
