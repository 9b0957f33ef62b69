//! Time per stage of a run.

use std::time::Instant;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::numbers::seconds;

/// Duration below which stages are not listed.
const MIN_LISTED_S: f64 = 0.005;

/// Time per stage of a run; as JSON a key per stage and `total`, in seconds.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    began: Instant,
    lap: Instant,
    stages: Vec<(&'static str, f64)>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self { began: now, lap: now, stages: Vec::new() }
    }

    /// Ends a stage; stages with the same name are summed.
    pub(crate) fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.add(stage, now.duration_since(self.lap).as_secs_f64());
        self.lap = now;
    }

    /// Ends a stage with measured parts.
    pub(crate) fn lap_in_parts(&mut self, parts: &[(&'static str, f64)]) {
        parts.iter().for_each(|(stage, time)| self.add(stage, *time));
        self.lap = Instant::now();
    }

    /// Moves `seconds` of the stage `from` to the stage `to`, which ran within it.
    pub(crate) fn split(&mut self, from: &'static str, to: &'static str, seconds: f64) {
        self.add(from, -seconds);
        self.add(to, seconds);
        self.stages.sort_by_key(|(stage, _)| *stage == from);
    }

    fn add(&mut self, stage: &'static str, time: f64) {
        match self.stages.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, sum)) => *sum += time,
            None => self.stages.push((stage, time)),
        }
    }

    /// Time until the end of the last stage, so that the stages add up to it; until now if there is none.
    fn total(&self) -> f64 {
        let end = if self.stages.is_empty() { Instant::now() } else { self.lap };
        end.duration_since(self.began).as_secs_f64()
    }

    /// `3.2 s (read 1.1 s, write 2.1 s)`.
    pub(crate) fn words(&self) -> String {
        let listed = self.stages.iter().filter(|(_, time)| *time >= MIN_LISTED_S);
        let stages: Vec<String> = listed.map(|(stage, time)| format!("{stage} {}", seconds(*time))).collect();
        let stages = if stages.is_empty() { String::new() } else { format!(" ({})", stages.join(", ")) };
        format!("{}{stages}", seconds(self.total()))
    }
}

impl Serialize for Stopwatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.stages.len() + 1))?;
        for (stage, time) in &self.stages {
            map.serialize_entry(&stage.replace(' ', "_"), time)?;
        }
        map.serialize_entry("total", &self.total())?;
        map.end()
    }
}
