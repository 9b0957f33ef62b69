//! Matching of the joints of two skeletons: by a map, by name, and then by the order between matched joints. If no name
//! matches, joints are matched by order or by hierarchy.

use dermis_mesh::{Clip, Joint, Note};

use super::error::listed;
use super::joint_names::{match_names, plain};
use super::{JointMap, RetargetError};

/// Cosine of the angle between two bones above which the hierarchies of two skeletons agree.
const SAME_DIRECTION: f64 = 0.7;
/// Minimum number of joints with a match by hierarchy.
const MIN_MATCHES: usize = 3;
/// Minimum fraction of the joints of the smaller skeleton with a match by hierarchy.
const MIN_MATCHED_FRACTION: f64 = 0.5;

/// Joint of `from` for each joint of `to`.
pub(super) fn match_joints(
    clip: &Clip,
    from: &[Joint],
    to: &[Joint],
    map: &JointMap,
    object: &str,
    notes: &mut Vec<Note>,
) -> Result<Vec<Option<usize>>, RetargetError> {
    let names = |joints: &[Joint]| joints.iter().map(|joint| joint.name.clone()).collect::<Vec<_>>();
    let mut sources = mapped(from, to, map)?;
    if map.is_empty() && names(from) == names(to) {
        return Ok((0..to.len()).map(Some).collect());
    }
    match_names(from, to, &mut sources);
    if sources.iter().all(Option::is_none) {
        let same_count = from.len() == to.len();
        sources = if same_count { (0..to.len()).map(Some).collect() } else { by_hierarchy(from, to) };
        if sources.iter().all(Option::is_none) {
            let (clip, joints, moved) = (clip.name().to_owned(), names(to), names(from));
            return Err(RetargetError::NothingMaps { clip, joints, moved });
        }
        let rule = if same_count { "order" } else { "hierarchy" };
        let message = format!("the joints of the clip '{}' have other names; they are matched by {rule}", clip.name());
        notes.push(Note::at(object, message));
    } else {
        let between = fill_chains(from, to, &mut sources);
        if !between.is_empty() {
            let pair = |&joint: &usize| {
                let source = sources[joint].map_or("", |source| from[source].name.as_str());
                format!("'{}' by '{source}'", to[joint].name)
            };
            let pairs: Vec<String> = between.iter().map(pair).collect();
            let message = format!("joints between matched ones are matched by order: {}", pairs.join(", "));
            notes.push(Note::at(object, message));
        }
    }
    let missing: Vec<String> =
        to.iter().zip(&sources).filter(|(_, source)| source.is_none()).map(|(joint, _)| joint.name.clone()).collect();
    if !missing.is_empty() {
        let message = format!(
            "the clip '{}' does not move {} of {} joints; they stay at rest: {}",
            clip.name(),
            missing.len(),
            to.len(),
            listed("", &missing).trim_start_matches(": ")
        );
        notes.push(Note::at(object, message));
    }
    Ok(sources)
}

/// Matches the joints between a matched joint and its nearest matched ancestor in order, if the same number of joints is
/// between their counterparts and none of these has a match; returns the joints of `to` that have a new match.
fn fill_chains(from: &[Joint], to: &[Joint], sources: &mut [Option<usize>]) -> Vec<usize> {
    let mut used = vec![false; from.len()];
    sources.iter().flatten().for_each(|&source| used[source] = true);
    let mut filled = Vec::new();
    for end in 0..to.len() {
        let Some(source_end) = sources[end] else { continue };
        let own: Vec<usize> = above(to, end).take_while(|&joint| sources[joint].is_none()).collect();
        let start = own.last().map_or(to[end].parent, |&topmost| to[topmost].parent);
        let Some(source_start) = start.and_then(|start| sources[start]) else { continue };
        let others: Vec<usize> = above(from, source_end).take_while(|&joint| joint != source_start).collect();
        let reaches = above(from, source_end).any(|joint| joint == source_start);
        if reaches && own.len() == others.len() && others.iter().all(|&joint| !used[joint]) {
            for (&joint, &source) in own.iter().zip(&others) {
                sources[joint] = Some(source);
                used[source] = true;
                filled.push(joint);
            }
        }
    }
    filled.sort_unstable();
    filled
}

/// The ancestors of a joint, the nearest first.
fn above(joints: &[Joint], joint: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(joints[joint].parent, |&at| joints[at].parent)
}

/// The joints in the map.
fn mapped(from: &[Joint], to: &[Joint], map: &JointMap) -> Result<Vec<Option<usize>>, RetargetError> {
    let find = |joints: &[Joint], name: &str| {
        let exact = joints.iter().position(|joint| joint.name == name);
        exact.or_else(|| joints.iter().position(|joint| plain(&joint.name) == plain(name)))
    };
    let (mut sources, mut unknown) = (vec![None; to.len()], Vec::new());
    for (target, source) in map {
        match (find(to, target), find(from, source)) {
            (Some(target), Some(source)) => sources[target] = Some(source),
            (None, _) => unknown.push(target.clone()),
            (_, None) => unknown.push(source.clone()),
        }
    }
    if unknown.is_empty() { Ok(sources) } else { Err(RetargetError::UnknownInMap { names: unknown }) }
}

/// Matches the trees from their largest roots down: children by the directions of their bones. No joint has a match if
/// most have none.
fn by_hierarchy(from: &[Joint], to: &[Joint]) -> Vec<Option<usize>> {
    let mut sources = vec![None; to.len()];
    let children = |joints: &[Joint]| {
        let mut children = vec![Vec::new(); joints.len()];
        for (joint, parent) in joints.iter().enumerate().filter_map(|(joint, it)| Some((joint, it.parent?))) {
            children[parent].push(joint);
        }
        children
    };
    let (below_from, below_to) = (children(from), children(to));
    let size = |root: usize, below: &[Vec<usize>]| {
        let (mut stack, mut count) = (vec![root], 0usize);
        while let Some(joint) = stack.pop() {
            count += 1;
            stack.extend(&below[joint]);
        }
        count
    };
    let root = |joints: &[Joint], below: &[Vec<usize>]| {
        let roots = (0..joints.len()).filter(|&joint| joints[joint].parent.is_none());
        roots.max_by_key(|&joint| (size(joint, below), std::cmp::Reverse(joint)))
    };
    let (Some(root_from), Some(root_to)) = (root(from, &below_from), root(to, &below_to)) else { return sources };
    let bone = |joints: &[Joint], joint: usize, child: usize| {
        (joints[child].bind().translation - joints[joint].bind().translation).normalize_or_zero()
    };
    let mut stack = vec![(root_from, root_to)];
    while let Some((source, target)) = stack.pop() {
        sources[target] = Some(source);
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for &a in &below_from[source] {
            for &b in &below_to[target] {
                pairs.push((bone(from, source, a).dot(bone(to, target, b)), a, b));
            }
        }
        pairs.retain(|(cosine, ..)| *cosine >= SAME_DIRECTION);
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let (mut taken_from, mut taken_to) = (Vec::new(), Vec::new());
        for (_, a, b) in pairs {
            if !taken_from.contains(&a) && !taken_to.contains(&b) {
                taken_from.push(a);
                taken_to.push(b);
                stack.push((a, b));
            }
        }
    }
    let matches = sources.iter().flatten().count();
    let needed = (MIN_MATCHED_FRACTION * from.len().min(to.len()) as f64).max(MIN_MATCHES as f64);
    if (matches as f64) < needed { vec![None; to.len()] } else { sources }
}
