//! Wildcard patterns for names.

/// Returns true if `name` matches `pattern`, in which `*` matches any text and `?` any character.
pub fn fits_pattern(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Index of the last star and of the end of its match; a later star makes earlier matches final.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, n));
                p += 1;
            }
            (Some(&c), _) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            (_, Some((at, taken))) => {
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
            (_, None) => return false,
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_with_many_stars_terminate() {
        assert!(!fits_pattern(&"*a".repeat(30), &"a".repeat(29)));
        assert!(fits_pattern("a*b*c", "a--b-b--c"));
    }
}
