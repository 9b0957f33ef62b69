//! Lookup of names typed by a user: exactly, by a unique part, or by a pattern.

pub use crate::pattern::fits_pattern;

/// Result of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Indices of the matching names; several only if the names are equal or match a pattern.
    At(Vec<usize>),
    /// Indices of several different names that contain the text.
    Ambiguous(Vec<usize>),
    /// No match; the most similar name, if one is similar enough.
    Nothing(Option<String>),
}

/// Looks up `wanted`: an exact name, then a unique suffix, then a unique part of a name, then a pattern with `*` and `?`.
/// Case is ignored unless it distinguishes names.
pub fn find<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Found {
    let names: Vec<&str> = names.into_iter().collect();
    let found = find_as_typed(wanted, &names);
    if !matches!(found, Found::Nothing(_)) {
        return found;
    }
    let lowercase: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    match find_as_typed(&wanted.to_lowercase(), &lowercase.iter().map(String::as_str).collect::<Vec<_>>()) {
        // Names that differ only in case are different names.
        Found::At(indices)
            if !wanted.contains(['*', '?']) && indices.iter().any(|&at| names[at] != names[indices[0]]) =>
        {
            Found::Ambiguous(indices)
        }
        Found::Nothing(_) => found,
        other => other,
    }
}

/// Looks up one item by a name or an index from 0. A number is an index unless it is a name; names are looked up as in
/// [`find`].
pub fn find_one(wanted: &str, names: &[&str]) -> Result<usize, Found> {
    let is_name = names.contains(&wanted);
    if let Some(at) = wanted.parse().ok().filter(|&at: &usize| at < names.len() && !is_name) {
        return Ok(at);
    }
    match find(wanted, names.iter().copied()) {
        Found::At(indices) if indices.len() == 1 || is_name => Ok(indices[0]),
        Found::At(indices) => Err(Found::Ambiguous(indices)),
        other => Err(other),
    }
}

fn find_as_typed(wanted: &str, names: &[&str]) -> Found {
    let indices =
        |matches: &dyn Fn(&str) -> bool| -> Vec<usize> { (0..names.len()).filter(|&at| matches(names[at])).collect() };
    let exact = indices(&|name| name == wanted);
    if !exact.is_empty() {
        return Found::At(exact);
    }
    let parts = if wanted.is_empty() { Vec::new() } else { indices(&|name| name.contains(wanted)) };
    let ends = indices(&|name| !wanted.is_empty() && name.ends_with(wanted));
    for unique in [&ends, &parts] {
        if unique.first().is_some_and(|&first| unique.iter().all(|&at| names[at] == names[first])) {
            return Found::At(unique.clone());
        }
    }
    if wanted.contains(['*', '?']) {
        let matching = indices(&|name| fits_pattern(wanted, name));
        if !matching.is_empty() {
            return Found::At(matching);
        }
    }
    if parts.is_empty() { Found::Nothing(closest(wanted, names.to_vec())) } else { Found::Ambiguous(parts) }
}

/// Error of [`find_clip`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClipNameError {
    /// No clip has that name or index.
    #[error("there is no clip called '{wanted}'")]
    NotFound {
        /// The requested name.
        wanted: String,
        /// Names of all clips.
        names: Vec<String>,
        /// The most similar name, as a suggestion.
        closest: Option<String>,
    },
    /// Several clip names contain the text.
    #[error("'{wanted}' matches the names of {} clips", names.len())]
    Ambiguous {
        /// The requested name.
        wanted: String,
        /// The matching names.
        names: Vec<String>,
    },
}

/// Index of the clip denoted by `wanted`: its name, a part unique to it, or its index from 0. A name that is a number has
/// precedence over the index; among clips with equal names the first is returned.
pub fn find_clip(wanted: &str, names: &[&str]) -> Result<usize, ClipNameError> {
    let wanted = wanted.to_owned();
    find_one(&wanted, names).map_err(|found| match found {
        Found::At(indices) | Found::Ambiguous(indices) => {
            ClipNameError::Ambiguous { wanted, names: indices.into_iter().map(|at| names[at].to_owned()).collect() }
        }
        Found::Nothing(closest) => {
            ClipNameError::NotFound { wanted, names: names.iter().map(|&name| name.to_owned()).collect(), closest }
        }
    })
}

/// The name most similar to `wanted`, if it is similar enough for a suggestion.
pub fn closest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // The threshold of clap's suggestions; a lower one suggests unrelated names. A single typing error in a short name
    // falls below it and is accepted separately.
    const MIN_SIMILARITY: f64 = 0.7;
    let wanted = wanted.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let score = strsim::jaro_winkler(&wanted, &name);
        let one_error = wanted.chars().count() > 1 && strsim::osa_distance(&wanted, &name) <= 1;
        (one_error || score > MIN_SIMILARITY).then_some(score)
    };
    let candidates = names.into_iter().filter_map(|name| Some((similarity(name)?, name)));
    candidates.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["/hero/body", "/hero/body_lod", "/hero/eyes", "/hat"];

    #[test]
    fn an_exact_name_has_precedence_over_parts() {
        assert_eq!(find("body", ["body", "body_lod"]), Found::At(vec![0]));
    }

    #[test]
    fn a_suffix_has_precedence_over_other_parts() {
        assert_eq!(find("body", NAMES), Found::At(vec![0]));
        assert_eq!(find("lod", NAMES), Found::At(vec![1]));
        assert_eq!(find("eye", NAMES), Found::At(vec![2]));
    }

    #[test]
    fn a_part_of_several_names_is_ambiguous_but_a_pattern_is_not() {
        assert_eq!(find("hero", NAMES), Found::Ambiguous(vec![0, 1, 2]));
        assert_eq!(find("/hero/*", NAMES), Found::At(vec![0, 1, 2]));
        assert_eq!(find("*body*", NAMES), Found::At(vec![0, 1]));
        assert_eq!(find("/h?t", NAMES), Found::At(vec![3]));
    }

    #[test]
    fn suggests_the_closest_name_for_a_mistyped_one() {
        assert_eq!(find("gallpo", ["gallop", "arm"]), Found::Nothing(Some("gallop".into())));
        assert_eq!(find("rnu", ["walk", "run"]), Found::Nothing(Some("run".into())));
        assert_eq!(find("zzz", ["gallop", "arm"]), Found::Nothing(None));
        assert_eq!(find("", ["gallop"]), Found::Nothing(None));
    }

    #[test]
    fn case_is_ignored_unless_it_distinguishes_names() {
        assert_eq!(find("FIST", ["fist", "wave"]), Found::At(vec![0]));
        assert_eq!(find("Walk", ["walk", "Walk"]), Found::At(vec![1]));
        assert_eq!(find("WALK", ["walk", "Walk"]), Found::Ambiguous(vec![0, 1]));
        assert!(matches!(find("run", ["walk"]), Found::Nothing(_)));
    }
}
