//! Finding things by a name that somebody typed: exactly, by a part that only one of them has, or by a pattern.

pub use crate::pattern::fits_pattern;

/// What a typed name stands for among some names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The names at these places; several only where they are equal or a pattern fits them.
    At(Vec<usize>),
    /// The text is a part of several different names, at these places.
    Ambiguous(Vec<usize>),
    /// Nothing; the name that is closest, if one is close.
    Nothing(Option<String>),
}

/// Looks up `wanted`: an exact name, then the end of one name only, then a part of one name only, then a pattern with
/// `*` and `?`. Capital and small letters are told apart only where that decides.
pub fn find<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Found {
    let names: Vec<&str> = names.into_iter().collect();
    let found = find_as_typed(wanted, &names);
    if !matches!(found, Found::Nothing(_)) {
        return found;
    }
    let small: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    match find_as_typed(&wanted.to_lowercase(), &small.iter().map(String::as_str).collect::<Vec<_>>()) {
        // Names that differ in their letters' case alone are different names.
        Found::At(places) if !wanted.contains(['*', '?']) && places.iter().any(|&at| names[at] != names[places[0]]) => {
            Found::Ambiguous(places)
        }
        Found::Nothing(_) => found,
        other => other,
    }
}

/// Looks up one thing by a name or a number from 0: a number, unless it is a name, then as [`find`] does.
pub fn find_one(wanted: &str, names: &[&str]) -> Result<usize, Found> {
    let is_name = names.contains(&wanted);
    if let Some(at) = wanted.parse().ok().filter(|&at: &usize| at < names.len() && !is_name) {
        return Ok(at);
    }
    match find(wanted, names.iter().copied()) {
        Found::At(places) if places.len() == 1 || is_name => Ok(places[0]),
        Found::At(places) => Err(Found::Ambiguous(places)),
        other => Err(other),
    }
}

fn find_as_typed(wanted: &str, names: &[&str]) -> Found {
    let places =
        |fits: &dyn Fn(&str) -> bool| -> Vec<usize> { (0..names.len()).filter(|&at| fits(names[at])).collect() };
    let exact = places(&|name| name == wanted);
    if !exact.is_empty() {
        return Found::At(exact);
    }
    let parts = if wanted.is_empty() { Vec::new() } else { places(&|name| name.contains(wanted)) };
    let ends = places(&|name| !wanted.is_empty() && name.ends_with(wanted));
    for unique in [&ends, &parts] {
        if unique.first().is_some_and(|&first| unique.iter().all(|&at| names[at] == names[first])) {
            return Found::At(unique.clone());
        }
    }
    if wanted.contains(['*', '?']) {
        let fitting = places(&|name| fits_pattern(wanted, name));
        if !fitting.is_empty() {
            return Found::At(fitting);
        }
    }
    if parts.is_empty() { Found::Nothing(closest(wanted, names.to_vec())) } else { Found::Ambiguous(parts) }
}

/// Why no clip is found by a name or number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClipNameError {
    /// No clip has that name or number.
    #[error("there is no clip called '{wanted}'")]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// The names of all clips.
        names: Vec<String>,
        /// The name that may have been meant.
        closest: Option<String>,
    },
    /// Several clips have names with that part.
    #[error("'{wanted}' is a part of the names of {} clips", names.len())]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// The names that have it.
        names: Vec<String>,
    },
}

/// Number of the clip that `wanted` denotes: its name, a part that only one has, or its number from 0. A name that is a
/// number wins over the number; of clips with equal names the first is taken.
pub fn find_clip(wanted: &str, names: &[&str]) -> Result<usize, ClipNameError> {
    let wanted = wanted.to_owned();
    find_one(&wanted, names).map_err(|found| match found {
        Found::At(places) | Found::Ambiguous(places) => {
            ClipNameError::Ambiguous { wanted, names: places.into_iter().map(|at| names[at].to_owned()).collect() }
        }
        Found::Nothing(closest) => {
            ClipNameError::NotFound { wanted, names: names.iter().map(|&name| name.to_owned()).collect(), closest }
        }
    })
}

/// The name most like `wanted`, if one is so like it that it may have been meant.
pub fn closest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // What clap takes for its own suggestions; lower offers names that nobody meant. Short names fall below it by one
    // slip of the finger, so that is forgiven on its own.
    const LEAST_LIKENESS: f64 = 0.7;
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let like = strsim::jaro_winkler(&wanted, &name);
        let one_slip = wanted.chars().count() > 1 && strsim::osa_distance(&wanted, &name) <= 1;
        (one_slip || like > LEAST_LIKENESS).then_some(like)
    };
    let candidates = names.into_iter().filter_map(|name| Some((likeness(name)?, name)));
    candidates.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["/hero/body", "/hero/body_lod", "/hero/eyes", "/hat"];

    #[test]
    fn an_exact_name_wins_over_parts() {
        assert_eq!(find("body", ["body", "body_lod"]), Found::At(vec![0]));
    }

    #[test]
    fn the_end_of_a_path_wins_over_its_middle() {
        assert_eq!(find("body", NAMES), Found::At(vec![0]));
        assert_eq!(find("lod", NAMES), Found::At(vec![1]));
        assert_eq!(find("eye", NAMES), Found::At(vec![2]));
    }

    #[test]
    fn a_part_of_several_names_is_ambiguous_and_a_pattern_is_not() {
        assert_eq!(find("hero", NAMES), Found::Ambiguous(vec![0, 1, 2]));
        assert_eq!(find("/hero/*", NAMES), Found::At(vec![0, 1, 2]));
        assert_eq!(find("*body*", NAMES), Found::At(vec![0, 1]));
        assert_eq!(find("/h?t", NAMES), Found::At(vec![3]));
    }

    #[test]
    fn a_mistyped_name_is_answered_with_the_closest() {
        assert_eq!(find("gallpo", ["gallop", "arm"]), Found::Nothing(Some("gallop".into())));
        assert_eq!(find("rnu", ["walk", "run"]), Found::Nothing(Some("run".into())));
        assert_eq!(find("zzz", ["gallop", "arm"]), Found::Nothing(None));
        assert_eq!(find("", ["gallop"]), Found::Nothing(None));
    }

    #[test]
    fn the_case_of_letters_matters_only_where_it_decides() {
        assert_eq!(find("FIST", ["fist", "wave"]), Found::At(vec![0]));
        assert_eq!(find("Walk", ["walk", "Walk"]), Found::At(vec![1]));
        assert_eq!(find("WALK", ["walk", "Walk"]), Found::Ambiguous(vec![0, 1]));
        assert!(matches!(find("run", ["walk"]), Found::Nothing(_)));
    }
}
