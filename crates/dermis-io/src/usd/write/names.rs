//! Valid USD names: letters, digits and underscores, unique among siblings.

use std::collections::HashSet;

/// The names given so far under one parent.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Returns a valid name similar to `name` that no sibling has; `fallback` if no valid character remains.
    pub(super) fn unique(&mut self, name: &str, fallback: &str) -> String {
        let valid = valid(name);
        let base = if valid.is_empty() { fallback.to_owned() } else { valid };
        let numbered = (1u32..).map(|number| if number == 1 { base.clone() } else { format!("{base}_{number}") });
        let given = numbered.into_iter().find(|name| !self.taken.contains(name)).unwrap_or(base.clone());
        self.taken.insert(given.clone());
        given
    }
}

fn valid(name: &str) -> String {
    let kept: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let kept = kept.trim_matches('_');
    if kept.starts_with(|first: char| first.is_ascii_digit()) { format!("_{kept}") } else { kept.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique() {
        let mut names = Names::default();
        let given: Vec<String> =
            ["/World/Body", "World Body", "3d", "", "ö"].map(|name| names.unique(name, "mesh")).into();
        assert_eq!(given, ["World_Body", "World_Body_2", "_3d", "mesh", "mesh_2"]);
    }
}
