//! Names of joints: comparison without namespaces and prefixes, and the usual names of the parts of a body.

use std::collections::BTreeMap;

use dermis_mesh::Joint;

/// Matches joints without a match by names that are unique in each rig, starting with the most literal comparison.
pub(super) fn match_names(from: &[Joint], to: &[Joint], matches: &mut [Option<usize>]) {
    let keys = |joints: &[Joint]| -> [Vec<String>; 4] {
        let plain: Vec<String> = joints.iter().map(|joint| plain(&joint.name)).collect();
        let prefix = common_prefix(&plain);
        let bare: Vec<String> = plain.iter().map(|name| name[prefix..].to_owned()).collect();
        let parts = joints.iter().zip(&bare).map(|(joint, bare)| body_part(&joint.name, bare)).collect();
        [joints.iter().map(|joint| joint.name.clone()).collect(), plain, bare, parts]
    };
    let mut used: Vec<bool> = vec![false; from.len()];
    matches.iter().flatten().for_each(|&source| used[source] = true);
    for (from, to) in keys(from).iter().zip(&keys(to)) {
        let unique = |names: &[String]| {
            let mut joints: BTreeMap<String, Option<usize>> = BTreeMap::new();
            for (joint, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                joints.entry(name.clone()).and_modify(|known| *known = None).or_insert(Some(joint));
            }
            joints
        };
        let (sources, targets) = (unique(from), unique(to));
        for (name, target) in targets {
            let found = (target, sources.get(&name).copied().flatten());
            if let (Some(target), Some(source)) = found
                && matches[target].is_none()
                && !used[source]
            {
                matches[target] = Some(source);
                used[source] = true;
            }
        }
    }
}

/// A name without namespaces, case and punctuation.
pub(super) fn plain(name: &str) -> String {
    let own = name.rsplit([':', '|', '/']).next().unwrap_or(name);
    own.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Length of the beginning that all names have in common, in bytes; 0 if it is not a prefix that a tool adds.
pub(super) fn common_prefix(names: &[String]) -> usize {
    const MIN_NAMES: usize = 4;
    let Some(first) = names.first().filter(|_| names.len() >= MIN_NAMES) else { return 0 };
    let common = |name: &String| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let length = names.iter().map(common).min().unwrap_or(0);
    let is_whole = names.iter().all(|name| name.len() > length && name.is_char_boundary(length));
    if is_whole { length } else { 0 }
}

/// The body part of a joint with a usual name, such as `left upperarm`; empty for other names.
pub(super) fn body_part(name: &str, bare: &str) -> String {
    const PARTS: [(&str, &[&str]); 15] = [
        ("hips", &["hips", "hip", "pelvis"]),
        ("spine", &["spine", "spine01", "abdomen", "lowerback"]),
        ("chest", &["spine1", "spine2", "spine02", "chest"]),
        ("upperchest", &["spine3", "spine03", "upperchest"]),
        ("neck", &["neck", "neck01"]),
        ("head", &["head"]),
        ("shoulder", &["shoulder", "clavicle", "collar"]),
        ("upperarm", &["arm", "upperarm", "uparm", "shldr"]),
        ("lowerarm", &["forearm", "lowerarm", "elbow"]),
        ("hand", &["hand", "wrist"]),
        ("upperleg", &["upleg", "thigh", "upperleg"]),
        ("lowerleg", &["leg", "calf", "shin", "lowerleg", "knee"]),
        ("foot", &["foot", "ankle"]),
        ("toe", &["toebase", "toe", "toes", "ball"]),
        ("root", &["root", "armature"]),
    ];
    let last = name.rsplit([':', '|', '/']).next().unwrap_or(name).to_lowercase();
    let tokens: Vec<&str> = last.split(|letter: char| !letter.is_alphanumeric()).collect();
    let side = if bare.contains("left") || tokens.contains(&"l") {
        "left"
    } else if bare.contains("right") || tokens.contains(&"r") {
        "right"
    } else if poser(&last).is_some() {
        if last.starts_with('l') { "left" } else { "right" }
    } else {
        ""
    };
    let mut own = bare.replace("left", "").replace("right", "");
    if let Some(letter) = tokens.iter().find(|token| matches!(**token, "l" | "r")) {
        own = own.strip_prefix(letter).or(own.strip_suffix(letter)).unwrap_or(&own).to_owned();
    }
    if let Some(part) = poser(&last) {
        part.clone_into(&mut own);
    }
    let part = PARTS.iter().find(|(_, names)| names.contains(&own.as_str()));
    part.map_or_else(String::new, |(part, _)| format!("{side} {part}"))
}

/// The part in the names of Poser, `rShldr` or `lThigh`, which begin with the side.
fn poser(name: &str) -> Option<&str> {
    const PARTS: [&str; 8] = ["collar", "shldr", "forearm", "hand", "thigh", "shin", "foot", "toe"];
    name.strip_prefix(['l', 'r']).filter(|part| PARTS.contains(part))
}
