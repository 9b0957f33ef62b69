//! Limit on the nodes to which the references of a layer expand: composition follows every arc (reference, payload,
//! inherit, specialize) of a prim and of its ancestors, so that a few dozen arcs, each to a prim with two more, would
//! result in billions of nodes.
//!
//! The number of nodes behind a prim P is `n(P) = 1 + Σ n(T + (P − Q))` over its ancestors Q (and itself) and the
//! targets T of Q's arcs. A layer in which it is large for any prim is rejected before it is composed. Arcs between
//! files are treated as arcs within the layer; the combination of several files is bounded by the number of prims.

use std::collections::{BTreeMap, HashMap};

use crate::error::Error;

/// Maximum number of nodes composed into one prim. Production scenes have dozens.
const MAX_NODES: usize = 400;
/// Maximum length of a chain of arcs, along which the composition recurses.
const MAX_DEEP: usize = 48;

/// The targets of each prim's arcs, by path.
#[derive(Debug, Default)]
pub(super) struct Arcs {
    targets: BTreeMap<String, Vec<String>>,
}

/// Size of the composition of a prim.
#[derive(Debug, Clone, Copy, Default)]
struct Behind {
    nodes: usize,
    /// The longest chain of arcs.
    depth: usize,
}

impl Arcs {
    /// An arc of the prim `from`.
    pub(super) fn add(&mut self, from: &str, to: &str) {
        self.targets.entry(from.to_owned()).or_default().push(to.to_owned());
    }

    /// Rejects arcs that multiply too often.
    pub(super) fn check(&self) -> Result<(), Error> {
        let mut known = HashMap::new();
        self.targets.keys().try_for_each(|from| self.behind(from, 0, &mut known).map(drop))
    }

    fn behind(&self, path: &str, level: usize, known: &mut HashMap<String, Behind>) -> Result<Behind, Error> {
        if let Some(&behind) = known.get(path) {
            return Ok(behind);
        }
        let too_many = || {
            let error = Error::malformed("the references of a prim expand to too many prims");
            error.at(path).with_hint("flatten the stage, for example with usdcat --flatten")
        };
        if level > MAX_DEEP {
            return Err(too_many());
        }
        // The composition ends at a reference back to itself.
        known.insert(path.to_owned(), Behind::default());
        let mut behind = Behind { nodes: 1, depth: 0 };
        for end in (1..=path.len()).filter(|&end| end == path.len() || path.as_bytes()[end] == b'/') {
            for target in self.targets.get(&path[..end]).into_iter().flatten() {
                let next = self.behind(&format!("{target}{}", &path[end..]), level + 1, known)?;
                behind.nodes += next.nodes;
                behind.depth = behind.depth.max(next.depth + 1);
                if behind.nodes > MAX_NODES || behind.depth > MAX_DEEP {
                    return Err(too_many());
                }
            }
        }
        known.insert(path.to_owned(), behind);
        Ok(behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_references_are_accepted() {
        let mut arcs = Arcs::default();
        for copy in 0..1000 {
            arcs.add(&format!("/World/copy{copy}"), "/Prototype");
        }
        arcs.add("/Prototype", "/Base");
        arcs.add("/Base/Child", "/Base");
        assert!(arcs.check().is_ok());
    }

    #[test]
    fn references_that_double_repeatedly_are_rejected() {
        let mut arcs = Arcs::default();
        for level in 0..20 {
            for (from, to) in [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")] {
                arcs.add(&format!("/{from}{level}"), &format!("/{to}{}", level + 1));
            }
        }
        assert!(arcs.check().is_err());
    }

    #[test]
    fn long_chains_are_rejected() {
        let mut arcs = Arcs::default();
        for level in 0..100 {
            // Traversed from its end, the chain is resolved one link at a time.
            arcs.add(&format!("/a{:03}", 200 - level), &format!("/a{:03}", 199 - level));
        }
        assert!(arcs.check().is_err());
    }
}
