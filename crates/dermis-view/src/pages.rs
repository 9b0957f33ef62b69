//! Pages that are open, and the identity of this run of the server.
//!
//! Every page requests `/api/alive` about once per second. A page that has not done so for a few seconds is closed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time after which a silent page counts as closed. Browsers delay the timers of hidden pages to once per second.
const MAX_SILENCE: Duration = Duration::from_millis(3500);
/// Maximum number of pages that are counted.
const MAX_PAGES: usize = 256;

/// Pages that are open.
#[derive(Debug)]
pub(crate) struct Pages {
    session: String,
    seen: Mutex<BTreeMap<String, Instant>>,
}

impl Pages {
    pub(crate) fn new() -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Self { session: format!("{:x}-{started:x}", std::process::id()), seen: Mutex::default() }
    }

    /// Identifies this run of the server: a page that finds another one must connect again.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Notes a request of `page`. Returns the number of open pages.
    pub(crate) fn visited_by(&self, page: &str) -> usize {
        let now = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, last| now.duration_since(*last) < MAX_SILENCE);
        if seen.len() < MAX_PAGES || seen.contains_key(page) {
            seen.insert(page.chars().take(64).collect(), now);
        }
        seen.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_page_once() {
        let pages = Pages::new();
        assert_eq!(["a", "b", "a"].map(|page| pages.visited_by(page)), [1, 2, 2]);
    }
}
